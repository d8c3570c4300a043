//! Signed manifests: an administrator's signed list of the files of a tree.
//!
//! Measured side, cold, except for [`Manifest::find`]. Owns the format and all operations on it: sealing a tree
//! ([`seal`]), signing ([`signature`]), reading ([`load`]), comparing ([`check`]). The signature is verified over the
//! bytes before anything in them is looked at. Every reason for refusing a manifest has a name ([`ManifestRefusal`]).
//!
//! The format is lines of text, so that `less`, `diff` and `minisign` can read it:
//!
//! ```text
//! bakeoff-manifest 1
//! version 1763784000
//! created 1763784000
//! not-after 1795320000
//! key 8F3A0C11D2E4B596
//! digest blake3
//! files 1
//! <digest, 64 hex digits> TAB <bytes> TAB <mode, 4 octal digits> TAB <action> TAB <path>
//! ```
//!
//! Times are seconds since 1970. Paths are relative, sorted by their bytes, and the last line is the
//! end of the file.

pub mod check;
mod comment;
mod high_water;
pub mod load;
mod parse;
mod path;
mod refusal;
pub mod seal;
pub mod signature;
mod write;

pub use comment::SignedComment;
pub use high_water::{HighWater, HighWaterError};
pub use refusal::ManifestRefusal;
pub use write::{ManifestHeader, text};

use crate::digest::{Algorithm, Digest};
use crate::named;
use crate::named::Named;
use std::fmt;
use std::str::FromStr;

named! {
    /// What is to be done when a file is not what the manifest says, at most: the enforcing process has a
    /// mode, too, and the milder of the two counts.
    #[derive(Default, PartialOrd, Ord, Hash)]
    pub enum FaultAction {
        /// Say so.
        Log "log",
        /// Refuse to open it.
        Deny "deny",
        /// End the served processes as well.
        Stop "stop",
        /// Lock the keys of the store as well. What is not said otherwise.
        #[default]
        Lock "lock",
    }
}

impl fmt::Display for FaultAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FaultAction {
    type Err = UnknownAction;

    fn from_str(name: &str) -> Result<Self, UnknownAction> {
        Self::of_name(name).ok_or(UnknownAction)
    }
}

/// No action of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown action; there are log, deny, stop and lock")]
pub struct UnknownAction;

/// A manifest's entry for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestEntry<'a> {
    /// Digest of its content.
    pub digest: Digest,
    /// Its length.
    pub size_bytes: u64,
    /// Its permission bits, `0o7777` at most.
    pub mode: u16,
    /// Strongest reaction to a fault.
    pub action: FaultAction,
    /// Path below the tree's root.
    pub path: &'a str,
}

/// A manifest with a verified signature and only well-formed lines.
///
/// It keeps its bytes and an index of eight bytes a file.
pub struct Manifest {
    header: ManifestHeader,
    text: Vec<u8>,
    lines: Vec<Line>,
    signed: SignedComment,
}

/// Position of an entry in the text.
#[derive(Clone, Copy)]
struct Line {
    /// First byte of the line.
    start: u32,
    /// Bytes before the path.
    before_path: u8,
}

impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Manifest({:?}, {} files)", self.header, self.len())
    }
}

impl Manifest {
    /// The lines before the files.
    pub const fn header(&self) -> &ManifestHeader {
        &self.header
    }

    /// What was signed beside it; nothing in a manifest whose signature was not verified.
    pub const fn signed(&self) -> &SignedComment {
        &self.signed
    }

    /// Number of files.
    pub const fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether it lists no files.
    pub const fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Digest algorithm of its files.
    pub const fn algorithm(&self) -> Algorithm {
        self.header.algorithm
    }

    /// The `index`-th file, in the order of the paths.
    pub fn entry(&self, index: usize) -> Option<ManifestEntry<'_>> {
        let line = self.lines.get(index)?;
        let rest = self.text.get(line.start as usize..)?;
        let end = memchr::memchr(b'\n', rest)?;
        parse::entry(rest.get(..end)?).ok().map(|(entry, _)| entry)
    }

    /// All files, in the order of the paths.
    pub fn entries(&self) -> impl Iterator<Item = ManifestEntry<'_>> {
        (0..self.len()).filter_map(|index| self.entry(index))
    }

    /// The number of the file at `path`.
    pub fn find(&self, path: &[u8]) -> Option<usize> {
        self.lines.binary_search_by(|line| self.path(*line).cmp(path)).ok()
    }

    /// Whether `path` is a directory on the way to a file.
    pub fn has_below(&self, path: &[u8]) -> bool {
        let top = [path, b"/"].concat();
        let first = self.lines.partition_point(|line| self.path(*line) < top.as_slice());
        self.lines.get(first).is_some_and(|line| self.path(*line).starts_with(&top))
    }

    fn path(&self, line: Line) -> &[u8] {
        let start = line.start as usize + usize::from(line.before_path);
        let rest = self.text.get(start..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }
}
