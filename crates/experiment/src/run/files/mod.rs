//! Bench of the `files` workload: directories as arms, operations on their files, one kind after the other, one arm at
//! a time.
//!
//! Measuring side. The operations are made by a thread of bakeoff itself (`block`) on the subjects' cores. Its CPU and
//! that of the processes behind the file system (`Layer`) are the subject's; the serving daemon at the other end of a
//! link has an account of its own. CPU that the kernel uses on its own account, such as for writing pages back, is
//! charged to no arm.

mod arm;
mod block;
mod denied;
mod ends;
mod failure;
mod hand;
mod hooks;
mod kind;
mod slice;
mod steps;
mod store;
mod totals;
mod tree;
mod watch;

use super::bench::{Bench, Measured, Pace, Part, Sizing, Tried};
use super::budget::{RESERVE, SLICE};
use super::link::Wire;
use super::scratch::{Scratch, on_disk};
use super::size::{self, Timed};
use super::{RoundReport, Run, RunError, RunProgress};
use crate::environment::Placement;
use arm::FilesArm;
use bakeoff_link::LinkReading;
use bakeoff_meter::host::HostMeter;
use bakeoff_plan::{Arm, ArmKind, FilesWork, Plan};
use bakeoff_results::directory::LOGS;
use bakeoff_results::{LinkSetup, OperationSetup, ProofRecord, SubjectSetup, Warning, WorkloadSetup};
use bakeoff_subject::Certificate;
use bakeoff_units::{Bytes, Clock, MonotonicClock, Nanos};
use block::Report;
use ends::Ends;
use hand::Check;
use kind::{files_of, kinds};
use slice::{FilesRunner, Turn};
use std::collections::BTreeMap;

/// Number of the pilot's round, which no real round has.
const PILOT_ROUND: u64 = u64::MAX >> 16;
/// Time in which the pilot tries a kind of operation.
const TRIAL: Nanos = Nanos::from_millis(30);

/// All arms' directories.
pub(crate) struct FilesBench<'a> {
    runner: FilesRunner<'a>,
    arms: Vec<FilesArm>,
    /// Operations of each kind in a slice.
    counts: Vec<u64>,
    reason: String,
    round: u64,
    // Last: mounts are taken off before their directories go.
    scratch: Scratch,
}

/// Progress that reports nothing: in the middle of a run there is no report of mounts that were left.
struct Silent;

impl RunProgress for Silent {
    fn stage(&mut self, _what: &str) {}

    fn round(&mut self, _report: &RoundReport<'_>) {}
}

impl<'a> FilesBench<'a> {
    pub(crate) fn start(
        run: &'a Run<'_>,
        work: &'a FilesWork,
        placement: &Placement,
        progress: &mut dyn RunProgress,
    ) -> Result<Self, RunError> {
        let scratch = Scratch::create(&mut |words| progress.stage(words))?;
        let wire = Wire::make(run.plan, progress)?;
        let certificate = speaks_tls(run.plan).then(|| Certificate::create(scratch.path())).transpose()?;
        let runner = FilesRunner {
            ends: Ends::of(&wire, placement.generator.clone(), certificate),
            wire,
            work,
            kinds: kinds(work),
            denied: denied::of(run.plan),
            cpus: placement.subject.clone(),
            cwd: run.plan.base_dir.clone(),
            clock: MonotonicClock::new(),
            host: HostMeter::new(),
            interrupted: run.interrupted,
        };
        runner.drop_caches()?; // says no at once to who may not
        let mut bench = Self {
            runner,
            arms: Vec::new(),
            counts: Vec::new(),
            reason: String::new(),
            round: PILOT_ROUND,
            scratch,
        };
        let _ = bakeoff_subject::supervisor::adopt_orphans();
        match bench.set_up(run, progress) {
            Ok(()) => Ok(bench),
            Err(why) => {
                let _ = bench.stop(progress); // what went wrong first is told
                Err(why)
            }
        }
    }

    fn set_up(&mut self, run: &Run<'_>, progress: &mut dyn RunProgress) -> Result<(), RunError> {
        for name in run.plan.names() {
            let Some(arm) = run.plan.arm_of(&name) else { continue };
            let ArmKind::Files(files) = &arm.what else { continue };
            if run.left() == Nanos::ZERO {
                return Err(RunError::NoTime { budget: run.plan.budget, stage: "setting up the arms" });
            }
            progress.stage(&format!("setting up {name}"));
            let dir = self.scratch.subdirectory(&on_disk(&name))?;
            let logs = run.dir.path().join(LOGS).join(on_disk(&name));
            std::fs::create_dir_all(&logs).map_err(|why| RunError::Scratch {
                path: logs.display().to_string(),
                why: why.to_string(),
            })?;
            let (work, seed) = (self.runner.work, run.plan.seed);
            let place = FilesArm::new(&name, (arm, files), (dir, logs), &self.runner.ends, (work, seed))?;
            // In the list before anything is set up, so that it is taken down whatever happens.
            self.arms.push(place);
            if let Some(place) = self.arms.last_mut() {
                place.set_up(&self.runner.surroundings(), progress)?;
                place.demand_layer()?;
            }
        }
        self.demand_room()?;
        self.fill(progress)
    }

