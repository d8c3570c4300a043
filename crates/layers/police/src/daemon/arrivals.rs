//! How many connections came into the server's queues.
//!
//! Measured side, pure. Nobody counts that. The programs count SYNs and segments of our ports: what is no head, of no body and not
//! refused is a SYN that was let through, or of something that cannot be read, as TLS. The kernel counts connections that were
//! made, of all servers of the network. Each is too many where something else goes on as well; the smaller one is taken.

use crate::kernel::Counters;

/// Looks between two new beginnings: so that what one of both had too much of is not held against it for ever.
const LOOKS: u32 = 100;

/// Both counts, from a beginning on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    begin: Option<(u64, u64)>,
    /// Up to the beginning.
    before: u64,
    looks: u32,
    /// Heads that were refused, as far as rules have told.
    refused_heads: u64,
}

impl Arrivals {
    /// The number of all, from the programs' counts and that of connections that were made; it only rises.
    pub(super) fn of(&mut self, counters: &Counters, made: u64) -> u64 {
        let Counters { packets, heads, bodies, refused, .. } = counters;
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

    /// How many heads were refused: told by rules, and so less often than all else.
    pub(super) fn refused_heads(&mut self, refused: u64) {
        self.refused_heads = refused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(packets: u64, heads: u64, refused: u64) -> Counters {
        Counters { packets, heads, refused: [refused, 0, 0, 0, 0, 0, 0], ..Counters::default() }
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
        // 10 requests were refused by their rule; their connections were made.
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
