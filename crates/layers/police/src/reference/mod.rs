//! What the kernel's programs decide, in plain Rust: the oracle they are held against.
//!
//! Measured side, pure: time, queues and packets come in, decisions go out. Simple before fast.
//!
//! A SYN: the source's rule, its `per` bucket, its own bucket, then the queue of its class. A segment with payload: is it of a
//! body, does a request begin in it, is its head plain; then the rule of its path, or that of what is odd; its bucket; where
//! the rule names a class, that class's queue. What a bucket let pass and a later one refused has taken from the bucket.

mod packet;

pub use packet::{Decision, Flow, Fragment, Load, Outcome, Reason, Seen, Segment, Syn};
