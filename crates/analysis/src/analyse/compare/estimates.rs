//! Each arm's own figures with intervals: absolute bounds are judged by them, and they stand beside published ones.

use super::super::decide::level;
use super::super::invalid;
use super::super::series::Series;
use super::quantiles::Quantiles;
use super::row::{Of, times_invalid};
use bakeoff_meter::catalogue::PartOf;
use bakeoff_meter::{CATALOGUE, Meter};
use bakeoff_results::OwnFigure;
use bakeoff_stats::{Interval, Level, Scale, effect_of};
use std::collections::BTreeMap;

/// Estimates of every meter that arms are compared in, if there are rounds enough and the figure may be used.
pub(super) fn estimates(
    of: &Of<'_>,
    quantiles: Option<&Quantiles>,
    arm: &str,
) -> BTreeMap<String, OwnFigure> {
    let compared = CATALOGUE.iter().filter(|meter| meter.compared);
    let own =
        |meter: &Meter| Some((meter.name.to_owned(), estimate(&of.valid_for(meter), quantiles, arm, meter)?));
    compared.filter_map(own).collect()
}

fn estimate(of: &Of<'_>, quantiles: Option<&Quantiles>, arm: &str, meter: &Meter) -> Option<OwnFigure> {
    let Of { setup, series, .. } = *of;
    if times_invalid(of, arm, meter).is_some() {
        return None;
    }
    let quantile = quantiles.and_then(|quantiles| quantiles.of_arm(arm, meter)?.estimate(level(setup)).ok());
    let (value, interval) = match quantile {
        Some(found) => found,
        None => middle(&series.figures(arm, meter)?, series.starts(), level(setup))?,
    };
    let (low, high) = (interval.low, interval.high);
    let Some(part_of) = meter.part_of else { return Some(OwnFigure { value, low, high }) };
    let counted: Vec<PartOf> = series.column(arm).counters.iter().filter_map(part_of).collect();
    Some(possible(OwnFigure { value, low, high }, &counted))
}

/// Estimates of meters from these rounds, each by itself; those without rounds enough are left out.
pub(in super::super) fn alone<'m>(
    series: &Series,
    arm: &str,
    meters: impl Iterator<Item = &'m Meter>,
) -> BTreeMap<String, OwnFigure> {
    meters.filter_map(|meter| by_name(series, arm, meter)).collect()
}

/// Rates of the arm, each by itself, where the generator was not their limit.
pub(in super::super) fn rates(of: &Of<'_>, arm: &str) -> BTreeMap<String, OwnFigure> {
    if invalid::limits_own_rates(of.setup, of.series, arm) {
        return BTreeMap::new();
    }
    let rates = CATALOGUE.iter().filter(|meter| meter.is_speed());
    rates.filter_map(|meter| by_name(of.valid_for(meter).series, arm, meter)).collect()
}

fn by_name(series: &Series, arm: &str, meter: &Meter) -> Option<(String, OwnFigure)> {
    Some((meter.name.to_owned(), over_rounds(series, &series.figures(arm, meter)?)?))
}

/// An estimate from a figure for each round, at 95 %.
pub(in super::super) fn over_rounds(series: &Series, figures: &[f64]) -> Option<OwnFigure> {
    let (value, Interval { low, high }) = middle(figures, series.starts(), Level::new(0.95)?)?;
    Some(OwnFigure { value, low, high })
}

/// On a logarithmic scale where possible: no time and no rate is below 0.
fn middle(figures: &[f64], starts: &[u32], level: Level) -> Option<(f64, Interval)> {
    if figures.iter().any(|x| *x <= 0.0) {
        let found = effect_of(figures, starts, level, Scale::Difference)?;
        return Some((found.effect, found.interval));
    }
    let logs: Vec<f64> = figures.iter().map(|x| x.ln()).collect();
    let found = effect_of(&logs, starts, level, Scale::LogRatio)?;
    let Interval { low, high } = found.interval;
    Some((1.0 + found.effect, Interval { low: 1.0 + low, high: 1.0 + high }))
}

/// A share, kept within what the counts allow: an event that came once has no share of 0, one that once failed to come
/// no share of 1.
fn possible(share: OwnFigure, counted: &[PartOf]) -> OwnFigure {
    let (part, of) = counted.iter().fold((0, 0), |(part, of), c| (part + c.part, of + c.of));
    let least = if part > 0 { f64::MIN_POSITIVE } else { 0.0 };
    let most = if part < of { 1.0 - f64::EPSILON } else { 1.0 };
    let within = |x: f64| x.clamp(least, most);
    OwnFigure { value: within(share.value), low: within(share.low), high: within(share.high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_never_below_zero() {
        let level = Level::new(0.95).unwrap();
        let (value, interval) = middle(&[10.0, 1000.0, 100.0], &[], level).unwrap();
        assert!((value - 100.0).abs() < 1e-9 && interval.low > 0.0 && interval.high > 1000.0, "{interval:?}");
        let (value, interval) = middle(&[0.0, 2.0, 1.0], &[], level).unwrap();
        assert!((value - 1.0).abs() < 1e-9 && interval.low < 0.0);
    }

    #[test]
    fn one_failure_is_more_than_none_and_none_is_none() {
        let wide = OwnFigure { value: 0.001, low: -0.002, high: 0.004 };
        let counted = |part| vec![PartOf { part: 0, of: 500 }, PartOf { part, of: 500 }];
        assert!(possible(wide, &counted(1)).low > 0.0);
        assert_eq!(possible(wide, &counted(0)).low, 0.0);
        let all = OwnFigure { value: 1.0, low: 0.99, high: 1.01 };
        assert_eq!(possible(all, &[PartOf { part: 9, of: 9 }]).high, 1.0);
        assert!(possible(all, &[PartOf { part: 8, of: 9 }]).high < 1.0);
    }
}
