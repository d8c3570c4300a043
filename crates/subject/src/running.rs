//! A running subject and its readings.

use crate::cgroup::{HitMeter, LimitsHit};
use crate::config::Substitutions;
use crate::context::Context;
use crate::cpu::{Account, CpuMissing, CpuReading};
use crate::limits::Limits;
use crate::stack::{self, Standing};
use crate::supervisor::{Plan, Supervisor, still_there};
use crate::words::last_words;
use crate::{ProgramTime, SubjectError};
use bakeoff_sys::process;
use bakeoff_units::Nanos;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// A subject that was ready when it was handed out. Dropping it ends it, like `stop`; a server
/// that was running before (`Spec::Url`) is left alone.
#[derive(Debug)]
pub struct Running {
    /// Name of the arm.
    pub arm: String,
    /// `origin`, `nginx`, `apache`, `command` or `url`; of a proxy its product's label.
    pub kind: &'static str,
    /// The address it listens on.
    pub address: SocketAddr,
    /// It speaks HTTPS.
    pub tls: bool,
    /// The name to ask for, in TLS and in `Host`.
    pub server_name: String,
    /// The version that the program reports.
    pub version: Option<String>,
    /// Program and arguments as started; empty for a URL.
    pub command_line: Vec<String>,
    /// Its configuration as written for it.
    pub config: Option<String>,
    /// Its private directory, which stays after its end.
    pub dir: Option<PathBuf>,
    /// The user it was made to run as, if that is not bakeoff's.
    pub user: Option<String>,
    /// Time from start to ready.
    pub start_time: Nanos,
    /// The most that it may use.
    pub limits: Limits,
    /// The substitutions of its own start.
    pub(crate) substitutions: Substitutions,
    pub(crate) hits: HitMeter,
    pub(crate) logs: Vec<PathBuf>,
    pub(crate) supervisor: Option<Supervisor>,
    /// The data to start it anew in place; `None` if that cannot be done.
    pub(crate) again: Option<Again>,
    /// The layers under it.
    pub(crate) layers: Vec<Standing>,
    pub(crate) account: Account,
    /// For a URL: the process that the plan named.
    pub(crate) pid: Option<u32>,
}

/// The data needed to start a subject again.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) plan: Plan,
    pub(crate) ready: Option<String>,
    pub(crate) host: Ipv4Addr,
    pub(crate) start_timeout: Nanos,
}

impl Again {
    /// `None` if more than the server would have to be put up again: its layers, or the network it is in.
    pub(crate) fn of(context: &Context<'_>, plan: Plan, ready: Option<String>) -> Option<Self> {
        let alone = context.layers.is_empty() && context.network.is_none();
        let (host, start_timeout) = (context.host(), context.start_timeout);
        alone.then_some(Self { plan, ready, host, start_timeout })
    }
}

/// Outcome of the end of a subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopReport {
    /// Processes that did not end when asked, and were killed.
    pub killed: usize,
    /// Processes that not even that ended: stuck in the kernel.
    pub left: usize,
    /// User CPU of the whole subject, children included, as its parents reaped it.
    pub user: Nanos,
    /// System CPU likewise.
    pub system: Nanos,
}

impl Running {
    /// The processes of the subject at this moment: those below its supervisor, or the named process
    /// and those below it. Empty for a URL without `pid` and where `/proc` hides them.
    pub fn processes(&self) -> Vec<u32> {
        let root = self.supervisor.as_ref().map(Supervisor::pid).or(self.pid);
        let below = root.and_then(|root| process::descendants(root).ok()).unwrap_or_default();
        let named = self.pid.filter(|&pid| process::stat(pid).is_ok());
        named.into_iter().chain(below.iter().map(|stat| stat.pid)).collect()
    }

    /// The process started, or named.
    pub fn main_process(&self) -> Option<u32> {
        self.supervisor.as_ref().map(Supervisor::started).or(self.pid)
    }

    /// Its supervisor, which is not part of the subject.
    pub fn supervisor_process(&self) -> Option<u32> {
        self.supervisor.as_ref().map(Supervisor::pid)
    }

    /// CPU of all its processes so far, ended ones included. Call it when nothing is in flight. It never estimates:
    /// without a figure it gives the reason.
    pub fn cpu(&self) -> Result<CpuReading, CpuMissing> {
        self.account.read(self.supervisor.as_ref())
    }

    /// Number of times it met its limits since it was started: to be read where `cpu` is.
    pub fn limits_hit(&self) -> LimitsHit {
        self.hits.read()
    }

    /// Sum of the violations that its layers report; `None` when none counts them.
    pub fn violations_noted(&self) -> Option<u64> {
        stack::violations_noted(&self.layers)
    }

    /// Runs and CPU of its layers' programs in the kernel so far; `None` when none reports it.
    pub(crate) fn program_time(&self) -> Option<ProgramTime> {
        stack::program_time(&self.layers)
    }

    /// An error when it has ended, with how and its last words. (A command may leave its server
    /// behind and end with 0.) One system call.
    pub fn alive(&self) -> Result<(), SubjectError> {
        let arm = || self.arm.clone();
        let Some(supervisor) = &self.supervisor else { return self.named_is_alive() };
        let dir = self.dir.clone().unwrap_or_default();
        match still_there(supervisor) {
            Ok(None) => match stack::fallen(&self.layers) {
                None => Ok(()),
                Some(layer) => Err(SubjectError::LayerDied { arm: arm(), layer: layer.spec.name.clone() }),
            },
            Ok(Some(ending)) => {
                Err(SubjectError::Died { arm: arm(), ending, said: last_words(&dir, &self.logs) })
            }
            Err(source) => {
                Err(SubjectError::Supervisor { arm: arm(), source, log: dir.join("supervisor.log") })
            }
        }
    }

    fn named_is_alive(&self) -> Result<(), SubjectError> {
        match self.pid.map(bakeoff_sys::cpu_clock::process) {
            Some(Err(_)) => Err(SubjectError::Url {
                arm: self.arm.clone(),
                url: self.address.to_string(),
                reason: format!("its process {} has ended", self.pid.unwrap_or_default()),
            }),
            _ => Ok(()),
        }
    }

    /// Ends all of its processes, whatever they forked: asked first, killed after the grace.
    pub fn stop(mut self) -> StopReport {
        let Some(mut supervisor) = self.supervisor.take() else { return StopReport::default() };
        let farewell = supervisor.end();
        StopReport {
            killed: farewell.killed,
            left: farewell.left,
            user: farewell.used.user,
            system: farewell.used.system,
        }
    }
}
