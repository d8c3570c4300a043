//! How the parts of a run that several processes make keep in step.
//!
//! Measuring side. A few numbers that two threads share: the one that asks says how far it has come, another one that
//! talks to the other parts says how far all have. The thread that asks never waits for it.

use bakeoff_units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Between a part's phases and what it hears of the others.
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

    /// For how long it waits.
    pub const fn patience(&self) -> Nanos {
        self.patience
    }

    /// How far this part has come.
    pub fn reached(&self) -> u32 {
        self.shared.reached.load(Ordering::Relaxed)
    }

    /// How far all are known to have come.
    pub fn is_let_go(&self, steps: u32) -> bool {
        self.shared.let_go.load(Ordering::Relaxed) >= steps
    }

    /// All have come so far.
    pub fn let_go(&self, steps: u32) {
        self.shared.let_go.fetch_max(steps, Ordering::Relaxed);
    }

    /// Nobody is waited for any more.
    pub fn go_alone(&self) {
        self.shared.alone.store(true, Ordering::Relaxed);
    }

    /// Whether nobody is.
    pub fn is_alone(&self) -> bool {
        self.shared.alone.load(Ordering::Relaxed)
    }

    /// This part has come so far.
    pub(super) fn reach(&self, steps: u32) {
        self.shared.reached.fetch_max(steps, Ordering::Relaxed);
    }
}
