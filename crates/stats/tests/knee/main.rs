//! Peak search against simulated servers whose knee is known.
//!
//! The small tests run always. `calibrate_knees` prints the table of docs/method.md:
//! `cargo test --release -p bakeoff-stats --test knee -- --ignored --nocapture`

#![allow(clippy::print_stdout)] // the table is what the ignored test is for

mod simulate;

use bakeoff_stats::knee::{
    Confirmation, Criteria, Criterion, Search, SearchFinding, SearchLimit, SearchOutcome, SearchPlan,
    SearchStep, Trial, TrialPurpose, VoidReason, ratio_of_knees,
};
use bakeoff_units::{Nanos, PerSecond};
use simulate::{Calibration, Kind, SLO, Server, calibrate, run};

const KNEE: f64 = 10_000.0;
const GUESS: f64 = 12_000.0;

fn searched(kind: Kind, seed: u64) -> Search {
    run(&mut Server::new(kind, KNEE, GUESS, seed), seed, |_| {})
}

fn plan(seed: u64) -> SearchPlan {
    let guess = PerSecond::new(GUESS).expect("above zero");
    SearchPlan::new(guess, Criteria::new(SLO, None), seed)
}

fn knee(outcome: &SearchOutcome) -> (f64, f64, f64) {
    match outcome.finding {
        SearchFinding::Knee { at, low, high } => (low.get(), at.get(), high.get()),
        _ => panic!("no knee: {outcome:?}"),
    }
}

fn assert_near_the_knee(outcome: &SearchOutcome) {
    let (low, at, high) = knee(outcome);
    assert!((at / KNEE - 1.0).abs() <= 0.03 && low < at && at < high, "{outcome:?}");
}

/// The trials of a search, by its purpose.
fn trials(kind: Kind, purpose: TrialPurpose) -> Vec<Trial> {
    let mut server = Server::new(kind, KNEE, GUESS, 1);
    let mut search = Search::new(plan(1));
    let mut all = Vec::new();
    while let SearchStep::Trial(trial) = search.next() {
        let seen = server.observe(&trial);
        search.observe(trial, &seen);
        all.push(trial);
    }
    all.retain(|trial| trial.purpose == purpose);
    all
}

#[test]
fn eighteen_of_twenty_knees_are_found_within_three_percent() {
    for kind in [Kind::Clean, Kind::Noisy { width: 0.01, lapse: 0.02 }, Kind::Queue { spread: 0.01 }] {
        let got = calibrate(20, kind, 1);
        assert!(got.within >= 18, "{kind:?} {got:?}");
        assert!(got.covered >= 14, "{kind:?} {got:?}");
    }
}

#[test]
fn a_clean_knee_is_precise_confirmed_and_passed_three_of_four() {
    let outcome = searched(Kind::Clean, 1).outcome();
    assert_near_the_knee(&outcome);
    let (low, _, high) = knee(&outcome);
    assert!(high / low <= 1.03 && outcome.precise, "{outcome:?}");
    assert_eq!(outcome.confirmation, Confirmation::Passed);
    assert_eq!(outcome.binding, Some(Criterion::Latency));
    assert!(outcome.passed.is_some_and(|rate| (0.95 * KNEE..=KNEE).contains(&rate.get())), "{outcome:?}");
    assert!(!outcome.bypass && outcome.voids == 0);
}

#[test]
fn a_guess_far_off_is_mended() {
    for guess in [0.1, 0.5, 3.0, 15.0] {
        let outcome = run(&mut Server::new(Kind::Clean, KNEE, guess * KNEE, 1), 1, |_| {}).outcome();
        assert_near_the_knee(&outcome);
    }
}

#[test]
fn answering_past_the_cache_is_seen_and_binds() {
    let outcome = searched(Kind::Bypass, 1).outcome();
    // Hits fall by a point at 1.25 % above the knee of the cache.
    let (_, at, _) = knee(&outcome);
    assert!((at / KNEE - 1.0125).abs() <= 0.03, "{outcome:?}");
    assert_eq!((outcome.binding, outcome.bypass), (Some(Criterion::HitRatio), true));
}

#[test]
fn a_bad_point_below_the_knee_does_not_end_the_search() {
    // Right where the bracket begins, and on its next two rungs.
    for at in [0.5, 0.65, 0.4, 0.25] {
        let outcome = searched(Kind::BadPoint { at }, 1).outcome();
        assert_near_the_knee(&outcome);
        assert_eq!(outcome.confirmation, Confirmation::Passed, "{at}");
    }
}

