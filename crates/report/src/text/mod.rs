//! The terminal's report: verdicts in words first, then the figures behind them.
//!
//! Reads well without colour, on 80 columns and on 40; every text that came from outside passes
//! `layout::clean`, so that no arm name or error can move the cursor.

mod between;
mod caches;
mod conformance;
mod doctor;
mod guest;
mod layout;
mod peak;
mod study;
mod suite;

pub use between::{between, between_suites};
pub use caches::caches_text;
pub use conformance::conformance_text;
pub use doctor::doctor;
pub use guest::guest_text;
pub use study::{studies, study};
pub use suite::suite_text;

use crate::Bundle;
use crate::figures::{self, Change, NONE};
use crate::link;
use crate::reading::Reading;
use crate::sections::{self, Section};
use crate::words;
use bakeoff_results::Comparison;
use bakeoff_stats::{Verdict, per_second};
use layout::{Page, Paint};

/// Exploratory figures worth a line in the terminal; the page has them all.
const ALSO: [&str; 9] = [
    "path_cpu_per_request",
    "replies_per_second",
    "response_p50",
    "response_p99",
    "errors",
    "refused",
    "hit_ratio",
    "byte_hit_ratio",
    "program_ns",
];
/// The same for the `command` workload.
const ALSO_OF_COMMANDS: [&str; 3] = ["user_cpu", "system_cpu", "errors"];

/// The same for the `files` workload.
const ALSO_OF_OPERATIONS: [&str; 5] =
    ["subject_cpu_per_request", "operation_time", "bytes_per_second", "memory", "errors"];

/// The report for a terminal of `width` columns (at least 24 are used). With `colour`, verdicts
/// carry ANSI colours beside their words. Ends with a newline.
pub fn text(bundle: &Bundle, width: usize, colour: bool) -> String {
    let reading = Reading::of(bundle);
    let mut page = Page::new(width, colour);
    if let Some(peak) = &bundle.results.peak {
        return peak::text(page, &reading, peak);
    }
    title(&mut page, &reading);
    verdicts(&mut page, &reading);
    primary(&mut page, &reading);
    per_arm(&mut page, &reading);
    for section in sections::all(&reading) {
        show(&mut page, &section);
    }
    exploratory(&mut page, &reading);
    if let Some(section) = &bundle.results.study {
        study::beside(&mut page, &bundle.results.workload.kind, section, &bundle.results.order);
    }
    failures(&mut page, &reading);
    warnings(&mut page, &reading);
    conditions(&mut page, &reading);
    page.finish()
}

fn title(page: &mut Page, reading: &Reading<'_>) {
    let results = &reading.bundle.results;
    let question = words::title(reading);
    let title = format!("{}: {}", results.name, words::lower_first(&question));
    page.title(&title, &words::extent(results));
    if words::is_partial(results) {
        page.paragraph(&format!("PARTIAL RESULTS: {}.", words::stopped_by(results)), Paint::Alarm);
    }
}

fn verdicts(page: &mut Page, reading: &Reading<'_>) {
    let entries: Vec<(String, String, Paint)> =
        reading.judged().flat_map(|arm| verdict(reading, arm)).collect();
    match entries.is_empty() {
        true => page.paragraph(nothing_judged(reading), Paint::Plain),
        false => page.definitions(&entries),
    }
    for warning in reading.beside_verdicts() {
        page.paragraph(warning, Paint::Alarm);
    }
}

/// An arm's sentence, and what belongs beside it. The noise floor stands beside each arm; by itself where it is worthless.
fn verdict(reading: &Reading<'_>, arm: &str) -> Vec<(String, String, Paint)> {
    let Some(comparison) = reading.primary(arm) else {
        let invalid = |reason| (arm.to_owned(), format!("invalid: {reason}"), Paint::of(Verdict::Invalid));
        return reading.invalid(arm).map(invalid).into_iter().collect();
    };
    if reading.is_twin(arm) {
        let told =
            reading.compared().any(|other| reading.primary(other).is_some_and(|c| !c.beside.is_empty()));
        let floor = (arm.to_owned(), words::noise_floor(comparison), Paint::Plain);
        return if told { Vec::new() } else { vec![floor] };
    }
    let mut lines = vec![(arm.to_owned(), words::headline(comparison), Paint::of(comparison.verdict))];
    if !comparison.beside.is_empty() {
        lines.push((String::new(), comparison.beside.clone(), Paint::Plain));
    }
    lines
}

