//! A generator: its lanes' share of every load, made from plan, seed and round, over standard input and output.
//!
//! Measuring side, a process of its own, mostly on another host. It can send requests to addresses, and nothing else: no
//! order names a command or a path. What it was handed has no name, and is gone with it.

use super::super::arm::station;
use super::super::jobs::{Jobs, NotedRecording, Towards, send};
use super::super::order::{LoadPace, digest_of};
use super::super::shares::{Workloads, own_workloads};
use super::super::violations::{Planted, statuses};
use super::message::{Answer, ArmDone, ArmOrder, Done, LoadOrder, Order, PlanTerms, ToGenerators};
use super::{AUTHORITY, LOG, PLAN, authority_of};
use crate::environment;
use crate::run::workloads;
use bakeoff_loadgen::{BodyCheck, Lanes, LocalAddresses, Recording, Station, Trust};
use bakeoff_plan::{Plan, RequestSource, RequestWork, Work};
use bakeoff_reach::{Follow, Taken, Voice, attend};
use bakeoff_units::Nanos;
use bakeoff_workload::Slice;
use bakeoff_workload::replay::LogSource;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Time to end by itself once the run is gone.
const GRACE: Duration = Duration::from_secs(2);

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

/// Works as a generator until the run ends it.
///
/// # Errors
/// The run is gone, in words.
pub fn generator(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    offer: Offer,
) -> Result<(), String> {
    let cores = bakeoff_sys::affinity::allowed().map_err(|why| why.to_string())?;
    let Offer { lanes, only, stuck } = offer;
    let lanes = lanes.unwrap_or(cores.len());
    let begin = |voice| Generator { voice, only, cores, lanes, stand: None };
    attend::<ToGenerators, _>((input, output), lanes, begin, (GRACE, stuck))
}

struct Generator {
    voice: Voice,
    only: LocalAddresses,
    cores: Vec<usize>,
    /// Lanes that it offers.
    lanes: usize,
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

impl Follow<ToGenerators> for Generator {
    fn follow(&mut self, order: Order, taken: &Taken, heard_ns: u64) -> Result<Answer, String> {
        match order {
            Order::Plan(terms) => {
                self.stand = Some(self.stand(&terms, taken)?);
                Ok(Answer::Read)
            }
            Order::Load(load) => {
                let Self { stand, only, cores, .. } = self;
                let stand = stand.as_mut().ok_or("there is no plan yet")?;
                let authority = taken.path(AUTHORITY);
                let digest = stand.arm(load, (only, authority.as_deref(), cores))?;
                Ok(Answer::Armed { digest })
            }
            Order::Go => {
                let stand = self.stand.as_mut().ok_or("there is no plan yet")?;
                Ok(Answer::Done(Done { arms: stand.go(self.voice.interrupted())?, heard_ns }))
            }
        }
    }
}

impl Generator {
    fn stand(&self, terms: &PlanTerms, taken: &Taken) -> Result<Stand, String> {
        let said = |why: &dyn std::fmt::Display| format!("the plan cannot be used here: {why}");
        let path = taken.path(PLAN).ok_or("the plan did not come")?;
        let text = std::fs::read_to_string(path).map_err(|why| said(&why))?;
        let plan = Plan::parse_for_elsewhere(&terms.name, PLAN, &text).map_err(|why| said(&why))?;
        let mut plan = plan.of_extent(terms.extent).ok_or("the plan has no such extent")?;
        for arm in &mut plan.arms {
            if let Some(Trust::File(path)) = &mut arm.trust {
                *path = taken.path(&authority_of(&arm.name)).ok_or("an authority did not come")?;
            }
        }
        let Work::Requests(work) = &plan.work else { return Err("the plan asks no server".to_owned()) };
        let mut work = work.clone();
        if let RequestSource::Replay { log: LogSource::File(path), .. } = &mut work.source {
            *path = taken.path(LOG).ok_or("the log did not come")?;
        }
        let (workload, _) = workloads::build(&work, plan.seed, terms.expect).map_err(|why| said(&why))?;
        let planted =
            plan.violations.as_ref().map(|plan_of| Planted::new(plan_of, workload.as_ref(), plan.seed));
        let planted = planted.transpose().map_err(|why| said(&why))?.and_then(|(planted, _)| planted);
        let workloads =
            own_workloads(&plan, &work, (workload, planted), Vec::new()).map_err(|why| said(&why))?;
        let lanes = terms.lanes.lanes().filter(|lanes| lanes.count() <= self.lanes);
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
