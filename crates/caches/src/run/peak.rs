//! The highest rate that an entrant sustains, found by trials from rest.
//!
//! In 1999 it was the highest rate that did not kill the client. Here a rate is sustained while the mean
//! response time is under the bound of the rule, replies keep up with requests, few fail, and requests do
//! not pile up. Trials double the rate until one fails, and then halve what lies between, by ratio.

use super::started::Started;
use super::steps::Work;
use super::{Bench, CachesError};
use crate::chance;
use crate::records::{Purpose, RunRecord};
use bakeoff_robots::Spec;
use bakeoff_units::{Nanos, PerSecond};

/// Rates closer than this factor are not told apart.
const PRECISE: f64 = 1.08;
/// Good replies must be this share of the requests that are due in the part that is judged, or as near as chance
/// lets so few be.
const KEEPS_UP: f64 = 0.98;
/// At most so many requests may fail.
const FAILURES: f64 = 0.01;
/// A trial from rest, and the part of it that is judged. Neither scales: the origin's think time does not.
const WARM: Nanos = Nanos::from_secs(8);
const JUDGED: Nanos = Nanos::from_secs(10);
/// Without a cache, or where it keeps nothing, every reply takes the origin's think time, whose mean is the bound itself in PolyMix-1: no rate
/// would be sustained. Half as much again leaves room for the way and for a line at the origin.
const BOUND_WITHOUT_CACHE: f64 = 1.5;

impl Bench<'_, '_> {
    /// The highest rate of all trials that was sustained; half of the last trial's when none was.
    pub(super) fn peak(
        &mut self,
        entrant: &Started,
        first: PerSecond,
        trials: u32,
    ) -> Result<PerSecond, CachesError> {
        let mut search = Search { rate: first.get(), sustained: None, broken: None };
        for trial in 1..=trials {
            let Some(rate) = search.next().and_then(PerSecond::new) else { break };
            self.progress
                .stage(&format!("{}: trial {trial} of at most {trials}, {rate}", entrant.record.name));
            let verdict = self.trial(entrant, rate)?;
            search.told(rate.get(), verdict == SUSTAINED);
        }
        Ok(PerSecond::new(search.found()).unwrap_or(first))
    }

    fn trial(&mut self, entrant: &Started, rate: PerSecond) -> Result<&'static str, CachesError> {
        let text = format!(
            "[robots]\n[[phase]]\nname = \"warm\"\nmeasured = false\ngoal = {{ duration = \"{WARM}\" }}\n[[phase]]\nname = \
             \"trial\"\ngoal = {{ duration = \"{JUDGED}\" }}\n"
        );
        let phases = Spec::from_toml(&text).map_err(|why| CachesError::Own(why.to_string()))?.phases;
        let plan = self.plan;
        let spec = Spec { phases, ..plan.robots_at(rate) };
        let leeway = if self.may_hit(entrant) { 1.0 } else { BOUND_WITHOUT_CACHE };
        let bound = plan.mean_bound.times(leeway);
        let mut verdict = "not judged";
        self.asked(entrant, Work::plain(&spec, &plan.model), |record| {
            verdict = judge(record, rate, bound);
            Purpose::Trial { rate_per_s: rate.get(), verdict: verdict.to_owned() }
        })?;
        Ok(verdict)
    }
}

/// The word for a trial that passed.
const SUSTAINED: &str = "sustained";

fn judge(record: &RunRecord, rate: PerSecond, bound: Nanos) -> &'static str {
    let Some(line) = record.phases.iter().rfind(|line| line.measured) else { return "not judged" };
    let sums = &line.phase.sums;
    let mean = sums.replies.traffic.response_ns.mean().unwrap_or(f64::INFINITY);
    // Not what the robots have counted as asked: a request that waits for a connection is not among them.
    let due = rate.get() * line.phase.span().as_secs_f64();
    let least = chance::fewest(KEEPS_UP, due);
    if (sums.failed as f64) > FAILURES * sums.finished as f64 {
        "requests failed"
    } else if record.failed.is_some() {
        "broken off"
    } else if mean >= bound.get() as f64 {
        "too slow"
    } else if (sums.good as f64) < least {
        "requests piled up"
    } else {
        SUSTAINED
    }
}

