//! A rules file as typed: every section and its keys, with lines; names are not yet looked up.
//!
//! Measured side, pure. Missing values were absent or had a fault that was reported.

use super::AddressPrefix;
use super::path::Pattern;
use super::table::{Refuse, When};
use bakeoff_units::{Nanos, PerSecond};
use std::collections::BTreeSet;

/// The file's sections.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) server: Option<Server>,
    pub(super) overload: Option<Overload>,
    /// All `[[from]]`, then all `[[request]]`, then `[odd]` and `[unread]`, each in the order of the file.
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
    /// Share of each named class; without a number if that is faulty.
    pub(super) shares: Option<Vec<(String, At<Option<f64>>)>>,
    pub(super) when: Option<When>,
}

/// A rule of any section.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) section: Section,
    pub(super) line: usize,
    pub(super) source: Option<At<AddressPrefix>>,
    pub(super) to: Option<At<AddressPrefix>>,
    pub(super) path: Option<At<(String, Pattern)>>,
    pub(super) class: Option<At<String>>,
    pub(super) rate: Option<PerSecond>,
    pub(super) burst: Option<At<u64>>,
    pub(super) per: Option<At<String>>,
    pub(super) each: Option<At<PerSecond>>,
    pub(super) each_burst: Option<At<u64>>,
    pub(super) refuse: Option<Refuse>,
    /// The keys that are present, faulty ones included.
    pub(super) written: BTreeSet<String>,
}

/// A value and its line.
pub(super) type At<T> = (T, usize);

/// Section of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Section {
    #[default]
    From,
    Request,
    Odd,
    Unread,
}

impl Section {
    /// Its allowed keys.
    pub(super) const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::From => &["source", "to", "class", "rate", "burst", "per", "each", "each-burst", "refuse"],
            Self::Request => &["path", "class", "rate", "burst", "refuse"],
            Self::Odd | Self::Unread => &["rate", "burst", "refuse"],
        }
    }

    /// Its text.
    pub(super) const fn head(self) -> &'static str {
        match self {
            Self::From => "[[from]]",
            Self::Request => "[[request]]",
            Self::Odd => "[odd]",
            Self::Unread => "[unread]",
        }
    }

    /// Its ways of refusing, the first one without `refuse`.
    pub(super) const fn refusals(self) -> &'static [Refuse] {
        match self {
            Self::From => &[Refuse::Drop, Refuse::Reset],
            Self::Request | Self::Odd => &[Refuse::Status503, Refuse::Status429, Refuse::Reset],
            Self::Unread => &[Refuse::Reset],
        }
    }
}

impl Entry {
    /// Whether a key is present.
    pub(super) fn has(&self, key: &str) -> bool {
        self.written.contains(key)
    }
}
