//! `bakeoff load`: one target, as one uses wrk2, vegeta or oha.

mod tls;

use crate::args::LoadArgs;
use crate::exit::Exit;
use crate::{Failure, signals, terminal};
use bakeoff_loadgen::{
    BodyCheck, Constant, GENERATOR_LIMIT, Job, Pace, Pacer, Recording, Reuse, Station, Target,
};
use bakeoff_meter::{ErrorClass, Quantiles};
use bakeoff_units::{Bytes, Nanos, PerSecond, Ratio};
use bakeoff_workload::{Ask, CycleSource, GetUrl, Source, Statuses};
use rustls::pki_types::ServerName;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::ToSocketAddrs;
use std::sync::atomic::Ordering;

/// Without `--duration` and `--requests`.
const DURATION: Nanos = Nanos::from_secs(10);
/// A run that is shorter says nothing of the generator's limit.
const LONG_ENOUGH: Nanos = Nanos::from_secs(1);

/// `--json`.
#[derive(Serialize)]
struct Report {
    requests: u64,
    replies: u64,
    errors: u64,
    errors_by_class: BTreeMap<String, u64>,
    statuses: BTreeMap<u16, u64>,
    duration_ns: u64,
    replies_per_second: f64,
    bytes: u64,
    cpu_ns_per_request: f64,
    generator_busy: f64,
    connections: u64,
    postponed: u64,
    response_ns: Quantiles,
    service_ns: Quantiles,
    first_byte_ns: Quantiles,
    connect_ns: Quantiles,
    handshake_ns: Quantiles,
    lateness_ns: Quantiles,
    tls: Option<String>,
    valid: bool,
    invalid_reason: Option<String>,
}

/// Loads the URL and prints what happened. 0 only if the run is valid and something was answered.
pub(crate) fn load(args: &LoadArgs) -> Result<Exit, Failure> {
    let url = Url::parse(&args.url)?;
    let target = target(args, &url)?;
    let interrupted = signals::interrupted();
    let connections = args.connections.unwrap_or(if args.rate.is_some() { 1000 } else { 64 }) as usize;
    raise_descriptors(connections)?;
    let threads = (args.threads as usize).min(connections);
    let paths = [GetUrl { path: url.path.clone(), weight: 1 }];
    let sources = (0..threads)
        .map(|thread| {
            let cycle = CycleSource::new(&paths, 1, thread as u64).map_err(Failure::usage)?;
            Ok(Limited { cycle, left: share(args.requests, thread, threads) })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let pace = match args.rate {
        Some(rate) => Pace::Open { pacers: pacers(rate, threads), connections },
        None => Pace::Closed { think: Nanos::ZERO, spread: Nanos::ZERO, connections: None },
    };
    let until = args.duration.or(args.requests.is_none().then_some(DURATION));
    let robots =
        (0..threads).map(|thread| connections / threads + usize::from(thread < connections % threads));
    let job = Job {
        sources,
        robots: robots.collect(),
        pace,
        timeout: args.timeout,
        until,
        check: BodyCheck::Start,
        refused: Statuses::default(),
        interrupted: &interrupted,
    };
    let mut station = Station::new(target, threads, Vec::new()).map_err(Failure::failed)?;
    let recording = station.run(job).map_err(Failure::failed)?;
    let report = report(&recording, args.rate);
    if args.json {
        terminal::say(&serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
    } else {
        terminal::say(&text(&args.url, &report));
    }
    if interrupted.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    Ok(match (report.replies, report.valid) {
        (0, _) => Exit::Failed,
        (_, false) => Exit::Invalid,
        (_, true) => Exit::Verdicts,
    })
}

/// An endless source that ends after so many requests.
struct Limited {
    cycle: CycleSource,
    left: Option<u64>,
}

impl Source for Limited {
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        self.cycle.next(robot)
    }

    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        if self.left == Some(0) { None } else { self.cycle.upcoming(robot) }
    }
}

fn share(requests: Option<u64>, thread: usize, threads: usize) -> Option<u64> {
    let (requests, thread, threads) = (requests?, thread as u64, threads as u64);
    Some(requests / threads + u64::from(thread < requests % threads))
}

fn pacers(rate: PerSecond, threads: usize) -> Vec<Box<dyn Pacer>> {
    (0..threads).map(|lane| Box::new(Constant::new(rate, lane, threads)) as Box<dyn Pacer>).collect()
}

fn raise_descriptors(connections: usize) -> Result<(), Failure> {
    let wanted = connections as u64 + 64;
    match bakeoff_sys::rlimit::raise_open_files(wanted) {
        Ok(limit) if limit.soft >= wanted => Ok(()),
        Ok(limit) => Err(Failure::failed(format!(
            "{connections} connections need {wanted} file descriptors and the limit is {}; raise it (`ulimit -n {wanted}`) \
             or take fewer --connections",
            limit.soft
        ))),
        Err(why) => Err(Failure::failed(format!("the limit of file descriptors cannot be read: {why}"))),
    }
}

struct Url {
    tls: bool,
    host: String,
    port: u16,
    path: String,
}

impl Url {
    fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Failure::usage(format!("`{text}` is no URL to load: {why}; such as http://127.0.0.1:8080/"))
        };
        let (tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(wrong("it must start with http:// or https://")),
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
        if authority.contains('@') {
            return Err(wrong("user names in URLs are not sent"));
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((v6, after)) => (v6, after.strip_prefix(':')),
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(digits) => digits.parse().map_err(|_| wrong("the port is no number up to 65535"))?,
        };
        if host.is_empty() {
            return Err(wrong("there is no host"));
        }
        Ok(Self { tls, host: host.to_owned(), port, path: path.to_owned() })
    }
}

