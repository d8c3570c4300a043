//! Criteria that a trial must meet for its rate to count as sustained.

use super::Slope;
use bakeoff_units::{Nanos, PerSecond, Ratio};

/// Figures of one trial at one rate. Requests are those that were due in the trial, each followed to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Requests due.
    pub due: u64,
    /// Good replies to them.
    pub replies: u64,
    /// Requests that ended in a failure, those never sent included.
    pub errors: u64,
    /// 99th percentile of the generator's own lateness.
    pub lateness_p99: Nanos,
    /// The same without the moments at which other programs had its core; none where that cannot be told, or where it
    /// filled its core itself.
    pub own_lateness_p99: Option<Nanos>,
    /// The response time's quantile that the SLO names; none without a good reply.
    pub slo_quantile: Option<Nanos>,
    /// Share of replies that were hits, where that can be told.
    pub hit_ratio: Option<Ratio>,
    /// Growth of the number in flight over the last half; none when the series is too short.
    pub growth: Option<Slope>,
    /// Whether a thread of the generator had no time left.
    pub generator_limited: bool,
    /// Time that the trial took, warm-up and rest included: charged to the budget.
    pub took: Nanos,
}

/// A limit on a quantile of the response time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slo {
    /// The quantile, between 0 and 1: 0.99.
    pub quantile: f64,
    /// Its limit.
    pub limit: Nanos,
}

/// The limits. The defaults are those of [`Criteria::new`].
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    /// Good replies, as a share of the requests due, are at least this: 0.995.
    pub replies: f64,
    /// Failures, as a share of the requests due, are at most this: 0.001.
    pub errors: f64,
    /// The response time.
    pub slo: Slo,
    /// The hit ratio at low load, where there is one.
    pub hit_ratio: Option<Ratio>,
    /// Tolerance of the hit ratio below that: 0.01, a point.
    pub hit_ratio_slack: f64,
    /// Growth of the number in flight, as a share of the rate per second, is at most this: 0.005.
    pub growth: f64,
    /// The generator may be this late (1 ms) ...
    pub lateness: Nanos,
    /// ... or this share of the mean gap (0.1), whichever is more.
    pub lateness_of_gap: f64,
}

impl Criteria {
    /// The default limits with a given SLO.
    pub fn new(slo: Slo, hit_ratio: Option<Ratio>) -> Criteria {
        Criteria {
            replies: 0.995,
            errors: 0.001,
            slo,
            hit_ratio,
            hit_ratio_slack: 0.01,
            growth: 0.005,
            lateness: Nanos::from_millis(1),
            lateness_of_gap: 0.1,
        }
    }

    /// Judges a trial at `rate`.
    ///
    /// A generator that was late has not offered the rate: the trial is void and says nothing about
    /// the server.
    pub fn judge(&self, rate: PerSecond, seen: &Observation) -> TrialJudgement {
        if seen.due == 0 {
            return TrialJudgement::Void(VoidReason::NothingDue);
        }
        let bound = self.lateness.max(rate.gap().times(self.lateness_of_gap));
        if seen.lateness_p99 > bound {
            let by_others = seen.own_lateness_p99.is_some_and(|own| own <= bound);
            return TrialJudgement::Void(if by_others {
                VoidReason::MachineBusy
            } else {
                VoidReason::GeneratorLate
            });
        }
        if seen.generator_limited {
            return TrialJudgement::Void(VoidReason::GeneratorFull);
        }
        let broken = |criterion: &Criterion| self.broken(*criterion, rate, seen);
        let by: Vec<Criterion> = Criterion::ALL.into_iter().filter(broken).collect();
        if by.is_empty() { TrialJudgement::Passed } else { TrialJudgement::Failed { by } }
    }

    fn broken(&self, criterion: Criterion, rate: PerSecond, seen: &Observation) -> bool {
        let due = seen.due as f64;
        match criterion {
            Criterion::Replies => (seen.replies as f64) < self.replies * due,
            Criterion::Errors => seen.errors as f64 > self.errors * due,
            Criterion::Latency => seen.slo_quantile.is_some_and(|time| time > self.slo.limit),
            // Only fewer hits: more of them mean that the cache was still filling at low load.
            Criterion::HitRatio => {
                let pair = self.hit_ratio.zip(seen.hit_ratio);
                pair.is_some_and(|(low_load, now)| now.get() < low_load.get() - self.hit_ratio_slack)
            }
            // The upper bound must be under the limit; but where it is over only because the trial
            // was too short to tell, that is no growth, and a longer trial will tell.
            Criterion::Queue => {
                seen.growth.is_some_and(|growth| growth.high > self.growth * rate.get() && growth.low > 0.0)
            }
        }
    }
}

/// The criteria that a trial can fail, in the order in which ties are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Criterion {
    /// Too few of the requests due were answered.
    Replies,
    /// Too many failures.
    Errors,
    /// The SLO's quantile is over its limit.
    Latency,
    /// Fewer hits than at low load: the replies come past its cache.
    HitRatio,
    /// The number of waiting requests grows.
    Queue,
}

impl Criterion {
    /// All, in the order of their declaration.
    pub const ALL: [Criterion; 5] =
        [Criterion::Replies, Criterion::Errors, Criterion::Latency, Criterion::HitRatio, Criterion::Queue];

