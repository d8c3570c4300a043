//! Simulated servers with a known knee: how often a search finds it, and in how many trials.
//!
//! docs/method.md quotes the output of `make calibrate` for it.

use bakeoff_content::SplitMix64;
use bakeoff_stats::Level;
use bakeoff_stats::knee::{
    Criteria, Observation, Search, SearchFinding, SearchPlan, SearchStep, Slo, Trial, growth,
};
use bakeoff_units::{Nanos, PerSecond, Ratio};

/// The SLO of all simulated servers.
pub(crate) const SLO: Slo = Slo { quantile: 0.99, limit: Nanos::from_millis(50) };

/// Time between two samples of the number in flight.
const SAMPLE: Nanos = Nanos::from_millis(20);

/// Hit ratio of a server at low load, where it has one.
const HIT_RATIO: f64 = 0.8;

/// Behaviour of a server at its knee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Every trial up to the knee passes, none above.
    Clean,
    /// Trials pass by chance, with a logistic curve of this width in the logarithm of the rate;
    /// `lapse` of them fail at any rate.
    Noisy {
        /// Width, natural logarithms.
        width: f64,
        /// Share, 0..1.
        lapse: f64,
    },
    /// A queue with one server, random arrivals and random work (M/M/1), request by request. Its
    /// capacity differs from trial to trial by this standard deviation (natural logarithms).
    Queue {
        /// Standard deviation.
        spread: f64,
    },
    /// Answers at any rate, but above the knee past its cache.
    Bypass,
    /// Clean, but every trial within 2 % of this share of the guess fails.
    BadPoint {
        /// Share of the guess.
        at: f64,
    },
    /// Clean, but the generator is late from this share of the knee on.
    GeneratorEndsAt {
        /// Share of the knee.
        share: f64,
    },
    /// Clean, but in this share of the trials other programs have the generator's core, and it is late.
    BusyMachine {
        /// Share, 0..1.
        share: f64,
    },
    /// Fails at every rate.
    Hopeless,
}

/// A simulated server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    kind: Kind,
    knee: f64,
    guess: f64,
    rng: SplitMix64,
}

impl Server {
    /// A server whose knee and whose closed-loop guess are given, in requests per second.
    pub(crate) fn new(kind: Kind, knee: f64, guess: f64, seed: u64) -> Server {
        Server { kind, knee, guess, rng: SplitMix64::new(seed) }
    }

    /// Runs a trial.
    pub(crate) fn observe(&mut self, trial: &Trial) -> Observation {
        let rate = trial.rate.get();
        let knee = self.knee;
        match self.kind {
            Kind::Clean => flat(trial, rate <= knee),
            Kind::Noisy { width, lapse } => {
                let passes = (1.0 - lapse) / (1.0 + ((rate / knee).ln() / width).exp());
                flat(trial, self.rng.unit() < passes)
            }
            Kind::Queue { spread } => self.queue(trial, spread),
            Kind::Bypass => {
                let hits = if rate <= knee { HIT_RATIO } else { HIT_RATIO * knee / rate };
                Observation { hit_ratio: Ratio::new(hits), ..flat(trial, true) }
            }
            Kind::BadPoint { at } => {
                let bad = (rate / (at * self.guess) - 1.0).abs() < 0.02;
                flat(trial, rate <= knee && !bad)
            }
            Kind::GeneratorEndsAt { share } => {
                let late = rate >= share * knee;
                let lateness_p99 = if late { Nanos::from_secs(1) } else { Nanos::ZERO };
                Observation { lateness_p99, ..flat(trial, rate <= knee) }
            }
            Kind::BusyMachine { share } => {
                let late = if self.rng.unit() < share { Nanos::from_secs(1) } else { Nanos::ZERO };
                let own_lateness_p99 = Some(Nanos::ZERO);
                Observation { lateness_p99: late, own_lateness_p99, ..flat(trial, rate <= knee) }
            }
            Kind::Hopeless => flat(trial, false),
        }
    }

