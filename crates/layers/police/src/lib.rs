//! Service differentiation in the kernel, before an unmodified server: connection rates by source, classes of
//! connections, and filtering of requests.
//!
//! Measured side. `rules` is pure: from text to a compiled table. `reference` is pure: the decisions of the kernel's
//! programs by that table, in plain Rust, as an oracle for them. `explain` is pure: the deciding rule, in a sentence.
//! `agent` is pure: bounds of the queues. `kernel` loads the programs, `listeners` has the server's own sockets,
//! `daemon` is the process that combines all this. Prints nothing.

#![forbid(unsafe_code)]

pub mod agent;
pub mod daemon;
pub mod explain;
pub mod kernel;
pub mod listeners;
pub mod reference;
pub mod rules;
