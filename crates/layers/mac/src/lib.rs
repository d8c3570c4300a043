//! Access control by domains: what a program may do is what its domain's policy says, enforced by the kernel.
//!
//! Measured side. `policy` is pure: from text to what the kernel is told, and why. `confine` gives a process to
//! the kernel. `log` reads what the kernel refused. `watch` sees without refusing. Prints nothing.

#![forbid(unsafe_code)]

pub mod access;
pub mod confine;
pub mod grant;
pub mod log;
pub mod policy;
pub mod proof;
pub mod status;
