//! The page's tables: cells as text, ready to be escaped.

use super::page::{glyph, key, state};
use crate::figures::{self, Change, NONE};
use crate::link;
use crate::reading::Reading;
use crate::words;
use bakeoff_meter::{CATALOGUE, Kind, Meter, Quantiles};
use bakeoff_results::{Comparison, DesignSetup, Fact};
use bakeoff_stats::Verdict;
use serde::Serialize;

/// Meters in rows, arms in columns.
#[derive(Serialize)]
pub(super) struct Matrix {
    arms: Vec<Name>,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Name {
    arm: String,
    key: String,
    invalid: bool,
}

#[derive(Serialize)]
struct Line {
    noun: String,
    cells: Vec<String>,
}

/// All comparisons of one arm.
#[derive(Serialize)]
pub(super) struct Group {
    arm: String,
    key: String,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    noun: String,
    primary: bool,
    quiet: bool,
    struck: bool,
    value: String,
    baseline: String,
    amount: String,
    effect: String,
    interval: String,
    rounds: u32,
    state: &'static str,
    glyph: &'static str,
    word: String,
    times_noise: String,
    paired_sd: String,
    smallest: String,
    sums: String,
    heavy_tails: bool,
}

/// One kind of time, one row an arm.
#[derive(Serialize)]
pub(super) struct Times {
    kind: &'static str,
    rows: Vec<TimeRow>,
}

#[derive(Serialize)]
struct TimeRow {
    arm: String,
    key: String,
    cells: [String; 6],
}

/// Counts of one arm.
#[derive(Serialize)]
pub(super) struct Replies {
    arm: String,
    key: String,
    requests: String,
    replies: String,
    failed: String,
    bytes: String,
    statuses: String,
    errors: String,
}

/// Where wall time went.
#[derive(Serialize)]
pub(super) struct Spent {
    label: String,
    key: String,
    time: String,
    share: f64,
}

/// How an arm was started.
#[derive(Serialize)]
pub(super) struct Subject {
    arm: String,
    key: String,
    facts: Vec<Fact>,
    config: Option<String>,
}

pub(super) fn resources(reading: &Reading<'_>) -> Option<Matrix> {
    // Times and failures have tables of their own; a meter without any figure is left out.
    let meters = CATALOGUE.iter().filter(|meter| meter.kind != Kind::Histogram && meter.name != "errors");
    let meters = meters.map(|meter| meter.name);
    let meters = meters.filter(|meter| reading.arms().any(|arm| reading.figure(arm, meter).is_some()));
    let mut rows: Vec<Line> = meters
        .map(|meter| Line {
            noun: words::upper_first(reading.noun(meter)),
            cells: reading.arms().map(|arm| reading.shown(arm, meter)).collect(),
        })
        .collect();
    let deviations: Vec<Option<f64>> = reading.arms().map(|arm| reading.arm(arm)?.deviation).collect();
    if deviations.iter().any(Option::is_some) {
        let cells =
            deviations.into_iter().map(|share| share.map_or(NONE.to_owned(), figures::share)).collect();
        rows.push(Line {
            noun: format!("Deviation of {} between rounds", reading.noun(reading.primary_meter())),
            cells,
        });
    }
    let full: Vec<Option<String>> =
        reading.arms().map(|arm| reading.arm(arm).and_then(words::full)).collect();
    if full.iter().any(Option::is_some) {
        let cells = full.into_iter().map(|words| words.unwrap_or(NONE.to_owned())).collect();
        rows.push(Line { noun: "Full".to_owned(), cells });
    }
    let name = |arm: &str| Name {
        arm: arm.to_owned(),
        key: key(reading, arm),
        invalid: reading.invalid(arm).is_some(),
    };
    (!rows.is_empty()).then(|| Matrix { arms: reading.arms().map(name).collect(), rows })
}

pub(super) fn comparisons(reading: &Reading<'_>) -> Vec<Group> {
    let design = &reading.bundle.setup.design;
    let of = |arm: &str| {
        let all = &reading.bundle.results.comparisons;
        let rows: Vec<Row> =
            all.iter().filter(|c| c.arm == arm).map(|c| Row::of(reading.kind(), design, c)).collect();
        (!rows.is_empty()).then(|| Group { arm: arm.to_owned(), key: key(reading, arm), rows })
    };
    reading.judged().filter_map(of).collect()
}

impl Row {
    fn of(kind: &str, design: &DesignSetup, c: &Comparison) -> Self {
        let (change, amount) = (Change::of(c), Change::amount(c));
        let value = |x: f64| figures::value(&c.unit, x);
        let share = |x: Option<f64>| x.map_or(NONE.to_owned(), figures::share);
        Self {
            noun: match figures::how(c, design) {
                Some(how) => format!("{}, {how}", words::upper_first(words::noun(kind, &c.meter))),
                None => words::upper_first(words::noun(kind, &c.meter)),
            },
            amount: amount.effect,
            primary: c.primary,
            quiet: figures::times_noise(c).is_none_or(|times| times < 1.0),
            struck: c.verdict == Verdict::Invalid,
            value: value(c.value),
            baseline: value(c.baseline_value),
            effect: change.effect,
            interval: change.interval,
            rounds: c.rounds,
            state: state(c.verdict),
            glyph: glyph(c.verdict),
            word: words::verdict(c.verdict),
            times_noise: figures::times_noise_text(c),
            paired_sd: share(c.paired_sd),
            smallest: share(c.smallest_detectable),
            sums: c.ratio_of_sums.map_or(NONE.to_owned(), figures::percent),
            heavy_tails: c.heavy_tails,
        }
    }
}

pub(super) fn times(reading: &Reading<'_>) -> Vec<Times> {
    type Pick = fn(&bakeoff_results::ArmResult) -> Quantiles;
    let kinds: [(&'static str, Pick); 6] = [
        ("Response: from due to last byte", |arm| arm.response_ns),
        ("Service: from sent to last byte", |arm| arm.service_ns),
        ("First byte: from sent", |arm| arm.first_byte_ns),
        ("TCP connect", |arm| arm.connect_ns),
        ("TLS handshake", |arm| arm.handshake_ns),
        ("Lateness of the generator", |arm| arm.lateness_ns),
    ];
    let of = |(kind, pick): (&'static str, Pick)| {
        let rows: Vec<TimeRow> =
            reading.arms().filter_map(|arm| time_row(reading, arm, pick(reading.arm(arm)?))).collect();
        (!rows.is_empty()).then_some(Times { kind, rows })
    };
    kinds.into_iter().filter_map(of).collect()
}

fn time_row(reading: &Reading<'_>, arm: &str, q: Quantiles) -> Option<TimeRow> {
    let time = |ns: u64| figures::value("ns", ns as f64);
    (q.count > 0).then(|| TimeRow {
        arm: arm.to_owned(),
        key: key(reading, arm),
        cells: [time(q.p50), time(q.p90), time(q.p99), time(q.p999), time(q.max), figures::count(q.count)],
    })
}

pub(super) fn replies(reading: &Reading<'_>) -> Vec<Replies> {
    let of = |name: &str| {
        let arm = reading.arm(name)?;
        let errors = words::tally(arm.errors.iter().filter(|(_, n)| **n > 0));
        Some(Replies {
            arm: name.to_owned(),
            key: key(reading, name),
            requests: figures::count(arm.requests),
            replies: figures::count(arm.replies),
            failed: figures::count(arm.errors.values().sum()),
            bytes: figures::value("B", arm.bytes as f64),
            statuses: words::tally(&arm.statuses),
            errors: if errors.is_empty() { "none".to_owned() } else { errors },
        })
    };
    reading.arms().filter_map(of).collect()
}

pub(super) fn invalid(reading: &Reading<'_>) -> Vec<Fact> {
    reading.invalid_reasons().iter().map(|(who, why)| fact(who, why)).collect()
}

pub(super) fn workload(reading: &Reading<'_>) -> Vec<Fact> {
    let (setup, results) = (&reading.bundle.setup.workload, &reading.bundle.results.workload);
    let mut facts = vec![
        fact("kind", &results.kind),
        fact("what", &results.description),
        fact("load", &figures::load(reading)),
        fact(&format!("{}, all arms", reading.requests()), &figures::count(results.requests)),
    ];
    if let Some(extent) = reading.bundle.results.extent {
        facts.push(fact("extent", extent.in_words()));
    }
    if results.slice_requests > 0 {
        let slice = words::slice(&reading.bundle.results);
        facts.push(fact(&format!("{} per slice", reading.requests()), &slice));
    }
    if let Some(line) = link::line(reading) {
        facts.push(fact("link", &line));
    }
    if !setup.slice_reason.is_empty() {
        facts.push(fact("why that many", &setup.slice_reason));
    }
    if let Some(total) = setup.total_requests {
        facts.push(fact("requests of the whole benchmark", &figures::count(total)));
    }
    for arm in reading.arms() {
        if let Some(figures) = reading.arm(arm).and_then(|arm| arm.webstone.as_ref()) {
            facts.push(fact(&format!("WebStone metrics, {arm}"), &words::webstone(figures)));
        }
    }
    facts.push(fact("share of failures allowed", &figures::share(reading.bundle.setup.max_errors)));
    facts
}

pub(super) fn skipped(reading: &Reading<'_>) -> Vec<Fact> {
    let skipped = &reading.bundle.results.workload.skipped;
    skipped.iter().map(|(reason, n)| fact(reason, &figures::count(*n))).collect()
}

pub(super) fn spent(reading: &Reading<'_>) -> Vec<Spent> {
    let total = reading.bundle.results.duration_ns;
    if total == 0 {
        return Vec::new();
    }
    let spent = reading.time_spent();
    let row = |label: String, key: String, ns: u64| Spent {
        label,
        key,
        time: figures::span(ns),
        share: (ns as f64 / total as f64 * 1000.0).round() / 10.0,
    };
    let arms =
        spent.measuring.iter().map(|(arm, ns)| row(format!("measuring {arm}"), key(reading, arm), *ns));
    let between =
        row("between slices: starts, warm-up, draining".to_owned(), "arm-none".to_owned(), spent.between);
    arms.chain([between]).collect()
}

pub(super) fn environment(reading: &Reading<'_>) -> Vec<Fact> {
    let environment = &reading.bundle.results.environment;
    let cores = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let mut facts = environment.facts.clone();
    facts.push(fact("cores of the generator", &cores(&environment.generator_cores)));
    facts.push(fact("cores of the subjects", &cores(&environment.subject_cores)));
    facts.push(fact(
        "generator and subjects apart",
        if environment.disjoint { "yes" } else { "no: they share cores" },
    ));
    facts.push(fact("bakeoff", &reading.bundle.results.bakeoff));
    facts
}

pub(super) fn subjects(reading: &Reading<'_>) -> Vec<Subject> {
    let of = |arm: &str| {
        let subject = reading.bundle.setup.subjects.get(arm)?;
        let client = subject.client.as_ref().map(|client| client.words.clone());
        let optional = [
            ("version", &subject.version),
            ("CPU read from", &subject.cpu_source),
            ("TLS", &subject.tls),
            ("client", &client),
            ("SHA-256 of the executable", &subject.binary_sha256),
        ];
        let mut facts = vec![fact("server", &subject.server), fact("address", &subject.url)];
        facts.push(fact("command", &subject.command.join(" ")));
        facts.extend(optional.into_iter().filter_map(|(name, value)| Some(fact(name, value.as_ref()?))));
        facts.retain(|fact| !fact.value.is_empty());
        Some(Subject { arm: arm.to_owned(), key: key(reading, arm), facts, config: subject.config.clone() })
    };
    reading.arms().filter_map(of).collect()
}

/// What every figure means, from the catalogue.
pub(super) fn meters() -> Vec<Fact> {
    let of = |meter: &Meter| fact(&words::upper_first(meter.noun), meter.help);
    CATALOGUE.iter().map(of).collect()
}

fn fact(name: &str, value: &str) -> Fact {
    Fact { name: name.to_owned(), value: value.to_owned() }
}
