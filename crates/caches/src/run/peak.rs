//! The highest rate that an entrant sustains, found by trials from rest.
//!
//! In 1999 it was the highest rate that did not kill the client. Here a rate is sustained while the mean
//! response time is under the bound of the rule, replies keep up with requests, few fail, and requests do
//! not pile up. Trials double the rate until one fails, and then halve what lies between, by ratio.

use super::steps::Started;
use super::{Bench, CachesError};
use crate::records::{Purpose, RunRecord};
use bakeoff_robots::Spec;
use bakeoff_units::{Nanos, PerSecond};

/// Rates closer than this factor are not told apart.
const PRECISE: f64 = 1.08;
/// Replies must be this share of the requests, over the second half of a trial.
const KEEPS_UP: f64 = 0.98;
/// At most so many requests may fail.
const FAILURES: f64 = 0.01;
/// A trial from rest, and the part of it that is judged. Neither scales: the origin's think time does not.
const WARM: Nanos = Nanos::from_secs(8);
const JUDGED: Nanos = Nanos::from_secs(10);

impl Bench<'_, '_> {
    /// The highest rate of all trials that was sustained; the first trial's, halved, when none was.
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
        let spec = Spec { rate: Some(rate), phases, ..plan.robots.clone() };
        let bound =
            if entrant.is_cache { plan.mean_bound } else { plan.mean_bound + plan.mean_bound.times(0.5) };
        let judge = move |record: &RunRecord| judge(record, bound);
        let purpose = |verdict: &str| Purpose::Trial { rate_per_s: rate.get(), verdict: verdict.to_owned() };
        let mut verdict = "not judged";
        self.judged(
            entrant,
            (&spec, &plan.model),
            false,
            |_, _| Ok(false),
            |record| {
                verdict = judge(record);
                purpose(verdict)
            },
        )?;
        Ok(verdict)
    }
}

/// The word for a trial that passed.
const SUSTAINED: &str = "sustained";

fn judge(record: &RunRecord, bound: Nanos) -> &'static str {
    let Some(line) = record.phases.iter().rfind(|line| line.measured) else { return "not judged" };
    let sums = &line.phase.sums;
    let mean = sums.replies.traffic.response_ns.mean().unwrap_or(f64::INFINITY);
    if (sums.failed as f64) > FAILURES * sums.finished as f64 {
        "requests failed"
    } else if mean >= bound.get() as f64 {
        "too slow"
    } else if (sums.finished as f64) < KEEPS_UP * sums.asked as f64 {
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

    fn search(knee: f64, first: f64, trials: u32) -> f64 {
        let mut search = Search { rate: first, sustained: None, broken: None };
        for _ in 0..trials {
            let Some(rate) = search.next() else { break };
            search.told(rate, rate <= knee);
        }
        search.found()
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
