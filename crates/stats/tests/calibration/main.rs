//! Calibration of the whole rule against simulated machines: how often it errs, how often it finds.
//!
//! The small tests run always. The others print the tables of docs/method.md:
//! `cargo test --release -p bakeoff-stats --test calibration -- --ignored --nocapture --test-threads=1`

// A test's panic is its message; the tables are what the ignored test is for.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod by_start;
mod curve;
mod duet;
mod simulate;
mod worst;

use std::num::NonZeroU32;

use bakeoff_content::SplitMix64;
use bakeoff_stats::Margin;
use bakeoff_stats::Verdict::{Costs, NoCost, NoVerdict, NotResolved, NotWorse, Saves};
use simulate::{Contamination, NoiseModel, Scenario, calibrate, run_family, run_rule};

/// 0.2-s slices on two shared cores, CPU per request.
const PAIRED_NOISE: f64 = 0.066;

fn scenario(effect: f64, paired_sd: f64, margin: f64) -> Scenario {
    let noise = NoiseModel::shared_machine(paired_sd);
    Scenario { effect, noise, margin: Margin::Share(margin), arms: 1, max_rounds: 80, budget: None }
}

/// Ended by the clock at about 6 to 100 rounds.
fn timed(scenario: Scenario) -> Scenario {
    Scenario { budget: Some((6.0, 100.0)), ..scenario }
}

/// Judged by an amount: the baseline's figure is 1.
fn by_amount(scenario: Scenario) -> Scenario {
    Scenario { margin: Margin::Amount(scenario.margin.size()), ..scenario }
}

/// Equal arms whose every start has a lasting offset with the sd `luck`.
fn lucky(paired_sd: f64, luck: f64, rounds_per_start: Option<NonZeroU32>) -> Scenario {
    let noise = NoiseModel { process_luck: luck, rounds_per_start, ..NoiseModel::shared_machine(paired_sd) };
    Scenario { noise, ..scenario(0.0, paired_sd, 0.01) }
}

/// As runs with quick starts do it.
fn started_anew(paired_sd: f64, luck: f64) -> Scenario {
    let noise = NoiseModel::shared_machine(paired_sd).started_anew(luck);
    Scenario { noise, ..scenario(0.0, paired_sd, 0.01) }
}

#[test]
fn equal_servers_are_rarely_called_different() {
    let noisy = calibrate(300, &scenario(0.0, PAIRED_NOISE, 0.01), 1);
    assert!(noisy.differs() <= 0.05, "{noisy:?}");
    let quiet = calibrate(300, &scenario(0.0, 0.01, 0.01), 2);
    assert!(quiet.differs() <= 0.05 && quiet.share(NoCost) > 0.9, "{quiet:?}");
}

#[test]
fn equal_servers_are_rarely_called_different_where_the_clock_ends_the_run() {
    for (seed, scenario) in [(11, scenario(0.0, 0.01, 0.007)), (12, by_amount(scenario(0.0, 0.01, 0.007)))] {
        let c = calibrate(500, &timed(scenario), seed);
        assert!(c.differs() <= 0.05 && c.coverage().iter().all(|held| *held >= 0.94), "{c:?}");
    }
}

#[test]
fn equal_servers_are_rarely_called_different_after_80_rounds() {
    // At margins where looks after 80 rounds decide.
    for (seed, max_rounds, margin) in [(15, 160, 0.0045), (16, 320, 0.003)] {
        let longer = Scenario { max_rounds, ..scenario(0.0, 0.01, margin) };
        let c = calibrate(400, &longer, seed);
        assert!(c.differs() <= 0.05 && c.coverage()[0] >= 0.94 && c.median_rounds >= 80, "{c:?}");
    }
}

#[test]
fn a_planted_cost_is_found() {
    let six_percent = calibrate(300, &scenario(0.06, PAIRED_NOISE, 0.01), 3);
    assert!(six_percent.share(Costs) >= 0.85, "{six_percent:?}");
    assert!(six_percent.coverage()[0] >= 0.9, "{six_percent:?}");
    let large = calibrate(100, &scenario(1.5, PAIRED_NOISE, 0.01), 4);
    assert_eq!((large.share(Costs), large.median_rounds), (1.0, 10), "{large:?}");
}

#[test]
fn a_cost_of_the_margin_is_rarely_called_none() {
    let at_the_margin = calibrate(300, &scenario(0.01, 0.02, 0.01), 5);
    assert!(at_the_margin.share(NoCost) <= 0.05, "{at_the_margin:?}");
}

