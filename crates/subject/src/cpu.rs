//! CPU use of a subject: all its processes, ended ones included, from the best account there is.
//!
//! Measuring side, read at both ends of a slice, when nothing is in flight. There are three sources, best first; every
//! reading names the one that was used. Sums of `schedstat` are not among them: they lag behind on running threads and
//! know nothing of threads and children that ended.

pub(crate) mod choice;

pub use choice::CpuChoice;

use crate::cgroup::{self, Kind};
use crate::supervisor::Supervisor;
use bakeoff_sys::{cpu_clock, process};
use bakeoff_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

/// Source of a CPU figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuSource {
    /// `cpuacct.usage` of a version 1 cgroup made for the subject. Nanoseconds. Exact when the
    /// subject is at rest; while it runs up to a scheduler tick per core behind.
    CgroupV1,
    /// `usage_usec` in `cpu.stat` of a version 2 cgroup made for the subject. Microseconds;
    /// otherwise as version 1.
    CgroupV2,
    /// The CPU clock of every living process below the supervisor, plus what it has reaped
    /// (microseconds), plus what those processes have reaped themselves, which the kernel tells
    /// outsiders in whole clock ticks only: a server whose children end by the thousand is better
    /// measured by cgroup. Children that no process waits for (ignored `SIGCHLD`) are missing.
    Clocks,
}

impl CpuSource {
    /// Name as reports print it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::CgroupV1 => "cgroup v1 cpuacct.usage",
            Self::CgroupV2 => "cgroup v2 cpu.stat",
            Self::Clocks => "process CPU clocks",
        }
    }
}

impl fmt::Display for CpuSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// CPU used since the subject was started (for a URL with a `pid`: since that process was). Only
/// differences of two readings of one subject mean anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuReading {
    /// User and system together.
    pub nanos: Nanos,
    /// The source it comes from.
    pub source: CpuSource,
    /// Largest error by which a reading of a subject at rest may be too low: the step of the coarsest part in it.
    pub resolution: Nanos,
}

/// Reasons why there is no reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMissing {
    /// The arm is a URL without `pid`.
    NoPid,
    /// `/proc` hides the process from this user.
    ProcHidden,
    /// The process has ended.
    Ended,
    /// The supervisor has ended, and with it the account of what it reaped.
    SupervisorGone,
    /// The kernel refused to read its own account.
    Unreadable,
}

impl CpuMissing {
    /// Name as reports and counters have it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NoPid => "no-pid",
            Self::ProcHidden => "proc-hidden",
            Self::Ended => "ended",
            Self::SupervisorGone => "supervisor-gone",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for CpuMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The account of one subject.
#[derive(Debug)]
pub(crate) enum Account {
    Group(cgroup::Meter, Kind),
    BelowSupervisor,
    Process(u32),
    None,
}

impl Account {
    pub(crate) fn of(supervisor: &Supervisor) -> io::Result<Self> {
        match &supervisor.groups().account {
            Some(group) => Ok(Self::Group(cgroup::Meter::open(group)?, group.kind)),
            None => Ok(Self::BelowSupervisor),
        }
    }

    pub(crate) fn read(&self, supervisor: Option<&Supervisor>) -> Result<CpuReading, CpuMissing> {
        match self {
            Self::Group(meter, kind) => {
                let nanos = meter.read().map_err(|_| CpuMissing::Unreadable)?;
                let (source, resolution) = match kind {
                    Kind::V1 => (CpuSource::CgroupV1, Nanos::new(1)),
                    Kind::V2 => (CpuSource::CgroupV2, Nanos::from_micros(1)),
                };
                Ok(CpuReading { nanos, source, resolution })
            }
            Self::BelowSupervisor => {
                let supervisor = supervisor.ok_or(CpuMissing::SupervisorGone)?;
                settled(|| {
                    let used = supervisor.reaped().map_err(|_| CpuMissing::SupervisorGone)?;
                    clocks(supervisor.pid(), false, used.user + used.system)
                })
            }
            Self::Process(pid) => settled(|| clocks(*pid, true, Nanos::ZERO)),
            Self::None => Err(CpuMissing::NoPid),
        }
    }
}

/// One pass over a process tree.
#[derive(PartialEq, Eq)]
struct Pass {
    /// The processes that were there, and the sum that had already been moved from the clocks to the reaped.
    shape: (Vec<u32>, Nanos),
    reading: CpuReading,
}

/// A process that ends between two reads of one pass would be counted twice or not at all; so a
/// pass counts when the next one finds the same processes and the same reaped sum. At rest that is
/// at once; a tree that never rests gets the last of a few tries.
fn settled(pass: impl Fn() -> Result<Pass, CpuMissing>) -> Result<CpuReading, CpuMissing> {
    let mut last = pass()?;
    for _ in 0..4 {
        let next = pass()?;
        if next.shape == last.shape {
            return Ok(next.reading);
        }
        last = next;
    }
    Ok(last.reading)
}

fn clocks(root: u32, with_root: bool, reaped: Nanos) -> Result<Pass, CpuMissing> {
    let mut tree = process::descendants(root).map_err(|_| CpuMissing::ProcHidden)?;
    if with_root {
        tree.push(process::stat(root).map_err(|_| why_not_there(root))?);
    }
    let mut running = Nanos::ZERO;
    let mut reaped = reaped;
    for stat in &tree {
        running += cpu_clock::process(stat.pid).unwrap_or(Nanos::ZERO); // ended: the next pass differs
        reaped += stat.reaped;
    }
    let tick = Nanos::new(1_000_000_000 / process::ticks_per_second());
    let reapers = tree.iter().filter(|stat| stat.reaped > Nanos::ZERO).count();
    let resolution = Nanos::from_micros(1) + tick.times(2.0 * reapers as f64);
    Ok(Pass {
        shape: (tree.iter().map(|stat| stat.pid).collect(), reaped),
        reading: CpuReading { nanos: running + reaped, source: CpuSource::Clocks, resolution },
    })
}

fn why_not_there(pid: u32) -> CpuMissing {
    match cpu_clock::process(pid) {
        Ok(_) => CpuMissing::ProcHidden,
        Err(_) => CpuMissing::Ended,
    }
}
