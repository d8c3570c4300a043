//! Any program that serves HTTP, started with its command as written: no shell.
//!
//! It runs as bakeoff does, in the plan's directory (so that relative arguments mean what they
//! mean in the plan), and must listen on `{host}:{port}`.

use crate::SubjectError;
use crate::config::ConfigError;
use crate::program::{self, Place, Recipe, Subject};
use std::path::Path;

pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    pub(crate) ready: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) tls: bool,
}

impl Subject for Program {
    fn tls(&self) -> bool {
        self.tls
    }

    fn recipe(&self, place: &Place<'_>) -> Result<Recipe, SubjectError> {
        let wrong = |origin: &str, source| SubjectError::Config {
            arm: place.arm(),
            origin: origin.to_owned(),
            source,
        };
        let put_in = place.substitutions();
        let mut argv = Vec::with_capacity(self.argv.len());
        for word in &self.argv {
            argv.push(put_in.word(word).map_err(|error| wrong("command", error))?);
        }
        let Some(program) = argv.first_mut().filter(|program| !program.is_empty()) else {
            return Err(wrong("command", ConfigError::Empty));
        };
        let cwd = place.context.home.clone().unwrap_or_else(|| place.dir.clone());
        *program = program::resolve(program, &cwd).ok_or_else(|| no_program(place.arm(), program, &cwd))?;
        let mut env = Vec::with_capacity(self.env.len());
        for (name, value) in &self.env {
            env.push((name.clone(), put_in.word(value).map_err(|error| wrong("env", error))?));
        }
        Ok(Recipe { argv, env, cwd, ready: self.ready.clone(), ..Recipe::default() })
    }
}

/// There is no such program.
pub(crate) fn no_program(arm: String, program: &str, cwd: &Path) -> SubjectError {
    let remedy = format!("install it, or give its path, absolute or from {}", cwd.display());
    SubjectError::NoProgram { arm, program: program.to_owned(), remedy }
}
