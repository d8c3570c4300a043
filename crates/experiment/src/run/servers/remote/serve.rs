//! A generator: its lanes' share of every load, made from plan, seed and round, over standard input and output.
//!
//! Measuring side, a process of its own, mostly on another host. It can send requests to addresses, and nothing else: no
//! order names a command or a path. It ends when it is told to, when its input ends, or when nothing was heard for a
//! lease, and leaves nothing: what it was handed has no name.

use super::super::arm::station;
use super::super::jobs::{Jobs, NotedRecording, Towards, send};
use super::super::order::{LoadPace, digest_of};
use super::super::shares::{Workloads, own_workloads};
use super::super::violations::{Planted, statuses};
use super::executable::Executable;
use super::incoming::Incoming;
use super::message::{
    Answer, ArmDone, ArmOrder, Done, GeneratorInfo, Line, LoadOrder, Order, PlanTerms, line,
};
use super::taken::Taken;
use super::{AUTHORITY, LOG, PLAN, PROTOCOL, authority_of};
use crate::environment;
use crate::run::workloads;
use bakeoff_loadgen::{BodyCheck, Lanes, LocalAddresses, Recording, Station, Trust};
use bakeoff_plan::{Plan, RequestSource, RequestWork, Work};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use bakeoff_workload::Slice;
use bakeoff_workload::replay::LogSource;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

/// The lease until the run names one.
const FIRST_LEASE: Nanos = Nanos::from_secs(60);
/// Time between two looks at the lease.
const LOOK: Duration = Duration::from_millis(100);
/// Time to end by itself once the run is gone.
const GRACE: Duration = Duration::from_secs(2);
/// Most bytes that are taken at once.
const LARGEST: u64 = 1 << 30;

/// Limits of a generator.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Lanes; `None`: one a core that it may use.
    pub lanes: Option<usize>,
    /// Addresses that it may load; empty: any.
    pub only: LocalAddresses,
    /// Called when it should have ended and has not.
    pub stuck: fn(),
}

/// Message of the reading thread.
enum Said {
    Order { n: u64, order: Order, file: Option<File>, heard_ns: u64 },
    Gone(String),
}

/// State that threads share.
struct Shared {
    clock: MonotonicClock,
    /// The moment at which anything was heard last.
    heard_ns: AtomicU64,
    lease_ns: AtomicU64,
    /// The load ends at once.
    interrupted: AtomicBool,
    output: Mutex<Box<dyn Write + Send>>,
}

impl Shared {
    /// A run that is gone is noticed by the reading thread.
    fn answer(&self, n: u64, answer: &Answer) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = output.write_all(&line(n, answer)).and_then(|()| output.flush());
    }

    fn now_ns(&self) -> u64 {
        self.clock.now().get()
    }
}

/// Works as a generator until the run ends it.
///
/// # Errors
/// The run is gone, in words.
pub fn generator(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    offer: Offer,
) -> Result<(), String> {
    let clock = MonotonicClock::new();
    let shared = Arc::new(Shared {
        clock,
        heard_ns: AtomicU64::new(clock.now().get()),
        lease_ns: AtomicU64::new(FIRST_LEASE.get()),
        interrupted: AtomicBool::new(false),
        output: Mutex::new(Box::new(output)),
    });
    let (tell, told) = channel();
    let (own, also) = (shared.clone(), tell.clone());
    thread::spawn(move || {
        let why = hear(&own, input, &tell);
        leave(&own, &tell, why, offer.stuck);
    });
    let own = shared.clone();
    thread::spawn(move || {
        let silence = watch(&own);
        leave(&own, &also, format!("nothing was heard of the run for {silence}"), offer.stuck);
    });
    work(&shared, &told, &offer)
}

/// Ends a load that is under way, and then the process if that is not enough.
fn leave(shared: &Shared, tell: &Sender<Said>, why: String, stuck: fn()) {
    shared.interrupted.store(true, Ordering::Relaxed);
    let _ = tell.send(Said::Gone(why));
    thread::sleep(GRACE);
    stuck();
}

/// Waits until nothing was heard for a lease.
fn watch(shared: &Shared) -> Nanos {
    loop {
        thread::sleep(LOOK);
        let silent = shared.now_ns().saturating_sub(shared.heard_ns.load(Ordering::Relaxed));
        if silent > shared.lease_ns.load(Ordering::Relaxed) {
            return Nanos::from_millis(silent / 1_000_000);
        }
    }
}

