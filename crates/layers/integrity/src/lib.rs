//! Integrity layer: a file opens only if it matches a signed manifest.
//!
//! Measured side. Two processes: a worker decides, and a supervisor ([`supervisor`]) above it holds the same group of
//! permission events, so that nothing opens unchecked when the worker dies. It also holds the same open files, so
//! that the next worker decides the events that the dead one had read. Owns the decisions; digests, manifests and the
//! cache of verdicts are those of `layers/base`, system calls those of `sys`. docs/layers/integrity.md states the threat model,
//! what each defence buys and what remains open.
//!
//! A decision ends in a verdict that the kernel keeps as an ignore mark: such a file opens without asking until the
//! verdict is void. A verdict is kept only under a read lease (nobody can write) or on a read-only file system, so
//! that it is void before the file can change.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod alone;
mod arming;
mod counters;
mod deciders;
mod enforcer;
mod error;
mod gap;
mod guard;
mod judge;
mod leases;
mod orders;
mod place;
mod preflight;
mod progress;
mod reload;
mod respond;
mod rest;
mod rights;
mod settings;
mod slots;
mod status;
pub mod supervisor;
mod tree;
mod waiting;
mod walk;
mod words;
mod worker;
mod written;

pub use error::EnforceError;
pub use guard::thaw;
pub use settings::{EnforcementSettings, Links, OnTimeout, Unlisted};
