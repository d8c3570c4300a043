//! The page of a bake-off of caches: charts against the rate, tables, the published figures.

use super::chart::{Chart, Scale, Series};
use super::course::{Course, courses};
use super::page::{STYLE, apart};
use crate::caches::{
    FAULTS, PRODUCTS, Table, by_rate, costs, extent, faults, handshakes, hit_ratios, hits_and_misses,
    in_gzip, is_judged, pages, performance, phases, preparation, published,
};
use crate::downtime::{LOSSES, TIMES, losses, times};
use crate::passes::{PASSES, TWICE, baselines, noise, passes};
use crate::together::{TOGETHER, together};
use crate::{conformance, figures, words};
use bakeoff_caches::conformance::{Conformance, FailedTest};
use bakeoff_caches::records::{End, IntervalLine, RunRecord};
use bakeoff_caches::results::{CutShort, Entrant, Point, Results};
use bakeoff_plan::study::{self, Study};
use bakeoff_results::Fact;
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

const TEMPLATE: &str = include_str!("../../assets/caches.html.j2");
/// Above response times.
const JUDGED: &str = "Response time from when a request was due, with its 95 % interval, and document hit ratio; requests of that phase that failed, where any did; the last column is the rule of 1999, and what of it did not hold";
const NOT_JUDGED: &str = "Response time from when a request was due, with its 95 % interval, and document hit ratio; requests of that phase that failed, where any did";
/// Style classes of entrants.
const KEYS: usize = 6;

/// Everything in the template.
#[derive(Serialize)]
struct View {
    name: String,
    title: String,
    extent: String,
    started: String,
    bakeoff: String,
    partial: Option<String>,
    flags: Option<String>,
    entrants: Vec<Card>,
    together: Option<Grid>,
    charts: Vec<Chart>,
    courses: Vec<Course>,
    // Whether the rule of 1999 was judged.
    judged: bool,
    twice: Option<Twice>,
    conformance: Option<Examined>,
    path: Option<String>,
    published: Vec<Published>,
    missing: Vec<String>,
    not_scaled: Vec<String>,
    differs: Vec<String>,
    warnings: Vec<String>,
    machine: Vec<Fact>,
    plan: String,
    // Ours, hence not escaped.
    style: Value,
}

/// An entrant.
#[derive(Serialize)]
struct Card {
    name: String,
    key: String,
    state: &'static str,
    glyph: &'static str,
    word: &'static str,
    lead: String,
    rest: String,
    titled: String,
    config: Option<String>,
    preparation: Vec<String>,
    tables: Vec<Grid>,
    firsts: Vec<First>,
}

