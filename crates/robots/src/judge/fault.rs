//! Faults of a reply: the closed list, and small sets of it.
//!
//! Measuring side, hot. Labels, meanings and classes are in the table of [`labels`](super::labels). Decides nothing:
//! `judge` does.

use super::labels::{Class, LABELS, LabelRow, OF_REPLIES};
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
    /// A directive of Cache-Control that the origin did not send.
    DirectiveAdded,
    /// A field of which a message has one at most, more than once.
    FieldDoubled,
    /// One strong entity tag for the object as it is and for it in a content coding.
    TagOfTwoCodings,
    /// A strong entity tag where the origin's is weak.
    TagMadeStrong,
    /// Fields in Vary that the origin did not name.
    VaryAdded,
    /// A field that the origin did not send and no list knows.
    FieldAdded,
    /// Another Content-Length for HEAD than the object has.
    HeadLength,
    /// The origin got another body than the POST's, or no POST.
    UploadChanged,
    /// An old version from a cache, for as long as the origin allowed.
    OldHit,
    /// Confirmed by the origin within the lifetime of what it had sent before.
    VainValidation,
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
    /// Number of faults.
    pub const COUNT: usize = OF_REPLIES;

    /// Every fault, in the order of their places in sets and in the table of labels.
    pub const ALL: [Self; Self::COUNT] = [
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
        Self::DirectiveAdded,
        Self::FieldDoubled,
        Self::TagOfTwoCodings,
        Self::TagMadeStrong,
        Self::VaryAdded,
        Self::FieldAdded,
        Self::HeadLength,
        Self::UploadChanged,
        Self::OldHit,
        Self::VainValidation,
    ];

    /// Its row in the table of labels.
    pub const fn row(self) -> &'static LabelRow {
        &LABELS[self as usize]
    }

    /// The word in counters.
    pub const fn label(self) -> &'static str {
        self.row().name
    }

    /// Its meaning, in a line.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// Its effect on its request.
    pub const fn weight(self) -> Weight {
        match (self.row().class, self.row().fails) {
            (_, true) => Weight::Fails,
            (Class::Counted, false) => Weight::Counted,
            (Class::Fault | Class::Breach, false) => Weight::Reported,
        }
    }

    const fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// A set of faults; a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FaultSet(u64);

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
        let mut left = self.0;
        std::iter::from_fn(move || {
            let fault = ReplyFault::ALL.get(left.trailing_zeros() as usize).copied()?;
            left &= left - 1;
            Some(fault)
        })
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
