//! Run of an experiment: the machine, the arms, and the order of slices.
//!
//! Measuring side, the bakeoff process. Owns the order of slices and when to stop. Plans, the directory and all that is
//! decided from figures are crates of their own, which name no system call.

#![forbid(unsafe_code)]

pub mod environment;
pub mod run;
