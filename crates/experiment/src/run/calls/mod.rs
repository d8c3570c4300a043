//! Bench of the `calls` workload: processes as arms that make system calls and short programs, a batch at a time.
//!
//! Measuring side, the main thread of bakeoff. Owns the order of batches: an operation is a part of the slice, so that
//! the arms take turns at every one. An operation that one arm cannot make is reported, and is in the total of none.

mod caller;

use super::bench::{Bench, Measured, Pace, Part, Parts, Sizing, Tried};
use super::scratch::{Scratch, on_disk};
use super::size::{self, Timed};
use super::snapshot::fill_host;
use super::{Run, RunError, RunProgress};
use crate::environment::Placement;
use bakeoff_calls::{BatchCost, CallOperation};
use bakeoff_meter::host::HostMeter;
use bakeoff_meter::{Histogram, OperationCounts, SliceCounters, Times};
use bakeoff_plan::{ArmKind, CallsWork};
use bakeoff_results::directory::LOGS;
use bakeoff_results::{OperationSetup, ProofRecord, SubjectSetup, Warning, WorkloadSetup};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use caller::{Caller, Common, Refused};
use std::collections::BTreeMap;

/// Length of the pilot's batches.
const TRIAL: Nanos = Nanos::from_millis(2);
/// Share of a batch that is made after a start and does not count.
const WARM: u64 = 8;

/// All arms' processes.
pub(crate) struct CallsBench<'a> {
    common: Common<'a>,
    arms: Vec<Caller>,
    kinds: Vec<Kind>,
    reason: String,
    /// Start time of the slowest arm.
    start_time: Nanos,
    clock: MonotonicClock,
    host: HostMeter,
    // Last: processes end before their directories go.
    _scratch: Scratch,
}

/// An operation.
struct Kind {
    operation: CallOperation,
    /// Number in a batch.
    count: u64,
    /// The system's error, by the name of an arm that cannot make it.
    refused: BTreeMap<String, String>,
}

impl<'a> CallsBench<'a> {
    pub(crate) fn start(
        run: &'a Run<'_>,
        work: &'a CallsWork,
        placement: &Placement,
        progress: &mut dyn RunProgress,
    ) -> Result<Self, RunError> {
        let scratch = Scratch::create(&mut |words| progress.stage(words))?;
        let _ = bakeoff_subject::supervisor::adopt_orphans();
        let mut arms = Vec::new();
        for name in run.plan.names() {
            let Some(arm) = run.plan.arm_of(&name) else { continue };
            let ArmKind::Calls(calls) = &arm.what else { continue };
            let dir = scratch.of_arm(&name, arm, run.plan)?;
            let logs = run.dir.path().join(LOGS).join(on_disk(&name));
            arms.push(Caller::new(&name, (calls, &arm.wraps), (dir, logs))?);
        }
        let kind =
            |operation: &CallOperation| Kind { operation: *operation, count: 1, refused: BTreeMap::new() };
        let common = Common {
            work,
            cpus: placement.subject.clone(),
            cwd: run.plan.base_dir.clone(),
            interrupted: run.interrupted,
        };
        progress.stage("starting the processes");
        let mut bench = Self {
            common,
            arms,
            kinds: work.operations.iter().map(kind).collect(),
            reason: String::new(),
            start_time: Nanos::ZERO,
            clock: MonotonicClock::new(),
            host: HostMeter::new(),
            _scratch: scratch,
        };
        bench.start_all()?;
        Ok(bench)
    }

    fn start_all(&mut self) -> Result<(), RunError> {
        for arm in &mut self.arms {
            self.start_time = self.start_time.max(arm.start(&self.common)?);
        }
        Ok(())
    }

