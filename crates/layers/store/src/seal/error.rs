//! Errors of a sealing.
//!
//! Measured side, cold. Each names the file and what to do.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Reason for not sealing a tree. No vault is left then.
#[derive(Debug, Error)]
pub enum SealError {
    /// A part of the tree could not be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Path of the file or directory.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// The vault could not be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// The given path is no directory.
    #[error("{} is not a directory; a store is sealed from a directory", .0.display())]
    NotADirectory(PathBuf),
    /// A device, socket or pipe.
    #[error("{} is a {what}, which a vault cannot hold; remove it or seal another directory", path.display())]
    Special {
        /// Path of the file.
        path: PathBuf,
        /// The kind of file.
        what: &'static str,
    },
    /// The tree changed while it was read.
    #[error("{} {how} while it was being sealed; stop what writes there and seal again", path.display())]
    Changed {
        /// Path of the file or directory.
        path: PathBuf,
        /// `changed`, `appeared` or `vanished`.
        how: &'static str,
    },
    /// The vault would be part of itself.
    #[error("the vault {} would lie in the directory that is sealed; choose another place", .0.display())]
    Inside(PathBuf),
    /// More files than the format counts.
    #[error("more than four thousand million files; seal parts of the tree")]
    TooMany,
    /// The cipher library failed.
    #[error("the cipher library failed; is the processor's random source there?")]
    Cipher,
}
