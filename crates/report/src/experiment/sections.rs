//! The parts of a report that come and go with the method: factors, prices, first uses, proof,
//! steadiness, groups.
//!
//! Cold, pure. One place says what each part is called and holds; the terminal and the page show
//! them alike, and leave out what a run does not have.

use super::{handshakes, load_curve, operations, populations, sweep};
use crate::document::{Section, Table};
use crate::figures;
use crate::reading::Reading;
use crate::words;
use bakeoff_meter::HeadCounts;
use bakeoff_meter::catalogue::makes_operations;
use bakeoff_results::{AmountEstimate, ArmResult, Comparison, FractionEstimate, FrontSetup, StratumSetup};
use bakeoff_stats::{Amounts, change_in_words, per_second};
use std::collections::BTreeMap;

/// So many arms, the baseline among them, are a bake-off.
const MANY: usize = 3;

/// All parts that a run may have, in reading order.
pub(super) fn all(reading: &Reading<'_>) -> Vec<Section> {
    vec![
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
}

fn arms<'b>(reading: &Reading<'b>, pick: impl Fn(&'b ArmResult) -> Option<String>) -> Vec<(&'b str, String)> {
    reading.arms().filter_map(|arm| Some((arm, pick(reading.arm(arm)?)?))).collect()
}

/// A row an arm of meters.
fn of_meters<'b>(
    reading: &Reading<'b>,
    meters: &'static [&'static str],
    arms: impl Iterator<Item = &'b str>,
) -> Vec<Vec<String>> {
    let row = |arm: &str| {
        let cells = meters.iter().map(|meter| reading.shown(arm, meter));
        std::iter::once(arm.to_owned()).chain(cells).collect()
    };
    arms.map(row).collect()
}

/// What is compared with what, where there is more than one baseline.
fn strata(reading: &Reading<'_>) -> Section {
    let row = |stratum: &StratumSetup| {
        let compared = stratum.arms.iter().filter(|arm| !reading.is_baseline(arm) && !reading.is_twin(arm));
        let compared: Vec<&str> = compared.map(String::as_str).collect();
        [stratum.name.clone(), stratum.baseline.clone(), compared.join(", ")]
    };
    let rows = reading.bundle.setup.strata.iter().map(row);
    Section::new("Strata")
        .table(Table::new(["stratum", "baseline", "compared with it"], rows).figures(0))
        .note("Each arm is compared with the baseline of its own stratum: what it has in common with it costs nothing here.")
}

