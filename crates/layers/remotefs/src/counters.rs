//! Counters of a process, by name.
//!
//! Measured side, hot. They only rise, and are no meters of a comparison. Each process declares its own in one table.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// An enum of counters, and its `NAMES` as the status file has them.
macro_rules! counts {
    ($($count:ident $name:literal),* $(,)?) => {
        /// A counter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Count { $($count),* }

        impl Count {
            pub(super) const NAMES: &[&str] = &[$($name),*];
        }
    };
}
pub(crate) use counts;

/// Counters with names; the caller's enum gives their positions.
#[derive(Debug)]
pub(crate) struct Counters {
    names: &'static [&'static str],
    counts: Vec<AtomicU64>,
}

impl Counters {
    pub(crate) fn new(names: &'static [&'static str]) -> Self {
        Self { names, counts: names.iter().map(|_| AtomicU64::new(0)).collect() }
    }

    /// Adds to the counter at a position.
    pub(crate) fn add(&self, place: usize, by: u64) {
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// A line for each, its name after a prefix.
    pub(crate) fn text(&self, prefix: &str) -> String {
        let mut text = String::new();
        for (name, count) in self.names.iter().zip(&self.counts) {
            let _ = writeln!(text, "{prefix}{name} {}", count.load(Ordering::Relaxed));
        }
        text
    }
}
