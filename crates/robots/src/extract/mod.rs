//! A record as the `name: value` lines that Polygraph's `lx` prints.
//!
//! Measuring side, cold, a pure function. Names and units are lx's (milliseconds, bytes, percent, per second; -1 where
//! there is nothing) where the meaning is the same. Where ours differs, the line says so behind `# differs:`. Values
//! that we do not have get no line.

mod table;

use crate::judge::{ReplyFault, RequestKind, Weight};
use crate::ledger::{Aggregate, LedgerRecord, Sums, TimedTraffic, Traffic};
use bakeoff_units::Nanos;
use std::fmt;

/// The column at which values begin, counted from 0, as in lx.
const VALUE_COLUMN: usize = 33;

const HANDED_OUT: &str = "counted when it was handed out to be sent";
const FROM_DUE: &str = "from the moment it was due";
const GOOD_ONLY: &str = "good replies only";
const VALIDATED_TOO: &str = "with hits that the origin was asked about";
const BY_KIND: &str = "by the status that was right";
const COUNT_ONLY: &str = "without times and sizes";
const SENT_ONLY: &str = "of requests that were answered";
const OPENED_HERE: &str = "requests over connections opened in this period";
const NOT_IN_LX: &str = "lx has no such line";
const AFTER_CONNECTING: &str = "good replies, from when the connection stood";

/// Names of lx 1.0 with their equivalents of 4.9.
const OF_1999: [(&str, &str); 9] = [
    ("log_cnt", "log.count"),
    ("req_rate", "baseline.req.rate"),
    ("rep_rate", "baseline.rep.rate"),
    ("resp_tm_mean", "baseline.rptm.mean"),
    ("conn_ttl_mean", "conn.ttl.mean"),
    ("req_dhr", "offered.hit.ratio.obj"),
    ("rep_dhr", "hit.ratio.obj"),
    ("err_cnt", "err_xact.count"),
    ("err_pct", "err_xact.ratio"),
];

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractLine {
    /// lx's name, or ours where the remark says so.
    pub name: String,
    /// The value; empty above a table.
    pub value: String,
    /// The rows of a table, below the line.
    pub rows: Vec<String>,
    /// The difference to lx's meaning, if there is one.
    pub differs: Option<&'static str>,
}

impl fmt::Display for ExtractLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<VALUE_COLUMN$}{}", format!("{}: ", self.name), self.value)?;
        if let Some(why) = self.differs {
            write!(f, " # differs: {why}")?;
        }
        self.rows.iter().try_for_each(|row| write!(f, "\n{row}"))
    }
}

/// All lines, each with its end.
pub fn text(record: &LedgerRecord) -> String {
    lines(record).iter().map(|line| format!("{line}\n")).collect()
}

/// The lines of a record, in lx's order; those that lx does not have come last.
pub fn lines(record: &LedgerRecord) -> Vec<ExtractLine> {
    let mut page = Page::default();
    page.put("name", record.phase.clone());
    rates(&mut page, record);
    replies(&mut page, &record.sums);
    hits(&mut page, &record.sums);
    kinds(&mut page, &record.sums);
    transactions(&mut page, record);
    errors(&mut page, &record.sums);
    ours(&mut page, &record.sums);
    of_1999(&mut page);
    page.lines
}

fn rates(page: &mut Page, record: &LedgerRecord) {
    let sums = &record.sums;
    page.differs(HANDED_OUT).number("baseline.req.rate", record.asked_per_second());
    page.differs(GOOD_ONLY).number("baseline.rep.rate", record.replies_per_second());
    page.times("baseline.rptm", &sums.replies.traffic.service_ns);
    page.table("baseline.rptm.hist", table::histogram(&sums.service));
    page.sizes("baseline.req.size", &sums.request_bytes);
    page.sizes("baseline.rep.size", &sums.replies.traffic.bytes);
}

fn replies(page: &mut Page, sums: &Sums) {
    page.timed("rep", &sums.replies);
    page.traffic("basic", &sums.basic);
}