/// Reads orders until there are no more. Beats are answered here, whatever else is under way.
fn hear(shared: &Shared, input: impl Read, tell: &Sender<Said>) -> String {
    let mut incoming = Incoming::new(input, || shared.heard_ns.store(shared.now_ns(), Ordering::Relaxed));
    loop {
        let text = match incoming.line() {
            Ok(Some(text)) => text,
            Ok(None) => return "the run closed the channel".to_owned(),
            Err(why) => return format!("the channel cannot be read: {why}"),
        };
        let heard_ns = shared.now_ns();
        let Ok(Line { n, say: order }) = serde_json::from_slice::<Line<Order>>(&text) else {
            return "the run says what is no order".to_owned();
        };
        let file = match &order {
            Order::Beat => {
                let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                shared.answer(n, &Answer::Beat { mono_ns: shared.now_ns(), wall_ns: wall.as_nanos() as u64 });
                continue;
            }
            Order::Stop => {
                shared.interrupted.store(true, Ordering::Relaxed);
                None
            }
            Order::Take { name, bytes, .. } => match take(&mut incoming, *bytes) {
                Ok(file) => Some(file),
                Err(why) => {
                    shared.answer(n, &Answer::Refused { why: format!("{name}: {why}") });
                    return format!("{name}: {why}");
                }
            },
            Order::Hello { .. } | Order::Load(_) | Order::Go => None,
        };
        if tell.send(Said::Order { n, order, file, heard_ns }).is_err() {
            return "it has stopped".to_owned();
        }
    }
}

fn take<R: Read, F: Fn()>(incoming: &mut Incoming<R, F>, bytes: u64) -> io::Result<File> {
    if bytes > LARGEST {
        return Err(io::Error::other(format!("{bytes} bytes are more than is taken")));
    }
    let mut file = tempfile::tempfile()?;
    match incoming.raw(bytes, |piece| file.write_all(piece))? {
        true => Ok(file),
        false => Err(io::Error::other("the channel closed in the middle of it")),
    }
}

/// Follows orders.
fn work(shared: &Shared, told: &Receiver<Said>, offer: &Offer) -> Result<(), String> {
    let cores = bakeoff_sys::affinity::allowed().map_err(|why| why.to_string())?;
    let build = Executable::own().map_err(|why| why.to_string())?.sha256;
    let lanes = offer.lanes.unwrap_or(cores.len());
    let info = GeneratorInfo { build, ..GeneratorInfo::here(lanes) };
    let mut own = Generator { shared, only: &offer.only, cores, info, taken: Taken::default(), stand: None };
    while let Ok(said) = told.recv() {
        let (n, order, file, heard_ns) = match said {
            Said::Order { n, order, file, heard_ns } => (n, order, file, heard_ns),
            Said::Gone(why) => return Err(why),
        };
        if matches!(order, Order::Stop) {
            shared.answer(n, &Answer::Stopped);
            return Ok(());
        }
        let answer = own.follow(order, file, heard_ns).unwrap_or_else(|why| Answer::Refused { why });
        shared.answer(n, &answer);
    }
    Err("its threads ended".to_owned())
}

struct Generator<'a> {
    shared: &'a Shared,
    only: &'a LocalAddresses,
    cores: Vec<usize>,
    info: GeneratorInfo,
    taken: Taken,
    stand: Option<Stand>,
}

/// A plan that loads can be made from.
struct Stand {
    plan: Plan,
    work: RequestWork,
    workloads: Workloads,
    lanes: Lanes,
    /// By arm, with the number of the server's start.
    stations: BTreeMap<String, (u64, Station)>,
    armed: Option<Armed>,
}

/// A load that waits for `go`.
struct Armed {
    /// By arm.
    loads: Vec<(String, Slice, LoadPace, bool)>,
    extent: (BodyCheck, Nanos),
}

impl Generator<'_> {
    fn follow(&mut self, order: Order, file: Option<File>, heard_ns: u64) -> Result<Answer, String> {
        match order {
            Order::Hello { protocol, build, lease_ms } => {
                if protocol != PROTOCOL || build != self.info.build {
                    let short = |build: &str| build.chars().take(12).collect::<String>();
                    return Err(format!(
                        "its `bakeoff` is of another build (SHA-256 {}...) than the run's ({}...): copy the run's executable \
                         to that host, to where its PATH finds it",
                        short(&self.info.build),
                        short(&build)
                    ));
                }
                self.shared.lease_ns.store(lease_ms.saturating_mul(1_000_000), Ordering::Relaxed);
                Ok(Answer::Generator(self.info.clone()))
            }
            Order::Take { name, sha256, plan, .. } => {
                let file = file.ok_or("nothing came with it")?;
                self.taken.keep(&name, &sha256, file)?;
                if let Some(terms) = plan {
                    self.stand = Some(self.stand(&terms)?);
                }
                Ok(Answer::Taken)
            }
            Order::Load(load) => {
                let Self { stand, only, taken, cores, .. } = self;
                let stand = stand.as_mut().ok_or("there is no plan yet")?;
                let authority = taken.path(AUTHORITY);
                let digest = stand.arm(load, (only, authority.as_deref(), cores))?;
                Ok(Answer::Armed { digest })
            }
            Order::Go => {
                let stand = self.stand.as_mut().ok_or("there is no plan yet")?;
                Ok(Answer::Done(Done { arms: stand.go(&self.shared.interrupted)?, heard_ns }))
            }
            Order::Beat | Order::Stop => Err("it is answered elsewhere".to_owned()),
        }
    }

    fn stand(&self, terms: &PlanTerms) -> Result<Stand, String> {
        let said = |why: &dyn std::fmt::Display| format!("the plan cannot be used here: {why}");
        let path = self.taken.path(PLAN).ok_or("the plan did not come")?;
        let text = std::fs::read_to_string(path).map_err(|why| said(&why))?;
        let plan = Plan::parse_for_elsewhere(&terms.name, PLAN, &text).map_err(|why| said(&why))?;
        let mut plan = plan.of_extent(terms.extent).ok_or("the plan has no such extent")?;
        for arm in &mut plan.arms {
            if let Some(Trust::File(path)) = &mut arm.trust {
                *path = self.taken.path(&authority_of(&arm.name)).ok_or("an authority did not come")?;
            }
        }
        let Work::Requests(work) = &plan.work else { return Err("the plan asks no server".to_owned()) };
        let mut work = work.clone();
        if let RequestSource::Replay { log: LogSource::File(path), .. } = &mut work.source {
            *path = self.taken.path(LOG).ok_or("the log did not come")?;
        }
        let (workload, _) = workloads::build(&work, plan.seed, terms.expect).map_err(|why| said(&why))?;
        let planted =
            plan.violations.as_ref().map(|plan_of| Planted::new(plan_of, workload.as_ref(), plan.seed));
        let planted = planted.transpose().map_err(|why| said(&why))?.and_then(|(planted, _)| planted);
        let workloads =
            own_workloads(&plan, &work, (workload, planted), Vec::new()).map_err(|why| said(&why))?;
        let lanes = terms.lanes.lanes().filter(|lanes| lanes.count() <= self.info.lanes);
        let lanes = lanes.ok_or("there are no such lanes")?;
        let connections = work.connections as u64 * plan.names().len() as u64;
        environment::ensure_descriptors(connections).map_err(|why| why.to_string())?;
        Ok(Stand { plan, work, workloads, lanes, stations: BTreeMap::new(), armed: None })
    }
}

