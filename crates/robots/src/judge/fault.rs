//! Faults of a reply: the closed list, each with its label, meaning and weight.
//!
//! Measuring side. Owns the list and small sets of it. Decides nothing: `judge` does.

use serde::{Deserialize, Serialize};

/// One fault of a reply, or an event worth counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplyFault {
    /// Uncachable, no POST, and yet from a cache.
    HitOnUncachable,
    /// A hit although nobody had requested the object. Where a request of the same run that was sent later had fetched
    /// it, the caller, which knows all requests, takes this back.
    FalseHit,
    /// An old version from a cache.
    StaleHit,
    /// A reload that never reached the origin.
    HitOnReload,
    /// Cache-Control, its max-age or Expires are not the origin's.
    CachabilityChanged,
    /// Last-Modified or ETag are gone.
    LostValidators,
    /// The reply to a POST, from a store.
    PostKept,
    /// Last-Modified or ETag are others.
    ValidatorsChanged,
    /// Content-Type is another one, or gone.
    ContentTypeChanged,
    /// Vary is gone where it matters.
    VaryLost,
    /// Set-Cookie, which our origin never sends.
    CookieAdded,
    /// An impossible Age.
    AgeWrong,
    /// No Date, or none that can be read.
    DateMissing,
    /// A Date that is far from now.
    DateOff,
    /// Another object.
    WrongObject,
    /// Other bytes.
    WrongBytes,
    /// Another length.
    WrongLength,
    /// Not from our origin.
    ForeignReply,
    /// 304 where the object had changed, or to a request without a condition.
    Wrong304,
    /// 200 where the object had not changed.
    Wrong200,
    /// An unexpected status.
    UnexpectedStatus,
    /// Other bytes of the object than those asked for.
    RangeWrong,
    /// In a content coding that was not accepted, or that robots cannot read.
    UnacceptedCoding,
    /// A loop between proxies.
    Loop,
    /// An offered hit that was a miss.
    FalseMiss,
    /// The product's statement differs from the stamp.
    ProductDisagrees,
    /// The whole object for a range.
    RangeIgnored,
}

/// The effect of a fault on its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Counted, never an error.
    Counted,
    /// An error of the cache; the request itself was answered, and its time counts.
    Reported,
    /// The request failed: its time is in no histogram.
    Fails,
}

impl ReplyFault {
    /// Every fault, in the order of their places in sets.
    pub const ALL: [Self; 27] = [
        Self::HitOnUncachable,
        Self::FalseHit,
        Self::StaleHit,
        Self::HitOnReload,
        Self::CachabilityChanged,
        Self::LostValidators,
        Self::PostKept,
        Self::ValidatorsChanged,
        Self::ContentTypeChanged,
        Self::VaryLost,
        Self::CookieAdded,
        Self::AgeWrong,
        Self::DateMissing,
        Self::DateOff,
        Self::WrongObject,
        Self::WrongBytes,
        Self::WrongLength,
        Self::ForeignReply,
        Self::Wrong304,
        Self::Wrong200,
        Self::UnexpectedStatus,
        Self::RangeWrong,
        Self::UnacceptedCoding,
        Self::Loop,
        Self::FalseMiss,
        Self::ProductDisagrees,
        Self::RangeIgnored,
    ];