fn hits(page: &mut Page, sums: &Sums) {
    page.percent("offered.hit.ratio.obj", sums.offered_document_hit_ratio());
    page.percent("offered.hit.ratio.byte", sums.offered_byte_hit_ratio());
    page.sizes("offered.hit.size", &sums.offered_hit_bytes);
    page.sizes("offered.miss.size", &sums.offered_miss_bytes);
    let validated = (sums.revalidated.traffic.count() > 0).then_some(VALIDATED_TOO);
    page.differs_if(validated).percent("hit.ratio.obj", sums.document_hit_ratio());
    page.differs_if(validated).percent("hit.ratio.byte", sums.byte_hit_ratio());
    let mut response = sums.hits.response.clone();
    response.merge(&sums.revalidated.response);
    page.remark = validated;
    page.timed("hit", &TimedTraffic { traffic: sums.from_cache(), response });
    page.remark = None;
    page.timed("miss", &sums.misses);
    let (cachable, uncachable) = (&sums.cachable, &sums.uncachable);
    let share = |part: u64, rest: u64| (part + rest > 0).then(|| part as f64 / (part + rest) as f64);
    page.percent("cachable.ratio.obj", share(cachable.count(), uncachable.count()));
    page.percent("cachable.ratio.byte", share(cachable.bytes.sum, uncachable.bytes.sum));
    page.traffic("cachable", cachable);
    page.traffic("uncachable", uncachable);
    page.traffic("fill", &sums.fill);
    page.remark = Some(FROM_DUE);
    page.times("page.rptm", &sums.pages.response_ns);
    page.table("page.rptm.hist", table::histogram(&sums.pages.response));
    page.remark = None;
}

fn kinds(page: &mut Page, sums: &Sums) {
    let of = |kind: RequestKind| &sums.kinds[kind.index()];
    let (ims200, ims304) = (of(RequestKind::Ims200), of(RequestKind::Ims304));
    let mut ims = *ims200;
    ims.merge(ims304);
    page.traffic("ims", &ims);
    page.remark = sums.faults.contains_key(&ReplyFault::Wrong200).then_some(BY_KIND);
    page.traffic("ims.sc200", ims200);
    page.traffic("ims.sc304", ims304);
    page.remark = None;
    page.traffic("reload", of(RequestKind::Reload));
    page.traffic("range", of(RequestKind::Range { first: 0, last: 0 }));
    page.traffic("head", of(RequestKind::Head));
    page.traffic("post", of(RequestKind::Post));
    page.differs(COUNT_ONLY).put("abort.size.count", sums.aborted.to_string());
    for (status, traffic) in &sums.statuses {
        page.traffic(&format!("rep_status_code.{status}"), traffic);
    }
}

fn transactions(page: &mut Page, record: &LedgerRecord) {
    let sums = &record.sums;
    for name in ["xact", "baseline"] {
        page.differs(HANDED_OUT).put(&format!("{name}.started"), sums.asked.to_string());
        page.put(&format!("{name}.finished"), sums.finished.to_string());
        page.differs(FROM_DUE).number(&format!("{name}.level.mean"), sums.in_flight.mean(record.span()));
        page.differs(FROM_DUE).put(&format!("{name}.level.last"), sums.in_flight.last.to_string());
    }
    page.put("ok_xact.count", sums.good.to_string());
    page.percent("err_xact.ratio", sums.error_ratio());
    page.put("err_xact.count", sums.failed.to_string());
    page.put("retr_xact.count", sums.resent.to_string());
    // Little's law: time spent waiting over time.
    let span = record.span().get();
    let waiting = (span > 0).then(|| sums.waited_ns.sum as f64 / span as f64);
    page.differs(SENT_ONLY).number("wait.level.mean", waiting);
    // A connection that carries more is not followed from its beginning to its end.
    if sums.connections_opened > 0 && sums.connections_reused == 0 {
        page.remark = Some(AFTER_CONNECTING);
        page.times("conn.ttl", &sums.replies.traffic.service_ns);
        page.remark = None;
    }
    let requests = sums.connections_opened + sums.connections_reused;
    let use_mean = (sums.connections_opened > 0).then(|| requests as f64 / sums.connections_opened as f64);
    page.differs(OPENED_HERE).number("conn.use.mean", use_mean);
    let repeats = sums.finished.saturating_sub(sums.new_objects);
    let recurrence = (sums.finished > 0).then(|| repeats as f64 / sums.finished as f64);
    page.percent("url.recurrence.ratio", recurrence);
    page.put("url.unique.count", sums.new_objects.to_string());
    page.number("duration", Some(record.span().as_secs_f64()));
    page.times("first_resp_byte_read", &sums.first_byte_ns);
    page.put("log.count", "1".to_owned());
}

/// Connection failures, and faults of replies that came.
fn errors(page: &mut Page, sums: &Sums) {
    let reported = |fault: &ReplyFault| fault.weight() != Weight::Counted;
    let faults = sums.faults.iter().filter(|(fault, _)| reported(fault));
    let mut all: Vec<(u64, &str)> =
        sums.errors.iter().map(|(class, count)| (*count, class.as_str())).collect();
    all.extend(faults.map(|(fault, count)| (*count, fault.label())));
    page.put("errors.count", all.iter().map(|(count, _)| count).sum::<u64>().to_string());
    page.table("errors.tbl", table::errors(all));
}