    /// M/M/1, first come first served: the response time is exponential with the rate
    /// capacity - rate (in the limit), so p99 is ln 100 / (capacity - rate).
    fn queue(&mut self, trial: &Trial, spread: f64) -> Observation {
        let headroom = 100_f64.ln() / SLO.limit.as_secs_f64();
        let capacity = (self.knee + headroom) * (spread * self.rng.normal()).exp();
        let end = trial.time.as_secs_f64();
        let (mut arrival, mut free_at) = (0.0, 0.0_f64);
        let mut spans = Vec::new();
        loop {
            arrival += self.rng.exponential() / trial.rate.get();
            if arrival >= end {
                break;
            }
            free_at = free_at.max(arrival) + self.rng.exponential() / capacity;
            spans.push((arrival, free_at));
        }
        let in_flight = in_flight(&spans, trial.time);
        let mut times: Vec<f64> = spans.iter().map(|(due, done)| done - due).collect();
        times.sort_unstable_by(f64::total_cmp);
        let rank = ((times.len() as f64 * SLO.quantile).ceil() as usize).max(1) - 1;
        Observation {
            due: times.len() as u64,
            replies: times.len() as u64,
            slo_quantile: times.get(rank).map(|seconds| Nanos::from_secs_f64(*seconds)),
            growth: Level::new(0.9).and_then(|level| growth(&in_flight, level)),
            ..flat(trial, true)
        }
    }
}

/// Requests that are due and not done, at each sample; spans are in order of both ends.
fn in_flight(spans: &[(f64, f64)], time: Nanos) -> Vec<(Nanos, f64)> {
    let samples = time.get() / SAMPLE.get();
    let at = |sample: u64| {
        let now = SAMPLE.times(sample as f64);
        let due = spans.partition_point(|(due, _)| *due <= now.as_secs_f64());
        let done = spans.partition_point(|(_, done)| *done <= now.as_secs_f64());
        (now, (due - done) as f64)
    };
    (0..samples).map(at).collect()
}

/// A trial that passes, or fails by its response time.
fn flat(trial: &Trial, passes: bool) -> Observation {
    let due = (trial.rate.get() * trial.time.as_secs_f64()).ceil() as u64;
    Observation {
        due,
        replies: due,
        errors: 0,
        lateness_p99: Nanos::ZERO,
        own_lateness_p99: None,
        slo_quantile: Some(if passes { Nanos::from_millis(5) } else { Nanos::from_secs(1) }),
        hit_ratio: None,
        growth: None,
        generator_limited: false,
        took: trial.time,
    }
}

/// Runs a whole search; `change` has the last word on its plan.
pub(crate) fn run(server: &mut Server, seed: u64, change: impl FnOnce(&mut SearchPlan)) -> Search {
    let hit_ratio = (server.kind == Kind::Bypass).then(|| Ratio::new(HIT_RATIO)).flatten();
    let guess = PerSecond::new(server.guess).expect("above zero");
    let mut plan = SearchPlan::new(guess, Criteria::new(SLO, hit_ratio), seed);
    change(&mut plan);
    let mut search = Search::new(plan);
    while let SearchStep::Trial(trial) = search.next() {
        let seen = server.observe(&trial);
        search.observe(trial, &seen);
    }
    search
}

/// Many searches for servers of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Calibration {
    /// Searches.
    pub(crate) runs: u32,
    /// Number that came within 3 % of the knee.
    pub(crate) within: u32,
    /// Number of intervals that hold the knee.
    pub(crate) covered: u32,
    /// Number that were as precise as the plan wants.
    pub(crate) precise: u32,
    /// Median number of trials before confirmation and curve.
    pub(crate) median_trials: u32,
    /// Median time of these trials.
    pub(crate) median_time: Nanos,
}

/// Searches `runs` servers of a kind, each with a knee and a guess of its own, drawn from `seed`:
/// knees between 3000 and 30,000 per second, guesses from 0.7 to 1.6 times the knee.
pub(crate) fn calibrate(runs: u32, kind: Kind, seed: u64) -> Calibration {
    let mut rng = SplitMix64::new(seed);
    let mut sum =
        Calibration { runs, within: 0, covered: 0, precise: 0, median_trials: 0, median_time: Nanos::ZERO };
    let (mut trials, mut times) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let knee = 3000.0 * 10_f64.powf(rng.unit());
        let guess = knee * (0.7 + 0.9 * rng.unit());
        let mut server = Server::new(kind, knee, guess, rng.next_u64());
        let search = run(&mut server, rng.next_u64(), |plan| (plan.confirm, plan.curve) = (None, None));
        let outcome = search.outcome();
        if let SearchFinding::Knee { at, low, high } = outcome.finding {
            sum.within += u32::from((at.get() / knee - 1.0).abs() <= 0.03);
            sum.covered += u32::from(low.get() <= knee && knee <= high.get());
        }
        sum.precise += u32::from(outcome.precise);
        trials.push(outcome.trials);
        times.push(search.spent());
    }
    trials.sort_unstable();
    times.sort_unstable();
    sum.median_trials = trials.get(trials.len() / 2).copied().unwrap_or(0);
    sum.median_time = times.get(times.len() / 2).copied().unwrap_or(Nanos::ZERO);
    sum
}
