//! The tests of `tests/peers` once more, on epoll: both drivers must do the same.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

#[path = "../peers/closed.rs"]
mod closed;
#[path = "../peers/failures.rs"]
mod failures;
#[path = "../peers/h2/mod.rs"]
mod h2;
#[path = "../peers/heard.rs"]
mod heard;
#[path = "../peers/listening.rs"]
mod listening;
#[path = "../peers/nginx.rs"]
mod nginx;
#[path = "../peers/open.rs"]
mod open;
#[path = "../peers/per_request.rs"]
mod per_request;
#[path = "../peers/pooled.rs"]
mod pooled;
#[path = "../peers/ports.rs"]
mod ports;
#[path = "../peers/random.rs"]
mod random;
#[path = "../peers/replies.rs"]
mod replies;
#[path = "../peers/sharing.rs"]
mod sharing;
#[path = "../peers/support.rs"]
mod support;
#[path = "../peers/tls.rs"]
mod tls;
#[path = "../peers/tunnels.rs"]
mod tunnels;

use bakeoff_loadgen::{Choice, Engine, Station, Target};
use std::io;

fn station(target: Target, threads: usize, cores: Vec<usize>) -> io::Result<Station> {
    Station::with(target, threads, cores, Engine { driver: Choice::Epoll, ..Engine::default() })
}
