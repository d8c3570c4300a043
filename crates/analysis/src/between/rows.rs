//! Rows of a comparison of two runs: the cost of each arm in either run, and its plain figures.

use super::result::{Changed, ComparisonRow};
use super::{BetweenError, Runs};
use crate::analyse::Figures;
use bakeoff_meter::catalogue::{self, OPERATION_TIME};
use bakeoff_meter::{Meter, Unit};
use bakeoff_results::{Comparison, OperationResult, Results};
use bakeoff_stats::{
    Estimate, Interval, Level, RunRounds, Scale, Unpaired, Verdict, change_of_effect, change_of_figure,
    change_of_quantile,
};

/// Rows of all that a slice does, then, unless other meters were asked for, of each kind of operation by itself.
pub(super) fn all(
    runs: &Runs<'_>,
    arms: &[String],
    meters: &[&Meter],
    by_operation: bool,
) -> Result<Vec<ComparisonRow>, BetweenError> {
    let (old, new) = (Figures::read(runs.old)?, Figures::read(runs.new)?);
    let cells = meters.iter().flat_map(|meter| arms.iter().map(move |arm| (arm, meter)));
    let mut rows: Vec<ComparisonRow> =
        cells.map(|(arm, meter)| row(runs, (&old, &new), arm, meter)).collect();
    let Some(time) = catalogue::find(OPERATION_TIME).filter(|_| by_operation) else { return Ok(rows) };
    for (theirs, ours) in operations(runs) {
        let (old, new) = (old.alone(&theirs.operation), new.alone(&theirs.operation));
        let figure = |arm: &String| ComparisonRow {
            operation: Some(ours.operation.clone()),
            cost: None,
            amount: None,
            ..row(runs, (&old, &new), arm, time)
        };
        rows.extend(arms.iter().map(figure));
    }
    Ok(rows)
}

/// The kinds of operations that both runs did.
fn operations<'r>(runs: &'r Runs<'_>) -> impl Iterator<Item = (&'r OperationResult, &'r OperationResult)> {
    let theirs = |ours: &&OperationResult| {
        runs.old_results.operations.iter().find(|theirs| theirs.operation == ours.operation)
    };
    runs.new_results.operations.iter().filter_map(move |ours| Some((theirs(&ours)?, ours)))
}

fn row(runs: &Runs<'_>, (old, new): (&Figures, &Figures), arm: &str, meter: &Meter) -> ComparisonRow {
    let (theirs, ours) = (find(&runs.old_results, arm, meter.name), find(&runs.new_results, arm, meter.name));
    let figure = old.of(arm, meter).zip(new.of(arm, meter)).and_then(|(then, now)| {
        let then = RunRounds { values: &then, starts: old.starts_for(meter) };
        let now = RunRounds { values: &now, starts: new.starts_for(meter) };
        change_of_figure(then, now, Level::ONCE)
    });
    let both = theirs.zip(ours);
    let of_one_load = both.filter(|(theirs, ours)| theirs.design == ours.design);
    let cost = of_one_load
        .and_then(|(theirs, ours)| cost(meter, (theirs, old.starts_of(theirs)), (ours, new.starts_of(ours))));
    let amount =
        both.and_then(|(theirs, ours)| amount((theirs, old.starts_of(theirs)), (ours, new.starts_of(ours))));
    ComparisonRow {
        arm: arm.to_owned(),
        operation: None,
        meter: meter.name.to_owned(),
        unit: meter.unit.as_str().to_owned(),
        cost: cost.map(Changed::from),
        amount: amount.map(Changed::from),
        figure: figure.map(Changed::from),
        invalid: invalid("old", &runs.old_results, arm, theirs)
            .or_else(|| invalid("new", &runs.new_results, arm, ours)),
    }
}

/// From the rounds if there are any; of quantiles only the intervals are known.
fn cost(meter: &Meter, old: (&Comparison, &[u32]), new: (&Comparison, &[u32])) -> Option<Unpaired> {
    if let (Some(then), Some(now)) = (of_rounds(old), of_rounds(new)) {
        let scale = if meter.unit == Unit::Share { Scale::Difference } else { Scale::LogRatio };
        return change_of_effect(then, now, scale, Level::ONCE);
    }
    let (old, new) = (old.0, new.0);
    let estimate = |row: &Comparison| {
        Some(Estimate { at: row.effect?, interval: Interval { low: row.low?, high: row.high? } })
    };
    Some(change_of_quantile(estimate(old)?, estimate(new)?, Level::new(old.level.min(new.level))?))
}

/// In the figure's own unit, in which runs with different baselines can be compared.
fn amount(old: (&Comparison, &[u32]), new: (&Comparison, &[u32])) -> Option<Unpaired> {
    let of = |(row, starts): (&Comparison, &[u32])| (row.amounts.clone(), starts.to_vec());
    let ((then, then_starts), (now, now_starts)) = (of(old), of(new));
    if then.is_empty() || now.is_empty() {
        return None;
    }
    let then = RunRounds { values: &then, starts: &then_starts };
    change_of_effect(then, RunRounds { values: &now, starts: &now_starts }, Scale::Difference, Level::ONCE)
}

fn of_rounds<'a>((row, starts): (&'a Comparison, &'a [u32])) -> Option<RunRounds<'a>> {
    (!row.differences.is_empty()).then_some(RunRounds { values: &row.differences, starts })
}

fn find<'r>(results: &'r Results, arm: &str, meter: &str) -> Option<&'r Comparison> {
    results.comparisons.iter().find(|row| row.arm == arm && row.meter == meter)
}

fn invalid(which: &str, results: &Results, arm: &str, row: Option<&Comparison>) -> Option<String> {
    let of_row = row.filter(|row| row.verdict == Verdict::Invalid).map(|row| row.sentence.as_str());
    let why = results.arms.get(arm).and_then(|arm| arm.invalid.as_deref()).or(of_row)?;
    Some(format!("in the {which} run: {}", why.trim_start_matches("invalid: ")))
}
