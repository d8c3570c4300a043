//! Files that a plan brings for its arms, written into each private directory before anything is started there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file that a plan brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name in the private directory: one component of a path.
    pub name: String,
    /// Its contents, without substitutions.
    pub text: String,
}

/// Prefix of a configuration's path that names such a file.
const HERE: &str = "{dir}/";

impl Written {
    /// The path that stands for this file.
    pub fn path(name: &str) -> PathBuf {
        PathBuf::from(format!("{HERE}{name}"))
    }

    /// Its name, if the path is that of such a file.
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
