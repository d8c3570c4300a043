//! A stack of layers without a server, which commands run over one after the other.
//!
//! Measuring side, cold path. The stack is up for all runs of an arm; each command runs below the supervisor of the
//! stack, in its mount namespace, so that it finds what the layers show. Work that a daemon of the stack does meanwhile
//! counts as the command's.

use crate::command_end::CommandEnd;
use crate::config::Substitutions;
use crate::context::Context;
use crate::cpu::Account;
use crate::prove::{Proof, prove_standing};
use crate::run_command::{CommandJob, CommandOutcome, guard_with, run_command, wait};
use crate::stack::{self, Stack};
use crate::words::last_lines;
use crate::{SubjectError, build_layers};
use bakeoff_units::{Bytes, MonotonicClock};
use std::fs;
use std::path::{Path, PathBuf};

/// A stack that is up. Dropping it ends it.
#[derive(Debug)]
pub struct Layered {
    arm: String,
    /// Directory for the output of its daemons.
    dir: PathBuf,
    stack: Stack,
    account: Option<Account>,
}

impl Layered {
    /// Builds the layers of the context over its root, and puts them up.
    ///
    /// # Errors
    /// A command of a layer failed; nothing is left up then.
    pub fn raise(context: &Context<'_>) -> Result<Self, SubjectError> {
        build_layers(context)?;
        let dir = context.base.join(format!("{}.stack", context.arm));
        let made = fs::create_dir_all(&dir);
        made.map_err(|source| SubjectError::Dir { arm: context.arm.clone(), path: dir.clone(), source })?;
        let ceiling = context.limits.ceiling(&context.arm, [&context.root, &dir])?;
        let stack = stack::raise(context, &dir, &ceiling)?;
        let lost = |source| SubjectError::Supervisor {
            arm: context.arm.clone(),
            source,
            log: dir.join("supervisor.log"),
        };
        let account = stack.supervisor.as_ref().map(Account::of).transpose().map_err(lost)?;
        Ok(Self { arm: context.arm.clone(), dir, stack, account })
    }

    /// Directory in which a command finds the files.
    pub fn root(&self) -> &Path {
        &self.stack.root
    }

    /// Runs a command to its end. One that takes too long, or that the user does not want to wait for, is ended with
    /// the whole stack: the next command needs another.
    ///
    /// # Errors
    /// It could not be started, or a layer has fallen. A status other than 0 is no error here.
    pub fn run(&mut self, job: &CommandJob<'_>) -> Result<CommandOutcome, SubjectError> {
        let (Some(supervisor), Some(account)) = (&mut self.stack.supervisor, &self.account) else {
            return run_command(job); // nothing of it stays up
        };
        let lost = |source| SubjectError::Supervisor {
            arm: self.arm.clone(),
            source,
            log: self.dir.join("supervisor.log"),
        };
        let before = (supervisor.reaped().map_err(lost)?, account.read(Some(supervisor)).ok());
        guard_with(job, supervisor)?;
        let (status, elapsed) = wait(job, supervisor, &MonotonicClock::new())?;
        if matches!(status, CommandEnd::TimedOut | CommandEnd::Interrupted) {
            supervisor.kill().map_err(lost)?;
        }
        let after = (supervisor.reaped().map_err(lost)?, account.read(Some(supervisor)).ok());
        let fallen = stack::fallen(&self.stack.layers)
            .filter(|_| matches!(status, CommandEnd::Exited(_) | CommandEnd::Killed(_)));
        if let Some(layer) = fallen {
            return Err(SubjectError::LayerDied { arm: self.arm.clone(), layer: layer.spec.name.clone() });
        }
        let cpu = after.1.zip(before.1).map(|(mut after, before)| {
            after.nanos = after.nanos.since(before.nanos);
            after
        });
        Ok(CommandOutcome {
            status,
            elapsed,
            user: after.0.user.since(before.0.user),
            system: after.0.system.since(before.0.system),
            cpu,
            max_rss: Bytes::new(after.0.max_rss),
            killed: 0,
            stdout_tail: last_lines(&job.dir.join("stdout.log"), 20),
            stderr_tail: last_lines(&job.dir.join("stderr.log"), 20),
        })
    }

    /// Results of its layers' proofs, by layer.
    ///
    /// # Errors
    /// As [`crate::prove`].
    pub fn prove(&self, context: &Context<'_>) -> Result<Vec<(String, Proof)>, SubjectError> {
        prove_standing(&self.stack.layers, Substitutions::clone, context)
    }
}
