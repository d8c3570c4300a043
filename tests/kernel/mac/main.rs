//! Mac layer on the real kernel: refusals and known gaps, failures of its launcher, servers under it.
//!
//! As root, since a root outside has most to lose inside. Programs under it are Python's, a shell's, nginx and
//! Apache: a process that confines itself stays confined, which a test process must not.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod access;
mod escapes;
mod launcher;
mod servers;
mod stage;
