//! Tables that a page has room for: times, resource use, all comparisons, workload, machine.

use super::drawings::{named, spent};
use super::plots::Data;
use super::{baseline, glyph, level};
use crate::document::{Block, Cell, Entry, Row, Section, Table};
use crate::figures::{self, Change, NONE};
use crate::link;
use crate::reading::Reading;
use crate::words;
use bakeoff_meter::{Aggregation, CATALOGUE, Quantiles};
use bakeoff_results::{ArmResult, Comparison};
use bakeoff_stats::Verdict;

/// What the columns of [`comparisons`] mean.
const COLUMNS: [(&str, &str); 5] = [
    (
        "Times the noise",
        "the change over half of its interval's width; below 1 nothing can be told from noise",
    ),
    ("Smallest visible", "the smallest effect that this many rounds would have found four times in five"),
    ("Paired sd", "standard deviation of the log ratios of one round's slices: how noisy the comparison is"),
    (
        "Ratio of sums",
        "the whole run's cost, rare large replies included, which the trimmed estimate leaves out",
    ),
    ("Heavy tails", "two estimators disagreed, and the more robust one (Hodges\u{2013}Lehmann) is shown"),
];

/// Quantiles of all times, drawn and as a table.
pub(super) fn times(reading: &Reading<'_>, data: &Data) -> Section {
    let mut section = Section::on_page("times", "Times").nav("Times");
    section = match data.has_curves() {
        true => section
            .about(
                "All good replies of complete rounds, merged and never averaged. The axis stretches the tail: each step to the right is \
                 ten times rarer. Where the ground is shaded, fewer than 50 replies of some arm lie beyond.",
            )
            .page(Block::Plots("plot-curves", "plot tall")),
        false => section.page(Block::Absent("No times were recorded for all requests together.".to_owned())),
    };
    if data.has_shift() {
        section = section
            .page(Block::Heading("Shift: where in the distribution the change sits".to_owned()))
            .about(format!(
                "Change of each quantile of the response time against {}, with its interval (by resampling rounds; exploratory). Flat \
                 means that every request pays; rising to the right means that the tail pays.",
                baseline(reading)
            ))
            .page(Block::Plots("plot-shift", "plots"));
    }
    let head = ["Arm", "p50", "p90", "p99", "p99.9", "max", "count"];
    let table = Table::new(head, time_rows(reading)).caption("Quantiles of merged histograms");
    section.page(Block::details(false, "All times as a table", [Block::Table(table)]))
}

