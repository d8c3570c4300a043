//! Selection of phases of a directory: by run, by entrant and rate, by phase.
//!
//! Measuring side, cold, pure. If nothing matches, the error lists what there is.

use crate::directory::StoredBakeoff;
use crate::records::{PhaseLine, RunPurpose, RunRecord};
use bakeoff_units::PerSecond;
use std::fmt::{self, Display};

/// Rates that differ by less, as a share, are one: `PerSecond` prints three digits.
const SAME_RATE: f64 = 0.005;

/// A selection of runs and phases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Number of the run, from 0.
    pub run: Option<usize>,
    /// Name of the entrant.
    pub entrant: Option<String>,
    /// The measured rate.
    pub rate: Option<PerSecond>,
    /// The phase; none: the measured ones.
    pub phase: Option<String>,
}

/// A selected phase.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'s> {
    /// Number of its run.
    pub number: usize,
    /// Its run.
    pub run: &'s RunRecord,
    /// The phase.
    pub line: &'s PhaseLine,
}

impl<'s> Chosen<'s> {
    /// Its run in a few words.
    pub const fn headline(&self) -> Headline<'s> {
        Headline { number: self.number, run: self.run }
    }
}

/// Reasons why nothing is selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingChosen {
    /// No run has ended.
    #[error("no run has ended in it")]
    NoRuns,
    /// No run matches.
    #[error("no such run; there are {0}")]
    NoSuchRun(String),
    /// No phase matches.
    #[error("no such phase; there are {0}")]
    NoSuchPhase(String),
    /// None of the phases was measured.
    #[error("no phase of it was measured; name one with --phase: there are {0}")]
    NotMeasured(String),
}

/// The selected phases, in the order of the runs. Without a named run: the phases whose figures are results.
///
/// # Errors
/// No phase matches; the error lists those that there are.
pub fn choose<'s>(stored: &'s StoredBakeoff, wanted: &Selection) -> Result<Vec<Chosen<'s>>, NothingChosen> {
    if stored.runs.is_empty() {
        return Err(NothingChosen::NoRuns);
    }
    let numbered = || stored.runs.iter().enumerate();
    let runs: Vec<(usize, &RunRecord)> =
        numbered().filter(|(number, run)| is_meant(*number, run, wanted)).collect();
    if runs.is_empty() {
        return Err(NothingChosen::NoSuchRun(list(numbered().map(|(number, run)| Headline { number, run }))));
    }
    let lines = || runs.iter().flat_map(|(_, run)| &run.phases);
    let of_wanted = |line: &PhaseLine| match &wanted.phase {
        Some(phase) => line.phase.phase == *phase,
        None => line.measured,
    };
    let mut chosen = Vec::new();
    for (number, run) in &runs {
        let lines = run.phases.iter().filter(|line| of_wanted(line));
        chosen.extend(lines.map(|line| Chosen { number: *number, run, line }));
    }
    if chosen.is_empty() {
        let named = lines().filter(|line| line.is_of_the_plan());
        // Several runs have the same phases; each is named once.
        let mut names: Vec<&str> = Vec::new();
        for name in named.map(|line| line.phase.phase.as_str()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let names = list(names.iter());
        return Err(if wanted.phase.is_some() {
            NothingChosen::NoSuchPhase(names)
        } else {
            NothingChosen::NotMeasured(names)
        });
    }
    Ok(chosen)
}

fn is_meant(number: usize, run: &RunRecord, wanted: &Selection) -> bool {
    if let Some(wanted) = wanted.run {
        return number == wanted;
    }
    let Some((_, measured)) = run.purpose.measured() else { return false };
    let of_rate =
        |rate: PerSecond| measured.is_some_and(|measured| (measured / rate.get() - 1.0).abs() < SAME_RATE);
    wanted.entrant.as_ref().is_none_or(|name| run.entrant.name == *name) && wanted.rate.is_none_or(of_rate)
}

fn list(words: impl Iterator<Item = impl Display>) -> String {
    words.map(|word| word.to_string()).collect::<Vec<_>>().join(", ")
}

/// Number, entrant and purpose of a run, and its pass if there are several.
#[derive(Clone, Copy, Debug)]
pub struct Headline<'s> {
    /// Its number.
    pub number: usize,
    /// The run.
    pub run: &'s RunRecord,
}

impl Display for Headline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} ({}, ", self.number, self.run.entrant.name)?;
        let rate = |rate: f64| PerSecond::new(rate).map_or_else(|| rate.to_string(), |rate| rate.to_string());
        match &self.run.purpose {
            RunPurpose::Path { robots } => write!(f, "the way with {robots} robots"),
            RunPurpose::Fill => f.write_str("fill"),
            RunPurpose::Trial { rate_per_s, confirming: false, .. } => {
                write!(f, "trial at {}", rate(*rate_per_s))
            }
            RunPurpose::Trial { rate_per_s, .. } => write!(f, "a minute at {}", rate(*rate_per_s)),
            RunPurpose::Rate { rate_per_s, .. } => write!(f, "{}", rate(*rate_per_s)),
            RunPurpose::BestEffort => f.write_str("best effort"),
        }?;
        match self.run.pass {
            Some(pass) => write!(f, ", pass {pass})"),
            None => f.write_str(")"),
        }
    }
}