#[test]
fn unlike_equal_servers_block_small_effects_only() {
    let mut small = scenario(0.0, 0.01, 0.01);
    small.noise.aa_bias = 0.1;
    let c = calibrate(50, &small, 6);
    assert_eq!(c.share(NoVerdict), 1.0, "{c:?}");
    let c = calibrate(50, &Scenario { effect: 1.0, ..small }, 7);
    assert_eq!(c.share(Costs), 1.0, "{c:?}");
}

#[test]
fn process_luck_deceives_until_processes_are_started_again() {
    let one_start = calibrate(200, &lucky(0.01, 0.007, None), 8);
    assert!(one_start.differs() > 0.3, "{one_start:?}");
    let to_ten = calibrate(500, &started_anew(0.01, 0.007), 9);
    assert!(to_ten.differs() <= 0.05, "{to_ten:?}");
    let every_third = calibrate(500, &lucky(0.01, 0.007, NonZeroU32::new(3)), 9);
    assert!(every_third.differs() <= 0.05 && every_third.share(NoCost) > 0.75, "{every_third:?}");
    let costs = Scenario { effect: 0.06, ..lucky(0.01, 0.007, NonZeroU32::new(3)) };
    let found = calibrate(200, &costs, 10);
    assert!(found.share(Costs) >= 0.99 && found.coverage()[0] >= 0.95, "{found:?}");
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let some = timed(scenario(0.02, PAIRED_NOISE, 0.01));
    assert_eq!(run_rule(&some, 1), run_rule(&some, 1));
    assert_ne!(run_rule(&some, 1), run_rule(&some, 2));
    assert_eq!(run_family(&some, 1), [run_rule(&some, 1)]);
}

#[test]
fn every_run_ends_even_when_it_is_too_short() {
    for max_rounds in 0..4 {
        let short = Scenario { max_rounds, ..scenario(0.0, PAIRED_NOISE, 0.01) };
        for scenario in [short, Scenario { budget: Some((0.1, 2.0)), ..short }] {
            let outcome = run_rule(&scenario, 1);
            assert!(matches!(outcome.verdict, NotResolved | NoVerdict | NotWorse), "{outcome:?}");
        }
    }
}

#[test]
#[ignore = "half an hour; prints a table of docs/method.md"]
fn calibrate_long_runs() {
    worst::print_long();
}

#[test]
#[ignore = "ten minutes; prints the tables of trends over the load"]
fn calibrate_curves() {
    curve::print_table();
}

#[test]
#[ignore = "minutes; prints the tables of duets and rounds in turn at their rate"]
fn calibrate_duets_by_load() {
    duet::print_by_load();
}

#[test]
#[ignore = "half an hour; prints the tables of docs/method.md"]
fn calibrate_10_000() {
    println!(
        "| noise | margin | true effect | arms | rounds | luck | remark | costs | saves | no-cost | not-worse | not-resolved | no-verdict | holds the share | holds the amount | median rounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (seed, (remark, s)) in (101..).zip(scenarios()) {
        print_row(remark, &s, seed);
    }
    worst::print_table();
    families();
    duet::print_table();
    by_start::print_table();
}

fn print_row(remark: &str, s: &Scenario, seed: u64) {
    let c = calibrate(10_000, s, seed);
    let verdicts = [Costs, Saves, NoCost, NotWorse, NotResolved, NoVerdict].map(|v| percent(c.share(v)));
    println!(
        "| {:.1} % | {} % | {} % | {} | {} | {:.1} % | {remark} | {} | {} | {} |",
        s.noise.paired_sd * 100.0,
        s.margin.size() * 100.0,
        s.effect * 100.0,
        s.arms,
        s.max_rounds,
        s.noise.process_luck * 100.0,
        verdicts.join(" | "),
        c.coverage().map(percent).join(" | "),
        c.median_rounds
    );
    let luck_is_sampled = s.noise.process_luck == 0.0 || s.noise.rounds_per_start.is_some();
    if s.effect == 0.0 && s.noise.aa_bias == 0.0 && luck_is_sampled {
        assert!(c.differs() <= 0.05, "{s:?} {c:?}");
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}", share * 100.0)
}

