//! The verdict rules, in their order.
//!
//! 1. Conditions broken: `invalid`.
//! 2. A and A' differ at 99.9 % and the arm's effect is under three times that difference: no
//!    statement about the arm.
//! 3. Interval inside the margin: `no-cost`.
//! 4. Interval clear of 0 and half-width at most max(margin, |effect| / 2), and the amount's interval on the same
//!    side of 0: `costs` or `saves`.
//! 5. Otherwise go on; when the rounds end `not-worse` or `not-resolved`.
//!
//! Rule 2 is judged anew at each look. It blocks 3 and 4, but becomes the verdict only when the
//! rounds end: a difference between A and A' may fade as the machine calms down, and a chance
//! alarm (0.1 % per look) should not end a run that the next look clears. Missing
//! or unusable A/A' values block likewise: unknown noise is not small noise.
//!
//! The scale that is judged is the margin's: a share of the reference, or an amount in the figure's
//! own unit. The cost is estimated on both. All intervals are those of [`effect_of`]: by start, where
//! processes were started more than once.

use std::cmp::Ordering;

use crate::effect::{log_ratio, log_ratios};
use crate::{Decision, Effect, Level, Scale, Verdict, effect_of};

/// An effect must be this many times the difference between two equal servers.
const TIMES_THE_NULL: f64 = 3.0;

/// The smallest cost that matters, above 0. Fixed before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// A share of the reference's figure: 0.01 is 1 %.
    Share(f64),
    /// In the unit of the figure.
    Amount(f64),
}

impl Margin {
    /// Its number, without the unit.
    pub const fn size(self) -> f64 {
        match self {
            Self::Share(size) | Self::Amount(size) => size,
        }
    }
}

/// The results of a comparison's rounds, one value a round on either scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// ln(subject / reference).
    pub ratios: Vec<f64>,
    /// Subject minus reference, in the unit of the figure.
    pub amounts: Vec<f64>,
}

impl Rounds {
    /// Of a subject against A and A'. The reference of ratios is their geometric mean, that of amounts
    /// the plain one. As many as the shortest of the three.
    pub fn of(subject: &[f64], a: &[f64], a2: &[f64]) -> Self {
        let rounds = subject.iter().zip(a).zip(a2);
        let amounts = rounds.map(|((s, a), a2)| s - (a + a2) / 2.0).collect();
        Self { ratios: log_ratios(subject, a, a2), amounts }
    }

    /// Of A' against A.
    pub fn of_twins(a2: &[f64], a: &[f64]) -> Self {
        let rounds = || a2.iter().zip(a);
        Self {
            ratios: rounds().map(|(a2, a)| log_ratio(*a2, *a)).collect(),
            amounts: rounds().map(|(a2, a)| a2 - a).collect(),
        }
    }

    /// The first `rounds` of them.
    #[must_use]
    pub fn first(mut self, rounds: usize) -> Self {
        self.ratios.truncate(rounds);
        self.amounts.truncate(rounds);
        self
    }

    /// The cost in these rounds; `None` with too few rounds, or where one is not finite.
    pub fn cost(&self, starts: &[u32], level: Level) -> Option<Cost> {
        Some(Cost {
            share: effect_of(&self.ratios, starts, level, Scale::LogRatio)?,
            amount: effect_of(&self.amounts, starts, level, Scale::Difference)?,
        })
    }
}

/// Additional cost of a subject against its reference, on both scales.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// As a fraction of the reference: 0.014 is 1.4 % more.
    pub share: Effect,
    /// In the unit of the figure.
    pub amount: Effect,
}

impl Cost {
    /// The estimate on the scale of a margin.
    pub const fn on(&self, margin: Margin) -> &Effect {
        match margin {
            Margin::Share(_) => &self.share,
            Margin::Amount(_) => &self.amount,
        }
    }
}

/// Input of one look. Figures are oriented so that more is worse.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The smallest cost that matters.
    pub margin: Margin,
    /// The condition that the run broke, if it broke one.
    pub invalid: Option<&'a str>,
    /// A' against A.
    pub null: &'a Rounds,
    /// The subject against both; not read by [`judge_null`].
    pub arm: &'a Rounds,
    /// The start of the measured processes that each round belongs to, at least one entry per round;
    /// empty when all were started once.
    pub starts: &'a [u32],
    /// The level of this look, from [`crate::level`].
    pub level: Level,
    /// Rounds or budget end here.
    pub last_look: bool,
}

