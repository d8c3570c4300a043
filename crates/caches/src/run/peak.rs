//! Peak search: the highest rate that an entrant sustains, found by trials from rest.
//!
//! In 1999 it was the highest rate that did not kill the client. Here a rate is sustained while the mean response time
//! is under the bound of the rule, replies keep up with requests, few fail, and requests do not pile up. Trials double
//! the rate until one fails, and then halve the gap, by ratio. Their result is held for a minute before it is believed:
//! a store on a disk may bear for seconds what it cannot bear for longer.

use super::bench::Bench;
use super::error::CachesError;
use super::started::Started;
use super::steps::Work;
use crate::chance;
use crate::records::{RunPurpose, RunRecord, TrialVerdict};
use bakeoff_robots::Spec;
use bakeoff_units::{Nanos, PerSecond};

/// Rates closer than this factor are not told apart.
const PRECISE: f64 = 1.08;
/// Least share of good replies among the requests that are due in the judged part, or as few as chance explains.
const KEEPS_UP: f64 = 0.98;
/// Highest share of requests that may fail.
const FAILURES: f64 = 0.01;
/// Length of a trial from rest, and of its judged part, for searching and for confirming trials. None scales: the
/// origin's think time does not.
const WARM: Nanos = Nanos::from_secs(8);
const JUDGED: Nanos = Nanos::from_secs(10);
const CONFIRMED: Nanos = Nanos::from_secs(60);
/// Factor by which the next rate is lower if a rate does not hold that long; and the most such steps.
const STEP_DOWN: f64 = 1.25;
const CONFIRM_AT_MOST: u32 = 4;
/// Without a cache, or with one that keeps nothing, every reply takes the origin's think time, whose mean is the bound
/// itself in PolyMix-1: no rate would be sustained. Half as much again leaves room for the path and for a queue at the
/// origin.
const BOUND_WITHOUT_CACHE: f64 = 1.5;

/// Duration of a search that has all of its trials, and whose peak holds at once.
pub(super) fn longest(trials: u32) -> Nanos {
    (WARM + JUDGED).times(f64::from(trials)) + WARM + CONFIRMED
}

impl Bench<'_, '_> {
    /// The highest rate of all trials, those that are made already among them, that was sustained and then held; half of the last trial's when none was
    /// sustained, and a step below the last that was tried when none held.
    pub(super) fn peak(
        &mut self,
        entrant: &Started,
        first: PerSecond,
        trials: u32,
        made: &[(f64, bool)],
    ) -> Result<PerSecond, CachesError> {
        let mut search = Search::new(first.get(), trials);
        let mut made = made.iter();
        while let Some(attempt) = search.next() {
            if let Some((_, sustained)) = made.next() {
                search.told(attempt, *sustained);
                continue;
            }
            let rate = PerSecond::new(attempt.rate).unwrap_or(first);
            let what = match attempt.confirming {
                false => format!("trial {} of at most {trials}, {rate}", search.done + 1),
                true => format!("{rate} for {CONFIRMED}, which is to confirm it"),
            };
            self.progress.stage(&format!("{}: {what}", entrant.record.name));
            let verdict = self.trial(entrant, rate, attempt.confirming)?;
            search.told(attempt, verdict == TrialVerdict::Sustained);
        }
        Ok(PerSecond::new(search.found()).unwrap_or(first))
    }

