//! Ledger: accounts of the requests, by interval, by phase and over the run.
//!
//! Measuring side, hot: once a request, on the generator's threads; a ledger a worker, nothing shared. An
//! entry goes into the open beat alone; intervals, phases and the run are put together when beats close, and
//! every record leaves through a channel at once, so that memory does not grow with the run. Judges
//! nothing. All moments are since the start of the run.

mod aggregate;
mod beat;
mod encoded;
mod entry;
mod record;
mod sums;

pub use aggregate::{Aggregate, LevelSum};
pub use beat::{Beat, NoBeat};
pub use entry::{Example, FirstFailure, LedgerEntry, Pages, TimedTraffic, Traffic};
pub use record::{LedgerRecord, RecordScope};
pub use sums::Sums;

use crate::judge::{FaultSet, RequestOutcome};
use aggregate::Level;
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use std::sync::mpsc::Sender;

/// Default length of an interval. As in Web Polygraph.
pub const INTERVAL: Nanos = Nanos::from_secs(5);

/// The accounts of one worker.
#[derive(Debug)]
pub struct Ledger {
    worker: u32,
    interval: Nanos,
    /// Records of parts of an interval; `None`: none.
    beat: Option<Beat>,
    records: Sender<LedgerRecord>,
    /// The current phase; entries before the first one have a phase without a name.
    phase: String,
    /// Intervals closed so far in the run.
    closed: u64,
    /// Good replies so far in the run.
    progress: u64,
    run_began: Nanos,
    phase_began: Nanos,
    interval_began: Nanos,
    beat_began: Nanos,
    /// Time when the open beat closes, which is an interval where there are none.
    closes: Nanos,
    level: Level,
    in_beat: Sums,
    /// Of the closed beats of the open interval.
    in_interval: Sums,
    in_phase: Sums,
    in_run: Sums,
    /// Faults that have their example.
    seen: FaultSet,
    /// Classes of failures that have their example.
    seen_failures: Vec<ErrorClass>,
}

impl Ledger {
    /// Opens the accounts at `now`. An interval of 0 is taken as [`INTERVAL`].
    pub fn new(worker: u32, interval: Nanos, now: Nanos, records: Sender<LedgerRecord>) -> Self {
        let interval = if interval == Nanos::ZERO { INTERVAL } else { interval };
        Self {
            worker,
            interval,
            beat: None,
            records,
            phase: String::new(),
            closed: 0,
            progress: 0,
            run_began: now,
            phase_began: now,
            interval_began: now,
            beat_began: now,
            closes: now + interval,
            level: Level::default(),
            in_beat: Sums::default(),
            in_interval: Sums::default(),
            in_phase: Sums::default(),
            in_run: Sums::default(),
            seen: FaultSet::NONE,
            seen_failures: Vec::new(),
        }
    }

    /// The same, with records of parts of an interval, too.
    #[must_use]
    pub fn with_beats(mut self, beat: Option<Beat>) -> Self {
        self.beat = beat;
        self.closes = self.next_close();
        self
    }

    /// Ends the current phase, if there is one, and begins the next.
    pub fn begin_phase(&mut self, name: &str, now: Nanos) {
        self.end_phase(now);
        name.clone_into(&mut self.phase);
    }

    /// A request that was due at this moment was handed out to be sent.
    #[inline]
    pub fn asked(&mut self, due: Nanos) {
        self.in_beat.asked += 1;
        self.level.up(due);
    }

    /// A request ended. `request` writes its line and header; it is called for the first of a fault only.
    pub fn ended(&mut self, entry: &LedgerEntry<'_>, request: impl FnOnce() -> Vec<u8>) {
        self.tick(entry.done);
        self.level.down(entry.done);
        self.in_beat.enter(entry);
        let first = entry.judged.faults.without(self.seen);
        if !first.is_empty() {
            self.keep_examples(entry, first, &request());
        }
        if let RequestOutcome::Failed(class) = entry.judged.outcome {
            self.keep_failure(entry, class);
        }
    }

    /// The request that has just ended failed, and was due in this phase, an earlier one.
    pub fn failed_late(&mut self, phase: &str) {
        *self.in_beat.late_failed.entry(phase.to_owned()).or_default() += 1;
    }

