//! Generators on other hosts: lanes like this process' own, but elsewhere.
//!
//! Measuring side. A launcher, such as `ssh`, gives standard input and output of a process on another host, and that is
//! all it does. The run says what every lane is to ask, as a number from which the generator makes the requests itself,
//! and adds up what the lanes counted. It starts nothing else there, opens no port, and never goes on with fewer.

mod dealt;
mod far;
mod message;

use super::arm::{Entry, ServerArm};
use super::jobs::{Heard, LanesElsewhere};
use super::order::{ArmLoad, LanesOrder, digest_of};
use crate::run::{Run, RunError, RunProgress};
use bakeoff_loadgen::{BodyCheck, Recording, Trust};
use bakeoff_plan::{Plan, RequestSource, RequestWork, Work};
use bakeoff_reach::{Channels, EndInfo, Executable, Trip, Waited};
use bakeoff_results::directory::LOGS;
use bakeoff_results::{PartRecord, PlaceSetup};
use bakeoff_units::Nanos;
use bakeoff_workload::replay::LogSource;
pub use dealt::{Generators, refusal};
pub use far::{Offer, generator};
pub use message::GENERATOR;
use message::{Answer, ArmDone, ArmOrder, Done, LoadOrder, Order, PlanTerms, ToGenerators};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::{fs, io};

/// Name of the plan among what generators take.
const PLAN: &str = "plan";
/// Name of the log.
const LOG: &str = "log";
/// A slice that is not the run's.
const OTHER_SLICE: &str = "makes other requests of the plan than this machine does (their digests differ); nothing was \
     measured with them. Report it: plan, log and build are the same on both";
/// Name of the throw-away authority.
const AUTHORITY: &str = "authority";

/// Name of the authority that the plan names for an arm.
fn authority_of(arm: &str) -> String {
    format!("{AUTHORITY} of {arm}")
}

/// Calls all generators of a plan, and gives what each would have of it. Nothing is sent.
///
/// # Errors
/// One is not there, is of another build, or cannot reach the servers.
pub fn roll_call(
    plan: &Plan,
    generators: &Generators,
    interrupted: &AtomicBool,
) -> Result<Vec<PlaceSetup>, RunError> {
    let Work::Requests(work) = &plan.work else { return Ok(Vec::new()) };
    if generators.places.is_empty() {
        return Ok(Vec::new());
    }
    let remote = Remote::greeted((plan, work), generators, None, interrupted)?;
    remote.channels.measure_trips();
    Ok(remote.setup())
}

/// The generators of a run, all there.
pub(crate) struct Remote {
    channels: Channels<ToGenerators>,
    places: Vec<PlaceSetup>,
}

impl Remote {
    /// Starts all generators, and deals the lanes; `None`: the run has none.
    ///
    /// # Errors
    /// One is not there within the time, is of another build, or cannot reach the servers. Nothing was sent by then.
    pub(crate) fn connect(
        run: &Run<'_>,
        work: &RequestWork,
        progress: &mut dyn RunProgress,
    ) -> Result<Option<Self>, RunError> {
        if run.generators.places.is_empty() {
            return Ok(None);
        }
        progress.stage("starting the generators");
        let logs = run.dir.path().join(LOGS);
        Self::greeted((run.plan, work), run.generators, Some(&logs), run.interrupted).map(Some)
    }

    fn greeted(
        (plan, work): (&Plan, &RequestWork),
        generators: &Generators,
        logs: Option<&Path>,
        interrupted: &AtomicBool,
    ) -> Result<Self, RunError> {
        let Generators { places, address, lanes, lease, passed_by } = generators;
        let executable = Executable::own().map_err(RunError::System)?;
        let channels = Channels::open((places, passed_by.as_deref()), &executable, *lease, logs, None)?;
        let infos = channels.greet(&executable, interrupted)?;
        let here = EndInfo::here(0);
        for (info, number) in infos.iter().zip(1..) {
            let is_here = info.boot == here.boot && info.network == here.network;
            dealt::demand_reach(plan, number, &info.host, is_here, address.is_some())?;
        }
        let connections = fewest_connections(plan, work);
        let places = dealt::dealt(places, &infos, lanes.as_deref(), connections)?;
        Ok(Self { channels, places })
    }

    /// Hands over all that slices are made from.
    pub(super) fn prepare(
        &self,
        plan: &Plan,
        (work, expect): (&RequestWork, bool),
        authority: Option<&Path>,
        interrupted: &AtomicBool,
    ) -> Result<(), RunError> {
        let hand = |name: &str, path: &Path| {
            dealt::demand_size(name, path)?;
            let failed = |why: io::Error| {
                RunError::Generators(format!("{}: {why}; generators need it", path.display()))
            };
            let bytes = fs::read(path).map_err(failed)?;
            self.channels.hand_over(name, &bytes, interrupted).map_err(RunError::from)
        };
        if let RequestSource::Replay { log: LogSource::File(path), .. } = &work.source {
            hand(LOG, path)?;
        }
        authority.map_or(Ok(()), |path| hand(AUTHORITY, path))?;
        for arm in &plan.arms {
            if let Some(Trust::File(path)) = &arm.trust {
                hand(&authority_of(&arm.name), path)?;
            }
        }
        self.channels.hand_over(PLAN, plan.text.as_bytes(), interrupted)?;
        let lanes: Vec<LanesOrder> = self.lanes().collect();
        let terms = |generator: usize| {
            let (name, extent, lanes) = (plan.name.clone(), plan.extent, lanes[generator]);
            Order::Plan(PlanTerms { name, extent, expect, lanes })
        };
        let answers = match self.channels.say_to_each(terms, interrupted)? {
            Waited::All(answers) => answers,
            Waited::Interrupted => return Err(RunError::Interrupted),
        };
        let other = answers.iter().enumerate().find(|(_, answer)| !matches!(answer, Answer::Read));
        other.map_or(Ok(()), |(generator, answer)| Err(self.unfit(generator, answer)))
    }

