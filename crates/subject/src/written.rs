//! Files that a plan brings for its arms: their texts lie in each private directory before anything is started there.

use std::fs;
use std::io;
use std::path::Path;

/// A file of a plan's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name in the private directory: one component of a path.
    pub name: String,
    /// What is in it, without substitutions.
    pub text: String,
}

/// How a configuration is named that is one of them.
const HERE: &str = "{dir}/";

impl Written {
    /// The name of the file that a path of the plan means, where it means one of these.
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
