//! Overload agent: computes how many connections each class may have waiting, the bounds that the kernel enforces.
//!
//! Measured side, pure: time and readings come in, bounds come out. Little's law: a queue of rate x delay is a delay.
//! The rate is what the server took out of its queues while they were never seen empty, so an idle hour teaches
//! nothing. The kernel decides what is refused, and why. A daemon that ends leaves nothing of this behind.

/// No bound, in the kernel's form: as long as nothing was measured nothing is refused.
pub const OPEN: u32 = 0;
/// Lower limit of all bounds together: fewer would not keep a server busy between two of its looks.
const FEWEST: f64 = 4.0;
/// Time with waiting connections that makes one sample of the rate.
const SAMPLE_NS: u64 = 100_000_000;
/// Weight of a sample: a step in the rate is followed to nine tenths within ten samples, a second.
const WEIGHT: f64 = 0.2;
/// Limit of the delay during a stall, as a multiple of the target: a server that stands still earns no longer queue.
const MOST_STALL: u64 = 5;
/// Part of the longest stall that remains after a sample: half of it after some four seconds.
const FORGETTING: f64 = 63.0 / 64.0;

/// State of the queues at one look.
#[derive(Clone, Copy, Debug)]
pub struct QueueReading {
    /// Time in ns, of any monotonic clock.
    pub now_ns: u64,
    /// Connections ever put into a queue.
    pub arrived: u64,
    /// Connections that wait in all queues.
    pub waiting: u64,
}

/// The agent of one server.
#[derive(Clone, Debug)]
pub struct Agent {
    target_ns: u64,
    shares: Vec<f64>,
    last: Option<QueueReading>,
    /// Incomplete sample: connections taken out of queues, and the time for them.
    taken: u64,
    busy_ns: u64,
    /// Connections a second.
    rate: Option<f64>,
    /// Time since connections wait and none was taken.
    stalled_ns: u64,
    longest_stall_ns: f64,
}

impl Agent {
    /// For a delay of `target_ns` in the queues; with the share of the whole that each class may fill, in
    /// thousandths, from the highest class to the lowest.
    pub fn new(target_ns: u64, shares_thousandths: &[u16]) -> Self {
        let shares = shares_thousandths.iter().map(|share| f64::from(*share) / 1000.0).collect();
        Self {
            target_ns,
            shares,
            last: None,
            taken: 0,
            busy_ns: 0,
            rate: None,
            stalled_ns: 0,
            longest_stall_ns: 0.0,
        }
    }

    /// Takes one look into account. Readings that go back, as after a restart of the server, teach nothing.
    pub fn look(&mut self, now: QueueReading) {
        let Some(last) = self.last.replace(now) else { return };
        let (Some(time_ns), Some(arrived)) =
            (now.now_ns.checked_sub(last.now_ns), now.arrived.checked_sub(last.arrived))
        else {
            return;
        };
        let taken = (arrived + last.waiting).saturating_sub(now.waiting);
        let is_busy = last.waiting > 0 && now.waiting > 0;
        self.stalled_ns = if is_busy && taken == 0 { self.stalled_ns + time_ns } else { 0 };
        self.longest_stall_ns = self.longest_stall_ns.max(self.stalled_ns as f64);
        if is_busy {
            self.taken += taken;
            self.busy_ns += time_ns;
        }
        if self.busy_ns >= SAMPLE_NS {
            let sample = self.taken as f64 * 1e9 / self.busy_ns as f64;
            self.rate = Some(self.rate.map_or(sample, |rate| rate + WEIGHT * (sample - rate)));
            self.longest_stall_ns *= FORGETTING;
            (self.taken, self.busy_ns) = (0, 0);
        }
    }

    /// Bound of each class: a connection may enter while fewer wait in its own and all higher queues. At least 1, so
    /// that an empty queue is open to everybody; [`OPEN`] before the first measurement.
    pub fn bounds(&self) -> Vec<u32> {
        let Some(rate) = self.rate else { return vec![OPEN; self.shares.len()] };
        let most = self.target_ns.saturating_mul(MOST_STALL) as f64;
        let delay_ns = self.longest_stall_ns.clamp(self.target_ns as f64, most);
        let whole = (rate * delay_ns / 1e9).max(FEWEST);
        self.shares.iter().map(|share| ((whole * share).ceil() as u32).max(1)).collect()
    }

    /// Connections a second that the server takes out of non-empty queues; `None` before it was measured.
    pub const fn rate(&self) -> Option<f64> {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Looks each 10 ms at a server that takes `each` of the waiting connections.
    fn seen(agent: &mut Agent, from: u64, looks: u64, each: u64) {
        for look in from..from + looks {
            agent.look(QueueReading { now_ns: look * 10 * MS, arrived: look * each, waiting: 10 });
        }
    }

    #[test]
    fn a_bound_is_rate_times_delay_times_share() {
        let mut agent = Agent::new(20 * MS, &[1000, 500, 250]);
        assert_eq!(agent.bounds(), [OPEN; 3]);
        seen(&mut agent, 0, 11, 10);
        assert_eq!(agent.rate(), Some(1000.0));
        assert_eq!(agent.bounds(), [20, 10, 5]);
        // Ten times as fast: nine tenths of the way in eleven samples.
        let mut faster = agent.clone();
        for look in 0..110 {
            faster.look(QueueReading {
                now_ns: (110 + look * 10) * MS,
                arrived: 110 + look * 100,
                waiting: 1,
            });
        }
        assert!(faster.rate().unwrap() > 9000.0, "{:?}", faster.rate());
    }

    #[test]
    fn never_so_few_that_nobody_enters() {
        let mut agent = Agent::new(20 * MS, &[1000, 500, 1]);
        seen(&mut agent, 0, 100, 0);
        assert_eq!(agent.bounds(), [4, 2, 1]);
    }

    #[test]
    fn idle_time_teaches_nothing() {
        let mut agent = Agent::new(20 * MS, &[1000]);
        seen(&mut agent, 0, 21, 10);
        let learnt = agent.bounds();
        for look in 21..1000 {
            agent.look(QueueReading { now_ns: look * 10 * MS, arrived: look * 10, waiting: 0 });
        }
        assert_eq!((agent.bounds(), agent.rate()), (learnt, Some(1000.0)));
    }

    #[test]
    fn a_stall_raises_the_delay_and_a_server_that_stands_still_does_not() {
        let mut agent = Agent::new(20 * MS, &[1000]);
        // 50 ms without one taken, then 50 at once: 1000/s on average.
        let mut arrived = 0;
        for look in 0..100 {
            arrived += if look % 5 == 0 { 50 } else { 0 };
            agent.look(QueueReading { now_ns: look * 10 * MS, arrived, waiting: 60 });
        }
        let bound = agent.bounds()[0];
        assert!(
            (35..=50).contains(&bound),
            "{bound} for 40 ms between the first and the last look of a stall"
        );
        for look in 100..10_000 {
            agent.look(QueueReading { now_ns: look * 10 * MS, arrived, waiting: 60 });
        }
        assert_eq!(agent.bounds(), [4]);
    }

    #[test]
    fn counters_that_go_back_are_a_new_beginning() {
        let mut agent = Agent::new(20 * MS, &[1000]);
        seen(&mut agent, 100, 11, 10);
        seen(&mut agent, 0, 11, 10);
        assert_eq!(agent.rate(), Some(1000.0));
    }
}
