//! Access control by domains: a program may do what its domain's policy says, enforced by the kernel.
//!
//! Measured side. `policy` is pure: it turns text into grants and their reasons. `confine` puts a process into its
//! domain. `log` reads the kernel's refusals. `watch` observes without refusing. Prints nothing.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod access;
pub mod confine;
pub mod grant;
pub mod log;
pub mod policy;
pub mod proof;
pub mod status;
pub mod watch;
