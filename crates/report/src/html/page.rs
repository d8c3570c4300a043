//! What the template shows, in its order.

use super::bars::{self, Bars};
use super::chart::Chart;
use super::forest::{self, Panel};
use super::load_curve::{self, LoadChart};
use super::study::Beside;
use super::sweep;
use super::tables::{self, Group, Matrix};
use super::{curves::Curves, peak::View, plots};
use crate::figures;
use crate::reading::Reading;
use crate::sections::{self, Section};
use crate::{Bundle, peak, words};
use bakeoff_results::{Comparison, Fact};
use bakeoff_stats::Verdict;
use minijinja::Value;
use serde::Serialize;

pub(super) const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const PLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const PLOT_SCRIPT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const PLOT_LICENCE: &str = include_str!("../../assets/uplot/LICENSE");
const PLOT_VERSIONS: &str = include_str!("../../assets/uplot/VERSIONS");

/// Everything in the template.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    name: String,
    started: String,
    extent: String,
    load: String,
    bakeoff: String,
    baseline: String,
    twin: String,
    primary: String,
    margin: String,
    level: String,
    stopped_by: String,
    partial: bool,
    unreadable: usize,
    peak: Option<View>,
    verdicts: Vec<Card>,
    bars: Vec<Bars>,
    over_time: Option<Chart>,
    forest: Vec<Panel>,
    load_curve: Option<LoadChart>,
    sweeps: Vec<sweep::View>,
    has_factors: bool,
    has_differences: bool,
    has_curves: bool,
    has_shift: bool,
    has_machine: bool,
    sections: Vec<Section>,
    times: Vec<tables::Times>,
    resources: Option<Matrix>,
    comparisons: Vec<Group>,
    study: Option<Beside>,
    invalid: Vec<Fact>,
    warnings: Vec<String>,
    workload: Vec<Fact>,
    replies: Vec<tables::Replies>,
    skipped: Vec<Fact>,
    spent: Vec<tables::Spent>,
    plan: String,
    environment: Vec<Fact>,
    subjects: Vec<tables::Subject>,
    meters: Vec<Fact>,
    library: String,
    licence: &'static str,
    // Ours, hence not escaped.
    style: Value,
    script: Value,
    plot_style: Value,
    plot_script: Value,
    data: Value,
}

/// One arm's verdict.
#[derive(Serialize)]
pub(super) struct Card {
    arm: String,
    key: String,
    state: &'static str,
    glyph: &'static str,
    word: String,
    lead: String,
    rest: String,
    facts: Vec<String>,
}

impl Page {
    pub(super) fn of(bundle: &Bundle) -> Self {
        let reading = Reading::of(bundle);
        let curves = Curves::of(bundle);
        let data = plots::Data::of(&reading, &curves);
        let forest = forest::panels(&reading);
        let (results, setup) = (&bundle.results, &bundle.setup);
        let level = results.comparisons.iter().find(|c| c.primary).map_or(setup.level, |c| c.level);
        Self {
            title: results
                .peak
                .as_ref()
                .map_or_else(|| words::title(&reading), |_| peak::title(&results.order)),
            name: results.name.clone(),
            started: words::moment(&results.started),
            extent: match &results.peak {
                Some(peak) => peak::extent(results, peak),
                None => words::extent(results),
            },
            load: figures::decision_load(&reading),
            bakeoff: results.bakeoff.clone(),
            baseline: one_or(&reading, "", "the baseline of its stratum"),
            twin: one_or(&reading, "'", "The baseline with a prime"),
            primary: reading.noun(reading.primary_meter()).to_owned(),
            margin: reading.margin(),
            level: figures::level(level),
            stopped_by: words::stopped_by(results).to_owned(),
            partial: words::is_partial(results),
            unreadable: curves.unreadable,
            peak: results.peak.as_ref().map(|peak| View::of(&reading, peak)),
            verdicts: reading.judged().filter_map(|arm| Card::of(&reading, arm)).collect(),
            bars: bars::of(&reading),
            over_time: plots::over_time(&reading),
            load_curve: load_curve::chart(&reading),
            sweeps: sweep::views(&reading),
            has_factors: forest.iter().any(Panel::has_factors),
            forest,
            has_differences: data.has_differences(),
            has_curves: data.has_curves(),
            has_shift: data.has_shift(),
            has_machine: data.has_machine(),
            sections: sections::all(&reading),
            times: tables::times(&reading),
            resources: tables::resources(&reading),
            comparisons: tables::comparisons(&reading),
            study: results.study.as_ref().map(Beside::of),
            invalid: tables::invalid(&reading),
            warnings: results.warnings.iter().map(|warning| warning.sentence.clone()).collect(),
            workload: tables::workload(&reading),
            replies: tables::replies(&reading),
            skipped: tables::skipped(&reading),
            spent: tables::spent(&reading),
            plan: bundle.plan.clone(),
            environment: tables::environment(&reading),
            subjects: tables::subjects(&reading),
            meters: tables::meters(),
            library: PLOT_VERSIONS.lines().next().unwrap_or_default().to_owned(),
            licence: PLOT_LICENCE,
            style: Value::from_safe_string(STYLE.to_owned()),
            script: Value::from_safe_string(SCRIPT.to_owned()),
            plot_style: Value::from_safe_string(PLOT_STYLE.to_owned()),
            plot_script: Value::from_safe_string(PLOT_SCRIPT.to_owned()),
            data: Value::from_safe_string(data.embedded()),
        }
    }
}

