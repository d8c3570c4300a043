//! Estimated number of connections that entered the server's queues.
//!
//! Measured side, pure. No counter has this number. The programs count SYNs that were let through, which may never
//! become a connection. The kernel counts established connections, but of all servers of the network. So the smaller
//! one is taken.

/// Number of looks after which both counts begin anew, so that an excess of one does not stay for ever.
const LOOKS: u32 = 100;

/// Both counts since their last beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    begin: Option<(u64, u64)>,
    /// Connections before that beginning.
    before: u64,
    looks: u32,
}

impl Arrivals {
    /// Number of all connections, from the numbers of SYNs and of established connections; it only rises.
    pub(super) fn of(&mut self, syns: u64, made: u64) -> u64 {
        let (syns_then, made_then) = *self.begin.get_or_insert((syns, made));
        let came = self.before + syns.saturating_sub(syns_then).min(made.saturating_sub(made_then));
        self.looks += 1;
        if self.looks == LOOKS {
            *self = Self { begin: Some((syns, made)), before: came, looks: 0 };
        }
        came
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_count_is_taken() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.of(1000, 5000), 0, "what was before does not count");
        // 50 connections, and 500 to another server; then 300 SYNs that became none.
        assert_eq!(arrivals.of(1050, 5550), 50);
        assert_eq!(arrivals.of(1400, 5600), 400, "the other server is held against it still");
    }

    #[test]
    fn it_begins_anew_and_never_falls() {
        let mut arrivals = Arrivals::default();
        arrivals.of(0, 1_000_000);
        let mut last = 0;
        for look in 1..=3 * u64::from(LOOKS) {
            let came = arrivals.of(look, 1_000_000 + 2 * look);
            assert!(came >= last && came <= look);
            last = came;
        }
        assert_eq!(last, 3 * u64::from(LOOKS));
    }
}
