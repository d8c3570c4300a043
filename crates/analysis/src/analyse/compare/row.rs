//! Form that all rows share: the rounds behind a row, its plain figures and its cost.
//!
//! Measuring side, cold, pure.

use super::super::median::median;
use super::super::series::{Series, Table};
use super::super::{invalid, lateness};
use bakeoff_meter::{Meter, catalogue};
use bakeoff_results::{ArmResult, Comparison, Setup, second};
use bakeoff_stats::{Cost, Effect, Rounds, Verdict, per_second, ratio_of_sums, smallest_detectable};
use std::collections::BTreeMap;

/// Name of the load of robots that ask as fast as they are answered, in plans with other loads.
pub(super) const FULL_SPEED: &str = "full speed";

/// Input of the rows.
#[derive(Clone, Copy)]
pub(in super::super) struct Of<'a> {
    pub(in super::super) setup: &'a Setup,
    pub(in super::super) table: &'a Table,
    /// The rounds in use.
    pub(in super::super) series: &'a Series,
    pub(in super::super) arms: &'a BTreeMap<String, ArmResult>,
}

impl Of<'_> {
    /// The rounds in which this figure holds.
    pub(super) fn valid_for(self, meter: &Meter) -> Self {
        Self { series: self.table.valid_for(meter), ..self }
    }
}

/// Reason why response times say nothing: the generator was the limit.
pub(super) fn times_invalid(of: &Of<'_>, arm: &str, meter: &Meter) -> Option<String> {
    lateness::is_of_times(meter).then(|| invalid::generator_limited(of.setup, of.series, arm, meter))?
}

pub(super) fn blank(of: &Of<'_>, arm: &str, meter: &Meter, rounds: usize) -> Comparison {
    let Of { setup, series, .. } = *of;
    let middle = |names: &[String]| {
        let figures = names.iter().filter_map(|name| series.figures_beside(arm, name, meter));
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
        design: series.design,
        load: series.load,
        at: load_in_words(of, arm),
        unit: meter.unit.as_str().to_owned(),
        value: middle(&[arm.to_owned()]),
        baseline_value: middle(&reference),
        effect: None,
        low: None,
        high: None,
        amount: None,
        amount_low: None,
        amount_high: None,
        cores: None,
        level: setup.level,
        rounds: rounds as u32,
        verdict: Verdict::NotResolved,
        sentence: String::new(),
        also: Vec::new(),
        beside: String::new(),
        paired_sd: None,
        times_noise: None,
        smallest_detectable: None,
        ratio_of_sums: None,
        heavy_tails: false,
        levels: None,
        contradiction: None,
        depends_on_load: None,
        differences: Vec::new(),
        amounts: Vec::new(),
    }
}

/// The load of these rounds in words: a set rate, full speed beside others, or the rate the baseline reached.
fn load_in_words(of: &Of<'_>, arm: &str) -> String {
    let Of { setup, series, .. } = *of;
    let loads = &setup.design.loads;
    if let Some(load) = series.load.and_then(|load| loads.get(load as usize)) {
        return per_second(load.rate_per_s);
    }
    if !loads.is_empty() {
        return FULL_SPEED.to_owned();
    }
    if setup.workload.kind == "command" || setup.workload.makes_operations() {
        return String::new();
    }
    let rates = catalogue::find("replies_per_second")
        .and_then(|meter| series.figures(setup.baseline_of(arm), meter))
        .and_then(median);
    rates.map_or_else(String::new, per_second)
}

/// Both scales, and the rounds they come from.
pub(super) fn fill_cost(row: &mut Comparison, cost: Option<&Cost>, rounds: Rounds) {
    fill(row, cost.map(|cost| &cost.share));
    if let Some(Cost { amount, .. }) = cost {
        (row.amount, row.amount_low, row.amount_high) =
            (Some(amount.effect), Some(amount.interval.low), Some(amount.interval.high));
    }
    (row.differences, row.amounts) = (rounds.ratios, rounds.amounts);
}

pub(super) fn fill(row: &mut Comparison, found: Option<&Effect>) {
    let Some(e) = found else { return };
    (row.effect, row.low, row.high) = (Some(e.effect), Some(e.interval.low), Some(e.interval.high));
    row.paired_sd = Some(e.paired_sd);
    row.times_noise = Some(e.times_the_noise()).filter(|noise| noise.is_finite());
    row.smallest_detectable = Some(smallest_detectable(e.paired_sd, e.n));
    row.heavy_tails = e.heavy_tails;
}

pub(super) fn sums(of: &Of<'_>, arm: &str, meter: &Meter, rounds: usize) -> Option<f64> {
    let Of { setup, series, .. } = *of;
    let first = |name: &str| {
        series.figures_beside(arm, name, meter).map(|mut figures| {
            figures.truncate(rounds);
            figures
        })
    };
    let baseline = setup.baseline_of(arm);
    let a = first(baseline)?;
    let other = if setup.is_second(arm) { a.clone() } else { first(&second(baseline))? };
    ratio_of_sums(&first(arm)?, &a, &other)
}
