//! Plans: from TOML text to an experiment that can be run.
//!
//! Two steps and two types: [`file`] is what the user typed, key by key; [`Plan`] is what will be done, with nothing
//! left to check. Errors point at the line, name the key and suggest the near miss. Nothing is started here, and only
//! the plan and the configurations that it names are opened. Programs are looked for only where an arm is left out
//! without its program.

#![forbid(unsafe_code)]

mod arm;
mod baselines;
mod calls;
mod check;
mod client;
mod during;
mod error;
mod expand;
mod file;
mod files;
mod method;
mod needs;
mod only;
mod requests;
mod set;
pub mod shipped;
mod source;
pub mod study;

pub use arm::{Arm, ArmCommand, ArmKind};
pub use baselines::Baselines;
pub use calls::{ArmCalls, CallsWork};
pub use client::ClientPlan;
pub use during::{During, ParseDuringError};
pub use error::{COMMAND_LINE, PlanError, near_miss, suggestion};
pub use expand::Factor;
pub use file::PlanFile;
pub use files::{ArmFiles, ArmServe, CacheState, FileOperation, FilesWork, Fsync, TreeShape};
pub use method::{
    DesignChoice, ExperimentGoal, Extent, Fresh, LimitsPlan, LinkPlan, LoadPlan, LoadRate, LoadsPlan,
    PeakPlan, RoundDesign, ViolationPlan, Violations,
};

pub use needs::Need;
pub use only::{Only, only};
pub use requests::{BurstClock, LoadClock, Population, RequestSource, RequestWork, SliceLengths};
pub use set::{Setting, changed};
pub use source::{PlanSource, STANDARD_INPUT};

use bakeoff_stats::Margin;
use bakeoff_subject::Written;
use bakeoff_units::{Nanos, PerSecond, Ratio};
use std::path::{Path, PathBuf};

/// The default margin: the smallest cost that matters, as a share.
pub const DEFAULT_MARGIN: f64 = 0.01;

/// An experiment, checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file's stem or the shipped plan's name.
    pub name: String,
    /// Name of the text in messages.
    pub origin: String,
    /// The text it came from.
    pub text: String,
    /// Directory that relative paths start from.
    pub base_dir: PathBuf,
    /// Goal of the experiment.
    pub kind: ExperimentGoal,
    /// Design of the rounds.
    pub design: DesignChoice,
    /// Number of rounds between restarts of the arms; 0: never; `None`: chosen.
    pub restart_every: Option<u32>,
    /// The meter that the verdict stands on; `None`: chosen.
    pub primary: Option<String>,
    /// The link between generator and subjects; `None`: loopback.
    pub link: Option<LinkPlan>,
    /// Name of the published study to set the figures beside.
    pub study: Option<String>,
    /// Violations that the layer must refuse.
    pub violations: Option<ViolationPlan>,
    /// Files that lie in every arm's private directory.
    pub written: Vec<Written>,
    /// The factors; each arm lists its levels in this order.
    pub factors: Vec<Factor>,
    /// Seed of everything random.
    pub seed: u64,
    /// The arm that each is compared with.
    pub baselines: Baselines,
    /// The smallest cost that matters: a share, or ns.
    pub margin: Margin,
    /// Rounds in turn after a duet, at its load and at full speed each; `None`: chosen.
    pub paired_rounds: Option<u32>,
    /// Loads that every round measures; `None`: one.
    pub loads: Option<LoadsPlan>,
    /// The rate at which costs are told in cores.
    pub at: PerSecond,
    /// Wall time of the whole command.
    pub budget: Nanos,
    /// Rounds allowed.
    pub max_rounds: u32,
    /// Half of a cost's interval, as a share of it, down to which rounds go on; `None`: a verdict suffices.
    pub precision: Option<Ratio>,
    /// Share of failed requests above which an arm is invalid.
    pub max_errors: Ratio,
    /// Cores of the generator; `None`: chosen.
    pub generator_cores: Option<Vec<usize>>,
    /// Cores of the subjects; `None`: chosen.
    pub subject_cores: Option<Vec<usize>>,
    /// The workload.
    pub work: Work,
    /// The arms in the order of the plan.
    pub arms: Vec<Arm>,
    /// Arms that are left out, each with what this machine lacks.
    pub left_out: Vec<(String, Need)>,
    /// The extent that its values belong to, if the plan has two.
    pub extent: Option<Extent>,
    /// If this is a sample: the whole.
    pub full: Option<Box<Plan>>,
}

