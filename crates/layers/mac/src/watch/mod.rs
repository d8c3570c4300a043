//! What a program does, seen without refusing anything: permissive domains, and policies that are learnt.
//!
//! Measured side, hot and dear: a watched call waits until another process has looked at it. `needs` knows what the
//! kernel would ask about a call, `observed` looks at the process that makes it, `supervise` answers, and outlives being
//! killed, `learn` makes a policy. Never refuses: what cannot be looked at goes on, and is counted.

mod needs;
mod observed;
mod supervise;

pub use supervise::Watch;
