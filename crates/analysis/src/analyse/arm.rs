//! Sums and distributions of each arm.

use super::median::median;
use super::series::{Column, Series, Table, primary};
use super::{bound, handshakes, invalid, layer, steady};
use bakeoff_meter::{CATALOGUE, SliceCounters, catalogue};
use bakeoff_results::{ArmResult, FullSpeed, Setup, SliceRecord, WebstoneFigures};
use std::collections::BTreeMap;

pub(super) fn results(setup: &Setup, table: &Table, slices: &[SliceRecord]) -> BTreeMap<String, ArmResult> {
    let off = layer::off(setup, slices);
    let result = |arm: &String| {
        let mut result = result(setup, table, &off, arm);
        result.violations = layer::violations(setup, table, arm);
        result.proof = layer::proof(setup, slices, arm);
        result.steady = steady::result(setup, table.main(), arm);
        (arm.clone(), result)
    };
    setup.arms.iter().map(result).collect()
}

fn result(setup: &Setup, table: &Table, off: &BTreeMap<String, String>, arm: &str) -> ArmResult {
    let series = table.main();
    let column = series.column(arm);
    let all = SliceCounters::sum(table.all().flat_map(|series| &series.column(arm).counters));
    let mut sum = ArmResult {
        requests: all.requests,
        replies: all.replies,
        errors: all.errors,
        refused: all.refused,
        bytes: all.bytes,
        heads: all.heads,
        statuses: all.statuses,
        subject: setup.subjects.get(arm).cloned().unwrap_or_default(),
        invalid: invalid::reason(setup, table, off, arm),
        rates_invalid: invalid::reason_of_rates(setup, table, off, arm),
        deviation: series.figures(arm, primary(setup)).and_then(|figures| coefficient_of_variation(&figures)),
        full: bound::of(&column.counters),
        handshakes: handshakes::sum(&column.counters),
        meters: meters(table, arm),
        webstone: (setup.workload.kind == "webstone").then(|| webstone(setup, column)).flatten(),
        ..ArmResult::default()
    };
    quantiles(&mut sum, table.timed().column(arm));
    sum.full_speed = full_speed(&table.full_speed, arm);
    sum
}

fn full_speed(series: &Series, arm: &str) -> Option<FullSpeed> {
    let rates = series.figures(arm, catalogue::find("replies_per_second")?)?;
    let response_ns = series.column(arm).merged.response.quantiles();
    Some(FullSpeed { replies_per_second: median(rates)?, response_ns })
}

fn quantiles(sum: &mut ArmResult, column: &Column) {
    sum.response_ns = column.merged.response.quantiles();
    sum.service_ns = column.merged.service.quantiles();
    sum.first_byte_ns = column.merged.first_byte.quantiles();
    sum.connect_ns = column.merged.connect.quantiles();
    sum.handshake_ns = column.merged.handshake.quantiles();
    sum.lateness_ns = column.merged.lateness.quantiles();
}

/// WebStone 2.5's metrics, as its glossary defines them.
fn webstone(setup: &Setup, column: &Column) -> Option<WebstoneFigures> {
    let sum = |pick: fn(&SliceCounters) -> u64| column.counters.iter().map(pick).sum::<u64>() as f64;
    let seconds = sum(|c| c.wall_ns) / 1e9;
    if seconds == 0.0 {
        return None;
    }
    let rate = sum(|c| c.replies) / seconds;
    let mean_ns = column.merged.response.mean_ns();
    Some(WebstoneFigures {
        clients: setup.workload.robots?,
        connections_per_second: rate,
        throughput_mbit_per_second: sum(|c| c.bytes) * 8.0 / 1e6 / seconds,
        response_mean_ns: mean_ns,
        load_factor: rate * mean_ns / 1e9,
    })
}

/// Medians over the rounds in which the figure holds; quantiles of merged histograms where enough replies stand
/// behind them.
fn meters(table: &Table, arm: &str) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for meter in CATALOGUE {
        let column = table.valid_for(meter).column(arm);
        let value = match meter.quantile {
            Some(q) => {
                let (merged, _) = column.histogram(meter);
                enough(merged.count(), q).then(|| merged.quantile(q).get() as f64)
            }
            None => median(column.counters.iter().filter_map(meter.of_slice).collect()),
        };
        if let Some(value) = value {
            values.insert(meter.name.to_owned(), value);
        }
    }
    values
}

/// A quantile needs 50 replies beyond it.
pub(super) fn enough(count: u64, q: f64) -> bool {
    count as f64 >= 50.0 / (1.0 - q)
}

fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviation_of_known_samples() {
        let cv = coefficient_of_variation(&[8.0, 12.0]).unwrap();
        assert!((cv - 8.0_f64.sqrt() / 10.0).abs() < 1e-12);
        assert!(enough(5_000, 0.99) && !enough(4_999, 0.99));
    }
}
