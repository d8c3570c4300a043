//! Interface between the round loop and the arms, be they servers or commands.

use super::blocks::Block;
use super::error::RunError;
use bakeoff_meter::{SliceCounters, Times};
use bakeoff_results::{
    LinkSetup, PartRecord, PlaceSetup, PopulationRecord, ProofRecord, SlotsSetup, SubjectSetup, Warning,
    WorkloadSetup,
};
use bakeoff_units::{Nanos, PerSecond};
use std::collections::BTreeMap;

/// A slice that was measured.
pub(crate) struct Measured {
    pub(crate) counters: SliceCounters,
    pub(crate) times: Times,
    /// All requests of the slice were made. A slice that was cut short by time or the user is no slice.
    pub(crate) complete: bool,
    /// Seed of the order and the arrivals that the arm had in this round, where they were its own.
    pub(crate) order_seed: Option<u64>,
    /// Counts of each population, if the plan has several.
    pub(crate) populations: BTreeMap<String, PopulationRecord>,
    /// The share of each generator on another host.
    pub(crate) parts: Vec<PartRecord>,
}

impl Measured {
    /// A slice of an arm that was measured by itself.
    pub(crate) const fn alone(counters: SliceCounters, times: Times, complete: bool) -> Self {
        Self { counters, times, complete, order_seed: None, populations: BTreeMap::new(), parts: Vec::new() }
    }

    /// Adds a further part of the same slice.
    pub(crate) fn add(&mut self, part: &Self) {
        self.counters.add_part(&part.counters);
        // Parts of one kind each: none has what another has.
        self.counters.operations.extend(part.counters.operations.clone());
        self.times.merge(&part.times);
        self.complete &= part.complete;
        self.parts.iter_mut().zip(&part.parts).for_each(|(own, more)| own.add(more));
    }
}

/// Arrival of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// The plan's own clock.
    Planned,
    /// This many a second on the mean (Poisson), in an order of the arm's own.
    At(PerSecond),
}

/// A part of an arm's slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// From 0.
    pub(crate) index: u32,
    /// Number of parts; 1: the whole slice.
    pub(crate) of: u32,
}

/// Parts in which slices may be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// As a whole.
    Whole,
    /// In any number: nothing about them depends on their length.
    Any,
    /// In this number: each is another kind of work.
    Each(u32),
}

/// The pilot's measurement of one arm. Times are of the whole slice; one that was cut short is extrapolated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tried {
    pub(crate) wall: Nanos,
    /// CPU of the subject, and of the generator for it.
    pub(crate) subject_cpu: Option<Nanos>,
    pub(crate) generator_cpu: Nanos,
    /// Share of the machine's time that waited for storage, or in which some task did; 0 where the subject read nothing from
    /// it, so that others waited.
    pub(crate) io_wait: f64,
}

impl Tried {
    pub(crate) fn of(counters: &SliceCounters, requests: usize) -> Self {
        let whole = requests as f64 / counters.requests.max(1) as f64;
        let scaled = |ns: u64| Nanos::new((ns as f64 * whole) as u64);
        Self {
            wall: scaled(counters.wall_ns),
            subject_cpu: counters.subject_cpu_ns.map(scaled),
            generator_cpu: scaled(counters.generator_cpu_ns),
            io_wait: match counters.usage.disk_read_bytes {
                Some(0) => 0.0,
                Some(_) | None => counters.host.iowait.max(counters.host.pressure_io.unwrap_or(0.0)),
            },
        }
    }
}

/// All arms, started, by their index in `Plan::names`.
pub(crate) trait Bench {
    /// Prepares the work of a round at a load (by its place in the design's; none: the plan's clock): the same for every
    /// arm, but for those with a number of requests of their own.
    fn begin_round(&mut self, round: u32, load: Option<u32>, requests: usize) -> Result<(), RunError>;

