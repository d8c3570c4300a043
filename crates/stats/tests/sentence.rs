//! Sentences as snapshots.

use bakeoff_stats::Decision::{Final, GoOn};
use bakeoff_stats::Verdict::{Costs, Invalid, NoCost, NoVerdict, NotResolved, NotWorse, Saves};
use bakeoff_stats::{
    AlsoChanged, Cost, Decision, Effect, Interval, Judgement, Margin, Wording, floor_in_words, sentence,
};

fn made(low: f64, effect: f64, high: f64, n: usize) -> Effect {
    let interval = Interval { low, high };
    Effect {
        effect,
        interval,
        n,
        paired_sd: 0.0,
        robust_sd: 0.0,
        hodges_lehmann: effect,
        hl_interval: interval,
        heavy_tails: false,
        level: 0.9875,
    }
}

/// Cost against a figure of 33.3 us, so that both scales agree.
fn cost(low: f64, effect: f64, high: f64, n: usize) -> Cost {
    let amount = |share: f64| share * 33_300.0;
    Cost { share: made(low, effect, high, n), amount: made(amount(low), amount(effect), amount(high), n) }
}

fn judged(decision: Decision, cost: Cost) -> Judgement {
    Judgement { decision, cost: Some(cost), null: None, margin: Margin::Share(0.01), invalid: None }
}

const WORDING: Wording<'_> = Wording {
    baseline: "a",
    of: 33_300.0,
    unit: "ns",
    figure: "CPU per request",
    load: "6,400/s",
    seconds: 14.0,
    seconds_per_round: Some(1.0),
    also: &[],
};

fn say(j: &Judgement) -> String {
    sentence(j, &WORDING)
}

#[test]
fn an_amount_comes_first_then_what_share_of_what_it_is() {
    let table = [
        (
            Costs,
            [0.069, 0.078, 0.087],
            "costs 2.6 us CPU per request more than a (2.3..2.9): +7.8 % of a's 33.3 us at 6,400/s; 14 s, 14 rounds",
        ),
        (
            Saves,
            [-0.087, -0.078, -0.069],
            "saves 2.6 us CPU per request against a (2.3..2.9): -7.8 % of a's 33.3 us at 6,400/s; 14 s, 14 rounds",
        ),
        (
            Costs,
            [0.0003, 0.0007, 0.0011],
            "costs 0.023 us CPU per request more than a (0.010..0.037): +0.07 % of a's 33.3 us at 6,400/s; 14 s, 14 rounds",
        ),
        (
            Costs,
            [2.2, 2.4, 2.6],
            "costs 80 us CPU per request more than a (73..87): 3.4 times a's 33.3 us at 6,400/s; 14 s, 14 rounds",
        ),
        (
            NoCost,
            [-0.002, 0.001, 0.004],
            "costs no more than the margin of 1 %: +0.03 us CPU per request (-0.07..+0.13), -0.2..+0.4 % of a's 33.3 us \
             at 6,400/s; 14 s, 14 rounds",
        ),
        (
            NotWorse,
            [-0.04, -0.02, 0.004],
            "is not worse by the margin of 1 %: -0.7 us CPU per request (-1.3..+0.1), -4.0..+0.4 % of a's 33.3 us \
             at 6,400/s; 14 s, 14 rounds",
        ),
    ];
    for (verdict, [low, effect, high], want) in table {
        assert_eq!(say(&judged(Final(verdict), cost(low, effect, high, 14))), want);
    }
}

#[test]
fn what_is_not_resolved_still_says_what_is_known() {
    let open = say(&judged(Final(NotResolved), cost(-0.008, 0.0065, 0.021, 80)));
    let told = "not resolved: +0.2 us CPU per request (-0.3..+0.7), -0.8..+2.1 % of a's 33.3 us at 6,400/s; 14 s, 80 rounds; ";
    assert!(open.starts_with(told), "{open}");
    let clear = say(&judged(Final(NotResolved), cost(6.12, 7.5, 8.99, 3)));
    assert!(clear.starts_with("costs more than a, how much is not resolved: +250 us"), "{clear}");
    assert!(clear.contains("7.1..10.0 times a's"), "{clear}");
    let share = cost(0.03, 0.04, 0.05, 40);
    let wide = Cost { amount: cost(-0.01, 0.013, 0.036, 40).amount, ..share };
    let how_much = say(&judged(Final(NotResolved), wide));
    assert!(
        how_much.starts_with("costs more than a, how much is not resolved: +3.0..+5.0 % of a's"),
        "{how_much}"
    );
    assert!(how_much.ends_with("would settle how much"), "{how_much}");
    let without = Judgement { cost: None, ..judged(Final(NotResolved), cost(0.0, 0.0, 0.0, 3)) };
    assert_eq!(say(&without), "not resolved: too few usable rounds");
    let neither = Judgement { decision: Final(NoVerdict), ..without };
    assert_eq!(say(&neither), "no verdict: too few usable rounds");
}

