//! Origin-server simulator: serves objects that are pure functions of their names.
//!
//! Measuring side, but always a process of its own when it is an arm; its counters are never
//! meters of a comparison. Hot. Owns which bytes answer which request; keeps no state per object
//! and never touches a disk. A thread per core, each with its own listening socket on the shared
//! port.

#![forbid(unsafe_code)]

mod burner;
mod connection;
mod respond;
mod server;

pub use server::{Options, Origin, OriginError, Tally};
