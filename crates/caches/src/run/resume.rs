//! Work that a broken-off bake-off has done already.
//!
//! Measuring side, cold, pure: from the records of the runs that ended. A turn is begun again by starting its entrant and
//! filling its store, and only the rates that it has not measured are measured. Trials of a search are not made twice.

use crate::plan::EntrantTurn;
use crate::records::{RunPurpose, RunRecord, TrialVerdict};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Done {
    runs: Vec<RunRecord>,
}

impl Done {
    /// Of a bake-off's runs; those that were broken off do not count.
    pub(super) fn of(runs: &[RunRecord]) -> Self {
        Self { runs: runs.iter().filter(|run| run.is_over()).cloned().collect() }
    }

    /// Whether this look at the way to the origin was made.
    pub(super) fn has_path(&self, robots: usize) -> bool {
        self.runs.iter().any(|run| run.purpose == RunPurpose::Path { robots })
    }

    /// The rates of a turn that are not measured, in their order; `None`: the turn is over.
    pub(super) fn left(&self, turn: &EntrantTurn, passes: u32) -> Option<Vec<u32>> {
        let pass = (passes > 1).then_some(turn.pass);
        let own = || {
            let of_turn = move |run: &&RunRecord| run.entrant.name == turn.entrant && run.pass == pass;
            self.runs.iter().filter(of_turn)
        };
        if own().any(|run| run.failed.is_some()) {
            return None;
        }
        let is_done =
            |rate: &u32| own().any(|run| run.purpose.measured().is_some_and(|(order, _)| order == *rate));
        let left: Vec<u32> = turn.rates.iter().copied().filter(|rate| !is_done(rate)).collect();
        (!left.is_empty()).then_some(left)
    }

    /// Trials of a search for the peak of a subject, in their order: the rate, and whether it was sustained.
    pub(super) fn trials(&self, subject: &str) -> Vec<(f64, bool)> {
        let of_subject = |run: &&RunRecord| run.second_of.as_deref().unwrap_or(&run.entrant.name) == subject;
        let trial = |run: &RunRecord| match run.purpose {
            RunPurpose::Trial { rate_per_s, verdict, .. } => {
                Some((rate_per_s, verdict == TrialVerdict::Sustained))
            }
            _ => None,
        };
        self.runs.iter().filter(of_subject).filter_map(trial).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{EntrantRecord, INTERRUPTED};

    fn run(entrant: &str, pass: u32, purpose: RunPurpose, ended: &str) -> RunRecord {
        let entrant = EntrantRecord { name: entrant.to_owned(), ..EntrantRecord::default() };
        RunRecord { pass: Some(pass), ended: ended.to_owned(), ..RunRecord::of(entrant, purpose) }
    }

    fn rate(order: u32) -> RunPurpose {
        RunPurpose::Rate { order, rate_per_s: f64::from(order) * 10.0 }
    }

    #[test]
    fn a_turn_is_gone_on_with_at_the_rates_that_it_lacks() {
        let whole = "time is up";
        let turn = |pass| EntrantTurn { pass, entrant: "squid".to_owned(), rates: vec![2, 3, 1] };
        let mut runs = vec![
            run("none", 1, RunPurpose::Path { robots: 1 }, whole),
            run("squid", 1, RunPurpose::Fill, whole),
            run("squid", 1, rate(2), whole),
            run("squid", 1, rate(3), INTERRUPTED),
        ];
        let done = Done::of(&runs);
        assert!(done.has_path(1) && !done.has_path(32));
        assert_eq!(done.left(&turn(1), 2), Some(vec![3, 1]));
        assert_eq!(done.left(&turn(2), 2), Some(vec![2, 3, 1]));
        runs.extend([run("squid", 1, rate(3), whole), run("squid", 1, rate(1), whole)]);
        assert_eq!(Done::of(&runs).left(&turn(1), 2), None);
        runs.push(RunRecord { failed: Some("gone".to_owned()), ..run("squid", 2, rate(2), "broken off") });
        assert_eq!(Done::of(&runs).left(&turn(2), 2), None, "what failed has had its turn");
    }

    #[test]
    fn trials_of_a_second_start_are_those_of_its_baseline() {
        let trial = |rate_per_s, verdict| RunPurpose::Trial { rate_per_s, verdict, confirming: false };
        let second = RunRecord {
            second_of: Some("squid".to_owned()),
            ..run("squid'", 1, trial(200.0, TrialVerdict::TooSlow), "time is up")
        };
        let runs = [run("squid", 1, trial(100.0, TrialVerdict::Sustained), "time is up"), second];
        assert_eq!(Done::of(&runs).trials("squid"), [(100.0, true), (200.0, false)]);
        assert_eq!(Done::of(&runs).trials("nginx"), []);
    }
}
