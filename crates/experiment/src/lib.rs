//! An experiment: its plan, design, run, and results directory.
//!
//! Measuring side, the bakeoff process. Owns the order of slices and when to stop. Everything that is decided from
//! figures is a pure function of the results directory.

#![forbid(unsafe_code)]

pub mod analyse;
pub mod between;
mod digest;
pub mod directory;
pub mod environment;
mod looks;
pub mod plan;
pub mod results;
pub mod rule;
pub mod run;
pub mod shipped;
pub mod study;
pub mod suite;
pub mod verify;