    /// Nanoseconds of one operation of an arm; `None`: it cannot make it.
    fn time(&mut self, arm: usize, operation: CallOperation) -> Result<Result<f64, Refused>, RunError> {
        let caller = &mut self.arms[arm];
        // The first one fills caches.
        let mut per_operation = 0.0;
        let mut count = 1;
        for _ in 0..3 {
            match caller.batch(&self.common, operation, count)? {
                Err(refused) => return Ok(Err(refused)),
                Ok(batch) => per_operation = batch.ticks.max(1) as f64 / count as f64,
            }
            if per_operation * count as f64 >= TRIAL.get() as f64 {
                break;
            }
            count = ((TRIAL.get() as f64 / per_operation) as u64).clamp(1, most(operation));
        }
        Ok(Ok(per_operation))
    }

    /// One batch of an arm, as a slice that has nothing else.
    fn part(&mut self, arm: usize, number: usize) -> Result<SliceCounters, RunError> {
        let kind = &self.kinds[number];
        let caller = &mut self.arms[arm];
        // A figure unknown for a part is unknown for the slice: it is not zero.
        let mut counters = SliceCounters { subject_cpu_ns: Some(0), ..SliceCounters::default() };
        if kind.refused.contains_key(&caller.name) {
            return Ok(counters);
        }
        let before = self.host.read();
        let made = caller.batch(&self.common, kind.operation, kind.count)?;
        let counts = counted(kind.count, made);
        let alone = counts.alone(kind.operation.word());
        if kind.refused.is_empty() {
            counters = alone;
        } else {
            counters.operations = alone.operations;
        }
        fill_host(&mut counters, &self.host.read().since(&before));
        Ok(counters)
    }

    /// A batch of every operation that does not count.
    fn warm(&mut self) -> Result<(), RunError> {
        for caller in &mut self.arms {
            for kind in &self.kinds {
                // Expensive operations are tried at set-up, which is before their first batch.
                if kind.refused.contains_key(&caller.name) || kind.count < WARM {
                    continue;
                }
                // A refusal is seen when it counts.
                let _ = caller.batch(&self.common, kind.operation, kind.count / WARM)?;
            }
        }
        Ok(())
    }

    /// Warnings of operations that an arm cannot make.
    fn warnings(&self, why: &BTreeMap<String, Vec<String>>) -> Vec<Warning> {
        let warning = |(arm, refused): (&String, &Vec<String>)| Warning {
            label: "refused-operations".to_owned(),
            sentence: format!(
                "{arm} cannot make {}: nothing is told of that, and it is in the total of no arm",
                refused.join(", ")
            ),
        };
        why.iter().map(warning).collect()
    }
}

/// Most operations in a batch: more would take long to prepare.
const fn most(operation: CallOperation) -> u64 {
    match operation {
        CallOperation::Create => 2_000,
        // Each file is made beforehand, which is more expensive.
        CallOperation::Delete => 200,
        _ => 1_000_000,
    }
}

fn counted(count: u64, made: Result<BatchCost, Refused>) -> OperationCounts {
    // A batch has one time, not one for each operation.
    let counts = OperationCounts { tried: count, times: Histogram::new().encode(), ..Default::default() };
    match made {
        Ok(batch) => OperationCounts { elapsed_ns: batch.ticks, cpu_ns: batch.cpu.map(Nanos::get), ..counts },
        Err(refused) => OperationCounts { errors: BTreeMap::from([(refused.word, count)]), ..counts },
    }
}

