//! Reasons for refusing a manifest: each has a name, which is also the counter's label.

/// Fault of a manifest or its signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The signature is not that of these bytes.
    #[error("the signature is not that of these bytes: somebody changed the manifest after it was signed")]
    BadSignature,
    /// The signature was made with another key.
    #[error("signed with another key than the one given with --pub")]
    WrongKey,
    /// The signature file is not one of minisign, or of a kind that is no longer made.
    #[error("the signature file is not a prehashed signature of minisign")]
    UnreadableSignature,
    /// Longer than four GiB.
    #[error("longer than 4 GiB")]
    TooLarge,
    /// Unknown first line.
    #[error("not a manifest of format 1: its first line is not `bakeoff-manifest 1`")]
    UnknownFormat,
    /// Unknown digest algorithm.
    #[error("line {line}: an unknown digest algorithm; there are blake3 and sha256")]
    UnknownAlgorithm {
        /// Counted from 1.
        line: usize,
    },
    /// A malformed line.
    #[error("line {line}: {what} expected")]
    Malformed {
        /// Counted from 1.
        line: usize,
        /// The expected content.
        what: &'static str,
    },
    /// Fewer files than the header says.
    #[error("cut short: fewer files than its head says")]
    CutShort,
    /// Something behind the last file.
    #[error("something stands behind the last file")]
    TrailingData,
    /// The header names another key than the one that signed.
    #[error("its head names another key than the one that signed it")]
    KeyMismatch,
    /// It has expired.
    #[error("expired: it was good until {not_after} s after 1970; sign a new one")]
    Expired {
        /// Seconds since 1970.
        not_after: u64,
    },
    /// A newer one was accepted before.
    #[error("rolled back: version {version}, and {seen} was taken before; sign a newer one")]
    RolledBack {
        /// Its version.
        version: u64,
        /// Newest accepted version.
        seen: u64,
    },
    /// The path before is the same.
    #[error("line {line}: the path of the line before again")]
    DuplicatePath {
        /// Counted from 1.
        line: usize,
    },
    /// Paths are not sorted.
    #[error("line {line}: a path that should stand before the one above it")]
    Unsorted {
        /// Counted from 1.
        line: usize,
    },
    /// A path with `..`.
    #[error("line {line}: `..` in a path")]
    ParentPath {
        /// Counted from 1.
        line: usize,
    },
    /// An absolute path.
    #[error("line {line}: an absolute path")]
    AbsolutePath {
        /// Counted from 1.
        line: usize,
    },
    /// A path with an empty part or `.`, an empty path, or one longer than Linux opens.
    #[error("line {line}: an empty part, `.` or more than 4095 bytes in a path")]
    OddPath {
        /// Counted from 1.
        line: usize,
    },
    /// A path with a control character.
    #[error("line {line}: a control character in a path")]
    ControlCharacter {
        /// Counted from 1.
        line: usize,
    },
    /// A path that is not UTF-8.
    #[error("line {line}: a path that is not UTF-8")]
    NotUtf8 {
        /// Counted from 1.
        line: usize,
    },
    /// Two paths that some file systems take for one.
    #[error("`{first}` and `{second}` differ only in case or in how Unicode is written")]
    Twins {
        /// The first path.
        first: String,
        /// The second path.
        second: String,
    },
}

impl Refusal {
    /// The counter's label.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::BadSignature => "bad-signature",
            Self::WrongKey => "wrong-key",
            Self::UnreadableSignature => "unreadable-signature",
            Self::TooLarge => "too-large",
            Self::UnknownFormat => "unknown-format",
            Self::UnknownAlgorithm { .. } => "unknown-algorithm",
            Self::Malformed { .. } => "malformed",
            Self::CutShort => "cut-short",
            Self::TrailingData => "trailing-data",
            Self::KeyMismatch => "key-mismatch",
            Self::Expired { .. } => "expired",
            Self::RolledBack { .. } => "rolled-back",
            Self::DuplicatePath { .. } => "duplicate-path",
            Self::Unsorted { .. } => "unsorted",
            Self::ParentPath { .. } => "parent-path",
            Self::AbsolutePath { .. } => "absolute-path",
            Self::OddPath { .. } => "odd-path",
            Self::ControlCharacter { .. } => "control-character",
            Self::NotUtf8 { .. } => "not-utf8",
            Self::Twins { .. } => "twins",
        }
    }
}
