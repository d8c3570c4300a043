//! One suite for all drivers that the kernel lets us have: whatever a loop may count on is tried on each.
//!
//! Peers are plain blocking sockets. What a driver tells is gathered until it suffices or a deadline is
//! over; nothing here hopes for a moment.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod connecting;
mod receiving;
mod sending;
mod serving;
mod stage;
mod stamps;
mod threads;
mod waiting;