impl Bench for CallsBench<'_> {
    fn begin_round(&mut self, _round: u32, _load: Option<u32>, _requests: usize) -> Result<(), RunError> {
        Ok(())
    }

    fn measure(&mut self, arm: usize, _pace: Pace, part: Part, limit: Nanos) -> Result<Measured, RunError> {
        let complete = limit > Nanos::ZERO;
        let counters = if complete { self.part(arm, part.index as usize)? } else { SliceCounters::default() };
        Ok(Measured::alone(counters, Times::default(), complete))
    }

    fn parts(&self) -> Parts {
        Parts::Each(self.kinds.len() as u32)
    }

    fn warm_up(&mut self, _requests: usize) -> Result<(), RunError> {
        self.warm()
    }

    fn try_out(&mut self, _requests: usize, _limit: Nanos) -> Result<Vec<Tried>, RunError> {
        let mut tried = Vec::new();
        for arm in 0..self.arms.len() {
            let began = self.clock.now();
            let mut slice = Measured::alone(SliceCounters::default(), Times::default(), true);
            slice.counters.subject_cpu_ns = Some(0);
            for number in 0..self.kinds.len() {
                slice.add(&Measured::alone(self.part(arm, number)?, Times::default(), true));
            }
            let made = slice.counters.requests as usize;
            // The time around the operations is part of the round's time as well.
            let wall = self.clock.now().since(began);
            tried.push(Tried { wall, ..Tried::of(&slice.counters, made) });
        }
        Ok(tried)
    }

    fn restart(&mut self, _start: u32) -> Result<(), RunError> {
        self.start_all()?;
        self.warm()
    }

    fn start_time(&self) -> Option<Nanos> {
        Some(self.start_time)
    }

    fn proof(&self, arm: usize) -> Option<ProofRecord> {
        self.arms[arm].proof.clone()
    }

    fn calibrate(&mut self, left: Nanos) -> Result<Vec<Warning>, RunError> {
        let began = self.clock.now();
        let (mut kinds, mut why) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
        for number in 0..self.kinds.len() {
            let operation = self.kinds[number].operation;
            let mut per_operation = Vec::new();
            for arm in 0..self.arms.len() {
                match self.time(arm, operation)? {
                    Ok(time) => per_operation.push(time),
                    Err(refused) => {
                        let name = self.arms[arm].name.clone();
                        let words = format!("{} ({}: {})", operation.word(), refused.word, refused.why);
                        why.entry(name.clone()).or_default().push(words);
                        self.kinds[number].refused.insert(name, refused.word);
                    }
                }
            }
            kinds.push(Timed { per_operation, most: most(operation) });
        }
        if self.kinds.iter().all(|kind| !kind.refused.is_empty()) {
            let (arm, refused) = why.pop_first().unwrap_or_default();
            return Err(RunError::NothingMade { arm, refused: refused.join(", ") });
        }
        let passed = self.clock.now().since(began);
        // Messages and set-up take a part of every batch's time; the pilot's rounds tell it better.
        let sizes = size::sizes(&kinds, self.common.work.batch, Nanos::ZERO, left.since(passed));
        for (kind, count) in self.kinds.iter_mut().zip(&sizes.counts) {
            kind.count = *count;
        }
        self.reason = sizes.reason;
        Ok(self.warnings(&why).into_iter().chain(sizes.warning).collect())
    }

    fn take_up(&mut self, workload: &WorkloadSetup) {
        for kind in &mut self.kinds {
            let of_word = |found: &&OperationSetup| found.operation == kind.operation.word();
            if let Some(found) = workload.operations.iter().find(of_word) {
                (kind.count, kind.refused) = (found.count, found.refused.clone());
            }
        }
        self.reason.clone_from(&workload.slice_reason);
    }

    fn sized(&self) -> Sizing {
        let total = self.kinds.iter().filter(|kind| kind.refused.is_empty());
        Sizing::Fixed(total.map(|kind| kind.count).sum::<u64>() as usize)
    }

    fn has_cpu(&self) -> bool {
        true
    }

    fn max_lateness(&self) -> Option<Nanos> {
        None
    }

    fn workload(&self) -> WorkloadSetup {
        let work = self.common.work;
        let words: Vec<&str> = work.operations.iter().map(|operation| operation.word()).collect();
        let operation = |kind: &Kind| OperationSetup {
            operation: kind.operation.word().to_owned(),
            count: kind.count,
            refused: kind.refused.clone(),
        };
        WorkloadSetup {
            kind: "calls".to_owned(),
            description: format!(
                "{}; files {} directories deep, partners on the {} core",
                words.join(", "),
                work.depth,
                work.peers.as_str()
            ),
            slice_reason: self.reason.clone(),
            operations: self.kinds.iter().map(operation).collect(),
            ..WorkloadSetup::default()
        }
    }

    fn subject(&self, arm: usize) -> SubjectSetup {
        self.arms[arm].subject()
    }
}
