//! Commands of the plan that run before a server is started.
//!
//! Cold path. For what a configuration needs and every start should have anew, such as a file with
//! a thousand rules. They run as the server will, so that what they write is the server's, and
//! under a guardian of their own, so that nothing of them is left when the server starts.

use crate::SubjectError;
use crate::cpu::CpuChoice;
use crate::program::Place;
use crate::run_command::{Job, Status, run_as};
use crate::user::Runner;
use crate::words::last_words;

/// Runs them in order; the first that fails ends it. `env` is what the server's environment has
/// besides that of every subject.
pub(crate) fn run(
    place: &Place<'_>,
    runner: Option<&Runner>,
    env: &[(String, String)],
) -> Result<(), SubjectError> {
    let context = place.context;
    for words in &context.prepare {
        let job = Job {
            arm: place.arm(),
            argv: place.command(words, "prepare")?,
            env: env.to_vec(),
            cwd: place.cwd(),
            dir: place.dir.clone(),
            cpus: context.cpus.clone(),
            time_limit: Some(context.start_timeout),
            cpu_source: CpuChoice::Clocks, // nobody asks
            grace: context.grace,
            executable: context.executable.clone(),
            interrupted: context.interrupted,
        };
        let arm = place.arm();
        match run_as(runner.map(|runner| runner.user), &job)?.status {
            Status::Exited(0) => {}
            Status::Interrupted => return Err(SubjectError::Interrupted { arm }),
            status => {
                let command = job.argv.join(" ");
                return Err(SubjectError::Prepare {
                    arm,
                    command,
                    status,
                    said: last_words(&place.dir, &[]),
                });
            }
        }
    }
    Ok(())
}
