//! A suite: what its parts found, and all of them beside the published figures.

use crate::document::{Alarm, Block, Document, Head, Link, Section, State, Table};
use crate::experiment::{beside_on_page, reasons_to_doubt, verdicts};
use crate::figures::Change;
use crate::reading::Reading;
use crate::studies::stated;
use crate::{ReportInput, words};
use bakeoff_results::{Comparison, Results, StudySection};
use serde::Serialize;

/// The `schema` of a suite's `results.json`.
pub const SUITE_SCHEMA: &str = "bakeoff-suite/1";

/// All that a suite's report is made from.
#[derive(Clone, Debug)]
pub struct SuiteBundle {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub summary: String,
    /// Version of bakeoff that began it.
    pub bakeoff: String,
    /// Its parts, in their order.
    pub parts: Vec<PartBundle>,
}

/// A part of it.
#[derive(Clone, Debug)]
pub struct PartBundle {
    /// Its name, and that of its directory.
    pub name: String,
    /// Its plan, as the suite names it.
    pub plan: String,
    /// What came of it.
    pub found: PartOutcome,
}

/// What came of a part.
#[derive(Clone, Debug)]
pub enum PartOutcome {
    /// An experiment.
    Experiment(Box<ReportInput>),
    /// Something with a report that is not summed up here.
    Elsewhere,
    /// Nothing was measured.
    Nothing,
}

#[derive(Serialize)]
struct Whole<'a> {
    schema: &'static str,
    bakeoff: &'a str,
    name: &'a str,
    summary: &'a str,
    parts: Vec<Part<'a>>,
    studies: Vec<StudySection>,
}

#[derive(Serialize)]
struct Part<'a> {
    name: &'a str,
    plan: &'a str,
    /// Whether anything was measured.
    measured: bool,
    /// `results.json` of an experiment.
    results: Option<&'a Results>,
}

/// A suite's `results.json`: those of its parts in one object.
pub fn suite_json(suite: &SuiteBundle) -> String {
    let parts = suite.parts.iter().map(|part| Part {
        name: &part.name,
        plan: &part.plan,
        measured: part.measured(),
        results: part.experiment().map(|bundle| &bundle.results),
    });
    crate::json::pretty(&Whole {
        schema: SUITE_SCHEMA,
        bakeoff: &suite.bakeoff,
        name: &suite.name,
        summary: &suite.summary,
        parts: parts.collect(),
        studies: suite.studies(),
    })
}

/// Report of a suite: verdicts of its parts, then all of them beside the published figures. The page links to the parts' pages.
pub fn suite(suite: &SuiteBundle) -> Document {
    let extent = match suite.parts.len() {
        1 => "1 part".to_owned(),
        count => format!("{count} parts"),
    };
    let head = Head::of(&suite.name, &suite.summary, extent, "", &suite.bakeoff);
    let studies = suite.studies();
    let [warnings, warnings_in_terminal] = Section::warnings("Before you believe it", &suite.warnings());
    let mut sections = vec![suite.overview(), warnings];
    sections.extend(suite.parts.iter().map(section));
    for (at, study) in studies.iter().enumerate() {
        let page = beside_on_page(study).id(format!("study-{}", at + 1));
        sections.push(if at == 0 { page.nav("Published figures") } else { page });
        sections.extend(stated(study, &study.rows.iter().collect::<Vec<_>>()));
    }
    sections.push(warnings_in_terminal);
    Document::new(head, sections)
}

fn section(part: &PartBundle) -> Section {
    let said = part.without_verdicts();
    let reading = part.experiment().filter(|_| said.is_none()).map(Reading::of);
    let (line, before) = match &reading {
        Some(reading) => {
            let (title, extent) = (reading.title(), words::extent(&reading.bundle.results));
            (format!("{} ({extent})", words::lower_first(&title)), format!("{title} {extent};"))
        }
        None => (part.plan.clone(), String::new()),
    };
    let mut section = Section::new(part.name.as_str())
        .id(format!("part-{}", part.name))
        .nav(part.name.as_str())
        .always()
        .line(format!("{}: {line}", part.name))
        .page(part.link(before));
    if let Some(reading) = &reading {
        let results = &reading.bundle.results;
        if words::is_partial(results) {
            section = section.add(Block::Alarm(Alarm::partial(words::stopped_by(results))));
        }
        section = verdicts(section, reading);
    }
    section.notes(said.map(|said| format!("{}.", words::upper_first(said))))
}

