//! Programs and files without which an arm, or a part of a suite, is left out: `needs`.

use bakeoff_subject::resolve_program;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// A program, as a name that is looked for in `PATH` or as a path; a path may be that of any file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Need {
    /// `"caddy"`
    Program(String),
    /// `{ program = "caddy", install = "apt install caddy" }`
    Installed {
        /// The program.
        program: String,
        /// A line that installs it.
        install: String,
    },
}

impl Need {
    /// Its name or path.
    pub fn program(&self) -> &str {
        match self {
            Self::Program(program) | Self::Installed { program, .. } => program,
        }
    }

    /// Whether this machine has it; relative paths start from `base`.
    pub fn is_here(&self, base: &Path) -> bool {
        resolve_program(self.program(), base).is_some_and(|path| Path::new(&path).is_file())
    }
}

/// That it is missing, and how to get it.
impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.program().contains('/') { "file" } else { "program" };
        write!(f, "there is no {noun} `{}` on this machine; ", self.program())?;
        match self {
            Self::Program(_) => f.write_str("install it and run anew"),
            Self::Installed { install, .. } => write!(f, "`{install}`, and run anew"),
        }
    }
}
