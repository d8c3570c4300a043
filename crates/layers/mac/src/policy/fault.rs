//! Faults of a policy, each with a name of its own.
//!
//! Measured side, pure. Every fault says where, what, and what to do about it.

use bakeoff_layers_base::fault;

/// A fault at a place.
pub type PolicyFault = fault::Fault<PolicyFaultKind>;
/// Faults found so far.
pub(super) type Faults = fault::Faults<PolicyFaultKind>;

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyFaultKind {
    /// The text is no TOML.
    NotToml,
    /// An unknown key, access, type or domain.
    Unknown,
    /// A value of the wrong type for its key.
    OfAnotherType,
    /// A required key is missing.
    KeyMissing,
    /// No domain in the whole policy.
    NoDomain,
    /// A name that does not fit into a line of words.
    OddName,
    /// An allow or never without any access.
    NoAccess,
    /// A `{NAME}` without a value.
    Unfilled,
    /// A pattern in place of a path.
    Pattern,
    /// A path relative to the working directory.
    NotAbsolute,
    /// `/proc/self` and links to it.
    OfEachProcess,
    /// Not a port.
    NoPort,
    /// One path with two types.
    TwoTypes,
    /// A type inside another, of which a domain gets more than is written.
    Nested,
    /// An assertion that does not hold.
    Broken,
    /// One file with names in two types.
    HardLink,
    /// Warning: a type that no domain and no assertion names.
    Unused,
    /// Warning: a path that does not exist.
    NotThere,
    /// Warning: an access for directories only, granted on files alone.
    OnlyFiles,
    /// Warning: a way around the policy for root: a disk, or the kernel's settings.
    Around,
    /// Warning: a directory that could not be read during the walk.
    Unread,
}

impl PolicyFaultKind {
    /// Whether a domain can still be made.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::Unused | Self::NotThere | Self::OnlyFiles | Self::Around | Self::Unread)
    }
}
