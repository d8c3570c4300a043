//! What can be wrong with rules, each with a name of its own.
//!
//! Measured side, pure. Every fault says where, what, and what to do about it.

use bakeoff_layers_base::fault;

/// Something wrong at a place.
pub type Fault = fault::Fault<Wrong>;
/// Faults as they are found.
pub(super) type Faults = fault::Faults<Wrong>;

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
