//! The parts of a report that come and go with the method: factors, prices, first uses, proof,
//! steadiness, groups.
//!
//! Cold, pure. One place says what each part is called and holds; the terminal and the page show
//! them alike, and leave out what a run does not have.

use crate::figures;
use crate::handshakes;
use crate::reading::Reading;
use crate::words;
use crate::{load_curve, operations, populations, sweep};
use bakeoff_results::{AmountEstimate, ArmResult, Comparison, Estimate, StratumSetup};
use bakeoff_stats::{Amounts, change_in_words, per_second};
use serde::Serialize;
use std::collections::BTreeMap;

/// So many arms, the baseline among them, are a bake-off.
const MANY: usize = 3;

/// A part of the report.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    /// What to know before reading it.
    pub(crate) note: String,
    pub(crate) table: Option<Table>,
    /// Name and sentence.
    pub(crate) entries: Vec<(String, String)>,
}

/// Figures in columns; the first column names the row.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// So many columns after the first hold numbers.
    pub(crate) figures: usize,
}

/// A row an arm of what is told by itself, a kind of operation or a population: its name stands in the first, and what must not
/// be used is marked, as everywhere in the terminal. Arms without cells have no row.
pub(crate) fn rows_of(
    reading: &Reading<'_>,
    name: &str,
    cells: impl Fn(&str) -> Option<Vec<String>>,
) -> Vec<Vec<String>> {
    let row = |arm: &str| {
        let mut cells = cells(arm)?;
        if reading.invalid(arm).is_some() {
            cells.iter_mut().filter(|cell| !cell.is_empty()).for_each(|cell| *cell = format!("({cell})"));
        }
        Some([String::new(), arm.to_owned()].into_iter().chain(cells).collect())
    };
    let mut rows: Vec<Vec<String>> = reading.arms().filter_map(row).collect();
    rows.first_mut().into_iter().for_each(|row| name.clone_into(&mut row[0]));
    rows
}

