//! Why a tree is not enforced, and what to do.

use bakeoff_layers_base::key::KeyError;
use bakeoff_layers_base::manifest::HighWaterError;
use bakeoff_layers_base::manifest::load::LoadError;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no enforcement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnforceError {
    /// The kernel says no to permission events.
    #[error("the kernel gives no permission events (fanotify): {}", fanotify(.0))]
    Fanotify(io::Error),
    /// The tree's root.
    #[error("{}: {source}; give a directory that is there", .path.display())]
    Root {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A mark was refused.
    #[error("{}: the kernel takes no permission mark there: {source}; the file system may not support it: put the tree on another", .path.display())]
    Mark {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Guarding it would stop the machine or the guard itself.
    #[error("{}: cannot be guarded: {why}", .path.display())]
    Unguardable {
        /// The tree.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Something about which nobody would be asked, or not about what it seems to be.
    #[error("{}: {what}; nobody would be asked about what is opened there: remove it, or take the gap on with --links allow", escaped(.path))]
    Odd {
        /// Below the tree's root.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// No such manifest.
    #[error(transparent)]
    Manifest(#[from] LoadError),
    /// No key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No high-water mark.
    #[error(transparent)]
    HighWater(#[from] HighWaterError),
    /// A mode without what it needs.
    #[error("--mode {mode} needs {needs}")]
    Needs {
        /// Which mode.
        mode: &'static str,
        /// Which flag.
        needs: &'static str,
    },
    /// The process that `stop` ends.
    #[error("--stop-pid {pid}: {source}; give the number of the server's first process, while it runs")]
    Server {
        /// Its number.
        pid: u32,
        /// Why it cannot be told from others.
        source: io::Error,
    },
    /// A file that is written while enforcing.
    #[error("{}: {source}; give a path that can be written", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The worker could not be started, or ended before it had armed.
    #[error("the worker did not start: {0}")]
    Worker(String),
    /// Something of the operating system.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
}

impl EnforceError {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// A path from the tree, whose name may hold anything, for one line of text.
pub(crate) fn escaped(path: &Path) -> String {
    crate::words::plain(&path.to_string_lossy())
}

fn fanotify(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) => "that needs CAP_SYS_ADMIN; run as root".to_owned(),
        Some(libc::ENOSYS | libc::EINVAL) => {
            "it was built without them (CONFIG_FANOTIFY_ACCESS_PERMISSIONS); use one that has them".to_owned()
        }
        Some(libc::EMFILE) => {
            "too many groups or open files; raise fs.fanotify.max_user_groups with sysctl".to_owned()
        }
        _ => error.to_string(),
    }
}