#[test]
fn more_rounds_are_told_with_what_is_not_known_of_them() {
    // Around 0: 80 x (1.45 / 1)^2 = 169 rounds. A standard error off it, 0.58, 80 x (1.45 / 0.58)^2 = 500; either 16 %
    // off.
    let around_zero = say(&judged(Final(NotResolved), cost(-0.0145, 0.0, 0.0145, 80)));
    assert!(
        around_zero.ends_with("more rounds (62 s to 8 min) would settle a margin of 1 %"),
        "{around_zero}"
    );
    let wild = say(&judged(Final(NotResolved), cost(-0.3, 0.004, 0.3, 10)));
    assert!(wild.contains("at least") && wild.contains("perhaps many times that"), "{wild}");
}

#[test]
fn margins_may_be_amounts() {
    let j =
        Judgement { margin: Margin::Amount(500.0), ..judged(Final(NoCost), cost(-0.002, 0.001, 0.004, 14)) };
    assert!(say(&j).starts_with("costs no more than the margin of 500 ns: +0.03 us"), "{}", say(&j));
    let j = Judgement { margin: Margin::Amount(1500.0), ..j };
    assert!(say(&j).starts_with("costs no more than the margin of 1.5 us"), "{}", say(&j));
}

#[test]
fn the_noise_floor_stands_beside_and_says_when_it_is_as_large_as_the_effect() {
    let null = cost(-0.0075, -0.0009, 0.0057, 14);
    assert_eq!(floor_in_words(&null, None, &WORDING), "two equal a's differ by -0.03 us (-0.25..+0.19)");
    let small = cost(0.001, 0.004, 0.007, 14);
    let doubted = floor_in_words(&null, Some(&small), &WORDING);
    assert!(doubted.ends_with("DOUBTFUL, as they may differ by as much as this"), "{doubted}");
    assert!(!floor_in_words(&null, Some(&cost(0.07, 0.08, 0.09, 14)), &WORDING).contains("DOUBTFUL"));
}

#[test]
fn no_verdict_invalid_and_undecided() {
    let base = judged(Final(NoVerdict), cost(0.01, 0.02, 0.03, 80));
    let null = Some(cost(0.011, 0.023, 0.035, 80));
    assert_eq!(
        say(&Judgement { null, ..base.clone() }),
        "no verdict: two equal a's differ by +0.8 us (+0.4..+1.2), and this is less than three times that: +0.7 us CPU per \
         request (+0.3..+1.0) at 6,400/s; 14 s, 80 rounds"
    );
    assert_eq!(say(&base), "no verdict: the two equal servers could not be compared");
    let invalid = Some("generator late by 3 ms".to_owned());
    let j = Judgement { decision: Final(Invalid), invalid, ..base.clone() };
    assert_eq!(say(&j), "invalid: generator late by 3 ms");
    let j = Judgement { decision: GoOn, ..base };
    assert_eq!(say(&j), "undecided: +0.7 us CPU per request (+0.3..+1.0)");
}

#[test]
fn what_else_changed_much_stands_before_the_figures() {
    let slower =
        AlsoChanged { clause: "the median reply takes 21 ms in place of 0.9 ms".to_owned(), worse: true };
    let smaller = AlsoChanged { clause: "a reply has 5 KB in place of 18 KB".to_owned(), worse: false };
    let both = [slower.clone(), smaller];
    let said = |decision, low, effect, high, also: &[AlsoChanged]| {
        sentence(&judged(Final(decision), cost(low, effect, high, 14)), &Wording { also, ..WORDING })
    };
    assert_eq!(
        said(Costs, 0.069, 0.078, 0.087, &both),
        "costs 2.6 us CPU per request more than a (2.3..2.9), and the median reply takes 21 ms in place of 0.9 ms, but a reply \
         has 5 KB in place of 18 KB: +7.8 % of a's 33.3 us at 6,400/s; 14 s, 14 rounds"
    );
    let not_worse = said(NotWorse, -0.005, 0.001, 0.006, std::slice::from_ref(&slower));
    assert!(
        not_worse.starts_with("is not worse by the margin of 1 %, but the median reply takes"),
        "{not_worse}"
    );
    let open = said(NotResolved, -0.05, 0.02, 0.09, &[slower]);
    assert!(open.starts_with("not resolved, but the median reply takes"), "{open}");
}

#[test]
fn a_claimed_side_is_shown_by_the_scale_that_has_it() {
    let amount = |low, effect, high| made(low * 1e3, effect * 1e3, high * 1e3, 14);
    let mixed = Cost { share: made(0.40, 0.9, 1.51, 14), amount: amount(-112.0, 46.0, 203.0) };
    let said = say(&judged(Final(NotResolved), mixed));
    assert!(
        said.starts_with("costs more than a, how much is not resolved: +40..+151 % of a's 33.3 us"),
        "{said}"
    );
    assert!(!said.contains("203"), "{said}");
}
