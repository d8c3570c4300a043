//! Robots: simulated clients after Web Polygraph, which choose the next request and judge its reply.
//!
//! Measuring side, load-generator process. Owns Web Polygraph's way of making requests (recurrence,
//! working sets, popularity, phases with goals) and of judging replies from outside. Driven by `loadgen`; sees no
//! socket. Sources and judgements are pure functions of seeds and replies; the hot path does no I/O.

#![forbid(unsafe_code)]

pub mod console;
pub mod extract;
mod freshened;
pub mod ideal;
pub mod judge;
pub mod judging;
pub mod ledger;
pub mod phases;
pub mod popularity;
pub mod population;
mod refreshes;
pub mod robots;
pub mod spec;
pub mod stream;
pub mod working_set;

pub use phases::{FillGate, PartsGate, PhaseFile};
pub use population::{Population, Setting, TargetForm, Worker};
pub use robots::{FinishedRequest, Robots};
pub use spec::{Connections, RobotsFile, Spec, SpecError};
