//! Wraps: commands that a supervisor puts before a program's own, such as a sandbox, a launcher or a profiler.
//!
//! Measuring side, cold path. Owns how several are nested and what each reports of itself. The program that is started
//! is the outermost wrap; whatever it becomes stays below the supervisor, in its account.

pub(crate) mod spec;

pub use spec::WrapSpec;

use crate::SubjectError;
use crate::config::Substitutions;
use crate::program;
use crate::prove::{Proof, prove_by};
use crate::run_command::CommandJob;
use crate::stack::{LAYERS, Standing};
use crate::written::outside;
use std::path::Path;

/// A command with these wraps before it, the outermost first; their programs are found from `cwd` or the `PATH`.
///
/// # Errors
/// A word that cannot be filled in, a program that is not there.
pub fn wrapped(
    wraps: &[WrapSpec],
    argv: Vec<String>,
    (arm, known, cwd): (&str, &Substitutions, &Path),
) -> Result<Vec<String>, SubjectError> {
    let known = with_layers(known);
    let words = wraps
        .iter()
        .map(|wrap| program::command(arm, &known, &wrap.words, &format!("wrap {}", wrap.name), cwd));
    let mut all = words.collect::<Result<Vec<_>, _>>()?.concat();
    all.extend(argv);
    Ok(all)
}

/// Results of the proofs of a command's wraps, by name. `job` is a command of the same arm in everything but its words,
/// with a directory that holds no output yet.
///
/// # Errors
/// As [`prove_by`].
pub fn prove_wraps(
    wraps: &[WrapSpec],
    known: &Substitutions,
    job: &CommandJob<'_>,
) -> Result<Vec<(String, Proof)>, SubjectError> {
    let known = with_layers(known);
    let mut proofs = Vec::new();
    for wrap in wraps {
        if let Some(argv) = &wrap.proof {
            let argv = program::command(&job.arm, &known, argv, "proof", &job.cwd)?;
            proofs.push((wrap.name.clone(), prove_by(&CommandJob { argv, ..job.clone() })?));
        }
    }
    Ok(proofs)
}

impl WrapSpec {
    pub(crate) fn standing(&self, known: &Substitutions) -> Option<Standing> {
        Standing::telling(&self.name, (&self.proof, &self.status, &self.violations), &with_layers(known))
    }
}

/// Adds `{outside}`, the wraps' directory, `{bakeoff}`, this executable, and `{layers}`, the one with our own layers,
/// which lies beside it.
fn with_layers(known: &Substitutions) -> Substitutions {
    let mut known = known.clone();
    if let Ok(executable) = std::env::current_exe() {
        let outside = outside(Path::new(&known.dir));
        let own =
            [("outside", outside), ("layers", executable.with_file_name(LAYERS)), ("bakeoff", executable)];
        let own = own.map(|(name, path)| (name.to_owned(), path.display().to_string()));
        own.into_iter().for_each(|(name, path)| {
            known.values.entry(name).or_insert(path);
        });
    }
    known
}