/// The baseline with a mark behind it, or other words where each stratum has its own.
fn one_or(reading: &Reading<'_>, mark: &str, several: &str) -> String {
    match reading.bundle.setup.strata.as_slice() {
        [] => format!("{}{mark}", reading.baselines()),
        _ => several.to_owned(),
    }
}

impl Card {
    /// `None` for an arm of which nothing is known.
    pub(super) fn of(reading: &Reading<'_>, arm: &str) -> Option<Self> {
        let comparison = reading.primary(arm);
        let verdict = comparison.map_or(Verdict::Invalid, |c| c.verdict);
        let is_floor = reading.is_twin(arm) && verdict != Verdict::Invalid;
        let sentence = match comparison {
            Some(comparison) if reading.is_twin(arm) => words::noise_floor(comparison),
            Some(comparison) => words::headline(comparison),
            None => reading.invalid(arm)?.to_owned(),
        };
        let (state, glyph, word) = match is_floor {
            true => ("floor", "\u{2248}", "noise floor".to_owned()),
            false => (state(verdict), glyph(verdict), words::verdict(verdict)),
        };
        let (lead, rest) = apart(&sentence, &word);
        let (lead, rest) = (lead.to_owned(), rest.to_owned());
        let facts = comparison.map_or_else(Vec::new, facts);
        Some(Self { arm: arm.to_owned(), key: key(reading, arm), state, glyph, word, lead, rest, facts })
    }
}

/// What a sentence comes to, and how that is known: told in two sizes. The word beside it is not said again.
pub(super) fn apart<'s>(sentence: &'s str, word: &str) -> (&'s str, &'s str) {
    let said =
        sentence.trim_start_matches("the ").strip_prefix(word).and_then(|rest| rest.strip_prefix(": "));
    let said = said.unwrap_or(sentence);
    let ends = [": ", "; "].into_iter().filter_map(|end| said.find(end)).min();
    ends.map_or((said, ""), |end| (&said[..end], &said[end + 2..]))
}

/// What belongs beside a verdict and is in no sentence.
fn facts(c: &Comparison) -> Vec<String> {
    let mut facts: Vec<String> = (!c.beside.is_empty()).then(|| c.beside.clone()).into_iter().collect();
    if c.heavy_tails {
        facts.push("heavy tails: Hodges\u{2013}Lehmann estimate".to_owned());
    }
    if let (Some(sums), Some(low), Some(high)) = (c.ratio_of_sums, c.low, c.high)
        && !(low..=high).contains(&sums)
    {
        facts.push(format!("ratio of all sums {}, outside the interval", figures::percent(sums)));
    }
    facts
}

/// Style class of an arm: its colour everywhere on the page.
pub(super) fn key(reading: &Reading<'_>, arm: &str) -> String {
    const COLOURS: usize = 6;
    match reading.compared().position(|other| other == arm) {
        Some(place) => format!("arm-{}", place % COLOURS),
        None if reading.is_twin(arm) => "arm-twin".to_owned(),
        None => "arm-base".to_owned(),
    }
}

/// Style class of a verdict.
pub(super) fn state(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Costs => "costs",
        Verdict::Saves => "saves",
        Verdict::NoCost | Verdict::NotWorse => "fine",
        Verdict::NotResolved | Verdict::NoVerdict => "open",
        Verdict::Invalid => "invalid",
    }
}

/// A second sign beside colour and word.
pub(super) fn glyph(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Costs => "\u{25b2}",
        Verdict::Saves => "\u{25bc}",
        Verdict::NoCost => "=",
        Verdict::NotWorse => "\u{2264}",
        Verdict::NotResolved | Verdict::NoVerdict => "?",
        Verdict::Invalid => "\u{2715}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_leads_with_what_it_comes_to_and_never_says_its_word_twice() {
        let said =
            "costs 82 us CPU per request more than http (55..110): +80 % of http's 103 us; 11 s, 10 rounds";
        let (lead, rest) = apart(said, "costs");
        assert_eq!(lead, "costs 82 us CPU per request more than http (55..110)");
        assert_eq!(rest, "+80 % of http's 103 us; 11 s, 10 rounds");
        let (lead, rest) = apart("not resolved: -66 us (-333..+201); 37 s, 6 rounds", "not resolved");
        assert_eq!((lead, rest), ("-66 us (-333..+201)", "37 s, 6 rounds"));
        assert_eq!(apart("invalid: it was dead", "invalid"), ("it was dead", ""));
    }
}
