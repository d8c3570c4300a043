//! The margin at which the rule errs most.
//!
//! That is where the looks that could end in `no-cost` come late enough to have passed several chances to err, so the
//! margin is scanned in units of the noise. The worst of many shares is partly chance: it is simulated again, with
//! other seeds.

use crate::simulate::{Calibration, Contamination, NoiseModel, Scenario, calibrate, calibrate_duet};
use crate::{any_differs, by_amount, duet, percent, scenario, started_anew, timed};
use bakeoff_content::SplitMix64;
use bakeoff_stats::{LOOKS, Margin};

/// Margins, in units of the noise.
const SCANNED: [f64; 9] = [0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.5, 3.0];
/// Margins for which more than 80 rounds make narrower intervals.
const SCANNED_LONG: [f64; 6] = [0.2, 0.3, 0.5, 0.6, 0.7, 0.85];
const RUNS: u32 = 3000;
const RUNS_AGAIN: u32 = 20_000;
const NOISE: f64 = 0.01;
/// Rounds of a plan that does not say how many.
const DEFAULT: u32 = LOOKS[LOOKS.len() - 1];

pub(crate) fn print_table() {
    println!("| equal arms | worst margin / noise | costs or saves | holds the share | holds the amount |");
    println!("|---|---|---|---|---|");
    for (name, s) in scenarios() {
        print_worst(&name, &SCANNED, |times, runs, seed| calibrate(runs, &with_margin(&s, times), seed));
    }
    for (name, s) in duet::of_equal_arms() {
        print_worst(name, &SCANNED, |times, runs, seed| {
            calibrate_duet(runs, &duet::DuetScenario { duet: with_margin(&s.duet, times), ..s }, seed).ends
        });
    }
}

/// Of runs that go on after 80 rounds.
pub(crate) fn print_long() {
    println!("| equal arms | worst margin / noise | costs or saves | holds the share | holds the amount |");
    println!("|---|---|---|---|---|");
    for (name, s) in long_scenarios() {
        print_worst(&name, &SCANNED_LONG, |times, runs, seed| calibrate(runs, &with_margin(&s, times), seed));
    }
    let mut seeds = SplitMix64::new(98);
    for arms in [4, 10, 40] {
        let runs = if arms > 10 { 1500 } else { RUNS };
        let family = Scenario { arms, max_rounds: DEFAULT, ..scenario(0.0, NOISE, 0.6 * NOISE) };
        let any = percent(any_differs(&family, runs, &mut seeds));
        println!(
            "{arms} equal arms, {DEFAULT} rounds, margin 0.6: any called different in {any} % of {runs} runs"
        );
    }
}

/// `calibrate` takes the margin in units of the noise, the runs and a seed.
fn print_worst(name: &str, scanned: &[f64], calibrate: impl Fn(f64, u32, u64) -> Calibration) {
    let differs = |times: f64| calibrate(times, RUNS, 200).differs();
    let shares = scanned.iter().map(|times| (*times, differs(*times)));
    let worst = shares.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(1.0, |(times, _)| times);
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
    let singles =
        [("clock, never disturbed", timed(pure)), ("clock, slices disturbed, not rounds", timed(slices))];
    all.extend(singles.map(|(name, s)| (name.to_owned(), s)));
    for rounds in [12.0, 24.0, 48.0, 100.0] {
        all.push((format!("clock, {rounds} rounds"), Scenario { budget: Some((rounds, rounds)), ..plain }));
    }
    all
}

/// Plans with so many rounds, between looks and at them; and the default, which the clock ends.
fn long_scenarios() -> Vec<(String, Scenario)> {
    let plain = scenario(0.0, NOISE, 0.01);
    let lucky = |times: f64| {
        let mut s = started_anew(NOISE, times * NOISE);
        s.noise.each_until = 20; // as runs do now
        s
    };
    let pure = Scenario { noise: NoiseModel { contamination_share: 0.0, ..plain.noise }, ..plain };
    let mut all = Vec::new();
    for (remark, s) in [(", luck 2 x noise", lucky(2.0)), ("", plain)] {
        for max_rounds in [160, DEFAULT] {
            all.push((format!("{max_rounds} rounds{remark}"), Scenario { max_rounds, ..s }));
        }
        all.push((format!("clock, 6 to 1500 rounds{remark}"), long(s, (6.0, 1500.0))));
    }
    for max_rounds in [81, 112, 136, 320, 640] {
        all.push((format!("{max_rounds} rounds, luck 2 x noise"), Scenario { max_rounds, ..lucky(2.0) }));
    }
    for rounds in [150.0, 700.0] {
        all.push((format!("clock, {rounds} rounds, luck 2 x noise"), long(lucky(2.0), (rounds, rounds))));
    }
    for (remark, s) in [
        ("luck as noise", lucky(1.0)),
        ("luck 4 x noise", lucky(4.0)),
        ("amount", by_amount(plain)),
        ("never disturbed", pure),
    ] {
        all.push((format!("{DEFAULT} rounds, {remark}"), Scenario { max_rounds: DEFAULT, ..s }));
    }
    all
}

/// The default plan, ended by the clock at about so many rounds.
fn long(s: Scenario, budget: (f64, f64)) -> Scenario {
    Scenario { max_rounds: DEFAULT, budget: Some(budget), ..s }
}

fn all_ways(name: &str, s: Scenario) -> [(String, Scenario); 4] {
    [
        (format!("80 rounds{name}"), s),
        (format!("80 rounds, amount{name}"), by_amount(s)),
        (format!("clock{name}"), timed(s)),
        (format!("clock, amount{name}"), by_amount(timed(s))),
    ]
}
