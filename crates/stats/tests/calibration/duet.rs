//! Calibration of the rule for duets: the duet gives the verdict, and rounds in which the arms take turns may take it
//! back.

use crate::simulate::{NoiseModel, calibrate_duet};
use crate::{by_amount, percent, scenario, timed};
use bakeoff_stats::Trend;
use bakeoff_stats::Trend::{Falls, Flat, Grows};
use bakeoff_stats::Verdict::{Costs, NoCost, NotResolved, NotWorse, Saves};

pub(crate) use crate::simulate::DuetScenario;

/// CPU per request of two equal servers on two shared cores, all at once.
const DUET_NOISE: f64 = 0.026;
/// Noise of the rounds in which they take turns.
const TURNS_NOISE: f64 = 0.05;
/// The baseline's figure in those, in units of that in the duet: it differs by a factor of up to two.
const BASELINE: (f64, f64) = (0.5, 2.0);
/// The amount in those: it differs by up to 9 %, as a planted 25 us was seen as 23.05 and as 25.1 us.
const AMOUNT: (f64, f64) = (1.0 / 1.09, 1.09);
/// Share by which a duet makes requests dearer than rounds in turn at its rate.
const INFLATED: [f64; 5] = [0.0, 0.03, 0.05, 0.16, 0.3];
const TRUTHS: [f64; 5] = [0.0, 0.01, 0.05, 0.25, 0.8];

fn duet(effect: f64, noise: f64) -> DuetScenario {
    DuetScenario {
        duet: timed(scenario(effect, noise, 0.01)),
        turns: NoiseModel::shared_machine(TURNS_NOISE),
        rounds: 10,
        baseline: BASELINE,
        amount: AMOUNT,
        full_speed: None,
    }
}

/// Rounds in turn at the rate of the duet, which makes a request dearer by this share.
fn inflated(duet: DuetScenario, share: f64) -> DuetScenario {
    let times = 1.0 / (1.0 + share);
    DuetScenario { baseline: (times, times), amount: (times, times), ..duet }
}

/// The same with slices at full speed, where the cost is so many times as large.
fn with_full_speed(duet: DuetScenario, times: f64) -> DuetScenario {
    DuetScenario { full_speed: Some(times), ..inflated(duet, 0.0) }
}

/// On a machine whose speed hardly varies, amounts are known best.
fn still(mut duet: DuetScenario) -> DuetScenario {
    (duet.duet.noise.round_sd, duet.turns.round_sd) = (0.02, 0.02);
    duet
}

/// All processes are started anew; in the rounds that follow, which are beyond the tenth, before every third.
fn lucky(mut duet: DuetScenario, luck: f64) -> DuetScenario {
    duet.duet.noise = duet.duet.noise.started_anew(luck);
    duet.turns = NoiseModel { each_until: 0, ..duet.turns.started_anew(luck) };
    duet
}

#[test]
fn equal_arms_of_a_duet_are_rarely_called_different() {
    let c = calibrate_duet(500, &duet(0.0, DUET_NOISE), 31);
    assert!(c.ends.differs() <= 0.05 && c.contradicted <= 0.01, "{c:?}");
}

#[test]
fn a_duet_finds_costs_of_any_size_and_is_rarely_contradicted() {
    for (seed, effect) in (32..).zip([0.05, 0.25, 0.8]) {
        let c = calibrate_duet(200, &duet(effect, 0.015), seed);
        assert!(c.ends.share(Costs) >= 0.75 && c.contradicted <= 0.02, "{effect}: {c:?}");
    }
}

#[test]
fn a_duet_that_is_wrong_by_a_factor_of_two_is_contradicted() {
    let twice = DuetScenario { amount: (2.0, 2.0), ..still(duet(0.8, 0.015)) };
    let c = calibrate_duet(200, &twice, 35);
    assert!(c.contradicted >= 0.9 && c.ends.share(NotResolved) >= 0.9, "{c:?}");
}

#[test]
fn a_cost_that_differs_by_load_is_not_taken_back_and_its_trend_is_told() {
    for (seed, times, want) in [(36, 0.5, Falls), (37, 2.0, Grows), (38, 1.0, Flat)] {
        let quiet = DuetScenario { turns: NoiseModel::shared_machine(0.015), ..duet(0.8, 0.015) };
        let c = calibrate_duet(200, &with_full_speed(still(quiet), times), seed);
        assert!(c.ends.share(Costs) >= 0.95 && c.contradicted <= 0.02, "{times}: {c:?}");
        assert!(c.trend(want) >= 0.7, "{times}: {c:?}");
    }
}

#[test]
fn a_duet_that_is_inflated_a_little_is_rarely_contradicted() {
    for (seed, share) in (39..).zip([0.03, 0.05]) {
        let c = calibrate_duet(200, &inflated(still(duet(0.8, 0.015)), share), seed);
        assert!(c.contradicted <= 0.02, "{share}: {c:?}");
    }
}

/// For the search for the worst margin.
pub(crate) fn of_equal_arms() -> Vec<(&'static str, DuetScenario)> {
    let plain = duet(0.0, DUET_NOISE);
    let amount = |duet: DuetScenario| DuetScenario { duet: by_amount(duet.duet), ..duet };
    let luck = lucky(plain, DUET_NOISE);
    vec![
        ("duet", plain),
        ("duet, amount", amount(plain)),
        ("duet, luck as the noise", luck),
        ("duet, luck as the noise, amount", amount(luck)),
    ]
}