/// The answer, with the figures it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Verdict, or go on.
    pub decision: Decision,
    /// Cost of the arm; for [`judge_null`] A' against A. Shown also when invalid.
    pub cost: Option<Cost>,
    /// A' against A at 99.9 %: the noise floor.
    pub null: Option<Cost>,
    /// The margin judged against.
    pub margin: Margin,
    /// The condition that was broken.
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

/// Judges an arm.
pub fn judge(q: &Question<'_>) -> Judgement {
    let cost = q.arm.cost(q.starts, q.level);
    let null = q.null.cost(q.starts, Level::NULL);
    let is_blocked = blocked(on(q, cost.as_ref()), on(q, null.as_ref()));
    let decision = decide(q, is_blocked, cost.as_ref(), settled);
    answer(q, decision, cost, null)
}

/// Judges the row A' against A alone. It is a check of the machine, so it never ends in `costs` or
/// `saves`: a difference at 99.9 % is `no-verdict`.
pub fn judge_null(q: &Question<'_>) -> Judgement {
    let cost = q.null.cost(q.starts, q.level);
    let null = q.null.cost(q.starts, Level::NULL);
    let is_blocked = on(q, null.as_ref()).is_some_and(differ);
    let decision =
        decide(q, is_blocked, cost.as_ref(), |cost, margin| no_cost(cost.on(margin), margin.size()));
    answer(q, decision, cost, null)
}

/// On the scale that is judged.
fn on<'c>(q: &Question<'_>, cost: Option<&'c Cost>) -> Option<&'c Effect> {
    cost.map(|cost| cost.on(q.margin))
}

fn answer(q: &Question<'_>, decision: Decision, cost: Option<Cost>, null: Option<Cost>) -> Judgement {
    Judgement { decision, cost, null, margin: q.margin, invalid: q.invalid.map(str::to_owned) }
}