fn nothing_judged(reading: &Reading<'_>) -> &'static str {
    match reading.bundle.results.rounds {
        0 => "No verdict: no round was completed, so nothing can be compared.",
        _ => "No verdict: there are too few usable rounds.",
    }
}

/// The figure that the verdicts stand on, arm by arm.
fn primary(page: &mut Page, reading: &Reading<'_>) {
    let meter = reading.primary_meter();
    let judged = reading.arms().any(|arm| reading.primary(arm).is_some());
    if !judged || reading.arms().all(|arm| reading.figure(arm, meter).is_none()) {
        return;
    }
    page.heading(&words::upper_first(reading.noun(meter)));
    let rows: Vec<Vec<String>> = reading.arms().map(|arm| primary_row(reading, arm, meter)).collect();
    page.table(&["arm", reading.short(meter), "more", "interval", "change", "verdict"], &rows, 4);
    if let Some(note) = resolution(reading) {
        page.note(&note);
    }
}

fn show(page: &mut Page, section: &Section) {
    page.heading(section.title);
    if let Some(table) = &section.table {
        page.table(&table.head, &table.rows, table.figures);
    }
    let entries: Vec<_> =
        section.entries.iter().map(|(name, said)| (name.clone(), said.clone(), Paint::Plain)).collect();
    if !entries.is_empty() {
        page.definitions(&entries);
    }
    if !section.note.is_empty() {
        page.note(&section.note);
    }
}

/// What the intervals mean and what these rounds could have seen at all.
fn resolution(reading: &Reading<'_>) -> Option<String> {
    let primaries: Vec<&Comparison> = reading.judged().filter_map(|arm| reading.primary(arm)).collect();
    let (level, margin) = (figures::level(primaries.first()?.level), reading.margin());
    let mut note = format!("Intervals at {level} for each look; margin {margin}.");
    let visible = |c: &&Comparison| Some(format!("{} {}", c.arm, figures::share(c.smallest_detectable?)));
    let visible: Vec<String> = primaries.iter().filter_map(visible).collect();
    if !visible.is_empty() {
        note += &format!(" Smallest effect that these rounds could have seen: {}.", visible.join(", "));
    }
    Some(note)
}

fn primary_row(reading: &Reading<'_>, arm: &str, meter: &str) -> Vec<String> {
    let comparison = reading.primary(arm);
    let own = comparison.filter(|c| c.rounds > 0).map(|c| c.value).or(reading.figure(arm, meter));
    let mut value = own.map_or(NONE.to_owned(), |x| figures::value(reading.unit(meter), x));
    let invalid = reading.invalid(arm).is_some() || comparison.is_some_and(|c| c.verdict == Verdict::Invalid);
    if invalid {
        value = struck(&value);
    }
    let word = match comparison {
        _ if invalid => "INVALID".to_owned(),
        _ if reading.is_baseline(arm) => "baseline".to_owned(),
        _ if reading.is_twin(arm) => "noise floor".to_owned(),
        Some(comparison) => words::verdict(comparison.verdict),
        None => NONE.to_owned(),
    };
    let Some(comparison) = comparison else {
        return vec![arm.to_owned(), value, String::new(), String::new(), String::new(), word];
    };
    let (amount, share) = (Change::amount(comparison), Change::of(comparison));
    let cells = [amount.effect, amount.interval, share.effect];
    let [more, interval, change] = if invalid { cells.map(|cell| struck(&cell)) } else { cells };
    vec![arm.to_owned(), value, more, interval, change, word]
}

/// What must not be used, as a terminal can mark it.
fn struck(figure: &str) -> String {
    if figure == NONE { figure.to_owned() } else { format!("({figure})") }
}

/// Speed, times and counts of every arm.
fn per_arm(page: &mut Page, reading: &Reading<'_>) {
    let none = reading.arms().all(|arm| reading.arm(arm).is_none_or(|a| a.requests == 0));
    // Operations stand kind by kind.
    if none || bakeoff_meter::catalogue::makes_operations(reading.kind()) {
        return;
    }
    let command = reading.bundle.results.workload.kind == "command";
    page.heading(&match (command, reading.bundle.setup.design.decision()) {
        (true, _) => "Runs".to_owned(),
        (_, Some(load)) => {
            format!("Replies: times of the rounds in turn at {}, counts of all", per_second(load.rate_per_s))
        }
        (_, None) => "Replies".to_owned(),
    });
    let mut rows: Vec<Vec<String>> = reading.arms().map(|arm| arm_row(reading, arm, command)).collect();
    rows.extend(reading.arms().filter_map(|arm| full_speed_row(reading, arm)));
    match command {
        true => page.table(&["arm", "user CPU", "system CPU", "runs", "failed"], &rows, 5),
        false => page.table(&["arm", "replies/s", "p50", "p99", "p99.9", "replies", "failed"], &rows, 7),
    }
}

fn arm_row(reading: &Reading<'_>, name: &str, command: bool) -> Vec<String> {
    let empty = Default::default();
    let arm = reading.arm(name).unwrap_or(&empty);
    let failed = figures::count(arm.errors.values().sum());
    let marked =
        |meter: &str, figure: String| if reading.is_invalid(name, meter) { struck(&figure) } else { figure };
    let meter = |meter: &str| marked(meter, reading.shown(name, meter));
    if command {
        return vec![
            name.to_owned(),
            meter("user_cpu"),
            meter("system_cpu"),
            figures::count(arm.requests),
            failed,
        ];
    }
    let times = arm.response_ns;
    let time = |meter: &str, ns: u64| match times.count {
        0 => NONE.to_owned(),
        _ => marked(meter, figures::value("ns", ns as f64)),
    };
    let offered = reading.bundle.setup.design.decision().map(|load| per_second(load.rate_per_s));
    vec![
        name.to_owned(),
        offered.unwrap_or_else(|| meter("replies_per_second")),
        time("response_p50", times.p50),
        time("response_p99", times.p99),
        time("response_p999", times.p999),
        figures::count(arm.replies),
        failed,
    ]
}

/// An arm at full speed, where its other figures are of another load.
fn full_speed_row(reading: &Reading<'_>, arm: &str) -> Option<Vec<String>> {
    let full = reading.arm(arm)?.full_speed?;
    let marked =
        |text: String| if reading.is_invalid(arm, "replies_per_second") { struck(&text) } else { text };
    let times = full.response_ns;
    let [p50, p99, p999] =
        [times.p50, times.p99, times.p999].map(|ns| marked(figures::value("ns", ns as f64)));
    let rate = marked(figures::value("1/s", full.replies_per_second));
    let blank = String::new;
    Some(vec![format!("{arm}, full speed"), rate, p50, p99, p999, blank(), blank()])
}

/// The other comparisons, marked as what they are.
fn exploratory(page: &mut Page, reading: &Reading<'_>) {
    let meters = match reading.kind() {
        "command" => ALSO_OF_COMMANDS.as_slice(),
        kind if bakeoff_meter::catalogue::makes_operations(kind) => ALSO_OF_OPERATIONS.as_slice(),
        _ => ALSO.as_slice(),
    };
    let rows: Vec<Vec<String>> = reading.compared().flat_map(|arm| also_rows(reading, arm, meters)).collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Also measured (exploratory: no verdict stands on these)");
    page.table(&["arm", "figure", "value", "change", "interval", "by itself"], &rows, 4);
}

/// One arm's rows; its name stands in the first.
fn also_rows(reading: &Reading<'_>, arm: &str, meters: &[&str]) -> Vec<Vec<String>> {
    let found = meters.iter().filter_map(|meter| reading.comparison(arm, meter));
    let found = found.filter(|c| !c.primary && tells_something(c));
    let mut rows: Vec<_> = also_at_loads(reading, arm).chain(found).map(|c| also_row(reading, c)).collect();
    rows.iter_mut().skip(1).for_each(|row| row[0].clear());
    rows
}

/// The primary figure in turn and at full speed; those of a curve have a table of their own.
fn also_at_loads<'b>(reading: &Reading<'b>, arm: &str) -> impl Iterator<Item = &'b Comparison> {
    let design = &reading.bundle.setup.design;
    reading.at_other_loads(arm).filter(move |c| c.load.is_none() || c.design != design.design)
}

