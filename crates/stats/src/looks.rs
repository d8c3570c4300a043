//! Looks: the numbers of rounds after which the verdict is judged, and the level of each.
//!
//! Looking after every few rounds and stopping at the first significant interval calls equal
//! servers different in about a quarter of the runs. So the looks are few, planned before the
//! run, and each is judged at a level narrow enough for all of them together.

use crate::Level;

/// The looks, in rounds: steps of the square root of two. A plan with more rounds goes on in the same steps.
pub const LOOKS: [u32; 15] = [10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448, 640, 896, 1280];

/// Error of one look with one arm, where up to [`FEW`] looks are planned, and where more are.
///
/// The whole rule errs less than its looks together: an interval far wider than the margin is not sharp enough for a
/// verdict, and one far narrower has ended the run before. That leaves about four looks, which overlap in their data.
/// The share is known by simulation (tests/calibration).
const ALPHA_PER_LOOK: f64 = 0.0125;
const ALPHA_OF_MANY: f64 = 0.009;
/// The looks of 80 rounds.
const FEW: usize = 7;

/// The looks of one run, decided before its first round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookPlan {
    /// Numbers of rounds, ascending, never empty.
    pub looks: Vec<u32>,
}

impl LookPlan {
    /// The looks of a run of at most `max_rounds` rounds: [`LOOKS`], as far as they go, and `max_rounds` itself. Under
    /// 10 rounds there is one, at the end.
    pub fn new(max_rounds: u32) -> LookPlan {
        let last = max_rounds.max(1);
        let usual = (0_usize..).map(|i| u64::from(LOOKS[i % 2]) << (i / 2));
        let before = usual.take_while(|look| *look < u64::from(last)).map(|look| look as u32);
        LookPlan { looks: before.chain([last]).collect() }
    }

    /// The same run when it is known that `last` rounds fit its budget. No more looks than were planned before; where
    /// `last` would have more, they are spread from the first to the last.
    #[must_use]
    pub fn again(&self, last: u32) -> LookPlan {
        let plan = LookPlan::new(last);
        if plan.looks.len() <= self.looks.len() {
            plan
        } else {
            LookPlan { looks: spread(self.looks.len(), last) }
        }
    }

    /// Whether the verdict is judged after this many rounds.
    pub fn is_look(&self, rounds: u32) -> bool {
        self.looks.contains(&rounds)
    }

    /// The first look after more than `rounds` rounds.
    pub fn next_after(&self, rounds: u32) -> Option<u32> {
        self.looks.iter().copied().find(|&look| look > rounds)
    }

    /// The number of rounds at which the run ends.
    pub fn last(&self) -> u32 {
        self.looks.last().copied().unwrap_or(1)
    }
}

/// The level of every interval when `arms` arms besides the baseline are judged at `looks` planned looks: 1 - 0.0125 /
/// arms, of more than seven looks 1 - 0.009 / arms.
pub fn level(arms: usize, looks: usize) -> Level {
    let alpha = if looks > FEW { ALPHA_OF_MANY } else { ALPHA_PER_LOOK };
    Level::new(1.0 - alpha / arms.max(1) as f64).unwrap_or(Level::NULL)
}

/// Spreads `looks` looks geometrically from the first usual one to `last`, which is beyond it; one is the last alone.
fn spread(looks: usize, last: u32) -> Vec<u32> {
    let steps = looks.saturating_sub(1) as i32;
    let step = (f64::from(last) / f64::from(LOOKS[0])).powf(1.0 / f64::from(steps.max(1)));
    let between = (0..steps).map(|i| (f64::from(LOOKS[0]) * step.powi(i)).round() as u32);
    between.chain([last]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planning_again_adds_no_look() {
        let again = |before: u32, now: u32| LookPlan::new(before).again(now).looks;
        assert_eq!(again(80, 12), [10, 12]);
        assert_eq!(again(12, 80), [10, 80]);
        assert_eq!(again(30, 80), [10, 17, 28, 48, 80]);
        assert_eq!(again(7, 40), [40], "the first not before ten rounds, unless it is the only one");
        assert_eq!(again(40, 7), [7]);
        for before in 1..200 {
            for now in 1..200 {
                let (planned, plan) = (LookPlan::new(before), LookPlan::new(before).again(now));
                assert!(
                    plan.looks.len() <= planned.looks.len() && plan.looks.is_sorted_by(|a, b| a < b),
                    "{plan:?}"
                );
                assert_eq!(plan.last(), now);
            }
        }
    }

    #[test]
    fn plans() {
        let beyond = [&LOOKS[..], &[1792, 2000]].concat();
        let table: [(u32, &[u32]); 12] = [
            (0, &[1]),
            (1, &[1]),
            (9, &[9]),
            (10, &[10]),
            (11, &[10, 11]),
            (30, &[10, 14, 20, 28, 30]),
            (56, &[10, 14, 20, 28, 40, 56]),
            (80, &LOOKS[..7]),
            (81, &[10, 14, 20, 28, 40, 56, 80, 81]),
            (640, &LOOKS[..13]),
            (1280, &LOOKS),
            (2000, &beyond),
        ];
        for (max_rounds, looks) in table {
            assert_eq!(LookPlan::new(max_rounds).looks, looks, "{max_rounds}");
        }
    }

    #[test]
    fn every_plan_is_ascending_and_ends_at_its_end() {
        for max_rounds in (1..2000).chain([1_000_000, u32::MAX]) {
            let plan = LookPlan::new(max_rounds);
            assert!(plan.looks.is_sorted_by(|a, b| a < b) && plan.looks.len() <= 60, "{plan:?}");
            assert_eq!(plan.last(), max_rounds);
        }
    }

    #[test]
    fn next_and_is() {
        let plan = LookPlan::new(30);
        assert_eq!(plan.next_after(0), Some(10));
        assert_eq!(plan.next_after(10), Some(14));
        assert_eq!(plan.next_after(29), Some(30));
        assert_eq!(plan.next_after(30), None);
        assert!(plan.is_look(28) && plan.is_look(30) && !plan.is_look(29) && !plan.is_look(40));
    }

    #[test]
    fn the_level_is_shared_among_the_arms() {
        assert_eq!((level(1, 1).get(), level(1, 7).get(), level(1, 8).get()), (0.9875, 0.9875, 0.991));
        assert_eq!(level(0, 7).get(), 0.9875);
        assert_eq!(level(40, 7).get(), 1.0 - 0.0003125);
        assert_eq!(level(40, 15).get(), 1.0 - 0.009 / 40.0);
    }
}