    /// An answer to another order.
    fn unfit(&self, generator: usize, answer: &Answer) -> RunError {
        self.channels.garbage(generator, &format!("{answer:?}")).into()
    }

    /// For `setup.json`.
    pub(super) fn setup(&self) -> Vec<PlaceSetup> {
        let tripped = |(place, trip): (&PlaceSetup, Option<Trip>)| PlaceSetup {
            round_trip_ns: trip.map(|trip| trip.time.get()),
            offset_ns: trip.map(|trip| trip.wall_offset_ns),
            ..place.clone()
        };
        self.places.iter().zip(self.channels.trips()).map(tripped).collect()
    }

    fn lanes(&self) -> impl Iterator<Item = LanesOrder> {
        let of = self.places.iter().map(|place| place.lanes as usize).sum();
        self.places.iter().map(move |place| LanesOrder {
            first: place.first_lane as usize - 1,
            count: place.lanes as usize,
            of,
        })
    }

    fn nothing(&self, loads: &[ArmLoad]) -> Vec<Heard> {
        self.channels.stop();
        loads
            .iter()
            .map(|_| Heard { recording: Recording::default(), notes: Vec::new(), parts: Vec::new() })
            .collect()
    }

    /// The counts of all generators, arm by arm.
    fn added(&self, all: Vec<Done>, arms: usize, gone: Nanos) -> Result<Vec<Heard>, RunError> {
        let mut heard: Vec<Option<Heard>> = (0..arms).map(|_| None).collect();
        for (generator, done) in all.into_iter().enumerate() {
            let heard_ns = self.channels.here(generator, done.heard_ns).map_or(0, |at| at.since(gone).get());
            for (arm, sum) in done.arms.into_iter().zip(&mut heard) {
                let notes = arm.notes.clone();
                let recording =
                    recording(arm).map_err(|why| self.channels.garbage(generator, &why.to_string()))?;
                let part = self.part(generator, heard_ns, &recording);
                match sum {
                    None => *sum = Some(Heard { recording, notes, parts: vec![part] }),
                    Some(sum) => {
                        sum.recording.add_beside(&recording);
                        sum.notes.extend(notes);
                        sum.parts.push(part);
                    }
                }
            }
        }
        Ok(heard.into_iter().flatten().collect())
    }

    fn part(&self, generator: usize, heard_ns: u64, recording: &Recording) -> PartRecord {
        let PlaceSetup { host, first_lane, lanes, .. } = self.places[generator].clone();
        let number = generator as u32 + 1;
        let part =
            PartRecord { generator: number, host, first_lane, lanes, heard_ns, ..PartRecord::default() };
        part.of(recording.counters.clone(), &recording.times.lateness)
    }

    /// Ctrl-C or a failure may leave servers that a generator still asks: it ends first.
    pub(super) fn stop(&self) {
        self.channels.stop();
    }
}

impl LanesElsewhere for Remote {
    fn ask(
        &self,
        places: &mut [&mut ServerArm],
        loads: &[ArmLoad],
        (check, limit): (BodyCheck, Nanos),
        interrupted: &AtomicBool,
    ) -> Result<Vec<Heard>, RunError> {
        let arm = |(place, load): (&mut &mut ServerArm, &ArmLoad)| ArmOrder {
            name: place.name.clone(),
            entry: Entry::of(place.running.entry()),
            instance: place.instance,
            renew: std::mem::take(&mut place.renew),
            notes: place.seen.is_some(),
            recipe: load.dealt.recipe.clone(),
            pace: load.pace,
        };
        let arms = places.iter_mut().zip(loads).map(arm).collect();
        let order = LoadOrder { arms, full_check: check == BodyCheck::Full, limit_ns: limit.get() };
        let slices: Vec<_> = loads.iter().map(|load| &load.dealt.slice).collect();
        let of = self.lanes().map(|lanes| lanes.of).next().unwrap_or(1);
        let wanted = digest_of(&slices, of);
        let Waited::All(armed) = self.channels.say_to_all(&Order::Load(order), interrupted)? else {
            return Ok(self.nothing(loads));
        };
        for (generator, answer) in armed.into_iter().enumerate() {
            match answer {
                Answer::Armed { digest } if digest == wanted => {}
                Answer::Armed { .. } => return Err(self.channels.complaint(generator, OTHER_SLICE).into()),
                other => return Err(self.unfit(generator, &other)),
            }
        }
        let gone = self.channels.now();
        let Waited::All(done) = self.channels.say_to_all(&Order::Go, interrupted)? else {
            return Ok(self.nothing(loads));
        };
        let all = done.into_iter().enumerate().map(|(generator, answer)| match answer {
            Answer::Done(done) if done.arms.len() == loads.len() => Ok(done),
            other => Err(self.unfit(generator, &other)),
        });
        self.added(all.collect::<Result<_, _>>()?, loads.len(), gone)
    }
}

fn recording(arm: ArmDone) -> Result<Recording, bakeoff_meter::DecodeError> {
    let ArmDone { counters, times, gave_up, tls, violation, handshakes, notes: _ } = arm;
    let times = times.decode()?;
    Ok(Recording { times, counters, gave_up, tls, violation, handshakes, ..Recording::default() })
}

/// Connections of the arm with fewest.
fn fewest_connections(plan: &Plan, work: &RequestWork) -> usize {
    let of = plan.arms.iter().map(|arm| arm.work(work).connections_of(&arm.client));
    of.min().unwrap_or(1)
}
