//! Preparatory commands: the plan's commands that run before a server is started.
//!
//! Cold path. For what a configuration needs and every start should have anew, such as a file with a thousand rules.
//! They run as the server will, so that what they write is the server's. They run under a supervisor of their own, so
//! that nothing of them is left when the server starts.

use crate::SubjectError;
use crate::command_end::CommandEnd;
use crate::cpu::CpuChoice;
use crate::program::{Recipe, StartSite};
use crate::run_command::{CommandJob, run_as};
use crate::user::Runner;
use crate::words::last_words;
use std::path::PathBuf;

/// Runs them in order; the first that fails ends it. `env`: variables of the server beyond those of every subject.
pub(crate) fn run(
    place: &StartSite<'_>,
    runner: Option<&Runner>,
    env: &[(String, String)],
) -> Result<(), SubjectError> {
    place.context.prepare.iter().try_for_each(|words| {
        let argv = place.command(words, "prepare")?;
        run_one(place, runner, env, argv, place.cwd(), &[])
    })
}

/// A server's own commands that make its files, run in the directory it will run in.
pub(crate) fn run_own(
    place: &StartSite<'_>,
    runner: Option<&Runner>,
    env: &[(String, String)],
    recipe: &Recipe,
) -> Result<(), SubjectError> {
    recipe
        .before
        .iter()
        .try_for_each(|argv| run_one(place, runner, env, argv.clone(), recipe.cwd.clone(), &recipe.logs))
}

fn run_one(
    place: &StartSite<'_>,
    runner: Option<&Runner>,
    env: &[(String, String)],
    argv: Vec<String>,
    cwd: PathBuf,
    logs: &[PathBuf],
) -> Result<(), SubjectError> {
    let context = place.context;
    let arm = place.arm();
    let job = CommandJob {
        arm: arm.clone(),
        argv,
        env: env.to_vec(),
        cwd,
        dir: place.dir.clone(),
        cpus: context.cpus.clone(),
        time_limit: Some(context.start_timeout),
        cpu_source: CpuChoice::Clocks, // nobody asks
        grace: context.grace,
        executable: context.executable.clone(),
        interrupted: context.interrupted,
    };
    match run_as(runner.map(|runner| runner.user), &job)?.status {
        CommandEnd::Exited(0) => Ok(()),
        CommandEnd::Interrupted => Err(SubjectError::Interrupted { arm }),
        status => {
            let said = last_words(&place.dir, logs);
            Err(SubjectError::Prepare { arm, command: job.argv.join(" "), status, said })
        }
    }
}