    /// Refuses, before the first byte, arms that together need more room than there is.
    fn demand_room(&self) -> Result<(), RunError> {
        let mut needs: BTreeMap<u64, u64> = BTreeMap::new();
        for place in &self.arms {
            let Some((device, free)) = place.room() else { continue };
            let need = needs.entry(device).or_default();
            *need += place.store.room(&self.runner.kinds, |kind| self.runner.most(kind)).get();
            if *need > free {
                return Err(place.no_room(Bytes::new(*need), Bytes::new(free)));
            }
        }
        Ok(())
    }

    fn fill(&mut self, progress: &mut dyn RunProgress) -> Result<(), RunError> {
        for place in &mut self.arms {
            progress.stage(&format!("writing the files of {}", place.name));
            place.fill(&self.runner.surroundings(), self.runner.denied)?;
        }
        Ok(())
    }

    /// Removes the files and takes all file systems down.
    pub(crate) fn stop(mut self, progress: &mut dyn RunProgress) -> Result<(), RunError> {
        let around = self.runner.surroundings();
        // All of them, even after errors; the first error is returned.
        let done: Vec<_> = self.arms.iter_mut().map(|place| place.take_down(&around, progress)).collect();
        done.into_iter().collect()
    }

    /// Times one kind of one arm: once with every byte compared, then as often as a trial takes.
    fn time(&mut self, arm: usize, number: usize, left: Nanos) -> Result<f64, RunError> {
        let most = self.runner.most(&self.runner.kinds[number]);
        let until = self.runner.clock.now() + left;
        let turn = Turn { number, round: PILOT_ROUND, count: 1, check: Check::Full, until };
        let first = self.runner.block(&mut self.arms, arm, turn)?.0;
        self.demand_good(arm, number, &first)?;
        let count = (TRIAL.get() / first.elapsed.get().max(1)).clamp(1, most);
        if count == 1 {
            return Ok(first.elapsed.get().max(1) as f64);
        }
        let turn = Turn { count, check: Check::Start, ..turn };
        let trial = self.runner.block(&mut self.arms, arm, turn)?.0;
        self.demand_good(arm, number, &trial)?;
        Ok(trial.elapsed.get().max(1) as f64 / trial.tried.max(1) as f64)
    }

    /// Refuses failures in the pilot.
    fn demand_good(&self, arm: usize, number: usize, report: &Report) -> Result<(), RunError> {
        if self.runner.is_interrupted() {
            return Err(RunError::Interrupted);
        }
        match &report.first {
            Some(why) => Err(self.arms[arm].failed(&self.runner.kinds[number].label(), why.clone())),
            None => Ok(()),
        }
    }

    fn try_arm(&mut self, arm: usize, limit: Nanos) -> Result<Tried, RunError> {
        let began = self.runner.clock.now();
        let turn = Turn { number: 0, round: PILOT_ROUND, count: 0, check: Check::Full, until: began + limit };
        let (tally, _) = self.runner.slice(&mut self.arms, arm, &self.counts, turn)?;
        let (counters, _) = tally.finish(self.runner.cpus.len());
        let made = counters.requests as usize;
        if self.runner.is_interrupted() {
            return Err(RunError::Interrupted);
        }
        match counters.errors.iter().next() {
            Some((class, count)) => {
                Err(self.arms[arm].failed("a slice of the pilot", format!("{count} operations by {class}")))
            }
            // The time around the operations is part of the round's time as well.
            None => Ok(Tried { wall: self.runner.clock.now().since(began), ..Tried::of(&counters, made) }),
        }
    }

    fn description(&self) -> String {
        let work = self.runner.work;
        let names: Vec<&str> = work.operations.iter().map(|operation| operation.as_str()).collect();
        let sizes = work.sizes.iter().map(|size| format!("{} files of {size}", files_of(work, *size)));
        let tree = work.tree.iter().map(|tree| {
            format!(
                "a tree of {} files in {} directories, {} on average",
                tree.files, tree.directories, tree.mean
            )
        });
        let on: Vec<String> = sizes.chain(tree).collect();
        let writes = work.operations.iter().any(|operation| operation.writes());
        let fsync = if writes { format!(", fsync {}", work.fsync.as_str()) } else { String::new() };
        format!("{} on {}; {}{fsync}", names.join(", "), on.join(" and "), work.cache.as_str())
    }
}

impl Bench for FilesBench<'_> {
    fn begin_round(&mut self, round: u32, _load: Option<u32>, _requests: usize) -> Result<(), RunError> {
        self.round = u64::from(round);
        Ok(())
    }

