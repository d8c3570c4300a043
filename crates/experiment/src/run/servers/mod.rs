//! Bench of requests: servers as arms, with site, processes, stations, and slices of one arm or of all in slots.

mod arm;
mod files;
mod generators;
mod heads;
mod hits;
mod jobs;
mod order;
mod pages;
mod populations;
mod shares;
mod trees;
pub(crate) mod trial;
mod violation_notes;
mod violations;

use super::bench::{Bench, Measured, Pace, Part, Parts, Sizing, Tried};
use super::blocks::Block;
use super::link::Wire;
use super::page_cache::{Caches, drop_caches};
use super::scratch::Scratch;
use super::snapshot::{Reader, Snapshot, fill_programs};
use super::{Run, RunError, RunProgress, workloads};
use crate::environment::{self, Placement};
use arm::{Executables, ServerArm, Starter};
use bakeoff_content::SplitMix64;
use bakeoff_loadgen::BodyCheck;
use bakeoff_plan::{Arm, Fresh, LoadClock, RequestSource, RequestWork, SliceLengths, Violations};
use bakeoff_results::{LinkSetup, PlaceSetup, ProofRecord, SlotsSetup, SubjectSetup, WorkloadSetup};
use bakeoff_subject::Chain;
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::replay::LogSource;

pub(crate) use generators::Remote;
pub use generators::{GENERATOR, Generators, Offer, generator, refusal, roll_call};
use jobs::{Heard, Jobs, LanesElsewhere};
use order::{Begin, Dealt, Step};
use shares::{Share, Workloads, own_workloads};
use std::cell::Cell;
use violation_notes::Noted;
use violations::Planted;

/// Number of the pilot's round, which no real round has.
const PILOT_ROUND: u64 = u64::MAX >> 1;
/// Seed purpose of the order of starts and of the padding of environments.
const STARTS: u64 = 0x57a7;
/// Seed purpose of the order in which arms of a duet are warmed, read and begun.
const TURNS: u64 = 0x70a5;
/// Most bytes added to an environment: a page moves the stack through all of its alignments.
const PADDING: u64 = 4096;
/// Requests after a restart that do not count, if a slice has that many.
const SETTLING: usize = 500;
/// Most such requests if layers have to see a site's files once.
const SETTLING_LAYERS: u64 = 5000;

/// All arms, running.
pub(crate) struct ServerBench<'a> {
    remote: Option<&'a Remote>,
    starter: Starter<'a>,
    jobs: Jobs<'a>,
    workloads: Workloads,
    noted: Option<Noted>,
    description: String,
    arms: Vec<ServerArm>,
    reader: Reader,
    /// The round's slices, as many as shares.
    slices: Vec<Dealt>,
    /// Number of that round.
    round: u64,
    executables: Executables,
    // Last: servers are stopped before their directories go.
    _scratch: Scratch,
}

