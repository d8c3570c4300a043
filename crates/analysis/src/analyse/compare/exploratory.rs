//! Exploratory comparisons: figures that were not named beforehand.

use super::super::decide::{differences, level, null_differences};
use super::quantiles::Quantiles;
use super::row::{Of, blank, fill, fill_cost, sums, times_invalid};
use super::words::{points, range};
use bakeoff_meter::catalogue::PartOf;
use bakeoff_meter::catalogue::{self, ELAPSED, OPERATION_TIME, SUBJECT_CPU};
use bakeoff_meter::{Meter, SliceCounters, Unit};
use bakeoff_plan::RoundDesign;
use bakeoff_results::{Comparison, second};
use bakeoff_stats::{
    Interval, LOOKS, Proportion, Verdict, change_in_words, difference_of_proportions, proportion_differences,
    quantile_ratio,
};

/// Time of commands, and their CPU, as a whole and in its parts.
pub(super) fn commands_other(of: &Of<'_>) -> Vec<Comparison> {
    let meters = [ELAPSED, "command_cpu", "user_cpu", "system_cpu"].into_iter().filter_map(catalogue::find);
    let meters = meters.filter(|meter| meter.name != of.setup.primary);
    let names: Vec<&str> = of.setup.judged().collect();
    meters.flat_map(|meter| names.iter().filter_map(move |arm| per_slice(of, arm, meter))).collect()
}

/// Whether a figure describes all kinds of operations together.
pub(super) fn is_of_operations(meter: &Meter) -> bool {
    [SUBJECT_CPU, OPERATION_TIME, "bytes_per_second", "memory", "errors"].contains(&meter.name)
}

/// Whether the figure is compared. Elapsed time of the same requests is replies per second once more; of different
/// requests it means nothing.
pub(super) fn is_compared(meter: &Meter) -> bool {
    meter.compared && meter.name != ELAPSED
}

pub(super) fn exploratory(
    of: &Of<'_>,
    quantiles: &Quantiles,
    arm: &str,
    meter: &Meter,
) -> Option<Comparison> {
    match (meter.quantile, meter.part_of) {
        (Some(_), _) => quantile_row(of, quantiles, arm, meter),
        (None, Some(part_of)) => share_row(of, arm, meter, part_of),
        (None, None) => per_slice(of, arm, meter),
    }
}

pub(in super::super) fn per_slice(of: &Of<'_>, arm: &str, meter: &Meter) -> Option<Comparison> {
    let Of { setup, series, .. } = *of;
    let work = &setup.workload;
    if meter.is_of_whole_slice() && work.slice_of(arm) != work.slice_of(setup.baseline_of(arm)) {
        return None;
    }
    let d = if setup.is_second(arm) {
        null_differences(series, setup.baseline_of(arm), meter)?
    } else {
        differences(series, setup, arm, meter)?
    };
    let found = d.cost(series.starts(), level(setup))?;
    let mut row = blank(of, arm, meter, series.rounds());
    fill_cost(&mut row, Some(&found), d);
    row.ratio_of_sums = sums(of, arm, meter, series.rounds());
    finish_exploratory(of, arm, meter, row)
}

/// A share of a count, in points; `None` if some slice lacks the count.
fn share_row(
    of: &Of<'_>,
    arm: &str,
    meter: &Meter,
    part_of: fn(&SliceCounters) -> Option<PartOf>,
) -> Option<Comparison> {
    let Of { setup, series, .. } = *of;
    let parts = |name: &str| -> Option<Vec<Proportion>> {
        let proportion = |c: &SliceCounters| part_of(c).map(|PartOf { part, of }| Proportion { part, of });
        series.column(name).counters.iter().map(proportion).collect()
    };
    let baseline = setup.baseline_of(arm);
    let (a, a2, s) = (parts(baseline)?, parts(&second(baseline))?, parts(arm)?);
    let found = difference_of_proportions(&s, &a, &a2, level(setup))?;
    let mut row = blank(of, arm, meter, series.rounds());
    fill(&mut row, Some(&found));
    row.differences = proportion_differences(&s, &a, &a2);
    finish_exploratory(of, arm, meter, row)
}

fn quantile_row(of: &Of<'_>, quantiles: &Quantiles, arm: &str, meter: &Meter) -> Option<Comparison> {
    let Of { setup, series, .. } = *of;
    let (subject, reference) = quantiles.pair(setup, arm, meter)?;
    let found = quantile_ratio(subject, reference, level(setup)).ok()?;
    let mut row = blank(of, arm, meter, series.rounds());
    (row.value, row.baseline_value) = (found.subject_ns as f64, found.reference_ns as f64);
    (row.effect, row.low, row.high) =
        (Some(found.effect), Some(found.interval.low), Some(found.interval.high));
    let in_unit = |share: f64| Some(share * row.baseline_value);
    (row.amount, row.amount_low, row.amount_high) =
        (in_unit(found.effect), in_unit(found.interval.low), in_unit(found.interval.high));
    finish_exploratory(of, arm, meter, row)
}

/// Verdict and words of a figure that was not named beforehand.
fn finish_exploratory(of: &Of<'_>, arm: &str, meter: &Meter, mut row: Comparison) -> Option<Comparison> {
    let Of { setup, series, arms, .. } = *of;
    let (effect, low, high) = (row.effect?, row.low?, row.high?);
    let why = arms[arm].invalid.clone().or_else(|| times_invalid(of, arm, meter));
    let interval = Interval { low, high };
    let more = if meter.more_is_worse { Verdict::Costs } else { Verdict::Saves };
    let less = if meter.more_is_worse { Verdict::Saves } else { Verdict::Costs };
    let sharp = interval.half_width() <= setup.margin.max(effect.abs() / 2.0);
    // Times and rates get no verdict from fewer rounds than a first look has.
    let too_few = !std::ptr::eq(series, of.table.main())
        && row.design == RoundDesign::Pairs
        && series.rounds() < LOOKS[0] as usize;
    let is_null = setup.is_second(arm);
    row.verdict = match why {
        Some(_) => Verdict::Invalid,
        None if too_few => Verdict::NotResolved,
        None if low > -setup.margin && high < setup.margin => Verdict::NoCost,
        None if is_null => Verdict::NotResolved,
        None if low > 0.0 && sharp => more,
        None if high < 0.0 && sharp => less,
        None => Verdict::NotResolved,
    };
    let noun = meter.noun_in(&setup.workload.kind);
    row.sentence = match why {
        Some(why) => format!("invalid: {why}"),
        None if meter.unit == Unit::Share => {
            format!(
                "{} points {} (CI {}, exploratory)",
                points(effect),
                noun,
                range(&interval).replace(" %", "")
            )
        }
        None => {
            let words = change_in_words(effect, low, high);
            format!("{} {noun} (CI {}, exploratory)", words.effect, words.interval)
        }
    };
    Some(row)
}
