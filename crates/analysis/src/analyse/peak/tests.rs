//! Stored trials of servers whose highest rate is known.

use super::*;
use crate::analyse::analyse;
use bakeoff_meter::{Recorder, ReplyTimes};
use bakeoff_results::directory::StoppedBy;
use bakeoff_results::{Environment, InFlight, PeakStart, Setup, TrialLateness};
use bakeoff_stats::knee::SearchStep;

const ARMS: [(&str, f64); 2] = [("plain", 5000.0), ("tls", 4000.0)];

fn setup() -> Setup {
    let start = PeakStart { guess_per_s: 6000.0, lowest_per_s: 300.0, ..PeakStart::default() };
    let peak = PeakSetup {
        quantile: 0.99,
        slo_ns: 50_000_000,
        replies: 0.995,
        errors: 0.001,
        precision: 0.03,
        shortest_ns: 3_000_000_000,
        longest_ns: 24_000_000_000,
        confirm_ns: 60_000_000_000,
        curve_ns: 3_000_000_000,
        trials: 60,
        budget_ns: 900_000_000_000,
        arms: ARMS.iter().map(|(arm, _)| ((*arm).to_owned(), start.clone())).collect(),
        ..PeakSetup::default()
    };
    Setup {
        baseline: "plain".to_owned(),
        arms: ARMS.iter().map(|(arm, _)| (*arm).to_owned()).collect(),
        peak: Some(peak),
        seed: 3,
        ..Setup::default()
    }
}

/// A server that answers in 2 ms up to its knee and in 200 ms above.
fn record(number: u32, arm: &str, knee: f64, trial: &Trial) -> TrialRecord {
    let mut recorder = Recorder::new();
    let done = Nanos::from_millis(if trial.rate.get() <= knee { 2 } else { 200 });
    for _ in 0..400 {
        let (due, sent) = (Nanos::ZERO, Nanos::ZERO);
        recorder.reply(200, 700, ReplyTimes { due, sent, first_byte: done, done });
    }
    let (times, mut counters) = recorder.finish();
    counters.subject_cpu_ns = Some(400 * 180_000);
    TrialRecord {
        number,
        arm: arm.to_owned(),
        purpose: trial.purpose.as_str().to_owned(),
        rate_per_s: trial.rate.get(),
        time_ns: trial.time.get(),
        started_ns: u64::from(number) * 1_000_000_000,
        took_ns: trial.time.get(),
        counters,
        times: times.encode(),
        in_flight: InFlight { every_ns: 10_000_000, seen: vec![10; 300] },
        own_lateness: None,
    }
}

/// The same trial, disturbed: 1 request of 20 was sent 9 ms late, and in 290 of 300 intervals other processes had the
/// core.
fn disturbed(mut record: TrialRecord) -> TrialRecord {
    let mut times = record.times.decode().unwrap();
    (0..400).for_each(|i| times.lateness.record(Nanos::from_millis(if i % 20 == 0 { 9 } else { 0 })));
    record.times = times.encode();
    record.counters.generator_busy = 0.3;
    record.own_lateness = Some(TrialLateness { p99_ns: 20_000, intervals: 300, excluded: 290 });
    record
}

/// A whole run, arms in turn.
fn stored() -> StoredExperiment {
    run(setup(), |record| record)
}

/// The same, with changes to its trials.
fn run(setup: Setup, happens: impl Fn(TrialRecord) -> TrialRecord) -> StoredExperiment {
    let mut stored = StoredExperiment {
        plan: String::new(),
        setup,
        slices: vec![],
        trials: vec![],
        stopped_by: StoppedBy::Verdicts,
        digests: Default::default(),
    };
    let peak = stored.setup.peak.clone().unwrap();
    let mut searches = searches(&stored, &peak).unwrap();
    loop {
        let before = stored.trials.len();
        for (one, (arm, knee)) in searches.iter_mut().zip(ARMS) {
            if let SearchStep::Trial(trial) = one.search.next() {
                let record = happens(record(stored.trials.len() as u32, arm, knee, &trial));
                one.take(&peak, &record).unwrap();
                stored.trials.push(record);
            }
        }
        if stored.trials.len() == before {
            return stored;
        }
    }
}

