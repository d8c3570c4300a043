//! `bakeoff robots`: the asking side of a bake-off by itself, as `polyclt` was.
//!
//! Load goes where the user says, and nowhere else: to the cache that was named, or to the origin.

use crate::args::RobotsArgs;
use crate::exit::Exit;
use crate::kinds::{self, Watcher};
use crate::terminal::{self, Console};
use crate::{Failure, signals};
use bakeoff_caches::directory::BAKEOFF;
use bakeoff_caches::plan::{CachePlan, PlanChanges};
use bakeoff_caches::records::{PhaseLine, RunRecord};
use bakeoff_caches::transactions::{DROPPED, Logged};
use bakeoff_caches::{CLOCKS_AGREE_S, CachesError, Parts, Standalone, clock_in_words, worst_of};
use bakeoff_loadgen::LocalAddresses;
use bakeoff_results::directory::{DirectoryError, ResultsDir};
use bakeoff_robots::judge::{ReplyFault, Weight};
use bakeoff_subject::ProxyMode;
use bakeoff_units::{Bytes, Nanos, PerSecond, Ratio};
use bakeoff_wire::parts::PartSet;
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::Ordering;

/// Asks until the plan's phases are over, or until Ctrl-C.
pub(crate) fn robots(args: &RobotsArgs) -> Result<Exit, Failure> {
    let interrupted = signals::interrupted();
    let changes = PlanChanges {
        scale: args.scale,
        rate: args.rate,
        ports: args.source.ports,
        from: LocalAddresses::of(&args.source.from),
        ..PlanChanges::default()
    };
    let plan = kinds::cache_plan(&args.plan, &changes)?;
    let standalone = Standalone {
        plan: &plan,
        origin: resolve(&args.origin)?,
        cache: cache(args)?,
        parts: args.part.map(|part| Parts { part, wait: args.wait }),
        flags: args.typed(),
        transactions: args.encode(),
        interrupted: &interrupted,
    };
    standalone.rate().map_err(|why| Failure::usage(format!("{}: {why}", args.plan)))?;
    if let Some(why) = standalone.cache.and_then(|(_, mode)| plan.refusal(mode)) {
        return Err(Failure::usage(format!("{}: {why}", args.plan)));
    }
    say_clock(standalone.origin, standalone.clock_ahead_s().map_err(failed)?);
    let log =
        args.log.as_deref().map(|path| ResultsDir::create(path, &BAKEOFF)).transpose().map_err(|why| {
            match why {
                DirectoryError::NotEmpty(_) => Failure::usage(why),
                other => Failure::failed(other),
            }
        })?;
    let record = run(&standalone, &plan, args, log.as_ref())?;
    terminal::say(&totals(&record, args.part.is_some()));
    if let Some(log) = &args.log {
        kinds::say_where(log, false);
    }
    if interrupted.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    standalone.demand_replies(&record).map_err(failed)?;
    let worst = worst_of(&record, args.part.is_some());
    Ok(worst.and_then(Exit::of_entrant).unwrap_or(Exit::Verdicts))
}

fn run(
    standalone: &Standalone<'_>,
    plan: &CachePlan,
    args: &RobotsArgs,
    log: Option<&ResultsDir>,
) -> Result<RunRecord, Failure> {
    let lines = args.console.as_deref().and_then(|word| kinds::lines(word, args.console_every));
    let mut watcher = Watcher { console: Console::new(&plan.name, false), lines };
    let result = standalone.run(log, &mut watcher);
    watcher.console.finish();
    result.map_err(failed)
}

fn failed(why: CachesError) -> Failure {
    match why {
        CachesError::Interrupted => Failure::interrupted(),
        why => Failure::failed(why),
    }
}

/// `HOST:PORT` as the user wrote it.
pub(crate) fn resolve(text: &str) -> Result<SocketAddr, Failure> {
    let wrong =
        |why: String| Failure::usage(format!("`{text}` is no HOST:PORT: {why}; such as 127.0.0.1:8000"));
    let mut addresses = text.to_socket_addrs().map_err(|why| wrong(why.to_string()))?;
    addresses.next().ok_or_else(|| wrong("the host has no address".to_owned()))
}

fn cache(args: &RobotsArgs) -> Result<Option<(SocketAddr, ProxyMode)>, Failure> {
    match (&args.proxy, &args.reverse) {
        (Some(proxy), _) => Ok(Some((resolve(proxy)?, ProxyMode::Forward))),
        (None, Some(reverse)) => Ok(Some((resolve(reverse)?, ProxyMode::Reverse))),
        (None, None) => Ok(None),
    }
}

