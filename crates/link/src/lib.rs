//! The network between generator and subjects: a link with a rate, a delay and a loss.
//!
//! Measuring side, cold path: made before the first slice, read at quiet points. Owns two network namespaces, the pair
//! of devices between them and the shaping: the kernel's tbf for the rate, its netem for delay and loss, or, where the
//! kernel has no netem, a process of our own (`emulator`) that moves frames from one device to the other. Measures a link
//! before it is used, and reports both specification and result. Does not start servers and sends no load: those enter
//! the namespaces.
//!
//! Nothing has a name outside, so nothing is left when bakeoff dies, however it dies.

#![forbid(unsafe_code)]

mod check;
mod counters;
mod emulator;
mod end;
mod error;
mod make;
mod reading;
mod settings;
mod shape;
mod sources;
mod spec;
mod tool;

pub use check::Delays;
pub use emulator::{EmulatorRecord, WORD as EMULATOR_WORD, main as emulator_main};
pub use error::LinkError;
pub use make::{Got, Link, Mechanism};
pub use reading::{LinkReading, LinkTraffic, Passage};
pub use shape::FRAME;
pub use sources::SOURCES;
pub use spec::{DelayBy, LinkSpec, Making};
