//! Reasons for refusing a manifest: each has a name, which is also the counter's label.

use crate::refusals;

refusals! {
    /// What is wrong with a manifest or its signature. Lines are counted from 1, times are seconds since 1970.
    #[derive(Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum ManifestRefusal {
        BadSignature "bad-signature"
            "the signature is not that of these bytes: somebody changed the manifest after it was signed",
        WrongKey "wrong-key" "signed with another key than the one given with --pub",
        UnreadableSignature "unreadable-signature" "the signature file is not a prehashed signature of minisign",
        TooLarge "too-large" "longer than 4 GiB",
        UnknownFormat "unknown-format" "not a manifest of format 1: its first line is not `bakeoff-manifest 1`",
        UnknownAlgorithm { line: usize } "unknown-algorithm"
            "line {line}: an unknown digest algorithm; there are blake3 and sha256",
        Malformed { line: usize, what: &'static str } "malformed" "line {line}: {what} expected",
        CutShort "cut-short" "cut short: fewer files than its head says",
        TrailingData "trailing-data" "something stands behind the last file",
        KeyMismatch "key-mismatch" "its head names another key than the one that signed it",
        Expired { not_after: u64 } "expired" "expired: it was good until {not_after} s after 1970; sign a new one",
        RolledBack { version: u64, seen: u64 } "rolled-back"
            "rolled back: version {version}, and {seen} was taken before; sign a newer one",
        DuplicatePath { line: usize } "duplicate-path" "line {line}: the path of the line before again",
        Unsorted { line: usize } "unsorted" "line {line}: a path that should stand before the one above it",
        ParentPath { line: usize } "parent-path" "line {line}: `..` in a path",
        AbsolutePath { line: usize } "absolute-path" "line {line}: an absolute path",
        OddPath { line: usize } "odd-path" "line {line}: an empty part, `.` or more than 4095 bytes in a path",
        ControlCharacter { line: usize } "control-character" "line {line}: a control character in a path",
        NotUtf8 { line: usize } "not-utf8" "line {line}: a path that is not UTF-8",
        Twins { first: String, second: String } "twins"
            "`{first}` and `{second}` differ only in case or in how Unicode is written",
    }
}
