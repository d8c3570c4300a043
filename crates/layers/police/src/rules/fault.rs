//! Faults of rules, each with a name of its own.
//!
//! Measured side, pure. Every fault says where, what, and what to do about it.

use bakeoff_layers_base::fault;

/// A fault at a place.
pub type RuleFault = fault::Fault<RuleFaultKind>;
/// Faults found so far.
pub(super) type Faults = fault::Faults<RuleFaultKind>;

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleFaultKind {
    /// The text is no TOML.
    NotToml,
    /// An unknown key, class or word.
    Unknown,
    /// A value of the wrong type for its key.
    OfAnotherType,
    /// A required key or section is missing.
    KeyMissing,
    /// A name that does not fit into a line of words.
    OddName,
    /// A class's port that clients connect to.
    PublicPort,
    /// One prefix, path or port with two rules or classes.
    Twice,
    /// Not a prefix.
    NoPrefix,
    /// A prefix with bits behind its length.
    HostBits,
    /// A source and a destination of different families.
    OtherFamily,
    /// A number outside its range.
    OutOfRange,
    /// A key about a rate, without one.
    NoRate,
    /// A path that no plain head can have.
    NeverMatches,
    /// `*` at an invalid position.
    Pattern,
    /// A way of refusing that the stage lacks.
    OtherStage,
    /// More than the kernel's maps hold.
    TooMany,
    /// Warning: buckets for prefixes that let each take everything.
    EachIsAll,
}

impl RuleFaultKind {
    /// Whether the rules can still be used.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::EachIsAll)
    }
}
