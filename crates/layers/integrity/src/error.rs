//! Errors that prevent the enforcement of a tree, with what to do.

use bakeoff_layers_base::key::KeyError;
use bakeoff_layers_base::manifest::HighWaterError;
use bakeoff_layers_base::manifest::load::LoadError;
use bakeoff_layers_base::name::EscapedName;
use bakeoff_layers_base::plain::PathError;
use bakeoff_layers_base::release::ReleaseRefusal;
use std::io;
use std::path::{Path, PathBuf};

/// Reason for not enforcing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnforceError {
    /// The kernel refuses permission events.
    #[error("the kernel gives no permission events (fanotify): {}", fanotify(.0))]
    Fanotify(io::Error),
    /// The tree's root cannot be used.
    #[error("{}: {source}; give a directory that is there", .path.display())]
    Root {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// One tree has one enforcer.
    #[error("{}: another process enforces it, and would undo what this one relies on; end that one first (kill, its status says worker-pid)", .0.display())]
    Enforced(PathBuf),
    /// A mark was refused.
    #[error("{}: the kernel takes no permission mark there: {source}; the file system may not support it: put the tree on another", .path.display())]
    Mark {
        /// The path.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// Guarding it would stop the machine or the guard itself.
    #[error("{}: cannot be guarded: {why}", .path.display())]
    Unguardable {
        /// The tree.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A file whose opens ask nothing, or ask about another file than they seem to.
    #[error("{}: {what}; nobody would be asked about what is opened there: remove it, or take the gap on with --links allow", escaped(.path))]
    Odd {
        /// Below the tree's root.
        path: PathBuf,
        /// The kind of file.
        what: &'static str,
    },
    /// The manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] LoadError),
    /// It is another tree's.
    #[error("refused (wrong-manifest): the manifest is {}, and this tree is {wanted}; if it is this one's, give its name with --name", of(.is))]
    WrongManifest {
        /// Name that it carries.
        is: Option<EscapedName>,
        /// Name of the tree.
        wanted: EscapedName,
    },
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The high-water mark cannot be used.
    #[error(transparent)]
    HighWater(#[from] HighWaterError),
    /// The store cannot be locked.
    #[error("--lock-store: {0}")]
    Store(#[from] ReleaseRefusal),
    /// The process that `stop` ends cannot be found.
    #[error("--stop-pid {pid}: {source}; give the number of the server's first process, while it runs")]
    Server {
        /// Its process id.
        pid: u32,
        /// The I/O error when identifying it.
        source: io::Error,
    },
    /// A file written during enforcement cannot be written.
    #[error(transparent)]
    Write(#[from] PathError),
    /// The worker could not be started, or ended before it had armed.
    #[error("the worker did not start: {0}")]
    Worker(String),
    /// An operation of the system failed.
    #[error("{what}: {source}")]
    System {
        /// The operation that was tried.
        what: &'static str,
        /// The I/O error.
        source: io::Error,
    },
}

impl EnforceError {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// A path from the tree, with any bytes, escaped for one line of text.
pub(crate) fn escaped(path: &Path) -> String {
    crate::words::plain(&path.to_string_lossy())
}

fn of(name: &Option<EscapedName>) -> String {
    name.as_ref().map_or_else(
        || "of no tree by name (sealed by an earlier bakeoff)".to_owned(),
        |name| format!("of {name}"),
    )
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
