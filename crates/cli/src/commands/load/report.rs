//! `bakeoff load`: report of a run, as JSON and as text.
//!
//! Cold. Decides nothing about figures but whether they say anything of the server.

use bakeoff_loadgen::{GENERATOR_LIMIT, HandshakeSummary, Profile, Recording, Stage};
use bakeoff_meter::{ErrorClass, Quantiles};
use bakeoff_units::{Bytes, Nanos, PerSecond, Ratio};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run that is shorter says nothing of the generator's limit.
const LONG_ENOUGH: Nanos = Nanos::from_secs(1);

/// `--json`. Times are nanoseconds.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) requests: u64,
    pub(super) replies: u64,
    pub(super) errors: u64,
    pub(super) errors_by_class: BTreeMap<String, u64>,
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) duration_ns: u64,
    pub(super) replies_per_second: f64,
    pub(super) bytes: u64,
    pub(super) cpu_ns_per_request: f64,
    pub(super) generator_busy: f64,
    pub(super) connections: u64,
    pub(super) postponed: u64,
    pub(super) response_ns: Quantiles,
    pub(super) service_ns: Quantiles,
    pub(super) first_byte_ns: Quantiles,
    pub(super) connect_ns: Quantiles,
    pub(super) handshake_ns: Quantiles,
    pub(super) lateness_ns: Quantiles,
    /// Open loop: without the intervals in which others had the generator's core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lateness_undelayed_ns: Option<Quantiles>,
    /// Share of the intervals that leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delayed_share: Option<f64>,
    pub(super) tls: Option<String>,
    /// How TLS sessions began: asked for, achieved, and what that took of the generator's CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) handshakes: Option<HandshakeSummary>,
    /// The first thing that the server did and HTTP/2 forbids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) http2_violation: Option<String>,
    pub(super) driver: &'static str,
    pub(super) system_calls_per_request: f64,
    /// Connections in TIME_WAIT on this machine, before and after.
    pub(super) time_wait: Option<(u64, u64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<Vec<ProfileRow>>,
    pub(super) valid: bool,
    pub(super) invalid_reason: Option<String>,
}

/// Where the generator's time went.
#[derive(Serialize)]
pub(super) struct ProfileRow {
    stage: &'static str,
    kernel: bool,
    ns_per_request: f64,
    /// System calls of that stage, of all requests.
    system_calls_per_request: f64,
}

impl Report {
    pub(super) fn of(recording: &Recording, rate: Option<PerSecond>) -> Self {
        let (counters, times) = (&recording.counters, &recording.times);
        let invalid_reason = invalid(recording, rate);
        let own = recording.own_lateness.as_ref().filter(|own| own.intervals > 0);
        let per_second = counters.replies as f64 / counters.wall_secs();
        Self {
            requests: counters.requests,
            replies: counters.replies,
            errors: counters.error_count(),
            errors_by_class: counters.errors.clone(),
            statuses: counters.statuses.clone(),
            duration_ns: counters.wall_ns,
            replies_per_second: if counters.wall_ns > 0 { per_second } else { 0.0 },
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
            lateness_undelayed_ns: own.map(|own| own.times.quantiles()),
            delayed_share: own.map(|own| own.excluded as f64 / own.intervals as f64),
            tls: recording.tls.clone(),
            handshakes: None,
            http2_violation: recording.violation.clone(),
            driver: bakeoff_loadgen::DRIVER,
            system_calls_per_request: counters.per_request(recording.calls.total()).unwrap_or(0.0),
            time_wait: None,
            profile: recording.profile.as_ref().map(|profile| profile_rows(profile, recording)),
            valid: invalid_reason.is_none(),
            invalid_reason,
        }
    }
}

fn profile_rows(profile: &Profile, recording: &Recording) -> Vec<ProfileRow> {
    let calls = &recording.calls;
    let row = |stage: Stage| {
        let calls = match stage {
            Stage::Waiting => calls.waits + calls.naps,
            Stage::Receiving => calls.reads,
            Stage::Sending => calls.writes + calls.connections,
            Stage::Parsing | Stage::Recording | Stage::Asking => 0,
        };
        ProfileRow {
            stage: stage.as_str(),
            kernel: stage.is_kernel(),
            ns_per_request: profile.per_request(stage).unwrap_or(0.0),
            system_calls_per_request: recording.counters.per_request(calls).unwrap_or(0.0),
        }
    };
    Stage::ALL.into_iter().map(row).collect()
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
            let own = recording.own_lateness.as_ref().filter(|own| own.excluded > 0);
            let (who, what) = match own.is_some_and(|own| own.times.quantile(0.99) <= bound) {
                true => (
                    "the machine is too busy: others had the generator's core, and it was late",
                    "stop other work",
                ),
                false => ("the generator was late", "lower the rate or add --threads"),
            };
            (late > bound).then(|| format!("{who}: 1 % of the requests were sent {late} or more after they were due (bound {bound}); {what}"))
        }
        None => {
            let busy = counters.generator_busy;
            let share = Ratio::new(busy.min(1.0))?;
            (busy >= GENERATOR_LIMIT && counters.wall_ns >= LONG_ENOUGH.get())
                .then(|| format!("the generator was the limit: its busiest thread used {share} of a core; add --threads or load with a --rate"))
        }
    }
}

/// For people.
pub(super) fn text(url: &str, report: &Report) -> String {
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
        ("own late.", report.lateness_undelayed_ns.as_ref().unwrap_or(&Quantiles::default())),
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
    text += &conditions(report);
    if let Some(rows) = &report.profile {
        text += &profile_text(rows, report);
    }
    if let Some(reason) = &report.invalid_reason {
        text += &format!("  INVALID: {reason}\n");
    }
    text
}

/// How it was done, a line each.
fn conditions(report: &Report) -> String {
    let mut text = String::new();
    if let Some(share) = report.delayed_share {
        let share = Ratio::new(share).unwrap_or_default();
        text +=
            &format!("  own lateness: without the {share} of 10 ms intervals in which others had its core\n");
    }
    if let Some(tls) = &report.tls {
        text += &format!("  TLS: {tls}\n");
    }
    if let Some(handshakes) = &report.handshakes {
        text += &format!("  {handshakes}\n");
    }
    if let Some(words) = &report.http2_violation {
        text += &format!("  the server does not keep to HTTP/2: {words}\n");
    }
    text +=
        &format!("  driver {}, {:.2} system calls a request", report.driver, report.system_calls_per_request);
    text += "\n";
    if let Some((before, after)) = report.time_wait.filter(|(before, after)| after > before) {
        text += &format!("  connections in TIME_WAIT: {before} before, {after} after\n");
    }
    text
}

fn profile_text(rows: &[ProfileRow], report: &Report) -> String {
    let mut text = "\n  where the generator's time went, a request\n".to_owned();
    for row in rows {
        let place = if row.kernel { "kernel" } else { "program" };
        let time = Nanos::new(row.ns_per_request as u64).to_string();
        text += &format!("  {:<10}{place:<9}{time:>10}", row.stage);
        if row.kernel {
            text += &format!("{:>8.2} system calls", row.system_calls_per_request);
        }
        text += "\n";
    }
    let sum: f64 = rows.iter().map(|row| row.ns_per_request).sum();
    let (sum, all) = (Nanos::new(sum as u64), Nanos::new(report.cpu_ns_per_request as u64));
    text + &format!(
        "  {:<19}{:>10}  in one turn of the loop in 16; {all} of CPU in all\n",
        "together",
        sum.to_string()
    )
}
