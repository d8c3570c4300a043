//! Service differentiation in the kernel, before a server that knows nothing of it: who may connect how often, in which
//! class, and which requests are let through.
//!
//! Measured side. `rules` is pure: from a text to a compiled table. `reference` is pure: what the kernel's programs decide
//! by that table, in plain Rust; they are held against it. `explain` is pure: which rule decides, in a sentence. `agent` is
//! pure: how many may wait. `kernel` loads the programs, `listeners` has the server's own sockets, `daemon` is the process
//! that puts it all together. Prints nothing.

#![forbid(unsafe_code)]

pub mod agent;
pub mod daemon;
pub mod explain;
pub mod kernel;
pub mod listeners;
pub mod reference;
pub mod rules;
