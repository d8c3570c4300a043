//! Limits on connections: established clients are served on, and excess ones get a reason.

use crate::support::{Heard, ROOT, Raw, Site, can_mount, command, count, refused, until};
use crate::world::{SERVER, World};
use bakeoff_layers_remotefs::frame::{ClientRequest, ConnectionPurpose, HEAD_BYTES};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// Limit on connections of a server, number of a mount's, and limit on strangers of an address.
const MOST: u64 = 1024;
const OF_SESSION: usize = 16;
const OF_ADDRESS: u64 = 64;
/// Longest wait for an answer beside a crowd.
const SOON: Duration = Duration::from_secs(60);

fn answers(raw: &mut Raw) {
    let began = Instant::now();
    let heard = raw.ask(&ClientRequest::Attributes { object: ROOT });
    assert!(matches!(heard, Heard::Attributes(_)), "{heard:?}");
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn a_thousand_connections_go_on_and_one_more_is_refused_by_name() {
    if !can_mount("a_thousand_connections_go_on_and_one_more_is_refused_by_name") {
        return;
    }
    bakeoff_sys::rlimit::raise_open_files(4096).unwrap();
    let site = Site::new();
    let server = site.serve_at("127.0.0.1:0", "60");
    let (mut callbacks, mut data) = (Vec::new(), Vec::new());
    for _ in 0..MOST as usize / OF_SESSION {
        let (callback, boot, session) = Raw::session(&server);
        callbacks.push(callback);
        data.extend((1..OF_SESSION).map(|_| Raw::data(&server, boot, session)));
    }
    until("all are there", || count(&site.path("server.status"), "connected") == MOST);
    assert_eq!(Raw::connect(&server).hear(), Heard::Closed);
    server.counts("refused.too-many-connections", 1);
    let mut mount = command("mount");
    mount.arg(server.address.to_string()).arg(site.path("a")).arg("--plain");
    let said = refused(&mut mount, 3);
    assert!(said.contains(&server.address.to_string()) && said.contains("too-many-connections"), "{said}");
    data.iter_mut().for_each(answers);
    // All but one stop in the middle of a message.
    let (last, slow) = data.split_last_mut().unwrap();
    slow.iter_mut().for_each(|raw| raw.say(&[0; HEAD_BYTES - 1]));
    answers(last);
    // A free place is given again.
    drop(callbacks.pop());
    until("somebody is let in", || {
        let hello = ClientRequest::Hello {
            class: ConnectionPurpose::Callback,
            session: 0,
            boot: 0,
            credentials: &[],
        };
        matches!(Raw::connect(&server).ask(&hello), Heard::Welcome { .. })
    });
}

#[test]
fn strangers_who_say_nothing_keep_nobody_out() {
    if !can_mount("strangers_who_say_nothing_keep_nobody_out") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    let served = world.serve_for(&site, "/ allow user:alice@home.example all\n", 60);
    let many = OF_ADDRESS + 30;
    let strangers: Vec<_> = (0..many).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    let alice = world.person("user:alice@home.example");
    let (callback, mut data) = served.session(&world, &alice);
    answers(&mut data);
    let put_out = || {
        ["too-many-of-address", "no-hello"]
            .map(|name| count(&served.status, &format!("refused.{name}")))
            .iter()
            .sum::<u64>()
    };
    until("those who came first are put out", || put_out() >= many - OF_ADDRESS);
    // The others say nothing in time; who is known stays.
    until("all are put out", || put_out() == many);
    answers(&mut data);
    drop((strangers, callback));
}

#[test]
fn a_flood_of_bad_signatures_keeps_nobody_waiting() {
    if !can_mount("a_flood_of_bad_signatures_keeps_nobody_waiting") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    let served = world.serve_for(&site, "/ allow user:alice@home.example all\n", 60);
    let alice = world.person("user:alice@home.example");
    let (callback, mut data) = served.session(&world, &alice);
    let forged = |number: usize| {
        let bob = world.person(&format!("user:bob{number}@home.example"));
        let mut given = world.give(&alice, &bob, &[("/", "all")], SERVER).0;
        let last = given.hello.chain[0].1.len() - 1;
        given.hello.chain[0].1[last] ^= 1;
        given
    };
    let rounds = 100;
    thread::scope(|scope| {
        let flood: Vec<_> = (0..4)
            .map(|number| {
                let (bad, served, world) = (forged(number), &served, &world);
                scope.spawn(move || {
                    for _ in 0..rounds {
                        let (_, heard) = served.greets(world, &bad);
                        assert_eq!(heard, Heard::Refused("bad-signature".to_owned()));
                    }
                })
            })
            .collect();
        while !flood.iter().all(thread::ScopedJoinHandle::is_finished) {
            answers(&mut data);
        }
    });
    served.counts("refused.credentials.bad-signature", 4 * rounds);
    until("none of them is there", || count(&served.status, "connected") == 2);
    drop(callback);
}
