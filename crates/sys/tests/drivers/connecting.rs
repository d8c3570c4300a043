//! Connecting: connections come to stand, or fail.

use crate::stage::{
    Crowd, Told, accept, bytes_of, count, expect, expect_end, has, listener, on_a_stage, on_a_stage_alone,
    say, short,
};
use bakeoff_sys::driver::{Connecting, ConnectionOptions};
use bakeoff_sys::net::{Local, LocalPort};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream};

#[test]
fn a_connection_carries_bytes_both_ways() {
    on_a_stage(|mut stage| {
        let (mut peer, _) = stage.pair(3, ConnectionOptions::default());
        stage.driver.send(3, b" again").unwrap();
        stage.hand_over();
        expect(&mut peer, b" again");
        say(&mut peer, b"reply");
        let story = stage.until(|story| bytes_of(story, 3).len() >= 5);
        assert_eq!(bytes_of(&story, 3), b"reply");
        assert!(story.iter().all(|(slot, _)| *slot == 3));
    });
}

#[test]
fn nobody_there_is_refused() {
    on_a_stage(|mut stage| {
        let (gone, address) = listener();
        drop(gone);
        match stage.driver.connect(0, address, ConnectionOptions::default(), b"x") {
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionRefused),
            Ok(_) => {
                let refused = |told: &Told| matches!(told, Told::NotConnected(ErrorKind::ConnectionRefused));
                stage.until(|story| has(story, 0, refused));
            }
        }
        assert!(stage.quiet().is_empty());
        assert_eq!(stage.driver.send(0, b"x").unwrap_err().kind(), ErrorKind::NotConnected);
        stage.pair(0, ConnectionOptions::default()); // the slot is free
    });
}

#[test]
fn a_connection_without_first_bytes_stands_too() {
    on_a_stage(|mut stage| {
        let (listener, address) = listener();
        stage.connect(0, address, ConnectionOptions::default(), b"");
        let mut peer = accept(&listener);
        stage.driver.send(0, b"later").unwrap();
        stage.hand_over();
        expect(&mut peer, b"later");
    });
}

#[test]
fn what_is_sent_while_connecting_follows_in_order() {
    on_a_stage(|mut stage| {
        let crowd = Crowd::gather();
        let begun = stage.driver.connect(0, crowd.address, ConnectionOptions::default(), b"one ").unwrap();
        assert_eq!(begun, Connecting::Begun);
        stage.driver.send(0, b"two ").unwrap();
        assert!(stage.quiet().is_empty());
        stage.driver.send_body(0, b"three ", b"four").unwrap();
        let listener = crowd.disperse();
        let story = stage.until(|story| has(story, 0, |told| matches!(told, Told::Sent)));
        assert_eq!(count(&story, 0, |told| matches!(told, Told::Connected)), 1);
        assert_eq!(count(&story, 0, |told| matches!(told, Told::Sent)), 1);
        assert!(matches!(story[0], (0, Told::Connected)));
        let mut peer = accept(&listener);
        expect(&mut peer, b"one two three four");
        say(&mut peer, b"fine");
        stage.until(|story| bytes_of(story, 0) == b"fine");
    });
}

#[test]
fn one_that_is_closed_while_connecting_is_not_heard_of() {
    on_a_stage(|mut stage| {
        let crowd = Crowd::gather();
        stage.driver.connect(0, crowd.address, ConnectionOptions::default(), b"x").unwrap();
        stage.hand_over();
        stage.driver.close(0);
        let _listener = crowd.disperse();
        assert!(stage.quiet().is_empty());
    });
}

#[test]
fn the_local_address_is_as_wished() {
    on_a_stage(|mut stage| {
        let from = Local { address: Some("127.0.0.5".parse().unwrap()), port: LocalPort::Any };
        let (peer, _) = stage.pair(0, ConnectionOptions { from, no_delay: true, stamped: false });
        assert_eq!(Some(peer.peer_addr().unwrap().ip()), from.address);
    });
}