#[test]
fn both_rates_and_their_ratio_are_found() {
    let stored = stored();
    let results = analyse(&stored).unwrap();
    let peak = results.peak.unwrap();
    for (arm, knee) in ARMS {
        let found = &peak.arms[arm];
        assert!((found.rate_per_s.unwrap() / knee - 1.0).abs() < 0.03, "{found:?}");
        assert_eq!((found.finding.as_str(), found.confirmed.as_str()), ("peak", "passed"));
        assert_eq!(found.binding.as_deref(), Some("latency"));
        assert!(found.sentence.starts_with("sustains "), "{}", found.sentence);
        assert_eq!(found.trials.iter().filter(|trial| trial.purpose == "curve").count(), 10);
        let trial = &found.trials[0];
        assert_eq!(
            (trial.due, trial.cpu_per_request_ns, trial.in_flight),
            (400, Some(180_000.0), Some(10.0))
        );
        assert_eq!((trial.growth_low, trial.growth_high), (Some(0.0), Some(0.0)));
    }
    let ratio = &peak.ratios["tls"];
    assert!((ratio.estimate.effect + 0.2).abs() < 0.03, "{ratio:?}");
    assert!(ratio.sentence.contains("less than plain"), "{}", ratio.sentence);
    assert_eq!(results.workload.requests, 400 * stored.trials.len() as u64);
    assert!(results.comparisons.is_empty() && peak.ratios.len() == 1);
}

fn two_cores() -> Setup {
    Setup { environment: Environment { disjoint: true, ..Environment::default() }, ..setup() }
}

#[test]
fn a_busy_machine_ends_the_search_and_claims_no_rate() {
    let stored = run(two_cores(), disturbed);
    assert_eq!(stored.trials.len(), 12, "six trials of each arm");
    let results = analyse(&stored).unwrap();
    let plain = &results.peak.unwrap().arms["plain"];
    assert_eq!(
        (plain.finding.as_str(), plain.rate_per_s, plain.limit.as_deref()),
        (NOT_MEASURED, None, None)
    );
    assert!(plain.sentence.contains("the machine is too busy"), "{}", plain.sentence);
    assert!(plain.trials.iter().all(|trial| trial.verdict == "void" && trial.reasons == ["machine-busy"]));
    let warning = results.warnings.iter().find(|warning| warning.label == "machine-busy").unwrap();
    assert!(warning.sentence.starts_with("in 12 of 12 trials"), "{}", warning.sentence);
}

#[test]
fn a_busy_moment_costs_trials_only() {
    let stored = run(two_cores(), |record| if record.number % 7 == 3 { disturbed(record) } else { record });
    let peak = analyse(&stored).unwrap().peak.unwrap();
    for (arm, knee) in ARMS {
        let found = &peak.arms[arm];
        assert!((found.rate_per_s.unwrap() / knee - 1.0).abs() < 0.03, "{found:?}");
    }
}

#[test]
fn lateness_is_the_generators_own_where_nothing_says_otherwise() {
    type Change = fn(&mut TrialRecord);
    let changes: [(&str, bool, Change); 7] = [
        ("machine-busy", true, |_| {}),
        ("generator-late", false, |_| {}), // the arm runs on its core
        ("generator-late", true, |record| record.own_lateness = None),
        ("generator-late", true, |record| record.own_lateness.as_mut().unwrap().excluded = 0),
        ("generator-late", true, |record| record.own_lateness.as_mut().unwrap().p99_ns = 9_000_000),
        ("generator-late", true, |record| record.counters.generator_busy = 0.61),
        ("machine-busy", true, |record| {
            (record.own_lateness, record.counters.host.steal) = (None, 0.06);
        }),
    ];
    for (place, (reason, disjoint, change)) in changes.into_iter().enumerate() {
        let environment = Environment { disjoint, ..Environment::default() };
        let stored = run(Setup { environment, ..setup() }, |record| {
            let mut record = disturbed(record);
            change(&mut record);
            record
        });
        let peak = analyse(&stored).unwrap().peak.unwrap();
        assert_eq!(peak.arms["plain"].trials[0].reasons, [reason], "{place}");
    }
}

#[test]
fn a_run_that_was_cut_short_says_what_it_knows() {
    let mut stored = stored();
    stored.trials.truncate(2);
    let peak = analyse(&stored).unwrap().peak.unwrap();
    let plain = &peak.arms["plain"];
    assert_eq!((plain.finding.as_str(), plain.limit.as_deref()), ("at-least", Some("time")));
    stored.trials.clear();
    let peak = analyse(&stored).unwrap().peak.unwrap();
    assert_eq!(peak.arms["tls"].finding, "not-measured");
    assert_eq!(peak.arms["tls"].sentence, "nothing was measured");
}

#[test]
fn a_damaged_trial_is_named() {
    let mut stored = stored();
    stored.trials[3].times.response = "nonsense".to_owned();
    let error = analyse(&stored).unwrap_err().to_string();
    assert!(error.starts_with("trials.jsonl: trial 3, arm tls: "), "{error}");
    stored.trials[3].purpose = "guess".to_owned();
    let error = analyse(&stored).unwrap_err().to_string();
    assert!(error.contains("`guess` at "), "{error}");
}
