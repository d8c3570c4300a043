//! Number of operations of each kind in a slice: a pure function of times.
//!
//! Every kind gets the same share of the fastest arm's time, so that none drowns the others: a 10 MB read takes a
//! thousand times as long as one of 1 byte.

use super::budget::ROUNDS;
use bakeoff_analysis::looks::USABLE;
use bakeoff_results::Warning;
use bakeoff_units::Nanos;

/// Slices do not shrink below this share of their best size: fewer rounds are better then.
const LEAST: f64 = 0.1;

/// Known facts of a kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timed {
    /// Nanoseconds of one operation, arm by arm.
    pub(super) per_operation: Vec<f64>,
    /// Most operations that a slice may have.
    pub(super) most: u64,
}

/// Sizes, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sizes {
    /// Kind by kind.
    pub(super) counts: Vec<u64>,
    pub(super) reason: String,
    /// For a budget that is short.
    pub(super) warning: Option<Warning>,
}

/// `each`: time of one kind in a slice of the fastest arm. `around`: time of a round beside its operations.
pub(super) fn sizes(kinds: &[Timed], each: Nanos, around: Nanos, left: Nanos) -> Sizes {
    let wanted: Vec<u64> = kinds
        .iter()
        .map(|kind| {
            let fastest = kind.per_operation.iter().copied().fold(f64::INFINITY, f64::min).max(1.0);
            ((each.get() as f64 / fastest).ceil() as u64).clamp(1, kind.most)
        })
        .collect();
    let round = |counts: &[u64]| -> f64 {
        let kinds = kinds.iter().zip(counts);
        kinds.map(|(kind, count)| kind.per_operation.iter().sum::<f64>() * *count as f64).sum()
    };
    let affordable = left.get() as f64 * USABLE / f64::from(ROUNDS) - around.get() as f64;
    let factor = (affordable / round(&wanted)).clamp(LEAST, 1.0);
    if factor >= 1.0 {
        let reason = "each kind of operation takes the fastest arm about as long".to_owned();
        return Sizes { counts: wanted, reason, warning: None };
    }
    let share = format!("{:.0} % of the operations that would be good", factor * 100.0);
    let sentence = format!(
        "slices have {share}, so that more rounds fit the budget: expect wider intervals, or give a larger budget"
    );
    Sizes {
        counts: wanted.iter().map(|count| ((*count as f64 * factor) as u64).max(1)).collect(),
        reason: format!("{share}: the budget is short"),
        warning: Some(Warning { label: "small-slices".to_owned(), sentence }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two kinds in 250 ms.
    const EACH: Nanos = Nanos::from_millis(125);

    fn kind(per_operation: &[f64], most: u64) -> Timed {
        Timed { per_operation: per_operation.to_vec(), most }
    }

    #[test]
    fn every_kind_takes_the_fastest_arm_as_long() {
        // 250 ms in two halves: 125 ms of 2.5 us and of 1.25 ms.
        let kinds = [kind(&[2_500.0, 30_000.0], 100_000), kind(&[2.5e6, 1.25e6], 100_000)];
        let sizes = sizes(&kinds, EACH, Nanos::ZERO, Nanos::from_secs(600));
        assert_eq!(sizes.counts, [50_000, 100]);
        assert_eq!(sizes.warning, None);
    }

    #[test]
    fn there_is_one_at_least_and_never_more_than_there_can_be() {
        let kinds = [kind(&[1e9, 1e9], 8), kind(&[100.0, 100.0], 1000)];
        assert_eq!(sizes(&kinds, EACH, Nanos::ZERO, Nanos::from_secs(600)).counts, [1, 1000]);
    }

    #[test]
    fn a_short_budget_makes_all_kinds_fewer() {
        // 14 rounds of 2 arms: 250 ms a slice want 7 s, and there are 3.5.
        let kinds = [kind(&[1e6, 1e6], 100_000), kind(&[1e6, 1e6], 100_000)];
        let left = Nanos::from_secs_f64(3.5 / USABLE);
        let half = sizes(&kinds, EACH, Nanos::ZERO, left);
        assert_eq!(half.counts, [62, 62]);
        assert!(half.reason.starts_with("50 %") && half.warning.is_some(), "{half:?}");
        let nothing_left = sizes(&kinds, EACH, Nanos::from_secs(9), left);
        assert_eq!(nothing_left.counts, [12, 12], "a tenth, and fewer rounds");
    }
}