    /// A page is complete: its last request has just ended. `response`: from the moment its first was due.
    pub fn page_ended(&mut self, failed: bool, objects: u32, response: Nanos) {
        self.in_beat.pages.add(failed, objects, response);
    }

    /// Closes the intervals that are over. To be called also when nothing ends.
    #[inline]
    pub fn tick(&mut self, now: Nanos) {
        while now >= self.closes {
            let end = self.closes;
            self.close_beat(end);
            if end >= self.interval_began + self.interval {
                self.close_interval(end);
            }
        }
    }

    /// Closes the accounts: the last interval, the last phase, and the run.
    pub fn finish(mut self, now: Nanos) {
        self.end_phase(now);
        let sums = std::mem::take(&mut self.in_run);
        self.phase.clear();
        self.send(RecordScope::Run, self.run_began, now, sums);
    }

    fn end_phase(&mut self, now: Nanos) {
        self.tick(now);
        if now > self.interval_began || is_used(&self.in_beat) || is_used(&self.in_interval) {
            self.close_beat(now);
            self.close_interval(now);
        }
        let sums = std::mem::take(&mut self.in_phase);
        let began = std::mem::replace(&mut self.phase_began, now);
        if now > began || is_used(&sums) {
            self.in_run.append(&sums);
            self.send(RecordScope::Phase, began, now, sums);
        }
    }

    fn close_beat(&mut self, end: Nanos) {
        let mut sums = std::mem::take(&mut self.in_beat);
        sums.in_flight = self.level.close(end);
        self.in_interval.append(&sums);
        self.progress += sums.good;
        let began = std::mem::replace(&mut self.beat_began, end);
        self.closes = self.next_close();
        if self.beat.is_some() && (end > began || is_used(&sums)) {
            self.send(RecordScope::Beat, began, end, sums);
        }
    }

    /// After the last beat of the interval has closed.
    fn close_interval(&mut self, end: Nanos) {
        let sums = std::mem::take(&mut self.in_interval);
        self.in_phase.append(&sums);
        self.closed += 1;
        let began = std::mem::replace(&mut self.interval_began, end);
        self.closes = self.next_close();
        self.send(RecordScope::Interval, began, end, sums);
    }

    /// A beat begins anew with each interval.
    fn next_close(&self) -> Nanos {
        let interval = self.interval_began + self.interval;
        self.beat.map_or(interval, |beat| interval.min(self.beat_began + beat.get()))
    }

    fn send(&self, scope: RecordScope, began: Nanos, ended: Nanos, sums: Sums) {
        let record = LedgerRecord {
            worker: self.worker,
            scope,
            phase: self.phase.clone(),
            number: self.closed,
            began_ns: began.get(),
            ended_ns: ended.get(),
            progress: self.progress,
            sums,
        };
        // A receiver that is gone wants no records.
        let _ = self.records.send(record);
    }

    #[cold]
    fn keep_examples(&mut self, entry: &LedgerEntry<'_>, first: FaultSet, request: &[u8]) {
        self.seen = self.seen.with(first);
        self.in_beat.examples.extend(first.iter().map(|fault| Example {
            fault,
            object: String::from_utf8_lossy(entry.id).into_owned(),
            done_ns: entry.done.get(),
            request: String::from_utf8_lossy(request).into_owned(),
            reply: String::from_utf8_lossy(entry.head).into_owned(),
        }));
    }

    #[cold]
    fn keep_failure(&mut self, entry: &LedgerEntry<'_>, class: ErrorClass) {
        if entry.head.is_empty() || self.seen_failures.contains(&class) {
            return;
        }
        self.seen_failures.push(class);
        self.in_beat.failures.push(FirstFailure {
            class: class.as_str().to_owned(),
            done_ns: entry.done.get(),
            reply: String::from_utf8_lossy(entry.head).into_owned(),
        });
    }
}

/// Whether anything was asked for or ended in it.
const fn is_used(sums: &Sums) -> bool {
    sums.asked + sums.finished > 0
}

#[cfg(test)]
mod tests;
