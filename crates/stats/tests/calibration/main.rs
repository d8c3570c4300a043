//! The whole rule against simulated machines: how often it errs, how often it finds.
//!
//! The small tests run always. `calibrate_10_000` prints the table of MEASURING.md:
//! `cargo test --release -p bakeoff-stats --test calibration -- --ignored --nocapture`

// A test's panic is its message; the tables are what the ignored test is for.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod by_start;
mod duet;

use std::num::NonZeroU32;

use bakeoff_stats::Verdict::{Costs, NoCost, NoVerdict, NotResolved, NotWorse, Saves};
use bakeoff_stats::simulate::{
    Calibration, Contamination, NoiseModel, Scenario, calibrate, run_family, run_rule,
};
use bakeoff_stats::{SplitMix64, Verdict};

/// 0.2-s slices on two shared cores, CPU per request.
const PAIRED_NOISE: f64 = 0.066;

fn scenario(effect: f64, paired_sd: f64, margin: f64) -> Scenario {
    let noise = NoiseModel::shared_machine(paired_sd);
    Scenario { effect, noise, margin, arms: 1, max_rounds: 80 }
}

/// Equal arms whose every start has a lasting offset with the sd `luck`.
fn lucky(paired_sd: f64, luck: f64, rounds_per_start: Option<NonZeroU32>) -> Scenario {
    let noise = NoiseModel { process_luck: luck, rounds_per_start, ..NoiseModel::shared_machine(paired_sd) };
    Scenario { noise, ..scenario(0.0, paired_sd, 0.01) }
}

/// As runs with quick starts do it.
fn each_to_ten(scenario: Scenario) -> Scenario {
    Scenario { noise: NoiseModel { each_until: 10, ..scenario.noise }, ..scenario }
}

fn differs(c: &Calibration) -> f64 {
    c.share(Costs) + c.share(Saves)
}

#[test]
fn equal_servers_are_rarely_called_different() {
    let noisy = calibrate(1000, &scenario(0.0, PAIRED_NOISE, 0.01), 1);
    assert!(differs(&noisy) <= 0.05, "{noisy:?}");
    let quiet = calibrate(300, &scenario(0.0, 0.01, 0.01), 2);
    assert!(differs(&quiet) <= 0.05 && quiet.share(NoCost) > 0.9, "{quiet:?}");
}

#[test]
fn a_planted_cost_is_found() {
    let six_percent = calibrate(300, &scenario(0.06, PAIRED_NOISE, 0.01), 3);
    assert!(six_percent.share(Costs) >= 0.85, "{six_percent:?}");
    assert!(six_percent.coverage() >= 0.9, "{six_percent:?}");
    let large = calibrate(100, &scenario(1.5, PAIRED_NOISE, 0.01), 4);
    assert_eq!((large.share(Costs), large.median_rounds), (1.0, 10), "{large:?}");
}

#[test]
fn a_cost_of_the_margin_is_rarely_called_none() {
    let at_the_margin = calibrate(500, &scenario(0.01, 0.02, 0.01), 5);
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
    let one_start = calibrate(500, &lucky(0.01, 0.007, None), 8);
    assert!(differs(&one_start) > 0.3, "{one_start:?}");
    let to_ten = calibrate(1000, &each_to_ten(lucky(0.01, 0.007, NonZeroU32::new(3))), 9);
    assert!(differs(&to_ten) <= 0.05, "{to_ten:?}");
    let every_third = calibrate(1000, &lucky(0.01, 0.007, NonZeroU32::new(3)), 9);
    assert!(differs(&every_third) <= 0.05 && every_third.share(NoCost) > 0.75, "{every_third:?}");
    let costs = Scenario { effect: 0.06, ..lucky(0.01, 0.007, NonZeroU32::new(3)) };
    let found = calibrate(200, &costs, 10);
    assert!(found.share(Costs) >= 0.99 && found.coverage() >= 0.95, "{found:?}");
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let noise = NoiseModel::shared_machine(PAIRED_NOISE);
    let run = |seed| run_rule(0.02, &noise, 0.01, 1, 80, seed);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    assert_eq!(run_family(&[0.02], &noise, 0.01, 80, 1), [run(1)]);
}

