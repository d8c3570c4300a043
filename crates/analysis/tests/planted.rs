//! Analysis of made-up slices with planted truths: duets in blocks, and rounds in which the generator was late.

#![allow(clippy::unwrap_used)]

use bakeoff_analysis::analyse::analyse;
use bakeoff_content::SplitMix64;
use bakeoff_meter::catalogue::{RESPONSE_P50, SUBJECT_CPU};
use bakeoff_meter::{SliceCounters, Times};
use bakeoff_plan::RoundDesign;
use bakeoff_results::directory::{StoppedBy, StoredExperiment};
use bakeoff_results::{
    Comparison, DesignSetup, LoadSetup, Results, Setup, SliceRecord, StratumSetup, WorkloadSetup,
};
use bakeoff_stats::Verdict;
use bakeoff_units::Nanos;
use std::collections::BTreeMap;

/// Requests of a slice.
const REQUESTS: u64 = 1000;
/// Noise of a slice, and of what all slices of a block share: blocks come one after the other.
const NOISE: f64 = 0.01;
const BLOCK_NOISE: f64 = 0.2;
const LEVEL: f64 = 0.95;
const ROUNDS: u32 = 10;

/// Arms as `stratum.arm`, with the true CPU of a request in us.
fn truths() -> BTreeMap<&'static str, f64> {
    let of_a = [("a.0", 100.0), ("a.0'", 100.0), ("a.1", 100.0), ("a.2", 103.0), ("a.3", 90.0)];
    let more_of_a = [("a.4", 150.0), ("a.5", 100.0), ("a.6", 101.0)];
    let of_b = [("b.0", 400.0), ("b.0'", 400.0), ("b.1", 400.0), ("b.2", 440.0)];
    of_a.into_iter().chain(more_of_a).chain(of_b).collect()
}

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

fn setup(design: DesignSetup) -> Setup {
    let of_a = ["a.0", "a.0'", "a.1", "a.2", "a.3", "a.4", "a.5", "a.6"];
    let of_b = ["b.0", "b.0'", "b.1", "b.2"];
    let stratum = |arms: &[&str]| StratumSetup {
        name: arms[0][..1].to_owned(),
        baseline: arms[0].to_owned(),
        arms: names(arms),
    };
    Setup {
        arms: names(&[of_a.as_slice(), of_b.as_slice()].concat()),
        baseline: "a.0".to_owned(),
        strata: vec![stratum(&of_a), stratum(&of_b)],
        primary: SUBJECT_CPU.to_owned(),
        margin: 0.01,
        level: LEVEL,
        looks: vec![ROUNDS],
        max_rounds: ROUNDS,
        max_errors: 0.001,
        rounds_budget_ns: u64::MAX / 4,
        workload: WorkloadSetup {
            kind: "get".to_owned(),
            slice_requests: REQUESTS,
            ..WorkloadSetup::default()
        },
        design,
        ..Setup::default()
    }
}

/// Two blocks of the first stratum, one of the second.
fn in_blocks() -> DesignSetup {
    let load = LoadSetup { rate_per_s: 1000.0, slice_requests: REQUESTS, ..LoadSetup::default() };
    DesignSetup {
        design: RoundDesign::Duet,
        blocks: vec![
            names(&["a.0", "a.0'", "a.1", "a.2", "a.3"]),
            names(&["a.0", "a.0'", "a.4", "a.5", "a.6"]),
            names(&["b.0", "b.0'", "b.1", "b.2"]),
        ],
        loads: vec![load],
        ..DesignSetup::default()
    }
}

fn slice(round: u32, arm: &str, us: f64) -> SliceRecord {
    SliceRecord {
        round,
        arm: arm.to_owned(),
        started_ns: u64::from(round) * 1_000_000_000,
        ended_ns: u64::from(round + 1) * 1_000_000_000,
        counters: SliceCounters {
            requests: REQUESTS,
            replies: REQUESTS,
            wall_ns: 1_000_000_000,
            subject_cpu_ns: Some((us * 1e3 * REQUESTS as f64) as u64),
            ..SliceCounters::default()
        },
        times: Times::default().encode(),
        ..SliceRecord::default()
    }
}

fn results(setup: Setup, slices: Vec<SliceRecord>) -> Results {
    let (plan, trials, stopped_by) = (String::new(), Vec::new(), StoppedBy::Rounds);
    analyse(&StoredExperiment { plan, setup, slices, trials, stopped_by, digests: BTreeMap::new() }).unwrap()
}