fn time_rows(reading: &Reading<'_>) -> Vec<Row> {
    type Pick = fn(&ArmResult) -> Quantiles;
    let kinds: [(&str, Pick); 6] = [
        ("Response: from due to last byte", |arm| arm.response_ns),
        ("Service: from sent to last byte", |arm| arm.service_ns),
        ("First byte: from sent", |arm| arm.first_byte_ns),
        ("TCP connect", |arm| arm.connect_ns),
        ("TLS handshake", |arm| arm.handshake_ns),
        ("Lateness of the generator", |arm| arm.lateness_ns),
    ];
    let time = |ns: u64| Cell::from(figures::value("ns", ns as f64));
    let row = |arm: &str, q: Quantiles| {
        let times = [q.p50, q.p90, q.p99, q.p999, q.max].map(time);
        let cells = [named(reading, arm)].into_iter().chain(times).chain([figures::count(q.count).into()]);
        Row::from(cells.collect::<Vec<Cell>>())
    };
    let of_kind = |(kind, pick): (&str, Pick)| {
        let of_arms = reading.arms().filter_map(|arm| Some((arm, pick(reading.arm(arm)?))));
        let rows = of_arms.filter(|(_, q)| q.count > 0).map(|(arm, q)| row(arm, q));
        under([kind.into()], rows)
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

/// Rows with a heading above them, where there are any.
fn under(heading: [Cell; 1], rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.into_iter().collect();
    if !rows.is_empty() {
        rows.insert(0, heading.into());
    }
    rows
}

/// Medians of every meter, what they mean, the machine slice by slice, and where the time went.
pub(super) fn resources(reading: &Reading<'_>, data: &Data) -> Section {
    let head = |arm: &str| named(reading, arm).small(reading.invalid(arm).is_some().then_some("invalid"));
    let head = [Cell::from("Figure")].into_iter().chain(reading.arms().map(head));
    let meters = CATALOGUE.iter().map(|meter| Entry::new(words::upper_first(meter.noun), meter.help));
    let meters = Block::details(false, "What these figures mean", [Block::Entries(meters.collect())]);
    let section = Section::on_page("resources", "Resource use").nav("Resources");
    let rows = resource_rows(reading);
    let section = match rows.is_empty() {
        true => section.page(Block::Absent("No resource use was recorded.".to_owned())),
        false => section.table(Table::new(head, rows).caption("Median over complete rounds")).page(meters),
    };
    let section = match data.has_machine() {
        true => section
            .page(Block::Heading("The machine, slice by slice".to_owned()))
            .about("Shares of all its CPU time, as vmstat shows them. Stolen time is what the hypervisor gave to others.")
            .page(Block::Plots("plot-machine", "plot")),
        false => section,
    };
    section.page(Block::Bars(vec![spent(reading)]))
}

/// Times and failures have tables of their own; a meter without any figure is left out.
fn resource_rows(reading: &Reading<'_>) -> Vec<Row> {
    let row = |noun: String, cell: &dyn Fn(&str) -> Option<String>| {
        let cells: Vec<(bool, Option<String>)> =
            reading.arms().map(|arm| (reading.invalid(arm).is_some(), cell(arm))).collect();
        cells.iter().any(|(_, cell)| cell.is_some()).then(|| {
            let cells =
                cells.into_iter().map(|(struck, cell)| Cell::struck(cell.unwrap_or(NONE.to_owned()), struck));
            Row::from([Cell::from(noun)].into_iter().chain(cells).collect::<Vec<_>>())
        })
    };
    let meters =
        CATALOGUE.iter().filter(|meter| meter.kind != Aggregation::Histogram && meter.name != "errors");
    let meters = meters.filter_map(|meter| {
        let shown = |arm: &str| reading.figure(arm, meter.name).map(|_| reading.shown(arm, meter.name));
        row(words::upper_first(reading.noun(meter.name)), &shown)
    });
    let deviation = format!("Deviation of {} between rounds", reading.noun(reading.primary_meter()));
    let deviation = row(deviation, &|arm| reading.arm(arm)?.deviation.map(figures::share));
    let full = row("Full".to_owned(), &|arm| words::full(reading.arm(arm)?));
    meters.chain(deviation).chain(full).collect()
}

/// Every comparison of every arm.
pub(super) fn comparisons(reading: &Reading<'_>) -> Section {
    let of = |arm: &str| {
        let own = reading.bundle.results.comparisons.iter().filter(|c| c.arm == arm);
        under([named(reading, arm)], own.map(|c| comparison(reading, c)))
    };
    let head = [
        "Figure",
        "Value",
        "Baseline",
        "More",
        "Change",
        "Interval",
        "Verdict",
        "Times the noise",
        "Smallest visible",
        "Paired sd",
        "Ratio of sums",
        "Rounds",
    ];
    let caption = format!("Every figure against {}; intervals at {}", baseline(reading), level(reading));
    let table = Table::new(head, reading.judged().flat_map(of)).class("comparisons").caption(caption);
    let columns =
        Block::details(false, "What the columns mean", [Block::Entries(COLUMNS.map(Entry::from).to_vec())]);
    let section = Section::on_page("comparisons", "All comparisons").nav("All comparisons").about(
        "The verdict stands on the primary figure alone. All others are exploratory: with so many, some will look resolved by chance. Grey: \
         the change is smaller than its own noise.",
    );
    let is_empty = table.is_empty();
    let section = section.table(table).absent("There is nothing to compare.");
    if is_empty { section } else { section.page(columns) }
}

fn comparison(reading: &Reading<'_>, c: &Comparison) -> Row {
    let (change, amount) = (Change::of(c), Change::amount(c));
    let share = |x: Option<f64>| Cell::from(x.map_or(NONE.to_owned(), figures::share));
    let figure = |text: String| Cell::struck(text, c.verdict == Verdict::Invalid);
    let noun = words::upper_first(reading.noun(&c.meter));
    let noun = match figures::how(c, &reading.bundle.setup.design) {
        Some(how) => format!("{noun}, {how}"),
        None => noun,
    };
    let cells = [
        Cell::from(noun).small(c.primary.then_some("primary")),
        figure(figures::value(&c.unit, c.value)),
        figures::value(&c.unit, c.baseline_value).into(),
        figure(amount.effect),
        figure(change.effect),
        figure(change.interval),
        Cell::from(words::verdict_of(c))
            .glyph(glyph(c.verdict))
            .small(c.heavy_tails.then_some("heavy tails")),
        figures::times_noise_text(c).into(),
        share(c.smallest_detectable),
        share(c.paired_sd),
        c.ratio_of_sums.map_or(NONE.to_owned(), figures::percent).into(),
        c.rounds.to_string().into(),
    ];
    let is_quiet = figures::times_noise(c).is_none_or(|times| times < 1.0);
    let mark = match (c.primary, is_quiet) {
        (true, _) => "primary",
        (false, true) => "quiet",
        (false, false) => "",
    };
    Row::from(cells).state(c.verdict.into(), mark)
}

/// What was asked for, and what came of it.
pub(crate) fn workload(reading: &Reading<'_>) -> Section {
    let all = if reading.bundle.results.peak.is_some() { "all trials" } else { "complete rounds" };
    let head = ["Arm", "Requests", "Good replies", "Failed", "Bytes", "Statuses", "Failures by class"];
    let replies = reading.arms().filter_map(|arm| replies(reading, arm));
    let replies = Table::new(head, replies).figures(4).caption(format!("Requests of {all}"));
    let skipped = &reading.bundle.results.workload.skipped;
    let skipped: Vec<Entry> =
        skipped.iter().map(|(reason, n)| Entry::new(reason.as_str(), figures::count(*n))).collect();
    let section = Section::on_page("workload", "Workload").nav("Workload");
    let section = section.entries(workload_facts(reading)).table(replies);
    let section = section.page(Block::Heading("Log lines not replayed".to_owned()));
    match skipped.is_empty() {
        true => section.page(Block::Absent("None.".to_owned())),
        false => section.entries(skipped),
    }
}

fn workload_facts(reading: &Reading<'_>) -> Vec<(String, String)> {
    let (setup, results) = (&reading.bundle.setup.workload, &reading.bundle.results.workload);
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut facts = vec![
        fact("kind", results.kind.clone()),
        fact("what", results.description.clone()),
        fact("load", reading.load()),
        (format!("{}, all arms", reading.requests()), figures::count(results.requests)),
    ];
    facts.extend(reading.bundle.results.extent.map(|extent| fact("extent", extent.in_words().to_owned())));
    if results.slice_requests > 0 {
        facts.push((format!("{} per slice", reading.requests()), words::slice(&reading.bundle.results)));
    }
    facts.extend(link::line(reading).map(|line| fact("link", line)));
    if !setup.slice_reason.is_empty() {
        facts.push(fact("why that many", setup.slice_reason.clone()));
    }
    facts.extend(setup.total_requests.map(|n| fact("requests of the whole benchmark", figures::count(n))));
    for arm in reading.arms() {
        let webstone = reading.arm(arm).and_then(|arm| arm.webstone.as_ref());
        facts.extend(webstone.map(|figures| (format!("WebStone metrics, {arm}"), words::webstone(figures))));
    }
    facts.push(fact("share of failures allowed", figures::share(reading.bundle.setup.max_errors)));
    facts
}

fn replies(reading: &Reading<'_>, name: &str) -> Option<Row> {
    let arm = reading.arm(name)?;
    let errors = words::tally(arm.errors.iter().filter(|(_, n)| **n > 0));
    Some(Row::from([
        named(reading, name),
        figures::count(arm.requests).into(),
        figures::count(arm.replies).into(),
        figures::count(arm.errors.values().sum()).into(),
        figures::value("B", arm.bytes as f64).into(),
        words::tally(&arm.statuses).into(),
        if errors.is_empty() { "none".into() } else { errors.into() },
    ]))
}

/// The plan, and how it ended.
pub(crate) fn plan(reading: &Reading<'_>, extent: &str) -> Section {
    let ended = words::stopped_by(&reading.bundle.results);
    Section::plan(&format!("{extent}; {ended}. To measure it again:"), None, &reading.bundle.plan)
}

/// The machine, and how each arm was started.
pub(crate) fn machine(reading: &Reading<'_>) -> Section {
    let environment = &reading.bundle.results.environment;
    let cores = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let apart = if environment.disjoint { "yes" } else { "no: they share cores" };
    let own = [
        ("cores of the generator", cores(&environment.generator_cores)),
        ("cores of the subjects", cores(&environment.subject_cores)),
        ("generator and subjects apart", apart.to_owned()),
        ("bakeoff", reading.bundle.results.bakeoff.clone()),
    ];
    let facts = environment.facts.iter().map(|fact| Entry::new(fact.name.as_str(), fact.value.as_str()));
    let section = Section::on_page("machine", "Machine and servers").nav("Machine");
    let section = section.entries(facts.chain(own.map(Entry::from)));
    reading.arms().filter_map(|arm| subject(reading, arm)).fold(section, Section::page)
}

fn subject(reading: &Reading<'_>, arm: &str) -> Option<Block> {
    let subject = reading.bundle.setup.subjects.get(arm)?;
    let facts = [
        ("server", Some(subject.server.clone())),
        ("address", Some(subject.url.clone())),
        ("command", Some(subject.command.join(" "))),
        ("version", subject.version.clone()),
        ("CPU read from", subject.cpu_source.clone()),
        ("TLS", subject.tls.clone()),
        ("client", subject.client.as_ref().map(|client| client.words.clone())),
        ("SHA-256 of the executable", subject.binary_sha256.clone()),
    ];
    let facts =
        facts.into_iter().filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
    let facts = facts.map(|fact| Entry::from(fact).exact()).collect();
    let config = Block::Preformatted(subject.config.clone().unwrap_or_default());
    let summary = Cell::keyed(format!("{arm} as it was started"), reading.key(arm));
    Some(Block::details(false, summary, [Block::Entries(facts), config]))
}
