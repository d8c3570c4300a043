//! Table of labels: everything that is said of a cache, one row a label, with its class, its harm and the text it stands on.
//!
//! Measuring side. Counters, reports, exit codes and the table of docs/caches.md come from here. Faults of a reply come
//! first, in the order of their enum; faults that only a whole run shows follow, in that of [`RunFault::ALL`].

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Class of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It breaks a MUST of RFC 9110, 9111 or 9112.
    Fault,
    /// It makes figures worthless, or what the origin said untrue.
    Breach,
    /// It is a lawful choice, or against a SHOULD: worth knowing, and no accusation.
    Counted,
}

impl Class {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Breach => "breach",
            Self::Counted => "counted",
        }
    }

    /// Whether it accuses the cache.
    pub const fn accuses(self) -> bool {
        !matches!(self, Self::Counted)
    }
}

/// Harm that a label stands for, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Harm {
    /// A client got what was private to another one.
    Leak,
    /// Bytes or an object other than those asked for.
    WrongContent,
    /// Hits, replies or requests that are made up: figures are worth nothing.
    MadeUp,
    /// What was true once.
    Stale,
    /// Another answer than the request's.
    WrongAnswer,
    /// Fields around the right object.
    Metadata,
    /// None.
    Nothing,
}

impl Harm {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::WrongContent => "wrong content",
            Self::MadeUp => "made up",
            Self::Stale => "stale",
            Self::WrongAnswer => "wrong answer",
            Self::Metadata => "metadata",
            Self::Nothing => "none",
        }
    }

    /// Whether a single one is too many: no rate passes, and no card is green.
    pub const fn at_any_count(self) -> bool {
        matches!(self, Self::Leak | Self::WrongContent)
    }
}

/// Number of labels of a single reply.
pub(super) const OF_REPLIES: usize = 37;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// The word in counters.
    pub name: &'static str,
    /// Its class.
    pub class: Class,
    /// Its harm.
    pub harm: Harm,
    /// Whether the request failed, so that its time counts nowhere.
    pub fails: bool,
    /// The sections that it stands on, such as `9111 4.2.4`; empty where no RFC speaks of it.
    pub text: &'static str,
    /// Its meaning, in a line.
    pub meaning: &'static str,
}

impl LabelRow {
    /// The label's row, if there is such a label.
    pub fn of(name: &str) -> Option<&'static Self> {
        LABELS.iter().find(|row| row.name == name)
    }

    const fn fails(self) -> Self {
        Self { fails: true, ..self }
    }
}

/// A fault that no single reply shows, but the counts of both ends do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunFault {
    /// Replies that the origin never made.
    Fabricated,
    /// Hits that no store can have given.
    UnexplainedHit,
    /// Requests of no robot.
    Prefetch,
    /// POSTs that came to the origin more often than they were sent.
    PostRepeated,
    /// Hits that took out of all proportion.
    SlowHits,
    /// Requests with a field that was meant for the cache alone.
    HopPassed,
    /// Requests of a forward proxy for another host.
    HostChanged,
    /// Requests that do not say that they came through a cache.
    NoVia,
    /// Stale hits of a cache that its own configuration allows them.
    StaleByConfiguration,
}

impl RunFault {
    /// Number of them.
    pub const COUNT: usize = 9;

    /// All of them, in the order of the table.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Fabricated,
        Self::UnexplainedHit,
        Self::Prefetch,
        Self::PostRepeated,
        Self::SlowHits,
        Self::HopPassed,
        Self::HostChanged,
        Self::NoVia,
        Self::StaleByConfiguration,
    ];

    /// Its row in the table of labels.
    pub const fn row(self) -> &'static LabelRow {
        &LABELS[OF_REPLIES + self as usize]
    }

    /// Whether it is a cheat, and which honest readings of the counts it excludes.
    pub const fn excludes(self) -> Option<&'static str> {
        match self {
            Self::Fabricated => {
                Some("no retry, refresh or joined request makes a reply that the origin did not send")
            }
            Self::UnexplainedHit => Some(
                "they are no refreshes in the background: those were due, or came back as hits, and are taken off",
            ),
            Self::Prefetch => Some(
                "they are no retries of the robots and follow no validation in vain, which are taken off",
            ),
            Self::PostRepeated
            | Self::SlowHits
            | Self::HopPassed
            | Self::HostChanged
            | Self::NoVia
            | Self::StaleByConfiguration => None,
        }
    }
}