/// The slices of a run in blocks.
fn run_in_blocks(seed: u64) -> Results {
    let (mut random, truths, design) = (SplitMix64::new(seed), truths(), in_blocks());
    let mut slices = Vec::new();
    for round in 0..ROUNDS {
        for (block, arms) in (0..).zip(&design.blocks) {
            let of_block = BLOCK_NOISE * random.normal();
            for arm in arms {
                let us = truths[arm.as_str()] * (of_block + NOISE * random.normal()).exp();
                let (design, load) = (RoundDesign::Duet, Some(0));
                slices.push(SliceRecord { design, load, block, ..slice(round, arm, us) });
            }
        }
    }
    results(setup(design), slices)
}

fn primary<'r>(results: &'r Results, arm: &str) -> &'r Comparison {
    results.comparisons.iter().find(|row| row.arm == arm && row.primary).unwrap()
}

#[test]
fn a_plan_that_asks_for_precision_waits_for_it_and_keeps_a_verdict_when_it_is_cut_off() {
    let of = |precision: Option<f64>, rounds: u32, stopped_by: StoppedBy| {
        let mut random = SplitMix64::new(7);
        let arms = [("a", 100.0), ("a'", 100.0), ("b", 104.0)];
        let names: Vec<String> = arms.iter().map(|(arm, _)| (*arm).to_owned()).collect();
        let setup = Setup {
            arms: names,
            baseline: "a".to_owned(),
            strata: Vec::new(),
            looks: vec![10, 20, 40, 80],
            max_rounds: 80,
            precision,
            ..setup(DesignSetup::default())
        };
        let mut of_arm =
            |round, (arm, us): (&str, f64)| slice(round, arm, us * (NOISE * random.normal()).exp());
        let slices = (0..rounds).flat_map(|round| arms.map(|arm| of_arm(round, arm))).collect();
        let (plan, trials, digests) = (String::new(), Vec::new(), BTreeMap::new());
        let stored = StoredExperiment { plan, setup, slices, trials, stopped_by, digests };
        let row = primary(&analyse(&stored).unwrap(), "b").clone();
        let half = (row.amount_high.unwrap() - row.amount_low.unwrap()) / 2.0;
        (row.verdict, row.rounds, half / row.amount.unwrap())
    };
    let (verdict, rounds, share) = of(None, 80, StoppedBy::Verdicts);
    assert_eq!((verdict, rounds), (Verdict::Costs, 10));
    assert!(share > 0.15, "{share}");
    let (verdict, rounds, share) = of(Some(0.15), 80, StoppedBy::Verdicts);
    assert!(verdict == Verdict::Costs && rounds > 10 && share <= 0.15, "{verdict:?} {rounds} {share}");
    let (verdict, rounds, share) = of(Some(0.001), 80, StoppedBy::Rounds);
    assert!((verdict, rounds) == (Verdict::Costs, 80) && share > 0.001, "what the rounds gave: {share}");
    let (verdict, rounds, _) = of(Some(0.15), 15, StoppedBy::Interrupted);
    assert_eq!((verdict, rounds), (Verdict::Costs, 10), "that of the last look");
}

#[test]
fn intervals_of_a_duet_in_blocks_hold_the_planted_truths_and_are_as_narrow_as_a_block_allows() {
    let (truths, runs) = (truths(), 150);
    let (mut held, mut all, mut widest) = (0, 0, 0.0_f64);
    for seed in 0..runs {
        let found = run_in_blocks(seed);
        for arm in ["a.1", "a.2", "a.3", "a.4", "a.5", "a.6", "b.1", "b.2"] {
            let row = primary(&found, arm);
            let truth = truths[arm] / truths[row.baseline.as_str()] - 1.0;
            let (low, high) = (row.low.unwrap(), row.high.unwrap());
            held += u32::from(low <= truth && truth <= high);
            all += 1;
            widest = widest.max((high - low) / 2.0 / (1.0 + truth));
        }
    }
    let coverage = f64::from(held) / f64::from(all);
    assert!((LEVEL - 0.03..=LEVEL + 0.03).contains(&coverage), "{coverage} of {all} intervals");
    // Noise that a block shares is twenty times that of a slice, and cancels: against the baseline of another block
    // the half width would be a tenth and more.
    assert!(widest < 0.05, "{widest}");
}

