//! The rule for duets: small effects stand as the duet gave them, larger ones are decided by ten
//! rounds in which the arms take turns.

use bakeoff_stats::Verdict::{Costs, NotResolved, Saves};
use bakeoff_stats::simulate::{DuetCalibration, DuetScenario, NoiseModel, calibrate_duet};

/// CPU per request of two equal servers on two shared cores, all at once.
const DUET_NOISE: f64 = 0.026;

fn duet(effect: f64) -> DuetScenario {
    DuetScenario {
        effect,
        duet: NoiseModel::shared_machine(DUET_NOISE),
        turns: NoiseModel::shared_machine(super::PAIRED_NOISE),
        margin: 0.01,
        max_rounds: 80,
    }
}

fn claims(c: &DuetCalibration) -> f64 {
    c.ends.share(Costs) + c.ends.share(Saves)
}

#[test]
fn equal_arms_of_a_duet_are_rarely_called_different() {
    let c = calibrate_duet(500, &duet(0.0), 31);
    assert!(claims(&c) <= 0.05 && c.to_confirm <= 5, "{c:?}");
}

#[test]
fn what_a_duet_finds_above_the_bound_is_for_the_paired_rounds_to_say() {
    let c = calibrate_duet(200, &duet(0.15), 32);
    assert_eq!(c.to_confirm, 200, "{c:?}");
    let c = calibrate_duet(200, &duet(1.5), 33);
    assert_eq!((c.to_confirm, c.ends.share(Costs), c.ends.median_rounds), (200, 1.0, 20), "{c:?}");
}

pub(crate) fn print_table() {
    println!("duet {DUET_NOISE}, in turns {}, margin 1 %:", super::PAIRED_NOISE);
    println!("| true effect | costs | saves | not-resolved | to confirm | coverage | median rounds |");
    println!("|---|---|---|---|---|---|---|");
    for (effect, seed) in [0.0, 0.02, 0.06, 0.15, 0.3].into_iter().zip(300..) {
        let runs = 10_000;
        let c = calibrate_duet(runs, &duet(effect), seed);
        let percent = |share: f64| format!("{:.2}", share * 100.0);
        let shares = [Costs, Saves, NotResolved].map(|v| percent(c.ends.share(v))).join(" | ");
        println!(
            "| {} % | {shares} | {} | {} | {} |",
            effect * 100.0,
            percent(f64::from(c.to_confirm) / f64::from(runs)),
            percent(c.ends.coverage()),
            c.ends.median_rounds
        );
        if effect == 0.0 {
            assert!(claims(&c) <= 0.05, "{c:?}");
        }
    }
}
