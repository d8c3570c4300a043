//! Errors that end a run.

use crate::environment::{EnvironmentError, PlacementError};
use bakeoff_analysis::analyse::AnalyseError;
use bakeoff_link::LinkError;
use bakeoff_loadgen::TlsSetupError;
use bakeoff_reach::ReachError;
use bakeoff_results::directory::DirectoryError;
use bakeoff_subject::SubjectError;
use bakeoff_units::Nanos;
use bakeoff_workload::WorkloadError;
use std::io;

/// An error that ends a run: its cause, where, and what next.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The results directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The machine.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The cores that the plan names.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// A server or command.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The log or the site.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// Certificates of the generator.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    /// Stored slices.
    #[error(transparent)]
    Analyse(#[from] AnalyseError),
    /// The temporary directory.
    #[error("{path}: {why}; set TMPDIR to a directory with room")]
    Scratch {
        /// Path of the directory.
        path: String,
        /// The error.
        why: String,
    },
    /// The generator.
    #[error("the load generator cannot work: {0}")]
    Generator(io::Error),
    /// The first generator on another host that was lost.
    #[error(
        "{generator} was lost: {why}. {said} No slice was written from a part of the load. Whole rounds stand; \
         `bakeoff run --resume` with this directory goes on with the same lanes"
    )]
    GeneratorLost {
        /// Its number, host and place.
        generator: String,
        /// The sign of it.
        why: String,
        /// The last words of its launcher.
        said: String,
    },
    /// Generators on other hosts that cannot be used.
    #[error("{0}")]
    Generators(String),
    /// The system.
    #[error("the system refused: {0}")]
    System(io::Error),
    /// Nothing but failures.
    #[error("{arm}: nothing but failures came back, most by {failures}. {hint}{printed}")]
    NoReplies {
        /// Arm.
        arm: String,
        /// The class with most of them, and one of them.
        failures: String,
        /// The remedy.
        hint: &'static str,
        /// Place of its server's output.
        printed: String,
    },
    /// Neither replies nor failures: the time was over before.
    #[error(
        "{arm}: no reply came within {time}, all that the budget leaves for sizing; give it more (`budget`), or wait until the machine has less to do"
    )]
    Unanswered {
        /// Arm.
        arm: String,
        /// Time from the first request on.
        time: Nanos,
    },
    /// A front answered every request itself: the server behind it saw none.
    #[error(
        "{arm}: what stands before its server was asked for everything once, and the server behind it used no CPU meanwhile: it was never asked. Look at the address in the configuration of the front: it is {{upstream}}"
    )]
    NeverAsked {
        /// Arm.
        arm: String,
    },
    /// A store before a server.
    #[error(
        "{arm}: its store was not filled within {within}: {asked} of {of} objects had been asked for. Use a smaller site, or `fresh = \"start\"`, for which nothing is filled"
    )]
    NotFilled {
        /// Arm.
        arm: String,
        /// Objects that were asked for.
        asked: u64,
        /// Number of objects in all.
        of: u64,
        /// Time allowed.
        within: Nanos,
    },
    /// A command.
    #[error("{arm}: `{command}` {status}\n{said}")]
    Command {
        /// Arm.
        arm: String,
        /// The command.
        command: String,
        /// Its exit status.
        status: String,
        /// Its last lines.
        said: String,
    },
    /// A layer that is not on.
    #[error(
        "{arm}: its layer is not on, says its proof: {said}; nothing was measured: a cost of what is off is none"
    )]
    LayerOff {
        /// Arm.
        arm: String,
        /// Output of the proof.
        said: String,
    },
    /// Violations.
    #[error("{wanted} files were to be altered, the site has {there} that are not empty; ask for fewer")]
    TooFewFiles {
        /// Number in the plan.
        wanted: usize,
        /// Number in the site.
        there: usize,
    },
    /// The plan asks for a duet that would not be honest.
    #[error("a duet cannot be made: {why}; use design = \"pairs\", or \"auto\" to let the pilot decide")]
    DuetRefused {
        /// The obstacle.
        why: String,
    },
    /// A bench whose arms cannot share the machine.
    #[error("these arms cannot be measured all at once")]
    NoDuet,
    /// Caches cannot be dropped.
    #[error("a cold page cache needs root ({0}); run as root, or take `cold` or `fresh` out")]
    Cold(io::Error),
    /// The same, in the `files` workload.
    #[error(
        "cache = \"{cache}\" needs root to drop the page cache ({why}); run as root or take the line out"
    )]
    Caches {
        /// The value in the plan.
        cache: &'static str,
        /// Error from the system.
        why: io::Error,
    },
    /// The directory under test.
    #[error("{arm}: {path}: {why}")]
    Path {
        /// Arm.
        arm: String,
        /// Its path.
        path: String,
        /// The error and the remedy.
        why: String,
    },
    /// A file operation that must succeed failed, or several in a row did.
    #[error("{arm}: {operation} in {path} failed: {why}")]
    Operation {
        /// Arm.
        arm: String,
        /// Kind of operation.
        operation: String,
        /// Its path.
        path: String,
        /// Error from the system, and the class.
        why: String,
    },
    /// No operation can be made by every arm, so there is nothing to compare.
    #[error(
        "no operation can be made by every arm: {arm} refuses {refused}; let what it is started through allow some, or \
         take others into `operations`"
    )]
    NothingMade {
        /// Arm.
        arm: String,
        /// Operations with their errors.
        refused: String,
    },
    /// A file system that does not answer.
    #[error(
        "{arm}: an operation in {path} did not come back within {patience}, and its file system was taken away; \
         logs/ may say why, and a larger time_limit gives it longer"
    )]
    Hung {
        /// Arm.
        arm: String,
        /// Its path.
        path: String,
        /// The time limit.
        patience: Nanos,
    },
    /// The budget.
    #[error("the budget of {budget} ended before the first slice ({stage}); give a larger budget")]
    NoTime {
        /// Budget of the plan.
        budget: Nanos,
        /// The stage that took so long.
        stage: &'static str,
    },
    /// The budget, for a search.
    #[error(
        "under a bound of {slo} the search of an arm takes at least {needed}, and {budget} are left for each; give a \
         larger budget, or a shorter `slo`; on a busy machine replies take long at low load, too: wait until it is quieter"
    )]
    NoTimeToSearch {
        /// Bound on the quantile of the response time.
        slo: Nanos,
        /// Least time of a search.
        needed: Nanos,
        /// An arm's share of what is left.
        budget: Nanos,
    },
    /// Resuming on another log.
    #[error("the log is not the one that the run began with; put it back, or start a new run")]
    LogChanged,
    /// Resuming with another plan.
    #[error(
        "{}: it is not the plan that the run began with; put it back, or start a new run",
        bakeoff_results::directory::PLAN
    )]
    PlanChanged,
    /// A program that an arm needs came or went.
    #[error(
        "this machine can run other arms than when the run began: a program that one `needs` was installed or removed; start \
         a new run"
    )]
    ArmsChanged,
    /// Ctrl-C before anything was measured.
    #[error("interrupted before the first slice; nothing was measured")]
    Interrupted,
}

impl From<ReachError> for RunError {
    fn from(error: ReachError) -> Self {
        match error {
            ReachError::Interrupted => Self::Interrupted,
            ReachError::Unusable(what) => Self::Generators(what),
            ReachError::Lost { end: generator, why, said } => Self::GeneratorLost { generator, why, said },
        }
    }
}

impl RunError {
    /// A name that no arm of the plan has.
    pub(crate) fn no_arm(name: &str) -> Self {
        Self::System(io::Error::other(format!("there is no arm {name}")))
    }
}