/// Where the search stands.
struct Search {
    rate: f64,
    sustained: Option<f64>,
    broken: Option<f64>,
}

impl Search {
    /// The next rate to try; `None` when it is known well enough.
    fn next(&self) -> Option<f64> {
        match (self.sustained, self.broken) {
            (Some(low), Some(high)) if high / low < PRECISE => None,
            (Some(low), Some(high)) => Some((low * high).sqrt()),
            (Some(low), None) => Some(low * 2.0),
            (None, Some(high)) => Some(high / 2.0),
            (None, None) => Some(self.rate),
        }
    }

    fn told(&mut self, rate: f64, sustained: bool) {
        let place = if sustained { &mut self.sustained } else { &mut self.broken };
        *place = Some(rate);
    }

    fn found(&self) -> f64 {
        self.sustained.unwrap_or_else(|| self.broken.unwrap_or(self.rate) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{EntrantRecord, PhaseLine, Used};
    use bakeoff_robots::ledger::{Record, Scope, Sums};

    fn search(knee: f64, first: f64, trials: u32) -> f64 {
        let mut search = Search { rate: first, sustained: None, broken: None };
        for _ in 0..trials {
            let Some(rate) = search.next() else { break };
            search.told(rate, rate <= knee);
        }
        search.found()
    }

    /// A trial of 10 s with so many replies, which take a second each.
    fn trial(asked: u64, good: u64, failed: u64) -> RunRecord {
        let mut sums = Sums { asked, finished: good + failed, good, failed, ..Sums::default() };
        (0..good).for_each(|_| sums.replies.traffic.response_ns.add(1_000_000_000));
        let phase = Record {
            lane: 0,
            scope: Scope::Phase,
            phase: "trial".to_owned(),
            number: 1,
            began_ns: 0,
            ended_ns: JUDGED.get(),
            progress: good,
            sums,
        };
        let used = Used::default();
        let line = PhaseLine { phase, measured: true, ended: String::new(), used, achievable: None };
        let squid = EntrantRecord { name: "squid".to_owned(), version: None, config: None };
        RunRecord { phases: vec![line], ..RunRecord::of(squid, Purpose::Fill) }
    }

    #[test]
    fn replies_are_held_against_what_was_due_and_not_against_what_was_handed_out() {
        let rate = PerSecond::new(4_000.0).unwrap();
        let of = |asked, good, failed| judge(&trial(asked, good, failed), rate, Nanos::from_secs(3));
        assert_eq!(of(40_000, 40_000, 0), SUSTAINED);
        // 98 % of 40,000: chance alone would explain 516 fewer.
        assert_eq!((of(40_000, 39_200, 0), of(40_000, 39_199, 0)), (SUSTAINED, "requests piled up"));
        // A line of requests that wait for a connection: all that were handed out were answered.
        assert_eq!(of(30_000, 30_000, 0), "requests piled up");
        assert_eq!(of(40_000, 39_500, 500), "requests failed");
        let too_slow = judge(&trial(40_000, 40_000, 0), rate, Nanos::from_secs(1));
        assert_eq!(too_slow, "too slow");
        let broken = RunRecord { failed: Some("it died".to_owned()), ..trial(40_000, 40_000, 0) };
        assert_eq!(judge(&broken, rate, Nanos::from_secs(3)), "broken off");
    }

    #[test]
    fn chance_is_no_backlog() {
        // 1,000 requests are due, give or take 2.58 x 31.6.
        let of = |good| judge(&trial(good, good, 0), PerSecond::new(100.0).unwrap(), Nanos::from_secs(3));
        assert_eq!((of(919), of(918)), (SUSTAINED, "requests piled up"));
    }

    #[test]
    fn the_knee_is_found_from_below_and_from_above() {
        for knee in [40.0, 100.0, 750.0, 3_000.0] {
            let found = search(knee, 100.0, 12);
            assert!(found <= knee && knee / found < PRECISE, "{knee}: {found}");
        }
    }

    #[test]
    fn few_trials_find_a_rate_that_was_sustained() {
        assert_eq!(search(750.0, 100.0, 3), 400.0);
        assert_eq!(search(10.0, 100.0, 1), 50.0);
    }
}
