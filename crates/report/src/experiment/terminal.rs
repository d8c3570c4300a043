//! Tables and facts as short as a terminal wants them; the page has them all.

use crate::document::{Cell, Row, Section, Table};
use crate::figures::{self, Change, NONE};
use crate::link;
use crate::reading::Reading;
use crate::words;
use bakeoff_meter::catalogue::{BYTES_PER_REPLY, makes_operations};
use bakeoff_results::{ArmResult, Comparison};
use bakeoff_stats::{Verdict, per_second};

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
const ALSO_OF_COMMANDS: [&str; 5] = ["elapsed", "command_cpu", "user_cpu", "system_cpu", "errors"];

/// The same for the `files` workload.
const ALSO_OF_OPERATIONS: [&str; 5] =
    ["subject_cpu_per_request", "operation_time", "bytes_per_second", "memory", "errors"];

/// The figure that the verdicts stand on, arm by arm.
pub(super) fn primary(reading: &Reading<'_>) -> Section {
    let meter = reading.primary_meter();
    let section = Section::in_terminal(words::upper_first(reading.noun(meter)));
    let judged = reading.arms().any(|arm| reading.primary(arm).is_some());
    if !judged || reading.arms().all(|arm| reading.figure(arm, meter).is_none()) {
        return section;
    }
    let head = ["arm", reading.short(meter), "more", "interval", "change", "verdict"];
    let rows = reading.arms().map(|arm| primary_row(reading, arm, meter));
    section.table(Table::new(head, rows).figures(4))
}

/// What the intervals mean and what these rounds could have seen at all.
pub(super) fn resolution(reading: &Reading<'_>) -> Section {
    Section::in_terminal("").notes(resolution_in_words(reading)).always().detail()
}

fn resolution_in_words(reading: &Reading<'_>) -> Option<String> {
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

fn primary_row(reading: &Reading<'_>, arm: &str, meter: &str) -> Row {
    let comparison = reading.primary(arm);
    let value = reading.shown(arm, meter);
    let invalid = reading.invalid(arm).is_some() || comparison.is_some_and(|c| c.verdict == Verdict::Invalid);
    let word = match comparison {
        _ if invalid => "INVALID".to_owned(),
        _ if reading.is_baseline(arm) => "baseline".to_owned(),
        _ if reading.is_twin(arm) => "noise floor".to_owned(),
        Some(comparison) => words::verdict(comparison.verdict),
        None => NONE.to_owned(),
    };
    let changes = comparison.map_or_else(Default::default, |comparison| {
        let (amount, share) = (Change::amount(comparison), Change::of(comparison));
        // A claim that stands on the share is not shown beside an amount that leaves it open.
        let interval = if is_opposed(comparison) { NONE.to_owned() } else { amount.interval };
        [amount.effect, interval, share.effect]
    });
    let [more, interval, change] = changes.map(|cell: String| Cell::struck(cell, invalid));
    Row::from([arm.into(), Cell::struck(value, invalid), more, interval, change, word.into()])
}

/// Whether the interval of the share is clear of no change, and that of the amount is not.
fn is_opposed(c: &Comparison) -> bool {
    figures::is_clear(c.low, c.high) && !figures::is_clear(c.amount_low, c.amount_high)
}

/// Speed, times and counts of every arm.
pub(super) fn per_arm(reading: &Reading<'_>) -> Section {
    let command = reading.bundle.results.workload.kind == "command";
    let section = Section::in_terminal(match (command, reading.bundle.setup.design.decision()) {
        (true, _) => "Runs".to_owned(),
        (_, Some(load)) => {
            format!("Replies: times of the rounds in turn at {}, counts of all", per_second(load.rate_per_s))
        }
        (_, None) => "Replies".to_owned(),
    });
    let says_nothing = |arm: &ArmResult| {
        let has_times = command || arm.response_ns.count > 0 || arm.full_speed.is_some();
        arm.requests == 0 || (!has_times && arm.errors.values().sum::<u64>() == 0)
    };
    // Operations stand kind by kind.
    if reading.arms().all(|arm| reading.arm(arm).is_none_or(says_nothing)) || makes_operations(reading.kind())
    {
        return section;
    }
    let head: &[&str] = match command {
        true => &["arm", "user CPU", "system CPU", "runs", "failed"],
        false => &["arm", "replies/s", "p50", "p99", "p99.9", "bytes/reply", "failed"],
    };
    let full_speed = reading.arms().filter_map(|arm| full_speed_row(reading, arm));
    let rows = reading.arms().map(|arm| arm_row(reading, arm, command)).chain(full_speed);
    section.table(Table::new(head.iter().copied(), rows))
}

fn arm_row(reading: &Reading<'_>, name: &str, command: bool) -> Row {
    let empty = Default::default();
    let arm = reading.arm(name).unwrap_or(&empty);
    let failed = figures::count(arm.errors.values().sum()).into();
    let marked = |meter: &str, figure: String| Cell::struck(figure, reading.is_invalid(name, meter));
    let meter = |meter: &str| marked(meter, reading.shown(name, meter));
    if command {
        let runs = figures::count(arm.requests).into();
        return Row::from([name.into(), meter("user_cpu"), meter("system_cpu"), runs, failed]);
    }
    let times = arm.response_ns;
    let time = |meter: &str, ns: u64| match times.count {
        0 => NONE.into(),
        _ => marked(meter, figures::value("ns", ns as f64)),
    };
    let offered = reading.bundle.setup.design.decision().map(|load| per_second(load.rate_per_s));
    Row::from([
        name.into(),
        offered.map_or_else(|| meter("replies_per_second"), Cell::from),
        time("response_p50", times.p50),
        time("response_p99", times.p99),
        time("response_p999", times.p999),
        meter(BYTES_PER_REPLY),
        failed,
    ])
}

/// An arm at full speed, where its other figures are of another load.
fn full_speed_row(reading: &Reading<'_>, arm: &str) -> Option<Row> {
    let full = reading.arm(arm)?.full_speed?;
    let marked = |text: String| Cell::struck(text, reading.is_invalid(arm, "replies_per_second"));
    let times = full.response_ns;
    let [p50, p99, p999] =
        [times.p50, times.p99, times.p999].map(|ns| marked(figures::value("ns", ns as f64)));
    let rate = marked(figures::value("1/s", full.replies_per_second));
    let blank = Cell::default;
    Some(Row::from([format!("{arm}, full speed").into(), rate, p50, p99, p999, blank(), blank()]))
}

/// The other comparisons, marked as what they are.
pub(super) fn exploratory(reading: &Reading<'_>) -> Section {
    let meters = match reading.kind() {
        "command" => ALSO_OF_COMMANDS.as_slice(),
        kind if makes_operations(kind) => ALSO_OF_OPERATIONS.as_slice(),
        _ => ALSO.as_slice(),
    };
    let rows = reading.compared().flat_map(|arm| also_rows(reading, arm, meters));
    let head = ["arm", "figure", "value", "change", "interval", "by itself"];
    let title = "Also measured (exploratory: no verdict stands on these)";
    Section::in_terminal(title).table(Table::new(head, rows).figures(4)).detail()
}

/// One arm's rows; its name stands in the first.
fn also_rows(reading: &Reading<'_>, arm: &str, meters: &[&str]) -> Vec<Row> {
    let found = meters.iter().filter_map(|meter| reading.comparison(arm, meter));
    let found = found.filter(|c| !c.primary && tells_something(c));
    let names = std::iter::once(arm).chain(std::iter::repeat(""));
    names.zip(also_at_loads(reading, arm).chain(found)).map(|(name, c)| also_row(reading, name, c)).collect()
}

/// The primary figure in turn and at full speed; those of a curve have a table of their own.
fn also_at_loads<'b>(reading: &Reading<'b>, arm: &str) -> impl Iterator<Item = &'b Comparison> {
    let design = &reading.bundle.setup.design;
    reading.at_other_loads(arm).filter(move |c| c.load.is_none() || c.design != design.design)
}

