//! The mac layer on the real kernel: what it refuses and what remains, how its launcher fails, servers under it.
//!
//! As root, since whoever is root outside has most to lose inside. Programs under it are Python's, a shell's, nginx and
//! Apache: a process that confines itself stays so, and a test does not.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod access;
mod escapes;
mod launcher;
mod servers;
mod stage;
