//! Replay of a recording: the judge, the ledger and the analysis of a bake-off over what came then.

use super::exchange::{OfRobots, Recording};
use bakeoff_caches::analyse;
use bakeoff_caches::directory::StoredBakeoff;
use bakeoff_caches::records::{
    BakeoffSetup, End, EntrantRecord, OriginHeard, PhaseLine, PhaseUsage, RunPurpose, RunRecord,
};
use bakeoff_content::world::{Model, ObjectName};
use bakeoff_meter::ErrorClass;
use bakeoff_origin::World;
use bakeoff_robots::judge::{Accepts, ReceivedReply, status_of};
use bakeoff_robots::judging::{Judging, Sending};
use bakeoff_robots::ledger::{Ledger, LedgerEntry, RecordScope, Sums};
use bakeoff_robots::phases::EndReason;
use bakeoff_robots::population::Flight;
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::Words;
use std::collections::HashSet;
use std::sync::mpsc;

/// What was said.
pub(crate) struct Replay {
    /// Every accusation of a reply, with its exchange.
    pub(crate) accused: Vec<(OfRobots, &'static str)>,
    /// Accusations that no single reply shows.
    pub(crate) of_both_ends: Vec<String>,
}

pub(crate) fn replay(recording: &Recording) -> Replay {
    let table: toml::Table = toml::from_str(&recording.about.plan).unwrap();
    let of_world = table.iter().filter(|(name, _)| ["content", "origin"].contains(&name.as_str()));
    let of_world: toml::Table = of_world.map(|(name, value)| (name.clone(), value.clone())).collect();
    let world = World::from_toml(&toml::to_string(&of_world).unwrap()).unwrap();
    let sent: HashSet<u64> = recording.robots.iter().map(|exchange| exchange.stamp).collect();
    let mut judging = Judging::new(Nanos::new(recording.about.began_unix_ns), Words::default())
        .thinking(world.think.clone());
    let (send, records) = mpsc::channel();
    let mut ledger = Ledger::new(0, Nanos::from_secs(3600), Nanos::ZERO, send);
    ledger.begin_phase("meas", Nanos::ZERO);
    let (mut accused, mut last) = (Vec::new(), Nanos::ZERO);
    for exchange in &recording.robots {
        let flight = flight(&world.model, exchange);
        let object = world.model.object(&flight.name).unwrap();
        let came = came(exchange);
        let times = Sending { sent: Nanos::new(exchange.sent), done: Nanos::new(exchange.done) };
        let judged =
            judging.judge(&world.model, (&flight, &object), times, &came, |stamp| sent.contains(&stamp));
        let labels = judged.faults.iter().filter(|fault| fault.row().class.accuses());
        accused.extend(labels.map(|fault| (exchange.clone(), fault.label())));
        ledger.asked(flight.due);
        let refreshed = judging.refreshed(flight.stamp, &judged);
        let entry = entry(exchange, &flight, &came, judged, refreshed, judging.id());
        ledger.ended(&entry, || exchange.request.clone().into_bytes());
        last = last.max(times.done);
    }
    ledger.finish(last);
    let sums = records.iter().find(|record| record.scope == RecordScope::Phase).unwrap();
    Replay { accused, of_both_ends: analysed(recording, sums) }
}

fn flight(model: &Model, exchange: &OfRobots) -> Flight {
    Flight {
        stamp: exchange.stamp,
        name: ObjectName::parse_id(model, exchange.object.as_bytes()).unwrap(),
        kind: serde_json::from_value(exchange.kind.clone()).unwrap(),
        repeat: exchange.repeat,
        embedded: exchange.embedded,
        accepts: match exchange.accepts.as_str() {
            "gzip" => Accepts::Gzip,
            "identity" => Accepts::Identity,
            _ => Accepts::Anything,
        },
        phase: 0,
        due: Nanos::new(exchange.due),
        written: Nanos::new(exchange.written),
        words_bytes: 0,
        sends: exchange.sends,
        nth: 0,
        page: 0,
    }
}

fn came(exchange: &OfRobots) -> ReceivedReply<'_> {
    let head = exchange.reply.as_bytes();
    let class = |label: &String| ErrorClass::ALL.into_iter().find(|class| class.as_str() == label).unwrap();
    ReceivedReply {
        status: status_of(head),
        head,
        body_bytes: exchange.body_bytes,
        error: exchange.error.as_ref().map(class),
    }
}

