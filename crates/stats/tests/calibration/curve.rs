//! Error rates of trends over the load: how often they are wrong, and how often they find a true trend.

use crate::percent;
use crate::simulate::{Contamination, LoadScenario, NoiseModel, calibrate_loads};
use bakeoff_stats::Trend;
use bakeoff_stats::Trend::{Changes, Falls, Flat, Grows, NotResolved};
use std::num::NonZeroU32;

/// Without a margin only the amount makes an arm flat, and equal arms never are: the most chances to err.
const NO_MARGIN: f64 = 0.0;
const RUNS: u32 = 10_000;

/// A busier server's own cost of a request falls: by half from the lowest of the loads to the highest.
fn baseline(loads: usize) -> Vec<f64> {
    (0..loads).map(|load| 1.5 - load as f64 / (loads - 1).max(1) as f64).collect()
}

/// Equal arms.
fn equal(arms: usize, loads: usize, rounds: u32, paired_sd: f64) -> LoadScenario {
    LoadScenario {
        noise: NoiseModel::shared_machine(paired_sd),
        baseline: baseline(loads),
        arms: vec![vec![0.0; loads]; arms],
        decision: loads / 2,
        rounds,
        margin: NO_MARGIN,
    }
}

/// One arm whose cost is a quarter of the baseline's at the decision's load, in the middle of three, and at the
/// others so many times that.
fn planted(times: [f64; 2], rounds: u32, paired_sd: f64) -> LoadScenario {
    let [low, high] = times.map(|times| 0.25 * times);
    LoadScenario { arms: vec![vec![low, 0.25, high]], margin: 0.01, ..equal(1, 3, rounds, paired_sd) }
}

fn with_noise(s: LoadScenario, change: impl Fn(&mut NoiseModel)) -> LoadScenario {
    let mut s = s;
    change(&mut s.noise);
    s
}

fn lucky(s: LoadScenario, luck: f64) -> LoadScenario {
    with_noise(s, |noise| *noise = noise.started_anew(luck))
}

/// Speeds that hardly vary.
fn still(s: LoadScenario) -> LoadScenario {
    with_noise(s, |noise| noise.round_sd = 0.02)
}

#[test]
fn equal_arms_rarely_differ_over_the_load() {
    for (seed, s) in (400..).zip([
        equal(1, 2, 10, 0.026),
        equal(3, 5, 20, 0.026),
        lucky(equal(3, 3, 20, 0.01), 0.02),
        slices(equal(3, 5, 10, 0.026)),
        wild(equal(3, 5, 20, 0.026)),
    ]) {
        let c = calibrate_loads(400, &s, seed);
        assert!(c.wrong() <= 0.05, "{s:?} {c:?}");
    }
}

#[test]
fn what_grows_or_falls_is_found() {
    for (seed, times, want) in
        [(410, [0.5, 2.0], Grows), (411, [2.0, 0.5], Falls), (412, [2.0, 2.0], Changes)]
    {
        let c = calibrate_loads(200, &still(planted(times, 20, 0.026)), seed);
        assert!(c.share(0, want) >= 0.95, "{want}: {c:?}");
    }
}

#[test]
fn what_is_flat_is_called_so_where_rounds_allow_it() {
    let c = calibrate_loads(200, &still(planted([1.0, 1.0], 20, 0.01)), 413);
    assert!(c.share(0, Flat) >= 0.7 && c.wrong() <= 0.05, "{c:?}");
    let noisy = calibrate_loads(200, &planted([1.0, 1.0], 20, 0.066), 414);
    assert!(noisy.share(0, NotResolved) >= 0.9, "{noisy:?}");
}

#[test]
fn what_moves_by_a_tenth_is_rarely_called_flat() {
    let c = calibrate_loads(300, &still(planted([1.0, 1.1], 40, 0.01)), 415);
    assert!(c.share(0, Flat) <= 0.05, "{c:?}");
}

pub(crate) fn print_table() {
    println!("Trends over the load, {RUNS} runs a row. Arms that are the same at all loads:");
    println!(
        "| arms | loads | rounds | noise | speeds vary by | remark | any called grows, falls or changes |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (seed, (remark, s)) in (500..).zip(flat_scenarios()) {
        print_flat(remark, &s, seed);
    }
    println!("One arm at three loads, the decision's in the middle:");
    println!(
        "| cost at the lowest, highest load | rounds | noise | speeds vary by | flat | grows | falls | changes | not-resolved |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (seed, (times, s)) in (700..).zip(planted_scenarios()) {
        print_planted(times, &s, seed);
    }
}

