//! Origin-server simulator: serves objects that are pure functions of their names.
//!
//! Measuring side, but always a process of its own when it is an arm; its counters are never
//! meters of a comparison. Hot. Owns which bytes answer which request; keeps no state per object
//! and never touches a disk. A thread per core, each with its own listening socket on the shared
//! port.

#![forbid(unsafe_code)]

mod burner;
mod certificate;
mod connection;
mod desk;
mod ending;
mod head;
mod http1;
mod http2;
mod outgoing;
mod pulse;
mod server;
mod site;
mod tally;
mod tls;
mod worker;

pub use pulse::Busy;
pub use server::{Options, Origin, OriginError};
pub use tally::Tally;