fn scenarios() -> Vec<(&'static str, Scenario)> {
    let mut all = Vec::new();
    for (sd, margin) in
        [(PAIRED_NOISE, 0.01), (0.026, 0.01), (0.026, 0.02), (0.01, 0.01), (0.01, 0.005), (0.2, 0.01)]
    {
        for effect in [0.0, margin, 0.02, 0.06, 1.5] {
            all.push(("", scenario(effect, sd, margin)));
        }
        for effect in [0.0, 0.06] {
            let plain = scenario(effect, sd, margin);
            all.push(("by amount", by_amount(plain)));
            all.push(("ended by the clock", timed(plain)));
            all.push(("by amount, ended by the clock", by_amount(timed(plain))));
        }
    }
    let mut pure = scenario(0.06, PAIRED_NOISE, 0.01);
    pure.noise.contamination_share = 0.0;
    all.push(("pure normal noise", pure));
    for sd in [PAIRED_NOISE, 0.026, 0.01] {
        let base = scenario(0.0, sd, 0.01);
        let with = |change: &dyn Fn(&mut Scenario)| {
            let mut s = base;
            change(&mut s);
            s
        };
        all.push(("pure normal noise", with(&|s| s.noise.contamination_share = 0.0)));
        all.push(("slices disturbed, not rounds", with(&|s| s.noise.contamination = Contamination::Slices)));
        all.push(("margin 0.01 %", with(&|s| s.margin = Margin::Share(1e-4))));
        all.push(("A' luck 0.7 %", with(&|s| s.noise.aa_bias = 0.007)));
        all.push(("A' luck 2 %", with(&|s| s.noise.aa_bias = 0.02)));
        all.push(("4 arms", with(&|s| s.arms = 4)));
        all.push(("40 arms", with(&|s| s.arms = 40)));
        all.push(("one look", with(&|s| s.max_rounds = 9)));
        all.push(("longer plan", with(&|s| s.max_rounds = 640)));
        all.push(("longer plan, +6 %", with(&|s| (s.max_rounds, s.effect) = (640, 0.06))));
    }
    all.extend(restarted());
    all
}

/// Process luck: two equal processes differ by 1.4 times the luck of each, here by 0.7, 1 and 2.8 %.
fn restarted() -> Vec<(&'static str, Scenario)> {
    let mut all = Vec::new();
    for sd in [PAIRED_NOISE, 0.026, 0.01] {
        for luck in [0.005, 0.007, 0.02] {
            all.push(("luck, one start", lucky(sd, luck, None)));
            all.push(("luck, a start every 3 rounds", lucky(sd, luck, NonZeroU32::new(3))));
            all.push(("luck, a start each round to 10, then every 3", started_anew(sd, luck)));
            all.push(("luck, a start every 7 rounds", lucky(sd, luck, NonZeroU32::new(7))));
        }
        let none = lucky(sd, 0.0, NonZeroU32::new(3));
        all.push(("no luck, a start every 3 rounds", none));
        for effect in [0.01, 0.02, 0.06, 1.5] {
            all.push(("no luck, a start every 3 rounds", Scenario { effect, ..none }));
            let some = Scenario { effect, ..lucky(sd, 0.007, NonZeroU32::new(3)) };
            all.push(("luck, a start every 3 rounds", some));
        }
    }
    all
}

/// Several equal arms in one run: the share of runs in which any is called different.
fn families() {
    let mut seeds = SplitMix64::new(99);
    for (arms, sd, margin) in [
        (4, PAIRED_NOISE, 0.01),
        (4, 0.01, 0.01),
        (10, 0.01, 0.01),
        (40, 0.01, 0.01),
        (10, 0.01, 0.008), // the worst that was tried
    ] {
        let family = Scenario { arms, ..scenario(0.0, sd, margin) };
        for (remark, family) in [("80 rounds", family), ("ended by the clock", timed(family))] {
            let runs = if arms > 10 { 2000 } else { 5000 };
            let any = any_differs(&family, runs, &mut seeds);
            println!(
                "{arms} equal arms, noise {} %, margin {margin}, {remark}: any called different in {} % of {runs} runs",
                percent(sd),
                percent(any)
            );
        }
    }
}

/// The share of runs in which any of several arms is called different.
fn any_differs(family: &Scenario, runs: u32, seeds: &mut SplitMix64) -> f64 {
    let differs = |seed| run_family(family, seed).iter().any(|o| matches!(o.verdict, Costs | Saves));
    let wrong = (0..runs).filter(|_| differs(seeds.next_u64())).count();
    wrong as f64 / f64::from(runs)
}
