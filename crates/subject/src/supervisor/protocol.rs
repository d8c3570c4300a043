//! Protocol between bakeoff and a supervisor: one JSON object a line, over a socket pair.
//!
//! bakeoff sends a `Launch`, another one when the started process has ended or a `Kill` was answered, any number of
//! `Reaped`, at most one `Stop`. The supervisor sends `Started` or `Failed`, `Exited` whenever the started process ends,
//! an answer to each question, and `Ended` last.

use crate::cgroup::{Ceiling, Groups};
use crate::cpu::CpuChoice;
use crate::litter::Litter;
use bakeoff_sys::process::{Ending, ResourceUsage, User};
use bakeoff_units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub(crate) enum Order {
    Launch(Box<Plan>),
    /// Asks for the resources that all reaped processes have used.
    Reaped,
    /// Kill everything at once, answer `Killed`, stay.
    Kill,
    /// End everything, answer `Ended`, exit.
    Stop,
}

/// A start: the program and its surroundings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: PathBuf,
    /// Directory of `stdout.log` and `stderr.log`.
    pub(crate) dir: PathBuf,
    pub(crate) cpus: Vec<usize>,
    /// Numbers of user and group.
    pub(crate) user: Option<(u32, u32)>,
    pub(crate) cpu: CpuChoice,
    /// The most that it may use.
    pub(crate) ceiling: Ceiling,
    /// Set by the first start: whether all below the supervisor have a mount namespace to themselves.
    pub(crate) own_mounts: bool,
    /// Whether standard input and output are the supervisor's own standard output, a socket that bakeoff speaks over.
    pub(crate) speaks: bool,
    /// Time that the subject may take to end when asked.
    pub(crate) grace_ms: u64,
    /// Files and shared memory to remove when it has ended, however it ended.
    pub(crate) litter: Litter,
}

impl Plan {
    pub(crate) fn as_user(&self) -> Option<User> {
        self.user.map(|(uid, gid)| User { uid, gid })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub(crate) enum Report {
    Started {
        pid: u32,
        groups: Groups,
    },
    /// Nothing was started, or it was ended again.
    Failed {
        fault: Fault,
        doing: String,
        error: String,
    },
    Exited {
        exited: Option<i32>,
        killed: Option<i32>,
        elapsed_ns: u64,
    },
    Reaped(Sum),
    Killed {
        /// Processes that are still there.
        left: usize,
    },
    Ended {
        sum: Sum,
        /// CPU by the cgroup, if there was one, just before it was removed.
        group_ns: Option<u64>,
        killed: usize,
        left: usize,
    },
}

/// Kinds of failed starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fault {
    /// The program is not there.
    NotFound,
    /// Its limits cannot be set; the error is the sentence for the user.
    Limits,
    /// Anything else.
    Other,
}

impl Report {
    pub(crate) fn exited(ending: Ending, elapsed: Nanos) -> Self {
        let (exited, killed) = match ending {
            Ending::Exited(code) => (Some(code), None),
            Ending::Killed(signal) => (None, Some(signal)),
        };
        Self::Exited { exited, killed, elapsed_ns: elapsed.get() }
    }
}

/// Resources that ended processes used.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sum {
    user_ns: u64,
    system_ns: u64,
    max_rss: u64,
}

impl From<ResourceUsage> for Sum {
    fn from(used: ResourceUsage) -> Self {
        Self { user_ns: used.user.get(), system_ns: used.system.get(), max_rss: used.max_rss }
    }
}

impl From<Sum> for ResourceUsage {
    fn from(sum: Sum) -> Self {
        Self { user: Nanos::new(sum.user_ns), system: Nanos::new(sum.system_ns), max_rss: sum.max_rss }
    }
}
