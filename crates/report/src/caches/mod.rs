//! The report of a bake-off of caches: verdicts, charts against the rate and over time, tables of each entrant, the
//! published figures.

mod charts;
mod downtime;
mod over_time;
mod passes;
mod points;
mod tables;
mod together;

use crate::document::{Alarm, Block, Card, Cell, Document, Head, Link, Section, State, Table};
use crate::{conformance, studies, words};
use bakeoff_caches::records::{End, IntervalLine, RunRecord};
use bakeoff_caches::results::{BakeoffResults, EntrantResults, FaultCount};
use bakeoff_plan::study::{self, Study};
use bakeoff_results::entrant::EntrantVerdict;
use points::is_judged;

/// Published tables that are set beside ours, in addition to those of the curves.
const TABLES: [&str; 2] = ["order", "rule"];
/// How a filled point differs from a hollow one.
const FILLED: &str = "A filled point passed by the rule of 1999: mean response time under its bound, hit ratio within a point of what was offered, request and reply rate within 1 % of what was asked. A hollow one did not.";

/// Report of a bake-off. `plan` is as it was run; `runs` and `intervals` are drawn over time.
pub fn caches(
    results: &BakeoffResults,
    plan: &str,
    runs: &[RunRecord],
    intervals: &[IntervalLine],
) -> Document {
    let flags = (!results.flags.is_empty()).then(|| results.flags.join(" "));
    let partial = (results.ended != End::Complete).then(|| Alarm::partial(&results.ended.to_string()));
    let extent = extent(results);
    let head = Head::of(&results.name, &results.title, extent, &results.started, &results.bakeoff);
    let head = Head { alarms: partial.into_iter().collect(), flags: flags.clone(), ..head };
    let study = published(results);
    let [warnings, warnings_in_terminal] = Section::warnings("Warnings", &results.warnings);
    let cards = results.entrants.iter().enumerate().map(|(at, entrant)| card(at, entrant)).collect();
    let mut sections = vec![
        Section::verdicts("What came of it").add(Block::Cards(cards)),
        warnings,
        together::section(results),
        against_the_rate(results, study.as_ref()),
        over_time(results, runs, intervals),
    ];
    sections.extend(results.entrants.iter().enumerate().map(|(at, entrant)| section(at, entrant)));
    sections.push(twice(results));
    sections.extend(results.conformance.as_ref().map(conformance::section));
    sections.extend(results.path.as_ref().map(tables::path));
    sections.extend(study.as_ref().map(beside));
    let facts = results.facts.iter().map(|fact| (fact.name.as_str(), fact.value.as_str()));
    sections.extend([
        Section::new("What the scale leaves as it is").bullets(&results.not_scaled),
        Section::new("Kept and modernised").bullets(&results.differs),
        warnings_in_terminal,
        Section::on_page("conditions", "Machine").nav("Conditions").entries(facts),
        Section::plan("To measure it again:", flags.as_deref(), plan),
    ]);
    Document::new(head, sections)
}

/// `4 entrants, the baseline twice, 10 rates, 2 passes, scale 1/60`
fn extent(results: &BakeoffResults) -> String {
    let caches = results.entrants.iter().filter(|entrant| entrant.second_of.is_none()).count();
    let points = || results.entrants.iter().flat_map(|entrant| &entrant.points);
    let rates = |entrant: &EntrantResults| entrant.points.chunk_by(|a, b| a.order == b.order).count();
    let rates = results.entrants.iter().map(rates).max().unwrap_or(0);
    let plural = |n: usize, word: &str| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") };
    let rates = match points().any(|point| point.rate_per_s.is_none()) {
        true => "best effort".to_owned(),
        false => plural(rates, "rate"),
    };
    let twice = if results.baselines.is_some() { ", the baseline twice" } else { "" };
    let passes = if results.passes > 1 { format!(", {} passes", results.passes) } else { String::new() };
    format!("{}{twice}, {rates}{passes}, scale {}", plural(caches, "entrant"), results.scale)
}

/// The published study that the plan names, of its tables those of the bake-off.
fn published(results: &BakeoffResults) -> Option<Study> {
    let mut study = study::find(results.study.as_deref()?).ok().flatten()?;
    let curves = std::mem::take(&mut study.curves);
    let of_curves = |id: &String| curves.iter().any(|curve| curve.tables.contains(id));
    study.tables.retain(|table| of_curves(&table.id) || TABLES.contains(&table.id.as_str()));
    study.curves = curves;
    Some(study)
}

/// As they were published.
fn beside(study: &Study) -> Section {
    let section = Section::new("Published figures").line("Published in 1999");
    let section = studies::published(section.id("published").nav("Published figures"), study);
    section.notes(study.missing.iter().cloned()).always()
}

/// In the colours that they have everywhere.
fn keys(results: &BakeoffResults) -> Block {
    let names = results.entrants.iter().enumerate();
    Block::Keys(names.map(|(at, entrant)| Cell::keyed(entrant.name.as_str(), words::key(at))).collect())
}

