//! A command as workload: run to its end on the subject's cores, under a supervisor.

use crate::SubjectError;
use crate::cgroup::Ceiling;
use crate::command_end::CommandEnd;
use crate::config::ConfigError;
use crate::context::environment;
use crate::cpu::{Account, CpuChoice, CpuReading};
use crate::litter::Litter;
use crate::program::{self, no_program};
use crate::supervisor::{Exit, LaunchError, Plan, Supervisor};
use crate::words::last_lines;
use bakeoff_sys::process::{Ending, User};
use bakeoff_units::{Bytes, Clock, MonotonicClock, Nanos};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// A command to run, with its surroundings.
#[derive(Clone, Debug)]
pub struct CommandJob<'a> {
    /// Name of the arm, for messages.
    pub arm: String,
    /// Program and arguments, substitutions made; no shell. A program with a `/` is taken from
    /// `cwd`.
    pub argv: Vec<String>,
    /// Added to the minimal environment that subjects have.
    pub env: Vec<(String, String)>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// An existing directory for its output; one per job, earlier output is kept in front.
    pub dir: PathBuf,
    /// Its cores; empty: wherever bakeoff may run.
    pub cpus: Vec<usize>,
    /// Time after which it is ended.
    pub time_limit: Option<Nanos>,
    /// Source to read its CPU from.
    pub cpu_source: CpuChoice,
    /// Time that it may take to end when asked.
    pub grace: Nanos,
    /// The bakeoff executable, for the supervisor; none: the running one.
    pub executable: Option<PathBuf>,
    /// Set when the user wants to stop; it is ended then.
    pub interrupted: &'a AtomicBool,
}

/// End and cost of a command.
#[derive(Clone, Debug)]
pub struct CommandOutcome {
    /// Its end.
    pub status: CommandEnd,
    /// From just before it was started until it was reaped, on the supervisor's clock. Processes it
    /// left behind are ended afterwards and do not count here.
    pub elapsed: Nanos,
    /// User CPU of the whole tree, also of processes that detached themselves. The sum of user and
    /// system is exact to a microsecond a process, the split is the kernel's estimate. Children
    /// nobody waited for (ignored `SIGCHLD`) are missing; `cpu` by cgroup has them.
    pub user: Nanos,
    /// System CPU likewise.
    pub system: Nanos,
    /// CPU of the whole tree by cgroup, where one could be made.
    pub cpu: Option<CpuReading>,
    /// Largest resident set of any one process.
    pub max_rss: Bytes,
    /// Processes left behind that did not end when asked.
    pub killed: usize,
    /// The last 20 lines of its standard output.
    pub stdout_tail: Vec<String>,
    /// The last 20 lines of its standard error.
    pub stderr_tail: Vec<String>,
}

/// Runs it to its end. A non-zero status is not an error here: the caller judges.
pub fn run_command(job: &CommandJob<'_>) -> Result<CommandOutcome, SubjectError> {
    run_as(None, job)
}

/// The same as another user.
pub(crate) fn run_as(user: Option<User>, job: &CommandJob<'_>) -> Result<CommandOutcome, SubjectError> {
    let clock = MonotonicClock::new();
    let mut supervisor = guard(user, job)?;
    let account = supervisor.groups().account.as_ref().and_then(|_| Account::of(&supervisor).ok());
    let (status, elapsed) = wait(job, &supervisor, &clock)?;
    let mut cpu = account.and_then(|account| account.read(None).ok());
    let farewell = supervisor.end();
    if let (Some(reading), Some(last)) = (&mut cpu, farewell.group) {
        reading.nanos = last; // with what was left behind, just before the cgroup went
    }
    Ok(CommandOutcome {
        status,
        elapsed,
        user: farewell.used.user,
        system: farewell.used.system,
        cpu,
        max_rss: Bytes::new(farewell.used.max_rss),
        killed: farewell.killed,
        stdout_tail: last_lines(&job.dir.join("stdout.log"), 20),
        stderr_tail: last_lines(&job.dir.join("stderr.log"), 20),
    })
}

