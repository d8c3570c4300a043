//! Reach: bakeoff's own processes on other hosts.
//!
//! Measuring side, cold. A launcher, such as `ssh`, gives standard input and output of a process elsewhere, and that is
//! all it does. Owns places as they are typed, launchers, the way of the executable there, the lines that both ends
//! speak, beats, leases, and the naming of whoever is lost. What is said beyond that is the users' own ([`Speech`]):
//! generators lend lanes, a runner runs a whole plan. Opens no port, starts nothing but launchers, decides nothing about
//! figures.

#![forbid(unsafe_code)]

mod channel;
mod error;
mod executable;
mod far_end;
mod incoming;
mod lab;
mod launch;
mod lease;
mod message;
mod passing;
mod peers;
mod place;
mod pulse;
mod readers;
mod slurm;
mod taken;
mod trip;

pub use channel::{Channels, Mouth, Waited};
pub use error::ReachError;
pub use executable::Executable;
pub use far_end::{Follow, Passed, Voice, attend};
pub use incoming::pass_on;
pub use lab::{Lab, LabError};
pub use lease::LEASE;
pub use message::{EndInfo, PieceOf, Speech};
pub use passing::Passing;
pub use peers::Sink;
pub use place::{Place, PlaceError, PlaceList};
pub use slurm::{SlurmError, own_address};
pub use taken::Taken;
pub use trip::Trip;
