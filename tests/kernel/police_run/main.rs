//! `police run` before real servers, each test in a network of its own: refused and served requests, changes of
//! server, daemon, rules and interfaces, and complete removal.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod arming;
mod changes;
mod flood;
#[path = "../police_program/link.rs"]
mod link;
mod outside;
mod overload;
#[path = "../police_program/packets.rs"]
#[allow(dead_code)] // frames are made here, and none is taken apart
mod packets;
mod refusals;
mod restarts;
mod servers;
mod stage;
