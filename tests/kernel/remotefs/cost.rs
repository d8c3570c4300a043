//! Cost of reading something new, and of revoking a lease or a right: figures for `benches/remotefs`.

#![allow(clippy::print_stdout, reason = "figures are for whoever asks for them")]

use crate::hosts::Hosts;
use crate::support::{Site, bytes, can_mount};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Rounds for each figure.
const ROUNDS: usize = 2000;

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn tell(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let us = |part: usize| times[times.len() * part / 100].as_nanos() as f64 / 1000.0;
    println!("{what}: median {:.1} us, p10 {:.1}, p90 {:.1}", us(50), us(10), us(90));
}

#[test]
#[ignore = "a measurement, of a machine with nothing else to do"]
fn a_fresh_read_and_a_break() {
    if !can_mount("a_fresh_read_and_a_break") {
        return;
    }
    let site = Site::new();
    (0..ROUNDS).for_each(|number| fs::write(site.export(&number.to_string()), "x").unwrap());
    fs::write(site.export("shared"), "x").unwrap();
    let (server, one, other) = site.two();
    let fresh = |number: usize| {
        let path = one.path(&number.to_string());
        timed(|| assert_eq!(fs::read(path).unwrap(), b"x"))
    };
    tell("1 B of a new file, looked up and read", (0..ROUNDS).map(fresh).collect());
    let writes = OpenOptions::new().write(true).open(one.path("shared")).unwrap();
    let reads = File::open(other.path("shared")).unwrap();
    // The first waits for the end of a previous server's promises.
    writes.write_all_at(b"y", 0).unwrap();
    let (mut alone, mut held) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(timed(|| writes.write_all_at(b"y", 0).unwrap()));
        assert_eq!(bytes(&reads), "y");
        held.push(timed(|| writes.write_all_at(b"y", 0).unwrap()));
    }
    server.counts("breaks", ROUNDS as u64);
    let breaks = held.iter().zip(&alone).map(|(held, alone)| held.saturating_sub(*alone)).collect();
    tell("1 B written, nobody has it", alone);
    tell("1 B written, another mount has it", held);
    tell("the break of it", breaks);
}

#[test]
#[ignore = "a measurement, of a machine with nothing else to do"]
fn a_right_is_taken_back() {
    if !can_mount("a_right_is_taken_back") {
        return;
    }
    let hosts = Hosts::sharing();
    let revoked = |_| {
        hosts.hand_on();
        let mount = hosts.mount("bob", "a");
        let file = File::open(mount.path("x/file")).unwrap();
        assert_eq!((bytes(&file).as_str(), bytes(&file).as_str()), ("text", "text"));
        timed(|| {
            hosts.take_back();
            while file.read_at(&mut [0; 4], 0).is_ok() {}
        })
    };
    tell("`revoke`, until what is open and cached is refused", (0..30).map(revoked).collect());
}
