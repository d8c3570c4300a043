//! Properties that must hold for any data.

use bakeoff_stats::{
    CountsByRound, Decision, Level, Margin, Quantile, Question, Resampling, Rounds, Scale, Verdict, effect,
    effect_of, judge, judge_null, level, quantile_ratio,
};
use proptest::prelude::*;

fn values(most: usize) -> impl Strategy<Value = Vec<f64>> {
    // Coarse on purpose: ties are where rank statistics break.
    prop::collection::vec((-200_i32..200).prop_map(|x| f64::from(x) / 100.0), 3..most)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_estimate_lies_in_its_interval_and_order_does_not_matter(
        d in values(90), level in 0.5..0.9999_f64
    ) {
        let level = Level::new(level).unwrap();
        let e = effect(&d, level).unwrap();
        prop_assert!(e.interval.low <= e.effect && e.effect <= e.interval.high, "{e:?}");
        prop_assert!(e.hl_interval.contains(e.hodges_lehmann), "{e:?}");
        prop_assert!(e.interval.low > -1.0 && e.paired_sd >= 0.0 && e.robust_sd >= 0.0);
        let mut turned = d.clone();
        turned.reverse();
        prop_assert_eq!(effect(&turned, level).unwrap(), e);
    }

    #[test]
    fn a_higher_level_is_not_narrower(d in values(60)) {
        let at = |level| effect(&d, Level::new(level).unwrap()).unwrap();
        let (low, high) = (at(0.9), at(0.99));
        if low.heavy_tails == high.heavy_tails {
            prop_assert!(high.interval.low <= low.interval.low && low.interval.high <= high.interval.high);
        }
    }

    #[test]
    fn starts_never_sharpen_an_interval(d in values(90), rounds_per_start in 1_usize..9) {
        let level = Level::new(0.9875).unwrap();
        let starts: Vec<u32> = (0..d.len()).map(|round| (round / rounds_per_start) as u32).collect();
        let as_rounds = effect(&d, level).unwrap();
        let by_start = effect_of(&d, &starts, level, Scale::LogRatio).unwrap();
        let (inner, outer) = (as_rounds.interval, by_start.interval);
        if !as_rounds.heavy_tails && !by_start.heavy_tails {
            prop_assert_eq!(by_start.effect, as_rounds.effect);
            prop_assert!(outer.low <= inner.low && inner.high <= outer.high, "{inner:?} {outer:?}");
        }
        prop_assert!(outer.contains(by_start.effect) && outer.low >= -1.0, "{by_start:?}");
    }

    #[test]
    fn exchanging_the_arms_inverts_the_ratio(d in values(60)) {
        let level = Level::new(0.9875).unwrap();
        let there = effect(&d, level).unwrap();
        let back = effect(&d.iter().map(|x| -x).collect::<Vec<_>>(), level).unwrap();
        if there.heavy_tails == back.heavy_tails {
            prop_assert!(close((1.0 + there.effect) * (1.0 + back.effect), 1.0), "{there:?} {back:?}");
            prop_assert!(close((1.0 + there.interval.low) * (1.0 + back.interval.high), 1.0));
        }
    }

    #[test]
    fn the_last_look_always_decides(
        d in values(90), null_d in values(90), margin in 0.0..0.1_f64, arms in 1_usize..50
    ) {
        let level = level(arms, 7);
        let rounds = |ratios: Vec<f64>| Rounds { amounts: ratios.clone(), ratios };
        let (null, arm, margin) = (rounds(null_d), rounds(d), Margin::Share(margin));
        let q = Question { margin, invalid: None, null: &null, arm: &arm, starts: &[], level, last_look: true };
        let early = judge(&Question { last_look: false, ..q });
        let last = judge(&q);
        prop_assert!(last.verdict().is_some() && last.verdict() != Some(Verdict::Invalid));
        if early.decision != Decision::GoOn {
            prop_assert_eq!(early.decision, last.decision);
        }
        let row = judge_null(&q).verdict();
        prop_assert!(!matches!(row, None | Some(Verdict::Costs | Verdict::Saves)));
    }

    #[test]
    fn an_arm_against_itself_is_exactly_equal(
        rounds in prop::collection::vec(prop::collection::vec(0_u32..50, 8), 20..30), seed in any::<u64>()
    ) {
        let upper_ns: Vec<u64> = (1..9).collect();
        let rounds: Vec<Vec<(u32, u32)>> = rounds.into_iter().map(|round| (0..).zip(round).collect()).collect();
        let resampling = Resampling::new(rounds.len(), 20, seed);
        let arm = Quantile::of(&CountsByRound { upper_ns: &upper_ns, rounds }, 0.9, &resampling);
        if let Ok(got) = quantile_ratio(&arm, &arm, Level::NULL) {
            prop_assert_eq!((got.effect, got.interval.half_width()), (0.0, 0.0));
        }
    }
}
