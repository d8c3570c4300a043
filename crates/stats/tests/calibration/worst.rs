//! The margin at which the rule errs most.
//!
//! That is where the looks that could end in `no-cost` come late enough to have passed several chances to err, so the
//! margin is scanned in units of the noise. The worst of many shares is partly chance: it is simulated again, with
//! other seeds.

use crate::simulate::{Calibration, Contamination, NoiseModel, Scenario, calibrate, calibrate_duet};
use crate::{by_amount, duet, percent, scenario, started_anew, timed};
use bakeoff_stats::Margin;

/// Margins, in units of the noise.
const SCANNED: [f64; 9] = [0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.5, 3.0];
const RUNS: u32 = 3000;
const RUNS_AGAIN: u32 = 20_000;
const NOISE: f64 = 0.01;

pub(crate) fn print_table() {
    println!("| equal arms | worst margin / noise | costs or saves | holds the share | holds the amount |");
    println!("|---|---|---|---|---|");
    for (name, s) in scenarios() {
        print_worst(&name, |times, runs, seed| calibrate(runs, &with_margin(&s, times), seed));
    }
    for (name, s) in duet::of_equal_arms() {
        print_worst(name, |times, runs, seed| {
            calibrate_duet(runs, &duet::DuetScenario { duet: with_margin(&s.duet, times), ..s }, seed).ends
        });
    }
}

/// `calibrate` is told the margin in units of the noise, the runs and a seed.
fn print_worst(name: &str, calibrate: impl Fn(f64, u32, u64) -> Calibration) {
    let differs = |times: &f64| calibrate(*times, RUNS, 200).differs();
    let shares = SCANNED.map(|times| (times, differs(&times)));
    let worst = shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(1.0, |(times, _)| times);
    let c = calibrate(worst, RUNS_AGAIN, 201);
    println!("| {name} | {worst} | {} | {} |", percent(c.differs()), c.coverage().map(percent).join(" | "));
    assert!(c.differs() <= 0.05, "{name}: {c:?}");
}

fn with_margin(s: &Scenario, times: f64) -> Scenario {
    let margin = times * s.noise.sd_of_a_round();
    let margin = match s.margin {
        Margin::Share(_) => Margin::Share(margin),
        Margin::Amount(_) => Margin::Amount(margin),
    };
    Scenario { margin, ..*s }
}

fn scenarios() -> Vec<(String, Scenario)> {
    let plain = scenario(0.0, NOISE, 0.01);
    let of = |noise: NoiseModel| Scenario { noise, ..plain };
    let mut all = all_ways("", plain).to_vec();
    for times in [1.0, 2.0, 4.0] {
        all.extend(all_ways(&format!(", luck {times} x noise"), started_anew(NOISE, times * NOISE)));
    }
    let pure = of(NoiseModel { contamination_share: 0.0, ..plain.noise });
    let slices = of(NoiseModel { contamination: Contamination::Slices, ..plain.noise });
    let singles = [
        ("clock, never disturbed", timed(pure)),
        ("clock, slices disturbed, not rounds", timed(slices)),
        ("640 rounds", Scenario { max_rounds: 640, ..plain }),
    ];
    all.extend(singles.map(|(name, s)| (name.to_owned(), s)));
    for rounds in [12.0, 24.0, 48.0, 100.0] {
        all.push((format!("clock, {rounds} rounds"), Scenario { budget: Some((rounds, rounds)), ..plain }));
    }
    all
}

fn all_ways(name: &str, s: Scenario) -> [(String, Scenario); 4] {
    [
        (format!("80 rounds{name}"), s),
        (format!("80 rounds, amount{name}"), by_amount(s)),
        (format!("clock{name}"), timed(s)),
        (format!("clock, amount{name}"), by_amount(timed(s))),
    ]
}
