//! What can be wrong with a policy, each with a name of its own.
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
