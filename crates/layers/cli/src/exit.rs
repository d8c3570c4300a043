//! Exit codes, once.

use std::process::ExitCode;

/// How `bakeoff-layers` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// `proof`: what should be on is off.
    Off,
    /// Wrong command line, or a policy or rules with faults.
    Usage,
    /// A file, the kernel or a right is missing.
    Failed,
    /// `verify`, `replay`: something is not as the manifest, or the log, says.
    Altered,
    /// `explain`: the domain may not, or it is always refused. An agent says no.
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

/// Help and version go to standard output with 0, wrong words to standard error with 2.
pub(crate) fn of_clap(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}

/// A command that ends early: what to say and which exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What to say.
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

    /// Whoever decides says no.
    pub(crate) fn refused(message: impl ToString) -> Self {
        Self { exit: Exit::Refused, message: message.to_string() }
    }

    /// Something is not as it should be.
    pub(crate) fn altered(message: impl ToString) -> Self {
        Self { exit: Exit::Altered, message: message.to_string() }
    }
}
