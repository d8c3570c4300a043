//! The rows of `comparisons`: the primary figure with its verdict, the others marked exploratory.

mod estimates;
mod exploratory;
mod primary;
mod quantiles;

use super::arm::median;
use super::decide::Progress;
use super::invalid;
use super::series::{Table, primary as primary_meter};
use bakeoff_meter::{Aggregation, CATALOGUE, Meter, catalogue};
use bakeoff_results::directory::StoppedBy;
use bakeoff_results::{ArmResult, Comparison, OwnFigure, Setup, second};
use bakeoff_stats::{
    Amounts, Cost, Effect, InWords, Interval, Rounds, Verdict, change_in_words, per_second, ratio_of_sums,
    smallest_detectable,
};
pub(super) use exploratory::{Of, per_slice};
use exploratory::{commands_other, exploratory, is_compared, is_of_operations};
use primary::{null_row, primary_row};
pub(super) use quantiles::Quantiles;
use std::collections::BTreeMap;

/// Name of the load of robots that ask as fast as they are answered, in plans with other loads.
pub(crate) const FULL_SPEED: &str = "full speed";

/// By arm, then by meter.
pub(super) type Estimates = BTreeMap<String, BTreeMap<String, OwnFigure>>;

pub(super) fn all(
    setup: &Setup,
    table: &Table,
    arms: &BTreeMap<String, ArmResult>,
    stopped_by: StoppedBy,
) -> (Vec<Comparison>, Estimates) {
    let of = Of { setup, table, series: table.main(), arms };
    let null = |baseline| null_row(&of, baseline, primary_meter(setup));
    let mut rows: Vec<Comparison> = setup.baselines().map(null).collect();
    rows.extend(setup.judged().map(|arm| primary_row(&of, arm, Progress::of(stopped_by))));
    if setup.workload.kind == "command" {
        rows.extend(commands_other(&of));
        return (rows, estimates_of_all(&of, None));
    }
    let operations = setup.workload.makes_operations();
    let wanted = |meter: &&Meter| meter.name != setup.primary && (!operations || is_of_operations(meter));
    let meters: Vec<&Meter> = CATALOGUE.iter().filter(|meter| is_compared(meter)).filter(wanted).collect();
    let quantiles = Quantiles::of(setup, table.timed(), &meters);
    for arm in setup.judged().chain(setup.seconds()) {
        rows.extend(exploratory_rows(&of, &quantiles, &meters, arm));
        let others = table.all().filter(|series| !std::ptr::eq(*series, table.main()));
        rows.extend(others.filter_map(|series| per_slice(&Of { series, ..of }, arm, primary_meter(setup))));
    }
    (rows, estimates_of_all(&of, Some(&quantiles)))
}

/// By arm, without the second processes of baselines.
fn estimates_of_all(of: &Of<'_>, quantiles: Option<&Quantiles>) -> Estimates {
    let arms = of.setup.judged().chain(of.setup.baselines());
    arms.map(|arm| (arm.to_owned(), estimates::estimates(of, quantiles, arm))).collect()
}

/// Rows of an arm in these meters, each from the rounds in which it holds.
pub(super) fn exploratory_rows(
    of: &Of<'_>,
    quantiles: &Quantiles,
    meters: &[&Meter],
    arm: &str,
) -> Vec<Comparison> {
    meters.iter().filter_map(|meter| exploratory(&of.valid_for(meter), quantiles, arm, meter)).collect()
}

/// Reason why response times say nothing: the generator was the limit.
fn times_invalid(of: &Of<'_>, arm: &str, meter: &Meter) -> Option<String> {
    let of_times = meter.kind == Aggregation::Histogram || meter.is_speed();
    of_times.then(|| invalid::generator_limited(of.setup, of.series, arm))?
}

fn blank(of: &Of<'_>, arm: &str, meter: &Meter, rounds: usize) -> Comparison {
    let Of { setup, series, .. } = *of;
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
fn fill_cost(row: &mut Comparison, cost: Option<&Cost>, rounds: Rounds) {
    fill(row, cost.map(|cost| &cost.share));
    if let Some(Cost { amount, .. }) = cost {
        (row.amount, row.amount_low, row.amount_high) =
            (Some(amount.effect), Some(amount.interval.low), Some(amount.interval.high));
    }
    (row.differences, row.amounts) = (rounds.ratios, rounds.amounts);
}

fn fill(row: &mut Comparison, found: Option<&Effect>) {
    let Some(e) = found else { return };
    (row.effect, row.low, row.high) = (Some(e.effect), Some(e.interval.low), Some(e.interval.high));
    row.paired_sd = Some(e.paired_sd);
    row.times_noise = Some(e.times_the_noise()).filter(|noise| noise.is_finite());
    row.smallest_detectable = Some(smallest_detectable(e.paired_sd, e.n));
    row.heavy_tails = e.heavy_tails;
}

fn sums(of: &Of<'_>, arm: &str, meter: &Meter, rounds: usize) -> Option<f64> {
    let Of { setup, series, .. } = *of;
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

/// `+2.6 us (+2.3..+2.9)`
pub(super) fn so_far(setup: &Setup, table: &Table, arm: &str, cost: &Cost) -> String {
    let meter = primary_meter(setup);
    let of = table.main().figures(setup.baseline_of(arm), meter).and_then(median).unwrap_or(0.0);
    let amounts = Amounts::of(&cost.amount, of, meter.unit.as_str());
    format!(
        "{}{} ({})",
        amounts.signed(cost.amount.effect),
        amounts.unit(),
        amounts.range(cost.amount.interval.low, cost.amount.interval.high)
    )
}

/// OwnFigure and interval in one form for their size.
pub(super) fn change(e: &Effect) -> InWords {
    change_in_words(e.effect, e.interval.low, e.interval.high)
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
