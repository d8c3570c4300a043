//! Building blocks shared by the layers: digests, signing keys, signed manifests, cached verdicts, key release, and
//! daemons.
//!
//! Measured side. Names no layer and nothing that measures. The caller decides what a digest or a signature is needed
//! for; errors say what was wrong and what to do next.

#![forbid(unsafe_code)]

pub mod clock;
pub mod counters;
pub mod daemon;
pub mod digest;
pub mod document;
pub mod fault;
pub mod hex;
pub mod key;
pub mod locks;
pub mod manifest;
pub mod name;
pub mod named;
pub mod plain;
pub mod release;
mod sync;
pub mod threads;
pub mod verdict;
pub mod word;