/// Requests, commands, file operations or system calls.
#[derive(Clone, Debug)]
pub enum Work {
    /// Requests to servers.
    Requests(RequestWork),
    /// Commands that run to their end.
    Command(CommandWork),
    /// Operations on files of mounted file systems.
    Files(FilesWork),
    /// Single system calls and short programs.
    Calls(CallsWork),
}

/// A workload of commands.
#[derive(Clone, Debug)]
pub struct CommandWork {
    /// Page caches are dropped before each run (needs root).
    pub cold: bool,
    /// A run that takes longer is ended and fails.
    pub time_limit: Nanos,
}

impl Plan {
    /// Reads a plan from its text.
    ///
    /// # Errors
    /// As [`Plan::parse`].
    pub fn of(source: &PlanSource) -> Result<Self, PlanError> {
        let base = source.base_dir.as_deref().unwrap_or(Path::new("."));
        Self::parse(&source.name, &source.origin, &source.text, base)
    }

    /// Checks a plan's text. `origin` is its name in messages. If it states a sample, this is the sample; the whole is
    /// checked as well, and is in `full`.
    ///
    /// # Errors
    /// The text is no plan; the message shows where and why.
    pub fn parse(name: &str, origin: &str, text: &str, base_dir: &Path) -> Result<Self, PlanError> {
        let file = PlanFile::parse(origin, text)?;
        check::check(name, origin, text, base_dir, &file)
    }

    /// The same of a text that was checked on the machine with the servers: what that has is not looked for here, and no
    /// arm is left out.
    ///
    /// # Errors
    /// As [`Plan::parse`].
    pub fn parse_for_elsewhere(name: &str, origin: &str, text: &str) -> Result<Self, PlanError> {
        let file = PlanFile::parse(origin, text)?;
        check::check_for_elsewhere(name, origin, text, &file)
    }

    /// Checks that the files, programs and cores that it names are on this machine, which lets a process use `cores`.
    ///
    /// # Errors
    /// Everything that is missing, each at its place.
    pub fn here(&self, cores: &[usize]) -> Result<(), PlanError> {
        check::here(&self.origin, &self.text, &self.base_dir, cores)
    }

    /// The values of this extent; `None`: the plan does not have them.
    pub fn of_extent(self, extent: Option<Extent>) -> Option<Self> {
        match extent {
            Some(Extent::Full) => self.full.map(|full| *full),
            Some(Extent::Sample) => self.extent.is_some().then_some(self),
            None => self.extent.is_none().then_some(self),
        }
    }

    /// The first baseline's name.
    pub fn baseline_name(&self) -> &str {
        &self.arms[self.baselines.of(0)].name
    }

    /// Requests of a slice of an arm; `None`: sized in the pilot, or no requests.
    pub fn slice_requests(&self, arm: &Arm) -> Option<u64> {
        let common = match &self.work {
            Work::Requests(work) => work.slice_requests,
            Work::Command(_) | Work::Files(_) | Work::Calls(_) => None,
        };
        arm.slice_requests.or(common)
    }

    /// Names of all processes or commands that are measured: the arms, and behind each baseline its second process,
    /// marked with a prime. A search for peaks needs no second one.
    pub fn names(&self) -> Vec<String> {
        self.arms
            .iter()
            .enumerate()
            .flat_map(|(index, arm)| {
                let twice = self.baselines.is(index) && self.kind == ExperimentGoal::Compare;
                let second = twice.then(|| format!("{}'", arm.name));
                std::iter::once(arm.name.clone()).chain(second)
            })
            .collect()
    }

    /// The load of the arm; `None`: it is no server.
    pub fn work_of<'w>(&'w self, arm: &'w Arm) -> Option<&'w RequestWork> {
        match &self.work {
            Work::Requests(common) => Some(arm.work(common)),
            Work::Command(_) | Work::Files(_) | Work::Calls(_) => None,
        }
    }

    /// The load in words, as `check` and reports tell it.
    pub fn load_in_words(&self) -> String {
        match &self.work {
            Work::Requests(work) => {
                work.in_words_with(&self.arms.iter().filter_map(|arm| arm.load.as_ref()).collect::<Vec<_>>())
            }
            Work::Command(_) => "one command at a time".to_owned(),
            Work::Files(_) | Work::Calls(_) => "one operation at a time".to_owned(),
        }
    }

    /// The arm with a name as in [`Plan::names`].
    pub fn arm_of(&self, name: &str) -> Option<&Arm> {
        let name = name.strip_suffix('\'').unwrap_or(name);
        self.arms.iter().find(|arm| arm.name == name)
    }
}
