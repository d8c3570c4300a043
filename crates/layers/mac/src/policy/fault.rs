//! What can be wrong with a policy, each with a name of its own.
//!
//! Measured side, pure. Every fault says where, what, and what to do about it.

use std::fmt;

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The policy's file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub wrong: Wrong,
    /// The same in words, with what to do.
    pub sentence: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.sentence)
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The text is no TOML.
    NotToml,
    /// A key, access, type or domain that there is not.
    Unknown,
    /// A value of another type than its key's.
    OfAnotherType,
    /// A key that must be there.
    KeyMissing,
    /// No domain in the whole policy.
    NoDomain,
    /// A name that cannot stand in a line of words.
    OddName,
    /// An allow or never of no access.
    NoAccess,
    /// `{NAME}` that nobody filled.
    Unfilled,
    /// A pattern in place of a path.
    Pattern,
    /// A path that depends on where one stands.
    NotAbsolute,
    /// `/proc/self` and what leads there.
    OfEachProcess,
    /// Not a port.
    NoPort,
    /// One path, two types.
    TwoTypes,
    /// A type inside another, of which a domain gets more than is written.
    Nested,
    /// An assertion that does not hold.
    Broken,
    /// One file under two names, of two types.
    HardLink,
    /// Warning: a type that no domain and no assertion names.
    Unused,
    /// Warning: a path that is not there.
    NotThere,
    /// Warning: what only a directory can be asked, granted on files alone.
    OnlyFiles,
    /// Warning: a directory that was to be walked and could not be read.
    Unread,
}

impl Wrong {
    /// Whether a domain can be made all the same.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::Unused | Self::NotThere | Self::OnlyFiles | Self::Unread)
    }
}

/// Faults as they are found.
#[derive(Debug)]
pub(super) struct Faults {
    file: String,
    found: Vec<Fault>,
}

impl Faults {
    /// Of this file, none yet.
    pub(super) const fn of(file: String) -> Self {
        Self { file, found: Vec::new() }
    }

    /// One more.
    pub(super) fn add(&mut self, line: usize, wrong: Wrong, sentence: String) {
        self.found.push(Fault { file: self.file.clone(), line, wrong, sentence });
    }

    /// Whether one is of this kind.
    pub(super) fn have(&self, wrong: Wrong) -> bool {
        self.found.iter().any(|fault| fault.wrong == wrong)
    }

    /// Warnings alone; or, where there are others, these, in the order of lines.
    pub(super) fn into_warnings(mut self) -> Result<Vec<Fault>, Vec<Fault>> {
        self.found.sort_by_key(|fault| fault.line);
        let (warnings, faults): (Vec<_>, Vec<_>) =
            self.found.into_iter().partition(|fault| fault.wrong.is_warning());
        if faults.is_empty() { Ok(warnings) } else { Err(faults) }
    }
}
