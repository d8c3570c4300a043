//! Price list: what layers cost on one machine, from runs of one or several days.
//!
//! Measuring side, cold, pure. Owns which runs belong into one list, and its form; `row` reads a run's rows, `page` shows
//! them. Nothing is chosen: a row that was measured on two days stands there twice.

mod page;
mod row;

pub use page::{prices, prices_json, prices_markdown};

use crate::ReportInput;
use crate::figures::{self, Change};
use crate::reading::Reading;
use crate::words;
use bakeoff_results::{Results, SubjectSetup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The `schema` of a list.
const SCHEMA: &str = "bakeoff-prices/1";

/// Warnings of a run beside which other work went on.
const BUSY: [&str; 2] = ["load-average", "other-run"];

/// Of the CPU time of a run's slices others on the same host may have had this share, as those of any virtual machine.
const MOST_STEAL: f64 = 0.01;

/// Beginning of a plan's comment that installs what it needs.
const INSTALL: &str = "Debian 12: ";

/// What layers cost on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriceList {
    /// Name and version of this form.
    schema: String,
    /// The machine, in words.
    machine: String,
    /// First and last day, `2026-11-28`.
    days: (String, String),
    /// Versions of what was measured, and of bakeoff.
    versions: BTreeSet<String>,
    /// How far two equal subjects differed in the run that is worst at it, a line a figure.
    noise: Vec<String>,
    /// Least and most of the machine's CPU that others used just before a run, in %.
    used: Option<(f64, f64)>,
    /// Lowest confidence level of an interval.
    level: f64,
    /// Runs that shared the machine with other work, in words.
    busy: Vec<String>,
    /// Rows of the same plan.
    families: Vec<PriceFamily>,
}

/// Rows of one plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PriceFamily {
    /// The plan's name.
    plan: String,
    /// Whether `bakeoff run PLAN` measures it.
    shipped: bool,
    /// What the plan asks: the comment on its first line.
    question: String,
    /// The command that installs what it needs, where the comment has one.
    install: Option<String>,
    /// How to read its rows: the comment behind that.
    about: String,
    rows: Vec<PriceRow>,
    /// What has no row or none that may be used, and why.
    notes: Vec<String>,
}

/// A layer's cost, or the price of one unit of something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PriceRow {
    /// The layer: what the plan says of the arm, else its name; of a price by the unit with the setting of the other factors.
    layer: String,
    /// What it is compared with, and that one's own figure; empty of a price by the unit.
    over: String,
    /// Day on which it was measured.
    day: String,
    /// The figure: `CPU per request`.
    figure: String,
    /// Its unit, as in the catalogue of meters.
    unit: String,
    /// Change in that unit.
    amount: Option<Estimate>,
    /// The same as a fraction of the baseline's figure.
    share: Option<Estimate>,
    /// The load, in words.
    at: String,
    /// The verdict's word; of a price by the unit the shape of its line.
    verdict: String,
    /// Seconds that would settle it: at least, and at most where that is known.
    needs_s: Option<(f64, Option<f64>)>,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Estimate {
    value: f64,
    low: f64,
    high: f64,
}

impl Estimate {
    /// Of numbers that are all there.
    fn of(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<Self> {
        let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
        Some(Self { value: finite(value)?, low: finite(low)?, high: finite(high)? })
    }
}

/// Reason why runs are not one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPriceList {
    /// There is no run.
    NoRun,
    /// A run has no costs: it looked for highest rates.
    Peaks(String),
    /// Two runs are of different machines, in words.
    Machines([String; 2]),
}

impl fmt::Display for NoPriceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRun => {
                f.write_str("no run was found; give directories of experiments, or of suites of them")
            }
            Self::Peaks(plan) => {
                write!(f, "{plan}: it looked for highest rates, and has no costs; leave it out")
            }
            Self::Machines([one, other]) => write!(
                f,
                "a price list is of one machine, and these runs are of two: {one}; {other}. Make a list of each"
            ),
        }
    }
}

impl PriceList {
    /// Joins runs into a list: plans in the order in which they are given, the rows of each by arm and day.
    ///
    /// # Errors
    /// The runs do not belong into one list.
    pub fn of(runs: &[ReportInput]) -> Result<Self, NoPriceList> {
        let mut runs: Vec<&ReportInput> = runs.iter().collect();
        let first = runs.first().ok_or(NoPriceList::NoRun)?;
        let machine = first.results.environment.machine();
        for run in &runs {
            let other = run.results.environment.machine();
            if run.results.peak.is_some() {
                return Err(NoPriceList::Peaks(run.results.name.clone()));
            }
            if other != machine {
                return Err(NoPriceList::Machines([machine, other]));
            }
        }
        let mut plans: Vec<&str> = Vec::new();
        for run in &runs {
            if !plans.contains(&run.results.name.as_str()) {
                plans.push(&run.results.name);
            }
        }
        runs.sort_by(|a, b| a.results.started.cmp(&b.results.started));
        let day = |run: Option<&&ReportInput>| run.map_or_else(String::new, |run| day(&run.results));
        let used = || runs.iter().filter_map(|run| used(&run.results));
        let levels = runs.iter().flat_map(|run| &run.results.comparisons).map(|c| c.level);
        Ok(Self {
            schema: SCHEMA.to_owned(),
            machine,
            days: (day(runs.first()), day(runs.last())),
            versions: runs.iter().flat_map(|run| versions(&run.results)).collect(),
            noise: noise(&runs),
            used: used().reduce(f64::min).zip(used().reduce(f64::max)),
            level: levels.fold(1.0, f64::min),
            busy: runs.iter().filter_map(|run| busy(run)).collect(),
            families: plans.iter().map(|plan| family(plan, &runs)).collect(),
        })
    }

