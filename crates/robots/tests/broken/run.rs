//! A short run of robots, and its three accounts: of the robots, the proxy and the origin.

use crate::breakage::Breakage;
use crate::proxy::{Account, Proxy};
use bakeoff_content::Catalogue;
use bakeoff_loadgen::{BodyCheck, Station, StationJob, Target};
use bakeoff_origin::{Costs, Origin, OriginOptions, World};
use bakeoff_robots::judge::{ReplyFault, ReplyJudgement};
use bakeoff_robots::ledger::{INTERVAL, Ledger, RecordScope, Sums};
use bakeoff_robots::phases::FillGate;
use bakeoff_robots::population::{Population, Setting, TargetForm, Worker};
use bakeoff_robots::robots::Robots;
use bakeoff_robots::spec::Spec;
use bakeoff_robots::stream::StreamRequest;
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::Words;
use bakeoff_workload::Statuses;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::time::{SystemTime, UNIX_EPOCH};

/// The robots' account.
pub(crate) struct Seen {
    pub(crate) sums: Sums,
    /// Every request with its stamp, and how it was judged.
    pub(crate) judged: Vec<(u64, ReplyJudgement)>,
    /// Those by which a cache may have come to know objects.
    pub(crate) stream: Vec<StreamRequest>,
}

impl Seen {
    /// Names and counts of everything that was wrong.
    pub(crate) fn wrong(&self) -> BTreeMap<String, u64> {
        let faults = self.sums.faults.iter().map(|(fault, count)| (fault.label().to_owned(), *count));
        faults.chain(self.sums.errors.clone()).collect()
    }

    pub(crate) fn faults(&self, fault: ReplyFault) -> u64 {
        self.sums.faults.get(&fault).copied().unwrap_or(0)
    }
}

/// An origin of this world; `world` is its TOML.
pub(crate) fn origin(world: &str) -> (Origin, World) {
    let world = World::from_toml(world).unwrap();
    let options = OriginOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        threads: 1,
        catalogue: Catalogue::default(),
        tls: None,
        http2: false,
        world: Some(world.clone()),
        burn: Costs::default(),
        for_caches: None,
    };
    (Origin::start(options).unwrap(), world)
}

pub(crate) fn address(origin: &Origin) -> SocketAddr {
    origin.url().split("//").nth(1).unwrap().parse().unwrap()
}

/// Robots of this plan (`[robots]` and `[[phase]]`) towards an address.
pub(crate) fn robots(plan: &str, world: &World, address: SocketAddr) -> Seen {
    let model = Arc::new(world.model.clone());
    let spec = Arc::new(Spec::from_toml(plan).unwrap());
    let mut target = Target::plain(address, address.to_string());
    target.reuse = spec.reuse(1);
    let setting = Setting {
        world: 0xB20C,
        seed: 1,
        start_unix: Nanos::from_duration(SystemTime::now().duration_since(UNIX_EPOCH).unwrap()),
        worker: Worker::ONLY,
        form: TargetForm::Origin,
        gate: FillGate::new(),
    };
    let (send, records) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let ledger = Ledger::new(0, INTERVAL, Nanos::ZERO, send);
    let robots =
        Robots::new(Population::new(spec.clone(), model, setting), ledger, &target).telling(move |heard| {
            let request = StreamRequest::answered(heard);
            tell.send((heard.flight.stamp, heard.entry.judged, request)).unwrap();
        });
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
    let (_, mut sources) = Station::new(target, 1, Vec::new()).unwrap().run_heard(job).unwrap();
    sources.remove(0).finish();
    let run = records.iter().find(|record| record.scope == RecordScope::Run).unwrap();
    let (mut judged, mut stream) = (Vec::new(), Vec::new());
    for (stamp, of_one, request) in told {
        judged.push((stamp, of_one));
        stream.extend(request);
    }
    Seen { sums: run.sums, judged, stream }
}

/// Runs robots towards a proxy with this fault, before an origin, and returns all three accounts. The last is the
/// number of requests at the origin.
pub(crate) fn through(breakage: Breakage, plan: &str, world: &str) -> (Seen, Account, u64) {
    let (origin, world) = origin(world);
    let words = world.model.further_names().map_or_else(Words::default, Words::drawn);
    let proxy = Proxy::with_words(address(&origin), breakage, words);
    let seen = robots(plan, &world, proxy.address);
    (seen, proxy.account(), origin.tally().requests)
}