    fn trial(
        &mut self,
        entrant: &Started,
        rate: PerSecond,
        confirming: bool,
    ) -> Result<TrialVerdict, CachesError> {
        let judged = if confirming { CONFIRMED } else { JUDGED };
        let text = format!(
            "[robots]\n[[phase]]\nname = \"warm\"\nmeasured = false\ngoal = {{ duration = \"{WARM}\" }}\n[[phase]]\nname = \
             \"trial\"\ngoal = {{ duration = \"{judged}\" }}\n"
        );
        let phases = Spec::from_toml(&text).map_err(|why| CachesError::Own(why.to_string()))?.phases;
        let plan = self.plan;
        let spec = Spec { phases, ..plan.robots_at(rate) };
        let leeway = if self.may_hit(entrant) { 1.0 } else { BOUND_WITHOUT_CACHE };
        let bound = plan.mean_bound.times(leeway);
        let mut verdict = TrialVerdict::NotJudged;
        let trial = |verdict| RunPurpose::Trial { rate_per_s: rate.get(), verdict, confirming };
        let work = Work::plain(&spec, &plan.model);
        self.asked_and_judged(entrant, work, trial(verdict), |record, _| {
            verdict = judge(record, rate, bound);
            trial(verdict)
        })?;
        Ok(verdict)
    }
}

fn judge(record: &RunRecord, rate: PerSecond, bound: Nanos) -> TrialVerdict {
    let Some(line) = record.phases.iter().rfind(|line| line.measured) else { return TrialVerdict::NotJudged };
    let sums = &line.phase.sums;
    let mean = sums.replies.traffic.response_ns.mean().unwrap_or(f64::INFINITY);
    // Not the robots' count of requests: a request that waits for a connection is not in it.
    let due = rate.get() * line.phase.span().as_secs_f64();
    let least = chance::fewest(KEEPS_UP, due);
    if (sums.failed as f64) > FAILURES * sums.finished as f64 {
        TrialVerdict::RequestsFailed
    } else if record.failed.is_some() {
        TrialVerdict::BrokenOff
    } else if mean >= bound.get() as f64 {
        TrialVerdict::TooSlow
    } else if (sums.good as f64) < least {
        TrialVerdict::PiledUp
    } else {
        TrialVerdict::Sustained
    }
}

/// The next trial.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Attempt {
    rate: f64,
    confirming: bool,
}

/// State of the search.
struct Search {
    first: f64,
    /// Number of trials so far, and the most there may be.
    done: u32,
    trials: u32,
    /// The highest that was sustained and the lowest that was not.
    sustained: Option<f64>,
    broken: Option<f64>,
    /// After the trials: the rate that is believed, or is to be tried next; the number of attempts; whether one held.
    candidate: f64,
    confirmations: u32,
    held: bool,
}

impl Search {
    fn new(first: f64, trials: u32) -> Self {
        let (sustained, broken) = (None, None);
        Self { first, done: 0, trials, sustained, broken, candidate: first, confirmations: 0, held: false }
    }

    /// The next trial; `None` when the peak is known as well as it will be.
    fn next(&self) -> Option<Attempt> {
        if let Some(rate) = self.between().filter(|_| self.done < self.trials && self.confirmations == 0) {
            return Some(Attempt { rate, confirming: false });
        }
        let more = !self.held && self.confirmations < CONFIRM_AT_MOST;
        more.then_some(Attempt { rate: self.candidate, confirming: true })
    }

    /// The next rate of the search; `None` when it is known well enough.
    fn between(&self) -> Option<f64> {
        match (self.sustained, self.broken) {
            (Some(low), Some(high)) if high / low < PRECISE => None,
            (Some(low), Some(high)) => Some((low * high).sqrt()),
            (Some(low), None) => Some(low * 2.0),
            (None, Some(high)) => Some(high / 2.0),
            (None, None) => Some(self.first),
        }
    }

    fn told(&mut self, attempt: Attempt, sustained: bool) {
        if attempt.confirming {
            self.confirmations += 1;
            self.held = sustained;
            if !sustained {
                self.candidate = attempt.rate / STEP_DOWN;
            }
            return;
        }
        self.done += 1;
        let place = if sustained { &mut self.sustained } else { &mut self.broken };
        *place = Some(attempt.rate);
        self.candidate = self.sustained.unwrap_or_else(|| self.broken.unwrap_or(self.first) / 2.0);
    }