#[test]
fn one_failure_by_chance_anywhere_does_not_move_the_knee() {
    for unlucky in 0..12 {
        let mut server = Server::new(Kind::Clean, KNEE, GUESS, 1);
        let mut search = Search::new(plan(1));
        let mut count = 0;
        while let SearchStep::Trial(trial) = search.next() {
            let mut seen = server.observe(&trial);
            if count == unlucky {
                seen.slo_quantile = Some(Nanos::from_secs(1));
            }
            search.observe(trial, &seen);
            count += 1;
        }
        assert_near_the_knee(&search.outcome());
    }
}

#[test]
fn a_generator_that_fails_first_gives_a_lower_bound() {
    let outcome = searched(Kind::GeneratorEndsAt { share: 0.6 }, 1).outcome();
    let SearchFinding::AtLeast { rate, limit: SearchLimit::Generator } = outcome.finding else {
        panic!("{outcome:?}");
    };
    assert!((0.45 * KNEE..0.6 * KNEE).contains(&rate.get()), "{outcome:?}");
    assert!(outcome.voids >= 2 && outcome.binding.is_none() && outcome.passed.is_some(), "{outcome:?}");
    assert_eq!(outcome.confirmation, Confirmation::Passed);
}

#[test]
fn a_generator_that_is_always_late_measures_nothing() {
    let outcome = searched(Kind::GeneratorEndsAt { share: 0.0 }, 1).outcome();
    assert!(matches!(outcome.finding, SearchFinding::NotMeasured { reason: Some(_) }), "{outcome:?}");
    assert_eq!(outcome.confirmation, Confirmation::NotTried);
}

#[test]
fn a_machine_that_is_always_busy_ends_the_search_and_nothing_is_claimed() {
    for share in [1.0, 0.8] {
        let search = searched(Kind::BusyMachine { share }, 1);
        let outcome = search.outcome();
        let reason = Some(VoidReason::MachineBusy);
        assert_eq!(outcome.finding, SearchFinding::NotMeasured { reason }, "{share}");
        assert!(outcome.is_settled() && outcome.trials <= 12 && outcome.binding.is_none(), "{outcome:?}");
        assert_eq!(search.trials().filter(|trial| trial.purpose == TrialPurpose::Curve).count(), 0);
    }
}

#[test]
fn a_machine_that_is_busy_at_times_costs_trials_and_moves_no_knee() {
    for seed in 1..=5 {
        let outcome = searched(Kind::BusyMachine { share: 0.2 }, seed).outcome();
        assert_near_the_knee(&outcome);
        assert!(outcome.voids > 0, "{outcome:?}");
    }
}

#[test]
fn a_knee_below_the_generators_end_is_found() {
    let outcome = searched(Kind::GeneratorEndsAt { share: 1.25 }, 1).outcome();
    assert_near_the_knee(&outcome);
}

#[test]
fn no_rate_above_the_plans_is_ever_tried() {
    let most = PerSecond::new(6000.0).expect("above zero");
    let search = run(&mut Server::new(Kind::Clean, KNEE, 6000.0, 1), 1, |plan| plan.most = Some(most));
    let outcome = search.outcome();
    let SearchFinding::AtLeast { rate, limit: SearchLimit::Asked } = outcome.finding else {
        panic!("{outcome:?}")
    };
    assert!((5500.0..=6000.0).contains(&rate.get()), "{outcome:?}");
    assert!(search.trials().all(|trial| trial.rate <= most));
    let below = Server::new(Kind::Clean, 40.0, 6000.0, 1);
    let outcome = run(&mut below.clone(), 1, |plan| {
        (plan.most, plan.lowest) = (Some(most), PerSecond::new(6.0).expect("above zero"));
    });
    let (_, at, _) = knee(&outcome.outcome());
    assert!((at / 40.0 - 1.0).abs() < 0.03);
}

#[test]
fn no_rate_passes_is_said_with_the_lowest_and_its_reason() {
    let outcome = searched(Kind::Hopeless, 1).outcome();
    let SearchFinding::NoRatePasses { lowest, by } = &outcome.finding else { panic!("{outcome:?}") };
    assert!((0.045 * GUESS..0.07 * GUESS).contains(&lowest.get()), "{outcome:?}");
    assert_eq!(by, &[Criterion::Latency]);
    assert!(!outcome.precise && outcome.passed.is_none());
}

#[test]
fn a_small_budget_ends_the_search_and_says_so() {
    let server = || Server::new(Kind::Noisy { width: 0.04, lapse: 0.0 }, KNEE, GUESS, 1);
    let outcome = run(&mut server(), 1, |plan| plan.budget.trials = 6).outcome();
    assert_eq!((outcome.trials, outcome.precise), (6, false));
    let outcome = run(&mut server(), 1, |plan| plan.budget.time = Nanos::from_secs(130)).outcome();
    assert!(!outcome.precise && outcome.trials <= 6, "{outcome:?}");
    assert_ne!(outcome.confirmation, Confirmation::NotTried);
}