fn tells_something(comparison: &Comparison) -> bool {
    comparison.unit != "share" || comparison.value > 0.0 || comparison.baseline_value > 0.0
}

fn also_row(reading: &Reading<'_>, comparison: &Comparison) -> Vec<String> {
    let change = Change::of(comparison);
    let value = figures::value(&comparison.unit, comparison.value);
    let cells = [value, change.effect, change.interval];
    let invalid = comparison.verdict == Verdict::Invalid;
    let [value, effect, interval] = if invalid { cells.map(|cell| struck(&cell)) } else { cells };
    let figure = match figures::how(comparison, &reading.bundle.setup.design) {
        Some(how) => format!("{}, {how}", words::short(reading.kind(), &comparison.meter)),
        None => words::short(reading.kind(), &comparison.meter).to_owned(),
    };
    vec![comparison.arm.clone(), figure, value, effect, interval, words::verdict(comparison.verdict)]
}

/// What failed by class, and what is invalid and why.
fn failures(page: &mut Page, reading: &Reading<'_>) {
    let failed = |arm: &str| {
        let errors = &reading.arm(arm)?.errors;
        let tally = words::tally(errors.iter().filter(|(_, n)| **n > 0));
        (!tally.is_empty()).then(|| (arm.to_owned(), tally, Paint::Plain))
    };
    let errors: Vec<_> = reading.arms().filter_map(failed).collect();
    if !errors.is_empty() {
        page.heading(&format!("Failed {} by class", reading.requests()));
        page.definitions(&errors);
    }
    let reasons = reading.invalid_reasons().into_iter();
    let invalid: Vec<_> = reasons.map(|(who, why)| (who, why, Paint::Alarm)).collect();
    if !invalid.is_empty() {
        page.heading("Invalid: figures in (brackets) must not be used");
        page.definitions(&invalid);
    }
}