fn overview_row(part: &str, reading: &Reading<'_>, found: &Comparison) -> [String; 7] {
    let change = Change::of(found);
    [
        part.to_owned(),
        found.arm.clone(),
        reading.noun(&found.meter).to_owned(),
        found.baseline.clone(),
        change.effect,
        change.interval,
        words::verdict(found.verdict),
    ]
}

impl SuiteBundle {
    /// Parts that are experiments and have results.
    fn measured(&self) -> impl Iterator<Item = (&PartBundle, Reading<'_>)> {
        self.parts.iter().filter_map(|part| Some((part, Reading::of(part.experiment()?))))
    }

    /// All verdicts in one table; the page alone has room for it.
    fn overview(&self) -> Section {
        let rows = self.measured().flat_map(|(part, reading)| {
            let found = reading.compared().filter_map(|arm| reading.primary(arm));
            found.map(|found| overview_row(&part.name, &reading, found)).collect::<Vec<_>>()
        });
        let head = ["Part", "Arm", "Figure", "Baseline", "Change", "Interval", "Verdict"];
        Section::on_page("overview", "All parts").nav("All parts").table(Table::new(head, rows).figures(0))
    }

    /// Warnings of all parts, each once with the parts that have it.
    fn warnings(&self) -> Vec<String> {
        let mut all: Vec<(String, Vec<&str>)> = Vec::new();
        for (part, reading) in self.measured() {
            for sentence in reasons_to_doubt(&reading) {
                match all.iter_mut().find(|(known, _)| *known == sentence) {
                    Some((_, parts)) => parts.push(&part.name),
                    None => all.push((sentence, vec![&part.name])),
                }
            }
        }
        let measured = self.measured().count();
        let named = |parts: &[&str]| match parts.len() == measured && parts.len() > 1 {
            true => "all parts".to_owned(),
            false => parts.join(", "),
        };
        all.iter().map(|(sentence, parts)| format!("{}: {sentence}", named(parts))).collect()
    }

    /// A section a study that parts name, with the rows of all of them whose arms were there.
    fn studies(&self) -> Vec<StudySection> {
        let mut all: Vec<StudySection> = Vec::new();
        for results in self.parts.iter().filter_map(PartBundle::experiment).map(|bundle| &bundle.results) {
            let Some(own) = &results.study else { continue };
            let is_there = |arm: &String| results.order.contains(arm);
            let rows = own.rows.iter().filter(|row| is_there(&row.arm) && is_there(&row.baseline)).cloned();
            match all.iter_mut().find(|known| known.name == own.name) {
                Some(known) => known.rows.extend(rows),
                None => all.push(StudySection { rows: rows.collect(), ..own.clone() }),
            }
        }
        all.retain(|section| !section.rows.is_empty());
        all
    }
}

impl PartBundle {
    fn experiment(&self) -> Option<&ReportInput> {
        match &self.found {
            PartOutcome::Experiment(bundle) => Some(bundle),
            PartOutcome::Elsewhere | PartOutcome::Nothing => None,
        }
    }

    fn measured(&self) -> bool {
        !matches!(self.found, PartOutcome::Nothing)
    }

    /// To its own report where there is one, from the suite's directory.
    fn link(&self, before: String) -> Block {
        if !self.measured() {
            return Block::Paragraph(self.plan.clone(), State::Plain);
        }
        let (address, label) = (format!("{}/report.html", self.name), "its report".to_owned());
        Block::Link(Link { before, address, label, after: String::new(), command: None })
    }

    /// What is said where there are no verdicts.
    const fn without_verdicts(&self) -> Option<&'static str> {
        match &self.found {
            PartOutcome::Experiment(bundle) if bundle.results.peak.is_some() => {
                Some("its peaks are in its own report")
            }
            PartOutcome::Experiment(_) => None,
            PartOutcome::Elsewhere => Some("its figures are in its own report"),
            PartOutcome::Nothing => Some("nothing was measured"),
        }
    }
}