#[test]
fn the_local_port_is_as_wished_and_one_that_is_taken_is_said_at_once() {
    on_a_stage(|mut stage| {
        let address: IpAddr = "127.0.0.6".parse().unwrap();
        let any = SocketAddr::new(address, 0);
        let free = bakeoff_sys::net::listen(any, false).unwrap().local_addr().unwrap().port();
        let from = Local { address: Some(address), port: LocalPort::This(free) };
        let wish = ConnectionOptions { from, ..ConnectionOptions::default() };
        let (listener, to) = listener();
        stage.connect(0, to, wish, b"x");
        let peer = accept(&listener);
        assert_eq!(peer.peer_addr().unwrap(), SocketAddr::new(address, free));
        assert_eq!(stage.driver.connect(1, to, wish, b"x").unwrap_err().kind(), ErrorKind::AddrInUse);
        // The slot is free for another try.
        let any = Local { port: LocalPort::Any, ..from };
        stage.connect(1, to, ConnectionOptions { from: any, ..wish }, b"x");
        assert_eq!(accept(&listener).peer_addr().unwrap().ip(), address);
    });
}

#[test]
fn a_connection_in_a_slot_takes_the_place_of_the_one_before() {
    on_a_stage(|mut stage| {
        let (mut old, _) = stage.pair(0, ConnectionOptions::default());
        let (mut new, _) = stage.pair(0, ConnectionOptions::default());
        expect_end(&mut old);
        say(&mut new, b"new");
        stage.until(|story| bytes_of(story, 0) == b"new");
    });
}

#[test]
fn two_thousand_at_once_have_each_their_own_bytes() {
    on_a_stage(|mut stage| {
        const MANY: u32 = 2000;
        bakeoff_sys::rlimit::raise_open_files(3 * u64::from(MANY)).unwrap();
        let listener = bakeoff_sys::net::listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        listener.set_nonblocking(false).unwrap();
        let address = listener.local_addr().unwrap();
        let mut peers = Vec::new();
        for slot in 0..MANY {
            stage.driver.connect(slot, address, ConnectionOptions::default(), &slot.to_ne_bytes()).unwrap();
            if slot % 1000 == 999 {
                stage.wait(short(0));
                peers.extend((0..1000).map(|_| accept(&listener)));
            }
        }
        for peer in &mut peers {
            let mut number = [0; 4];
            std::io::Read::read_exact(peer, &mut number).unwrap();
            say(peer, &number);
        }
        let all =
            stage.until(|story| story.iter().filter(|(_, told)| is_data(told)).count() >= MANY as usize);
        for (slot, told) in all {
            if let Told::Data { bytes, .. } = told {
                assert_eq!(bytes, slot.to_ne_bytes());
            }
        }
    });
}

fn is_data(told: &Told) -> bool {
    matches!(told, Told::Data { .. })
}

#[test]
fn descriptors_go_with_their_connections_and_with_the_driver() {
    on_a_stage_alone(|mut stage| {
        let (listener, address) = listener();
        stage.driver.wait(short(0)).unwrap(); // whatever a driver makes late is made
        let before = descriptors();
        let mut peers: Vec<TcpStream> = Vec::new();
        for slot in 0..40 {
            stage.connect(slot, address, ConnectionOptions::default(), b"x");
            peers.push(accept(&listener));
        }
        assert_eq!(descriptors(), before + 80);
        (0..20).for_each(|slot| stage.driver.close(slot));
        assert_eq!(descriptors(), before + 60);
        for peer in &mut peers[..20] {
            expect(peer, b"x");
            expect_end(peer); // at once, not at the next wait
        }
        drop(stage);
        assert!(descriptors() < before + 40); // at least one was the driver's own
        for peer in &mut peers[20..] {
            expect(peer, b"x");
            expect_end(peer);
        }
    });
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn system_calls_are_counted() {
    on_a_stage(|mut stage| {
        let start = stage.driver.system_calls();
        let (mut peer, _) = stage.pair(0, ConnectionOptions::default());
        let stands = stage.driver.system_calls();
        assert!(stands.connections >= start.connections + 3 && stands.writes > start.writes);
        for _ in 0..10 {
            stage.driver.send(0, b"hello").unwrap();
            stage.hand_over();
            expect(&mut peer, b"hello");
            say(&mut peer, b"hello");
            stage.until(|story| bytes_of(story, 0).len() == 5);
        }
        let after = stage.driver.system_calls();
        assert_eq!(after.connections, stands.connections); // nothing a request
        assert!(after.waits >= stands.waits + 10);
        assert_eq!(after.total(), after.reads + after.writes + after.waits + after.naps + after.connections);
        stage.driver.close(0);
        assert!(stage.driver.system_calls().connections > after.connections);
    });
}