    /// The word in counters.
    pub const fn label(self) -> &'static str {
        match self {
            Self::HitOnUncachable => "hit-on-uncachable",
            Self::FalseHit => "false-hit",
            Self::StaleHit => "stale-hit",
            Self::HitOnReload => "hit-on-reload",
            Self::CachabilityChanged => "cachability-changed",
            Self::LostValidators => "lost-validators",
            Self::PostKept => "post-kept",
            Self::ValidatorsChanged => "validators-changed",
            Self::ContentTypeChanged => "content-type-changed",
            Self::VaryLost => "vary-lost",
            Self::CookieAdded => "cookie-added",
            Self::AgeWrong => "age-wrong",
            Self::DateMissing => "date-missing",
            Self::DateOff => "date-off",
            Self::WrongObject => "wrong-object",
            Self::WrongBytes => "wrong-bytes",
            Self::WrongLength => "wrong-length",
            Self::ForeignReply => "foreign-reply",
            Self::Wrong304 => "wrong304",
            Self::Wrong200 => "wrong200",
            Self::UnexpectedStatus => "unexpected-status",
            Self::RangeWrong => "range-wrong",
            Self::UnacceptedCoding => "unaccepted-coding",
            Self::Loop => "loop",
            Self::FalseMiss => "false-miss",
            Self::ProductDisagrees => "product-disagrees",
            Self::RangeIgnored => "range-ignored",
        }
    }

    /// Its meaning, in a line.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::HitOnUncachable => "a private object came from the cache: one user saw another's reply",
            Self::FalseHit => "a hit on an object that nobody had asked for before",
            Self::StaleHit => {
                "the cache gave a version that was older than the origin's when the request was sent"
            }
            Self::HitOnReload => {
                "the request said no-cache, and the cache answered without asking the origin"
            }
            Self::CachabilityChanged => "Cache-Control, its max-age or Expires are not those of the origin",
            Self::LostValidators => "the origin gave Last-Modified or ETag, and the reply has it no more",
            Self::PostKept => "the reply to a POST came from a store, be it to another POST or to a GET",
            Self::ValidatorsChanged => "ETag or Last-Modified are not those of the object's version",
            Self::ContentTypeChanged => "Content-Type is not that of the origin",
            Self::VaryLost => "the object exists in two forms, and Vary does not say so any more",
            Self::CookieAdded => {
                "the reply sets a cookie; our origin sets none, and another robot may get the same"
            }
            Self::AgeWrong => {
                "Age is less than the time since Date, missing on an old reply, or more than can be"
            }
            Self::DateMissing => "the reply has no Date that can be read",
            Self::DateOff => "the reply's Date is more than a minute off",
            Self::WrongObject => "the reply holds another object than the one asked for",
            Self::WrongBytes => "the body has other bytes than the object",
            Self::WrongLength => "the body is longer or shorter than the object",
            Self::ForeignReply => "the reply has no stamp of our origin: something else made it",
            Self::Wrong304 => "304 Not Modified, but the object had changed or the request had no condition",
            Self::Wrong200 => "the whole object, although it had not changed since the time in the request",
            Self::UnexpectedStatus => "a status that no request of this kind should get",
            Self::RangeWrong => "another part of the object than the one asked for",
            Self::UnacceptedCoding => {
                "in a content coding that the request did not accept, as if it were another one's reply"
            }
            Self::Loop => "508 Loop Detected, or as many Via entries as a loop makes",
            Self::FalseMiss => {
                "a repeated, cachable object came from the origin: an ideal cache would have had it"
            }
            Self::ProductDisagrees => {
                "Cache-Status, X-Cache or Age say hit where the stamp says miss, or miss for hit"
            }
            Self::RangeIgnored => "the whole object where a range was asked for, which is allowed",
        }
    }

    /// Its effect on its request.
    pub const fn weight(self) -> Weight {
        match self {
            // Storing and lifetime in caches.
            Self::HitOnUncachable
            | Self::FalseHit
            | Self::StaleHit
            | Self::HitOnReload
            | Self::Wrong200
            // Header fields that a cache must leave alone.
            | Self::CachabilityChanged
            | Self::LostValidators
            | Self::PostKept
            | Self::ValidatorsChanged
            | Self::ContentTypeChanged
            | Self::VaryLost
            | Self::CookieAdded
            | Self::AgeWrong
            | Self::DateMissing
            | Self::DateOff => Weight::Reported,
            // Not the requested object.
            Self::WrongObject
            | Self::WrongBytes
            | Self::WrongLength
            | Self::ForeignReply
            | Self::Wrong304
            | Self::UnexpectedStatus
            | Self::RangeWrong
            | Self::UnacceptedCoding
            | Self::Loop => Weight::Fails,
            // No rule is broken.
            Self::FalseMiss | Self::ProductDisagrees | Self::RangeIgnored => Weight::Counted,
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A set of faults; a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FaultSet(u32);

impl FaultSet {
    /// None at all.
    pub const NONE: Self = Self(0);

    /// Puts one in.
    pub const fn add(&mut self, fault: ReplyFault) {
        self.0 |= fault.bit();
    }

    /// Puts one in if `wrong`.
    pub const fn add_if(&mut self, wrong: bool, fault: ReplyFault) {
        if wrong {
            self.add(fault);
        }
    }

    /// Whether it is in.
    pub const fn has(self, fault: ReplyFault) -> bool {
        self.0 & fault.bit() != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are here and not in `others`.
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// All in one.
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// One after the other, in the order of [`ReplyFault::ALL`].
    pub fn iter(self) -> impl Iterator<Item = ReplyFault> {
        ReplyFault::ALL.into_iter().filter(move |fault| self.has(*fault))
    }

    /// The heaviest weight among them; `Counted` where there is none.
    pub fn weight(self) -> Weight {
        self.iter().map(ReplyFault::weight).max().unwrap_or(Weight::Counted)
    }
}

impl FromIterator<ReplyFault> for FaultSet {
    fn from_iter<I: IntoIterator<Item = ReplyFault>>(faults: I) -> Self {
        let mut set = Self::NONE;
        faults.into_iter().for_each(|fault| set.add(fault));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn labels_are_unique_and_what_is_stored() {
        let labels: BTreeSet<_> = ReplyFault::ALL.iter().map(|fault| fault.label()).collect();
        assert_eq!(labels.len(), ReplyFault::ALL.len());
        for (place, fault) in ReplyFault::ALL.into_iter().enumerate() {
            assert_eq!(fault as usize, place);
            assert_eq!(serde_json::to_string(&fault).unwrap(), format!("\"{}\"", fault.label()));
            assert!(!fault.meaning().is_empty() && !fault.meaning().contains('\n'));
        }
    }

    #[test]
    fn a_set_holds_what_was_put_in_and_knows_its_heaviest() {
        let set: FaultSet = [ReplyFault::FalseMiss, ReplyFault::StaleHit].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [ReplyFault::StaleHit, ReplyFault::FalseMiss]);
        assert_eq!(set.weight(), Weight::Reported);
        assert_eq!(FaultSet::NONE.weight(), Weight::Counted);
        assert!(set.without(set).is_empty() && !set.is_empty());
        let all: FaultSet = ReplyFault::ALL.into_iter().collect();
        assert_eq!(all.weight(), Weight::Fails);
        assert_eq!(all.iter().count(), ReplyFault::ALL.len());
    }
}
