//! The simulated network of these tests: requests are sent when due and answered after their latency, in the order of
//! time.

use crate::judge::RequestKind;
use crate::phases::FillGate;
use crate::population::{Flight, FlightEnd, Page, Population, Setting, TargetForm, Worker};
use crate::spec::Spec;
use bakeoff_content::world::{Model, ObjectName};
use bakeoff_units::Nanos;
use bakeoff_workload::Source;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

pub(super) const POLYMIX_1: &str = r#"
    [[content]]
    name = "any"
    size = "exp:13KB"
    cachable = "80%"
    life = { length = "const:2year", expires = "nmt+0s" }
"#;

/// The standard mix; objects requested directly have the shares of the rest.
pub(super) const POLYMIX_4: &str = r#"
    [[content]]
    name = "image"
    size = "exp:4.5KB"
    cachable = "80%"
    life = { length = "logn:30day,7day", variance = "50%", expires = "nmt+0s" }
    share = "0%"
    extensions = [".gif", ".jpeg", ".png"]

    [[content]]
    name = "html"
    size = "exp:8.5KB"
    cachable = "90%"
    life = { length = "logn:7day,1day", variance = "33%", expires = "nmt+0s" }
    share = "42.857%"
    extensions = [".html 60%", ".htm"]
    embeds = { kind = "image", count = "zipf:13" }

    [[content]]
    name = "download"
    size = "logn:300KB,300KB"
    cachable = "95%"
    life = { length = "logn:0.5year,30day", variance = "33%", expires = "nmt+0s" }
    share = "1.4286%"

    [[content]]
    name = "other"
    size = "logn:25KB,10KB"
    cachable = "72%"
    life = { length = "unif:1day,1year", variance = "50%", expires = "nmt+0s" }
    share = "55.714%"
"#;

/// Seconds of 22 November 2026.
pub(super) const START_UNIX: Nanos = Nanos::from_secs(1_795_305_600);

pub(super) fn spec(robots: &str, phases: &str) -> Spec {
    Spec::from_toml(&format!("[robots]\n{robots}\n{phases}")).unwrap()
}

/// One phase of so many seconds.
pub(super) fn lasting(secs: u64) -> String {
    format!("[[phase]]\nname = 'only'\ngoal = {{ duration = '{secs}s' }}")
}

/// One phase of so many requests.
pub(super) fn requests(count: u64) -> String {
    format!("[[phase]]\nname = 'only'\ngoal = {{ transactions = {count} }}")
}

pub(super) fn setting() -> Setting {
    Setting {
        world: 0xB0B,
        seed: 20_261_122,
        start_unix: START_UNIX,
        worker: Worker::ONLY,
        form: TargetForm::Origin,
        gate: FillGate::new(),
    }
}

pub(super) fn population(model: &str, spec: Spec, setting: Setting) -> Population {
    Population::new(Arc::new(spec), Arc::new(Model::from_toml(model).unwrap()), setting)
}

/// A request as the network saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) flight: Flight,
    pub(super) target: String,
    pub(super) headers: String,
    pub(super) robot: u32,
    /// Whether an ideal cache had it. Set for basic requests only.
    pub(super) hit: bool,
    pub(super) cachable: bool,
}

impl Seen {
    pub(super) fn basic(&self) -> bool {
        self.flight.kind == RequestKind::Basic
    }

    pub(super) fn offered(&self) -> bool {
        self.basic() && self.flight.repeat && self.cachable
    }
}

/// Outcome of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) seen: Vec<Seen>,
    pub(super) pages: Vec<(Page, Nanos)>,
    pub(super) most_in_flight: usize,
}

/// Runs to the end of the phases, or to `most` requests. `latency`: how long the reply takes, and whether it
/// is one.
pub(super) fn run(
    population: &mut Population,
    most: usize,
    mut latency: impl FnMut(&Flight) -> (Nanos, bool),
) -> Run {
    let mut run = Run::default();
    let mut ideal: HashSet<ObjectName> = HashSet::new();
    let mut answers: BinaryHeap<Reverse<(Nanos, u32, bool)>> = BinaryHeap::new();
    let mut now = Nanos::ZERO;
    loop {
        let due = population.upcoming(0).filter(|_| run.seen.len() < most);
        let answered = answers.peek().map(|Reverse((at, ..))| *at);
        match (due, answered) {
            (None, None) => {
                population.close(now);
                return run;
            }
            (Some(due), answered) if answered.is_none_or(|at| due < at) => {
                let Some((ticket, seen)) = ask(population, &mut ideal) else { continue };
                assert_eq!(seen.flight.due, due);
                now = now.max(due);
                let (takes, good) = latency(&seen.flight);
                answers.push(Reverse((due + takes, ticket, good)));
                run.seen.push(seen);
                run.most_in_flight = run.most_in_flight.max(answers.len());
            }
            _ => {
                let Some(Reverse((at, ticket, good))) = answers.pop() else { unreachable!() };
                now = now.max(at);
                let page = answer(population, ticket, at, good);
                run.pages.extend(page.map(|page| (page, at)));
            }
        }
    }
}

fn ask(population: &mut Population, ideal: &mut HashSet<ObjectName>) -> Option<(u32, Seen)> {
    let ask = population.next(0)?;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (ticket, robot) = (ask.ticket, ask.robot);
    let (target, headers) = (text(ask.target), text(ask.headers));
    let flight = *population.flight(ticket).unwrap();
    let cachable = population.object(&flight.name).unwrap().cachable;
    let basic = flight.kind == RequestKind::Basic;
    let hit = basic && cachable && !ideal.insert(flight.name);
    Some((ticket, Seen { flight, target, headers, robot, hit, cachable }))
}

fn answer(population: &mut Population, ticket: u32, at: Nanos, good: bool) -> Option<Page> {
    let flight = *population.flight(ticket).unwrap();
    let object = population.object(&flight.name).unwrap();
    let fill = good && flight.kind == RequestKind::Basic && object.cachable && !flight.repeat;
    let whole = good && !matches!(flight.kind, RequestKind::Head | RequestKind::Ims304);
    let fill_bytes = if fill { object.size.max(1) } else { 0 };
    population.finish(ticket, at, FlightEnd { failed: !good, whole, fill_bytes })
}

/// A good reply at once.
pub(super) fn at_once(_: &Flight) -> (Nanos, bool) {
    (Nanos::ZERO, true)
}

/// A share of things.
pub(super) fn share<T>(things: &[T], is: impl Fn(&T) -> bool) -> f64 {
    things.iter().filter(|thing| is(thing)).count() as f64 / things.len() as f64
}

/// Whether a share is within three standard errors, where `n` independent draws decide.
#[track_caller]
pub(super) fn assert_share(got: f64, expected: f64, n: usize) {
    let error = (expected * (1.0 - expected) / n as f64).sqrt();
    assert!((got - expected).abs() < 3.0 * error, "{got} of {expected}, standard error {error}");
}
