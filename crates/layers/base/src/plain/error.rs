//! Error of a file, with its path and what was tried.
//!
//! Measured side, cold.

use std::io;
use std::path::{Path, PathBuf};

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}; give a path that can be {what}", .path.display())]
pub struct PathError {
    /// Path of the file.
    pub path: PathBuf,
    /// `read` or `written`.
    what: &'static str,
    /// The I/O error.
    pub source: io::Error,
}

impl PathError {
    /// Of reading this file.
    pub fn read(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self { path: path.to_owned(), what: "read", source }
    }

    /// Of writing this file, if there is to be one.
    pub fn written<'p>(path: impl Into<Option<&'p Path>>) -> impl Fn(io::Error) -> Self {
        let path = path.into().unwrap_or(Path::new(""));
        move |source| Self { path: path.to_owned(), what: "written", source }
    }
}
