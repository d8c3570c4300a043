//! Writes the results directory of a long synthetic run: 250 rounds of 40 arms, 10,000 slices of 2000 requests, with
//! realistic histograms. The same bytes on every machine but for the last digits of logarithms. `benches/analyse` uses
//! it to measure the cost of reports.
//!
//!     cargo run --release -p bakeoff-experiment --example long_run -- DIR

use bakeoff_content::SplitMix64;
use bakeoff_experiment::environment::sha256_of;
use bakeoff_meter::{HostShare, Recorder, ReplyTimes, SliceCounters, Times};
use bakeoff_results::directory::{EXPERIMENT, PLAN, ResultsDir, StoppedBy};
use bakeoff_results::{RestartSetup, SETUP_SCHEMA, Setup, SliceRecord, SubjectSetup, WorkloadSetup};
use bakeoff_stats::{LookPlan, level};
use bakeoff_units::Nanos;
use std::error::Error;
use std::path::Path;

const ROUNDS: u32 = 250;
/// The baseline's two processes among them.
const SLICES_A_ROUND: usize = 40;
const REQUESTS: u64 = 2000;
const ROUNDS_A_START: u32 = 3;
const EACH_UNTIL: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("give a new directory")?;
    let dir = ResultsDir::create(Path::new(&path), &EXPERIMENT)?;
    dir.write_plan("# Made up by examples/long_run.rs: there was no such run.\n")?;
    let setup = setup(sha256_of(&Path::new(&path).join(PLAN))?);
    dir.write_setup(&setup)?;
    let mut noise = SplitMix64::new(setup.seed);
    let (mut started_ns, mut start) = (0, 0);
    for round in 0..ROUNDS {
        start += u32::from(setup.restarts.is_due(round));
        let weather = 1.0 + 0.08 * noise.normal().abs();
        for position in 0..SLICES_A_ROUND {
            // Another arm in each place of each round: 7 and 40 have no common divisor.
            let arm = (position * 7 + round as usize) % SLICES_A_ROUND;
            let (times, counters) = slice(arm, weather, &mut noise);
            let wall_ns = counters.wall_ns;
            dir.append(&SliceRecord {
                round,
                position: position as u32,
                arm: setup.arms[arm].clone(),
                start,
                ended_ns: started_ns + counters.wall_ns,
                started_ns,
                counters,
                times: times.encode(),
                ..SliceRecord::default()
            })?;
            started_ns += wall_ns * 13 / 10;
        }
    }
    dir.write_end(StoppedBy::Rounds, Vec::new())?;
    Ok(())
}

/// Every layer costs half a percent more than the one before it.
fn slice(arm: usize, weather: f64, noise: &mut SplitMix64) -> (Times, SliceCounters) {
    let layers = 1.0 + 0.005 * arm.saturating_sub(1) as f64;
    let mut recorder = Recorder::new();
    for _ in 0..REQUESTS {
        // A skewed body; one in 300 meets a stall, which is waiting before it is sent.
        let body = 1.0 + 0.35 * noise.normal().max(-2.5);
        let service = 360_000.0 * layers * weather * body * body;
        let stall = if noise.unit() < 0.0033 { 4e6 * noise.unit() } else { 0.0 };
        let due = Nanos::new(1_000);
        let sent = due + Nanos::new(stall as u64);
        let first_byte = sent + Nanos::new(service as u64 / 2);
        let done = sent + Nanos::new(service as u64);
        let status = if noise.unit() < 0.04 { 404 } else { 200 };
        recorder.reply(status, 13_300, ReplyTimes { due, sent, first_byte, done });
    }
    let (times, mut counters) = recorder.finish();
    let requests = REQUESTS as f64;
    let own = layers * weather * (1.0 + 0.02 * noise.normal());
    counters.wall_ns = (requests * 25_600.0 * weather * (1.0 + 0.04 * noise.normal())) as u64;
    counters.connections = 15;
    counters.subject_cpu_ns = Some((13_200.0 * own * requests) as u64);
    counters.generator_cpu_ns = (7_900.0 * weather * requests) as u64;
    counters.softirq_cpu_ns = Some((300.0 * requests) as u64);
    counters.subject_busy = Some(0.5 * layers);
    counters.generator_busy = 0.31;
    counters.host = HostShare { user: 0.38, system: 0.41, ..HostShare::default() };
    counters.usage.context_switches = Some((requests * 0.2 * own) as u64);
    counters.usage.rss_bytes = Some(14_000_000);
    (times, counters)
}

fn setup(plan_sha256: String) -> Setup {
    let mut arms = vec!["plain".to_owned(), "plain'".to_owned()];
    arms.extend((1..SLICES_A_ROUND - 1).map(|number| format!("layer-{number}")));
    let looks = LookPlan::new(ROUNDS);
    Setup {
        schema: SETUP_SCHEMA.to_owned(),
        bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
        name: "long-run".to_owned(),
        plan_sha256,
        base_dir: "/".to_owned(),
        started: "2026-03-01T09:30:00Z".to_owned(),
        seed: 7,
        margin: 0.01,
        budget_ns: 7_200_000_000_000,
        rounds_budget_ns: 7_200_000_000_000,
        max_rounds: ROUNDS,
        level: level(SLICES_A_ROUND - 2, looks.looks.len()).get(),
        looks: looks.looks,
        primary: "subject_cpu_per_request".to_owned(),
        baseline: "plain".to_owned(),
        load: "closed loop, 15 robots".to_owned(),
        max_errors: 0.001,
        restarts: RestartSetup {
            every: ROUNDS_A_START,
            each_until: EACH_UNTIL,
            reason: "a start takes no second".to_owned(),
        },
        workload: WorkloadSetup {
            kind: "replay".to_owned(),
            description: "made up".to_owned(),
            slice_requests: REQUESTS,
            robots: Some(15),
            ..WorkloadSetup::default()
        },
        subjects: arms.iter().map(|arm| (arm.clone(), subject())).collect(),
        arms,
        ..Setup::default()
    }
}

fn subject() -> SubjectSetup {
    SubjectSetup {
        server: "origin".to_owned(),
        version: Some("bakeoff 0.1.0".to_owned()),
        cpu_source: Some("CPU clocks of the process tree".to_owned()),
        ..SubjectSetup::default()
    }
}
