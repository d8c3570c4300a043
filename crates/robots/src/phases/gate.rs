//! How a phase is told from outside that it has gone on for long enough.
//!
//! Measuring side. One bit that two threads share; the thread that asks never waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Opened once, from any thread; phases that wait for it then may end.
#[derive(Clone, Debug, Default)]
pub struct FillGate(Arc<AtomicBool>);

impl FillGate {
    /// A closed one.
    pub fn new() -> Self {
        Self::default()
    }

    /// It is enough.
    pub fn open(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is.
    pub fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