/// All parts that this run has, in reading order.
pub(crate) fn all(reading: &Reading<'_>) -> Vec<Section> {
    [
        load_curve::section(reading),
        strata(reading),
        bake_off(reading),
        operations::times(reading),
        operations::cpu(reading),
        operations::sides(reading),
        operations::steps(reading),
        layer(reading),
        fronts(reading),
        programs(reading),
        refused(reading),
        populations::got(reading),
        populations::changes(reading),
        sweep::section(reading),
        main_effects(reading),
        interactions(reading),
        prices(reading),
        first_uses(reading),
        handshakes::section(reading),
        spread(reading),
        steady(reading),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn arms<'b>(reading: &Reading<'b>, pick: impl Fn(&'b ArmResult) -> Option<String>) -> Vec<(String, String)> {
    reading.arms().filter_map(|arm| Some((arm.to_owned(), pick(reading.arm(arm)?)?))).collect()
}

fn with_entries(title: &'static str, note: &str, entries: Vec<(String, String)>) -> Option<Section> {
    (!entries.is_empty()).then(|| Section { title, note: note.to_owned(), entries, table: None })
}

/// What is compared with what, where there is more than one baseline.
fn strata(reading: &Reading<'_>) -> Option<Section> {
    let row = |stratum: &StratumSetup| {
        let compared = stratum.arms.iter().filter(|arm| !reading.is_baseline(arm) && !reading.is_twin(arm));
        let compared: Vec<&str> = compared.map(String::as_str).collect();
        vec![stratum.name.clone(), stratum.baseline.clone(), compared.join(", ")]
    };
    let rows: Vec<Vec<String>> = reading.bundle.setup.strata.iter().map(row).collect();
    let note = "Each arm is compared with the baseline of its own stratum: what it has in common with it costs nothing here.";
    let table = Table { head: vec!["stratum", "baseline", "compared with it"], rows, figures: 0 };
    (!table.rows.is_empty()).then(|| Section {
        title: "Strata",
        note: note.to_owned(),
        table: Some(table),
        entries: Vec::new(),
    })
}

/// Many arms in one table, stratum by stratum from the cheapest to the dearest.
fn bake_off(reading: &Reading<'_>) -> Option<Section> {
    let results = &reading.bundle.results;
    let mut names: Vec<&str> = reading.arms().filter(|arm| !reading.is_twin(arm)).collect();
    if names.len() < MANY
        || (reading.kind() == "command" || bakeoff_meter::catalogue::makes_operations(reading.kind()))
    {
        return None;
    }
    let primary = reading.primary_meter();
    let figure = |arm: &str| reading.figure(arm, primary).unwrap_or(f64::INFINITY);
    let baselines: Vec<&str> = reading.bundle.setup.baselines().collect();
    let stratum = |arm: &str| baselines.iter().position(|baseline| *baseline == reading.baseline_of(arm));
    names.sort_by(|a, b| stratum(a).cmp(&stratum(b)).then(figure(a).total_cmp(&figure(b))));
    let letters = letters(&results.groups);
    let shown = |arm: &str, meter: &str| match reading.is_invalid(arm, meter) {
        true => "invalid".to_owned(),
        false => reading.shown(arm, meter),
    };
    let row = |arm: &&str| {
        let change = reading.primary(arm).map_or("baseline".to_owned(), |c| figures::Change::of(c).effect);
        let failed = reading
            .arm(arm)
            .map_or(0.0, |a| a.errors.values().sum::<u64>() as f64 / a.requests.max(1) as f64);
        vec![
            (*arm).to_owned(),
            shown(arm, primary),
            change,
            shown(arm, "replies_per_second"),
            shown(arm, "response_p50"),
            shown(arm, "response_p99"),
            figures::share(failed),
            letters.get(*arm).cloned().unwrap_or_default(),
        ]
    };
    let short = reading.short(primary);
    let head = vec!["arm", "cost", "change", "replies/s", "p50", "p99", "failed", "group"];
    let table = Table { head, rows: names.iter().map(row).collect(), figures: 6 };
    let note = format!(
        "The cost is {short}. Arms with a common letter are shown to be equal within {}, each with each; arms without one \
         are not thereby different.",
        figures::share(results.margin)
    );
    Some(Section {
        title: match baselines.len() {
            1 => "Bake-off: from the cheapest to the dearest",
            _ => "Bake-off, stratum by stratum",
        },
        note,
        table: Some(table),
        entries: Vec::new(),
    })
}

/// The letters of each arm's groups; groups of one have none.
pub(crate) fn letters(groups: &[Vec<String>]) -> BTreeMap<String, String> {
    let mut letters: BTreeMap<String, String> = BTreeMap::new();
    let shared = groups.iter().filter(|group| group.len() > 1);
    for (group, letter) in shared.zip(('a'..='z').chain('A'..='Z')) {
        group.iter().for_each(|arm| letters.entry(arm.clone()).or_default().push(letter));
    }
    letters
}

/// What was refused in the ways that the workload names, where anything was.
fn refused(reading: &Reading<'_>) -> Option<Section> {
    if !reading.arms().any(|arm| reading.arm(arm).is_some_and(|arm| !arm.refused.is_empty())) {
        return None;
    }
    let row = |name: &str| {
        let by = reading.arm(name).map(|arm| words::tally(arm.refused.iter())).unwrap_or_default();
        let figures = ["refused", "refused_per_second", "replies_per_second", "subject_cpu_per_reply"];
        let figures = figures.map(|meter| reading.shown(name, meter));
        std::iter::once(name.to_owned()).chain(figures).chain([by]).collect()
    };
    let head = vec!["arm", "refused", "refusals/s", "replies/s", "CPU/served", "by"];
    let table = Table { head, rows: reading.arms().map(row).collect(), figures: 4 };
    let note =
        "A refusal is no reply and no failure; CPU is of all requests, divided by those that were served.";
    Some(Section { title: "Refused", note: note.to_owned(), table: Some(table), entries: Vec::new() })
}

/// What stands before servers, where anything does: whose CPU it was, and what came from a store.
fn fronts(reading: &Reading<'_>) -> Option<Section> {
    let has_front = |arm: &str| reading.arm(arm).is_some_and(|arm| !arm.subject.fronts.is_empty());
    if !reading.arms().any(has_front) {
        return None;
    }
    let meters = [
        "subject_cpu_per_request",
        "front_cpu_per_request",
        "server_cpu_per_request",
        "hit_ratio",
        "byte_hit_ratio",
    ];
    let row = |arm: &str| {
        let cells = meters.iter().map(|meter| reading.shown(arm, meter));
        std::iter::once(arm.to_owned()).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = reading.arms().map(row).collect();
    let told = match reading.arms().any(|arm| reading.figure(arm, "hit_ratio").is_some()) {
        true => {
            "Hits are told by numbers that the server behind gives its replies, not by what a product says of itself."
        }
        false => {
            "Hits are not told: the server behind gives its replies no numbers, as the built-in origin does."
        }
    };
    let note =
        format!("CPU of an arm is that of all that stands before its server and of the server. {told}");
    let head = vec!["arm", "CPU/request", "front", "server", "hits", "bytes from store"];
    let table = Table { head, rows, figures: 5 };
    let entries = arms(reading, |arm| {
        let all: Vec<String> = arm
            .subject
            .fronts
            .iter()
            .map(|front| front.version.clone().unwrap_or_else(|| front.front.clone()))
            .collect();
        (!all.is_empty()).then(|| format!("{}, before {}", all.join(" before "), arm.subject.server))
    });
    Some(Section { title: "In front", note, table: Some(table), entries })
}

/// Layers' programs in the kernel, where a layer tells what they use.
fn programs(reading: &Reading<'_>) -> Option<Section> {
    let meters = ["program_ns", "program_runs", "subject_cpu_per_request", "path_cpu_per_request"];
    let tells = |arm: &&str| meters[..2].iter().any(|meter| reading.figure(arm, meter).is_some());
    let row = |arm: &str| {
        let cells = meters.iter().map(|meter| reading.shown(arm, meter));
        std::iter::once(arm.to_owned()).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = reading.arms().filter(tells).map(row).collect();
    let note = "What layers count of their own programs, per request, beside CPU as the machine counts it: the path's has theirs \
                in it. Without a time the kernel kept no account of it.";
    let head = vec!["arm", "programs", "runs", "CPU/request", "path CPU"];
    let table = Table { head, rows, figures: 4 };
    (!table.rows.is_empty()).then(|| Section {
        title: "Programs in the kernel",
        note: note.to_owned(),
        table: Some(table),
        entries: Vec::new(),
    })
}

/// Whether the layer was on, and what it noticed.
fn layer(reading: &Reading<'_>) -> Option<Section> {
    let mut entries = arms(reading, |arm| {
        let proof = arm.proof.as_ref()?;
        let state = if proof.active { "on" } else { "OFF" };
        let words = if proof.words.is_empty() { String::new() } else { format!(" ({})", proof.words) };
        Some(format!("layer {state}, enforcement {}{words}", proof.enforcement))
    });
    entries.extend(arms(reading, |arm| Some(arm.violations.as_ref()?.sentence.clone())));
    let mut section = with_entries("Proof of work", "", entries)?;
    let rows: Vec<Vec<String>> = reading
        .arms()
        .filter_map(|name| {
            let v = reading.arm(name)?.violations.as_ref()?;
            let counts = [v.planted, v.detected, v.missed, v.false_alarms].map(figures::count);
            Some(std::iter::once(name.to_owned()).chain(counts).collect())
        })
        .collect();
    if !rows.is_empty() {
        let head = vec!["arm", "violations", "detected", "missed", "false"];
        section.table = Some(Table { head, rows, figures: 4 });
    }
    Some(section)
}

fn change(estimate: Option<&Estimate>) -> [String; 2] {
    estimate.map_or([figures::NONE.to_owned(), String::new()], |e| {
        let words = change_in_words(e.effect, e.low, e.high);
        [words.effect, words.interval]
    })
}

fn amount(estimate: Option<&AmountEstimate>) -> [String; 2] {
    estimate.map_or([figures::NONE.to_owned(), String::new()], |e| {
        let amounts = Amounts::between(e.amount, e.low, e.high, 0.0, &e.unit);
        let unit = amounts.unit();
        let range = format!("{}{unit}", amounts.range(e.low, e.high));
        [format!("{}{unit}", amounts.signed(e.amount)), range]
    })
}

fn main_effects(reading: &Reading<'_>) -> Option<Section> {
    let factors = reading.bundle.results.factors.as_ref()?;
    let rows = factors.main.iter().map(|row| {
        let [more, between] = amount(row.amount.as_ref());
        let [effect, interval] = change(row.estimate.as_ref());
        vec![
            format!("{} = {}", row.factor, row.level),
            more,
            between,
            effect,
            interval,
            format!("against {}", row.reference),
        ]
    });
    let table = Table {
        head: vec!["level", "more", "interval", "change", "interval", "of"],
        rows: rows.collect(),
        figures: 4,
    };
    Some(Section {
        title: "Factors: main effects",
        note: format!(
            "Mean over the settings of the other factors; changes on the log scale. Intervals at {}, so that all rows hold together.",
            figures::level(factors.level)
        ),
        table: Some(table),
        entries: factors
            .missing
            .iter()
            .map(|sentence| ("cannot be told".to_owned(), sentence.clone()))
            .collect(),
    })
}

fn interactions(reading: &Reading<'_>) -> Option<Section> {
    let factors = reading.bundle.results.factors.as_ref()?;
    let name = |pair: &(String, String)| format!("{} = {}", pair.0, pair.1);
    let rows = factors.interactions.iter().map(|row| {
        let share = |x: Option<f64>| x.map_or(figures::NONE.to_owned(), figures::percent);
        let [beyond, interval] = change(row.estimate.as_ref());
        let both = format!("{}, {}", name(&row.first), name(&row.second));
        vec![both, share(row.expected), share(row.measured), beyond, interval]
    });
    let head = vec!["together", "as independent", "measured", "beyond", "interval"];
    let table = Table { head, rows: rows.collect(), figures: 4 };
    (!table.rows.is_empty()).then(|| Section {
        title: "Factors: interactions",
        note: "Independent costs multiply; what is beyond that is an interaction.".to_owned(),
        table: Some(table),
        entries: Vec::new(),
    })
}

fn prices(reading: &Reading<'_>) -> Option<Section> {
    let entries = reading.bundle.results.prices.iter().map(|price| {
        let setting = if price.setting.is_empty() { String::new() } else { format!(" ({})", price.setting) };
        (format!("{}{setting}", price.factor), price.sentence.clone())
    });
    with_entries("Price list", "", entries.collect())
}

fn first_uses(reading: &Reading<'_>) -> Option<Section> {
    let uses = &reading.bundle.results.first_uses;
    let entries = uses.iter().map(|found| (found.first.clone(), found.sentence.clone()));
    with_entries("First use against steady use", "", entries.collect())
}

/// Variance from start to start and within one.
fn spread(reading: &Reading<'_>) -> Option<Section> {
    let results = &reading.bundle.results;
    if results.starts.sentence.is_empty() {
        return None;
    }
    let found: Vec<&Comparison> =
        reading.judged().filter_map(|arm| reading.primary(arm)).filter(|c| c.levels.is_some()).collect();
    let rows: Vec<Vec<String>> = found
        .iter()
        .filter_map(|c| {
            let levels = c.levels?;
            Some(vec![c.arm.clone(), figures::share(levels.between_sd), figures::share(levels.within_sd)])
        })
        .collect();
    let head = vec!["arm", "from start to start", "from round to round"];
    let design = &results.design;
    let reason = if design.reason.is_empty() { String::new() } else { format!(" ({})", design.reason) };
    let slots = design.decision().and_then(|load| Some((load, load.slots?)));
    let words = match slots {
        Some((load, slots)) => format!(
            "duet{reason}: in each slice all arms, in slots of {} in an order of chance, {} each, with orders and moments of \
             their own, tell the cost; times are those of the rounds in turn at that rate",
            figures::span(slots.every_ns),
            per_second(load.rate_per_s),
        ),
        None if design.parts > 1 => {
            format!("pairs{reason}, each slice in {} parts between those of the others", design.parts)
        }
        None => format!("{}{reason}", design.design.as_str()),
    };
    Some(Section {
        title: "Design and starts",
        note: String::new(),
        table: (!rows.is_empty()).then_some(Table { head, rows, figures: 2 }),
        entries: vec![("design".to_owned(), words), ("starts".to_owned(), results.starts.sentence.clone())],
    })
}

/// Arms that did not stand still; a line for all when all did.
fn steady(reading: &Reading<'_>) -> Option<Section> {
    let states = arms(reading, |arm| Some(arm.steady.as_ref()?.state.clone()));
    if states.is_empty() || states.iter().all(|(_, state)| state == "too-short") {
        return None;
    }
    let mut entries = arms(reading, |arm| {
        let steady = arm.steady.as_ref()?;
        (steady.state != "steady").then(|| steady.sentence.clone())
    });
    if entries.is_empty() {
        entries.push(("all arms".to_owned(), "steady".to_owned()));
    }
    with_entries("Steady state", "", entries)
}
