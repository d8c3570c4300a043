//! What a domain is given: a policy as the kernel is told of it.
//!
//! Measured side, pure. Made by `policy`, carried out by `confine`; whatever is not in it is refused.

use crate::access::Accesses;
use std::path::PathBuf;

/// All that a domain may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The domain's name.
    pub domain: String,
    /// Files, by subtree.
    pub files: Vec<FileGrant>,
    /// TCP ports it may bind.
    pub listen: Vec<u16>,
    /// TCP ports it may connect to.
    pub connect: Vec<u16>,
    /// Whether it may change modes, owners, times and extended attributes, where their owner may.
    pub attributes: bool,
}

/// What may be done at and below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileGrant {
    /// A file or a directory, absolute.
    pub path: PathBuf,
    /// What may be done there.
    pub accesses: Accesses,
    /// A rule for every directory below it as well: opens in a deep tree cost less, starting costs more.
    pub hot: bool,
    /// The type whose path it is.
    pub label: String,
    /// The line of the policy that says so.
    pub line: usize,
}
