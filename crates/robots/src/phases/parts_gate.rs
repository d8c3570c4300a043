//! Phase barrier between the parts of a run that several processes make.
//!
//! Measuring side. A few numbers that two threads share. The asking thread says how far it has come; another one, which
//! talks to the other parts, says how far all have. The asking thread never waits for it.

use bakeoff_units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The shared state between a part's phases and its view of the others.
#[derive(Clone, Debug)]
pub struct PartsGate {
    shared: Arc<Shared>,
    patience: Nanos,
}

/// Steps are phases whose goals were reached.
#[derive(Debug, Default)]
struct Shared {
    reached: AtomicU32,
    let_go: AtomicU32,
    alone: AtomicBool,
}

impl PartsGate {
    /// A part that waits so long for the others at the end of a phase, then never again.
    pub fn new(patience: Nanos) -> Self {
        Self { shared: Arc::default(), patience }
    }

    /// The longest wait for the others.
    pub const fn patience(&self) -> Nanos {
        self.patience
    }

    /// The step that this part has reached.
    pub fn reached(&self) -> u32 {
        self.shared.reached.load(Ordering::Relaxed)
    }

    /// Whether all are known to have reached this step.
    pub fn is_let_go(&self, steps: u32) -> bool {
        self.shared.let_go.load(Ordering::Relaxed) >= steps
    }

    /// All parts have reached this step.
    pub fn let_go(&self, steps: u32) {
        self.shared.let_go.fetch_max(steps, Ordering::Relaxed);
    }

    /// Stops waiting for the others.
    pub fn go_alone(&self) {
        self.shared.alone.store(true, Ordering::Relaxed);
    }

    /// Whether it has stopped waiting for the others.
    pub fn is_alone(&self) -> bool {
        self.shared.alone.load(Ordering::Relaxed)
    }

    /// This part has reached this step.
    pub(super) fn reach(&self, steps: u32) {
        self.shared.reached.fetch_max(steps, Ordering::Relaxed);
    }
}