pub(crate) fn wait(
    job: &CommandJob<'_>,
    supervisor: &Supervisor,
    clock: &MonotonicClock,
) -> Result<(CommandEnd, Nanos), SubjectError> {
    loop {
        let exit = supervisor.exit(Nanos::from_millis(50)).map_err(|source| supervisor_error(job, source))?;
        if let Some(Exit { ending, elapsed }) = exit {
            let status = match ending {
                Ending::Exited(code) => CommandEnd::Exited(code),
                Ending::Killed(signal) => CommandEnd::Killed(signal),
            };
            return Ok((status, elapsed));
        }
        if job.interrupted.load(Ordering::Relaxed) {
            return Ok((CommandEnd::Interrupted, clock.now()));
        }
        if job.time_limit.is_some_and(|limit| clock.now() >= limit) {
            return Ok((CommandEnd::TimedOut, clock.now()));
        }
    }
}

/// Starts it under a supervisor of its own.
pub(crate) fn guard(user: Option<User>, job: &CommandJob<'_>) -> Result<Supervisor, SubjectError> {
    launch(job, plan(user, job)?)
}

fn launch(job: &CommandJob<'_>, plan: Plan) -> Result<Supervisor, SubjectError> {
    let executable = job.executable.clone().map_or_else(bakeoff_sys::process::own_executable, Ok);
    let executable = executable.map_err(|source| supervisor_error(job, source))?;
    let command = [executable.into(), crate::supervisor::WORD.into()];
    Supervisor::launch(&command, plan).map_err(|error| launch_error(job, error))
}

/// Starts it as the first of a stack of layers: under a supervisor of its own, under the limits that
/// the whole arm will have, with a mount namespace to itself.
pub(crate) fn guard_in(job: &CommandJob<'_>, ceiling: Ceiling) -> Result<Supervisor, SubjectError> {
    launch(job, Plan { ceiling, own_mounts: true, ..plan(None, job)? })
}

/// Starts it under a supervisor of its own, to be spoken to.
pub(crate) fn guard_speaking(job: &CommandJob<'_>) -> Result<Supervisor, SubjectError> {
    launch(job, Plan { speaks: true, ..plan(None, job)? })
}

/// Starts it under an existing supervisor.
pub(crate) fn guard_with(job: &CommandJob<'_>, supervisor: &mut Supervisor) -> Result<(), SubjectError> {
    supervisor.launch_next(plan(None, job)?).map_err(|error| launch_error(job, error))
}

fn plan(user: Option<User>, job: &CommandJob<'_>) -> Result<Plan, SubjectError> {
    let mut argv = job.argv.clone();
    let Some(program) = argv.first_mut().filter(|program| !program.is_empty()) else {
        return Err(SubjectError::Config {
            arm: job.arm.clone(),
            origin: "command".into(),
            source: ConfigError::Empty,
        });
    };
    *program =
        program::resolve(program, &job.cwd).ok_or_else(|| no_program(job.arm.clone(), program, &job.cwd))?;
    Ok(Plan {
        argv,
        env: environment(&job.dir, job.env.clone(), 0),
        cwd: job.cwd.clone(),
        dir: job.dir.clone(),
        cpus: job.cpus.clone(),
        user: user.map(|user| (user.uid, user.gid)),
        cpu: job.cpu_source,
        ceiling: Ceiling::default(),
        own_mounts: false,
        speaks: false,
        grace_ms: job.grace.get() / 1_000_000,
        litter: Litter::default(),
    })
}

fn launch_error(job: &CommandJob<'_>, error: LaunchError) -> SubjectError {
    match error {
        LaunchError::Supervisor(source) => supervisor_error(job, source),
        LaunchError::NotFound => {
            no_program(job.arm.clone(), job.argv.first().map_or("", String::as_str), &job.cwd)
        }
        LaunchError::Limits(reason) => SubjectError::Limit { arm: job.arm.clone(), reason },
        LaunchError::Failed { doing, error } => {
            SubjectError::Spawn { arm: job.arm.clone(), doing, message: error, command: job.argv.join(" ") }
        }
    }
}

pub(crate) fn supervisor_error(job: &CommandJob<'_>, source: std::io::Error) -> SubjectError {
    SubjectError::Supervisor { arm: job.arm.clone(), source, log: job.dir.join("supervisor.log") }
}