fn entry<'a>(
    exchange: &'a OfRobots,
    flight: &Flight,
    came: &ReceivedReply<'a>,
    judged: bakeoff_robots::judge::ReplyJudgement,
    refreshed: u64,
    id: &'a [u8],
) -> LedgerEntry<'a> {
    let (sent, done) = (Nanos::new(exchange.sent), Nanos::new(exchange.done));
    LedgerEntry {
        judged,
        status: came.status,
        due: flight.due,
        sent,
        first_byte: done,
        done,
        request_bytes: exchange.request.len() as u64,
        reply_bytes: exchange.reply.len() as u64 + exchange.body_bytes,
        reused: true,
        resent: exchange.resent,
        refreshed,
        id,
        head: came.head,
    }
}

/// The counts of the origin, from its own end of the recording.
fn used(recording: &Recording) -> PhaseUsage {
    let (mut seen, mut used, mut heard) = (HashSet::new(), PhaseUsage::default(), OriginHeard::default());
    for exchange in &recording.origin {
        let line = exchange.request.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("x-bakeoff").then(|| value.trim().to_owned())
        });
        let is_first = line.is_some_and(|line| seen.insert(line));
        *(if is_first { &mut heard.asks } else { &mut heard.unasked }) += 1;
        let has = |name: &str| exchange.request.to_lowercase().contains(&format!("\n{name}:"));
        heard.hop_passed += u64::from(has("x-bakeoff-hop"));
        heard.without_via += u64::from(!has("via"));
        used.origin_replies += 1;
        used.origin_validations += u64::from(status_of(exchange.reply.as_bytes()) == Some(304));
        used.origin_posts += u64::from(exchange.request.starts_with("POST "));
    }
    PhaseUsage { origin_heard: Some(heard), ..used }
}

/// What the analysis of a bake-off says of the counts of both ends.
fn analysed(recording: &Recording, phase: bakeoff_robots::ledger::LedgerRecord) -> Vec<String> {
    let of_replies: Vec<String> = faults_of(&phase.sums);
    let entrant = EntrantRecord { name: "recorded".to_owned(), ..EntrantRecord::default() };
    let line = PhaseLine {
        phase,
        measured: true,
        ended: Some(EndReason::Duration),
        used: used(recording),
        achievable: None,
    };
    let run = RunRecord { phases: vec![line], ..RunRecord::of(entrant, RunPurpose::BestEffort) };
    let setup = BakeoffSetup {
        format: 1,
        name: "polymix-1".to_owned(),
        started: "2026-11-28T12:00:00Z".to_owned(),
        bakeoff: "0".to_owned(),
        flags: Vec::new(),
        part: None,
        scale: "1".to_owned(),
        rate_per_s: None,
        facts: Vec::new(),
        warnings: Vec::new(),
        generator_cores: Vec::new(),
        subject_cores: Vec::new(),
        driver: "epoll".to_owned(),
        entrants: Vec::new(),
        turns: Vec::new(),
    };
    let plan = bakeoff_caches::shipped::PLANS.iter().find(|plan| plan.name == "polymix-1").unwrap().text;
    let stored = StoredBakeoff {
        plan: plan.to_owned(),
        setup,
        runs: vec![run],
        intervals: Vec::new(),
        ended: Some(End::Complete),
        conformance: None,
    };
    let results = analyse(&stored).unwrap();
    let accusing = results.entrants[0].faults.iter().filter(|fault| !fault.only_counted);
    accusing.map(|fault| fault.label.clone()).filter(|label| !of_replies.contains(label)).collect()
}

fn faults_of(sums: &Sums) -> Vec<String> {
    sums.faults.keys().map(|fault| fault.label().to_owned()).collect()
}
