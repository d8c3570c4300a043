//! Drawings of an experiment: figures as bars, changes on a scale, slices over time.

use super::plots::{Data, over_time};
use super::{baseline, level, one_or};
use crate::document::{Bar, Bars, Block, Cell, Drawing, Part, Section, State};
use crate::figures::{self, Change};
use crate::plot::forest::{Spread, panels};
use crate::reading::Reading;
use crate::words;
use bakeoff_meter::catalogue::SUBJECT_CPU;
use bakeoff_results::{Comparison, StratumSetup};
use bakeoff_stats::Verdict;

/// Figures that are told in parts, where those were measured.
const PARTS: [(&str, &str); 2] =
    [("user_cpu", "system_cpu"), ("server_cpu_per_request", "front_cpu_per_request")];

/// A name in its colour.
pub(super) fn named(reading: &Reading<'_>, arm: &str) -> Cell {
    Cell::keyed(arm, reading.key(arm))
}

/// What each arm used and did, beside which changes stand: the primary figure, CPU in its parts, and replies a second;
/// none of what no arm has.
pub(super) fn figures(reading: &Reading<'_>) -> Section {
    let primary = reading.primary_meter();
    let both = PARTS.iter().map(|(first, second)| vec![*first, *second]);
    let wanted = both.chain([vec![primary], vec!["replies_per_second"]]);
    let has = |meters: &Vec<&str>| {
        meters.iter().all(|meter| reading.arms().any(|arm| reading.figure(arm, meter).is_some()))
    };
    let mut found: Vec<Vec<&str>> = wanted.filter(has).collect();
    // The parts of CPU per request tell the whole.
    let told = |meters: &Vec<&str>| meters[0] == PARTS[1].0;
    if primary == SUBJECT_CPU && found.iter().any(told) {
        found.retain(|meters| meters[0] != primary);
    }
    found.dedup();
    let bars = found.iter().map(|meters| bars(reading, meters)).collect();
    Section::on_page("figures", "Figures").nav("Figures").page(Block::Bars(bars))
}

/// Bars of figures in parts. An arm that has not all parts, such as one without a front, has a bar of the whole. Medians of
/// parts need not add up to that of the whole: a bar is as long as the whole, which is the figure beside it.
fn bars<'m>(reading: &Reading<'_>, meters: &[&'m str]) -> Bars {
    let measured = |arm: &str, meters: &[&'m str]| -> Vec<(&'m str, f64)> {
        meters.iter().filter_map(|meter| Some((*meter, reading.figure(arm, meter)?))).collect()
    };
    let parts_of = |arm: &str| {
        let parts = measured(arm, meters);
        if meters.len() > 1 && parts.len() < meters.len() { measured(arm, &[SUBJECT_CPU]) } else { parts }
    };
    let sum = |parts: &[(&str, f64)]| -> f64 { parts.iter().map(|(_, figure)| figure).sum() };
    let whole = |arm: &str, parts: &[(&str, f64)]| {
        let told = if meters == [PARTS[1].0, PARTS[1].1] { reading.figure(arm, SUBJECT_CPU) } else { None };
        told.unwrap_or_else(|| sum(parts))
    };
    let most = reading.arms().map(|arm| whole(arm, &parts_of(arm))).fold(f64::MIN_POSITIVE, f64::max);
    let unit = reading.unit(meters[0]);
    let noun = |meter: &str| words::noun(reading.kind(), meter).to_owned();
    let row = |arm: &str| {
        let (all, mut from) = (parts_of(arm), 0.0);
        let (whole, sum) = (whole(arm, &all), sum(&all).max(f64::MIN_POSITIVE));
        let part = |(meter, figure): &(&str, f64)| {
            let title = format!("{arm}: {} {}", figures::value(unit, *figure), noun(meter));
            let width = figure / sum * whole / most * 100.0;
            let part = Part { from: round(from), width: round(width), title };
            from += width;
            part
        };
        let value = if all.is_empty() { figures::NONE.to_owned() } else { figures::value(unit, whole) };
        Bar {
            name: named(reading, arm),
            key: reading.key(arm),
            parts: all.iter().map(part).collect(),
            value: Cell::struck(value, reading.is_invalid(arm, meters[0])),
        }
    };
    let nouns: Vec<String> = meters.iter().map(|meter| noun(meter)).collect();
    Bars { caption: words::upper_first(&nouns.join(", then ")), rows: reading.arms().map(row).collect() }
}

fn round(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}

