//! Locks and atomics of `verdict`: the standard library's here, loom's in its test.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};