fn target(args: &LoadArgs, url: &Url) -> Result<Target, Failure> {
    let address = (url.host.as_str(), url.port)
        .to_socket_addrs()
        .map_err(|why| Failure::failed(format!("{}: {why}; check the host's name", url.host)))?
        .next()
        .ok_or_else(|| Failure::failed(format!("{}: has no address", url.host)))?;
    let tls = if url.tls {
        let settings = tls::settings(args)?;
        let name = ServerName::try_from(url.host.clone())
            .map_err(|why| Failure::usage(format!("{}: {why}", url.host)))?;
        Some((settings, name))
    } else {
        tls::none_wanted(&args.tls)?;
        None
    };
    let bracketed = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
    let default_port = if url.tls { 443 } else { 80 };
    let host = if url.port == default_port { bracketed } else { format!("{bracketed}:{}", url.port) };
    let reuse = Reuse::kept(!args.no_keepalive);
    Ok(Target { tls, reuse, headers: headers(&args.headers)?, ..Target::plain(address, host) })
}

fn headers(lines: &[String]) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    for line in lines {
        let fits = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&b))
        };
        let whole = line.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f));
        if !whole || !line.split_once(':').is_some_and(|(name, _)| fits(name)) {
            return Err(Failure::usage(format!("`{line}` is no header line; such as \"Accept: text/html\"")));
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    Ok(bytes)
}

fn report(recording: &Recording, rate: Option<PerSecond>) -> Report {
    let (counters, times) = (&recording.counters, &recording.times);
    let invalid_reason = invalid(recording, rate);
    Report {
        requests: counters.requests,
        replies: counters.replies,
        errors: counters.error_count(),
        errors_by_class: counters.errors.clone(),
        statuses: counters.statuses.clone(),
        duration_ns: counters.wall_ns,
        replies_per_second: if counters.wall_ns > 0 {
            counters.replies as f64 / counters.wall_secs()
        } else {
            0.0
        },
        bytes: counters.bytes,
        cpu_ns_per_request: counters.per_request(counters.generator_cpu_ns).unwrap_or(0.0),
        generator_busy: counters.generator_busy,
        connections: counters.connections,
        postponed: counters.postponed,
        response_ns: times.response.quantiles(),
        service_ns: times.service.quantiles(),
        first_byte_ns: times.first_byte.quantiles(),
        connect_ns: times.connect.quantiles(),
        handshake_ns: times.handshake.quantiles(),
        lateness_ns: times.lateness.quantiles(),
        tls: recording.tls.clone(),
        valid: invalid_reason.is_none(),
        invalid_reason,
    }
}

