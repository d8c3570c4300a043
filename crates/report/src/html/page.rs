//! What the template shows, in its order.

use super::forest::{self, Panel};
use super::study::Beside;
use super::tables::{self, Group, Matrix};
use super::{curves::Curves, peak::View, plots};
use crate::figures::{self, Change};
use crate::reading::Reading;
use crate::sections::{self, Section};
use crate::{Bundle, peak, words};
use bakeoff_experiment::results::{Comparison, Fact};
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
    beside_verdicts: Vec<String>,
    verdicts: Vec<Card>,
    forest: Vec<Panel>,
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
struct Card {
    arm: String,
    key: String,
    state: &'static str,
    glyph: &'static str,
    word: String,
    sentence: String,
    effect: String,
    interval: String,
    struck: bool,
    facts: Vec<String>,
}

impl Page {
    pub(super) fn of(bundle: &Bundle) -> Self {
        let reading = Reading::of(bundle);
        let curves = Curves::of(bundle);
        let data = plots::Data::of(&reading, &curves);
        let (results, setup) = (&bundle.results, &bundle.setup);
        let level = results.comparisons.iter().find(|c| c.primary).map_or(setup.level, |c| c.level);
        Self {
            title: results
                .peak
                .as_ref()
                .map_or_else(|| words::title(&reading), |_| peak::title(&results.order)),
            name: results.name.clone(),
            started: results.started.clone(),
            extent: match &results.peak {
                Some(peak) => peak::extent(results, peak),
                None => words::extent(results),
            },
            load: results.load.clone(),
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
            beside_verdicts: reading.beside_verdicts().map(str::to_owned).collect(),
            verdicts: reading.judged().filter_map(|arm| Card::of(&reading, arm)).collect(),
            forest: forest::panels(&reading),
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
    fn of(reading: &Reading<'_>, arm: &str) -> Option<Self> {
        let Some(comparison) = reading.primary(arm) else {
            return Some(Self::without_figures(reading, arm, reading.invalid(arm)?));
        };
        // The amount first; the share stands in the small print, and in the sentence.
        let change = Change::amount(comparison);
        let twin = reading.is_twin(arm);
        let floor = twin && comparison.verdict != Verdict::Invalid;
        Some(Self {
            arm: arm.to_owned(),
            key: key(reading, arm),
            state: if floor { "floor" } else { state(comparison.verdict) },
            glyph: if floor { "\u{2248}" } else { glyph(comparison.verdict) },
            word: if floor { "noise floor".to_owned() } else { words::verdict(comparison.verdict) },
            sentence: if twin { words::noise_floor(comparison) } else { words::headline(comparison) },
            effect: shown(&change.effect),
            interval: shown(&change.interval),
            struck: comparison.verdict == Verdict::Invalid,
            facts: if comparison.rounds == 0 { Vec::new() } else { facts(reading, comparison) },
        })
    }

    fn without_figures(reading: &Reading<'_>, arm: &str, reason: &str) -> Self {
        Self {
            arm: arm.to_owned(),
            key: key(reading, arm),
            state: state(Verdict::Invalid),
            glyph: glyph(Verdict::Invalid),
            word: words::verdict(Verdict::Invalid),
            sentence: format!("invalid: {reason}"),
            effect: String::new(),
            interval: String::new(),
            struck: true,
            facts: Vec::new(),
        }
    }
}

/// The small print of a verdict: what it was in figures, and how much these rounds could tell.
fn facts(reading: &Reading<'_>, c: &Comparison) -> Vec<String> {
    let value = |x: f64| typeset(&figures::value(&c.unit, x));
    let noun = words::noun(reading.kind(), &c.meter);
    let share = Change::of(c);
    let mut facts = vec![
        format!("{} {noun} against {}", value(c.value), value(c.baseline_value)),
        format!("{} ({})", typeset(&share.effect), typeset(&share.interval)),
    ];
    facts.extend((!c.beside.is_empty()).then(|| typeset(&c.beside)));
    facts.push(format!("{} rounds", figures::count(c.rounds.into())));
    if figures::times_noise(c).is_some() {
        facts.push(format!("{} times the noise", figures::times_noise_text(c)));
    }
    if let Some(seen) = c.smallest_detectable {
        facts.push(format!("smallest visible effect {}", figures::share(seen)));
    }
    if c.heavy_tails {
        facts.push("heavy tails: Hodges\u{2013}Lehmann estimate".to_owned());
    }
    if let (Some(sums), Some(low), Some(high)) = (c.ratio_of_sums, c.low, c.high)
        && !(low..=high).contains(&sums)
    {
        facts.push(format!("ratio of all sums {}, outside the interval", typeset(&figures::percent(sums))));
    }
    facts
}

/// A figure in large type: nothing where there is none.
fn shown(figure: &str) -> String {
    if figure == figures::NONE { String::new() } else { typeset(figure) }
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

/// Our own figures with the signs that paper has: minus, micro, and a range in words.
pub(super) fn typeset(figure: &str) -> String {
    let text = figure.replace("..", " to ").replace(" us", " \u{b5}s");
    let mut set = String::with_capacity(text.len() + 4);
    let mut last = ' ';
    for c in text.chars() {
        let sign = c == '-' && !last.is_alphanumeric() && text.len() > 1;
        set.push(if sign { '\u{2212}' } else { c });
        last = c;
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_typeset_and_hyphens_kept() {
        assert_eq!(typeset("-0.3..+1.2 %"), "\u{2212}0.3 to +1.2 %");
        assert_eq!(typeset("13 us"), "13 \u{b5}s");
        assert_eq!(typeset("x-forwarded"), "x-forwarded");
        assert_eq!(typeset("-"), "-");
    }
}
