//! Sentences as snapshots.

use bakeoff_stats::Decision::{Final, GoOn};
use bakeoff_stats::Verdict::{Costs, Invalid, NoCost, NoVerdict, NotResolved, NotWorse, Saves};
use bakeoff_stats::{Decision, Effect, Interval, Judgement, Scale, Wording, sentence};

fn made(effect: f64, low: f64, high: f64, n: usize) -> Effect {
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

fn judged(decision: Decision, margin: f64, effect: Effect) -> Judgement {
    Judgement { decision, effect: Some(effect), null: None, margin, scale: Scale::LogRatio, invalid: None }
}

fn say(j: &Judgement) -> String {
    sentence(j, &Wording { figure: "CPU per request", seconds_per_round: Some(10.3) })
}

#[test]
fn costs_and_saves() {
    let table = [
        (Costs, (0.014, 0.009, 0.019), "costs 1.4 % CPU per request (CI 0.9..1.9, 28 rounds)"),
        (Saves, (-0.03, -0.04, -0.02), "saves 3.0 % CPU per request (CI 2.0..4.0, 28 rounds)"),
        (Costs, (0.0007, 0.0003, 0.0011), "costs 0.07 % CPU per request (CI 0.03..0.11, 28 rounds)"),
        (Costs, (0.01, 0.0002, 0.0198), "costs 1.00 % CPU per request (CI 0.02..1.98, 28 rounds)"),
        (Costs, (0.5, 0.35, 0.65), "costs 50 % CPU per request (CI 35..65, 28 rounds)"),
        (Costs, (1.52, 1.47, 1.57), "costs 152 % CPU per request (CI 147..157, 28 rounds)"),
        (Costs, (2.4, 2.2, 2.6), "costs 3.4 times as much CPU per request (CI 3.2..3.6 times, 28 rounds)"),
        (
            Costs,
            (149.0, 140.0, 158.0),
            "costs 150 times as much CPU per request (CI 141..159 times, 28 rounds)",
        ),
    ];
    for (verdict, (effect, low, high), want) in table {
        assert_eq!(say(&judged(Final(verdict), 0.01, made(effect, low, high, 28))), want);
    }
}

#[test]
fn no_cost_and_not_worse() {
    let table = [
        (NoCost, (0.0005, -0.003, 0.004), "no cost above 0.5 % can be seen (CI -0.3..+0.4)"),
        (
            NoCost,
            (0.003, 0.002, 0.004),
            "no cost above 0.5 % can be seen (CI +0.2..+0.4), costs 0.3 %, less than the margin of 0.5 %",
        ),
        (
            NoCost,
            (-0.003, -0.004, -0.002),
            "no cost above 0.5 % can be seen (CI -0.4..-0.2), saves 0.3 %, less than the margin of 0.5 %",
        ),
        (NoCost, (0.0, 0.0, 0.0), "no cost above 0.5 % can be seen (CI 0.0..0.0)"),
        (NoCost, (0.0, -0.0023, 0.0004), "no cost above 0.5 % can be seen (CI -0.2..0.0)"),
        (NotWorse, (-0.0095, -0.023, 0.004), "not worse by 0.5 % or more (CI -2.3..+0.4, 80 rounds)"),
    ];
    for (verdict, (effect, low, high), want) in table {
        assert_eq!(say(&judged(Final(verdict), 0.005, made(effect, low, high, 80))), want);
    }
}

#[test]
fn not_resolved_says_what_would_settle_it() {
    // clear of 0 needs a half-width of 0.65: 80 x (1.45 / 0.65)^2 = 398
    let j = judged(Final(NotResolved), 0.01, made(0.0065, -0.008, 0.021, 80));
    assert_eq!(say(&j), "not resolved: -0.8..+2.1 %; about 319 more rounds (55 min) would settle 1 %");
    // around 0 the margin itself is the target: 58 x (1.45 / 1)^2 = 122
    let j = judged(Final(NotResolved), 0.01, made(0.0, -0.0145, 0.0145, 58));
    assert_eq!(say(&j), "not resolved: -1.5..+1.5 %; about 64 more rounds (11 min) would settle 1 %");
    let untimed = Wording { figure: "elapsed time", seconds_per_round: None };
    assert_eq!(sentence(&j, &untimed), "not resolved: -1.5..+1.5 %; about 64 more rounds would settle 1 %");
    let day = Wording { figure: "elapsed time", seconds_per_round: Some(400.0) };
    assert!(sentence(&j, &day).contains("(7.1 h)"), "{}", sentence(&j, &day));
    let without = Judgement { effect: None, ..j };
    assert_eq!(say(&without), "not resolved: too few usable rounds");
}

#[test]
fn no_verdict_invalid_and_undecided() {
    let base = judged(Final(NoVerdict), 0.01, made(0.02, 0.01, 0.03, 80));
    let null = Some(made(0.023, 0.011, 0.035, 80));
    assert_eq!(
        say(&Judgement { null, ..base.clone() }),
        "the machine cannot tell two equal servers apart better than 2.3 %"
    );
    assert_eq!(say(&base), "no verdict: the two equal servers could not be compared");
    let invalid = Some("generator late by 3 ms".to_owned());
    let j = Judgement { decision: Final(Invalid), invalid, ..base.clone() };
    assert_eq!(say(&j), "invalid: generator late by 3 ms");
    let j = Judgement { decision: GoOn, ..base };
    assert_eq!(say(&j), "undecided after 80 rounds: +1.0..+3.0 %");
}

#[test]
fn proportions_are_told_in_points() {
    let j = judged(Final(Costs), 0.01, made(0.021, 0.015, 0.027, 28));
    let j = Judgement { scale: Scale::Difference, ..j };
    let wording = Wording { figure: "hit ratio", seconds_per_round: None };
    assert_eq!(sentence(&j, &wording), "costs 2.1 points of hit ratio (CI 1.5..2.7, 28 rounds)");
}