#[test]
fn a_baseline_of_several_blocks_has_one_row_with_all_that_it_did() {
    let found = run_in_blocks(7);
    assert_eq!(found.rounds, ROUNDS);
    let [once, twice] = ["a.1", "a.0"].map(|arm| found.arms[arm].requests);
    assert_eq!((once, twice), (u64::from(ROUNDS) * REQUESTS, 2 * u64::from(ROUNDS) * REQUESTS));
    let null = primary(&found, "a.0'");
    assert!(null.effect.unwrap().abs() < 0.02 && null.rounds == ROUNDS, "{null:?}");
}

#[test]
fn a_round_that_lacks_a_block_does_not_count() {
    let design = in_blocks();
    let truths = truths();
    let blocks = |round: u32, missing: Option<u32>| -> Vec<SliceRecord> {
        let there = (0..).zip(&design.blocks).filter(|(block, _)| Some(*block) != missing);
        let of = |(block, arms): (u32, &Vec<String>)| {
            let own = |arm: &String| {
                let (design, load) = (RoundDesign::Duet, Some(0));
                SliceRecord { design, load, block, ..slice(round, arm, truths[arm.as_str()]) }
            };
            arms.iter().map(own).collect::<Vec<_>>()
        };
        there.flat_map(of).collect()
    };
    for missing in 0..3 {
        let slices = [blocks(0, None), blocks(1, None), blocks(2, Some(missing))].concat();
        assert_eq!(results(setup(in_blocks()), slices).rounds, 2, "without block {missing}");
    }
}

/// Rounds in turn at 1000/s, in which the requests of an arm were sent so late, us.
fn run_late(lateness: impl Fn(&str) -> u64, wall_ns: u64, primary: &str) -> Results {
    let (mut random, truths) = (SplitMix64::new(3), truths());
    let mut slices = Vec::new();
    for round in 0..2 * ROUNDS {
        for (arm, us) in &truths {
            let mut slice = slice(round, arm, us * (NOISE * random.normal()).exp());
            let mut times = Times::default();
            for _ in 0..100 {
                times.lateness.record(Nanos::from_micros(lateness(arm)));
                times.response.record(Nanos::from_micros(lateness(arm) + 300));
            }
            (slice.times, slice.counters.wall_ns) = (times.encode(), wall_ns);
            slices.push(slice);
        }
    }
    let design = DesignSetup::default();
    let (rate_per_s, max_lateness_ns) = (Some(1000.0), Some(1_000_000));
    let primary = primary.to_owned();
    results(Setup { rate_per_s, max_lateness_ns, primary, ..setup(design) }, slices)
}

#[test]
fn a_late_generator_takes_times_and_leaves_the_cost_where_all_had_the_load() {
    let alike = |arm: &str| if arm.ends_with('\'') { 3400 } else { 3000 };
    let found = run_late(alike, 1_000_000_000, SUBJECT_CPU);
    let row = primary(&found, "b.2");
    assert_eq!(
        (row.verdict, found.arms["b.2"].invalid.as_deref()),
        (Verdict::Costs, None),
        "{}",
        row.sentence
    );
    let times = found.comparisons.iter().find(|row| row.arm == "b.2" && row.meter == RESPONSE_P50).unwrap();
    assert_eq!(times.verdict, Verdict::Invalid);
    assert!(times.sentence.contains("the generator was late"), "{}", times.sentence);
    // A verdict on times has nothing left to stand on.
    let found = run_late(alike, 1_000_000_000, RESPONSE_P50);
    assert_eq!(primary(&found, "b.2").verdict, Verdict::Invalid);
}

#[test]
fn a_late_generator_takes_the_cost_where_the_rate_was_missed_or_one_arm_was_later() {
    let alike = |arm: &str| if arm.ends_with('\'') { 3400 } else { 3000 };
    let slow = run_late(alike, 1_050_000_000, SUBJECT_CPU);
    assert!(
        primary(&slow, "b.2").sentence.contains("not within 2 % of 1000/s"),
        "{}",
        primary(&slow, "b.2").sentence
    );
    let one = run_late(|arm| if arm == "b.2" { 9000 } else { alike(arm) }, 1_000_000_000, SUBJECT_CPU);
    let row = primary(&one, "b.2");
    assert_eq!(row.verdict, Verdict::Invalid);
    assert!(row.sentence.contains("not for all alike"), "{}", row.sentence);
    assert_eq!(primary(&one, "a.2").verdict, Verdict::Costs, "the others keep theirs");
    let early = run_late(|_| 900, 1_050_000_000, SUBJECT_CPU);
    assert_eq!(primary(&early, "b.2").verdict, Verdict::Costs, "who is in time is not asked for its rate");
}
