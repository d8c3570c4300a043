//! Analysis of a results directory: figures, verdicts, comparisons of two runs, and verification.
//!
//! Measuring side, cold. Everything here is a pure function of what a results directory holds; only `verify` reads files of
//! one itself. It names no system call: a run asks it whether to go on, and gets the same answer as a report a year later.

#![forbid(unsafe_code)]

pub mod analyse;
pub mod between;
pub mod join;
pub mod looks;
pub mod rule;
pub mod verify;
