//! Failures of file operations: the closed set of classes, and the system's errors.

use std::fmt;
use std::io;

/// The class under which a failed operation is counted. Failures never count as speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// A file or directory could not be opened or made.
    OpenFailed,
    /// Reading reported an error.
    ReadFailed,
    /// A file had fewer or more bytes than were written to it.
    WrongSize,
    /// A file had other bytes than were written to it.
    WrongBytes,
    /// Writing reported an error, or took nothing.
    WriteFailed,
    /// The file system was full.
    NoSpace,
    /// Syncing a file or directory reported an error.
    SyncFailed,
    /// Closing reported an error: written data may be lost.
    CloseFailed,
    /// Asking for attributes reported an error.
    StatFailed,
    /// Listing a directory reported an error, or did not show its entries.
    ListFailed,
    /// Removing reported an error.
    RemoveFailed,
    /// Renaming reported an error.
    RenameFailed,
}

impl Class {
    /// The label: JSON key and word in reports.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::OpenFailed => "open-failed",
            Self::ReadFailed => "read-failed",
            Self::WrongSize => "wrong-size",
            Self::WrongBytes => bakeoff_results::WRONG_BYTES,
            Self::WriteFailed => "write-failed",
            Self::NoSpace => "no-space",
            Self::SyncFailed => "sync-failed",
            Self::CloseFailed => "close-failed",
            Self::StatFailed => "stat-failed",
            Self::ListFailed => "list-failed",
            Self::RemoveFailed => "remove-failed",
            Self::RenameFailed => "rename-failed",
        }
    }
}

/// One failed operation.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) class: Class,
    why: Option<io::Error>,
}

impl Failure {
    /// Whether the system refused the operation as not permitted.
    pub(super) fn is_refusal(&self) -> bool {
        self.why.as_ref().is_some_and(|why| why.kind() == io::ErrorKind::PermissionDenied)
    }

    /// A failure without an error of the system: the data that came back was wrong.
    pub(super) const fn found(class: Class) -> Self {
        Self { class, why: None }
    }

    /// The class of a failed step; a full file system has its own class, for any step.
    pub(super) fn of(class: Class) -> impl FnOnce(io::Error) -> Self {
        move |why| {
            let full = matches!(why.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            Self { class: if full { Class::NoSpace } else { class }, why: Some(why) }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Some(why) => write!(f, "{why} ({})", self.class.as_str()),
            None => f.write_str(self.class.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_whatever_was_being_done() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        for class in [Class::OpenFailed, Class::WriteFailed, Class::CloseFailed] {
            assert_eq!(Failure::of(class)(full()).class, Class::NoSpace);
        }
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let failure = Failure::of(Class::OpenFailed)(denied);
        assert_eq!(failure.class, Class::OpenFailed);
        assert!(failure.to_string().contains("(open-failed)"), "{failure}");
    }
}
