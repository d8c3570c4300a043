//! Schedule of looks, the rounds after which verdicts are judged: planned before the first round, and again after the
//! third.
//!
//! Pure, cold. The second plan knows only how long rounds take. It is made from the durations in the slices, so a
//! report comes to the same looks as the run did.

use bakeoff_results::{RestartSetup, RoundKind, Setup, SliceRecord};
use bakeoff_stats::LookPlan;

/// Rounds after which looks are planned again.
const LEARNT: u32 = 3;
/// Share of the remaining budget that rounds may take.
pub const USABLE: f64 = 0.95;

/// Durations of rounds, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTime {
    /// The slices of all arms, and the time between them.
    pub round: f64,
    /// Starts of all arms anew, if they are due.
    pub restart: f64,
}

impl RoundTime {
    /// Time of round `round`, counted from 0.
    fn of(self, round: u32, restarts: &RestartSetup) -> f64 {
        self.round + if restarts.is_due(round) { self.restart } else { 0.0 }
    }

    /// Number of rounds that fit into `ns` from round `first` on, at most `most`.
    pub fn fitting(self, ns: f64, first: u32, most: u32, restarts: &RestartSetup) -> u32 {
        let mut spent = 0.0;
        let fits = |round: &u32| {
            spent += self.of(*round, restarts);
            spent <= ns
        };
        (first..first.saturating_add(most)).take_while(fits).count() as u32
    }

    /// Time of the first `rounds` rounds.
    pub fn of_first(self, rounds: u32, restarts: &RestartSetup) -> f64 {
        (0..rounds).map(|round| self.of(round, restarts)).sum()
    }
}

/// The looks of a run, as far as its slices tell.
pub fn looks(setup: &Setup, slices: &[SliceRecord]) -> LookPlan {
    let planned = LookPlan { looks: setup.looks.clone() };
    let Some((time, spent)) = learnt(setup, slices) else { return planned };
    let kept = setup.design.after.time_ns;
    let left = (setup.rounds_budget_ns as f64 - spent) * USABLE - kept as f64;
    let most = setup.max_rounds.saturating_sub(LEARNT);
    let more = time.fitting(left, LEARNT, most, &setup.restarts);
    planned.again((LEARNT + more).max(LEARNT + 1).min(setup.max_rounds))
}

