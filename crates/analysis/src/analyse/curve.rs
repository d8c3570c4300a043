//! A cost over the load: the machine at each load, and one word for each arm.
//!
//! Pure, cold. The figures themselves are rows of the comparisons; the hypotheses and tests are `stats::curves`'.

use super::decide::differences;
use super::median::median;
use super::series::{Series, Table, primary};
use bakeoff_meter::SliceCounters;
use bakeoff_results::{Comparison, CurveArm, CurveContrast, CurveLoad, CurveResult, LoadSetup, Setup};
use bakeoff_stats::{Amounts, Curve, CurveQuestion, Level, LoadContrast, Trend, curves, per_second};
use std::collections::BTreeSet;

/// `None` if only one load was measured. `rows`: the comparisons.
pub(super) fn result(setup: &Setup, table: &Table, rows: &[Comparison]) -> Option<CurveResult> {
    if !setup.design.is_curve() {
        return None;
    }
    let loads = setup.design.loads.iter().zip(&table.loads).enumerate();
    let loads = loads.map(|(place, (load, series))| machine(setup, load, series, place == table.decide_at));
    Some(CurveResult {
        loads: loads.collect(),
        arms: arms(setup, table, rows).unwrap_or_default(),
        level: Level::ONCE.get(),
    })
}

fn machine(setup: &Setup, load: &LoadSetup, series: &Series, decides: bool) -> CurveLoad {
    let columns = || setup.arms.iter().map(|arm| series.column(arm));
    let busiest = |of: fn(&SliceCounters) -> Option<f64>| {
        let of_arm = columns().filter_map(|column| median(column.counters.iter().filter_map(of).collect()));
        of_arm.reduce(f64::max)
    };
    let cores = setup.environment.subject_cores.len().max(1) as f64;
    // While an arm is loaded: of its requests at the rate, not of the slice, most of which belongs to other arms.
    let per_request = busiest(|c| Some(c.subject_cpu_ns? as f64 / c.requests.max(1) as f64));
    let own = busiest(|c| Some(c.generator_cpu_ns as f64 / c.requests.max(1) as f64));
    let generators = setup.environment.generator_cores.len().max(1) as f64;
    let share = |ns: f64, cores: f64| ns * load.rate_per_s / 1e9 / cores;
    let late = columns().filter(|column| !column.counters.is_empty());
    CurveLoad {
        name: load.name.clone(),
        rate_per_s: load.rate_per_s,
        decides,
        rounds: series.rounds() as u32,
        subject_busy: per_request.map(|ns| share(ns, cores)),
        generator_busy: own.map(|ns| share(ns, generators)),
        steal: busiest(|c| Some(c.host.steal)),
        lateness_p99_ns: late.map(|column| column.merged.lateness.quantile(0.99).get()).max(),
    }
}

/// `None` before there are rounds enough.
fn arms(setup: &Setup, table: &Table, rows: &[Comparison]) -> Option<Vec<CurveArm>> {
    let names: Vec<&str> = setup.judged().collect();
    let common = common_rounds(table);
    let amounts: Vec<Vec<Vec<f64>>> = names
        .iter()
        .map(|arm| table.loads.iter().map(|series| amounts(setup, series, arm, &common)).collect())
        .collect::<Option<_>>()?;
    let main = table.main();
    let starts: Vec<u32> = main
        .numbers()
        .iter()
        .zip(main.starts())
        .filter(|(number, _)| common.contains(number))
        .map(|(_, start)| *start)
        .collect();
    let found = curves(&CurveQuestion {
        arms: &amounts,
        decision: table.decide_at,
        starts: &starts,
        margin: margin(setup, table),
        level: Level::ONCE,
    });
    let found = found.ok()?;
    Some(names.iter().zip(found).map(|(arm, curve)| told(setup, rows, arm, &curve)).collect())
}

/// The rounds in which every load was measured.
fn common_rounds(table: &Table) -> BTreeSet<u32> {
    let of = |series: &Series| series.numbers().iter().copied().collect::<BTreeSet<u32>>();
    let all = table.loads.iter().map(of);
    all.reduce(|both, other| both.intersection(&other).copied().collect()).unwrap_or_default()
}

fn amounts(setup: &Setup, series: &Series, arm: &str, common: &BTreeSet<u32>) -> Option<Vec<f64>> {
    let rounds = differences(series, setup, arm, primary(setup))?;
    let numbered = series.numbers().iter().zip(rounds.amounts);
    Some(numbered.filter(|(number, _)| common.contains(number)).map(|(_, amount)| amount).collect())
}

/// In the unit of the figure.
fn margin(setup: &Setup, table: &Table) -> f64 {
    let of_share = || {
        let figures = table.main().figures(&setup.baseline, primary(setup)).and_then(median);
        setup.margin * figures.unwrap_or(0.0)
    };
    setup.margin_amount.unwrap_or_else(of_share)
}

fn told(setup: &Setup, rows: &[Comparison], arm: &str, curve: &Curve) -> CurveArm {
    let contrast = |of: &LoadContrast| {
        let change = of.change.as_ref();
        CurveContrast {
            load: of.load as u32,
            amount: change.map(|change| change.effect),
            low: change.map(|change| change.interval.low),
            high: change.map(|change| change.interval.high),
            significant: of.significant,
        }
    };
    CurveArm {
        arm: arm.to_owned(),
        trend: curve.trend.as_str().to_owned(),
        sentence: in_words(setup, rows, arm, curve),
        contrasts: curve.contrasts.iter().map(contrast).collect(),
        tolerance: curve.tolerance,
    }
}

/// `grows with the load: +31 us at 490/s, +46 us at 2450/s, +62 us at 4410/s`
fn in_words(setup: &Setup, rows: &[Comparison], arm: &str, curve: &Curve) -> String {
    let unit = primary(setup).unit.as_str();
    let at = |(place, load): (usize, &LoadSetup)| {
        let is_of = |row: &&Comparison| {
            row.arm == arm && row.meter == setup.primary && row.load == Some(place as u32)
        };
        // The decision's row comes first.
        let row = rows.iter().find(is_of)?;
        let amounts =
            Amounts::between(row.amount?, row.amount_low?, row.amount_high?, row.baseline_value, unit);
        Some(format!("{}{} at {}", amounts.signed(row.amount?), amounts.unit(), per_second(load.rate_per_s)))
    };
    let costs: Vec<String> = setup.design.loads.iter().enumerate().filter_map(at).collect();
    let tolerance = Amounts::of_figure(curve.tolerance, unit);
    let within = format!("{}{}", tolerance.plain(curve.tolerance), tolerance.unit());
    let (word, more) = match curve.trend {
        Trend::Flat => ("flat", format!("; no load moves it by {within} or more")),
        Trend::Grows => ("grows with the load", String::new()),
        Trend::Falls => ("falls with the load", String::new()),
        Trend::Changes => ("changes with the load", String::new()),
        Trend::NotResolved => {
            ("not resolved", format!("; whether the load moves it by {within} or more is not known"))
        }
    };
    format!("{word}: {}{more}", costs.join(", "))
}