#[test]
fn the_curve_has_ten_rates_in_mixed_order() {
    let curve = trials(Kind::Clean, TrialPurpose::Curve);
    let rates: Vec<f64> = curve.iter().map(|trial| trial.rate.get()).collect();
    assert_eq!(rates.len(), 10);
    let mut sorted = rates.clone();
    sorted.sort_by(f64::total_cmp);
    assert!((sorted[9] / KNEE - 1.1).abs() < 0.04 && (sorted[0] / KNEE - 0.11).abs() < 0.01);
    assert!(!rates.is_sorted() && rates[0] == sorted[9] && rates[1] == sorted[0]);
}

#[test]
fn trials_grow_as_the_interval_shrinks_and_low_rates_are_mixed_in() {
    let refine = trials(Kind::Noisy { width: 0.01, lapse: 0.0 }, TrialPurpose::Refine);
    let first = refine.first().unwrap().time;
    assert!(refine.last().unwrap().time >= first.times(4.0) && first <= Nanos::from_secs(6));
    let lower = trials(Kind::Noisy { width: 0.01, lapse: 0.0 }, TrialPurpose::Lower);
    assert!(!lower.is_empty() && lower.iter().all(|trial| trial.rate.get() < 0.8 * KNEE));
}

#[test]
fn a_search_is_a_function_of_its_trials() {
    let kind = Kind::Noisy { width: 0.02, lapse: 0.05 };
    let mut server = Server::new(kind, KNEE, GUESS, 3);
    let (mut first, mut again) = (Search::new(plan(3)), Search::new(plan(3)));
    while let SearchStep::Trial(trial) = first.next() {
        let seen = server.observe(&trial);
        assert_eq!(again.next(), SearchStep::Trial(trial));
        assert_eq!(first.observe(trial, &seen), again.observe(trial, &seen));
    }
    assert_eq!(first.next(), again.next());
}

#[test]
fn the_ratio_of_two_knees_holds_the_truth() {
    let (mut held, runs) = (0, 20);
    for seed in 0..runs {
        let kind = Kind::Noisy { width: 0.01, lapse: 0.0 };
        let one = |knee, seed| run(&mut Server::new(kind, knee, GUESS, seed), seed, |_| {});
        let (subject, reference) = (one(8500.0, seed), one(KNEE, seed + 1000));
        let ratio = ratio_of_knees(&subject, &reference).unwrap();
        assert!((ratio.effect + 0.15).abs() < 0.05, "{ratio:?}");
        held += u32::from(ratio.interval.contains(-0.15));
    }
    assert!(held >= 14, "{held}");
    let hopeless = searched(Kind::Hopeless, 1);
    assert_eq!(ratio_of_knees(&hopeless, &searched(Kind::Clean, 1)), None);
}

#[test]
#[ignore = "minutes in an unoptimised build; prints the table of docs/method.md"]
fn calibrate_knees() {
    println!("| server | within 3 % | interval holds the knee | precise | median trials | median time |");
    println!("|---|---|---|---|---|---|");
    let noisy = |width, lapse| Kind::Noisy { width, lapse };
    let kinds = [
        ("clean", Kind::Clean),
        ("noise 0.5 %", noisy(0.005, 0.0)),
        ("noise 1 %", noisy(0.01, 0.0)),
        ("noise 1 %, 2 % of the trials fail anyhow", noisy(0.01, 0.02)),
        ("noise 2 %", noisy(0.02, 0.0)),
        ("noise 2 %, 5 % of the trials fail anyhow", noisy(0.02, 0.05)),
        ("noise 4 %", noisy(0.04, 0.0)),
        ("a queue (M/M/1)", Kind::Queue { spread: 0.0 }),
        ("a queue, its capacity varies by 1 %", Kind::Queue { spread: 0.01 }),
        ("a queue, its capacity varies by 3 %", Kind::Queue { spread: 0.03 }),
        ("a bad point at half of the guess", Kind::BadPoint { at: 0.5 }),
    ];
    for (seed, (name, kind)) in (1..).zip(kinds) {
        let runs = if matches!(kind, Kind::Queue { .. }) { 60 } else { 200 };
        let got = calibrate(runs, kind, seed);
        let Calibration { within, covered, precise, median_trials, median_time, .. } = got;
        let of = |count: u32| format!("{:.1} of 20", f64::from(count) * 20.0 / f64::from(runs));
        println!(
            "| {name} | {} | {} | {} | {median_trials} | {median_time} |",
            of(within),
            of(covered),
            of(precise)
        );
        if matches!(kind, Kind::Clean | Kind::Noisy { width: ..=0.02, .. }) {
            assert!(within * 20 >= 18 * runs, "{name}: {got:?}");
        }
    }
}
