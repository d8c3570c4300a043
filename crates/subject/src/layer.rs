//! Processes of a layer that commands put up and take down, such as the daemon of a mounted file system.
//!
//! Measuring side, cold path; only `cpu` is read around slices. The commands of one arm run one after the other under
//! one supervisor. Processes they leave behind (the daemon of a FUSE file system) stay below it, in its control group,
//! until the layer is stopped. Knows nothing of mounts and files.

use crate::SubjectError;
use crate::attached::await_ready;
use crate::command_end::CommandEnd;
use crate::cpu::{Account, CpuMissing, CpuReading};
use crate::run_command::{CommandJob, guard, guard_with, wait};
use crate::running::StopReport;
use crate::supervisor::Supervisor;
use crate::words::last_lines;
use bakeoff_sys::process;
use bakeoff_units::MonotonicClock;

/// The processes that commands have left running. Dropping it ends them, like `stop`.
#[derive(Debug, Default)]
pub struct Layer {
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    supervisor: Supervisor,
    account: Account,
}

/// Outcome of a command that may have left something running.
#[derive(Clone, Debug)]
pub struct Errand {
    /// Status of the command itself.
    pub status: CommandEnd,
    /// The last 20 lines of the standard output of this command and those before.
    pub stdout_tail: Vec<String>,
    /// The same of standard error.
    pub stderr_tail: Vec<String>,
}

impl Layer {
    /// Runs a command to its end and keeps what it leaves running. A command that takes too long,
    /// or that the user does not want to wait for, is ended with everything else of the layer.
    ///
    /// # Errors
    /// It could not be started, or its supervisor is gone. A status other than 0 is no error here.
    pub fn run(&mut self, job: &CommandJob<'_>) -> Result<Errand, SubjectError> {
        let clock = MonotonicClock::new();
        let (status, _) = wait(job, &self.launch(job)?.supervisor, &clock)?;
        if matches!(status, CommandEnd::TimedOut | CommandEnd::Interrupted) {
            self.stop();
        }
        Ok(Errand {
            status,
            stdout_tail: last_lines(&job.dir.join("stdout.log"), 20),
            stderr_tail: last_lines(&job.dir.join("stderr.log"), 20),
        })
    }

    /// Starts a daemon that runs as long as the layer, and returns when it is ready: when it has printed a line that
    /// begins with `ready`, or at once. Earlier output in `job.dir` counts too: give each start a new directory.
    ///
    /// # Errors
    /// It could not be started, has ended, or was not ready within the job's time limit; the layer is ended then.
    pub fn start(&mut self, job: &CommandJob<'_>, ready: Option<&str>) -> Result<(), SubjectError> {
        let clock = MonotonicClock::new();
        let begun = await_ready(job, &self.launch(job)?.supervisor, ready, &clock);
        if begun.is_err() {
            self.stop();
        }
        begun
    }

    /// Starts a command under the supervisor of those before.
    fn launch(&mut self, job: &CommandJob<'_>) -> Result<&Held, SubjectError> {
        Ok(match &mut self.held {
            Some(held) => {
                guard_with(job, &mut held.supervisor)?;
                held
            }
            none => {
                let supervisor = guard(None, job)?;
                let account = Account::of(&supervisor).map_err(|source| SubjectError::Supervisor {
                    arm: job.arm.clone(),
                    source,
                    log: job.dir.join("supervisor.log"),
                })?;
                none.insert(Held { supervisor, account })
            }
        })
    }

    /// CPU of all its processes so far, commands included; `None` when nothing was ever run. Only
    /// differences mean anything.
    ///
    /// # Errors
    /// The account cannot be read.
    pub fn cpu(&self) -> Result<Option<CpuReading>, CpuMissing> {
        self.held.as_ref().map(|held| held.account.read(Some(&held.supervisor))).transpose()
    }

    /// The processes of the layer at this moment.
    pub fn processes(&self) -> Vec<u32> {
        let root = self.held.as_ref().map(|held| held.supervisor.pid());
        let below = root.and_then(|root| process::descendants(root).ok()).unwrap_or_default();
        below.iter().map(|stat| stat.pid).collect()
    }

    /// Ends everything that is left: asked first, killed after the grace.
    pub fn stop(&mut self) -> StopReport {
        let Some(mut held) = self.held.take() else { return StopReport::default() };
        let farewell = held.supervisor.end();
        StopReport {
            killed: farewell.killed,
            left: farewell.left,
            user: farewell.used.user,
            system: farewell.used.system,
        }
    }
}
