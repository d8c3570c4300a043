//! Batching: how long replies may gather before the loop reads them.
//!
//! Measuring side, hot: asked once a turn of the loop. Waking up once a reply costs more than reading it;
//! looking at several at once is what makes a generator cheap. It must not falsify what it measures:
//!
//! - with few requests in flight nothing gathers: one robot sees the true service time;
//! - the wait is a small share of the running median, so that a closed loop asks nearly as often;
//! - while replies gather, their times are the kernel's ([`crate::connection`]), not those of the look.
//!
//! A wait in which nothing is likely to come is a waking-up too many, and is not made; one that ends when a request
//! is due costs none, as that wakes up in any case.
//!
//! Pure: no clock inside.

use bakeoff_sys::driver::EventBatch;
use bakeoff_units::Nanos;

/// Requests in flight below which nothing gathers.
pub(crate) const FEWEST_IN_FLIGHT: usize = 8;
/// A batch is at most this part of the requests in flight, ...
const PART_OF_IN_FLIGHT: usize = 4;
/// ... and so many: beyond, a batch saves little more.
const MOST_EVENTS: usize = 16;
/// The wait is at most this share of the median service time, ...
const SHARE_OF_MEDIAN: f64 = 0.2;
/// ... and so long, ...
const LONGEST: Nanos = Nanos::from_micros(200);
/// ... or so small a share of the median that nobody can tell, where that is longer: requests that follow from a reply,
/// such as those for embedded objects, come so much later.
const UNNOTICED: f64 = 0.001;
/// Replies that must be expected in a wait.
const WORTH_IT: f64 = 1.0;
/// A shorter wait saves nothing: falling asleep and waking up take some microseconds.
const SHORTEST: Nanos = Nanos::from_micros(15);
/// Service times before the median is worth anything.
const LEARNING: u32 = 64;

/// Follows the service times of a worker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Batching {
    median: RunningMedian,
    mean: RunningMean,
}

impl Batching {
    /// Notes the service time of a reply.
    pub(crate) fn served(&mut self, service: Nanos) {
        self.median.see(service);
        self.mean.see(service);
    }

    /// The batch that may gather now; `next_due` is the time until a request is due.
    pub(crate) fn plan(&self, in_flight: usize, next_due: Option<Nanos>) -> Option<EventBatch> {
        if in_flight < FEWEST_IN_FLIGHT || self.median.seen < LEARNING {
            return None;
        }
        let events = (in_flight / PART_OF_IN_FLIGHT).min(MOST_EVENTS);
        let median = self.median.estimate;
        // By Little's law a reply comes so often. The mean and not the median: half of a cache's replies may be hits,
        // while the requests in flight are misses.
        let gap_ns = self.mean.estimate_ns / in_flight as f64;
        let longest = LONGEST.max(median.times(UNNOTICED));
        let honest = median.times(SHARE_OF_MEDIAN).min(longest);
        let within = honest.min(Nanos::new((gap_ns * events as f64) as u64));
        let within = match next_due {
            Some(due) if due <= within => due,
            _ if within.get() as f64 >= WORTH_IT * gap_ns => within,
            _ => return None,
        };
        (within >= SHORTEST).then_some(EventBatch { events: events as u32, within })
    }
}

/// A mean that forgets: of the last some tens of values.
#[derive(Clone, Copy, Debug, Default)]
struct RunningMean {
    estimate_ns: f64,
}

impl RunningMean {
    fn see(&mut self, value: Nanos) {
        let value_ns = value.get() as f64;
        if self.estimate_ns == 0.0 {
            self.estimate_ns = value_ns;
        } else {
            self.estimate_ns += (value_ns - self.estimate_ns) / 64.0;
        }
    }
}

/// A median in constant space: moved up or down by a 32nd of itself at each value (Ma, Muthukrishnan and
/// Sandler 2013, "Frugal streaming"), so that it follows a server that grows slower.
#[derive(Clone, Copy, Debug, Default)]
struct RunningMedian {
    estimate: Nanos,
    seen: u32,
}