impl<'a> ServerBench<'a> {
    pub(crate) fn start(
        run: &'a Run<'_>,
        work: &'a RequestWork,
        (placement, remote): (&Placement, Option<&'a Remote>),
        progress: &mut dyn RunProgress,
    ) -> Result<Self, RunError> {
        let plan = run.plan;
        let scratch = Scratch::create(&mut |words| progress.stage(words))?;
        progress.stage("reading the workload");
        // Replies can be judged only if every arm holds the site that the workload knows.
        let expect = plan.arms.iter().all(|arm| arm.serves_site);
        let (workload, mut description) = workloads::build(work, plan.seed, expect)?;
        let disk = pages::on_disk(run, &scratch, workload.as_ref())?;
        if let Some((made, all)) = disk.made {
            description += &format!("; {made} of {all} paths have no file, and a stand-in answers for them");
        }
        let mut files = files::prepare(run, &scratch, (workload.as_ref(), &disk), progress)?;
        let (planted, altered) = match &plan.violations {
            Some(violations) => Planted::new(violations, workload.as_ref(), plan.seed)?,
            None => (None, Vec::new()),
        };
        let (noted, unsigned) = match plan.violations.as_ref().map(|violations| &violations.what) {
            Some(Violations::Digests(count)) => {
                let (noted, files) = Noted::new(*count, workload.as_ref(), plan.seed)?;
                (Some(noted), files)
            }
            _ => (None, Vec::new()),
        };
        trees::write(plan, &scratch, disk.site.as_ref(), &mut files, (&altered, &unsigned), progress)?;
        let _ = bakeoff_subject::supervisor::adopt_orphans();
        let refused = violations::statuses(plan.violations.as_ref());
        let of_populations = populations::own_workloads(&work.populations, plan.seed)?;
        let workloads = own_workloads(plan, work, (workload, planted), of_populations)?;
        let wire = Wire::make(plan, progress)?;
        let own_scratch = scratch.path().to_owned();
        let authority = files.certificate.as_ref().map(|certificate| certificate.ca.clone());
        if let Some(remote) = remote {
            progress.stage("handing the plan to the generators");
            remote.prepare(plan, (work, expect), authority.as_deref(), run.interrupted)?;
        }
        let (placement, starts) = (placement.clone(), Cell::new(0));
        let used = placement.generator.iter().chain(&placement.subject).copied().collect();
        let reader = Reader::new(used, placement.subject.len());
        let starter = Starter { run, work, placement, wire, files, scratch: own_scratch, starts };
        let elsewhere = remote.map(|remote| remote as &dyn LanesElsewhere);
        let mut bench = Self {
            remote,
            starter,
            jobs: Jobs { work, seed: plan.seed, refused, interrupted: run.interrupted, elsewhere },
            workloads,
            noted,
            description,
            arms: Vec::new(),
            reader,
            slices: Vec::new(),
            round: PILOT_ROUND,
            executables: Executables::default(),
            _scratch: scratch,
        };
        for name in plan.names() {
            if bench.starter.has_layers(&name) {
                progress.stage(&format!("building the layers of {name}"));
            }
            bench.starter.build(&name)?;
        }
        bench.forget_pages()?;
        for name in plan.names() {
            progress.stage(&format!("starting {name}"));
            let place = bench.starter.start(&name, 0)?;
            place.demand_layer()?;
            bench.arms.push(place);
        }
        bench.fill()?;
        Ok(bench)
    }

    /// Stops all servers and keeps their output, which errors then name.
    pub(crate) fn stop<T>(mut self, result: Result<T, RunError>) -> Result<T, RunError> {
        self.remote.into_iter().for_each(Remote::stop);
        for place in std::mem::take(&mut self.arms) {
            self.starter.stop(place);
        }
        result.map_err(|error| self.starter.with_logs(error))
    }

    /// The slices of a round, one for each share. `requests` turns the plan's number for single arms into the number to
    /// use.
    fn slices_of(
        &mut self,
        round: u64,
        requests: impl Fn(Option<usize>) -> usize,
    ) -> Result<Vec<Dealt>, RunError> {
        let shares: Vec<Share> = self.workloads.shares.clone();
        let dealt = |(index, share): (usize, Share)| {
            let first = self.workloads.of.iter().position(|of| *of == index).unwrap_or(0);
            let (arm, requests) = (self.workloads.names[first].clone(), requests(share.own));
            Dealt::begin(&mut self.workloads, arm, Begin::Round { round, requests })
        };
        shares.into_iter().enumerate().map(dealt).collect()
    }

    /// The slice of an arm; the pilot's smallest before the first round.
    fn slice(&mut self, arm: usize) -> Result<Dealt, RunError> {
        if self.slices.is_empty() {
            self.slices = self.slices_of(PILOT_ROUND, |_| 1)?;
        }
        Ok(self.slices[self.workloads.of[arm]].clone())
    }

    /// The requests of the arm in this block of the round, at a rate.
    fn voice(&mut self, arm: usize, block: u32) -> Result<jobs::Voice, RunError> {
        let order = jobs::order_seed(self.jobs.seed, self.round_of(block), arm);
        Ok(jobs::Voice { slice: self.slice(arm)?.then(Step::OwnOrder(order)), order })
    }

    /// Number of a block's slice among all of the run.
    const fn round_of(&self, block: u32) -> u64 {
        self.round ^ (block as u64) << 48
    }

    /// Renews the parts of the arm's state that are fresh in each slice.
    fn freshen(&mut self, arm: usize) -> Result<(), RunError> {
        match self.arms[arm].fresh {
            Fresh::Nothing => Ok(()),
            Fresh::Connection => {
                self.arms[arm].station.disconnect();
                self.arms[arm].renew = true;
                Ok(())
            }
            Fresh::Start => self.start_anew(arm, 0),
            Fresh::PageCache => drop_caches(Caches::Everything).map_err(RunError::Cold),
        }
    }

    /// Drops cached pages: an arm with limited memory must not find pages that were read before it started.
    fn forget_pages(&self) -> Result<(), RunError> {
        let limited = self.starter.run.plan.arms.iter().any(trees::is_limited);
        if limited { drop_caches(Caches::Everything).map_err(RunError::Cold) } else { Ok(()) }
    }

    /// Number of settling requests: a layer begins with empty caches, so each file of a small site is asked for about
    /// once.
    fn settling(&self) -> usize {
        let layered = self.starter.run.plan.arms.iter().any(|arm| !arm.layers.is_empty());
        let files = self.workloads.all[0].site().map_or(0, |site| site.disk_need().files);
        if layered { SETTLING.max(files.min(SETTLING_LAYERS) as usize) } else { SETTLING }
    }

    /// Requests everything once through each front with a store, so that the store is full from then on.
    fn fill(&mut self) -> Result<(), RunError> {
        for arm in 0..self.arms.len() {
            let place = &mut self.arms[arm];
            if place.has_store && place.fresh != Fresh::Start {
                let begin = Begin::Pass { round: PILOT_ROUND, robots: self.jobs.settlers() };
                let pass = Dealt::begin(&mut self.workloads, place.name.clone(), begin)?;
                self.jobs.fill(place, &pass)?;
            }
        }
        Ok(())
    }

    fn settle(&mut self, slices: &[Dealt]) -> Result<(), RunError> {
        for (place, of) in self.arms.iter_mut().zip(&self.workloads.of) {
            self.jobs.settle(place, &slices[*of])?;
        }
        Ok(())
    }

    fn start_anew(&mut self, arm: usize, padding: usize) -> Result<(), RunError> {
        let old = self.arms.remove(arm);
        let name = old.name.clone();
        self.starter.stop(old);
        let place = self.starter.start(&name, padding)?;
        self.arms.insert(arm, place);
        Ok(())
    }

    fn read(&self, arm: usize) -> Snapshot {
        let others: Vec<&Chain> = self
            .arms
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != arm)
            .map(|(_, place)| &place.running)
            .collect();
        self.reader.read(&self.arms[arm].running, &others)
    }