fn against_the_rate(results: &BakeoffResults, study: Option<&Study>) -> Section {
    let section = Section::on_page("rates", "Against the rate").nav("Against the rate");
    let judged = is_judged(results.entrants.iter().flat_map(|entrant| &entrant.points));
    let section = if judged { section.about(FILLED) } else { section };
    section.page(keys(results)).page(Block::Charts(charts::of(results, study)))
}

fn over_time(results: &BakeoffResults, runs: &[RunRecord], intervals: &[IntervalLine]) -> Section {
    let section = Section::on_page("time", "Over time").nav("Over time").page(keys(results)).about(
        "Every interval of the runs, warm-up and end among them, against the time since the run began; a line a run.",
    );
    let courses = over_time::courses(results, runs, intervals).into_iter().enumerate();
    let details = courses.map(|(at, (rate, charts))| Block::details(at == 0, rate, [Block::Charts(charts)]));
    details.fold(section, Section::page)
}

fn card(at: usize, entrant: &EntrantResults) -> Card {
    Card::new((&entrant.name, words::key(at)), look(entrant.verdict), &entrant.sentence)
}

/// The colour, sign and words of a verdict. Green is for those that are sound, and for no other.
const fn look(verdict: EntrantVerdict) -> (State, &'static str, &'static str) {
    match verdict {
        EntrantVerdict::Cheat => (State::Costs, "\u{2715}", "cheats"),
        EntrantVerdict::Leak => (State::Costs, "\u{2715}", "leaks"),
        EntrantVerdict::WrongContent => (State::Costs, "\u{2715}", "wrong replies"),
        EntrantVerdict::NotFinished => (State::Invalid, "?", "not finished"),
        EntrantVerdict::NotBack => (State::Costs, "\u{2715}", "not back"),
        EntrantVerdict::Fails => (State::Costs, "\u{2715}", "fails"),
        EntrantVerdict::BrokenOff => (State::Open, "\u{25cb}", "broken off"),
        EntrantVerdict::NoRate => (State::Open, "\u{25cb}", "no rate"),
        EntrantVerdict::Measured => (State::Open, "\u{25cb}", "measured"),
        EntrantVerdict::PassesWithFaults => (State::Open, "\u{25b2}", "passes, with faults"),
        EntrantVerdict::CameBack => (State::Fine, "\u{25b2}", "came back"),
        EntrantVerdict::Passes => (State::Fine, "\u{25b2}", "passes"),
    }
}

/// How it was prepared, its tables, and the first fault of each kind.
fn section(at: usize, entrant: &EntrantResults) -> Section {
    let name = &entrant.name;
    let (version, direct) = (version(entrant), "the origin itself, without a cache".to_owned());
    let title = version.as_ref().map_or_else(|| name.clone(), |version| format!("{name} {version}"));
    let what = version.or_else(|| entrant.is_direct().then_some(direct));
    let section = Section::new(title)
        .id(format!("entrant-{}", at + 1))
        .nav(name.as_str())
        .line(what.map_or_else(|| name.clone(), |what| format!("{name} ({what})")))
        .always()
        .notes(tables::preparation(entrant));
    let section = match &entrant.config {
        Some(config) => section.page(Block::Link(Link {
            before: "Configuration:".to_owned(),
            address: config.clone(),
            label: config.clone(),
            after: String::new(),
            command: None,
        })),
        None => section,
    };
    let first = |fault: &FaultCount| {
        let text = Block::Preformatted(fault.first.clone()?);
        Some(Block::details(false, format!("The first: {}", fault.label), [text]))
    };
    let firsts = entrant.faults.iter().chain(&entrant.errors).filter_map(first);
    firsts.fold(tables_of(entrant).into_iter().fold(section, Section::table), Section::page)
}

/// Those that have no row are not shown.
fn tables_of(entrant: &EntrantResults) -> [Table; 11] {
    [
        downtime::times(entrant),
        downtime::losses(entrant),
        tables::performance(entrant),
        passes::passes(entrant),
        tables::hit_ratios(entrant),
        tables::hits_and_misses(entrant),
        tables::pages(entrant),
        tables::in_gzip(entrant),
        tables::costs(entrant),
        tables::handshakes(entrant),
        tables::faults(entrant),
    ]
}

/// `squid 5.7`: a program's version without the name that stands before it.
fn version(entrant: &EntrantResults) -> Option<String> {
    let product = entrant.name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let said = entrant.version.as_deref()?;
    let bare = said.strip_prefix(product).filter(|rest| rest.starts_with(['/', ' ']));
    Some(bare.map_or(said, |rest| &rest[1..]).to_owned())
}

/// The baseline beside itself.
fn twice(results: &BakeoffResults) -> Section {
    let section = Section::new("The baseline, twice").id("twice").nav("The baseline, twice");
    let Some(noise) = passes::noise(results) else { return section };
    section.note(passes::TWICE).note(noise).table(passes::baselines(results))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn green_is_for_what_is_sound_and_for_nothing_else() {
        for verdict in EntrantVerdict::ALL {
            assert_eq!(look(verdict).0 == State::Fine, verdict.is_sound(), "{verdict:?}");
        }
    }
}
