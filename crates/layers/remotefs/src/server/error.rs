//! Errors: a server that does not start, and a request that is not carried out.
//!
//! Measured side.

use crate::refusal::Refusal;
use bakeoff_layers_base::daemon::door::ListenError;
use bakeoff_layers_base::plain::PathError;
use bakeoff_layers_credentials::CredentialRefusal;
use bakeoff_layers_credentials::name::PrincipalName;
use nix::errno::Errno;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Reasons for not serving.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Without credentials anybody who reaches that address could do everything.
    #[error(
        "without credentials it listens on 127.0.0.1, ::1 or 198.18.0.0/15 alone, and {0} is none of them"
    )]
    OpenNetwork(SocketAddr),
    /// The term is out of range.
    #[error("a term is 1 to 60 seconds")]
    Term,
    /// The directory cannot be exported.
    #[error("cannot serve {}: {error}; it must be a directory, and /proc must be mounted", path.display())]
    Export {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// Another server has it: neither would tell the other's clients of changes.
    #[error("another server serves {}; end it, or serve another directory", .0.display())]
    IsServed(PathBuf),
    /// The address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The status file cannot be written.
    #[error(transparent)]
    Status(#[from] PathError),
    /// The server cannot prove its identity.
    #[error("there is no leaf of {0} that is good now: log in first, and keep the session")]
    NoLeaf(String),
    /// Its leaf, or its domain's bundle, is not valid.
    #[error("the server cannot prove that it is {name} ({}): {why}", why.name())]
    Unproven {
        /// Its name.
        name: PrincipalName,
        /// The reason.
        why: CredentialRefusal,
    },
    /// The access list is faulty.
    #[error("cannot use the access list {}: {error}", path.display())]
    Acl {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        error: String,
    },
    /// The audit log cannot be opened.
    #[error("cannot write down what is decided: {0}")]
    Audit(io::Error),
    /// The file of revocations cannot be read.
    #[error(
        "cannot read {}, where what was taken back is kept: {error}; without it somebody could be let in who must not",
        path.display()
    )]
    Revoked {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// The filter of system calls was refused.
    #[error("the kernel takes no filter of system calls ({0}); it needs CONFIG_SECCOMP_FILTER")]
    Confine(io::Error),
    /// Signals, threads, limits or rights failed.
    #[error("cannot serve: {0}")]
    Process(#[from] io::Error),
}

/// Reason why a request is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum No {
    /// The kernel's error.
    Kernel(Errno),
    /// Our refusal.
    Refused(Refusal),
}

impl From<Errno> for No {
    fn from(errno: Errno) -> Self {
        Self::Kernel(errno)
    }
}

impl From<io::Error> for No {
    fn from(error: io::Error) -> Self {
        Self::Kernel(error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))
    }
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