/// The lines that lx does not have.
fn ours(page: &mut Page, sums: &Sums) {
    page.remark = Some(NOT_IN_LX);
    page.times("response", &sums.replies.traffic.response_ns);
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)] {
        let response = &sums.replies.response;
        let quantile = (response.count() > 0).then(|| response.quantile(share));
        page.put(&format!("response.{name}"), milliseconds(quantile.map(|time| time.get() as f64)));
    }
    page.times("wait", &sums.waited_ns);
    page.traffic("revalidated", &sums.revalidated.traffic);
    for fault in ReplyFault::ALL.into_iter().filter(|fault| fault.weight() == Weight::Counted) {
        let count = sums.faults.get(&fault).copied().unwrap_or_default();
        page.put(&format!("note.{}.count", fault.label()), count.to_string());
    }
    page.remark = None;
}

/// The lines of lx 1.0, with which the tables of 1999 were made: other names of what stands above.
fn of_1999(page: &mut Page) {
    for (name, newer) in OF_1999 {
        let of_newer = page.lines.iter().find(|line| line.name == newer).cloned();
        page.lines.extend(of_newer.map(|line| ExtractLine { name: name.to_owned(), ..line }));
    }
}

/// Lines in the order in which they are added.
#[derive(Debug, Default)]
struct Page {
    lines: Vec<ExtractLine>,
    /// A remark added to every line until it is taken away.
    remark: Option<&'static str>,
}

/// A page for the next line, which has a remark.
struct Remarked<'a>(&'a mut Page, Option<&'static str>);

impl Remarked<'_> {
    fn put(self, name: &str, value: String) {
        let before = std::mem::replace(&mut self.0.remark, self.1);
        self.0.put(name, value);
        self.0.remark = before;
    }

    fn number(self, name: &str, value: Option<f64>) {
        self.put(name, decimal(value));
    }

    fn percent(self, name: &str, share: Option<f64>) {
        self.number(name, share.map(|share| 100.0 * share));
    }
}

impl Page {
    fn differs(&mut self, why: &'static str) -> Remarked<'_> {
        Remarked(self, Some(why))
    }

    fn differs_if(&mut self, why: Option<&'static str>) -> Remarked<'_> {
        Remarked(self, why)
    }

    fn put(&mut self, name: &str, value: String) {
        let line = ExtractLine { name: name.to_owned(), value, rows: Vec::new(), differs: self.remark };
        self.lines.push(line);
    }

    fn table(&mut self, name: &str, rows: Vec<String>) {
        self.put(name, String::new());
        if let Some(line) = self.lines.last_mut() {
            line.rows = rows;
        }
    }

    fn number(&mut self, name: &str, value: Option<f64>) {
        self.put(name, decimal(value));
    }

    fn percent(&mut self, name: &str, share: Option<f64>) {
        self.number(name, share.map(|share| 100.0 * share));
    }

    fn times(&mut self, name: &str, times: &Aggregate) {
        self.aggregate(name, times, milliseconds);
    }

    fn sizes(&mut self, name: &str, sizes: &Aggregate) {
        self.aggregate(name, sizes, decimal);
    }

    fn aggregate(&mut self, name: &str, sums: &Aggregate, write: fn(Option<f64>) -> String) {
        let some = |value: u64| (sums.count > 0).then_some(value as f64);
        let (mean, deviation) = (sums.mean(), sums.deviation());
        let relative = mean.zip(deviation).filter(|(mean, _)| *mean > 0.0);
        self.put(&format!("{name}.count"), sums.count.to_string());
        self.put(&format!("{name}.mean"), write(mean));
        self.put(&format!("{name}.min"), write(some(sums.min)));
        self.put(&format!("{name}.max"), write(some(sums.max)));
        self.put(&format!("{name}.std_dev"), write(deviation));
        self.percent(&format!("{name}.rel_dev"), relative.map(|(mean, deviation)| deviation / mean));
        self.put(&format!("{name}.sum"), write(Some(sums.sum as f64)));
    }

    fn traffic(&mut self, name: &str, traffic: &Traffic) {
        self.times(&format!("{name}.rptm"), &traffic.service_ns);
        self.sizes(&format!("{name}.size"), &traffic.bytes);
    }

    fn timed(&mut self, name: &str, timed: &TimedTraffic) {
        self.traffic(name, &timed.traffic);
        let before = self.remark.replace(FROM_DUE);
        self.table(&format!("{name}.rptm.hist"), table::histogram(&timed.response));
        self.remark = before;
    }
}

fn decimal(value: Option<f64>) -> String {
    format!("{:.2}", value.unwrap_or(-1.0))
}

/// From nanoseconds; finer than lx, which has whole milliseconds below the mean.
fn milliseconds(nanos: Option<f64>) -> String {
    nanos.map_or_else(|| decimal(None), |nanos| format!("{:.3}", nanos / Nanos::from_millis(1).get() as f64))
}

#[cfg(test)]
mod tests;
