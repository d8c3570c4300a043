//! The report of an experiment: verdicts, the figures behind them, and how they came about.

mod curves;
mod differs;
mod drawings;
pub(crate) mod handshakes;
mod load_chart;
mod load_curve;
mod operations;
mod plots;
mod populations;
mod sections;
mod statuses;
mod study;
mod sweep;
mod sweep_chart;
mod tables;
mod terminal;

pub(crate) use sections::letters;
pub(crate) use study::beside_on_page;
pub(crate) use tables::{machine, plan, workload};

use crate::document::{Alarm, Block, Card, Document, Entry, Head, Section, Shown, State};
use crate::reading::Reading;
use crate::{ReportInput, figures, studies, words};
use bakeoff_experiment::environment;
use bakeoff_results::Comparison;
use bakeoff_stats::Verdict;
use curves::Curves;
use plots::Data;

/// The document of an experiment that is no search for peaks.
pub(crate) fn document(bundle: &ReportInput) -> Document {
    let reading = Reading::of(bundle);
    let curves = Curves::of(bundle);
    let data = Data::of(&reading, &curves);
    let mut head = head(&reading, &reading.title(), words::extent(&bundle.results));
    if curves.unreadable > 0 {
        let why = format!("the stored times of {} slices cannot be read.", curves.unreadable);
        head.alarms.push(Alarm::incomplete(why));
    }
    Document::new(head, sections(&reading, &data)).with_plots(data.json())
}

/// The data of a page on which nothing is drawn by the script.
pub(crate) fn no_plots() -> String {
    Data::default().json()
}

/// `title` is a question, which goes on a line in the terminal.
pub(crate) fn head(reading: &Reading<'_>, title: &str, extent: String) -> Head {
    let results = &reading.bundle.results;
    let partial = words::is_partial(results).then(|| Alarm::partial(words::stopped_by(results)));
    Head {
        line: format!("{}: {}", results.name, words::lower_first(title)),
        load: reading.decision_load(),
        command: reading.bundle.setup.command_line.clone(),
        alarms: partial.into_iter().collect(),
        ..Head::of(&results.name, title, extent, &results.started, &results.bakeoff)
    }
}

/// In reading order: the terminal and the page have their own figures, and sections of the method in common.
fn sections(reading: &Reading<'_>, data: &Data) -> Vec<Section> {
    let [warnings, warnings_in_terminal] = warnings(reading);
    let invalid: Vec<Entry> = reading
        .invalid_reasons()
        .into_iter()
        .map(|(what, why)| Entry::new(what, why).state(State::Invalid))
        .collect();
    let mut all = vec![
        verdicts(Section::verdicts("Verdicts"), reading),
        says(reading),
        warnings,
        drawings::figures(reading),
        differs::section(reading),
        Section::on_page("invalid", "What was invalid")
            .about("These are shown struck through and must not be used.")
            .entries(invalid.clone()),
        drawings::effect(reading),
        terminal::primary(reading),
        terminal::resolution(reading),
        terminal::per_arm(reading),
        load_chart::section(reading),
        sweep_chart::section(reading),
    ];
    all.extend(sections::all(reading));
    all.extend([
        terminal::exploratory(reading),
        drawings::rounds(reading, data),
        tables::times(reading, data),
        tables::resources(reading, data),
        tables::comparisons(reading),
    ]);
    let results = &reading.bundle.results;
    if let Some(section) = &results.study {
        all.push(beside_on_page(section).id("study").nav("Published figures"));
        all.extend(studies::beside(&results.workload.kind, section, &results.order));
    }
    all.extend([
        terminal::failures(reading),
        Section::in_terminal("Invalid: figures in (brackets) must not be used").entries(invalid),
        warnings_in_terminal,
        terminal::extent(reading),
        terminal::conditions(reading),
        workload(reading),
        plan(reading, &words::extent(results)),
        machine(reading),
    ]);
    all
}

/// What makes one doubt: on the page's first screen, and in the terminal where the second stands.
pub(crate) fn warnings(reading: &Reading<'_>) -> [Section; 2] {
    Section::warnings("Before you believe it", &reasons_to_doubt(reading))
}

/// Warnings, those of the run before those of its machine, as few are read.
pub(crate) fn reasons_to_doubt(reading: &Reading<'_>) -> Vec<String> {
    let warnings = &reading.bundle.results.warnings;
    let (of_machine, of_run): (Vec<_>, Vec<_>) =
        warnings.iter().partition(|warning| environment::is_check(&warning.label));
    of_run.into_iter().chain(of_machine).map(|warning| warning.sentence.clone()).collect()
}

