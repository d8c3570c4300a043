//! Clocks for batches.

use bakeoff_sys::counter;
use bakeoff_units::{Clock as _, MonotonicClock};

/// A clock.
#[derive(Clone, Copy, Debug)]
pub enum CallClock {
    /// Nanoseconds.
    Monotonic(MonotonicClock),
    /// The processor's own counter (x86-64), which counts instructions where the machine is one that does.
    Counter,
}

impl CallClock {
    /// The clock of this word, where this processor has it.
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "monotonic" => Some(Self::Monotonic(MonotonicClock::new())),
            "tsc" => counter::read().map(|_| Self::Counter),
            _ => None,
        }
    }

    pub(crate) fn ticks(self) -> u64 {
        match self {
            Self::Monotonic(clock) => clock.now().get(),
            Self::Counter => counter::read().unwrap_or(0), // made by `of_word`, which has seen it
        }
    }
}
