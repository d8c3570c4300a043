//! The verdict rules, in their order.
//!
//! 1. Conditions broken: `invalid`.
//! 2. A and A' differ at 99.9 % and the arm's effect is under three times that difference: no
//!    statement about the arm.
//! 3. Interval inside the margin: `no-cost`.
//! 4. Interval clear of 0 and half-width at most max(margin, |effect| / 2): `costs` or `saves`.
//! 5. Otherwise go on; when the rounds end `not-worse` or `not-resolved`.
//!
//! Rule 2 is judged anew at each look. It blocks 3 and 4, but becomes the verdict only when the
//! rounds end: a difference between A and A' may fade as the machine calms down, and a chance
//! alarm (0.1 % per look) should not end a run that the next look clears. Missing
//! or unusable A/A' values block likewise: unknown noise is not small noise.
//!
//! All intervals are those of [`effect_of`]: by start, where processes were started more than once.

use crate::{Decision, Effect, Level, Scale, Verdict, effect_of};

/// An effect must be this many times the difference between two equal servers.
const TIMES_THE_NULL: f64 = 3.0;

/// In a duet, where all arms are loaded at once, one could disturb the other; an effect further from
/// 0 than this is decided by rounds in which they take turns.
pub const DUET_CONFIRM_ABOVE: f64 = 0.05;

/// How many such rounds.
pub const DUET_CONFIRM_ROUNDS: u32 = 10;

/// What is asked at one look. Figures are oriented so that more is worse.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The margin d as a fraction: 0.01 is 1 %. Fixed before the run.
    pub margin: f64,
    /// Why the run broke its own conditions, if it did.
    pub invalid: Option<&'a str>,
    /// ln(A'/A) per round.
    pub null_d: &'a [f64],
    /// ln(subject / reference) per round; not read by [`judge_null`].
    pub d: &'a [f64],
    /// The start of the measured processes that each round belongs to, at least one entry per entry
    /// of `d` and `null_d`; empty when all were started once.
    pub starts: &'a [u32],
    /// The level of this look, from [`crate::LookPlan::level`].
    pub level: Level,
    /// Rounds or budget end here.
    pub last_look: bool,
}

/// The answer, with what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Verdict, or go on.
    pub decision: Decision,
    /// The arm's effect; for [`judge_null`] that of A' against A. Shown also when invalid.
    pub effect: Option<Effect>,
    /// A' against A at 99.9 %: the noise floor.
    pub null: Option<Effect>,
    /// The margin judged against.
    pub margin: f64,
    /// How the effects are to be read.
    pub scale: Scale,
    /// Why it is invalid.
    pub invalid: Option<String>,
}

impl Judgement {
    /// The verdict, once there is one.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.decision {
            Decision::Final(verdict) => Some(verdict),
            Decision::GoOn => None,
        }
    }
}

/// Judges an arm by log ratios.
pub fn judge(q: &Question<'_>) -> Judgement {
    judge_arm(q, Scale::LogRatio)
}

/// Judges an arm by differences of proportions: `d` and `null_d` are plain differences per
/// round, the margin is in the same unit (0.01 is one point).
pub fn judge_difference(q: &Question<'_>) -> Judgement {
    judge_arm(q, Scale::Difference)
}

fn judge_arm(q: &Question<'_>, scale: Scale) -> Judgement {
    let effect = effect_of(q.d, q.starts, q.level, scale);
    let null = effect_of(q.null_d, q.starts, Level::NULL, scale);
    let blocked = blocked(effect.as_ref(), null.as_ref());
    let decision = decide(q, blocked, effect.as_ref(), settled);
    answer(q, scale, decision, effect, null)
}

/// Judges the row A' against A from `null_d` alone. It is a check of the machine, so it never
/// ends in `costs` or `saves`: a difference at 99.9 % is `no-verdict`.
pub fn judge_null(q: &Question<'_>) -> Judgement {
    let effect = effect_of(q.null_d, q.starts, q.level, Scale::LogRatio);
    let null = effect_of(q.null_d, q.starts, Level::NULL, Scale::LogRatio);
    let differ = null.as_ref().is_some_and(differ);
    let decision = decide(q, differ, effect.as_ref(), no_cost);
    answer(q, Scale::LogRatio, decision, effect, null)
}

fn answer(
    q: &Question<'_>,
    scale: Scale,
    decision: Decision,
    effect: Option<Effect>,
    null: Option<Effect>,
) -> Judgement {
    Judgement { decision, effect, null, margin: q.margin, scale, invalid: q.invalid.map(str::to_owned) }
}