fn tells_something(comparison: &Comparison) -> bool {
    comparison.unit != "share" || comparison.value > 0.0 || comparison.baseline_value > 0.0
}

fn also_row(reading: &Reading<'_>, name: &str, comparison: &Comparison) -> Row {
    let change = Change::of(comparison);
    let value = figures::value(&comparison.unit, comparison.value);
    let [value, effect, interval] = [value, change.effect, change.interval]
        .map(|cell| Cell::struck(cell, comparison.verdict == Verdict::Invalid));
    let short = words::short(reading.kind(), &comparison.meter);
    let figure = match figures::how(comparison, &reading.bundle.setup.design) {
        Some(how) => format!("{short}, {how}"),
        None => short.to_owned(),
    };
    Row::from([name.into(), figure.into(), value, effect, interval, words::verdict_of(comparison).into()])
}

/// What failed, by class.
pub(super) fn failures(reading: &Reading<'_>) -> Section {
    let failed = |arm| {
        let errors = &reading.arm(arm)?.errors;
        let tally = words::tally(errors.iter().filter(|(_, n)| **n > 0));
        (!tally.is_empty()).then_some((arm, tally))
    };
    let title = format!("Failed {} by class", reading.requests());
    Section::in_terminal(title).entries(reading.arms().filter_map(failed))
}

/// Part of the experiment that was run, where the plan states a sample of it.
pub(super) fn extent(reading: &Reading<'_>) -> Section {
    let extent = reading.bundle.results.extent.map(|extent| extent.in_words().to_owned());
    Section::in_terminal("Extent").bullets(extent.as_slice())
}

/// Load, machine use, workload, and where the time went.
pub(super) fn conditions(reading: &Reading<'_>) -> Section {
    let results = &reading.bundle.results;
    let mut facts = vec![("load", reading.load())];
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
    Section::in_terminal("Conditions").entries(facts).detail()
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