const fn fault(name: &'static str, harm: Harm, text: &'static str, meaning: &'static str) -> LabelRow {
    LabelRow { name, class: Class::Fault, harm, fails: false, text, meaning }
}

const fn breach(name: &'static str, harm: Harm, text: &'static str, meaning: &'static str) -> LabelRow {
    LabelRow { name, class: Class::Breach, harm, fails: false, text, meaning }
}

const fn counted(name: &'static str, text: &'static str, meaning: &'static str) -> LabelRow {
    LabelRow { name, class: Class::Counted, harm: Harm::Nothing, fails: false, text, meaning }
}

/// The table.
pub static LABELS: [LabelRow; OF_REPLIES + RunFault::COUNT] = [
    fault(
        "hit-on-uncachable",
        Harm::Leak,
        "9111 5.2.2.7",
        "a private object came from the cache: one user saw another's reply",
    ),
    breach("false-hit", Harm::MadeUp, "", "a hit on an object that nobody had asked for"),
    fault("stale-hit", Harm::Stale, "9111 4.2.4", "an older version than the origin's, after its lifetime"),
    counted("hit-on-reload", "9111 5.2.1", "no-cache in a request, answered without the origin"),
    fault(
        "cachability-changed",
        Harm::Metadata,
        "9111 5.2",
        "public, private, max-age or Expires are not those of the origin",
    ),
    fault("lost-validators", Harm::Metadata, "9111 3.1", "Last-Modified or ETag of the origin is gone"),
    fault("post-kept", Harm::WrongContent, "9111 4", "a reply to a POST came from a store"),
    breach(
        "validators-changed",
        Harm::Metadata,
        "9110 7.7",
        "ETag or Last-Modified are not those of the object's version",
    ),
    breach("content-type-changed", Harm::Metadata, "9110 7.7", "Content-Type is not that of the origin"),
    fault(
        "vary-lost",
        Harm::Metadata,
        "9111 3.1",
        "the object has two forms, and Vary does not say so any more",
    ),
    breach("cookie-added", Harm::Metadata, "", "the reply sets a cookie"),
    fault(
        "age-wrong",
        Harm::Metadata,
        "9111 4.2.3",
        "Age is missing, or less or more than store and fetch can make it",
    ),
    fault("date-missing", Harm::Metadata, "9110 6.6.1", "the reply has no Date that can be read"),
    breach(
        "date-off",
        Harm::Metadata,
        "9110 6.6.1",
        "the reply's Date is more than a minute off, or before the run began",
    ),
    fault(
        "wrong-object",
        Harm::WrongContent,
        "9111 4",
        "the reply holds another object than the one asked for",
    )
    .fails(),
    breach("wrong-bytes", Harm::WrongContent, "9110 7.7", "the body has other bytes than the object").fails(),
    breach("wrong-length", Harm::WrongContent, "9110 7.7", "the body is longer or shorter than the object")
        .fails(),
    breach("foreign-reply", Harm::WrongAnswer, "", "the reply has no stamp of our origin").fails(),
    fault(
        "wrong304",
        Harm::WrongAnswer,
        "9110 15.4.5",
        "304, but the object had changed or nothing was asked about",
    )
    .fails(),
    counted("wrong200", "9111 4.3.2, 9110 13.1.3", "the whole object, where 304 would have done"),
    breach("unexpected-status", Harm::WrongAnswer, "", "a status that no request of this kind should get")
        .fails(),
    fault(
        "range-wrong",
        Harm::WrongContent,
        "9110 15.3.7",
        "another part of the object than the one asked for",
    )
    .fails(),
    fault(
        "unaccepted-coding",
        Harm::WrongContent,
        "9111 4.1",
        "in a content coding that the request did not accept",
    )
    .fails(),
    fault("loop", Harm::WrongAnswer, "9110 7.6", "508 Loop Detected, or as many Via entries as a loop makes")
        .fails(),
    counted("false-miss", "", "from the origin, where an ideal cache would have had it"),
    counted(
        "product-disagrees",
        "",
        "Cache-Status, X-Cache or Age say hit where the stamp says miss, or miss for hit",
    ),
    counted("range-ignored", "9110 14.2", "the whole object for a range"),
    breach(
        "directive-added",
        Harm::Metadata,
        "9110 7.7",
        "a directive for caches that the origin did not send",
    ),
    fault(
        "field-doubled",
        Harm::Metadata,
        "9110 5.3",
        "a field that may come once, such as ETag, came twice",
    ),
    fault(
        "tag-of-two-codings",
        Harm::Metadata,
        "9110 8.8.3.3",
        "coded, with the strong entity tag of the object as it is",
    ),
    counted("tag-made-strong", "9110 8.8.1", "a strong entity tag where the origin's is weak"),
    counted("vary-added", "9110 12.5.5", "Vary names fields that the origin did not name"),
    counted("field-added", "9110 7.7", "a field that the origin did not send, and no list knows"),
    fault("head-length", Harm::Metadata, "9110 8.6", "Content-Length for HEAD is not that of the object")
        .fails(),
    breach(
        "upload-changed",
        Harm::WrongContent,
        "9110 7.7",
        "the origin got another body than the POST's, or no POST",
    )
    .fails(),
    counted("old-hit", "9111 4.2", "an older version than the origin's, within its lifetime, or without one"),
    counted("vain-validation", "9111 4.3.4", "confirmed by the origin while its last reply was fresh"),
    breach("fabricated", Harm::MadeUp, "", "said to be made by the origin, which never did"),
    breach(
        "unexplained-hit",
        Harm::MadeUp,
        "",
        "said to be from a store, but the origin had sent it for this very request, or no fetch had ended yet",
    ),
    breach(
        "prefetch",
        Harm::MadeUp,
        "",
        "the origin was asked for what no robot asked for, or for the same twice",
    ),
    fault(
        "post-repeated",
        Harm::WrongAnswer,
        "9110 9.2.2",
        "POSTs that the origin got once more than they were sent",
    ),
    counted("slow-hits", "", "hits over a hundred times the median and 0.1 s, with no fetch under way"),
    fault(
        "hop-passed",
        Harm::Metadata,
        "9110 7.6.1",
        "fields that Connection lists for the cache came to the origin",
    ),
    fault(
        "host-changed",
        Harm::WrongAnswer,
        "9112 3.2.2",
        "a forward proxy asked for another Host than the URL's",
    ),
    counted("no-via", "9110 7.6.3", "requests came to the origin without a Via"),
    counted(
        "stale-by-configuration",
        "9111 4.2.4",
        "`stale-hit` that a directive in the configuration allows",
    ),
];