/// The five rules; `settle` is rules 3 and 4.
fn decide(
    q: &Question<'_>,
    blocked: bool,
    effect: Option<&Effect>,
    settle: fn(&Effect, f64) -> Option<Verdict>,
) -> Decision {
    if q.invalid.is_some() {
        return Decision::Final(Verdict::Invalid);
    }
    let early = effect.filter(|_| !blocked).and_then(|e| settle(e, q.margin));
    match early {
        Some(verdict) => Decision::Final(verdict),
        None if !q.last_look => Decision::GoOn,
        None if blocked => Decision::Final(Verdict::NoVerdict),
        None => Decision::Final(at_the_end(effect, q.margin)),
    }
}

/// Rule 2. An arm without an effect is not blocked, only unresolved.
fn blocked(effect: Option<&Effect>, null: Option<&Effect>) -> bool {
    match (effect, null) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(e), Some(n)) => differ(n) && e.effect.abs() < TIMES_THE_NULL * n.effect.abs(),
    }
}

fn differ(null: &Effect) -> bool {
    !null.interval.contains(0.0)
}

/// Rules 3 and 4.
fn settled(e: &Effect, margin: f64) -> Option<Verdict> {
    let clear = !e.interval.contains(0.0);
    let sharp = e.interval.half_width() <= margin.max(e.effect.abs() / 2.0);
    let cleared = match (clear && sharp, e.interval.low > 0.0) {
        (true, true) => Some(Verdict::Costs),
        (true, false) => Some(Verdict::Saves),
        (false, _) => None,
    };
    no_cost(e, margin).or(cleared)
}

/// Rule 3.
fn no_cost(e: &Effect, margin: f64) -> Option<Verdict> {
    e.interval.inside(margin).then_some(Verdict::NoCost)
}