/// Durations of the first rounds, and the end of the last of them; `None` before that.
fn learnt(setup: &Setup, slices: &[SliceRecord]) -> Option<(RoundTime, f64)> {
    let is_main = |slice: &&SliceRecord| setup.design.kind_of(slice) == RoundKind::Main;
    let of = |round: u32| slices.iter().filter(move |s| s.round == round).filter(is_main);
    let loads = setup.design.loads.len().max(1);
    let of_load = setup.design.slices_of(RoundKind::Main, &setup.arms);
    let is = |s: &SliceRecord, (arm, block): &(&str, u32)| s.arm == *arm && s.block == *block;
    let all_there =
        |round: u32| of_load.iter().all(|slice| of(round).filter(|s| is(s, slice)).count() == loads);
    if !(0..LEARNT).all(all_there) {
        return None;
    }
    let begin = |round| of(round).map(|s| s.started_ns).min();
    let end = |round| of(round).map(|s| s.ended_ns).max();
    let (mut rounds, mut between) = (0.0, 0.0);
    for round in 0..LEARNT {
        rounds += end(round)?.saturating_sub(begin(round)?) as f64;
        between += if round > 0 { begin(round)?.saturating_sub(end(round - 1)?) as f64 } else { 0.0 };
    }
    let restarted = (1..LEARNT).filter(|round| setup.restarts.is_due(*round)).count();
    let pause = between / f64::from(LEARNT - 1);
    let time = match restarted {
        0 => RoundTime { round: rounds / f64::from(LEARNT) + pause, restart: 0.0 },
        some => RoundTime { round: rounds / f64::from(LEARNT), restart: between / some as f64 },
    };
    Some((time, end(LEARNT - 1)? as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_stats::LOOKS;

    const SECOND: u64 = 1_000_000_000;

    /// Two arms, each slice of one second, half a second before each round for a start.
    fn slices(rounds: u32) -> Vec<SliceRecord> {
        let slice = |round: u32, arm: usize| {
            let started_ns = u64::from(round) * (2 * SECOND + SECOND / 2) + arm as u64 * SECOND;
            SliceRecord {
                round,
                position: arm as u32,
                arm: ["a", "b"][arm].to_owned(),
                start: round,
                started_ns,
                ended_ns: started_ns + SECOND,
                ..SliceRecord::default()
            }
        };
        (0..rounds).flat_map(|round| [slice(round, 0), slice(round, 1)]).collect()
    }

    fn setup(budget_s: u64, looks: Vec<u32>) -> Setup {
        Setup {
            arms: vec!["a".to_owned(), "b".to_owned()],
            rounds_budget_ns: budget_s * SECOND,
            max_rounds: 80,
            looks,
            restarts: RestartSetup { every: 3, each_until: 10, reason: String::new() },
            ..Setup::default()
        }
    }

    #[test]
    fn looks_follow_from_durations_once_three_rounds_are_there() {
        let planned = setup(100, vec![10, 14, 20, 28, 40]);
        assert_eq!(looks(&planned, &slices(2)).looks, [10, 14, 20, 28, 40]);
        // 7 s spent; 88.35 s left: seven rounds of 2.5 s, then 2 s and every third 2.5: 17.5 + 70.85 s for 32 more.
        let after = looks(&planned, &slices(3)).looks;
        assert_eq!(after, [10, 14, 20, 29, 42], "five looks as before, not six");
        assert_eq!(looks(&planned, &slices(9)).looks, after, "later rounds do not change it");
        assert_eq!(
            looks(&setup(25, vec![10, 14]), &slices(3)).looks,
            [9],
            "one look where ten rounds do not fit"
        );
        assert_eq!(looks(&setup(200, vec![7]), &slices(3)).looks.len(), 1, "and no more than were planned");
    }

    #[test]
    fn a_long_budget_goes_on_in_the_same_steps_and_a_short_one_does_not_notice() {
        let most = LOOKS[LOOKS.len() - 1];
        let longer = |budget_s, looks| Setup { max_rounds: most, ..setup(budget_s, looks) };
        // 7 s spent; 1028.85 s left: 17.5 s for seven rounds, and 6.5 s for every three of 466 more.
        let looks_of = |setup: &Setup| looks(setup, &slices(3)).looks;
        let after = looks_of(&longer(1090, LookPlan::new(800).looks));
        assert_eq!(after, [&LOOKS[..12], &[476]].concat());
        for budget_s in [25, 60, 100, 180] {
            for planned in [7, 12, 40, 80] {
                let [long, short] = [
                    longer(budget_s, LookPlan::new(planned).looks),
                    setup(budget_s, LookPlan::new(planned).looks),
                ];
                assert_eq!(looks_of(&long), looks_of(&short), "{budget_s} s, {planned} rounds planned");
            }
        }
    }

    #[test]
    fn time_kept_for_pairs_is_not_used() {
        let mut setup = setup(100, vec![10, 14, 20, 28, 40]);
        setup.design.after.time_ns = 40 * SECOND;
        assert!(looks(&setup, &slices(3)).last() < 28);
    }

    #[test]
    fn rounds_fit_with_their_restarts() {
        let restarts = RestartSetup { every: 3, each_until: 10, reason: String::new() };
        let time = RoundTime { round: 2.0, restart: 1.0 };
        // 2 + 9 x 3 = 29 for ten; then 2, 2, 3, ...
        assert_eq!(time.of_first(10, &restarts), 29.0);
        assert_eq!(time.fitting(29.0, 0, 80, &restarts), 10);
        assert_eq!(time.fitting(33.9, 0, 80, &restarts), 12);
        assert_eq!(time.fitting(1e9, 0, 80, &restarts), 80);
        assert_eq!(time.fitting(1.0, 0, 80, &restarts), 0);
    }
}