#[derive(Serialize)]
struct Grid {
    caption: &'static str,
    // So many columns after the first are numbers.
    figures: usize,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// The baseline beside itself.
#[derive(Serialize)]
struct Twice {
    noise: String,
    table: Grid,
}

/// The first fault of a kind, whole.
#[derive(Serialize)]
struct First {
    label: String,
    text: String,
}

/// What the HTTP cache suite said.
#[derive(Serialize)]
struct Examined {
    source: String,
    table: Grid,
    remarks: Vec<String>,
    failures: Vec<Failures>,
}

/// The required tests that a product failed.
#[derive(Serialize)]
struct Failures {
    name: String,
    tests: Vec<FailedTest>,
}

/// A published table.
#[derive(Serialize)]
struct Published {
    title: String,
    conditions: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

/// The report as one HTML file; `plan` as it was run.
/// The runs and their intervals are what is drawn over time.
pub fn caches_html(results: &Results, plan: &str, runs: &[RunRecord], intervals: &[IntervalLine]) -> String {
    let courses = courses(results, runs, intervals);
    super::environment()
        .render_str(TEMPLATE, Serde(View::of(results, plan, courses)))
        .expect("the template is a constant, and every name in it is a field of `View`")
}

impl View {
    fn of(results: &Results, plan: &str, courses: Vec<Course>) -> Self {
        let study = published(results);
        Self {
            name: results.name.clone(),
            title: results.title.clone(),
            extent: extent(results),
            started: words::moment(&results.started),
            bakeoff: results.bakeoff.clone(),
            partial: (results.ended != End::Complete).then(|| results.ended.to_string()),
            flags: crate::caches::flags(results),
            entrants: results
                .entrants
                .iter()
                .enumerate()
                .map(|(at, entrant)| Card::of(at, entrant))
                .collect(),
            together: together(results).map(|table| grid(TOGETHER, table)),
            charts: charts(results, study.as_ref()),
            courses,
            judged: is_judged(results.entrants.iter().flat_map(|entrant| &entrant.points)),
            twice: noise(results)
                .zip(baselines(results))
                .map(|(noise, table)| Twice { noise, table: grid(TWICE, table) }),
            conformance: results.conformance.as_ref().map(Examined::of),
            path: results.path.as_ref().map(crate::caches::path),
            published: study.as_ref().map_or_else(Vec::new, tables),
            missing: study.map_or_else(Vec::new, |study| study.missing),
            not_scaled: results.not_scaled.clone(),
            differs: results.differs.clone(),
            warnings: results.warnings.clone(),
            machine: results.facts.clone(),
            plan: plan.to_owned(),
            style: Value::from_safe_string(STYLE.to_owned()),
        }
    }
}

pub(super) fn key(at: usize) -> String {
    format!("arm-{}", at % KEYS)
}

fn grid(caption: &'static str, table: Table) -> Grid {
    Grid { caption, figures: table.head.len() - 1, head: table.head, rows: table.rows }
}

impl Examined {
    fn of(found: &Conformance) -> Self {
        let failing = found.products.iter().filter(|product| !product.failed_tests.is_empty());
        Self {
            source: conformance::source(found),
            table: grid(conformance::CAPTION, conformance::table(found)),
            remarks: conformance::remarks(found),
            failures: failing
                .map(|product| Failures { name: product.name.clone(), tests: product.failed_tests.clone() })
                .collect(),
        }
    }
}

impl Card {
    fn of(at: usize, entrant: &Entrant) -> Self {
        let broken_off = |point: &Point| point.cut_short == Some(CutShort::BrokenOff);
        let (state, glyph, word) = match (&entrant.failed, entrant.passed_up_to_per_s) {
            (Some(_), _) => ("invalid", "?", "not finished"),
            (None, _) if entrant.came_back() == Some(true) => ("fine", "\u{25b2}", "came back"),
            (None, _) if entrant.came_back() == Some(false) => ("costs", "\u{2715}", "not back"),
            (None, Some(_)) => ("fine", "\u{25b2}", "passes"),
            (None, None) if entrant.points.is_empty() => ("open", "\u{25cb}", "no rate"),
            (None, None) if !is_judged(entrant.points.iter()) && !entrant.points.iter().all(broken_off) => {
                ("open", "\u{25cb}", "measured")
            }
            (None, None) if entrant.failed_from_per_s.is_none() => ("open", "\u{25cb}", "broken off"),
            (None, None) => ("costs", "\u{2715}", "fails"),
        };
        let mut tables = Vec::new();
        tables.extend(times(entrant).map(|times| grid(TIMES, times)));
        tables.extend(losses(entrant).map(|losses| grid(LOSSES, losses)));
        if !entrant.points.is_empty() {
            let judged = is_judged(entrant.points.iter());
            tables.push(grid(if judged { JUDGED } else { NOT_JUDGED }, performance(entrant)));
            tables.extend(passes(entrant).map(|passes| grid(PASSES, passes)));
            tables.extend(hit_ratios(entrant).map(|ratios| grid("Hit ratios: as the robots saw them, as the origin's count says, by bytes, what the workload offered; and of caches that are simulated on the same requests: endless, and LRU, S3-FIFO and Belady's with the room of the store, all of which have an object when its fetch has ended", ratios)));
            tables.extend(hits_and_misses(entrant).map(|times| {
                grid("Mean response times of hits and of misses, with their 95 % intervals, and what half, 99 in a hundred and 999 in a thousand of them do not exceed", times)
            }));
            tables.extend(pages(entrant).map(|pages| grid("Pages without a failure, and objects of one; time from when a page's first request was due to the last byte of all it embeds, with the mean's 95 % interval; pages with a failure", pages)));
            tables.extend(in_gzip(entrant).map(|gzip| grid("Good replies to basic requests of robots that accept gzip, about objects that exist in it, and how many of them came in gzip", gzip)));
            tables.push(grid(
                "CPU per request of cache, origin and robots; requests in flight; how late robots sent",
                costs(entrant),
            ));
            tables.extend(handshakes(entrant).map(|table| grid("TLS of the run's connections: handshakes of each kind; medians of the time until a connection stood, its tunnel included, and of the handshake after it", table)));
        }
        let wrong = faults(entrant);
        if !wrong.rows.is_empty() {
            tables.push(Grid { figures: 2, ..grid(FAULTS, wrong) });
        }
        let (lead, rest) = apart(&entrant.sentence, word);
        let firsts = entrant.faults.iter().chain(&entrant.errors);
        let first = |fault: &bakeoff_caches::results::Fault| {
            Some(First { label: fault.label.clone(), text: fault.first.clone()? })
        };
        Self {
            name: entrant.name.clone(),
            key: key(at),
            state,
            glyph,
            word,
            lead: lead.to_owned(),
            rest: rest.to_owned(),
            titled: match crate::caches::version(entrant) {
                Some(version) => format!("{} {version}", entrant.name),
                None => entrant.name.clone(),
            },
            config: entrant.config.clone(),
            preparation: preparation(entrant),
            tables,
            firsts: firsts.filter_map(first).collect(),
        }
    }
}

/// Response time, hit ratio and CPU against the rate, all entrants in each. What had no rate is in none.
fn charts(results: &Results, study: Option<&Study>) -> Vec<Chart> {
    type Pick = fn(&Point) -> Option<f64>;
    let lines = |what: &str, dashed: bool, pick: Pick| -> Vec<Series> {
        let line = |at: usize, entrant: &Entrant, phase: Option<&str>| Series {
            key: key(at),
            label: match phase {
                Some(phase) => format!("{} {phase}, {what}", entrant.name),
                None => format!("{}, {what}", entrant.name),
            },
            dashed,
            points: by_rate(entrant)
                .into_iter()
                .filter(|point| phase.is_none_or(|phase| point.phase == phase))
                .filter_map(|point| Some((point.rate_per_s?, pick(point)?, point.passed() != Some(false))))
                .collect(),
        };
        let of_phases = |(at, entrant): (usize, &Entrant)| -> Vec<Series> {
            phases(entrant).into_iter().map(|phase| line(at, entrant, phase)).collect()
        };
        results.entrants.iter().enumerate().flat_map(of_phases).collect()
    };
    let means = lines("mean", false, |point| Some(point.mean_ns as f64));
    let mut hits = lines("hit ratio", false, |point| point.hit_ratio);
    hits.extend(lines("could be had", true, |point| {
        point.achievable.as_ref().map(|best| best.when_fetched.0)
    }));
    let (time, means) = with_1999("Response time, mean", means, of_1999(study, 1, 1e9));
    let ratio = "Document hit ratio; dashed: what an endless cache would have had";
    let (ratio, hits) = with_1999(ratio, hits, of_1999(study, 2, 1.0));
    [
        Chart::of(&time, "ns", Scale::Linear, means, Vec::new()),
        Chart::of(&ratio, "share", Scale::Linear, hits, Vec::new()),
        Chart::of(
            "CPU of the cache per request",
            "ns",
            Scale::Linear,
            lines("CPU", false, |point| point.cpu_per_request_ns.map(|ns| ns as f64)),
            Vec::new(),
        ),
        Chart::of(
            "Replies per second",
            "1/s",
            Scale::Linear,
            lines("replies", false, |point| Some(point.reply_rate_per_s)),
            Vec::new(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What was published beside what was measured, where anything was.
fn with_1999(caption: &str, mut lines: Vec<Series>, published: Vec<Series>) -> (String, Vec<Series>) {
    if published.is_empty() || lines.iter().all(|line| line.points.is_empty()) {
        return (caption.to_owned(), lines);
    }
    lines.extend(published);
    (format!("{caption}; grey: what was published in 1999"), lines)
}

/// What was published of each product, a point a row with its rate first. Joined is what follows on each other there:
/// between points that are not here nobody knows the way. `unit`: how many of ours are one of the column's base unit.
fn of_1999(study: Option<&Study>, column: usize, unit: f64) -> Vec<Series> {
    let figure = |row: &study::Row, column: usize| {
        row.cells.get(column)?.as_ref().map(|figure| figure.value * figure.unit.scale)
    };
    let point = |row: &study::Row| Some((figure(row, 0)?, figure(row, column)? * unit, true));
    let number = |row: &study::Row| row.name.parse::<u32>().unwrap_or(0);
    let of_product = |table: &study::Table| {
        let title = table.title.split(':').next().unwrap_or_default();
        let runs = table.rows.chunk_by(|a, b| number(a) + 1 == number(b)).map(|rows| Series {
            key: "published".to_owned(),
            label: format!("{title}, 1999"),
            dashed: false,
            points: rows.iter().filter_map(point).collect(),
        });
        runs.collect::<Vec<Series>>()
    };
    let tables = study.iter().flat_map(|study| &study.tables);
    tables.filter(|table| PRODUCTS.contains(&table.id.as_str())).flat_map(of_product).collect()
}

fn tables(study: &Study) -> Vec<Published> {
    let table = |table: &study::Table| Published {
        title: table.title.clone(),
        conditions: table.conditions.clone(),
        head: std::iter::once(table.rows_are.clone()).chain(table.columns.iter().cloned()).collect(),
        rows: table
            .rows
            .iter()
            .map(|row| {
                let cell = |figure: &Option<study::Figure>| {
                    figure.as_ref().map_or(figures::NONE.to_owned(), study::Figure::in_words)
                };
                std::iter::once(row.name.clone()).chain(row.cells.iter().map(cell)).collect()
            })
            .collect(),
        notes: table.notes.clone(),
    };
    study.tables.iter().map(table).collect()
}