/// The five rules; `settle` is rules 3 and 4.
fn decide(
    q: &Question<'_>,
    blocked: bool,
    cost: Option<&Cost>,
    settle: fn(&Cost, Margin) -> Option<Verdict>,
) -> Decision {
    if q.invalid.is_some() {
        return Decision::Final(Verdict::Invalid);
    }
    let early = cost.filter(|_| !blocked).and_then(|cost| settle(cost, q.margin));
    match early {
        Some(verdict) => Decision::Final(verdict),
        None if !q.last_look => Decision::GoOn,
        None if blocked => Decision::Final(Verdict::NoVerdict),
        None => Decision::Final(at_the_end(on(q, cost), q.margin.size())),
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

/// Rules 3 and 4. A sentence that says `costs` says an amount first, so that has to cost, too.
fn settled(cost: &Cost, margin: Margin) -> Option<Verdict> {
    let judged = cost.on(margin);
    no_cost(judged, margin.size()).or_else(|| {
        cleared(judged, margin.size()).filter(|_| cost.amount.interval.side() == judged.interval.side())
    })
}

/// Rule 4, of one of the two scales.
pub(crate) fn cleared(e: &Effect, margin: f64) -> Option<Verdict> {
    let is_sharp = e.interval.half_width() <= margin.max(e.effect.abs() / 2.0);
    match e.interval.side() {
        Ordering::Greater => is_sharp.then_some(Verdict::Costs),
        Ordering::Less => is_sharp.then_some(Verdict::Saves),
        Ordering::Equal => None,
    }
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

    /// The same on either scale.
    fn both(effect: &Effect) -> Cost {
        Cost { share: effect.clone(), amount: effect.clone() }
    }

    /// Twenty values around `middle` with a spread that makes a small interval.
    fn around(middle: f64, spread: f64) -> Vec<f64> {
        (0..20).map(|i| middle + spread * (f64::from(i) - 9.5) / 9.5).collect()
    }

    /// With amounts a hundred times the logarithms, and their noise.
    fn rounds(ratios: &[f64]) -> Rounds {
        Rounds { ratios: ratios.to_vec(), amounts: ratios.iter().map(|x| 100.0 * x).collect() }
    }

    fn ask<'a>(null: &'a Rounds, arm: &'a Rounds, last_look: bool) -> Question<'a> {
        let level = Level::new(0.9875).unwrap();
        Question { margin: Margin::Share(MARGIN), invalid: None, null, arm, starts: &[], level, last_look }
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
            let cost = both(&made(effect, low, high));
            assert_eq!(settled(&cost, Margin::Share(MARGIN)), want, "{effect} {low} {high}");
        }
    }

    /// The amount is said first: a share that is clear of 0 is no cost where the amount is not.
    #[test]
    fn rule_4_asks_for_the_amount_too() {
        use Verdict::{Costs, NoCost, Saves};
        let share = |effect, low, high| both(&made(effect, low, high));
        let with_amount = |cost: &Cost, (low, high)| {
            let amount = made((low + high) / 2.0, low, high);
            settled(&Cost { amount, ..cost.clone() }, Margin::Share(MARGIN))
        };
        assert_eq!(with_amount(&share(0.04, 0.03, 0.05), (-112.0, 421.0)), None);
        assert_eq!(with_amount(&share(0.04, 0.03, 0.05), (-421.0, -112.0)), None);
        assert_eq!(with_amount(&share(0.04, 0.03, 0.05), (1.0, 421.0)), Some(Costs));
        assert_eq!(with_amount(&share(-0.04, -0.05, -0.03), (-421.0, -1.0)), Some(Saves));
        assert_eq!(with_amount(&share(0.0, -0.009, 0.009), (-112.0, 421.0)), Some(NoCost));
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
        let judged = |null: &[f64], d: &[f64], last| judge(&ask(&rounds(null), &rounds(d), last)).decision;
        for last in [false, true] {
            let (null, arm) = (rounds(&equal), rounds(&costs));
            let invalid = Question { invalid: Some("wrong bodies"), ..ask(&null, &arm, last) };
            assert_eq!(judge(&invalid).decision, Decision::Final(Verdict::Invalid));
            assert!(judge(&invalid).cost.is_some(), "the figures stay visible");
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
        let none = Rounds::default();
        let judged = |null: &[f64], last| judge_null(&ask(&rounds(null), &none, last)).decision;
        assert_eq!(judged(&around(0.0, 0.005), false), Decision::Final(Verdict::NoCost));
        assert_eq!(judged(&around(0.1, 0.005), false), Decision::GoOn);
        assert_eq!(judged(&around(0.1, 0.005), true), Decision::Final(Verdict::NoVerdict));
        assert_eq!(judged(&around(0.0, 0.5), true), Decision::Final(Verdict::NotResolved));
        assert_eq!(judged(&around(-0.02, 0.05), true), Decision::Final(Verdict::NotWorse));
        // clear of 0 at its own level but not at 99.9 %
        let between = rounds(&around(0.02, 0.03));
        let got = judge_null(&ask(&between, &none, true));
        assert!(!got.cost.unwrap().share.interval.contains(0.0));
        assert_eq!(got.decision, Decision::Final(Verdict::NotResolved));
    }

    #[test]
    fn equal_rounds_of_two_starts_are_no_claim() {
        let (null, d) = (rounds(&[0.0; 20]), rounds(&[[0.02; 10], [0.03; 10]].concat()));
        let starts = [[0_u32; 10], [1; 10]].concat();
        assert_eq!(judge(&ask(&null, &d, false)).decision, Decision::Final(Verdict::Costs));
        let told = Question { starts: &starts, ..ask(&null, &d, false) };
        assert_eq!(judge(&told).decision, Decision::GoOn);
        let none = Rounds::default();
        let null_told = Question { starts: &starts, ..ask(&d, &none, true) };
        assert_eq!(judge_null(&ask(&d, &none, true)).decision, Decision::Final(Verdict::NoVerdict));
        assert_eq!(judge_null(&null_told).decision, Decision::Final(Verdict::NotResolved));
    }

    /// A reference whose figure doubles from round to round, and a subject that is always 3 more; or always a tenth.
    #[test]
    fn the_margin_says_which_scale_is_judged() {
        let a: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 100.0 } else { 200.0 }).collect();
        let more: Vec<f64> = a.iter().map(|a| a + 3.0).collect();
        let tenth: Vec<f64> = a.iter().map(|a| a * 1.1).collect();
        let null = Rounds::of_twins(&a, &a);
        let judged = |subject: &[f64], margin| {
            let arm = Rounds::of(subject, &a, &a);
            let answer = judge(&Question { margin, ..ask(&null, &arm, true) });
            let cost = answer.cost.unwrap();
            (answer.decision, cost.share.effect, cost.amount.effect)
        };
        let (decision, _, amount) = judged(&more, Margin::Amount(1.0));
        assert_eq!((decision, amount), (Decision::Final(Verdict::Costs), 3.0));
        assert_eq!(judged(&more, Margin::Amount(3.1)).0, Decision::Final(Verdict::NoCost));
        assert_eq!(judged(&more, Margin::Share(0.04)).0, Decision::Final(Verdict::NoCost));
        let (decision, share, amount) = judged(&tenth, Margin::Share(0.01));
        assert_eq!(decision, Decision::Final(Verdict::Costs));
        assert!((share - 0.1).abs() < 1e-9 && (amount - 15.0).abs() < 1e-9, "{share} {amount}");
    }
}
