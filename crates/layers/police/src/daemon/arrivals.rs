//! Estimated number of connections that entered the server's queues.
//!
//! Measured side, pure. No counter has this number. The programs count SYNs and segments of our ports. Those that are
//! no head, not of a body and not refused are SYNs that were let through, or unreadable segments, as of TLS. The
//! kernel counts established connections, but of all servers of the network. Each is too high if something else goes
//! on as well, so the smaller one is taken.

use crate::kernel::KernelCounters;

/// Number of looks after which both counts begin anew, so that an excess of one does not stay for ever.
const LOOKS: u32 = 100;

/// Both counts since their last beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    begin: Option<(u64, u64)>,
    /// Connections before that beginning.
    before: u64,
    looks: u32,
    /// Refused heads, as last reported by rules.
    refused_heads: u64,
}

impl Arrivals {
    /// Number of all connections, from the programs' counts and the number of established connections; it only rises.
    pub(super) fn of(&mut self, counters: &KernelCounters, made: u64) -> u64 {
        let KernelCounters { packets, heads, bodies, refused, .. } = counters;
        let refused: u64 = refused.iter().sum();
        let others = heads + bodies + refused.saturating_sub(self.refused_heads);
        let syns = packets.saturating_sub(others);
        let (syns_then, made_then) = *self.begin.get_or_insert((syns, made));
        let came = self.before + syns.saturating_sub(syns_then).min(made.saturating_sub(made_then));
        self.looks += 1;
        if self.looks == LOOKS {
            *self = Self { begin: Some((syns, made)), before: came, looks: 0, ..*self };
        }
        came
    }

    /// Sets the number of refused heads, which rules report less often than everything else.
    pub(super) fn refused_heads(&mut self, refused: u64) {
        self.refused_heads = refused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(packets: u64, heads: u64, refused: u64) -> KernelCounters {
        KernelCounters {
            packets,
            heads,
            refused: [refused, 0, 0, 0, 0, 0, 0, 0],
            ..KernelCounters::default()
        }
    }

    #[test]
    fn the_smaller_count_is_taken() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.of(&counters(1000, 400, 100), 5000), 0, "what was before does not count");
        // 50 connections with a request each, 20 SYNs refused, and 500 connections to another server.
        assert_eq!(arrivals.of(&counters(1120, 450, 120), 5550), 50);
        // The same, and 300 segments of TLS.
        assert_eq!(
            arrivals.of(&counters(1520, 500, 120), 5600),
            400,
            "the other server is held against it still"
        );
        let mut arrivals = Arrivals::default();
        arrivals.of(&counters(0, 0, 0), 0);
        assert_eq!(arrivals.of(&counters(400, 50, 0), 50), 50);
        // 10 requests were refused by their rule; their connections were established.
        arrivals.refused_heads(10);
        assert_eq!(arrivals.of(&counters(420, 60, 10), 60), 60);
    }

    #[test]
    fn it_begins_anew_and_never_falls() {
        let mut arrivals = Arrivals::default();
        arrivals.of(&counters(0, 0, 0), 1_000_000);
        let mut last = 0;
        for look in 1..=3 * u64::from(LOOKS) {
            let came = arrivals.of(&counters(look, 0, look / 50), 1_000_000 + 2 * look);
            assert!(came >= last && came <= look);
            last = came;
        }
        assert_eq!(last, 3 * u64::from(LOOKS) - 6);
    }
}