    /// Runs that shared the machine with other work, a sentence each.
    pub fn busy(&self) -> &[String] {
        &self.busy
    }
}

fn family(plan: &str, runs: &[&ReportInput]) -> PriceFamily {
    let own: Vec<&ReportInput> = runs.iter().filter(|run| run.results.name == plan).copied().collect();
    let shipped = bakeoff_plan::shipped::plan(plan);
    // The newest words; and `--set` takes the comments out of the plan that a run stores.
    let stored = own.iter().rev().map(|run| run.plan.as_str());
    let mut texts = shipped.map(|plan| plan.text).into_iter().chain(stored);
    let text = texts.find(|text| text.starts_with('#')).unwrap_or_default();
    let comment = text.lines().filter(|line| !line.is_empty()).take_while(|line| line.starts_with('#'));
    let mut comment = comment.map(|line| line.trim_start_matches('#').trim());
    let question = comment.next().unwrap_or_default().to_owned();
    let (install, about): (Vec<&str>, Vec<&str>) = comment.partition(|line| line.starts_with(INSTALL));
    let mut rows: Vec<PriceRow> = own.iter().flat_map(|run| row::rows(&Reading::of(run))).collect();
    let order: Vec<(String, String)> = rows.iter().map(PriceRow::place).collect();
    rows.sort_by_key(|row| order.iter().position(|place| *place == row.place()));
    PriceFamily {
        plan: plan.to_owned(),
        shipped: shipped.is_some(),
        question,
        install: install.first().map(|line| line.trim_start_matches(INSTALL).to_owned()),
        about: about.join(" "),
        rows,
        notes: own.iter().flat_map(|run| row::notes(&Reading::of(run))).collect(),
    }
}

/// The day on which a run began.
fn day(results: &Results) -> String {
    results.started.chars().take_while(|c| *c != 'T').collect()
}

/// Share of the machine's CPU that others used just before a run, in %.
fn used(results: &Results) -> Option<f64> {
    results.environment.fact("cpu_used")?.split(' ').next()?.parse().ok()
}

fn versions(results: &Results) -> BTreeSet<String> {
    let of = |subject: &SubjectSetup| {
        let fronts = subject.fronts.iter().filter_map(|front| front.version.clone());
        fronts.chain(subject.version.clone()).collect::<Vec<_>>()
    };
    let own = format!("bakeoff {}", results.bakeoff);
    results.arms.values().flat_map(|arm| of(&arm.subject)).chain([own]).collect()
}

/// That other work went on beside a run.
fn busy(run: &ReportInput) -> Option<String> {
    let results = &run.results;
    let warned = BUSY.iter().find_map(|label| results.warnings.iter().find(|w| w.label == *label));
    let warned = warned.map(|found| found.sentence.split(": ").next().unwrap_or_default().to_owned());
    let cause = warned.or_else(|| stolen(run))?;
    Some(format!("{}, {}: {cause}", results.name, day(results)))
}

fn stolen(run: &ReportInput) -> Option<String> {
    let steal: f64 = run.slices.iter().map(|slice| slice.counters.host.steal).sum();
    let share = steal / run.slices.len().max(1) as f64;
    let said = || format!("the hypervisor gave {:.1} % of the CPU time to others", share * 100.0);
    (share > MOST_STEAL).then(said)
}

/// `CPU per request: -0.03 us (-0.25..+0.19) in waf`: the largest difference of each figure.
fn noise(runs: &[&ReportInput]) -> Vec<String> {
    let mut worst: Vec<(String, f64, String)> = Vec::new();
    for run in runs {
        let reading = Reading::of(run);
        for floor in run.setup.seconds().filter_map(|second| reading.primary(second)) {
            let Some(amount) = floor.amount.filter(|amount| amount.is_finite()).map(f64::abs) else {
                continue;
            };
            let (figure, change) = (reading.noun(&floor.meter).to_owned(), Change::amount(floor));
            let said = format!("{figure}: {} ({}) in {}", change.effect, change.interval, run.results.name);
            match worst.iter_mut().find(|(known, ..)| *known == figure) {
                Some(known) if known.1 < amount => *known = (figure, amount, said),
                Some(_) => (),
                None => worst.push((figure, amount, said)),
            }
        }
    }
    worst.into_iter().map(|(_, _, said)| said).collect()
}