fn say_clock(origin: SocketAddr, ahead: Option<i64>) {
    terminal::note(&match ahead {
        None => format!("the origin at {origin} gives no Date: whether its clock agrees is not known"),
        Some(ahead) if ahead.unsigned_abs() <= CLOCKS_AGREE_S => {
            format!("the origin at {origin} is there; its clock {}", clock_in_words(ahead, "this one"))
        }
        Some(ahead) => format!(
            "warning: the clock of the origin at {origin} {}; what is judged by time, as stale hits are, is not to be \
             believed until they agree",
            clock_in_words(ahead, "this one")
        ),
    });
}

/// What it came to: a line a phase, then everything that went wrong.
fn totals(record: &RunRecord, is_part: bool) -> String {
    let named = record.phases.iter().filter(|line| line.is_of_the_plan());
    let to = if is_part { " to all parts" } else { "" };
    let mut lines: Vec<String> = named.map(|line| phase(line, to)).collect();
    if lines.is_empty() {
        lines.push("nothing was asked".to_owned());
    }
    let mut errors: BTreeMap<&str, u64> = BTreeMap::new();
    let mut faults: BTreeMap<ReplyFault, u64> = BTreeMap::new();
    for sums in record.phases.iter().map(|line| &line.phase.sums) {
        sums.errors.iter().for_each(|(class, count)| *errors.entry(class).or_default() += count);
        sums.faults.iter().for_each(|(fault, count)| *faults.entry(*fault).or_default() += count);
    }
    if !record.without.is_empty() {
        let parts: PartSet = record.without.iter().copied().collect();
        lines.push(format!("went on without part {parts} of the run"));
    }
    lines.extend(errors.iter().map(|(class, count)| format!("failed: {count} {class}")));
    let found = |counted: bool| {
        let of_weight = move |fault: &ReplyFault| (fault.weight() == Weight::Counted) == counted;
        faults.iter().filter(move |(fault, _)| of_weight(fault))
    };
    if found(false).next().is_none() {
        lines.push("faults: none".to_owned());
    }
    let line = |word: &str, fault: &ReplyFault, count: &u64| {
        format!("{word}: {count} {}: {}", fault.label(), fault.meaning())
    };
    lines.extend(found(false).map(|(fault, count)| line("fault", fault, count)));
    lines.extend(found(true).map(|(fault, count)| line("note", fault, count)));
    lines.extend(record.transactions.iter().flat_map(logged));
    lines.join("\n")
}

/// What the log of transactions has, and what it has not.
fn logged(logged: &Logged) -> impl Iterator<Item = String> {
    let Logged { rows, dropped, parts, bytes } = *logged;
    let there = format!("transactions: {rows} in {parts} files, {}", Bytes::new(bytes));
    let dropped =
        (dropped > 0).then(|| format!("{DROPPED}: {dropped} are not there: the disk was too slow, or full"));
    std::iter::once(there).chain(dropped)
}

/// `to`: whom the origin sent what it sent, where that is not these robots alone.
fn phase(line: &PhaseLine, to: &str) -> String {
    let (record, sums) = (&line.phase, &line.phase.sums);
    let rate = |rate: Option<f64>| {
        rate.and_then(PerSecond::new).map_or_else(|| "none".to_owned(), |rate| rate.to_string())
    };
    let share = |share: Option<f64>| {
        share.and_then(Ratio::new).map_or_else(|| "unknown".to_owned(), |share| share.to_string())
    };
    let mean = sums.replies.traffic.response_ns.mean();
    format!(
        "phase {}{}: {} replies in {}, asked {}, replied {}, mean {}, hits {} (offered {}), {} failed; the origin sent \
         {}{to}{}",
        record.phase,
        if line.measured { "" } else { " (not measured)" },
        sums.good,
        record.span(),
        rate(record.asked_per_second()),
        rate(record.replies_per_second()),
        mean.map_or_else(|| "unknown".to_owned(), |mean| Nanos::new(mean as u64).to_string()),
        share(sums.document_hit_ratio()),
        share(sums.offered_document_hit_ratio()),
        sums.failed,
        line.used.origin_replies,
        line.ended.map_or_else(String::new, |reason| format!("; ended: {}", reason.meaning()))
    )
}