fn warnings(page: &mut Page, reading: &Reading<'_>) {
    let warnings = &reading.bundle.results.warnings;
    if warnings.is_empty() {
        return;
    }
    page.heading("Before you believe it");
    for warning in warnings {
        page.bullet(&warning.sentence);
    }
}

/// Load, machine use, workload, and where the time went.
fn conditions(page: &mut Page, reading: &Reading<'_>) {
    let results = &reading.bundle.results;
    let mut facts = vec![("load", figures::load(reading))];
    facts.extend(results.extent.map(|extent| ("extent", extent.in_words().to_owned())));
    facts.extend(link::line(reading).map(|line| ("link", line)));
    facts.push(("workload", workload(reading)));
    let skipped = words::tally(&results.workload.skipped);
    if !skipped.is_empty() {
        facts.push(("skipped", format!("log lines not replayed: {skipped}")));
    }
    for arm in reading.arms() {
        if let Some(full) = reading.arm(arm).and_then(words::full) {
            facts.push(("full", format!("{arm}: {full}")));
        }
    }
    facts.push(("ended", format!("{}, {}", rounds(reading), words::stopped_by(results))));
    if results.duration_ns > 0 {
        facts.push(("time", time(reading)));
    }
    for arm in reading.arms() {
        if let Some(figures) = reading.arm(arm).and_then(|arm| arm.webstone.as_ref()) {
            facts.push(("webstone", format!("{arm}: {}", words::webstone(figures))));
        }
    }
    page.heading("Conditions");
    let entries: Vec<_> =
        facts.into_iter().map(|(name, said)| (name.to_owned(), said, Paint::Plain)).collect();
    page.definitions(&entries);
}

fn rounds(reading: &Reading<'_>) -> String {
    let results = &reading.bundle.results;
    let planned = results.looks.last().copied().unwrap_or(0);
    let after = results.design.after;
    if after.rounds() == 0 {
        return format!("{} of {planned} planned rounds", results.rounds);
    }
    let main = results.rounds - results.rounds_in_turn - results.rounds_at_full_speed;
    let mut said = format!("{main} of {planned} planned rounds for the verdict");
    for (rounds, of, kind) in [
        (results.rounds_in_turn, after.at_load, "in turn at its load"),
        (results.rounds_at_full_speed, after.full_speed, "at full speed"),
    ] {
        if of > 0 {
            said += &format!(", {rounds} of {of} {kind}");
        }
    }
    said
}

fn workload(reading: &Reading<'_>) -> String {
    let workload = &reading.bundle.results.workload;
    if workload.kind == "command" {
        return workload.description.clone();
    }
    let all = format!(
        "{}; {} {} in all",
        workload.description,
        figures::count(workload.requests),
        reading.requests()
    );
    match workload.slice_requests {
        // Slices that end with time have as many as they come to.
        0 => all,
        _ => format!("{all}, {} a slice", words::slice(&reading.bundle.results)),
    }
}

fn time(reading: &Reading<'_>) -> String {
    let total = reading.bundle.results.duration_ns.max(1) as f64;
    let spent = reading.time_spent();
    let arms = spent.measuring.iter().map(|(arm, ns)| format!("{arm} {}", figures::span(*ns)));
    let between = format!(
        "between slices {} ({:.0} %)",
        figures::span(spent.between),
        spent.between as f64 / total * 100.0
    );
    arms.chain([between]).collect::<Vec<_>>().join(", ")
}