/// Many arms in one table, stratum by stratum from the cheapest to the dearest.
fn bake_off(reading: &Reading<'_>) -> Section {
    let results = &reading.bundle.results;
    let mut names: Vec<&str> = reading.arms().filter(|arm| !reading.is_twin(arm)).collect();
    if names.len() < MANY || reading.kind() == "command" || makes_operations(reading.kind()) {
        return Section::default();
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
    let head = ["arm", "cost", "change", "replies/s", "p50", "p99", "failed", "group"];
    let title = match baselines.len() {
        1 => "Bake-off: from the cheapest to the dearest",
        _ => "Bake-off, stratum by stratum",
    };
    Section::new(title).detail().table(Table::new(head, names.iter().map(row)).figures(6)).note(format!(
        "The cost is {}. Arms with a common letter are shown to be equal within {}, each with each; arms without one \
         are not thereby different.",
        reading.short(primary),
        figures::share(results.margin)
    ))
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
fn refused(reading: &Reading<'_>) -> Section {
    if !reading.arms().any(|arm| reading.arm(arm).is_some_and(|arm| !arm.refused.is_empty())) {
        return Section::default();
    }
    let meters = &["refused", "refused_per_second", "replies_per_second", "subject_cpu_per_reply"];
    let mut rows = of_meters(reading, meters, reading.arms());
    for (row, arm) in rows.iter_mut().zip(reading.arms()) {
        row.push(reading.arm(arm).map(|arm| words::tally(arm.refused.iter())).unwrap_or_default());
    }
    let head = ["arm", "refused", "refusals/s", "replies/s", "CPU/served", "by"];
    Section::new("Refused").table(Table::new(head, rows).figures(4)).note(
        "A refusal is no reply and no failure; CPU is of all requests, divided by those that were served.",
    )
}

/// What stands before servers, where anything does: whose CPU it was, and what came from a store.
fn fronts(reading: &Reading<'_>) -> Section {
    let fronts = |arm: &ArmResult| {
        let version = |front: &FrontSetup| front.version.clone().unwrap_or_else(|| front.front.clone());
        let all: Vec<String> = arm.subject.fronts.iter().map(version).collect();
        (!all.is_empty()).then(|| format!("{}, before {}", all.join(" before "), arm.subject.server))
    };
    let mut entries = arms(reading, fronts);
    if entries.is_empty() {
        return Section::default();
    }
    let costs = &[
        "subject_cpu_per_request",
        "front_cpu_per_request",
        "server_cpu_per_request",
        "memory",
        "disk_write",
    ];
    let meters = &["hit_ratio", "byte_hit_ratio", "hit_time", "miss_time", "errors"];
    let is_told = reading.arms().any(|arm| reading.figure(arm, "hit_ratio").is_some());
    let told = match (is_told, reading.bundle.results.rounds) {
        (true, _) => {
            "Hits are told by numbers that the server behind gives its replies, not by what a product says of itself."
        }
        (false, 0) => "Hits are not told: no round was completed.",
        (false, _) => {
            "Hits are not told: the server behind gives its replies no numbers. The built-in origin does, and nginx and Caddy \
             with bakeoff's configuration do (`directives` in place of `config`)."
        }
    };
    let mut rows = of_meters(reading, meters, reading.arms());
    for (row, arm) in rows.iter_mut().zip(reading.arms()) {
        let heads = reading.arm(arm).and_then(|arm| arm.heads.as_ref());
        let faults = |heads: &HeadCounts| figures::count(heads.faults.values().sum());
        let words = |heads| format!("{} of {}", faults(heads), figures::count(heads.judged));
        row.push(heads.map_or(figures::NONE.to_owned(), words));
    }
    let cost = ["arm", "CPU/request", "front", "server", "memory", "written"];
    let got = ["arm", "hits", "bytes", "a hit takes", "a miss takes", "failed", "head faults"];
    let labelled = |arm: &ArmResult| {
        let heads = arm.heads.as_ref().filter(|heads| !heads.faults.is_empty())?;
        Some(format!("faults of heads: {}", words::tally(&heads.faults)))
    };
    entries.extend(arms(reading, labelled));
    Section::new("In front")
        .table(Table::new(cost, of_meters(reading, costs, reading.arms())))
        .table(Table::new(got, rows))
        .entries(entries)
        .note(format!(
            "CPU, memory and bytes written (a slice) of an arm are those of all that stands before its server and of \
             the server. Hits and bytes are shares of what came from a store. A reply with another status, length or \
             byte than the site's has failed; heads are judged by a sample, where the built-in origin is behind. {told} \
             What a hit takes of CPU, and the highest rate, one load does not tell: `bakeoff run cache-bakeoff` does."
        ))
}

/// Layers' programs in the kernel, where a layer tells what they use.
fn programs(reading: &Reading<'_>) -> Section {
    let meters = &["program_ns", "program_runs", "subject_cpu_per_request", "path_cpu_per_request"];
    let tells = |arm: &&str| meters[..2].iter().any(|meter| reading.figure(arm, meter).is_some());
    let head = ["arm", "programs", "runs", "CPU/request", "path CPU"];
    let table = Table::new(head, of_meters(reading, meters, reading.arms().filter(tells)));
    Section::new("Programs in the kernel").detail().table(table).note(
        "What layers count of their own programs, per request, beside CPU as the machine counts it: the path's has theirs \
         in it. Without a time the kernel kept no account of it.",
    )
}

/// Whether the layer was on, and what it noticed.
fn layer(reading: &Reading<'_>) -> Section {
    let mut entries = arms(reading, |arm| {
        let proof = arm.proof.as_ref()?;
        let state = if proof.active { "on" } else { "OFF" };
        let words = if proof.words.is_empty() { String::new() } else { format!(" ({})", proof.words) };
        Some(format!("layer {state}, enforcement {}{words}", proof.enforcement))
    });
    entries.extend(arms(reading, |arm| Some(arm.violations.as_ref()?.sentence.clone())));
    let rows = reading.arms().filter_map(|name| {
        let v = reading.arm(name)?.violations.as_ref()?;
        let [planted, detected, missed, false_alarms] =
            [v.planted, v.detected, v.missed, v.false_alarms].map(figures::count);
        Some([name.to_owned(), planted, detected, missed, false_alarms])
    });
    let table = Table::new(["arm", "violations", "detected", "missed", "false"], rows);
    Section::new("Proof of work").table(table).entries(entries)
}

fn change(estimate: Option<&FractionEstimate>) -> [String; 2] {
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

fn main_effects(reading: &Reading<'_>) -> Section {
    let Some(factors) = &reading.bundle.results.factors else { return Section::default() };
    let rows = factors.main.iter().map(|row| {
        let [more, between] = amount(row.amount.as_ref());
        let [effect, interval] = change(row.estimate.as_ref());
        let level = format!("{} = {}", row.factor, row.level);
        [level, more, between, effect, interval, format!("against {}", row.reference)]
    });
    let head = ["level", "more", "interval", "change", "interval", "of"];
    let missing = factors.missing.iter().map(|sentence| ("cannot be told", sentence.as_str()));
    let section = Section::new("Factors: main effects").table(Table::new(head, rows).figures(4));
    section.entries(missing).note(format!(
        "Mean over the settings of the other factors; changes on the log scale. Intervals at {}, so that all rows hold together.",
        figures::level(factors.level)
    ))
}

fn interactions(reading: &Reading<'_>) -> Section {
    let Some(factors) = &reading.bundle.results.factors else { return Section::default() };
    let name = |pair: &(String, String)| format!("{} = {}", pair.0, pair.1);
    let rows = factors.interactions.iter().map(|row| {
        let share = |x: Option<f64>| x.map_or(figures::NONE.to_owned(), figures::percent);
        let [beyond, interval] = change(row.estimate.as_ref());
        let both = format!("{}, {}", name(&row.first), name(&row.second));
        [both, share(row.expected), share(row.measured), beyond, interval]
    });
    let head = ["together", "as independent", "measured", "beyond", "interval"];
    let section = Section::new("Factors: interactions").table(Table::new(head, rows));
    section.note("Independent costs multiply; what is beyond that is an interaction.")
}

fn prices(reading: &Reading<'_>) -> Section {
    Section::new("Price list").entries(reading.bundle.results.prices.iter().map(|price| {
        let setting = if price.setting.is_empty() { String::new() } else { format!(" ({})", price.setting) };
        (format!("{}{setting}", price.factor), price.sentence.as_str())
    }))
}

fn first_uses(reading: &Reading<'_>) -> Section {
    let uses = reading.bundle.results.first_uses.iter();
    let entries = uses.map(|found| (found.first.as_str(), found.sentence.as_str()));
    Section::new("First use against steady use").entries(entries)
}

/// Variance from start to start and within one.
fn spread(reading: &Reading<'_>) -> Section {
    let starts = &reading.bundle.results.starts.sentence;
    if starts.is_empty() {
        return Section::default();
    }
    let found = reading.judged().filter_map(|arm| reading.primary(arm));
    let rows = found.filter_map(|c: &Comparison| {
        let levels = c.levels?;
        Some([c.arm.clone(), figures::share(levels.between_sd), figures::share(levels.within_sd)])
    });
    let table = Table::new(["arm", "from start to start", "from round to round"], rows);
    Section::new("Design and starts")
        .detail()
        .table(table)
        .entries([("design", design(reading).as_str()), ("starts", starts.as_str())])
}

fn design(reading: &Reading<'_>) -> String {
    let design = &reading.bundle.results.design;
    let reason = if design.reason.is_empty() { String::new() } else { format!(" ({})", design.reason) };
    let slots = design.decision().and_then(|load| Some((load, load.slots?)));
    match slots {
        Some((load, slots)) => format!(
            "duet{reason}: in each slice {}, in slots of {} in an order of chance, {} each, with orders and moments of \
             their own, tell the cost; times are those of the rounds in turn at that rate",
            if design.blocks() > 1 { "its arms" } else { "all arms" },
            figures::span(slots.every_ns),
            per_second(load.rate_per_s),
        ),
        None if design.parts > 1 => {
            format!("pairs{reason}, each slice in {} parts between those of the others", design.parts)
        }
        None => format!("{}{reason}", design.design.as_str()),
    }
}

/// Arms that did not stand still; a line for all when all did.
fn steady(reading: &Reading<'_>) -> Section {
    let states = arms(reading, |arm| Some(arm.steady.as_ref()?.state.clone()));
    if states.is_empty() || states.iter().all(|(_, state)| state == "too-short") {
        return Section::default();
    }
    let mut entries = arms(reading, |arm| {
        let steady = arm.steady.as_ref()?;
        (steady.state != "steady").then(|| steady.sentence.clone())
    });
    if entries.is_empty() {
        entries.push(("all arms", "steady".to_owned()));
        return Section::new("Steady state").detail().entries(entries);
    }
    Section::new("Steady state").entries(entries)
}