/// A sentence an arm, or why there is none.
pub(crate) fn verdicts(section: Section, reading: &Reading<'_>) -> Section {
    let cards: Vec<Card> = reading.judged().filter_map(|arm| card(reading, arm)).collect();
    let section = match cards.is_empty() {
        true => nothing_judged(section, reading),
        false => section.add(Block::Cards(cards)),
    };
    let statuses = statuses::statuses(reading).map(|said| Block::Paragraph(said, State::Plain));
    statuses.into_iter().fold(section, Section::add)
}

/// What the arms are, where the plan says so.
fn says(reading: &Reading<'_>) -> Section {
    let subjects = &reading.bundle.setup.subjects;
    let own = |arm: &str| Some((arm.to_owned(), subjects.get(arm)?.says.clone()?));
    let arms = reading.arms().filter(|arm| !reading.is_twin(arm));
    Section::new("Arms").id("arms").entries(arms.filter_map(own))
}

fn nothing_judged(section: Section, reading: &Reading<'_>) -> Section {
    let why = match reading.bundle.results.rounds {
        0 => "No verdict: no round was completed, so nothing can be compared.",
        _ => "No verdict: there are too few usable rounds.",
    };
    let on_page = "No verdict: no complete round, or too few usable ones, so nothing can be compared.";
    let section = section.terminal(Block::Paragraph(why.to_owned(), State::Plain));
    section.page(Block::Paragraph(on_page.to_owned(), State::Open))
}

/// An arm's verdict; `None` where nothing is known of it. In the terminal the noise floor stands beside each arm, and by
/// itself where it stands beside none.
fn card(reading: &Reading<'_>, arm: &str) -> Option<Card> {
    let (comparison, is_twin) = (reading.primary(arm), reading.is_twin(arm));
    let verdict = comparison.map_or(Verdict::Invalid, |c| c.verdict);
    let sentence = match comparison {
        Some(comparison) if is_twin => words::noise_floor(comparison),
        Some(comparison) => words::headline(comparison),
        None => format!("invalid: {}", reading.invalid(arm)?),
    };
    let word = words::verdict(verdict);
    let look = match is_twin && verdict != Verdict::Invalid {
        true => (State::Floor, "\u{2248}", "noise floor"),
        false => (State::from(verdict), glyph(verdict), word.as_str()),
    };
    let mut card = Card::new((arm, reading.key(arm)), look, &sentence);
    if let Some(comparison) = comparison {
        card.facts = facts(comparison);
        match is_twin {
            true => card.facts.insert(0, comparison.beside.clone()),
            false => card.beside.clone_from(&comparison.beside),
        }
        card.facts.retain(|fact| !fact.is_empty());
        let is_told = |other| reading.primary(other).is_some_and(|c| !c.beside.is_empty());
        if is_twin && reading.compared().any(is_told) {
            card.shown = Shown::Page;
        }
    }
    Some(card)
}

/// What belongs beside a verdict and is in no sentence.
fn facts(c: &Comparison) -> Vec<String> {
    let tails = c.heavy_tails.then(|| "heavy tails: Hodges\u{2013}Lehmann estimate".to_owned());
    let sums = c.ratio_of_sums.zip(c.low.zip(c.high)).and_then(|(sums, (low, high))| {
        let outside = !(low..=high).contains(&sums);
        outside.then(|| format!("ratio of all sums {}, outside the interval", figures::percent(sums)))
    });
    tails.into_iter().chain(sums).collect()
}

/// A second sign beside colour and word.
fn glyph(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Costs => "\u{25b2}",
        Verdict::Saves => "\u{25bc}",
        Verdict::NoCost => "=",
        Verdict::NotWorse => "\u{2264}",
        Verdict::NotResolved | Verdict::NoVerdict => "?",
        Verdict::Invalid => "\u{2715}",
    }
}

/// The baseline with a mark behind it, or other words where each stratum has its own.
fn one_or(reading: &Reading<'_>, mark: &str, several: &str) -> String {
    match reading.bundle.setup.strata.as_slice() {
        [] => format!("{}{mark}", reading.baselines()),
        _ => several.to_owned(),
    }
}

/// What all arms are compared with.
fn baseline(reading: &Reading<'_>) -> String {
    one_or(reading, "", "the baseline of its stratum")
}

/// Confidence of each look.
fn level(reading: &Reading<'_>) -> String {
    let primary = reading.bundle.results.comparisons.iter().find(|c| c.primary);
    figures::level(primary.map_or(reading.bundle.setup.level, |c| c.level))
}
