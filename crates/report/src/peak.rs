//! The report of a search for peaks, and its trials as CSV.

use crate::document::{Block, Card, Cell, Document, Drawing, Row, Section, State, Table};
use crate::experiment::{self, handshakes};
use crate::figures::{self, NONE};
use crate::plot::chart::{self, Mark, Scale, Series};
use crate::reading::Reading;
use crate::{slices, words};
use bakeoff_results::{PeakArm, PeakResult, PeakTrial, Results};

/// A search and what it found.
struct Search<'r> {
    reading: &'r Reading<'r>,
    peak: &'r PeakResult,
    /// In plan order.
    arms: Vec<(&'r str, &'r PeakArm)>,
}

pub(crate) fn document(reading: &Reading<'_>, peak: &PeakResult) -> Document {
    let results = &reading.bundle.results;
    let arms = reading.arms().filter_map(|arm| Some((arm, peak.arms.get(arm)?))).collect();
    let search = Search { reading, peak, arms };
    let [warnings, warnings_in_terminal] = experiment::warnings(reading);
    let extent = extent(results, peak);
    let plan = experiment::plan(reading, &extent);
    let head = experiment::head(reading, &title(&results.order), extent);
    let mut sections = vec![search.findings(), search.ratios(), warnings, search.rates(), search.curves()];
    sections.extend(search.arms.iter().map(|(name, arm)| search.curve(name, arm)));
    sections.extend([
        search.trials(),
        handshakes::section(reading),
        warnings_in_terminal,
        search.conditions(),
        experiment::workload(reading),
        plan,
        experiment::machine(reading),
    ]);
    // Nothing is drawn by the script, which opens for paper what is closed.
    Document::new(head, sections).with_plots(experiment::no_plots())
}