pub(crate) fn print_table() {
    println!("Duets ended by the clock, then {TURNS_NOISE} of noise in turns, margin 1 %:");
    println!(
        "| noise | truth | remark | costs | saves | no-cost | not-worse | not-resolved | contradicted | holds the share | holds the amount | median rounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (seed, (remark, duet)) in (300..).zip(scenarios()) {
        print_row(remark, &duet, seed);
    }
}

/// Prints what rounds in turn at the duet's rate contradict, and what those at full speed do not.
pub(crate) fn print_by_load() {
    print_inflated();
    print_full_speed();
}

/// Rounds in turn at the duet's rate that see less than it.
fn print_inflated() {
    println!("Duets that make requests dearer, against rounds in turn at their rate: share contradicted");
    println!(
        "| noise of the duet | in turns | rounds in turn | speeds vary by | truth | {} |",
        INFLATED.map(|x| format!("{} %", x * 100.0)).join(" | ")
    );
    println!("|---|---|---|---|---|{}", "---|".repeat(INFLATED.len()));
    let mut seed = 600;
    for (noise, turns, rounds, speeds) in [
        (0.015, 0.05, 10, 0.2),
        (0.015, 0.05, 10, 0.02),
        (0.015, 0.015, 10, 0.02),
        (0.015, 0.015, 20, 0.02),
        (0.005, 0.005, 20, 0.02),
    ] {
        for truth in [0.05, 0.25, 0.8] {
            let mut plain =
                DuetScenario { turns: NoiseModel::shared_machine(turns), rounds, ..duet(truth, noise) };
            (plain.duet.noise.round_sd, plain.turns.round_sd) = (speeds, speeds);
            let shares = INFLATED.map(|share| {
                seed += 1;
                percent(calibrate_duet(4000, &inflated(plain, share), seed).contradicted)
            });
            println!(
                "| {} % | {} % | {rounds} | {} % | +{} % | {} |",
                noise * 100.0,
                turns * 100.0,
                speeds * 100.0,
                truth * 100.0,
                shares.join(" | ")
            );
        }
    }
}

/// A cost that is so many times as large at full speed.
fn print_full_speed() {
    println!("Duets, rounds in turn at their rate, and slices at full speed:");
    println!(
        "| truth | in turns | at full speed | costs | contradicted | {} |",
        Trend::ALL.map(Trend::as_str).join(" | ")
    );
    println!("|---|---|---|---|---|{}", "---|".repeat(Trend::ALL.len()));
    let mut seed = 800;
    for truth in [0.05, 0.25, 0.8] {
        for (turns, rounds) in [(0.05, 10), (0.015, 20)] {
            for times in [0.3, 0.5, 0.8, 1.0, 1.25, 2.0, 3.0] {
                let plain =
                    DuetScenario { turns: NoiseModel::shared_machine(turns), rounds, ..duet(truth, 0.015) };
                seed += 1;
                let c = calibrate_duet(4000, &with_full_speed(still(plain), times), seed);
                println!(
                    "| +{} % | {rounds} rounds, noise {} % | {times} times | {} | {} | {} |",
                    truth * 100.0,
                    turns * 100.0,
                    percent(c.ends.share(Costs)),
                    percent(c.contradicted),
                    Trend::ALL.map(|trend| percent(c.trend(trend))).join(" | ")
                );
            }
        }
    }
}

fn scenarios() -> Vec<(&'static str, DuetScenario)> {
    let mut all = Vec::new();
    for noise in [0.015, DUET_NOISE, 0.066] {
        all.extend(TRUTHS.map(|truth| ("", duet(truth, noise))));
    }
    for truth in TRUTHS {
        let plain = duet(truth, 0.015);
        let quiet = DuetScenario { turns: NoiseModel::shared_machine(0.015), ..duet(truth, 0.005) };
        all.push(("20 rounds in turns", DuetScenario { rounds: 20, ..plain }));
        all.push(("started anew, luck 0.7 %", lucky(plain, 0.007)));
        all.push(("rounds vary by 2 %", still(plain)));
        all.push((
            "rounds vary by 2 %, in turns noise 1.5 %, 20 of them",
            DuetScenario { rounds: 20, ..still(quiet) },
        ));
    }
    for (remark, amount) in [
        ("amount other by up to 20 %", (1.0 / 1.2, 1.2)),
        ("amount 1.5 times", (1.5, 1.5)),
        ("amount twice", (2.0, 2.0)),
        ("nothing in turns", (1e-9, 1e-9)),
    ] {
        for truth in [0.05, 0.25, 0.8] {
            let plain = DuetScenario { amount, ..duet(truth, 0.015) };
            all.push((remark, plain));
            all.push((remark, still(plain)));
        }
    }
    all
}

fn print_row(remark: &str, duet: &DuetScenario, seed: u64) {
    let c = calibrate_duet(10_000, duet, seed);
    let verdicts =
        [Costs, Saves, NoCost, NotWorse, NotResolved].map(|v| percent(c.ends.share(v))).join(" | ");
    println!(
        "| {:.1} % | {} % | {remark}, rounds vary by {} % | {verdicts} | {} | {} | {} |",
        duet.duet.noise.paired_sd * 100.0,
        duet.duet.effect * 100.0,
        duet.duet.noise.round_sd * 100.0,
        percent(c.contradicted),
        c.ends.coverage().map(percent).join(" | "),
        c.ends.median_rounds
    );
}
