//! The rows of `comparisons`: the primary figure with its verdict, the others marked exploratory.

mod also;
mod estimates;
mod exploratory;
mod primary;
mod quantiles;
mod row;
mod words;

use super::decide::Progress;
use super::median::median;
use super::series::{Table, primary as primary_meter};
use bakeoff_meter::{CATALOGUE, Meter};
use bakeoff_results::directory::StoppedBy;
use bakeoff_results::{ArmResult, Comparison, OwnFigure, Setup};
use bakeoff_stats::{Amounts, Cost};
pub(super) use estimates::{alone, over_rounds, rates};
pub(super) use exploratory::per_slice;
use exploratory::{commands_other, exploratory, is_compared, is_of_operations};
use primary::{null_row, primary_row};
pub(super) use quantiles::Quantiles;
pub(super) use row::Of;
use std::collections::BTreeMap;
pub(super) use words::{change, percent, points, range};

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