    fn measure(&mut self, arm: usize, _pace: Pace, _part: Part, limit: Nanos) -> Result<Measured, RunError> {
        let until = self.runner.clock.now() + limit;
        let turn = Turn { number: 0, round: self.round, count: 0, check: Check::Start, until };
        let (mut tally, complete) = self.runner.slice(&mut self.arms, arm, &self.counts, turn)?;
        let link = tally.take_link();
        let (mut counters, times) = tally.finish(self.runner.cpus.len());
        counters.link =
            self.runner.wire.between(link.is_some().then(LinkReading::default), link, counters.wall_ns);
        let processes = self.arms[arm].processes();
        let usage = bakeoff_meter::process::Usage::of(&processes);
        counters.usage.rss_bytes = usage.rss().ok().map(Bytes::get);
        counters.usage.processes = Some(processes.len() as u64);
        Ok(Measured::alone(counters, times, complete))
    }

    fn warm_up(&mut self, _requests: usize) -> Result<(), RunError> {
        self.try_out(0, Nanos::from_secs(60)).map(drop)
    }

    fn try_out(&mut self, _requests: usize, limit: Nanos) -> Result<Vec<Tried>, RunError> {
        (0..self.arms.len()).map(|arm| self.try_arm(arm, limit)).collect()
    }

    fn restart(&mut self, _start: u32) -> Result<(), RunError> {
        let around = self.runner.surroundings();
        self.arms.iter_mut().try_for_each(|place| place.renew(&around, self.runner.denied, &mut Silent))
    }

    fn proof(&self, arm: usize) -> Option<ProofRecord> {
        self.arms[arm].proof.clone()
    }

    fn calibrate(&mut self, left: Nanos) -> Result<Vec<Warning>, RunError> {
        if let Some(count) = self.runner.work.slice_operations {
            self.counts = self.runner.kinds.iter().map(|kind| count.min(self.runner.most(kind))).collect();
            self.reason = "as the plan says".to_owned();
            return Ok(Vec::new());
        }
        let began = self.runner.clock.now();
        let mut kinds = Vec::new();
        let mut spent = 0.0;
        for number in 0..self.runner.kinds.len() {
            let per_operation = (0..self.arms.len())
                .map(|arm| self.time(arm, number, left))
                .collect::<Result<Vec<f64>, RunError>>()?;
            spent += per_operation.iter().sum::<f64>();
            kinds.push(Timed { per_operation, most: self.runner.most(&self.runner.kinds[number]) });
        }
        // Two blocks were run of each kind and arm: half of their time beside the operations.
        let trials = TRIAL.times((kinds.len() * self.arms.len()) as f64) + Nanos::new(spent as u64);
        let passed = self.runner.clock.now().since(began);
        let around = passed.since(trials).times(0.5);
        let each = SLICE.times(RESERVE / kinds.len().max(1) as f64);
        let sizes = size::sizes(&kinds, each, around, left.since(passed));
        (self.counts, self.reason) = (sizes.counts, sizes.reason);
        Ok(sizes.warning.into_iter().collect())
    }

    fn take_up(&mut self, workload: &WorkloadSetup) {
        let of = |label: &str| workload.operations.iter().find(|found| found.operation == label);
        let kinds = self.runner.kinds.iter();
        self.counts = kinds.map(|kind| of(&kind.label()).map_or(1, |found| found.count)).collect();
        self.reason.clone_from(&workload.slice_reason);
    }

    fn sized(&self) -> Sizing {
        Sizing::Fixed(self.counts.iter().sum::<u64>() as usize)
    }

    fn has_cpu(&self) -> bool {
        self.arms.iter().all(|place| place.cpu().iter().all(Option::is_some))
    }

    fn max_lateness(&self) -> Option<Nanos> {
        None
    }

    fn workload(&self) -> WorkloadSetup {
        let kinds = self.runner.kinds.iter().zip(&self.counts);
        WorkloadSetup {
            kind: "files".to_owned(),
            description: self.description(),
            slice_reason: self.reason.clone(),
            operations: kinds
                .map(|(kind, count)| OperationSetup {
                    operation: kind.label(),
                    count: *count,
                    ..OperationSetup::default()
                })
                .collect(),
            ..WorkloadSetup::default()
        }
    }

    fn link(&self) -> Option<LinkSetup> {
        self.runner.wire.setup()
    }

    fn subject(&self, arm: usize) -> SubjectSetup {
        self.arms[arm].subject()
    }
}

/// Whether some arm uses `{cert}` or `{key}`.
fn speaks_tls(plan: &Plan) -> bool {
    let says = |arm: &Arm| match &arm.what {
        ArmKind::Files(files) => files
            .words()
            .chain(arm.proof.iter().flatten())
            .any(|word| word.contains("{cert}") || word.contains("{key}")),
        _ => false,
    };
    plan.arms.iter().any(says)
}