#[test]
fn every_run_ends_even_when_it_is_too_short() {
    let noise = NoiseModel::shared_machine(PAIRED_NOISE);
    for max_rounds in 0..4 {
        let outcome = run_rule(0.0, &noise, 0.01, 1, max_rounds, 1);
        assert!(matches!(outcome.verdict, NotResolved | NoVerdict | NotWorse), "{outcome:?}");
    }
}

#[test]
#[ignore = "minutes in an unoptimised build; prints the table of MEASURING.md"]
fn calibrate_10_000() {
    println!(
        "| noise | margin | true effect | arms | rounds | luck | remark | costs | saves | no-cost | not-worse | not-resolved | no-verdict | coverage | median rounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut seed = 100;
    for (remark, s) in scenarios() {
        seed += 1;
        let c = calibrate(10_000, &s, seed);
        let share = |v: Verdict| format!("{:.2}", c.share(v) * 100.0);
        let shares = [Costs, Saves, NoCost, NotWorse, NotResolved, NoVerdict].map(share).join(" | ");
        let (noise, margin, effect) = (s.noise.paired_sd * 100.0, s.margin * 100.0, s.effect * 100.0);
        println!(
            "| {noise:.1} % | {margin} % | {effect} % | {} | {} | {:.1} % | {remark} | {shares} | {:.2} | {} |",
            s.arms,
            s.max_rounds,
            s.noise.process_luck * 100.0,
            c.coverage() * 100.0,
            c.median_rounds
        );
        let luck_is_sampled = s.noise.process_luck == 0.0 || s.noise.rounds_per_start.is_some();
        if s.effect == 0.0 && s.noise.aa_bias == 0.0 && luck_is_sampled {
            assert!(differs(&c) <= 0.05, "{s:?} {c:?}");
        }
    }
    worst_margin();
    families();
    duet::print_table();
    by_start::print_table();
}

fn scenarios() -> Vec<(&'static str, Scenario)> {
    let mut all = Vec::new();
    for (sd, margin) in
        [(PAIRED_NOISE, 0.01), (0.026, 0.01), (0.026, 0.02), (0.01, 0.01), (0.01, 0.005), (0.2, 0.01)]
    {
        for effect in [0.0, margin, 0.02, 0.06, -0.06, 1.5] {
            all.push(("", scenario(effect, sd, margin)));
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
        all.push(("margin 0.01 %", with(&|s| s.margin = 1e-4)));
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
            all.push((
                "luck, a start each round to 10, then every 3",
                each_to_ten(lucky(sd, luck, NonZeroU32::new(3))),
            ));
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

/// The rule errs most where the looks that could end in `no-cost` come late enough to have passed
/// several chances to err: a scan of the margin in units of the noise.
fn worst_margin() {
    for (i, tenths) in [1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 20].into_iter().enumerate() {
        let margin = 0.01 * f64::from(tenths) / 10.0;
        let c = calibrate(10_000, &scenario(0.0, 0.01, margin), 200 + i as u64);
        let (wrong, coverage) = (differs(&c) * 100.0, c.coverage() * 100.0);
        println!(
            "margin = {:.1} x noise: costs or saves {wrong:.2} %, coverage {coverage:.2} %",
            margin / 0.01
        );
        assert!(wrong <= 5.0);
    }
}

/// Several equal arms in one run: the share of runs in which any is called different.
fn families() {
    let mut seeds = SplitMix64::new(99);
    for (arms, sd) in [(4, PAIRED_NOISE), (4, 0.01), (10, 0.01), (40, 0.01)] {
        let noise = NoiseModel::shared_machine(sd);
        let runs = if arms > 10 { 2000 } else { 5000 };
        let wrong = (0..runs)
            .filter(|_| {
                let outcomes = run_family(&vec![0.0; arms], &noise, 0.01, 80, seeds.next_u64());
                outcomes.iter().any(|o| matches!(o.verdict, Costs | Saves))
            })
            .count();
        println!(
            "{arms} equal arms, noise {:.1} %: any called different in {:.2} % of {runs} runs",
            sd * 100.0,
            wrong as f64 * 100.0 / runs as f64
        );
    }
}
