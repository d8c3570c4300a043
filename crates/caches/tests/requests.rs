//! The first requests of every shipped plan, by their digest: a change to how plans are read, worlds are made
//! or robots choose must not change what a published workload asks for.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_caches::plan::{CachePlan, PlanChanges, RateSchedule};
use bakeoff_caches::shipped;
use bakeoff_content::world::Model;
use bakeoff_robots::judge::RequestKind;
use bakeoff_robots::population::FlightEnd;
use bakeoff_robots::{FillGate, Population, Setting, Spec, TargetForm, Worker};
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::Source;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::sync::Arc;

const MOST: usize = 100_000;

/// Rate of plans with shares of a peak in this test.
const RATE: f64 = 100.0;

/// Plan, its robots, requests until all phases were over or [`MOST`] were made, FNV-1a over all that is sent.
const KNOWN: &str = "\
polymix-1 robots 100000 916aa1a0693de408
polymix-1 fill 100000 62449bee6eed385e
polymix-4 robots 100000 d3b00148f7b19765
webaxe-4 robots 100000 8139366df7ca947e
polyfill robots 100000 7d1bf6a1f8451a94
downtime-2 robots 7215 c3d29cda739e68eb
cache-bakeoff robots 100000 3e358affbbc6096d
cache-bakeoff fill 100000 62449bee6eed385e
simple robots 17617 e0c502a77199b4d2
";

#[test]
fn shipped_plans_ask_for_what_they_always_did() {
    let mut seen = String::new();
    for shipped in shipped::PLANS {
        let plan =
            CachePlan::parse(shipped.name, "plan.toml", shipped.text, &PlanChanges::default()).unwrap();
        let rate = match plan.schedule {
            RateSchedule::Single(rate) => Some(rate),
            RateSchedule::BestEffort => None,
            RateSchedule::Shares { .. } => PerSecond::new(RATE),
        };
        let robots = requests(plan.robots_at(rate), &plan.model, plan.seed);
        writeln!(seen, "{} robots {} {:016x}", shipped.name, robots.0, robots.1).unwrap();
        if let Some(fill) = &plan.fill {
            let fill = requests(fill.robots.clone(), &plan.quick, plan.seed);
            writeln!(seen, "{} fill {} {:016x}", shipped.name, fill.0, fill.1).unwrap();
        }
    }
    assert_eq!(seen, KNOWN);
}

/// Makes the due requests and answers them, well and whole, after 1 ms and up to 16 ms more by its number: returns the
/// number of requests, and their digest.
fn requests(spec: Spec, model: &Model, seed: u64) -> (usize, u64) {
    let setting = Setting {
        world: 0xB0B,
        seed,
        start_unix: Nanos::from_secs(1_795_305_600), // 22 November 2026
        worker: Worker::ONLY,
        form: TargetForm::Origin,
        gate: FillGate::new(),
    };
    let mut population = Population::new(Arc::new(spec), Arc::new(model.clone()), setting);
    let mut answers: BinaryHeap<Reverse<(Nanos, u32)>> = BinaryHeap::new();
    let (mut count, mut digest, mut now) = (0, Fnv::new(), Nanos::ZERO);
    loop {
        let due = population.upcoming(0).filter(|_| count < MOST);
        let answered = answers.peek().map(|Reverse((at, _))| *at);
        if due.is_some_and(|due| answered.is_none_or(|at| due < at)) {
            let Some(ask) = population.next(0) else { continue };
            digest.add(&ask.at.get().to_le_bytes());
            digest.add(&ask.robot.to_le_bytes());
            digest.add(
                format!("{:?} {:?} {:?}", ask.method, ask.body.map(|body| body.len()), ask.stop_after)
                    .as_bytes(),
            );
            digest.add(ask.target);
            digest.add(ask.headers);
            now = now.max(ask.at);
            answers.push(Reverse((ask.at + Nanos::from_millis(1 + count as u64 % 16), ask.ticket)));
            count += 1;
        } else if let Some(Reverse((at, ticket))) = answers.pop() {
            now = now.max(at);
            answer(&mut population, ticket, at);
        } else {
            population.close(now);
            return (count, digest.0);
        }
    }
}

fn answer(population: &mut Population, ticket: u32, at: Nanos) {
    let flight = *population.flight(ticket).unwrap();
    let object = population.object(&flight.name).unwrap();
    let filled = flight.kind == RequestKind::Basic && object.cachable && !flight.repeat;
    let whole = matches!(flight.kind, RequestKind::Basic | RequestKind::Reload);
    let fill_bytes = if filled { object.size } else { 0 };
    population.finish(ticket, at, FlightEnd { failed: false, whole, fill_bytes });
}

/// Fowler, Noll and Vo's hash of 64 bits, variant 1a (RFC 9923).
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
