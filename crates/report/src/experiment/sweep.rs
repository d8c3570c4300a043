//! Sweeps: figures over a factor whose levels have an order, such as offered rates or numbers of rules.
//!
//! Cold, pure. A part of the report like those of `sections`, and what the page's charts are drawn from.

use crate::document::{Section, Table};
use crate::figures::{self, NONE};
use crate::reading::Reading;
use crate::words;
use bakeoff_meter::catalogue;
use bakeoff_results::FactorSetup;
use bakeoff_units::{Bytes, Nanos};

/// Fewer points are no curve.
const LEAST: usize = 3;

/// A factor whose levels have an order, and the arms along it.
pub(super) struct Sweep<'r> {
    pub(super) factor: &'r str,
    /// What its levels are in, as in [`figures::value`]; numbers have no unit.
    pub(super) unit: &'static str,
    /// One for each setting of the other factors, in the plan's order.
    pub(super) settings: Vec<Setting<'r>>,
}

/// Arms that differ in the factor alone.
pub(super) struct Setting<'r> {
    /// Levels of the other factors; empty where there are none.
    pub(super) name: String,
    /// From the lowest level to the highest.
    pub(super) arms: Vec<(f64, &'r str)>,
}

/// Whose figure it is.
#[derive(Clone, Copy)]
pub(super) enum Whose {
    /// Of all clients.
    All,
    /// Of the population with this index.
    Population(usize),
}

/// All clients, or each population.
pub(super) fn askers(reading: &Reading<'_>) -> Vec<Whose> {
    match reading.bundle.results.populations.len() {
        0 => vec![Whose::All],
        several => (0..several).map(Whose::Population).collect(),
    }
}

/// The factors with an order and enough levels, in the plan's order.
pub(super) fn all<'r>(reading: &Reading<'r>) -> Vec<Sweep<'r>> {
    let factors = reading.bundle.setup.factors.iter().enumerate();
    let sweep = |(index, factor): (usize, &'r FactorSetup)| {
        let (at, unit) = ordered(factor).filter(|(at, _)| at.len() >= LEAST)?;
        let settings = settings(reading, index, &at);
        let is_curve = settings.iter().any(|setting| setting.arms.len() >= LEAST);
        is_curve.then_some(Sweep { factor: &factor.name, unit, settings })
    };
    factors.filter_map(sweep).collect()
}

/// The levels on a scale, and its unit: whole numbers, or words that are all numbers, times or sizes.
fn ordered(factor: &FactorSetup) -> Option<(Vec<f64>, &'static str)> {
    if let Some(numbers) = &factor.numbers {
        return Some((numbers.clone(), ""));
    }
    let read =
        |of: fn(&str) -> Option<f64>| factor.levels.iter().map(|level| of(level)).collect::<Option<Vec<_>>>();
    let times = || read(|level| Some(level.parse::<Nanos>().ok()?.get() as f64));
    let sizes = || read(|level| Some(level.parse::<Bytes>().ok()?.get() as f64));
    let plain = read(|level| level.parse().ok().filter(|x: &f64| x.is_finite()));
    let with = |unit| move |at| (at, unit);
    plain.map(with("")).or_else(|| times().map(with("ns"))).or_else(|| sizes().map(with("B")))
}

fn settings<'r>(reading: &Reading<'r>, factor: usize, at: &[f64]) -> Vec<Setting<'r>> {
    let setup = &reading.bundle.setup;
    let mut found: Vec<(Vec<usize>, Setting<'r>)> = Vec::new();
    for arm in reading.arms().filter(|arm| !reading.is_twin(arm)) {
        let Some(levels) = setup.subjects.get(arm).map(|subject| &subject.levels) else { continue };
        let Some(x) = levels.get(factor).and_then(|level| at.get(*level)) else { continue };
        let mut others = levels.clone();
        others.remove(factor);
        match found.iter_mut().find(|(known, _)| *known == others) {
            Some((_, setting)) => setting.arms.push((*x, arm)),
            None => {
                let name = setting_name(&setup.factors, factor, levels);
                found.push((others, Setting { name, arms: vec![(*x, arm)] }));
            }
        }
    }
    let sorted = |(_, mut setting): (_, Setting<'r>)| {
        setting.arms.sort_by(|a, b| a.0.total_cmp(&b.0));
        setting
    };
    found.into_iter().map(sorted).collect()
}

fn setting_name(factors: &[FactorSetup], without: usize, levels: &[usize]) -> String {
    let others = factors.iter().zip(levels).enumerate().filter(|(index, _)| *index != without);
    let level = |(_, (factor, level)): (usize, (&FactorSetup, &usize))| {
        let text = factor.levels.get(*level)?;
        let bare = factor.numbers.is_none() && !matches!(text.as_str(), "true" | "false");
        Some(if bare { text.clone() } else { format!("{} = {text}", factor.name) })
    };
    others.filter_map(level).collect::<Vec<_>>().join(", ")
}

