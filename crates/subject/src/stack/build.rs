//! Build of a layer, done once: its image, manifest or key.

use super::{Task, substitutions};
use crate::SubjectError;
use crate::command_end::CommandEnd;
use crate::context::Context;
use crate::cpu::CpuChoice;
use crate::run_command::run_command;
use bakeoff_units::Nanos;
use std::fs;
use std::path::{Path, PathBuf};

/// Time limit: a build seals or copies a whole site.
const PATIENCE: Nanos = Nanos::from_secs(600);

/// Builds the layers of an arm, in order; `{under}` is the site, as nothing is up yet. Done once: a layer whose
/// directory is there is built. A build runs as bakeoff's user and on bakeoff's cores.
///
/// # Errors
/// A command failed; what it made is removed again.
pub fn build(context: &Context<'_>) -> Result<(), SubjectError> {
    for layer in &context.layers {
        let home = layer.home(&context.base, &context.arm);
        if home.exists() {
            continue;
        }
        let failed = |source| SubjectError::Dir { arm: context.arm.clone(), path: home.clone(), source };
        fs::create_dir_all(&home).map_err(failed)?;
        let substitutions = substitutions(context, layer, &context.root)?;
        let prints = prints(&home);
        fs::create_dir_all(&prints).map_err(failed)?;
        let task = Task { context, layer, substitutions: &substitutions, prints: &prints };
        if let Err(error) = task.build() {
            let _ = fs::remove_dir_all(&home); // what it printed stays beside it
            return Err(error);
        }
    }
    Ok(())
}

/// Directory for its output, beside the layer's own directory, which is the layer's alone.
fn prints(home: &Path) -> PathBuf {
    let mut name = home.file_name().unwrap_or_default().to_owned();
    name.push(".build");
    home.with_file_name(name)
}

impl Task<'_> {
    fn build(&self) -> Result<(), SubjectError> {
        for words in &self.layer.build {
            let mut job = self.job(words, "build", PATIENCE)?;
            job.cpu_source = CpuChoice::Clocks; // nobody asks
            job.cpus = Vec::new();
            match run_command(&job)?.status {
                CommandEnd::Exited(0) => {}
                status => return Err(self.failed(&job, status)),
            }
        }
        Ok(())
    }
}
