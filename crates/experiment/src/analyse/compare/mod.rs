//! The rows of `comparisons`: the primary figure with its verdict, the others marked exploratory.

mod exploratory;
mod primary;
mod quantiles;

use super::arm::median;
use super::invalid;
use super::series::{Series, Table, primary as primary_meter};
use crate::plan::Design;
use crate::results::{ArmResult, Comparison, Setup, second};
use bakeoff_meter::{CATALOGUE, Kind, Meter, Side, Unit};
use bakeoff_stats::{Effect, Interval, Verdict, ratio_of_sums, smallest_detectable};
pub(super) use exploratory::{Of, per_slice};
use exploratory::{commands_other, exploratory, is_compared, is_of_files};
use primary::{null_row, primary_row};
use quantiles::Quantiles;
use std::collections::BTreeMap;

pub(super) fn all(setup: &Setup, table: &Table, arms: &BTreeMap<String, ArmResult>) -> Vec<Comparison> {
    let series = &table.main;
    let of = Of { setup, series, arms };
    let null = |baseline| null_row(setup, series, baseline, primary_meter(setup), arms);
    let mut rows: Vec<Comparison> = setup.baselines().map(null).collect();
    rows.extend(setup.judged().map(|arm| primary_row(setup, table, arm, arms)));
    if setup.workload.kind == "command" {
        rows.extend(commands_other(&of));
        return rows;
    }
    let is_files = setup.workload.kind == "files";
    let wanted = |meter: &&Meter| meter.name != setup.primary && (!is_files || is_of_files(meter));
    let meters: Vec<&Meter> = CATALOGUE.iter().filter(|meter| is_compared(meter)).filter(wanted).collect();
    let quantiles = Quantiles::of(setup, series, &meters);
    for arm in setup.judged().chain(setup.seconds()) {
        rows.extend(meters.iter().filter_map(|meter| exploratory(&of, &quantiles, arm, meter)));
    }
    rows
}

/// Response times say nothing when the generator was the limit.
fn times_invalid(setup: &Setup, series: &Series, arm: &str, meter: &Meter) -> Option<String> {
    let of_times =
        meter.kind == Kind::Histogram || matches!(meter.unit, Unit::PerSecond | Unit::BytesPerSecond);
    if setup.design.design == Design::Duet && (of_times || meter.side != Side::Subject) {
        return Some("not comparable: in a duet the arms share the machine".to_owned());
    }
    of_times.then(|| invalid::generator_limited(setup, series, arm))?
}

fn blank(setup: &Setup, series: &Series, arm: &str, meter: &Meter, rounds: usize) -> Comparison {
    let middle = |names: &[String]| {
        let figures = names.iter().filter_map(|name| series.figures(name, meter));
        median(
            figures
                .flat_map(|mut f| {
                    f.truncate(rounds);
                    f
                })
                .collect(),
        )
        .unwrap_or(0.0)
    };
    let baseline = setup.baseline_of(arm);
    let mut reference = vec![baseline.to_owned()];
    if !setup.is_second(arm) {
        reference.push(second(baseline));
    }
    Comparison {
        arm: arm.to_owned(),
        baseline: baseline.to_owned(),
        meter: meter.name.to_owned(),
        primary: false,
        unit: meter.unit.as_str().to_owned(),
        value: middle(&[arm.to_owned()]),
        baseline_value: middle(&reference),
        effect: None,
        low: None,
        high: None,
        level: setup.level,
        rounds: rounds as u32,
        verdict: Verdict::NotResolved,
        sentence: String::new(),
        paired_sd: None,
        times_noise: None,
        smallest_detectable: None,
        ratio_of_sums: None,
        heavy_tails: false,
        levels: None,
        confirmed: false,
        differences: Vec::new(),
    }
}

fn fill(row: &mut Comparison, found: Option<&Effect>) {
    let Some(e) = found else { return };
    (row.effect, row.low, row.high) = (Some(e.effect), Some(e.interval.low), Some(e.interval.high));
    row.paired_sd = Some(e.paired_sd);
    row.times_noise = Some(e.times_the_noise()).filter(|noise| noise.is_finite());
    row.smallest_detectable = Some(smallest_detectable(e.paired_sd, e.n));
    row.heavy_tails = e.heavy_tails;
}

fn sums(setup: &Setup, series: &Series, arm: &str, meter: &Meter, rounds: usize) -> Option<f64> {
    let first = |name: &str| {
        series.figures(name, meter).map(|mut figures| {
            figures.truncate(rounds);
            figures
        })
    };
    let baseline = setup.baseline_of(arm);
    let a = first(baseline)?;
    let other = if setup.is_second(arm) { a.clone() } else { first(&second(baseline))? };
    ratio_of_sums(&first(arm)?, &a, &other)
}

pub(super) fn percent(fraction: f64) -> String {
    format!("{} %", points(fraction))
}

pub(super) fn points(fraction: f64) -> String {
    let x = fraction * 100.0;
    if x.abs() >= 9.95 { format!("{x:+.0}") } else { format!("{x:+.2}") }
}

pub(super) fn range(interval: &Interval) -> String {
    format!("{}..{} %", points(interval.low), points(interval.high))
}
