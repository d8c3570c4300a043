//! Layers under a server: put up in order, from the files to the server, before it starts.
//!
//! Measuring side, cold path. Owns what happens between the site on disk and the root that the server is given: each
//! layer is built once for an arm, put up before each start, and finds below it what the layer before shows. Commands
//! and daemons of a stack run under the supervisor under which the server starts afterwards, in one account and under one
//! limit, and in a mount namespace of their own: no other process sees what they mount, and it goes when they do,
//! however that happens. Knows no layer by name: all are commands, our own as well.

mod build;
mod daemon;
pub(crate) mod spec;
mod status;

pub use build::build;
pub use spec::LayerSpec;
pub use status::ProgramTime;
pub(crate) use status::{fallen, program_time, violations_noted};

use crate::cgroup::Ceiling;
use crate::command_end::CommandEnd;
use crate::config::Substitutions;
use crate::context::Context;
use crate::program;
use crate::run_command::{CommandJob, guard_in, guard_with, wait};
use crate::supervisor::Supervisor;
use crate::words::last_words;
use crate::{LastWords, SubjectError};
use bakeoff_units::{MonotonicClock, Nanos};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the executable that holds our own layers, beside bakeoff's.
pub const LAYERS: &str = "bakeoff-layers";

/// A stack that is up, or is being put up.
#[derive(Debug)]
pub(crate) struct Stack {
    /// The supervisor above all that was started; none as long as nothing was.
    pub(crate) supervisor: Option<Supervisor>,
    /// Directory in which the next layer, or the server, finds the files.
    pub(crate) root: PathBuf,
    pub(crate) layers: Vec<Standing>,
}

/// A layer that is up.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) spec: LayerSpec,
    pub(crate) substitutions: Substitutions,
    /// Its process, if it has one that stays.
    pub(crate) daemon: Option<u32>,
}

impl Standing {
    /// A standing part that is no layer under a server: its proof, its status, its counter of violations. `None` if it
    /// has none of them.
    pub(crate) fn telling(
        name: &str,
        (proof, status, violations): (&Option<Vec<String>>, &Option<String>, &Option<String>),
        substitutions: &Substitutions,
    ) -> Option<Self> {
        if proof.is_none() && status.is_none() {
            return None;
        }
        let (proof, status, violations) = (proof.clone(), status.clone(), violations.clone());
        let spec = LayerSpec { name: name.to_owned(), proof, status, violations, ..LayerSpec::default() };
        Some(Self { spec, substitutions: substitutions.clone(), daemon: None })
    }
}

/// Puts up the stack of an arm. `dir` is the private directory of this start. Nothing is left when
/// it fails.
pub(crate) fn raise(context: &Context<'_>, dir: &Path, ceiling: &Ceiling) -> Result<Stack, SubjectError> {
    let mut stack = Stack { supervisor: None, root: context.root.clone(), layers: Vec::new() };
    for layer in &context.layers {
        let prints = dir.join(&layer.name);
        let made = fs::create_dir(&prints);
        made.map_err(|source| SubjectError::Dir { arm: context.arm.clone(), path: prints.clone(), source })?;
        let substitutions = substitutions(context, layer, &stack.root)?;
        let task = Task { context, layer, substitutions: &substitutions, prints: &prints };
        stack.add(&task, ceiling)?;
    }
    Ok(stack)
}

impl Stack {
    fn add(&mut self, task: &Task<'_>, ceiling: &Ceiling) -> Result<(), SubjectError> {
        let (layer, patience) = (task.layer, task.context.start_timeout);
        for words in &layer.up {
            let job = task.job(words, "up", patience)?;
            let supervisor = self.launch(&job, ceiling)?;
            match wait(&job, supervisor, &MonotonicClock::new())?.0 {
                CommandEnd::Exited(0) => {}
                status => return Err(task.failed(&job, status)),
            }
        }
        let mut daemon = None;
        if let Some(words) = &layer.daemon {
            let job = task.job(words, "daemon", patience)?;
            let supervisor = self.launch(&job, ceiling)?;
            task.await_ready(&job, supervisor)?;
            daemon = Some(supervisor.started());
        }
        if let Some(word) = &layer.root {
            self.root = PathBuf::from(task.word(word)?);
        }
        self.layers.push(Standing { spec: layer.clone(), substitutions: task.substitutions.clone(), daemon });
        Ok(())
    }

    fn launch(&mut self, job: &CommandJob<'_>, ceiling: &Ceiling) -> Result<&Supervisor, SubjectError> {
        Ok(match &mut self.supervisor {
            Some(supervisor) => {
                guard_with(job, supervisor)?;
                supervisor
            }
            none => none.insert(guard_in(job, ceiling.clone())?),
        })
    }
}

/// Values for `{...}` in a layer's commands.
fn substitutions(
    context: &Context<'_>,
    layer: &LayerSpec,
    under: &Path,
) -> Result<Substitutions, SubjectError> {
    let text = |path: &Path| path.display().to_string();
    let mut values = context.values.clone();
    values.insert("under".to_owned(), text(under));
    values.insert("reference".to_owned(), text(&context.reference));
    let executable = context.executable().map_err(|source| SubjectError::Layer {
        arm: context.arm.clone(),
        layer: layer.name.clone(),
        what: format!("where this program lies cannot be read ({source})"),
        said: LastWords::default(),
    })?;
    values.insert("layers".to_owned(), text(&executable.with_file_name(LAYERS)));
    Ok(Substitutions {
        dir: text(&layer.home(&context.base, &context.arm)),
        root: text(under),
        values,
        ..Substitutions::default()
    })
}

/// One layer's part of a stack while it is put up or built.
struct Task<'a> {
    context: &'a Context<'a>,
    layer: &'a LayerSpec,
    substitutions: &'a Substitutions,
    /// Directory for its output.
    prints: &'a Path,
}

impl<'a> Task<'a> {
    fn word(&self, word: &str) -> Result<String, SubjectError> {
        self.substitutions.word(word).map_err(|source| SubjectError::Config {
            arm: self.context.arm.clone(),
            origin: format!("layer {}", self.layer.name),
            source,
        })
    }

    fn job(&self, words: &[String], step: &str, limit: Nanos) -> Result<CommandJob<'a>, SubjectError> {
        let context = self.context;
        let cwd = context.home.clone().unwrap_or_else(|| self.prints.to_owned());
        let origin = format!("layer {}, {step}", self.layer.name);
        Ok(CommandJob {
            arm: context.arm.clone(),
            argv: program::command(&context.arm, self.substitutions, words, &origin, &cwd)?,
            env: Vec::new(),
            cwd,
            dir: self.prints.to_owned(),
            cpus: context.cpus.clone(),
            time_limit: Some(limit),
            cpu_source: context.cpu_source,
            grace: context.grace,
            executable: context.executable.clone(),
            interrupted: context.interrupted,
        })
    }

    fn failed(&self, job: &CommandJob<'_>, status: CommandEnd) -> SubjectError {
        let arm = self.context.arm.clone();
        match status {
            CommandEnd::Interrupted => SubjectError::Interrupted { arm },
            status => self.wrong(&job.argv.join(" "), &format!("failed ({status})")),
        }
    }

    fn wrong(&self, command: &str, what: &str) -> SubjectError {
        SubjectError::Layer {
            arm: self.context.arm.clone(),
            layer: self.layer.name.clone(),
            what: format!("`{command}` {what}"),
            said: last_words(self.prints, &[]),
        }
    }
}
