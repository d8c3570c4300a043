//! Counts of a slice's TLS handshakes, as they are stored.
//!
//! Measuring side, cold. Counts what was requested, what could be offered and what the server accepted; the comparison
//! with a plan is made elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How TLS sessions began on the connections of one slice, and what that took of the generator's CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeCounts {
    /// Completed in full, those with a further round trip among them.
    pub full: u64,
    /// Of the full ones: with a further round trip, as the server wanted another key-exchange group.
    pub retried: u64,
    /// Completed by going on with an earlier session.
    pub resumed: u64,
    /// Came to nothing.
    pub failed: u64,
    /// Connections that were to go on with an earlier session, failed ones among them.
    pub wanted: u64,
    /// Those of them for which there was a session to offer.
    pub offered: u64,
    /// CPU of the generator's threads for all full ones.
    pub full_cpu_ns: u64,
    /// The same for those that were resumed.
    pub resumed_cpu_ns: u64,
    /// The same for those that failed.
    pub failed_cpu_ns: u64,
}

impl HandshakeCounts {
    /// Adds another slice's.
    pub const fn add(&mut self, other: &Self) {
        self.full += other.full;
        self.retried += other.retried;
        self.resumed += other.resumed;
        self.failed += other.failed;
        self.wanted += other.wanted;
        self.offered += other.offered;
        self.full_cpu_ns += other.full_cpu_ns;
        self.resumed_cpu_ns += other.resumed_cpu_ns;
        self.failed_cpu_ns += other.failed_cpu_ns;
    }

    /// Handshakes that were completed.
    pub const fn completed(&self) -> u64 {
        self.full + self.resumed
    }

    /// Share of the handshakes in which a session was offered; failed ones count.
    pub fn offered_share(&self) -> Option<f64> {
        share(self.offered, self.completed() + self.failed)
    }

    /// Share of the offered sessions that the server resumed.
    pub fn accepted_share(&self) -> Option<f64> {
        share(self.resumed, self.offered)
    }

    /// Share of the completed handshakes that resumed an earlier session.
    pub fn resumed_share(&self) -> Option<f64> {
        share(self.resumed, self.completed())
    }

    /// Generator CPU of a full handshake on average.
    pub fn full_cpu(&self) -> Option<f64> {
        share(self.full_cpu_ns, self.full)
    }

    /// Generator CPU of a resumed handshake on average.
    pub fn resumed_cpu(&self) -> Option<f64> {
        share(self.resumed_cpu_ns, self.resumed)
    }
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_they_say() {
        let one = HandshakeCounts {
            full: 4,
            resumed: 6,
            failed: 2,
            wanted: 9,
            offered: 8,
            full_cpu_ns: 800,
            resumed_cpu_ns: 300,
            ..HandshakeCounts::default()
        };
        let mut both = one;
        both.add(&one);
        for counts in [one, both] {
            assert_eq!(counts.offered_share(), Some(8.0 / 12.0));
            assert_eq!(counts.accepted_share(), Some(0.75));
            assert_eq!(counts.resumed_share(), Some(0.6));
            assert_eq!((counts.full_cpu(), counts.resumed_cpu()), (Some(200.0), Some(50.0)));
        }
        assert_eq!((both.completed(), both.wanted, both.failed), (20, 18, 4));
        assert_eq!(HandshakeCounts::default().resumed_share(), None);
    }
}
