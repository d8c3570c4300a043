//! Robots through the load generator against a simulated cache with its origin, both in a thread of the test.

#![allow(clippy::unwrap_used)] // a test that cannot reach its own peer has failed

mod cache;

use bakeoff_content::world::Model;
use bakeoff_loadgen::{BodyCheck, Recording, Station, StationJob, Target};
use bakeoff_robots::judge::{ReplyFault, RequestKind};
use bakeoff_robots::ledger::{INTERVAL, Ledger, LedgerRecord, RecordScope};
use bakeoff_robots::phases::{EndReason, FillGate};
use bakeoff_robots::population::{Population, Setting, TargetForm, Worker};
use bakeoff_robots::robots::Robots;
use bakeoff_robots::spec::Spec;
use bakeoff_units::Nanos;
use bakeoff_workload::Statuses;
use cache::{Cache, Manner};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::{SystemTime, UNIX_EPOCH};

const MODEL: &str = r#"
    [[content]]
    name = "image"
    size = "exp:2KB"
    cachable = "80%"
    life = { length = "const:2year", expires = "nmt+0s" }
    share = "0%"

    [[content]]
    name = "page"
    size = "exp:4KB"
    cachable = "80%"
    life = { length = "const:2year", expires = "nmt+0s" }
    embeds = { kind = "image", count = "zipf:5" }
"#;

/// Outcome of a run.
struct Outcome {
    recording: Recording,
    population: Population,
    phases: Vec<LedgerRecord>,
    asked: u64,
}

fn run(manner: Manner, robots: &str, phases: &str) -> Outcome {
    let model = Arc::new(Model::from_toml(MODEL).unwrap());
    let spec = Arc::new(Spec::from_toml(&format!("[robots]\n{robots}\n{phases}")).unwrap());
    let cache = Cache::start(model.clone(), manner);
    let mut target = Target::plain(cache.address, cache.address.to_string());
    target.reuse = spec.reuse(1);
    let setting = Setting {
        world: 0xB0B,
        seed: 1,
        start_unix: Nanos::from_duration(SystemTime::now().duration_since(UNIX_EPOCH).unwrap()),
        worker: Worker::ONLY,
        form: TargetForm::Absolute("origin.test".to_owned()),
        gate: FillGate::new(),
    };
    let (send, records) = mpsc::channel();
    let ledger = Ledger::new(0, INTERVAL, Nanos::ZERO, send);
    let robots = Robots::new(Population::new(spec.clone(), model, setting), ledger, &target);
    let interrupted = AtomicBool::new(false);
    let job = StationJob {
        sources: vec![robots],
        robots: Vec::new(),
        pace: spec.pace(),
        begins: None,
        timeout: Nanos::from_secs(120),
        until: None,
        check: BodyCheck::Full,
        refused: Statuses::default(),
        interrupted: &interrupted,
    };
    let mut station = Station::new(target, 1, Vec::new()).unwrap();
    let (recording, mut sources) = station.run_heard(job).unwrap();
    let population = sources.remove(0).finish();
    drop(station);
    let phases = records.iter().filter(|record| record.scope == RecordScope::Phase).collect();
    Outcome { recording, population, phases, asked: cache.asked() }
}

/// One connection, so that requests reach the cache in the order in which they were made.
const ONE_LINE: &str = "rate = '2000/s'\nrecurrence = '60%'\nconnections = '1'";
const PHASES: &str = "
    [[phase]]\nname = 'warm'\ngoal = { transactions = 500 }\nmeasured = false
    [[phase]]\nname = 'meas'\ngoal = { transactions = 3000, errors = 1 }";

#[test]
fn an_honest_cache_gives_every_offered_hit_and_has_no_fault() {
    let robots = format!(
        "{ONE_LINE}\nspecial = {{ ims200 = '5%', ims304 = '10%', reload = '5%', range = '5%', \
        head = '2%', post = '2%', abort = '2%' }}\npost_body = 'exp:8KB'"
    );
    let outcome = run(Manner::Honest, &robots, PHASES);
    let ends: Vec<_> = outcome.population.schedule().ended().iter().map(|ended| ended.why).collect();
    assert_eq!(ends, [EndReason::Transactions; 2], "{:?}", outcome.recording.counters.errors);
    let names: Vec<&str> = outcome.phases.iter().map(|record| record.phase.as_str()).collect();
    assert_eq!(names[..2], ["warm", "meas"]);
    let finished: Vec<u64> = outcome.phases.iter().map(|record| record.sums.finished).collect();
    assert_eq!(finished[..2], [500, 3000]);
    assert_eq!(finished.iter().sum::<u64>(), outcome.asked);
    for record in &outcome.phases {
        let sums = &record.sums;
        assert_eq!((sums.failed, &sums.errors), (0, &Default::default()), "{:?}", sums.examples);
        // An object whose first request was no plain GET may not be there yet.
        let only_late = sums.faults.keys().all(|fault| *fault == ReplyFault::FalseMiss);
        assert!(only_late, "{:?} {:#?}", sums.faults, sums.examples);
    }
    let meas = &outcome.phases[1].sums;
    let (hits, offered) = (meas.hits.traffic.count(), meas.offered_hit_bytes.count);
    let missed = meas.faults.get(&ReplyFault::FalseMiss).copied().unwrap_or(0);
    assert_eq!(hits + meas.revalidated.traffic.count(), offered - missed);
    assert!(hits > 800, "{hits}");
    let pages: u64 = outcome.phases.iter().map(|record| record.sums.pages.good).sum();
    let objects: u64 = outcome.phases.iter().map(|record| record.sums.pages.objects).sum();
    assert!(pages > 500 && objects > pages, "{pages} {objects}");
    assert_eq!((meas.pages.response.count(), meas.pages.failed), (meas.pages.good, 0));
    // Where a robot breaks a reply off, it needs another connection.
    let aborted: u64 = outcome.phases.iter().map(|record| record.sums.aborted).sum();
    let connections = outcome.recording.counters.connections;
    assert!(aborted > 20 && connections.abs_diff(aborted) <= 1, "{aborted} {connections}");
    let posts = meas.kinds[RequestKind::Post.index()].count();
    assert!(posts > 4, "{posts}: about 18 expected");
}

#[test]
fn a_cache_that_gives_the_wrong_object_ends_the_test() {
    let outcome = run(Manner::Confused, ONE_LINE, PHASES);
    let ended = outcome.population.schedule().ended();
    assert_eq!((ended.len(), ended[1].why), (2, EndReason::TooManyErrors));
    let meas = outcome.phases.iter().find(|record| record.phase == "meas").unwrap();
    assert!(
        meas.sums
            .faults
            .keys()
            .any(|fault| matches!(fault, ReplyFault::WrongObject | ReplyFault::WrongBytes))
    );
}

#[test]
fn without_a_rate_robots_keep_to_their_own_connections() {
    let robots =
        "robots = 20\nrecurrence = '5%'\nconnections = '2 per robot'\nrequests_per_connection = 'zipf:16'";
    let phases = "[[phase]]\nname = 'fill'\ngoal = { transactions = 2000 }";
    let outcome = run(Manner::Honest, robots, phases);
    let fill = &outcome.phases[0].sums;
    assert_eq!((fill.finished, fill.failed), (2000, 0), "{:?} {:#?}", fill.errors, fill.examples);
    assert!(fill.fill.count() > 1000);
    assert!(outcome.recording.counters.connections > 100);
    assert!(outcome.population.is_over());
}
