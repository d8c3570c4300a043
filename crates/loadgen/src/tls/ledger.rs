//! Ledger of TLS handshakes: number and cost on this side, by kind.
//!
//! Hot once a handshake. One a worker, added up afterwards. It counts what was requested, what could be tried and what
//! the server accepted; the server's reasons for a refusal are not known here.

use super::{HandshakeKind, Share, TlsSession};
use bakeoff_meter::HandshakeCounts;
use bakeoff_units::{Nanos, Ratio};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Handshakes of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeTally {
    /// Number of handshakes.
    pub count: u64,
    /// CPU time of the generator's threads for all of them.
    pub cpu_ns: u64,
}

impl HandshakeTally {
    const fn add(&mut self, cpu: Nanos) {
        self.count += 1;
        self.cpu_ns = self.cpu_ns.saturating_add(cpu.get());
    }

    const fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
    }

    /// CPU time of one, on average.
    pub const fn mean(self) -> Option<Nanos> {
        match self.cpu_ns.checked_div(self.count) {
            Some(mean) => Some(Nanos::new(mean)),
            None => None,
        }
    }
}

/// All handshakes of a worker, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeLedger {
    /// Full ones.
    pub full: HandshakeTally,
    /// Full ones with another round trip, as the server wanted another key-exchange group.
    pub full_with_retry: HandshakeTally,
    /// Resumed ones.
    pub resumed: HandshakeTally,
    /// Failed ones.
    pub failed: HandshakeTally,
    /// Connections that the rule chose to resume an earlier session, failed ones included.
    pub wanted: u64,
    /// Those of them for which there was a session to offer. The library may still leave out one whose
    /// lifetime is over.
    pub offered: u64,
}

impl HandshakeLedger {
    /// Enters a session whose handshake is over: completed, or failed for whatever reason.
    pub fn record(&mut self, session: &TlsSession) {
        let done = if session.is_handshaking() { None } else { session.kind() };
        let tally = match done {
            Some(HandshakeKind::Full) => &mut self.full,
            Some(HandshakeKind::FullWithRetry) => &mut self.full_with_retry,
            Some(HandshakeKind::Resumed) => &mut self.resumed,
            None => &mut self.failed,
        };
        tally.add(session.handshake_cpu());
        self.wanted += u64::from(session.wanted_to_resume());
        self.offered += u64::from(session.offered_session());
    }

    /// Adds another worker's.
    pub const fn merge(&mut self, other: &Self) {
        self.full.merge(other.full);
        self.full_with_retry.merge(other.full_with_retry);
        self.resumed.merge(other.resumed);
        self.failed.merge(other.failed);
        self.wanted += other.wanted;
        self.offered += other.offered;
    }

    /// Handshakes that were completed.
    pub const fn completed(&self) -> u64 {
        self.full.count + self.full_with_retry.count + self.resumed.count
    }

    /// The same as counters of a slice; `None` when no handshake was begun.
    pub fn counts(&self) -> Option<HandshakeCounts> {
        let mut full = self.full;
        full.merge(self.full_with_retry);
        (self.completed() + self.failed.count > 0).then_some(HandshakeCounts {
            full: full.count,
            retried: self.full_with_retry.count,
            resumed: self.resumed.count,
            failed: self.failed.count,
            wanted: self.wanted,
            offered: self.offered,
            full_cpu_ns: full.cpu_ns,
            resumed_cpu_ns: self.resumed.cpu_ns,
            failed_cpu_ns: self.failed.cpu_ns,
        })
    }

    /// Summary for reports; `None` when no handshake was completed.
    pub fn summary(&self, asked: Share) -> Option<HandshakeSummary> {
        let completed = self.completed();
        let achieved = Ratio::new(self.resumed.count as f64 / completed as f64)?;
        let mut full = self.full;
        full.merge(self.full_with_retry);
        Some(HandshakeSummary {
            asked: asked.ratio().get(),
            achieved: achieved.get(),
            completed,
            full_cpu_ns: full.mean().map(Nanos::get),
            resumed_cpu_ns: self.resumed.mean().map(Nanos::get),
            handshakes: *self,
        })
    }
}

/// Summary of handshakes for reports. Its text is one line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandshakeSummary {
    /// Share of the connections that was to resume an earlier session, 0 to 1.
    pub asked: f64,
    /// Share of the completed handshakes that did, 0 to 1.
    pub achieved: f64,
    /// Completed handshakes.
    pub completed: u64,
    /// Generator CPU of a full handshake on average, those with a retry included.
    pub full_cpu_ns: Option<u64>,
    /// Generator CPU of a resumed handshake on average.
    pub resumed_cpu_ns: Option<u64>,
    /// The counts.
    pub handshakes: HandshakeLedger,
}

impl fmt::Display for HandshakeSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |fraction: f64| Ratio::new(fraction).unwrap_or_default();
        write!(
            f,
            "resumption: {} asked, {} achieved ({} of {} handshakes)",
            share(self.asked),
            share(self.achieved),
            grouped(self.handshakes.resumed.count),
            grouped(self.completed),
        )?;
        let costs = [(self.full_cpu_ns, "full"), (self.resumed_cpu_ns, "resumed")];
        let words = costs.iter().filter_map(|(ns, kind)| ns.map(|ns| format!("{} {kind}", Nanos::new(ns))));
        let words: Vec<_> = words.collect();
        if words.is_empty() { Ok(()) } else { write!(f, ", handshake CPU {}", words.join(" / ")) }
    }
}

/// Digits in groups of three: 1,203.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tally(count: u64, each_us: u64) -> HandshakeTally {
        HandshakeTally { count, cpu_ns: count * each_us * 1000 }
    }

    #[test]
    fn two_workers_add_up_and_are_said_in_one_line() {
        let worker = HandshakeLedger {
            full: tally(647, 210),
            resumed: tally(600, 61),
            wanted: 625,
            offered: 600,
            ..HandshakeLedger::default()
        };
        let mut all = HandshakeLedger { full: tally(650, 210), resumed: tally(603, 61), ..worker };
        all.merge(&worker);
        assert_eq!((all.completed(), all.wanted, all.offered), (2500, 1250, 1200));
        let summary = all.summary("50%".parse().unwrap()).unwrap();
        assert_eq!(
            summary.to_string(),
            "resumption: 50 % asked, 48.1 % achieved (1,203 of 2,500 handshakes), handshake CPU 210 us full / 61 us resumed"
        );
    }

    #[test]
    fn counters_of_a_slice_hold_full_ones_with_and_without_retry_together() {
        let ledger = HandshakeLedger {
            full: tally(3, 200),
            full_with_retry: tally(1, 300),
            failed: tally(1, 10),
            wanted: 2,
            ..HandshakeLedger::default()
        };
        let counts = ledger.counts().unwrap();
        assert_eq!((counts.full, counts.retried, counts.failed, counts.wanted), (4, 1, 1, 2));
        assert_eq!((counts.full_cpu_ns, counts.failed_cpu_ns), (900_000, 10_000));
        assert_eq!(HandshakeLedger::default().counts(), None);
    }

    #[test]
    fn what_there_was_none_of_has_no_cost() {
        assert_eq!(HandshakeLedger::default().summary(Share::ALL), None);
        let none = HandshakeLedger { full: tally(3, 200), ..HandshakeLedger::default() };
        let words = none.summary(Share::NONE).unwrap().to_string();
        assert_eq!(
            words,
            "resumption: 0 % asked, 0 % achieved (0 of 3 handshakes), handshake CPU 200 us full"
        );
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
