//! A run's figure for a published one: an arm's comparison with its baseline, or its own figure.
//!
//! Measuring side, cold, pure. Its relation to the published figure is left to the parent.

use crate::between::result::ComparisonRow;
use bakeoff_meter::{Meter, catalogue};
use bakeoff_plan::study::{FigureLink, Measure};
use bakeoff_results::{Comparison, PopulationResult, Results};
use bakeoff_stats::{Level, Scale, Verdict, effect, effect_of};

/// A comparison of the run: an arm with the link's baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    /// The arm's own value, in the meter's unit.
    pub(super) value: f64,
    pub(super) effect: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// The same change in the meter's unit, and its interval.
    pub(super) amount: [Option<f64>; 3],
    pub(super) invalid: bool,
}

impl Found {
    fn of(c: &Comparison) -> Self {
        let invalid = c.verdict == Verdict::Invalid;
        let amount = [c.amount, c.amount_low, c.amount_high];
        Self { value: c.value, effect: c.effect, low: c.low, high: c.high, amount, invalid }
    }

    /// The arm's own figure, compared with nothing; its interval if it has one.
    fn own(link: &FigureLink, results: &Results) -> Option<Self> {
        let arm = results.arms.get(&link.arm)?;
        let is_speed = catalogue::find(link.meter).is_some_and(Meter::is_speed);
        let (values, estimates, name) = match (&link.operation, &link.population) {
            (None, None) if is_speed => (&arm.meters, &arm.rates, link.meter),
            (None, None) => (&arm.meters, &arm.estimates, link.meter),
            (Some(word), _) => {
                let operation = results.operations.iter().find(|own| own.operation == *word)?;
                let figures = operation.arms.get(&link.arm)?;
                match &link.step {
                    Some(step) => (&figures.steps_ns, &figures.step_estimates, step.as_str()),
                    None => (&figures.meters, &figures.estimates, link.meter),
                }
            }
            (None, Some(_)) => {
                let figures = population(link, results)?.arms.get(&link.arm)?;
                (&figures.meters, &figures.estimates, link.meter)
            }
        };
        let (value, estimate) = (*values.get(name)?, estimates.get(name));
        let alone = population(link, results).and_then(|of| of.arms.get(&link.arm)?.invalid.as_ref());
        let of_arm = if is_speed { &arm.rates_invalid } else { &arm.invalid };
        let (low, high) = (estimate.map(|own| own.low), estimate.map(|own| own.high));
        Some(Self {
            value,
            effect: None,
            low,
            high,
            amount: [None; 3],
            invalid: alone.or(of_arm.as_ref()).is_some(),
        })
    }

    /// Comparison of a run's baseline with the arm that is compared with it.
    fn the_other_way(c: &Comparison) -> Self {
        let over = |effect: f64| 1.0 / (1.0 + effect) - 1.0;
        let less = |amount: f64| -amount;
        Self {
            value: c.baseline_value,
            effect: c.effect.map(over),
            low: c.high.map(over),
            high: c.low.map(over),
            amount: [c.amount, c.amount_high, c.amount_low].map(|amount| amount.map(less)),
            invalid: c.verdict == Verdict::Invalid,
        }
    }

    /// Comparison of two arms that the run compares with a third: round by round, one ratio over the other.
    fn between(arm: &Comparison, baseline: &Comparison) -> Option<Self> {
        let rounds = arm.differences.iter().zip(&baseline.differences);
        let d: Vec<f64> = rounds.map(|(arm, baseline)| arm - baseline).collect();
        let level = Level::new(arm.level)?;
        let found = effect(&d, level)?;
        let amounts = arm.amounts.iter().zip(&baseline.amounts).map(|(arm, baseline)| arm - baseline);
        let more = effect_of(&amounts.collect::<Vec<f64>>(), &[], level, Scale::Difference);
        Some(Self {
            value: arm.value,
            effect: Some(found.effect),
            low: Some(found.interval.low),
            high: Some(found.interval.high),
            amount: more.map_or([None; 3], |of| [of.effect, of.interval.low, of.interval.high].map(Some)),
            invalid: arm.verdict == Verdict::Invalid || baseline.verdict == Verdict::Invalid,
        })
    }
}

/// The run's comparison, or why it has none.
pub(super) fn find(link: &FigureLink, results: &Results) -> Result<Found, String> {
    for arm in [&link.arm, &link.baseline] {
        if !results.order.contains(arm) {
            return Err(format!("this run has no arm `{arm}`"));
        }
    }
    let without = || format!("this run did not measure {} of {}", noun(link.meter), link.arm);
    if link.measure == Measure::Value {
        return Found::own(link, results).ok_or_else(without);
    }
    let comparisons = match &link.operation {
        None if link.population.is_some() => {
            &population(link, results).ok_or("this run has no such population")?.comparisons
        }
        None => &results.comparisons,
        Some(word) => {
            let found = results.operations.iter().find(|own| own.operation == *word);
            &found.ok_or_else(|| format!("this run did not measure `{word}`"))?.comparisons
        }
    };
    let row = |arm: &str| comparisons.iter().find(|c| c.arm == arm && c.meter == link.meter);
    let Some(arm) = row(&link.arm) else {
        if let Some(other) = row(&link.baseline).filter(|other| other.baseline == link.arm) {
            return Ok(Found::the_other_way(other));
        }
        return Err(match &link.operation {
            Some(word) => format!("not both arms made `{word}`"),
            None => format!("this run did not compare {}", noun(link.meter)),
        });
    };
    if arm.baseline == link.baseline {
        return Ok(Found::of(arm));
    }
    row(&link.baseline).and_then(|baseline| Found::between(arm, baseline)).ok_or_else(|| {
        format!("this run compares {} with {}, not with {}", link.arm, arm.baseline, link.baseline)
    })
}

/// The population that a figure is of.
fn population<'r>(link: &FigureLink, results: &'r Results) -> Option<&'r PopulationResult> {
    results.populations.iter().find(|of| Some(&of.population) == link.population.as_ref())
}

/// The change of the arm's figure from the older run, or why that is not known.
pub(super) fn found_between(link: &FigureLink, rows: &[ComparisonRow]) -> Result<Found, String> {
    let is_it = |row: &&ComparisonRow| {
        row.arm == link.arm && row.meter == link.meter && row.operation == link.operation
    };
    let row = rows.iter().find(is_it).ok_or_else(|| match &link.operation {
        Some(word) => format!("not both runs measured `{word}`"),
        None => format!("not both runs have {} of an arm `{}`", noun(link.meter), link.arm),
    })?;
    let figure = row.figure.ok_or_else(|| format!("not both runs have {}", noun(link.meter)))?;
    Ok(Found {
        value: figure.new,
        effect: Some(figure.change),
        low: Some(figure.change_low),
        high: Some(figure.change_high),
        amount: [None; 3],
        invalid: row.invalid.is_some(),
    })
}

pub(super) fn noun(meter: &str) -> &str {
    catalogue::find(meter).map_or(meter, |meter| meter.noun)
}
