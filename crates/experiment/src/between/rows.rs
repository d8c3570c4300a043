//! The figures: what each arm costs in either run, and its plain figures.

use super::{BetweenError, Changed, Row, Runs};
use crate::analyse::Figures;
use crate::results::{Comparison, Results};
use bakeoff_meter::{Meter, Unit};
use bakeoff_stats::{
    Estimate, Interval, Level, OfRun, Scale, Unpaired, Verdict, change_of_effect, change_of_figure,
    change_of_quantile,
};

pub(super) fn all(runs: &Runs<'_>, arms: &[String], meters: &[&Meter]) -> Result<Vec<Row>, BetweenError> {
    let (old, new) = (Figures::read(runs.old)?, Figures::read(runs.new)?);
    let cells = meters.iter().flat_map(|meter| arms.iter().map(move |arm| (arm, meter)));
    Ok(cells.map(|(arm, meter)| row(runs, (&old, &new), arm, meter)).collect())
}

fn row(runs: &Runs<'_>, (old, new): (&Figures, &Figures), arm: &str, meter: &Meter) -> Row {
    let (theirs, ours) = (find(&runs.old_results, arm, meter.name), find(&runs.new_results, arm, meter.name));
    let figure = old.of(arm, meter).zip(new.of(arm, meter)).and_then(|(then, now)| {
        let then = OfRun { values: &then, starts: old.starts() };
        let now = OfRun { values: &now, starts: new.starts() };
        change_of_figure(then, now, Level::ONCE)
    });
    let cost =
        theirs.zip(ours).and_then(|(theirs, ours)| cost(meter, (theirs, old.starts()), (ours, new.starts())));
    Row {
        arm: arm.to_owned(),
        meter: meter.name.to_owned(),
        unit: meter.unit.as_str().to_owned(),
        cost: cost.map(Changed::from),
        figure: figure.map(Changed::from),
        invalid: invalid("old", &runs.old_results, arm, theirs)
            .or_else(|| invalid("new", &runs.new_results, arm, ours)),
    }
}

/// From the rounds where there are any; of quantiles only the intervals are known. The rounds that
/// confirm a duet are of starts of their own, which are not looked up: it has few.
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

fn of_rounds<'a>((row, starts): (&'a Comparison, &'a [u32])) -> Option<OfRun<'a>> {
    let starts = if row.confirmed { &[] } else { starts };
    (!row.differences.is_empty()).then_some(OfRun { values: &row.differences, starts })
}

fn find<'r>(results: &'r Results, arm: &str, meter: &str) -> Option<&'r Comparison> {
    results.comparisons.iter().find(|row| row.arm == arm && row.meter == meter)
}

fn invalid(which: &str, results: &Results, arm: &str, row: Option<&Comparison>) -> Option<String> {
    let of_row = row.filter(|row| row.verdict == Verdict::Invalid).map(|row| row.sentence.as_str());
    let why = results.arms.get(arm).and_then(|arm| arm.invalid.as_deref()).or(of_row)?;
    Some(format!("in the {which} run: {}", why.trim_start_matches("invalid: ")))
}
