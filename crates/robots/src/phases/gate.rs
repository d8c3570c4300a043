//! Gate by which another thread tells a phase that it may end.
//!
//! Measuring side. One bit that two threads share; the thread that asks never waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Opened once, from any thread; phases that wait for it then may end.
#[derive(Clone, Debug, Default)]
pub struct FillGate(Arc<AtomicBool>);

impl FillGate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it.
    pub fn open(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
