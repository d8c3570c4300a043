//! A run beside a study: each linked figure with its interval, and in words how it relates to the published one.

mod found;
mod kept;

use crate::between::result::ComparisonRow;
use bakeoff_meter::catalogue;
use bakeoff_plan::study::{Condition, FigureBound, FigureLink, Measure, Study};
use bakeoff_results::{Results, Standing, StudyRow, StudySection};
use found::{Found, find, found_between, noun};
pub use kept::{keep, kept};

/// Puts a run beside a study.
pub fn join(study: &Study, results: &Results) -> StudySection {
    section(study, results, false, |link| find(link, results))
}

/// Puts the change from an older run to a newer one (`results`) beside a study; `None`: the study has no such figure.
pub fn join_between(study: &Study, results: &Results, rows: &[ComparisonRow]) -> Option<StudySection> {
    let found = section(study, results, true, |link| found_between(link, rows));
    (!found.rows.is_empty()).then_some(found)
}

/// Meters of a study in which a newer run like this one and an older one must be compared.
pub(crate) fn meters_between(study: &Study, results: &Results) -> impl Iterator<Item = &'static str> {
    let links = study.links.iter().filter(|link| link.operation.is_none() && holds(&link.of, results, true));
    links.map(|link| link.meter)
}

fn section(
    study: &Study,
    results: &Results,
    between: bool,
    find: impl Fn(&FigureLink) -> Result<Found, String>,
) -> StudySection {
    let links = study.links.iter().filter(|link| holds(&link.of, results, between));
    StudySection {
        name: study.name.clone(),
        title: study.title.clone(),
        sources: study.sources.iter().map(|source| source.text.clone()).collect(),
        rows: links.map(|link| row(link, find(link))).collect(),
    }
}

/// Whether it applies to this run.
fn holds(of: &Condition, results: &Results, between: bool) -> bool {
    of.between == between
        && of.plan.as_ref().is_none_or(|name| *name == results.name)
        && of.workload.as_ref().is_none_or(|kind| *kind == results.workload.kind)
        && of.link.is_none_or(|link| link == results.link.is_some())
}

fn row(link: &FigureLink, found: Result<Found, String>) -> StudyRow {
    // What is invalid is no result, and is not printed as one.
    let ours = found.as_ref().ok().filter(|found| !found.invalid).and_then(|found| Ours::of(link, found));
    let (standing, said) = match found.and_then(|found| standing(link, found, ours)) {
        Ok(standing) => (standing, standing.in_words().to_owned()),
        Err(why) => (Standing::NotComparable, format!("not comparable: {why}")),
    };
    StudyRow {
        table: link.table.clone(),
        row: link.row.clone(),
        column: link.column.clone(),
        statement: link.statement.clone(),
        operation: link.operation.clone(),
        population: link.population.clone(),
        published: link.published.in_words(),
        published_value: link.published.value,
        unit: link.published.unit.label.to_owned(),
        doubt: link.published.doubt.clone(),
        taken_from: link.taken_from.clone(),
        arm: link.arm.clone(),
        baseline: link.baseline.clone(),
        meter: link.meter.to_owned(),
        figure: figure(link),
        value: ours.map(|ours| ours.value),
        low: ours.and_then(|ours| Some(ours.interval?.0)),
        high: ours.and_then(|ours| Some(ours.interval?.1)),
        standing,
        said,
    }
}

/// This run's figure like the study's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ours {
    value: f64,
    /// Low and high.
    interval: Option<(f64, f64)>,
}

impl Ours {
    fn of(link: &FigureLink, found: &Found) -> Option<Self> {
        let unit = link.published.unit;
        let absolute = match link.measure {
            Measure::Value => Some([Some(found.value), found.low, found.high]),
            Measure::More => Some(found.amount),
            _ => None,
        };
        if let Some(absolute) = absolute {
            let meter = catalogue::find(link.meter)?;
            let [value, low, high] = absolute.map(|figure| unit.of_meter(meter.unit, figure?));
            return Some(Self { value: value?, interval: low.zip(high) });
        }
        let of = |change: f64| measured(link.measure, change) / unit.scale;
        let interval = found.low.zip(found.high).map(|(low, high)| {
            let (one, other) = (of(low), of(high));
            (one.min(other), one.max(other))
        });
        Some(Self { value: of(found.effect?), interval })
    }
}

/// A relative change as the study's measure, in base units.
fn measured(measure: Measure, change: f64) -> f64 {
    match measure {
        Measure::Loss => -change,
        Measure::LossOfRate => 1.0 - 1.0 / (1.0 + change),
        Measure::Ratio => 1.0 + change,
        Measure::Change | Measure::More | Measure::Value => change,
    }
}

/// The relation of the two figures, or the reason why there is none.
fn standing(link: &FigureLink, found: Found, ours: Option<Ours>) -> Result<Standing, String> {
    if found.invalid {
        return Err("this run's figure is invalid".to_owned());
    }
    if let Some(differs) = &link.differs {
        return Err(differs.clone());
    }
    if matches!(link.measure, Measure::More | Measure::Value) {
        return Err("an absolute figure of another machine".to_owned());
    }
    if matches!(link.published.bound, FigureBound::Under | FigureBound::Over) {
        return Err("the study gives a bound only".to_owned());
    }
    let (low, high) = ours.and_then(|ours| ours.interval).ok_or("this run's figure has no interval")?;
    let published = link.published.value;
    Ok(match published {
        _ if !(low.is_finite() && high.is_finite()) => {
            return Err("this run's interval has no end".to_owned());
        }
        below if below < low => Standing::Higher,
        above if above > high => Standing::Lower,
        _ => Standing::Inside,
    })
}

/// The name of this run's figure.
fn figure(link: &FigureLink) -> String {
    let noun = noun(link.meter);
    match link.measure {
        Measure::Change => format!("change of {noun}"),
        Measure::Loss => format!("loss of {noun}"),
        Measure::LossOfRate => format!("loss of throughput, from {noun}"),
        Measure::Ratio => format!("{noun}, times the baseline's"),
        Measure::More => format!("{noun}, more than the baseline's"),
        Measure::Value => noun.to_owned(),
    }
}

#[cfg(test)]
mod tests;
