//! The generator towards peers whose every word is a script, and towards a real server.
//!
//! A test is a conversation: what the peer says in bytes, and what the generator must then have
//! counted. Each has 20 seconds; whoever is still waiting then hangs.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod closed;
mod failures;
mod h2;
mod heard;
mod listening;
mod nginx;
mod open;
mod per_request;
mod pooled;
mod ports;
mod random;
mod replies;
mod sharing;
mod support;
mod tls;
mod tunnels;

use bakeoff_loadgen::{Choice, Engine, Station, Target};
use std::io;
use std::process::Command;

/// With it the tests are on epoll; without it on io_uring, where the kernel lets us have it.
const DRIVER: &str = "BAKEOFF_TEST_DRIVER";

/// A station on the driver that is asked for.
fn station(target: Target, threads: usize, cores: Vec<usize>) -> io::Result<Station> {
    let driver = match std::env::var_os(DRIVER) {
        Some(_) => Choice::Epoll,
        None => Choice::Uring,
    };
    Station::with(target, threads, cores, Engine { driver, ..Engine::default() })
}

/// Both drivers must do the same: all of these tests once more, in a process of their own.
#[test]
fn all_of_it_on_epoll_too() {
    if std::env::var_os(DRIVER).is_some() {
        return; // this is that process
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    let said = again.args(["--show-output", "--test-threads=1"]).env(DRIVER, "epoll").output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{text}\n{}", String::from_utf8_lossy(&said.stderr));
    text.lines().filter(|line| line.starts_with("SKIP ")).for_each(|line| println!("{line}"));
    assert!(text.contains(" 0 failed; 0 ignored; 0 measured; 0 filtered out"), "{text}");
}
