//! Counters of decisions by name, and of violations by file.
//!
//! Hot: one atomic addition a decision. The numbers are the layer's own claim, reported beside measurements from
//! outside.

use crate::words::plain;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_base::manifest::check::Deviation;
use bakeoff_layers_base::named::Named;
use bakeoff_layers_base::{counters as base, named};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

named! {
    /// A counter.
    pub(crate) enum Count {
        /// Opens that were asked about by others than ourselves.
        Decided "decided",
        /// Of these, allowed.
        Allowed "allowed",
        /// Of these, refused.
        Denied "denied",
        /// Of the decided, answered from a kept verdict. Opens that the kernel answers by an ignore mark
        /// never come here and cannot be counted.
        Remembered "remembered",
        /// Files that were hashed.
        Hashed "hashed",
        /// Bytes that were hashed.
        HashedBytes "hashed-bytes",
        /// Our own opens.
        Own "own",
        /// Opens below excluded paths.
        Excluded "excluded",
        /// Verdicts voided since somebody wanted to write.
        Voided "voided",
        /// Refused (or allowed) since the time limit was over.
        Timeout "timeout",
        /// Refused (or allowed) since too many were waiting.
        Overflow "overflow",
        /// In `log` mode: opens that were not looked at, since too many were waiting.
        Unchecked "unchecked",
        /// Opens that changed while they were looked at, twice.
        Changing "changing",
        /// Opens that the kernel refused, since somebody holds a write lease on the file.
        Leased "leased",
        /// Opens that waited when a worker died, and were decided by the next.
        Orphaned "orphaned",
        /// Workers that were started after the first.
        Restarts "restarts",
        /// Manifests that were taken after the first.
        Reloads "reloads",
        /// Manifests that were refused when a newer one was asked for.
        ReloadsRefused "reloads-refused",
        /// Signals by which the served processes were ended.
        Stopped "stopped",
        /// Times the store was locked.
        Locked "locked",
        /// Time spent on decisions, from reading the event to its answer.
        DecisionNs "decision-ns",
    }
}

/// Limit on paths of wrong files listed by name; further ones are counted together.
const MAX_PATHS: usize = 10_000;
/// Limit on the bytes of all of them: the status has them each time it is written.
const MAX_PATHS_BYTES: usize = 1 << 20;

/// All counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    counts: base::Counters<Count>,
    wrong: base::Counters<Deviation>,
    violations: Mutex<Violations>,
    /// Set when a counter changed, cleared when it is asked.
    changed: AtomicBool,
}

#[derive(Debug, Default)]
struct Violations {
    paths: BTreeMap<String, (Deviation, u64)>,
    bytes: usize,
    unnamed: u64,
}

impl Counters {
    pub(crate) fn add(&self, count: Count) {
        self.add_many(count, 1);
    }

    pub(crate) fn add_many(&self, count: Count, by: u64) {
        self.counts.add(count, by);
        self.changed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, count: Count) -> u64 {
        self.counts.get(count)
    }

    /// Counts an open of a wrong file.
    pub(crate) fn violation(&self, path: &str, wrong: Deviation) {
        let path = &plain(path);
        self.wrong.add(wrong, 1);
        let mut violations = lock(&self.violations);
        if let Some(known) = violations.paths.get_mut(path) {
            *known = (wrong, known.1 + 1);
        } else if violations.paths.len() < MAX_PATHS && violations.bytes + path.len() <= MAX_PATHS_BYTES {
            violations.bytes += path.len();
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

    /// Takes the last answer back: nothing came of it.
    pub(crate) fn set_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Whether a counter changed since [`Self::take_changed`].
    pub(crate) fn is_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// As lines `name value`, then `violation NUMBER WHAT PATH`.
    pub(crate) fn text(&self) -> String {
        let mut text = self.counts.text("");
        let all: u64 = self.wrong.each().map(|(_, number)| number).sum();
        let _ = writeln!(text, "violations {all}");
        text.push_str(&self.wrong.text(""));
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
            self.counts.restore(name, value);
            self.wrong.restore(name, value);
        }
    }

    fn restore_violation(&self, value: &str) {
        let mut parts = value.splitn(3, ' ');
        let (Some(number), Some(name), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            return;
        };
        if let (Ok(number), Some(wrong)) = (number.parse(), Deviation::of_name(name)) {
            let mut violations = lock(&self.violations);
            violations.bytes += path.len();
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
        counters.violation("a b", Deviation::Digest);
        counters.violation("a b", Deviation::Digest);
        let next = Counters::default();
        next.restore(&counters.text());
        next.violation("a b", Deviation::Size);
        assert_eq!(next.get(Count::Decided), 3);
        let text = next.text();
        assert!(
            text.contains("\nviolations 3\nwrong-digest 2\n") && text.contains("\nwrong-size 1\n"),
            "{text}"
        );
        assert!(text.ends_with("violation 3 wrong-size a b\n"), "{text}");
    }
}