    /// Measures one arm's slice, or a part of it. `limit`: time after which no new requests are made.
    fn measure(&mut self, arm: usize, pace: Pace, part: Part, limit: Nanos) -> Result<Measured, RunError>;

    /// The parts in which a slice may be measured.
    fn parts(&self) -> Parts {
        Parts::Whole
    }

    /// Requests of every arm that do not count, at most this many.
    fn warm_up(&mut self, requests: usize) -> Result<(), RunError>;

    /// Time that `requests` requests of every arm take, measured roughly; also checks every byte. An arm whose slices
    /// are smaller is tried with one, and its times are scaled.
    fn try_out(&mut self, requests: usize, limit: Nanos) -> Result<Vec<Tried>, RunError>;

    /// Measures the arms of a block in one slice, each at `rate` in slots of its own: in the order of the block.
    ///
    /// # Errors
    /// As for [`Bench::measure`], and if the workload has no such slices.
    fn measure_in_slots(
        &mut self,
        _block: &Block,
        _rate: PerSecond,
        _slots: SlotsSetup,
        _limit: Nanos,
    ) -> Result<Vec<Measured>, RunError> {
        Err(RunError::NoDuet)
    }

    /// Requests per second that the slowest arm answers in a closed loop, over `requests` of them.
    ///
    /// # Errors
    /// As for [`Bench::measure`], and if the workload has no such loop.
    fn capacity(&mut self, _requests: usize, _limit: Nanos) -> Result<PerSecond, RunError> {
        Err(RunError::NoDuet)
    }

    /// Ends all arms and starts them anew, in an order and with environments drawn for this start. Nothing to do if
    /// every slice starts them anyway.
    fn restart(&mut self, _start: u32) -> Result<(), RunError> {
        Ok(())
    }

    /// Start time of the slowest arm; `None` if arms are not started for the run or every slice starts them anyway.
    fn start_time(&self) -> Option<Nanos> {
        None
    }

    /// Whether the arm's layer was on at its last start, where the plan asks.
    fn proof(&self, _arm: usize) -> Option<ProofRecord> {
        None
    }

    /// Determines how much of each kind of work a slice should hold, if there are several kinds. Returns warnings for
    /// the reader.
    fn calibrate(&mut self, _left: Nanos) -> Result<Vec<Warning>, RunError> {
        Ok(Vec::new())
    }

    /// Takes over what an earlier start of this run had determined.
    fn take_up(&mut self, _workload: &WorkloadSetup) {}

    /// Whether slices are sized; a command is what it is.
    fn sized(&self) -> Sizing;

    /// Sizes that the plan gives to the slices of single arms; empty: none.
    fn own_slices(&self) -> Vec<Option<usize>> {
        Vec::new()
    }

    /// Whether every arm's CPU can be read.
    fn has_cpu(&self) -> bool;

    /// Open loop: allowed lateness of the generator.
    fn max_lateness(&self) -> Option<Nanos>;

    /// The link to the subjects, if there is one.
    fn link(&self) -> Option<LinkSetup> {
        None
    }

    /// Generators on other hosts.
    fn places(&self) -> Vec<PlaceSetup> {
        Vec::new()
    }

    /// The workload as it was made; size and reason are filled in by the caller.
    fn workload(&self) -> WorkloadSetup;

    /// The set-up of an arm's start.
    fn subject(&self, arm: usize) -> SubjectSetup;
}

/// Number of requests that a slice may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizing {
    /// Any suitable number.
    Free,
    /// The number that fits this time.
    Timed(Nanos),
    /// This many: the plan says so, or the work is what it is.
    Fixed(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_nothing_from_storage_does_not_wait_for_it() {
        let mut counters = SliceCounters::default();
        counters.host.pressure_io = Some(0.9);
        for (read, wait) in [(Some(0), 0.0), (Some(4096), 0.9), (None, 0.9)] {
            counters.usage.disk_read_bytes = read;
            assert_eq!(Tried::of(&counters, 1).io_wait, wait, "{read:?}");
        }
    }
}