impl Search<'_> {
    fn named(&self, arm: &str) -> Cell {
        Cell::keyed(arm, self.reading.key(arm))
    }

    fn findings(&self) -> Section {
        let cards = self.arms.iter().map(|(name, arm)| card(name, self.reading.key(name), arm)).collect();
        Section::verdicts("Highest rates").add(Block::Cards(cards))
    }

    fn ratios(&self) -> Section {
        let ratio = |arm| Some((self.named(arm), self.peak.ratios.get(arm)?.sentence.as_str()));
        let title = format!("Against {}", self.reading.baselines());
        Section::new(title).entries(self.reading.arms().filter_map(ratio))
    }

    fn rates(&self) -> Section {
        let row = |(name, arm): &(&str, &PeakArm)| {
            let passed = arm.passed_per_s.map_or(NONE.to_owned(), |rate| figures::value("1/s", rate));
            [
                (*name).to_owned(),
                rate(arm),
                interval(arm),
                passed,
                arm.trials.len().to_string(),
                limited_by(arm).to_owned(),
                confirmed(arm).to_owned(),
            ]
        };
        let head = ["arm", "rate", "interval", "3 of 4 passed", "trials", "limited by", "confirmed"];
        let section = Section::in_terminal("Highest rate");
        section.table(Table::new(head, self.arms.iter().map(row)).figures(4))
    }

    fn curves(&self) -> Section {
        let about = format!(
            "Trials from 11 to 110 % of the rate that was found, in mixed order, each from rest. The stripe is that rate with its \
             interval. A hollow point is a trial that did not pass; {}.",
            bound(self.peak)
        );
        let keys = self.arms.iter().map(|(name, _)| self.named(name)).collect();
        let section = Section::on_page("curve", "At ten rates").nav("At ten rates").about(about);
        section.page(Block::Keys(keys)).page(Block::Charts(self.charts()))
    }

    /// What is drawn of an arm, as a table.
    fn curve(&self, name: &str, arm: &PeakArm) -> Section {
        let quantile = quantile(self.peak);
        let head = ["rate", "p50", &quantile, "in flight", "CPU/request", "trial"];
        let rows = curve(arm).into_iter().map(|trial| state(trial, cells(trial)));
        let table = Table::new(head, rows).figures(4).class("trials");
        Section::new(format!("{name} at ten rates")).table(table)
    }

    fn trials(&self) -> Section {
        let about = format!(
            "A rate is sustained when {}, at least 99.5 % of the requests due are answered, few enough fail, and waiting requests do not \
             pile up. A trial in which the load generator was late is void: it says nothing about the server.",
            bound(self.peak)
        );
        let quantile = quantile(self.peak);
        let head =
            ["Number", "For", "Time", "Rate", "p50", &quantile, "In flight", "CPU per request", "Trial"];
        let row = |trial: &PeakTrial| {
            let [rate, p50, quantile, in_flight, cpu, verdict] = cells(trial);
            let (number, time) = (trial.number.to_string(), figures::span(trial.time_ns));
            let purpose = trial.purpose.clone();
            state(trial, [number, purpose, time, rate, p50, quantile, in_flight, cpu, verdict])
        };
        let details = |(name, arm): &(&str, &PeakArm)| {
            let summary = format!("{name}: {} trials in their order", arm.trials.len());
            let table = Table::new(head, arm.trials.iter().map(row)).class("trials");
            Block::details(false, Cell::keyed(summary, self.reading.key(name)), [Block::Table(table)])
        };
        let section = Section::on_page("trials", "All trials").nav("All trials").about(about);
        self.arms.iter().map(details).fold(section, Section::page)
    }

    fn conditions(&self) -> Section {
        let results = &self.reading.bundle.results;
        let requests = figures::count(results.workload.requests);
        Section::in_terminal("Conditions").detail().entries([
            ("load", results.load.clone()),
            ("bound", bound(self.peak)),
            ("workload", format!("{}; {requests} requests in all", results.workload.description)),
            ("ended", format!("{} trials, {}", trials(self.peak), ended(&results.stopped_by))),
        ])
    }

    /// The curves of all arms, one chart a figure.
    fn charts(&self) -> Vec<Drawing> {
        type Pick = fn(&PeakTrial) -> Option<f64>;
        let line = |name: &str, arm: &PeakArm, what: &str, dashed: bool, pick: Pick| Series {
            key: self.reading.key(name),
            label: format!("{name}, {what}"),
            dashed,
            name: None,
            points: curve(arm)
                .into_iter()
                .filter_map(|trial| Some((trial.rate_per_s, pick(trial)?, trial.verdict == "passed")))
                .collect(),
        };
        let each = |what: &str, dashed: bool, pick: Pick| -> Vec<Series> {
            self.arms.iter().map(|(name, arm)| line(name, arm, what, dashed, pick)).collect()
        };
        let mark = |(name, arm): &(&str, &PeakArm)| {
            let (low, high) = arm.low_per_s.zip(arm.high_per_s)?;
            Some(Mark { key: self.reading.key(name), at: arm.rate_per_s?, low, high })
        };
        let marks: Vec<Mark> = self.arms.iter().filter_map(mark).collect();
        let quantile = quantile(self.peak);
        let mut times = each(&quantile, false, |trial| trial.quantile_ns.map(|ns| ns as f64));
        times.extend(each("p50", true, |trial| trial.p50_ns.map(|ns| ns as f64)));
        let in_flight = each("in flight", false, |trial| trial.in_flight);
        let cpu = each("CPU per request", false, |trial| trial.cpu_per_request_ns);
        let times_caption = format!("Response time: {quantile}, and p50 dashed");
        let cpu_caption = words::upper_first(words::noun("get", "subject_cpu_per_request"));
        [
            chart::of(&times_caption, "ns", Scale::Logarithmic, &times, &marks),
            chart::of("Requests in flight, on average", "count", Scale::Logarithmic, &in_flight, &marks),
            chart::of(&cpu_caption, "ns", Scale::Linear, &cpu, &marks),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn card(name: &str, key: String, arm: &PeakArm) -> Card {
    let look = match arm.finding.as_str() {
        "peak" if arm.precise => (State::Fine, "\u{25b2}", "highest rate"),
        "peak" => (State::Open, "\u{25b2}", "highest rate"),
        "at-least" => (State::Open, "\u{2265}", "at least"),
        "no-rate-passes" => (State::Costs, "\u{2715}", "no rate"),
        _ => (State::Invalid, "?", "not measured"),
    };
    let said = |name: &str, value: &str| (value != NONE).then(|| format!("{name}: {value}"));
    let passed = arm.passed_per_s.map(|rate| figures::value("1/s", rate));
    let facts = [
        Some(format!("{} trials", arm.trials.len())),
        said("limited by", limited_by(arm)),
        passed.map(|rate| format!("3 of 4 trials passed at {rate}")),
        said("confirmed", confirmed(arm)),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let mut card = Card::new((name, key), look, &arm.sentence);
    card.facts.push(facts.join("; "));
    card
}

/// A trial's row in the colour of its verdict.
fn state<const N: usize>(trial: &PeakTrial, cells: [String; N]) -> Row {
    let state = match trial.verdict.as_str() {
        "passed" => State::Fine,
        "failed" => State::Costs,
        _ => State::Invalid,
    };
    Row::from(cells).state(state, "")
}

/// Why no more trials were run.
fn ended(stopped_by: &str) -> &str {
    match stopped_by {
        "verdicts" => "every search came to its end",
        "budget" => "the time budget was used up",
        "interrupted" => "the run was interrupted",
        "failed" => "a subject or the machine failed",
        other => other,
    }
}

/// `sustains 5210/s` needs the arm before it; this is the number alone: `5210/s`, `at least 8000/s`.
fn rate(arm: &PeakArm) -> String {
    let rate = arm.rate_per_s.map_or(NONE.to_owned(), |rate| figures::value("1/s", rate));
    match arm.finding.as_str() {
        "peak" => rate,
        "at-least" => format!("at least {rate}"),
        _ => NONE.to_owned(),
    }
}

/// `5150..5280/s`
fn interval(arm: &PeakArm) -> String {
    let Some((low, high)) = arm.low_per_s.zip(arm.high_per_s) else { return NONE.to_owned() };
    let low = figures::value("1/s", low);
    format!("{}..{}", low.trim_end_matches("/s"), figures::value("1/s", high))
}

/// What keeps the rate from being higher, in a word.
fn limited_by(arm: &PeakArm) -> &str {
    arm.binding.as_deref().or(arm.limit.as_deref()).unwrap_or(NONE)
}

/// Whether the long trial held, in a word.
fn confirmed(arm: &PeakArm) -> &str {
    match arm.confirmed.as_str() {
        "passed" => "yes",
        "failed" => "no",
        "void" => "void",
        _ => NONE,
    }
}

/// The trials of the curve, by rate.
fn curve(arm: &PeakArm) -> Vec<&PeakTrial> {
    let mut curve: Vec<&PeakTrial> = arm.trials.iter().filter(|trial| trial.purpose == "curve").collect();
    curve.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    curve
}

/// `p99`
fn quantile(peak: &PeakResult) -> String {
    format!("p{}", peak.setup.quantile * 100.0)
}

/// `passed`, `failed: latency, queue`
fn verdict(trial: &PeakTrial) -> String {
    match trial.reasons.is_empty() {
        true => trial.verdict.clone(),
        false => format!("{}: {}", trial.verdict, trial.reasons.join(", ")),
    }
}

/// A time, or that there was none.
fn time(ns: Option<u64>) -> String {
    ns.map_or(NONE.to_owned(), |ns| figures::value("ns", ns as f64))
}

/// A trial's figures: rate, median, bounded quantile, in flight, CPU per request, verdict.
fn cells(trial: &PeakTrial) -> [String; 6] {
    [
        figures::value("1/s", trial.rate_per_s),
        time(trial.p50_ns),
        time(trial.quantile_ns),
        trial.in_flight.map_or(NONE.to_owned(), figures::plain),
        trial.cpu_per_request_ns.map_or(NONE.to_owned(), |ns| figures::value("ns", ns)),
        verdict(trial),
    ]
}

/// What every trial was judged by.
fn bound(peak: &PeakResult) -> String {
    format!(
        "{} of the response time at most {} ({})",
        quantile(peak),
        figures::value("ns", peak.setup.slo_ns as f64),
        peak.setup.slo_reason
    )
}

/// How many trials there were, of all arms.
fn trials(peak: &PeakResult) -> usize {
    peak.arms.values().map(|arm| arm.trials.len()).sum()
}

/// `23 trials, 2 min 05 s, seed 1`
fn extent(results: &Results, peak: &PeakResult) -> String {
    let n = trials(peak);
    let noun = if n == 1 { "trial" } else { "trials" };
    format!("{n} {noun}, {}, seed {}", figures::span(results.duration_ns), results.seed)
}

/// `What rate does tls sustain?`
fn title(order: &[String]) -> String {
    match order {
        [one] => format!("What rate does {one} sustain?"),
        [a, b] => format!("What rates do {a} and {b} sustain?"),
        many => format!("What rates do these {} arms sustain?", many.len()),
    }
}

/// A name, and the cell of an arm's trial.
type Column = (&'static str, fn(&str, &PeakTrial) -> String);

/// Columns of [`trials_csv`].
const COLUMNS: [Column; 17] = [
    ("number", |_, trial| trial.number.to_string()),
    ("arm", |arm, _| arm.to_owned()),
    ("purpose", |_, trial| trial.purpose.clone()),
    ("rate_per_s", |_, trial| trial.rate_per_s.to_string()),
    ("time_ns", |_, trial| trial.time_ns.to_string()),
    ("verdict", |_, trial| trial.verdict.clone()),
    ("reasons", |_, trial| trial.reasons.join(";")),
    ("due", |_, trial| trial.due.to_string()),
    ("replies", |_, trial| trial.replies.to_string()),
    ("failed", |_, trial| trial.errors.values().sum::<u64>().to_string()),
    ("response_p50_ns", |_, trial| or_empty(trial.p50_ns)),
    ("response_quantile_ns", |_, trial| or_empty(trial.quantile_ns)),
    ("lateness_p99_ns", |_, trial| trial.lateness_p99_ns.to_string()),
    ("subject_cpu_per_request_ns", |_, trial| or_empty(trial.cpu_per_request_ns)),
    ("in_flight", |_, trial| or_empty(trial.in_flight)),
    ("growth_low_per_s", |_, trial| or_empty(trial.growth_low)),
    ("growth_high_per_s", |_, trial| or_empty(trial.growth_high)),
];

fn or_empty(figure: Option<impl ToString>) -> String {
    figure.map(|figure| figure.to_string()).unwrap_or_default()
}

/// One row a trial, in the order in which they ran, for a search for peaks. Times in nanoseconds,
/// rates per second; empty where there is no figure.
pub fn trials_csv(peak: &PeakResult) -> String {
    let mut all: Vec<(&String, &PeakTrial)> =
        peak.arms.iter().flat_map(|(name, arm)| arm.trials.iter().map(move |trial| (name, trial))).collect();
    all.sort_by_key(|(_, trial)| trial.number);
    let rows = all.into_iter().map(|(arm, trial)| COLUMNS.map(|(_, cell)| cell(arm, trial)));
    slices::written(COLUMNS.map(|(name, _)| name), rows)
}