impl RunningMedian {
    fn see(&mut self, value: Nanos) {
        self.seen = self.seen.saturating_add(1);
        let step = Nanos::new(self.estimate.get() / 32 + 1);
        if self.estimate == Nanos::ZERO {
            self.estimate = value;
        } else if value > self.estimate {
            self.estimate += step;
        } else if value < self.estimate {
            self.estimate = self.estimate.since(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(service: Nanos) -> Batching {
        let mut batching = Batching::default();
        (0..1000).for_each(|_| batching.served(service));
        batching
    }

    #[test]
    fn few_in_flight_never_wait() {
        let batching = after(Nanos::from_millis(100));
        assert!((0..8).all(|in_flight| batching.plan(in_flight, None).is_none()));
    }

    #[test]
    fn nothing_is_known_at_the_start() {
        assert_eq!(Batching::default().plan(64, None), None);
    }

    #[test]
    fn the_wait_follows_the_median_and_has_an_end() {
        let wait = |service, in_flight| after(service).plan(in_flight, None).map(|batch| batch.within);
        let near = |nanos: Nanos, micros: u64| (nanos.get() as f64 / 1e3 / micros as f64 - 1.0).abs() < 0.1;
        assert!(near(wait(Nanos::from_micros(400), 64).unwrap(), 80)); // a fifth
        assert!(near(wait(Nanos::from_micros(800), 256).unwrap(), 50)); // 16 of 256 replies
        assert_eq!(wait(Nanos::from_millis(10), 64), Some(LONGEST)); // in which 1.3 come
        assert_eq!(wait(Nanos::from_millis(50), 64), None); // in which one comes one time in four
        assert_eq!(wait(Nanos::from_micros(60), 64), None); // too short to be worth it
    }

    #[test]
    fn what_takes_seconds_gathers_for_milliseconds_and_what_is_rare_not_at_all() {
        let seconds = after(Nanos::from_secs(3));
        // 400 a second: 1.2 come in three milliseconds.
        let batch = seconds.plan(1200, None).unwrap();
        assert!((batch.within.get() as f64 / 3e6 - 1.0).abs() < 0.1, "{batch:?}");
        // 100 a second: none would come. Until a request is due it costs nothing.
        assert_eq!(seconds.plan(300, None), None);
        let due = Nanos::from_millis(2);
        assert_eq!(seconds.plan(300, Some(due)).map(|batch| batch.within), Some(due));
        assert_eq!(seconds.plan(300, Some(Nanos::from_millis(20))), None);
    }

    #[test]
    fn half_of_a_caches_replies_are_hits_and_all_that_is_in_flight_are_misses() {
        let mut batching = Batching::default();
        (0..2000).for_each(|n| batching.served(Nanos::from_micros(if n % 9 < 5 { 1000 } else { 3_000_000 })));
        // 240 replies a second: none would come in a fifth of the median.
        assert_eq!(batching.plan(320, None), None);
    }

    #[test]
    fn a_request_that_is_due_is_not_kept_waiting() {
        let batching = after(Nanos::from_millis(1));
        let due = Nanos::from_micros(40);
        assert_eq!(batching.plan(64, Some(due)).map(|batch| batch.within), Some(due));
        assert_eq!(batching.plan(64, Some(Nanos::from_micros(3))), None);
    }

    #[test]
    fn the_running_median_finds_the_median_of_a_skewed_stream() {
        let mut median = RunningMedian::default();
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = ((state >> 11) as f64 / (1_u64 << 53) as f64).max(1e-9);
            median.see(Nanos::new((-uniform.ln() * 1e6) as u64)); // exponential: the median is ln 2
        }
        assert!((median.estimate.get() as f64 / (1e6 * 2_f64.ln()) - 1.0).abs() < 0.25, "{median:?}");
    }
}
