//! A suite: what its parts found, and all of them beside the published figures.

use crate::Bundle;
use bakeoff_results::Results;
use bakeoff_results::StudySection;
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
    pub found: Found,
}

/// What came of a part.
#[derive(Clone, Debug)]
pub enum Found {
    /// An experiment.
    Experiment(Box<Bundle>),
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

impl SuiteBundle {
    /// A section a study that parts name, with the rows of all of them whose arms were there.
    pub(crate) fn studies(&self) -> Vec<StudySection> {
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
    pub(crate) fn experiment(&self) -> Option<&Bundle> {
        match &self.found {
            Found::Experiment(bundle) => Some(bundle),
            Found::Elsewhere | Found::Nothing => None,
        }
    }

    pub(crate) fn measured(&self) -> bool {
        !matches!(self.found, Found::Nothing)
    }

    /// Where its own report is, from the suite's directory.
    pub(crate) fn page(&self) -> String {
        format!("{}/report.html", self.name)
    }

    /// What is said where there are no verdicts.
    pub(crate) const fn without_verdicts(&self) -> Option<&'static str> {
        match &self.found {
            Found::Experiment(bundle) if bundle.results.peak.is_some() => {
                Some("its peaks are in its own report")
            }
            Found::Experiment(_) => None,
            Found::Elsewhere => Some("its figures are in its own report"),
            Found::Nothing => Some("nothing was measured"),
        }
    }
}
