//! Serving: connections of clients are accepted.

use crate::stage::{PATIENCE, Told, bytes_of, expect, expect_end, on_a_stage, say};
use bakeoff_sys::driver::{LISTENER, Sending};
use bakeoff_sys::net;
use std::io::Read;
use std::net::TcpStream;

#[test]
fn who_connects_is_accepted_adopted_and_answered() {
    on_a_stage(|mut stage| {
        let listener = net::listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let address = listener.local_addr().unwrap();
        stage.driver.listen(listener).unwrap();
        let mut clients = Vec::new();
        for round in 0..3 {
            clients.extend((0..5).map(|_| TcpStream::connect(address).unwrap()));
            let story = stage.until(|story| story.len() >= 5);
            for (number, (slot, told)) in story.into_iter().enumerate() {
                let Told::Accepted(stream) = told else { panic!("{told:?}") };
                assert!(slot == LISTENER && stream.nodelay().unwrap());
                stage.driver.adopt(round * 5 + number as u32, stream).unwrap();
            }
        }
        for (number, client) in clients.iter_mut().enumerate() {
            client.set_read_timeout(Some(PATIENCE)).unwrap();
            say(client, &[number as u8]);
            let story = stage.until(|story| !story.is_empty());
            let slot = story[0].0;
            assert_eq!(bytes_of(&story, slot), [number as u8]);
            if stage.driver.send_body(slot, &[number as u8], b"body").unwrap() == Sending::Pending {
                stage.until(|story| matches!(story.last(), Some((_, Told::Sent))));
            }
            expect(client, &[number as u8, b'b', b'o', b'd', b'y']);
            stage.driver.end(slot);
            stage.hand_over();
            expect_end(client);
        }
    });
}

#[test]
fn what_came_before_the_adoption_is_told_after_it() {
    on_a_stage(|mut stage| {
        let listener = net::listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let address = listener.local_addr().unwrap();
        stage.driver.listen(listener).unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        say(&mut client, b"early");
        drop(client);
        let story = stage.until(|story| !story.is_empty());
        let Some((_, Told::Accepted(stream))) = story.into_iter().next() else { panic!("not accepted") };
        stage.driver.adopt(9, stream).unwrap();
        let story = stage.until(|story| matches!(story.last(), Some((9, Told::Ended))));
        assert_eq!(bytes_of(&story, 9), b"early");
    });
}

#[test]
fn who_connects_and_is_never_taken_goes_with_the_driver() {
    on_a_stage(|mut stage| {
        let listener = net::listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let address = listener.local_addr().unwrap();
        stage.driver.listen(listener).unwrap();
        stage.hand_over();
        let mut client = TcpStream::connect(address).unwrap();
        stage.driver.wait(crate::stage::short(50)).unwrap(); // accepted perhaps, and asked for by nobody
        drop(stage);
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        assert!(matches!(client.read_to_end(&mut Vec::new()), Ok(0) | Err(_)));
        assert!(TcpStream::connect(address).is_err());
    });
}
