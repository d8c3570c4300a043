//! Tests of the driver's contract: everything that an event loop relies on.
//!
//! Peers are plain blocking sockets. The driver's events are gathered until they suffice or a deadline is over; nothing
//! here hopes for a moment.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod connecting;
mod receiving;
mod sending;
mod serving;
mod stage;
mod stamps;
mod threads;
mod waiting;