/// A figure of an arm, or of what a population got of it.
pub(super) fn figure(reading: &Reading<'_>, whose: Whose, arm: &str, meter: &str) -> Option<f64> {
    let Whose::Population(index) = whose else { return reading.figure(arm, meter) };
    let of = reading.bundle.results.populations.get(index)?.arms.get(arm)?;
    let time = |ns: u64| (of.response_ns.count > 0).then_some(ns as f64);
    match meter {
        "response_p50" => time(of.response_ns.p50),
        "response_p99" => time(of.response_ns.p99),
        other => of.meters.get(other).copied(),
    }
}

/// A level as it is said: `rate = 100`.
pub(super) fn place(sweep: &Sweep<'_>, x: f64) -> String {
    if sweep.unit.is_empty() { x.to_string() } else { figures::value(sweep.unit, x) }
}

/// The sweeps as a table, level by level.
pub(super) fn section(reading: &Reading<'_>) -> Section {
    let primary = catalogue::find(reading.primary_meter()).map_or("", |meter| meter.name);
    let sweeps = all(reading);
    let has_settings = sweeps.iter().any(|sweep| sweep.settings.len() > 1);
    let shows = |(meter, _): &Column| {
        let has = |whose| reading.arms().any(|arm| figure(reading, whose, arm, meter).is_some());
        askers(reading).into_iter().any(has)
    };
    let is_of_all = reading.bundle.results.populations.is_empty();
    let first = ["level"].into_iter().chain(has_settings.then_some("at"));
    let first: Vec<&str> = first.chain((!is_of_all).then_some("population")).collect();
    let own = is_of_all.then(|| (primary, words::short(reading.kind(), primary)));
    let columns: Vec<Column> = own.into_iter().chain(COMMON).filter(shows).collect();
    let rows = sweeps.iter().flat_map(|sweep| rows(reading, sweep, has_settings, &columns));
    let head = first.iter().copied().chain(columns.iter().map(|(_, head)| *head));
    let table = Table::new(head, rows).without_repeats(first.len() - 1);
    let section = Section::new("Over a factor in its order").table(table);
    section.note("From the lowest level to the highest; the page draws it.")
}

fn rows(
    reading: &Reading<'_>,
    sweep: &Sweep<'_>,
    has_settings: bool,
    columns: &[Column],
) -> Vec<Vec<String>> {
    let mut arms: Vec<(f64, &str, &str)> = Vec::new();
    for Setting { name, arms: of } in &sweep.settings {
        arms.extend(of.iter().map(|(x, arm)| (*x, name.as_str(), *arm)));
    }
    arms.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut rows = Vec::new();
    for (x, name, arm) in arms {
        for whose in askers(reading) {
            let mut row = vec![format!("{} = {}", sweep.factor, place(sweep, x))];
            row.extend(has_settings.then(|| name.to_owned()));
            row.extend(population(reading, whose).map(str::to_owned));
            row.extend(columns.iter().map(|(meter, _)| shown(reading, whose, arm, meter)));
            rows.push(row);
        }
    }
    rows
}

/// A meter, and what stands above it.
type Column = (&'static str, &'static str);
/// Columns of every such table, where anything has such a figure.
const COMMON: [Column; 4] = [
    ("replies_per_second", "replies/s"),
    ("refused_per_second", "refused/s"),
    ("response_p50", "p50"),
    ("response_p99", "p99"),
];

/// Its name, where it is of one.
pub(super) fn population<'r>(reading: &Reading<'r>, whose: Whose) -> Option<&'r str> {
    match whose {
        Whose::All => None,
        Whose::Population(index) => {
            reading.bundle.results.populations.get(index).map(|of| of.population.as_str())
        }
    }
}

fn shown(reading: &Reading<'_>, whose: Whose, arm: &str, meter: &str) -> String {
    let found = figure(reading, whose, arm, meter).filter(|x| x.is_finite());
    let text = found.map_or(NONE.to_owned(), |x| figures::value(reading.unit(meter), x));
    if found.is_some() && reading.is_invalid(arm, meter) { format!("({text})") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(levels: &[&str]) -> Option<(Vec<f64>, &'static str)> {
        let levels = levels.iter().map(|level| (*level).to_owned()).collect();
        ordered(&FactorSetup { name: "f".to_owned(), levels, numbers: None })
    }

    #[test]
    fn words_have_an_order_where_all_are_of_one_kind() {
        assert_eq!(levels(&["0.5", "2", "10"]), Some((vec![0.5, 2.0, 10.0], "")));
        assert_eq!(levels(&["5ms", "1s"]), Some((vec![5e6, 1e9], "ns")));
        assert_eq!(levels(&["1KB", "2KiB"]), Some((vec![1000.0, 2048.0], "B")));
        for none in [&["off", "on"][..], &["none", "300"], &["1s", "1KB"], &["nan", "1"]] {
            assert_eq!(levels(none), None, "{none:?}");
        }
        let numbers = FactorSetup { name: "f".to_owned(), levels: Vec::new(), numbers: Some(vec![1.0, 3.0]) };
        assert_eq!(ordered(&numbers), Some((vec![1.0, 3.0], "")));
    }
}
