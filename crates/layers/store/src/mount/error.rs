//! Why nothing was mounted, in sentences.
//!
//! Measured side, cold.

use bakeoff_layers_base::daemon::point::PointError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why nothing was mounted.
#[derive(Debug, Error)]
pub enum MountError {
    /// The mount point.
    #[error(transparent)]
    Point(#[from] PointError),
    /// FUSE is missing or refuses.
    #[error(
        "cannot mount on {} through FUSE: {error}; it needs /dev/fuse, and root or fusermount3",
        path.display()
    )]
    Fuse {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Signals, threads, the keeper.
    #[error("cannot serve: {0}")]
    Serve(io::Error),
    /// The filter of system calls.
    #[error("the kernel takes no filter of system calls ({0}); it needs CONFIG_SECCOMP_FILTER")]
    Confine(io::Error),
    /// The status file.
    #[error("cannot write the status file {}: {error}", path.display())]
    Status {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}
