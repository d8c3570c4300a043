//! Rules as they are typed: every section and its keys, with lines; names not yet looked up.
//!
//! Measured side, pure. What is missing was missing or has a fault that was told.

use super::Prefix;
use super::path::Pattern;
use super::table::{Refuse, When};
use bakeoff_units::{Nanos, PerSecond};
use std::collections::BTreeSet;

/// The file's sections.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) server: Option<Server>,
    pub(super) overload: Option<Overload>,
    /// All `[[from]]`, then all `[[request]]`, then `[odd]`, each in the order of the file.
    pub(super) entries: Vec<Entry>,
}

/// `[server]`.
#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) listen: Vec<At<u16>>,
    /// From highest to lowest.
    pub(super) classes: Vec<(String, At<u16>)>,
}

/// `[overload]`.
#[derive(Debug, Default)]
pub(super) struct Overload {
    pub(super) line: usize,
    pub(super) target: Option<Nanos>,
    /// Of each class that is named; without a number where that has a fault.
    pub(super) shares: Option<Vec<(String, At<Option<f64>>)>>,
    pub(super) when: Option<When>,
}

/// A rule of any section.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) section: Section,
    pub(super) line: usize,
    pub(super) source: Option<At<Prefix>>,
    pub(super) to: Option<At<Prefix>>,
    pub(super) path: Option<At<(String, Pattern)>>,
    pub(super) class: Option<At<String>>,
    pub(super) rate: Option<PerSecond>,
    pub(super) burst: Option<At<u64>>,
    pub(super) per: Option<At<String>>,
    pub(super) each: Option<At<PerSecond>>,
    pub(super) each_burst: Option<At<u64>>,
    pub(super) refuse: Option<Refuse>,
    /// The keys that stand there, also with faults.
    pub(super) written: BTreeSet<String>,
}

/// A value and its line.
pub(super) type At<T> = (T, usize);

/// Where a rule stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Section {
    #[default]
    From,
    Request,
    Odd,
}

impl Section {
    /// The keys that it may have.
    pub(super) const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::From => &["source", "to", "class", "rate", "burst", "per", "each", "each-burst", "refuse"],
            Self::Request => &["path", "class", "rate", "burst", "refuse"],
            Self::Odd => &["rate", "burst", "refuse"],
        }
    }

    /// As it is written.
    pub(super) const fn head(self) -> &'static str {
        match self {
            Self::From => "[[from]]",
            Self::Request => "[[request]]",
            Self::Odd => "[odd]",
        }
    }

    /// How it can refuse.
    pub(super) const fn refusals(self) -> &'static [Refuse] {
        match self {
            Self::From => &[Refuse::Drop, Refuse::Reset],
            Self::Request | Self::Odd => &[Refuse::Status503, Refuse::Status429, Refuse::Reset],
        }
    }
}

impl Entry {
    /// Whether a key stands there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.written.contains(key)
    }
}