/// The table as docs/caches.md has it, faults first and the worst of each class before the others.
pub fn markdown() -> String {
    let mut rows: Vec<&LabelRow> = LABELS.iter().collect();
    rows.sort_by_key(|row| (row.class, row.harm)); // stable: else in the order of the table
    let mut text = String::from("| name | class | harm | RFC | meaning |\n|---|---|---|---|---|\n");
    for row in rows {
        let LabelRow { name, class, harm, text: rfc, meaning, .. } = row;
        let _ = writeln!(text, "| `{name}` | {} | {} | {rfc} | {meaning} |", class.word(), harm.word());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn labels_are_unique_and_each_class_has_what_it_stands_on() {
        let names: BTreeSet<_> = LABELS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), LABELS.len());
        for row in &LABELS {
            assert_eq!(LabelRow::of(row.name), Some(row));
            assert!(!row.meaning.is_empty() && !row.meaning.contains(['\n', '|']), "{row:?}");
            assert_eq!(row.class.accuses(), row.harm != Harm::Nothing, "{row:?}");
            assert!(row.class.accuses() || !row.fails, "{row:?}");
            // A MUST has a section; of the RFCs on HTTP and no other.
            assert!(row.class != Class::Fault || !row.text.is_empty(), "{row:?}");
            let sections = row.text.split(", ").filter(|section| !section.is_empty());
            for section in sections {
                let known = ["9110 ", "9111 ", "9112 "].iter().any(|rfc| section.starts_with(rfc));
                assert!(known, "{row:?}");
            }
        }
    }

    #[test]
    fn runs_have_their_rows_behind_those_of_replies() {
        let names = RunFault::ALL.map(|fault| fault.row().name);
        assert_eq!(
            names,
            [
                "fabricated",
                "unexplained-hit",
                "prefetch",
                "post-repeated",
                "slow-hits",
                "hop-passed",
                "host-changed",
                "no-via",
                "stale-by-configuration"
            ]
        );
        for fault in RunFault::ALL {
            assert_eq!(fault.excludes().is_some(), fault.row().harm == Harm::MadeUp);
        }
    }
}
