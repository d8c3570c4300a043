//! Results by population for each arm.
//!
//! Pure, cold. Each is looked at as if it had been alone; verdicts stand on all together.

use super::compare::{self, Of, Quantiles, exploratory_rows};
use super::invalid::spoiled_by;
use super::median::median;
use super::series::{Column, Table};
use bakeoff_meter::catalogue::{self, RESPONSE_P50};
use bakeoff_meter::{Meter, SliceCounters};
use bakeoff_results::{ArmResult, PopulationFigures, PopulationResult, PopulationSetup, Setup};
use std::collections::BTreeMap;

/// Meters compared for each population.
const COMPARED: [&str; 5] = ["replies_per_second", "refused", "errors", RESPONSE_P50, "response_p99"];
/// Rates shown for each population.
const SHOWN: [&str; 3] = ["replies_per_second", "bytes_per_second", "refused_per_second"];

/// In the order of the plan.
pub(super) fn all(setup: &Setup, table: &Table, arms: &BTreeMap<String, ArmResult>) -> Vec<PopulationResult> {
    let result = |of_plan: &(PopulationSetup, Table)| {
        let (known, alone) = of_plan;
        let of = Of { setup, table: alone, series: alone.main(), arms };
        let meters: Vec<&Meter> = COMPARED.into_iter().filter_map(catalogue::find).collect();
        let quantiles = Quantiles::of(setup, of.series, &meters);
        let rows = |arm| exploratory_rows(&of, &quantiles, &meters, arm);
        let figures_of = |arm: &String| {
            let invalid = spoiled_by(of_plan, &table.populations, arm);
            let shown = SHOWN.into_iter().filter_map(catalogue::find);
            let estimates = compare::alone(of.series, arm, shown);
            (arm.clone(), PopulationFigures { invalid, estimates, ..figures(of.series.column(arm)) })
        };
        PopulationResult {
            population: known.population.clone(),
            load: known.load.clone(),
            max_lateness_ns: known.max_lateness_ns,
            comparisons: setup.judged().chain(setup.seconds()).flat_map(rows).collect(),
            arms: setup.arms.iter().map(figures_of).collect(),
        }
    };
    table.populations.iter().map(result).collect()
}

