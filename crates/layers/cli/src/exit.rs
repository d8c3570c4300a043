//! Exit codes of `bakeoff-layers`, and errors that carry one.

use std::process::ExitCode;

/// Exit code of `bakeoff-layers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// `proof`: the protection is off.
    Off,
    /// Wrong command line, or a policy or rules with faults.
    Usage,
    /// A file, the kernel or a right is missing.
    Failed,
    /// `verify`, `replay`: a difference from the manifest, or from the log.
    Altered,
    /// `explain`: the domain may not, or it is always refused. Or an agent refused.
    Refused,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Off => 1,
            Exit::Usage => 2,
            Exit::Failed => 3,
            Exit::Altered | Exit::Refused => 7,
        })
    }
}

/// Help and version go to standard output with 0, errors to standard error with 2.
pub(crate) fn of_clap(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}

/// Early end of a command: message and exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// The message.
    pub(crate) message: String,
}

impl Failure {
    /// The command line is wrong.
    pub(crate) fn usage(message: impl ToString) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    /// A file, the kernel or a right is missing.
    pub(crate) fn failed(message: impl ToString) -> Self {
        Self { exit: Exit::Failed, message: message.to_string() }
    }

    /// The deciding party refuses.
    pub(crate) fn refused(message: impl ToString) -> Self {
        Self { exit: Exit::Refused, message: message.to_string() }
    }

    /// There is a difference from what should be.
    pub(crate) fn altered(message: impl ToString) -> Self {
        Self { exit: Exit::Altered, message: message.to_string() }
    }
}
