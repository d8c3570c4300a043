//! Counters of a process, by name.
//!
//! Measured side, hot: one atomic addition. They are the layer's own word of what it did, and no meters of a comparison.

use crate::named::Named;
use std::fmt::Write;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter for each variant of an enum.
#[derive(Debug)]
pub struct Counters<C> {
    counts: Box<[AtomicU64]>,
    which: PhantomData<C>,
}

impl<C: Named> Default for Counters<C> {
    fn default() -> Self {
        Self { counts: C::ALL.iter().map(|_| AtomicU64::new(0)).collect(), which: PhantomData }
    }
}

impl<C: Named> Counters<C> {
    /// Adds to one.
    pub fn add(&self, which: C, by: u64) {
        if let Some(count) = self.counts.get(which.place()) {
            count.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// What one is now.
    pub fn get(&self, which: C) -> u64 {
        self.counts.get(which.place()).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Sets one; what it was before.
    pub fn set(&self, which: C, to: u64) -> u64 {
        self.counts.get(which.place()).map_or(0, |count| count.swap(to, Ordering::Relaxed))
    }

    /// Each with what it is now, in the order of the enum.
    pub fn each(&self) -> impl Iterator<Item = (C, u64)> {
        C::ALL.iter().map(|which| (*which, self.get(*which)))
    }

    /// A line `name value` for each, behind a prefix.
    pub fn text(&self, prefix: &str) -> String {
        let mut text = String::new();
        for (which, count) in self.each() {
            let _ = writeln!(text, "{prefix}{} {count}", which.name());
        }
        text
    }

    /// Sets the one of this name, if there is one.
    pub fn restore(&self, name: &str, value: u64) {
        if let Some(which) = C::of_name(name) {
            self.set(which, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::named! {
        enum Count {
            First "first",
            Second "the-second",
        }
    }

    #[test]
    fn each_is_counted_under_its_name_and_goes_on_from_what_was_written() {
        let counters = Counters::default();
        counters.add(Count::Second, 3);
        counters.add(Count::Second, 4);
        assert_eq!(counters.text("a."), "a.first 0\na.the-second 7\n");
        assert_eq!((counters.set(Count::Second, 1), counters.get(Count::Second)), (7, 1));
        let next = Counters::default();
        next.restore("first", 5);
        next.restore("third", 6);
        assert!(next.each().eq([(Count::First, 5), (Count::Second, 0)]));
        assert_eq!(Count::of_name("the-second"), Some(Count::Second));
    }
}
