//! The generator against scripted peers, and against a real server.
//!
//! A test is a conversation: what the peer says in bytes, and what the generator must then have counted. Each has 20
//! seconds; a longer wait counts as a hang.

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

use bakeoff_loadgen::Station;