/// Where wall time went; none of a run without any.
pub(super) fn spent(reading: &Reading<'_>) -> Bars {
    let (total, spent) = (reading.bundle.results.duration_ns, reading.time_spent());
    let row = |name: String, key: String, ns: u64| {
        let share = (ns as f64 / total as f64 * 1000.0).round() / 10.0;
        let parts = vec![Part { from: 0.0, width: share, title: format!("{name}: {share:.1} %") }];
        let value = format!("{}, {share:.1} %", figures::span(ns)).into();
        Bar { name: Cell::keyed(name, key.clone()), key, value, parts }
    };
    let arms = spent.measuring.iter().map(|(arm, ns)| row(format!("measuring {arm}"), reading.key(arm), *ns));
    let between =
        row("between slices: starts, warm-up, draining".to_owned(), "arm-none".to_owned(), spent.between);
    let rows = if total == 0 { Vec::new() } else { arms.chain([between]).collect() };
    Bars { caption: "Where the time went: wall time of the run".to_owned(), rows }
}

/// The primary figure's changes on one scale; strata have scales of their own.
pub(super) fn effect(reading: &Reading<'_>) -> Section {
    let panels = forest(reading);
    let factors = if panels.iter().any(|panel| panel["factors"] == true) {
        "; steps of the scale are factors"
    } else {
        ""
    };
    let about = format!(
        "Change of {} against {} (both of its processes). The band is the margin of {}; the line in it is no change{factors}. \
         Intervals at {} for each look. {} is the same server once more: what it shows is noise.",
        reading.noun(reading.primary_meter()),
        baseline(reading),
        reading.margin(),
        level(reading),
        one_or(reading, "'", "The baseline with a prime"),
    );
    let section = Section::on_page("effect", "Effect with interval").nav("Effect").about(about);
    section.page(Block::Forest(panels)).absent("No effect could be computed.")
}

fn forest(reading: &Reading<'_>) -> Vec<Drawing> {
    let rows: Vec<&Comparison> = reading.judged().filter_map(|arm| reading.primary(arm)).collect();
    let on_a_scale = |caption: &str, arms: &dyn Fn(&str) -> bool| {
        let own = rows.iter().filter(|c| arms(&c.arm));
        let spreads: Vec<Spread> = own.filter_map(|c| spread(reading, c)).collect();
        panels(&spreads, "Arm", reading.bundle.results.margin.abs(), caption)
    };
    let strata = &reading.bundle.setup.strata;
    if strata.is_empty() {
        return on_a_scale("All arms", &|_| true);
    }
    let of = |stratum: &StratumSetup| {
        on_a_scale(&stratum.name, &|arm| stratum.arms.iter().any(|other| other == arm))
    };
    strata.iter().flat_map(of).collect()
}

/// `None` without an interval.
fn spread(reading: &Reading<'_>, c: &Comparison) -> Option<Spread> {
    let (low, high) = c.low.zip(c.high).filter(|(low, high)| low.is_finite() && high.is_finite())?;
    let change = Change::of(c);
    let is_floor = reading.is_twin(&c.arm) && c.verdict != Verdict::Invalid;
    Some(Spread {
        name: c.arm.clone(),
        key: reading.key(&c.arm),
        state: if is_floor { State::Floor } else { c.verdict.into() },
        at: c.effect.unwrap_or((low + high) / 2.0),
        low,
        high,
        said: [change.effect, change.interval],
        published: Vec::new(),
    })
}

/// The primary figure slice by slice, and its change round by round.
pub(super) fn rounds(reading: &Reading<'_>, data: &Data) -> Section {
    let primary = reading.noun(reading.primary_meter());
    let mut section = Section::on_page("rounds", "Over time").nav("Over time");
    if let Some(chart) = over_time(reading) {
        let subjects = &reading.bundle.setup.subjects;
        let keys = reading.arms().filter(|arm| subjects.contains_key(*arm)).map(|arm| named(reading, arm));
        section = section.page(Block::Keys(keys.collect())).page(Block::Charts(vec![chart]));
    }
    if !data.has_differences() {
        return section.page(Block::Absent(format!(
            "The primary figure, {primary}, has no value per round: it comes from the merged times of all rounds, or no round was completed."
        )));
    }
    let section = section.about(format!(
        "Paired change of {primary} in every round. The line is the estimate, the band about it its interval. Each plot has its own scale. A \
         drift or a step here says that the machine changed while it measured; hollow rounds came after the verdict and are not used."
    ));
    section.page(Block::Plots("plot-differences", "plots"))
}