/// Why the figures say nothing of the server.
fn invalid(recording: &Recording, rate: Option<PerSecond>) -> Option<String> {
    let counters = &recording.counters;
    if counters.replies == 0 {
        let most = counters.errors.iter().max_by_key(|(_, count)| **count);
        let class =
            most.and_then(|(name, _)| ErrorClass::ALL.into_iter().find(|class| class.as_str() == name));
        let why = class.map_or_else(
            || "nothing was asked".to_owned(),
            |class| format!("{}: {}", class.as_str(), class.hint()),
        );
        return Some(format!("there was no good reply ({why})"));
    }
    match rate {
        Some(rate) => {
            let bound = Nanos::from_millis(1).max(rate.gap().times(0.1));
            let late = recording.times.lateness.quantile(0.99);
            (late > bound).then(|| format!("the generator was late: 1 % of the requests were sent {late} or more after they were due (bound {bound}); lower the rate or add --threads"))
        }
        None => {
            let busy = counters.generator_busy;
            let share = Ratio::new(busy.min(1.0))?;
            (busy >= GENERATOR_LIMIT && counters.wall_ns >= LONG_ENOUGH.get())
                .then(|| format!("the generator was the limit: its busiest thread used {share} of a core; add --threads or load with a --rate"))
        }
    }
}

fn text(url: &str, report: &Report) -> String {
    let time = |ns: u64| Nanos::new(ns).to_string();
    let row = |name: &str, q: &Quantiles| {
        format!(
            "  {name:<10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
            time(q.p50),
            time(q.p90),
            time(q.p99),
            time(q.p999),
            time(q.max)
        )
    };
    let mut text = format!(
        "{url}\n  {} requests, {} good replies, {} failed, in {}\n  {:.0} replies/s, {} received, generator CPU {} a request ({:.0} % of a core)\n\n  {:<10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
        report.requests,
        report.replies,
        report.errors,
        time(report.duration_ns),
        report.replies_per_second,
        Bytes::new(report.bytes),
        time(report.cpu_ns_per_request as u64),
        report.generator_busy * 100.0,
        "time",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max"
    );
    for (name, quantiles) in [
        ("response", &report.response_ns),
        ("service", &report.service_ns),
        ("first byte", &report.first_byte_ns),
        ("connect", &report.connect_ns),
        ("handshake", &report.handshake_ns),
        ("lateness", &report.lateness_ns),
    ] {
        if quantiles.count > 0 {
            text += &row(name, quantiles);
        }
    }
    text += "  response: from when a request was due; service: from when it was sent\n";
    for (status, count) in &report.statuses {
        text += &format!("  status {status}: {count}\n");
    }
    for (class, count) in &report.errors_by_class {
        text += &format!("  {class}: {count}\n");
    }
    if report.postponed > 0 {
        text += &format!("  postponed for want of a free connection: {}\n", report.postponed);
    }
    if let Some(tls) = &report.tls {
        text += &format!("  TLS: {tls}\n");
    }
    if let Some(reason) = &report.invalid_reason {
        text += &format!("  INVALID: {reason}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let url = Url::parse("https://[::1]:8443/a?b").map_err(|f| f.message).unwrap();
        assert_eq!((url.tls, url.host.as_str(), url.port, url.path.as_str()), (true, "::1", 8443, "/a?b"));
        let url = Url::parse("http://example").map_err(|f| f.message).unwrap();
        assert_eq!((url.port, url.path.as_str()), (80, "/"));
        for wrong in ["", "ftp://x", "http://", "http://u@h/", "http://h:99999/", "example.org"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn header_lines_cannot_smuggle() {
        assert_eq!(headers(&["A: b".to_owned()]).map_err(|f| f.message).unwrap(), b"A: b\r\n");
        for wrong in ["A", ": b", "A b: c", "A: b\r\nC: d"] {
            assert!(headers(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn requests_are_shared_without_loss() {
        for (requests, threads) in [(10, 3), (1, 4), (0, 2), (7, 7)] {
            let sum: u64 = (0..threads).filter_map(|t| share(Some(requests), t, threads)).sum();
            assert_eq!(sum, requests);
        }
    }
}