    /// The word in results and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Criterion::Replies => "replies",
            Criterion::Errors => "errors",
            Criterion::Latency => "latency",
            Criterion::HitRatio => "hit-ratio",
            Criterion::Queue => "queue",
        }
    }
}

/// The reason for which a trial says nothing about the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoidReason {
    /// The generator sent too late.
    GeneratorLate,
    /// The generator sent too late, but would not have without other programs on its core.
    MachineBusy,
    /// The generator's core was full.
    GeneratorFull,
    /// No request was due.
    NothingDue,
}

impl VoidReason {
    /// The word in results and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            VoidReason::GeneratorLate => "generator-late",
            VoidReason::MachineBusy => "machine-busy",
            VoidReason::GeneratorFull => "generator-full",
            VoidReason::NothingDue => "nothing-due",
        }
    }
}

/// The judgement of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialJudgement {
    /// All criteria held.
    Passed,
    /// Some did not.
    Failed {
        /// The failed ones; never empty.
        by: Vec<Criterion>,
    },
    /// It says nothing about the server.
    Void(VoidReason),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Observation {
        Observation {
            due: 1000,
            replies: 1000,
            errors: 0,
            lateness_p99: Nanos::from_micros(20),
            own_lateness_p99: None,
            slo_quantile: Some(Nanos::from_millis(50)),
            hit_ratio: Ratio::new(0.8),
            growth: Some(Slope { per_second: 0.0, low: -1.0, high: 5.0 }),
            generator_limited: false,
            took: Nanos::from_secs(3),
        }
    }

    fn judged(change: impl FnOnce(&mut Observation)) -> TrialJudgement {
        let slo = Slo { quantile: 0.99, limit: Nanos::from_millis(50) };
        let criteria = Criteria::new(slo, Ratio::new(0.8));
        let mut seen = good();
        change(&mut seen);
        criteria.judge(PerSecond::new(1000.0).unwrap(), &seen)
    }

    fn broken(by: &[Criterion]) -> TrialJudgement {
        TrialJudgement::Failed { by: by.to_vec() }
    }

    #[test]
    fn each_criterion_holds_at_its_limit_and_breaks_beyond() {
        use Criterion::{Errors, HitRatio, Latency, Queue, Replies};
        assert_eq!(judged(|_| {}), TrialJudgement::Passed);
        assert_eq!(judged(|o| o.replies = 995), TrialJudgement::Passed);
        assert_eq!(judged(|o| o.replies = 994), broken(&[Replies]));
        assert_eq!(judged(|o| o.errors = 1), TrialJudgement::Passed);
        assert_eq!(judged(|o| o.errors = 2), broken(&[Errors]));
        assert_eq!(judged(|o| o.slo_quantile = Some(Nanos::new(50_000_001))), broken(&[Latency]));
        assert_eq!(judged(|o| o.slo_quantile = None), TrialJudgement::Passed);
        assert_eq!(judged(|o| o.hit_ratio = Ratio::new(0.7901)), TrialJudgement::Passed);
        assert_eq!(judged(|o| o.hit_ratio = Ratio::new(0.7899)), broken(&[HitRatio]));
        assert_eq!(judged(|o| o.hit_ratio = Ratio::new(0.9)), TrialJudgement::Passed);
        assert_eq!(judged(|o| o.hit_ratio = None), TrialJudgement::Passed);
        let growing = |low, high| Some(Slope { per_second: (low + high) / 2.0, low, high });
        assert_eq!(judged(|o| o.growth = growing(0.1, 5.1)), broken(&[Queue]));
        assert_eq!(judged(|o| o.growth = growing(0.1, 5.0)), TrialJudgement::Passed);
        assert_eq!(judged(|o| o.growth = growing(-0.1, 90.0)), TrialJudgement::Passed);
        let all = judged(|o| {
            (o.replies, o.errors, o.hit_ratio) = (900, 100, Ratio::new(0.0));
            (o.slo_quantile, o.growth) = (Some(Nanos::from_secs(1)), growing(90.0, 100.0));
        });
        assert_eq!(all, broken(&Criterion::ALL));
    }

    #[test]
    fn a_late_generator_voids_and_never_fails() {
        let late = TrialJudgement::Void(VoidReason::GeneratorLate);
        assert_eq!(judged(|o| o.lateness_p99 = Nanos::from_millis(1)), TrialJudgement::Passed);
        assert_eq!(judged(|o| (o.lateness_p99, o.replies) = (Nanos::new(1_000_001), 0)), late);
        assert_eq!(judged(|o| o.generator_limited = true), TrialJudgement::Void(VoidReason::GeneratorFull));
        assert_eq!(judged(|o| o.due = 0), TrialJudgement::Void(VoidReason::NothingDue));
        let ms = Nanos::from_millis;
        let disturbed = |own| judged(|o| (o.lateness_p99, o.own_lateness_p99) = (ms(9), Some(own)));
        assert_eq!(disturbed(ms(1)), TrialJudgement::Void(VoidReason::MachineBusy));
        assert_eq!(disturbed(ms(2)), late);
        // At 10 requests per second a tenth of the gap is 10 ms.
        let slo = Slo { quantile: 0.99, limit: Nanos::from_millis(50) };
        let slow = PerSecond::new(10.0).unwrap();
        let seen = Observation { lateness_p99: Nanos::from_millis(10), ..good() };
        assert_eq!(Criteria::new(slo, None).judge(slow, &seen), TrialJudgement::Passed);
    }
}
