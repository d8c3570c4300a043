//! Programs of the police layer in a real kernel: compared with `reference`, and before a server.
//!
//! As root. Each test has network namespaces of its own; nothing is attached outside of them.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod against_reference;
mod clients;
mod cost;
mod link;
mod live;
mod object;
mod packets;
mod rates;
mod server;
mod spellings;
mod stage;
mod streams;
mod tables;
mod trial;
