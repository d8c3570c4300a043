//! Which requests are made, in which order.
//!
//! Measuring side, load-generator process. Owns the meaning of a workload: targets, order, what
//! must come back. Sees no socket, no clock and no statistics. Deterministic: a (plan, seed) pair
//! means the same requests on every machine. What a slice needs is prepared before the slice
//! starts; [`Source::next`] is hot and does no I/O and no allocation.

#![forbid(unsafe_code)]

mod source;

pub use source::{Ask, Expect, ListSource, Method, Request, RequestTable, Slice, Source};