/// Rule 5.
fn at_the_end(effect: Option<&Effect>, margin: f64) -> Verdict {
    match effect {
        Some(e) if e.interval.high < margin => Verdict::NotWorse,
        _ => Verdict::NotResolved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;

    const MARGIN: f64 = 0.01;

    /// An effect with a given estimate and interval.
    fn made(effect: f64, low: f64, high: f64) -> Effect {
        let interval = Interval { low, high };
        Effect {
            effect,
            interval,
            n: 28,
            paired_sd: 0.0,
            robust_sd: 0.0,
            hodges_lehmann: effect,
            hl_interval: interval,
            heavy_tails: false,
            level: 0.9875,
        }
    }

    /// Twenty values around `middle` with a spread that makes a small interval.
    fn around(middle: f64, spread: f64) -> Vec<f64> {
        (0..20).map(|i| middle + spread * (f64::from(i) - 9.5) / 9.5).collect()
    }

    fn ask<'a>(null_d: &'a [f64], d: &'a [f64], last_look: bool) -> Question<'a> {
        let level = Level::new(0.9875).unwrap();
        Question { margin: MARGIN, invalid: None, null_d, d, starts: &[], level, last_look }
    }

    #[test]
    fn rules_3_and_4_with_their_boundaries() {
        use Verdict::{Costs, NoCost, Saves};
        let table = [
            // inside the margin, around 0 and off it
            (0.0, -0.009, 0.009, Some(NoCost)),
            (0.003, 0.001, 0.005, Some(NoCost)),
            (-0.003, -0.005, -0.001, Some(NoCost)),
            // the margin itself is outside
            (0.0, -0.01, 0.009, None),
            (0.005, 0.001, 0.01, Some(Costs)),
            // half-width equal to the margin is sharp enough; a little more is not
            (0.015, 0.005, 0.025, Some(Costs)),
            (0.0151, 0.0050, 0.0252, None),
            // half of a large effect is sharp enough
            (0.06, 0.03, 0.09, Some(Costs)),
            (0.06, 0.0299, 0.0901, None),
            (-0.06, -0.09, -0.03, Some(Saves)),
            (-0.06, -0.0901, -0.0299, None),
            // 0 itself is not clear of 0
            (0.01, 0.0, 0.02, None),
            (-0.01, -0.02, 0.0, None),
            // no width at all
            (0.0, 0.0, 0.0, Some(NoCost)),
            (1.5, 1.5, 1.5, Some(Costs)),
        ];
        for (effect, low, high, want) in table {
            assert_eq!(settled(&made(effect, low, high), MARGIN), want, "{effect} {low} {high}");
        }
    }

    #[test]
    fn rule_2_with_its_boundaries() {
        let same = made(0.02, -0.001, 0.04);
        let differ = made(0.02, 0.001, 0.04);
        let less = made(-0.02, -0.04, -0.001);
        let arm = |effect: f64| made(effect, effect - 0.001, effect + 0.001);
        assert!(!blocked(Some(&arm(0.0)), Some(&same)));
        assert!(blocked(Some(&arm(0.0)), Some(&differ)));
        assert!(blocked(Some(&arm(0.059)), Some(&differ)));
        assert!(!blocked(Some(&arm(0.06)), Some(&differ)));
        assert!(blocked(Some(&arm(-0.059)), Some(&differ)));
        assert!(!blocked(Some(&arm(-0.061)), Some(&less)));
        assert!(blocked(Some(&arm(0.5)), None));
        assert!(!blocked(None, Some(&differ)));
    }

    #[test]
    fn rule_5() {
        use Verdict::{NotResolved, NotWorse};
        for (low, high, want) in [
            (-0.05, 0.0099, NotWorse),
            (-0.05, 0.01, NotResolved),
            (-0.008, 0.021, NotResolved),
            (-0.08, -0.001, NotWorse),
        ] {
            assert_eq!(at_the_end(Some(&made((low + high) / 2.0, low, high)), MARGIN), want);
        }
        assert_eq!(at_the_end(None, MARGIN), NotResolved);
    }

    #[test]
    fn the_order_of_the_rules() {
        let (equal, off) = (around(0.0, 0.01), around(0.1, 0.01));
        let (nothing, costs, wide) = (around(0.0, 0.005), around(0.2, 0.01), around(0.0, 0.5));
        let judged = |null: &[f64], d: &[f64], last| judge(&ask(null, d, last)).decision;
        for last in [false, true] {
            let invalid = Question { invalid: Some("wrong bodies"), ..ask(&equal, &costs, last) };
            assert_eq!(judge(&invalid).decision, Decision::Final(Verdict::Invalid));
            assert!(judge(&invalid).effect.is_some(), "the figures stay visible");
            assert_eq!(judged(&equal, &nothing, last), Decision::Final(Verdict::NoCost));
            assert_eq!(judged(&equal, &costs, last), Decision::Final(Verdict::Costs));
        }
        // blocked by rule 2: on to the next look, and no verdict at the last
        for d in [&nothing, &costs, &wide] {
            assert_eq!(judged(&off, d, false), Decision::GoOn);
            assert_eq!(judged(&off, d, true), Decision::Final(Verdict::NoVerdict));
        }
        assert_eq!(judged(&off, &around(0.5, 0.01), false), Decision::Final(Verdict::Costs));
        assert_eq!(judged(&equal, &wide, false), Decision::GoOn);
        assert_eq!(judged(&equal, &wide, true), Decision::Final(Verdict::NotResolved));
        assert_eq!(judged(&[], &costs, true), Decision::Final(Verdict::NoVerdict));
        assert_eq!(judged(&equal, &[], false), Decision::GoOn);
        assert_eq!(judged(&equal, &[], true), Decision::Final(Verdict::NotResolved));
    }

    #[test]
    fn the_null_row_never_costs_or_saves() {
        let judged = |null: &[f64], last| judge_null(&ask(null, &[], last)).decision;
        assert_eq!(judged(&around(0.0, 0.005), false), Decision::Final(Verdict::NoCost));
        assert_eq!(judged(&around(0.1, 0.005), false), Decision::GoOn);
        assert_eq!(judged(&around(0.1, 0.005), true), Decision::Final(Verdict::NoVerdict));
        assert_eq!(judged(&around(0.0, 0.5), true), Decision::Final(Verdict::NotResolved));
        assert_eq!(judged(&around(-0.02, 0.05), true), Decision::Final(Verdict::NotWorse));
        // clear of 0 at its own level but not at 99.9 %
        let between = around(0.02, 0.03);
        let got = judge_null(&ask(&between, &[], true));
        assert!(!got.effect.unwrap().interval.contains(0.0));
        assert_eq!(got.decision, Decision::Final(Verdict::NotResolved));
    }

    #[test]
    fn equal_rounds_of_two_starts_are_no_claim() {
        let (null, d) = ([0.0; 20], [[0.02; 10], [0.03; 10]].concat());
        let starts = [[0_u32; 10], [1; 10]].concat();
        assert_eq!(judge(&ask(&null, &d, false)).decision, Decision::Final(Verdict::Costs));
        let told = Question { starts: &starts, ..ask(&null, &d, false) };
        assert_eq!(judge(&told).decision, Decision::GoOn);
        let null_told = Question { starts: &starts, ..ask(&d, &[], true) };
        assert_eq!(judge_null(&ask(&d, &[], true)).decision, Decision::Final(Verdict::NoVerdict));
        assert_eq!(judge_null(&null_told).decision, Decision::Final(Verdict::NotResolved));
    }

    #[test]
    fn differences_are_judged_in_points() {
        let got = judge_difference(&ask(&around(0.0, 0.001), &around(0.3, 0.001), false));
        assert!((got.effect.unwrap().effect - 0.3).abs() < 1e-12);
        assert_eq!(got.decision, Decision::Final(Verdict::Costs));
    }
}
