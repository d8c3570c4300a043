//! Observation of a program without refusing anything: permissive domains and learnt policies.
//!
//! Measured side, hot and expensive: a watched call waits until another process has looked at it. `needs` knows which
//! accesses the kernel would check for a call, `observed` looks at the process that makes it, `supervise` answers and
//! survives being killed, `learn` makes a policy. Never refuses: a call that cannot be looked at goes on, and is
//! counted.

mod learn;
mod needs;
mod observed;
mod policy;
mod supervise;

pub use learn::{Learnt, learn};
pub use needs::refused_entry;
pub use supervise::Watch;