impl Stand {
    /// Makes everything that a load needs, and gives the digest of its requests.
    fn arm(
        &mut self,
        load: LoadOrder,
        of_host: (&LocalAddresses, Option<&Path>, &[usize]),
    ) -> Result<String, String> {
        let LoadOrder { arms, full_check, limit_ns } = load;
        let check = if full_check { BodyCheck::Full } else { BodyCheck::Start };
        let mut loads = Vec::new();
        for arm in arms {
            let slice = arm.recipe.make(&mut self.workloads).map_err(|why| why.to_string())?;
            self.reach(&arm, of_host)?;
            loads.push((arm.name, slice, arm.pace, arm.notes));
        }
        let slices: Vec<&Slice> = loads.iter().map(|(_, slice, ..)| slice).collect();
        let digest = digest_of(&slices, self.lanes.of());
        self.armed = Some(Armed { loads, extent: (check, Nanos::new(limit_ns)) });
        Ok(digest)
    }

    /// Makes sure of a station towards this start of the arm's server.
    fn reach(
        &mut self,
        order: &ArmOrder,
        (only, authority, cores): (&LocalAddresses, Option<&Path>, &[usize]),
    ) -> Result<(), String> {
        let address = order.entry.address.ip();
        if only.count() > 0 && !only.ends().any(|(first, last)| (first..=last).contains(&address)) {
            return Err(format!("it may load {only} alone (--only), and was to load {address}"));
        }
        let name = order.name.as_str();
        if self.stations.get(name).is_none_or(|(instance, _)| *instance != order.instance) {
            let arm = self.plan.arm_of(name).ok_or_else(|| format!("the plan has no arm {name}"))?;
            let lanes = self.lanes;
            let made = station((arm, &order.entry), (&self.work, &arm.client), authority, (lanes, cores));
            self.stations.insert(name.to_owned(), (order.instance, made.map_err(|why| why.to_string())?));
        }
        if let Some((_, station)) = self.stations.get_mut(name).filter(|_| order.renew) {
            station.disconnect();
        }
        Ok(())
    }

    fn go(&mut self, interrupted: &AtomicBool) -> Result<Vec<ArmDone>, String> {
        let Armed { loads, extent } = self.armed.take().ok_or("there is no load")?;
        let (work, seed) = (&self.work, self.plan.seed);
        let refused = statuses(self.plan.violations.as_ref());
        let jobs = Jobs { work, seed, refused, interrupted, elsewhere: None };
        let mut stations: BTreeMap<&str, &mut Station> =
            self.stations.iter_mut().map(|(name, (_, station))| (name.as_str(), station)).collect();
        let mut towards = Vec::new();
        for (name, slice, pace, notes) in &loads {
            let station = stations.remove(name.as_str()).ok_or("an arm is loaded twice")?;
            let client = &self.plan.arm_of(name).ok_or("there is no such arm")?.client;
            towards.push(Towards { station, jobs, slice, pace: *pace, client, notes: *notes });
        }
        let begin: Vec<usize> = (0..towards.len()).collect();
        let heard = send(towards, &begin, extent).map_err(|why| format!("the load cannot be sent: {why}"))?;
        Ok(heard.into_iter().map(done).collect())
    }
}

fn done((recording, notes): NotedRecording) -> ArmDone {
    let Recording { times, counters, gave_up, tls, violation, handshakes, .. } = recording;
    ArmDone { counters, times: times.encode(), gave_up, tls, violation, handshakes, notes }
}
