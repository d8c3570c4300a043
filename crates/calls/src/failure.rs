//! Failures of single operations.
//!
//! Measuring side. A layer that refuses an operation is a finding, not the end of a run: its error has a name, in one
//! word for lines and results.

use nix::errno::Errno;
use std::fmt;
use std::io;

/// The failure of one operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationFailure {
    /// The system, or a layer in its name, refused it.
    System {
        /// The call, such as `socket`.
        doing: &'static str,
        /// The system's error.
        errno: Errno,
    },
    /// It was done with a wrong result, such as a program that ended with an error.
    Wrong(String),
}

impl OperationFailure {
    /// The failure of a call of this name.
    pub(crate) const fn of(doing: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::System { doing, errno }
    }

    /// The failure of an action of the standard library.
    pub(crate) const fn io(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| match error.raw_os_error() {
            Some(number) => Self::System { doing, errno: Errno::from_raw(number) },
            None => Self::Wrong(format!("{doing}: {error}")),
        }
    }

    /// One word: the system's name of the error, or `wrong`.
    pub fn word(&self) -> String {
        match self {
            Self::System { errno, .. } => format!("{errno:?}"),
            Self::Wrong(_) => "wrong".to_owned(),
        }
    }
}

impl fmt::Display for OperationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { doing, errno } => write!(f, "{doing}: {}", errno.desc()),
            Self::Wrong(what) => f.write_str(what),
        }
    }
}

/// The result of an operation.
pub(crate) type Done<T = ()> = Result<T, OperationFailure>;