    /// These arms at a quiet point, read in this order of them.
    fn read_all(&self, arms: &[usize], order: &[usize]) -> Vec<Snapshot> {
        let mut read: Vec<Option<Snapshot>> = arms.iter().map(|_| None).collect();
        for &place in order {
            read[place] = Some(self.reader.read(&self.arms[arms[place]].running, &[]));
        }
        read.into_iter().flatten().collect()
    }

    /// Jobs with the arm's load.
    fn jobs_of(&self, arm: usize) -> Jobs<'a> {
        let plan = self.starter.run.plan;
        let arm = self.arms.get(arm).and_then(|place| plan.arm_of(&place.name));
        let work = arm.map_or(self.jobs.work, |arm| arm.work(self.jobs.work));
        Jobs { work, ..self.jobs }
    }

    /// The loads of the arms.
    fn works(&self) -> Vec<&'a RequestWork> {
        (0..self.arms.len()).map(|arm| self.jobs_of(arm).work).collect()
    }

    fn plan_arm(&self, arm: usize) -> Option<&Arm> {
        self.starter.run.plan.arm_of(&self.arms.get(arm)?.name)
    }
}

impl Bench for ServerBench<'_> {
    fn begin_round(&mut self, round: u32, load: Option<u32>, requests: usize) -> Result<(), RunError> {
        self.round = u64::from(round) | load.map_or(0, |load| u64::from(load) + 1) << 32;
        self.slices = self.slices_of(self.round, |own| own.unwrap_or(requests))?;
        Ok(())
    }

    /// Robots that ask as fast as they are answered leave no traces for the next part to find. Quotas have periods,
    /// passes an end, and a layer's own counter takes a second to stand still.
    fn parts(&self) -> Parts {
        let plain =
            matches!(self.jobs.work.clock, LoadClock::Closed { think: Nanos::ZERO, passes: None, .. })
                && self.jobs.work.timed.is_none();
        let plan = self.starter.run.plan;
        let bare = |arm: &Arm| arm.limits.is_none() && arm.fresh == Fresh::Nothing;
        let any = plain && self.noted.is_none() && plan.link.is_none() && plan.arms.iter().all(bare);
        if any { Parts::Any } else { Parts::Whole }
    }

    fn measure(&mut self, arm: usize, pace: Pace, part: Part, limit: Nanos) -> Result<Measured, RunError> {
        if let Some(timed) = self.jobs.work.timed {
            return self.measure_for(arm, timed, limit);
        }
        let voice = match pace {
            Pace::Planned => None,
            Pace::At(rate) => Some((self.voice(arm, 0)?.part(part), rate)),
        };
        let slice = match &voice {
            Some((voice, _)) => voice.slice.clone(),
            None => self.slice(arm)?.then(part.step()),
        };
        self.arms[arm].running.alive()?;
        self.freshen(arm)?;
        if self.arms[arm].fresh == Fresh::Nothing {
            self.jobs.warm(&mut self.arms[arm], &slice, limit)?;
        }
        let noted_before = self.noted.as_ref().and_then(|noted| noted.settled(&self.arms[arm].running));
        let link_before = self.starter.wire.quiet()?;
        let programs = self.arms[arm].running.program_time();
        let before = self.read(arm);
        let place = &mut self.arms[arm];
        let Heard { recording, parts, .. } = match &voice {
            Some((voice, rate)) => self.jobs.at_rate(place, voice, *rate, limit)?,
            None => self.jobs.run(place, &slice, BodyCheck::Start, limit)?,
        };
        let link_after = self.starter.wire.quiet()?;
        let after = self.read(arm);
        self.arms[arm].running.alive()?;
        let mut counters = recording.counters;
        self.reader.fill(&mut counters, &before, &after);
        fill_programs(&mut counters, programs, &self.arms[arm].running);
        counters.link = self.starter.wire.between(link_before, link_after, counters.wall_ns);
        if let Some(noted) = &self.noted {
            counters.violations = Some(noted.count(&self.arms[arm].running, noted_before, &slice.slice));
        }
        let complete = counters.requests == slice.slice.len() as u64;
        let order_seed = voice.map(|(voice, _)| voice.order);
        Ok(Measured { order_seed, parts, ..Measured::alone(counters, recording.times, complete) })
    }

    fn measure_in_slots(
        &mut self,
        block: &Block,
        rate: PerSecond,
        slots: SlotsSetup,
        limit: Nanos,
    ) -> Result<Vec<Measured>, RunError> {
        let arms = &block.arms;
        let voices: Vec<jobs::Voice> =
            arms.iter().map(|arm| self.voice(*arm, block.index)).collect::<Result<_, _>>()?;
        // No arm is always the first to be warmed, read, begun or ended.
        let mut turns = SplitMix64::for_purpose(self.jobs.seed ^ TURNS, self.round_of(block.index));
        for place in in_turn(&mut turns, arms.len()) {
            let arm = &mut self.arms[arms[place]];
            arm.running.alive()?;
            self.jobs.warm(arm, &voices[place].slice, limit)?;
        }
        let settled =
            |arm: &usize| self.noted.as_ref().and_then(|noted| noted.settled(&self.arms[*arm].running));
        let noted_before: Vec<Option<u64>> = arms.iter().map(settled).collect();
        let programs: Vec<_> = arms.iter().map(|arm| self.arms[*arm].running.program_time()).collect();
        let before = self.read_all(arms, &in_turn(&mut turns, arms.len()));
        let begin = in_turn(&mut turns, arms.len());
        let all = self.arms.iter_mut().enumerate();
        let places = all.filter(|(arm, _)| arms.contains(arm)).map(|(_, place)| place).collect();
        let all = self.jobs.in_slots(places, &voices, &begin, (rate, slots), limit)?;
        let after = self.read_all(arms, &in_turn(&mut turns, arms.len()));
        let mut measured = Vec::new();
        for (place, (heard, voice)) in all.into_iter().zip(&voices).enumerate() {
            let Heard { recording, parts, .. } = heard;
            let running = &self.arms[arms[place]].running;
            let mut counters = recording.counters;
            self.reader.fill(&mut counters, &before[place], &after[place]);
            fill_programs(&mut counters, programs[place], running);
            if let Some(noted) = &self.noted {
                counters.violations = Some(noted.count(running, noted_before[place], &voice.slice.slice));
            }
            let complete = counters.requests == voice.slice.slice.len() as u64;
            let order_seed = Some(voice.order);
            measured.push(Measured {
                order_seed,
                parts,
                ..Measured::alone(counters, recording.times, complete)
            });
        }
        Ok(measured)
    }

    fn capacity(&mut self, requests: usize, limit: Nanos) -> Result<PerSecond, RunError> {
        let slices = self.slices_of(PILOT_ROUND, |own| own.unwrap_or(requests))?;
        let mut slowest: Option<PerSecond> = None;
        for arm in 0..self.arms.len() {
            let slice = &slices[self.workloads.of[arm]];
            let heard = self.jobs.at_full_speed(&mut self.arms[arm], slice, limit)?;
            let counters = heard.recording.counters;
            let answered = counters.replies as f64 / Nanos::new(counters.wall_ns).as_secs_f64();
            let rate = PerSecond::new(answered).ok_or_else(|| self.silent(arm, &counters))?;
            slowest = Some(slowest.map_or(rate, |least| if rate < least { rate } else { least }));
        }
        slowest.ok_or(RunError::NoDuet)
    }

    fn restart(&mut self, start: u32) -> Result<(), RunError> {
        let mut random = SplitMix64::for_purpose(self.jobs.seed ^ STARTS, u64::from(start));
        let mut order: Vec<usize> = (0..self.arms.len()).collect();
        random.shuffle(&mut order);
        let names: Vec<String> = self.arms.iter().map(|place| place.name.clone()).collect();
        let mut running: Vec<Option<ServerArm>> =
            std::mem::take(&mut self.arms).into_iter().map(Some).collect();
        for arm in in_turn(&mut random, running.len()) {
            running[arm].take().into_iter().for_each(|place| self.starter.stop(place));
        }
        self.forget_pages()?;
        let mut started: Vec<Option<ServerArm>> = names.iter().map(|_| None).collect();
        for arm in order {
            let padding = (random.unit() * PADDING as f64) as usize;
            started[arm] = Some(self.starter.start(&names[arm], padding)?);
        }
        self.arms = started.into_iter().flatten().collect();
        self.fill()?;
        let settling = self.settling();
        let slices = self.slices_of(PILOT_ROUND, |_| settling)?;
        self.settle(&slices)
    }

    fn start_time(&self) -> Option<Nanos> {
        let starts_all = self.arms.iter().all(|place| place.running.supervisor_process().is_some());
        arm::slowest_start(&self.arms).filter(|_| starts_all)
    }

    fn proof(&self, arm: usize) -> Option<ProofRecord> {
        self.arms[arm].proof.clone()
    }

    fn warm_up(&mut self, requests: usize) -> Result<(), RunError> {
        let most = self.settling();
        let slices = self.slices_of(PILOT_ROUND, |own| own.unwrap_or(requests).min(most))?;
        self.settle(&slices)
    }

    fn try_out(&mut self, requests: usize, limit: Nanos) -> Result<Vec<Tried>, RunError> {
        let slices = self.slices_of(PILOT_ROUND, |own| own.unwrap_or(requests).min(requests))?;
        (0..self.arms.len())
            .map(|arm| {
                let slice = &slices[self.workloads.of[arm]];
                let before = self.read(arm);
                let heard = self.jobs.run(&mut self.arms[arm], slice, BodyCheck::Full, limit)?;
                let after = self.read(arm);
                let mut counters = heard.recording.counters;
                self.reader.fill(&mut counters, &before, &after);
                let of = self.workloads.share(arm).own.map_or(slice.slice.len(), |_| requests);
                Ok(Tried::of(&counters, of))
            })
            .collect()
    }

    fn sized(&self) -> Sizing {
        if let Some(SliceLengths { slice, warm }) = self.jobs.work.timed {
            return Sizing::Timed(slice + warm);
        }
        match self.jobs.work.clock {
            LoadClock::Closed { passes: Some(_), .. } => Sizing::Fixed(
                usize::try_from(self.workloads.all[0].total().unwrap_or(1)).unwrap_or(usize::MAX),
            ),
            _ => self.jobs.work.slice_requests.map_or(Sizing::Free, |n| Sizing::Fixed(n as usize)),
        }
    }

    fn own_slices(&self) -> Vec<Option<usize>> {
        (0..self.arms.len()).map(|arm| self.workloads.share(arm).own).collect()
    }

    fn has_cpu(&self) -> bool {
        self.arms.iter().all(|place| place.running.cpu().is_ok())
    }

    fn max_lateness(&self) -> Option<Nanos> {
        // Each population has its own bound.
        let alike = self.jobs.work.populations.is_empty();
        let all = self.works().into_iter().filter_map(|work| work.clock.max_lateness());
        if alike { all.min() } else { None }
    }

    fn workload(&self) -> WorkloadSetup {
        let (work, works) = (self.jobs.work, self.works());
        let alike = work.populations.is_empty() && works.iter().all(|own| own.clock == work.clock);
        let population = |(index, of)| populations::setup(index, of, &works);
        WorkloadSetup {
            kind: work.kind().to_owned(),
            description: self.description.clone(),
            total_requests: self.workloads.all[0].total(),
            skipped: self.workloads.all[0].skipped(),
            log_lines: self.workloads.all[0].log_lines(),
            robots: work.clock.robots().filter(|_| alike).map(|robots| robots as u64),
            populations: work.populations.iter().enumerate().map(population).collect(),
            log_sha256: log_hash(work),
            ..WorkloadSetup::default()
        }
    }

    fn places(&self) -> Vec<PlaceSetup> {
        self.remote.map(Remote::setup).unwrap_or_default()
    }

    fn link(&self) -> Option<LinkSetup> {
        self.starter.wire.setup()
    }

    fn subject(&self, arm: usize) -> SubjectSetup {
        let levels = self.plan_arm(arm).map_or_else(Vec::new, |arm| arm.levels.clone());
        let load = self.plan_arm(arm).and_then(|arm| Some(arm.load.as_ref()?.in_words()));
        SubjectSetup { load, ..self.arms[arm].setup(levels, &self.executables) }
    }
}

/// So many arms in random order.
fn in_turn(random: &mut SplitMix64, arms: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms).collect();
    random.shuffle(&mut order);
    order
}

/// Hash of a log in a file; a pipe has been read and is gone.
fn log_hash(work: &RequestWork) -> Option<String> {
    match &work.source {
        RequestSource::Replay { log: LogSource::File(path), .. } if path.is_file() => {
            environment::sha256_of(path).ok()
        }
        _ => None,
    }
}