fn figures(column: &Column) -> PopulationFigures {
    let SliceCounters { requests, replies, cut, errors, refused, .. } = SliceCounters::sum(&column.counters);
    let ended = requests - cut;
    let of = |meter: &Meter| median(column.counters.iter().filter_map(meter.of_slice).collect());
    let meters = SHOWN.into_iter().filter_map(catalogue::find);
    PopulationFigures {
        requests,
        replies,
        cut,
        served: (ended > 0).then(|| replies as f64 / ended as f64),
        errors,
        refused,
        response_ns: column.merged.response.quantiles(),
        response_mean_ns: column.merged.response.mean_ns(),
        lateness_ns: column.merged.lateness.quantiles(),
        invalid: None,
        meters: meters.filter_map(|meter| Some((meter.name.to_owned(), of(meter)?))).collect(),
        estimates: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::invalid::wrong_populations;
    use crate::analyse::series::Depth;
    use bakeoff_meter::{ErrorClass, Recorder, ReplyTimes};
    use bakeoff_results::{PopulationRecord, SliceRecord, WorkloadSetup};
    use bakeoff_units::Nanos;

    /// A round in which `few` had this number of failures and was sent this late, and `many` used ten times the CPU.
    fn table(setup: &Setup, failures: u64, late: Nanos) -> Table {
        let record = |failures, late: Nanos, generator_cpu_ns| {
            let mut recorder = Recorder::new();
            for _ in 0..1000 - failures {
                let (sent, done) = (Nanos::ZERO, Nanos::from_millis(2));
                recorder.reply(200, 100, ReplyTimes { due: sent, sent, first_byte: done, done });
                recorder.times.lateness.record(late);
            }
            (0..failures).for_each(|_| recorder.error(ErrorClass::Reset));
            let (times, counters) = recorder.finish();
            let requests = counters.requests + 10;
            let counters =
                SliceCounters { requests, cut: 10, generator_cpu_ns, wall_ns: 1_000_000_000, ..counters };
            PopulationRecord { counters, times: times.encode() }
        };
        let populations = BTreeMap::from([
            ("few".to_owned(), record(failures, late, 1_000_000)),
            ("many".to_owned(), record(0, Nanos::ZERO, 9_000_000)),
        ]);
        let slices: Vec<SliceRecord> = setup.arms.iter().map(|arm| slice(arm, populations.clone())).collect();
        Table::read(setup, &slices, Depth::Histograms).unwrap()
    }

    fn slice(arm: &str, populations: BTreeMap<String, PopulationRecord>) -> SliceRecord {
        let PopulationRecord { counters, times } = populations["many"].clone();
        SliceRecord {
            arm: arm.to_owned(),
            ended_ns: 1,
            counters,
            times,
            populations,
            ..SliceRecord::default()
        }
    }

    fn setup() -> Setup {
        let of = |population: &str, max_lateness_ns| PopulationSetup {
            population: population.to_owned(),
            max_errors: 0.01,
            max_lateness_ns,
            ..PopulationSetup::default()
        };
        Setup {
            arms: ["a", "a'", "b"].map(str::to_owned).to_vec(),
            baseline: "a".to_owned(),
            workload: WorkloadSetup {
                populations: vec![of("few", Some(1_000_000)), of("many", None)],
                ..WorkloadSetup::default()
            },
            ..Setup::default()
        }
    }

    #[test]
    fn a_population_that_waited_for_the_generator_is_named_with_the_one_that_had_it() {
        let setup = setup();
        let wrong = |failures, late| wrong_populations(&table(&setup, failures, late).populations, "b");
        assert_eq!(wrong(10, Nanos::from_micros(900)), None);
        let starved = wrong(0, Nanos::from_millis(3)).unwrap();
        for words in ["the population few was starved", "(bound 1 ms)", "90 % of the generator's CPU", "many"]
        {
            assert!(starved.contains(words), "{starved}");
        }
        let table = table(&setup, 0, Nanos::from_millis(3));
        let results = all(&setup, &table, &BTreeMap::new());
        let [few, many] = [0, 1].map(|index| &results[index]);
        assert_eq!((few.max_lateness_ns, many.max_lateness_ns), (Some(1_000_000), None));
        assert_eq!(few.arms["b"].invalid.as_ref(), Some(&starved), "the one is named, the other is not");
        assert_eq!(many.arms["b"].invalid, None);
        assert!(few.arms["b"].lateness_ns.p99 >= 2_900_000 && many.arms["b"].lateness_ns.p99 == 0);
        let failed = wrong(11, Nanos::ZERO).unwrap();
        assert!(
            failed.starts_with("the population few: 1.09 % of its requests failed, most by reset"),
            "{failed}"
        );
    }

    #[test]
    fn each_is_told_as_if_nobody_else_had_asked() {
        let setup = setup();
        let table = table(&setup, 99, Nanos::ZERO);
        let [few, many] = [0, 1].map(|index| figures(table.populations[index].1.main().column("b")));
        let of_one_round = all(&setup, &table, &BTreeMap::new());
        assert!(of_one_round.iter().all(|of| of.arms["b"].estimates.is_empty()), "it has no interval");
        assert_eq!((few.requests, few.replies, few.errors["reset"]), (1010, 901, 99));
        assert_eq!((few.served, many.served), (Some(0.901), Some(1.0)));
        assert!((few.response_mean_ns - 2e6).abs() < 2e4, "{}", few.response_mean_ns);
        assert_eq!(many.meters["replies_per_second"], 1000.0);
    }
}