    fn found(&self) -> f64 {
        self.candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{EntrantRecord, PhaseLine, PhaseUsage};
    use bakeoff_robots::ledger::{LedgerRecord, RecordScope, Sums};

    /// Searches a server that bears `knee` for a short while and `holds` for longer; returns the peak and the number of
    /// confirming trials.
    fn search_of(knee: f64, holds: f64, first: f64, trials: u32) -> (f64, u32) {
        let mut search = Search::new(first, trials);
        for _ in 0..trials + CONFIRM_AT_MOST {
            let Some(attempt) = search.next() else { break };
            search.told(attempt, attempt.rate <= if attempt.confirming { holds } else { knee });
        }
        assert_eq!(search.next(), None);
        (search.found(), search.confirmations)
    }

    fn search(knee: f64, first: f64, trials: u32) -> f64 {
        search_of(knee, knee, first, trials).0
    }

    /// A trial of 10 s with this number of replies, which take a second each.
    fn trial(asked: u64, good: u64, failed: u64) -> RunRecord {
        let mut sums = Sums { asked, finished: good + failed, good, failed, ..Sums::default() };
        (0..good).for_each(|_| sums.replies.traffic.response_ns.add(1_000_000_000));
        let phase = LedgerRecord {
            worker: 0,
            scope: RecordScope::Phase,
            phase: "trial".to_owned(),
            number: 1,
            began_ns: 0,
            ended_ns: JUDGED.get(),
            progress: good,
            sums,
        };
        let used = PhaseUsage::default();
        let line = PhaseLine { phase, measured: true, ended: None, used, achievable: None };
        let squid = EntrantRecord { name: "squid".to_owned(), ..EntrantRecord::default() };
        RunRecord { phases: vec![line], ..RunRecord::of(squid, RunPurpose::Fill) }
    }

    #[test]
    fn replies_are_held_against_what_was_due_and_not_against_what_was_handed_out() {
        let rate = PerSecond::new(4_000.0).unwrap();
        let of = |asked, good, failed| judge(&trial(asked, good, failed), rate, Nanos::from_secs(3));
        assert_eq!(of(40_000, 40_000, 0), TrialVerdict::Sustained);
        // 98 % of 40,000: chance alone would explain 516 fewer.
        assert_eq!(
            (of(40_000, 39_200, 0), of(40_000, 39_199, 0)),
            (TrialVerdict::Sustained, TrialVerdict::PiledUp)
        );
        // A queue of requests that wait for a connection: all that were handed out were answered.
        assert_eq!(of(30_000, 30_000, 0), TrialVerdict::PiledUp);
        assert_eq!(of(40_000, 39_500, 500), TrialVerdict::RequestsFailed);
        let too_slow = judge(&trial(40_000, 40_000, 0), rate, Nanos::from_secs(1));
        assert_eq!(too_slow, TrialVerdict::TooSlow);
        let broken = RunRecord { failed: Some("it died".to_owned()), ..trial(40_000, 40_000, 0) };
        assert_eq!(judge(&broken, rate, Nanos::from_secs(3)), TrialVerdict::BrokenOff);
    }

    #[test]
    fn chance_is_no_backlog() {
        // 1,000 requests are due, give or take 2.58 x 31.6.
        let of = |good| judge(&trial(good, good, 0), PerSecond::new(100.0).unwrap(), Nanos::from_secs(3));
        assert_eq!((of(919), of(918)), (TrialVerdict::Sustained, TrialVerdict::PiledUp));
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
        assert_eq!((search(60.0, 100.0, 1), search(45.0, 100.0, 1)), (50.0, 40.0));
    }

    #[test]
    fn what_does_not_hold_is_tried_a_step_lower_and_not_without_end() {
        assert_eq!(search_of(750.0, 750.0, 100.0, 3), (400.0, 1));
        assert_eq!(search_of(750.0, 300.0, 100.0, 3), (400.0 / STEP_DOWN / STEP_DOWN, 3));
        let (found, confirmations) = search_of(750.0, 0.0, 100.0, 3);
        assert_eq!(confirmations, CONFIRM_AT_MOST);
        assert!((found - 400.0 / STEP_DOWN.powi(4)).abs() < 1e-9, "{found}");
    }
}
