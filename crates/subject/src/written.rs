//! Files that a plan brings for its arms: their texts lie in each private directory before anything is started there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file of a plan's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name in the private directory: one component of a path.
    pub name: String,
    /// What is in it, without substitutions.
    pub text: String,
}

/// How the path of a configuration begins that is one of them.
const HERE: &str = "{dir}/";

impl Written {
    /// What stands for the path of one of these.
    pub fn path(name: &str) -> PathBuf {
        PathBuf::from(format!("{HERE}{name}"))
    }

    /// Its name, where a path is of one of these.
    pub fn meant(path: &Path) -> Option<&str> {
        path.to_str()?.strip_prefix(HERE)
    }

    /// Writes it into a directory.
    ///
    /// # Errors
    /// The disk is full, or the directory cannot be written.
    pub fn put(&self, dir: &Path) -> io::Result<()> {
        fs::write(dir.join(&self.name), &self.text)
    }
}