fn flat_scenarios() -> Vec<(&'static str, LoadScenario)> {
    let mut all = Vec::new();
    for (arms, loads) in [(1, 2), (1, 3), (1, 8), (3, 3), (3, 8), (7, 5)] {
        for rounds in [10, 15, 20, 40] {
            let usual = equal(arms, loads, rounds, 0.026);
            all.push(("", usual.clone()));
            all.push(("never disturbed", undisturbed(usual)));
        }
    }
    all.push(("", equal(3, 5, 20, 0.01)));
    all.push(("", equal(3, 5, 20, 0.066)));
    all.push(("slices disturbed", slices(equal(3, 5, 20, 0.026))));
    all.push(("5 % of the slices 20-fold", wild(equal(3, 5, 20, 0.026))));
    for rounds in [10, 20, 40] {
        all.push(("luck as the noise", lucky(equal(3, 5, rounds, 0.01), 0.01)));
        all.push(("luck 3 times the noise", lucky(equal(3, 5, rounds, 0.01), 0.03)));
        all.push((
            "luck 3 times the noise, never disturbed",
            undisturbed(lucky(equal(7, 5, rounds, 0.01), 0.03)),
        ));
    }
    for loads in [2, 5] {
        all.push(("luck 3 times the noise, every 3rd", every_third(equal(1, loads, 30, 0.01), 0.03)));
        all.push((
            "luck as the noise, 5 % of the slices 20-fold",
            lucky(wild(equal(3, loads, 20, 0.01)), 0.01),
        ));
    }
    for (remark, amount) in [("costs 5 %", 0.05), ("costs 25 %", 0.25), ("costs 80 %", 0.8)] {
        let flat = |s: LoadScenario| LoadScenario { arms: vec![vec![amount; 5]; 3], ..s };
        all.push((remark, flat(equal(3, 5, 20, 0.026))));
        all.push((remark, flat(still(equal(3, 5, 20, 0.026)))));
        all.push((remark, flat(still(equal(3, 5, 40, 0.01)))));
    }
    let mut one_grows = still(equal(3, 5, 20, 0.026));
    one_grows.arms.push(vec![0.2, 0.3, 0.4, 0.5, 0.6]);
    all.push(("the fourth grows", one_grows));
    all
}

fn undisturbed(s: LoadScenario) -> LoadScenario {
    with_noise(s, |noise| noise.contamination_share = 0.0)
}

fn slices(s: LoadScenario) -> LoadScenario {
    with_noise(s, |noise| noise.contamination = Contamination::Slices)
}

fn wild(s: LoadScenario) -> LoadScenario {
    with_noise(slices(s), |noise| (noise.contamination_share, noise.contamination_factor) = (0.05, 20.0))
}

fn every_third(s: LoadScenario, luck: f64) -> LoadScenario {
    with_noise(s, |noise| {
        *noise = NoiseModel { process_luck: luck, rounds_per_start: NonZeroU32::new(3), ..*noise };
    })
}

fn print_flat(remark: &str, s: &LoadScenario, seed: u64) {
    let c = calibrate_loads(RUNS, s, seed);
    println!(
        "| {} | {} | {} | {:.1} % | {} % | {remark} | {} |",
        s.arms.len(),
        s.baseline.len(),
        s.rounds,
        s.noise.paired_sd * 100.0,
        s.noise.round_sd * 100.0,
        percent(c.wrong())
    );
    assert!(c.wrong() <= 0.05, "{s:?} {c:?}");
}

fn planted_scenarios() -> Vec<([f64; 2], LoadScenario)> {
    let mut all = Vec::new();
    for times in [[1.0, 1.0], [0.8, 1.2], [0.5, 2.0], [2.0, 0.5], [2.0, 2.0], [1.0, 1.3], [1.0, 1.1]] {
        for (rounds, noise) in [(10, 0.026), (20, 0.026), (20, 0.01), (40, 0.01)] {
            all.push((times, still(planted(times, rounds, noise))));
        }
        all.push((times, planted(times, 20, 0.026)));
    }
    all
}

fn print_planted(times: [f64; 2], s: &LoadScenario, seed: u64) {
    let c = calibrate_loads(RUNS, s, seed);
    let trends = Trend::ALL.map(|trend| percent(c.share(0, trend)));
    println!(
        "| {} and {} times | {} | {:.1} % | {} % | {} |",
        times[0],
        times[1],
        s.rounds,
        s.noise.paired_sd * 100.0,
        s.noise.round_sd * 100.0,
        trends.join(" | ")
    );
}
