//! The programs of the layer police in a real kernel: held against `reference`, and in front of a server.
//!
//! As root. Each test has network namespaces of its own; nothing is attached outside of them.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod against_reference;
mod cost;
mod link;
mod live;
mod object;
mod packets;
mod rates;
mod server;
mod stage;
mod tables;
