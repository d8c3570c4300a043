//! What can be wrong with rules, each with a name of its own.
//!
//! Measured side, pure. Every fault says where, what, and what to do about it.

use std::fmt;

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rules' file, as it was named.
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
    /// A key, class or word that there is not.
    Unknown,
    /// A value of another type than its key's.
    OfAnotherType,
    /// A key or section that must be there.
    KeyMissing,
    /// A name that cannot stand in a line of words.
    OddName,
    /// Not a port.
    NoPort,
    /// A class's port that clients connect to.
    PublicPort,
    /// One prefix, path or port, two rules or classes.
    Twice,
    /// Not a prefix.
    NoPrefix,
    /// A prefix with bits behind its length.
    HostBits,
    /// An IPv4 address written as one of IPv6.
    Mapped,
    /// A source and a destination that are not of one family.
    OtherFamily,
    /// A number outside its range.
    OutOfRange,
    /// What says something of a rate, without one.
    NoRate,
    /// A path that no plain head has.
    NeverMatches,
    /// `*` where it cannot stand.
    Pattern,
    /// A way to refuse that the stage does not have.
    OtherStage,
    /// More than the kernel's maps hold.
    TooMany,
    /// Warning: buckets for prefixes that let each take all.
    EachIsAll,
}

impl Wrong {
    /// Whether the rules can be used all the same.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::EachIsAll)
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
    pub(super) fn add(&mut self, line: usize, wrong: Wrong, sentence: impl Into<String>) {
        self.found.push(Fault { file: self.file.clone(), line, wrong, sentence: sentence.into() });
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
