//! Counters of decisions by name, and of violations by file.
//!
//! Hot: one atomic addition a decision. The numbers are the layer's own claim, reported beside measurements from
//! outside.

use crate::words::plain;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_base::manifest::check::Wrong;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Opens by other processes that asked for a decision.
    Decided,
    /// Allowed ones of these.
    Allowed,
    /// Refused ones of these.
    Denied,
    /// Decided ones that a kept verdict answered. Opens that the kernel answers by an ignore mark never come here and
    /// cannot be counted.
    Remembered,
    /// Files that were hashed.
    Hashed,
    /// Bytes that were hashed.
    HashedBytes,
    /// Our own opens.
    Own,
    /// Opens below excluded paths.
    Excluded,
    /// Verdicts voided because somebody wanted to write.
    Voided,
    /// Refused (or allowed) because the time limit was exceeded.
    Timeout,
    /// Refused (or allowed) because too many were waiting.
    Overflow,
    /// In `log` mode: opens that were not checked, because too many were waiting.
    Unchecked,
    /// Opens of files that changed twice during the check.
    Changing,
    /// Opens that the kernel refused because of a write lease on the file.
    Leased,
    /// Opens that waited when a worker died, and were decided by the next.
    Orphaned,
    /// Workers started after the first.
    Restarts,
    /// Manifests accepted after the first.
    Reloads,
    /// Manifests refused on a reload.
    ReloadsRefused,
    /// Signals sent to end the served processes.
    Stopped,
    /// Times the store was locked.
    Locked,
    /// Time spent on decisions, from reading the event to its answer.
    DecisionNs,
}

impl Count {
    pub(crate) const ALL: [Self; 21] = [
        Self::Decided,
        Self::Allowed,
        Self::Denied,
        Self::Remembered,
        Self::Hashed,
        Self::HashedBytes,
        Self::Own,
        Self::Excluded,
        Self::Voided,
        Self::Timeout,
        Self::Overflow,
        Self::Unchecked,
        Self::Changing,
        Self::Leased,
        Self::Orphaned,
        Self::Restarts,
        Self::Reloads,
        Self::ReloadsRefused,
        Self::Stopped,
        Self::Locked,
        Self::DecisionNs,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Remembered => "remembered",
            Self::Hashed => "hashed",
            Self::HashedBytes => "hashed-bytes",
            Self::Own => "own",
            Self::Excluded => "excluded",
            Self::Voided => "voided",
            Self::Timeout => "timeout",
            Self::Overflow => "overflow",
            Self::Unchecked => "unchecked",
            Self::Changing => "changing",
            Self::Leased => "leased",
            Self::Orphaned => "orphaned",
            Self::Restarts => "restarts",
            Self::Reloads => "reloads",
            Self::ReloadsRefused => "reloads-refused",
            Self::Stopped => "stopped",
            Self::Locked => "locked",
            Self::DecisionNs => "decision-ns",
        }
    }
}

/// Limit on paths of wrong files listed by name; further ones are counted together.
const MAX_PATHS: usize = 10_000;

/// All counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    counts: [AtomicU64; Count::ALL.len()],
    wrong: [AtomicU64; Wrong::ALL.len()],
    violations: Mutex<Violations>,
    /// Set when a counter changed, cleared when it is asked.
    changed: AtomicBool,
}

#[derive(Debug, Default)]
struct Violations {
    paths: BTreeMap<String, (Wrong, u64)>,
    unnamed: u64,
}

impl Counters {
    pub(crate) fn add(&self, count: Count) {
        self.add_many(count, 1);
    }

    pub(crate) fn add_many(&self, count: Count, by: u64) {
        if let Some(number) = self.counts.get(count as usize) {
            number.fetch_add(by, Ordering::Relaxed);
        }
        self.changed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, count: Count) -> u64 {
        self.counts.get(count as usize).map_or(0, |number| number.load(Ordering::Relaxed))
    }

    /// Counts an open of a wrong file.
    pub(crate) fn violation(&self, path: &str, wrong: Wrong) {
        let path = &plain(path);
        let index = Wrong::ALL.iter().position(|known| *known == wrong);
        if let Some(number) = index.and_then(|index| self.wrong.get(index)) {
            number.fetch_add(1, Ordering::Relaxed);
        }
        let mut violations = lock(&self.violations);
        if let Some(known) = violations.paths.get_mut(path) {
            *known = (wrong, known.1 + 1);
        } else if violations.paths.len() < MAX_PATHS {
            violations.paths.insert(path.clone(), (wrong, 1));
        } else {
            violations.unnamed += 1;
        }
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Whether a counter changed since the last call.
    pub(crate) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    /// Whether a counter changed since [`Self::take_changed`].
    pub(crate) fn is_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// As lines `name value`, then `violation NUMBER WHAT PATH`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for count in Count::ALL {
            let _ = writeln!(text, "{} {}", count.name(), self.get(count));
        }
        let all: u64 = self.wrong.iter().map(|number| number.load(Ordering::Relaxed)).sum();
        let _ = writeln!(text, "violations {all}");
        for (wrong, number) in Wrong::ALL.into_iter().zip(&self.wrong) {
            let _ = writeln!(text, "{} {}", wrong.name(), number.load(Ordering::Relaxed));
        }
        let violations = lock(&self.violations);
        let _ = writeln!(text, "violated-paths {}", violations.paths.len());
        let _ = writeln!(text, "violations-unnamed {}", violations.unnamed);
        for (path, (wrong, number)) in &violations.paths {
            let _ = writeln!(text, "violation {number} {} {path}", wrong.name());
        }
        text
    }

    /// Continues from the counters that the previous worker wrote.
    pub(crate) fn restore(&self, text: &str) {
        for line in text.lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            if name == "violation" {
                self.restore_violation(value);
                continue;
            }
            let Ok(value) = value.parse() else { continue };
            let count = Count::ALL.into_iter().find(|count| count.name() == name);
            let own = count.and_then(|count| self.counts.get(count as usize));
            let wrong = Wrong::ALL.into_iter().position(|wrong| wrong.name() == name);
            if let Some(number) = own.or(wrong.and_then(|index| self.wrong.get(index))) {
                number.store(value, Ordering::Relaxed);
            }
        }
    }

    fn restore_violation(&self, value: &str) {
        let mut parts = value.splitn(3, ' ');
        let (Some(number), Some(name), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            return;
        };
        let wrong = Wrong::ALL.into_iter().find(|wrong| wrong.name() == name);
        if let (Ok(number), Some(wrong)) = (number.parse(), wrong) {
            let mut violations = lock(&self.violations);
            violations.paths.insert(path.to_owned(), (wrong, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_goes_on_from_what_the_one_before_it_wrote() {
        let counters = Counters::default();
        counters.add_many(Count::Decided, 3);
        counters.violation("a b", Wrong::Digest);
        counters.violation("a b", Wrong::Digest);
        let next = Counters::default();
        next.restore(&counters.text());
        next.violation("a b", Wrong::Size);
        assert_eq!(next.get(Count::Decided), 3);
        let text = next.text();
        assert!(
            text.contains("\nviolations 3\nwrong-digest 2\n") && text.contains("\nwrong-size 1\n"),
            "{text}"
        );
        assert!(text.ends_with("violation 3 wrong-size a b\n"), "{text}");
        assert!(Count::ALL.iter().enumerate().all(|(at, count)| at == *count as usize), "numbered in order");
    }
}
