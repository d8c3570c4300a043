//! Reasons for which a line is not replayed: names, counts and the first few lines.

use bakeoff_wire::access_log::LineError;
use std::collections::BTreeMap;

/// The reason for which a line of a log does not become a request. The label is the key in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// The line does not parse; the label says why.
    Line(LineError),
    /// The line is longer than 1 MiB.
    LineTooLong,
    /// The logged request is malformed (`-`, TLS bytes on a plain port).
    BrokenRequest,
    /// Neither GET nor HEAD: replaying it could change the server, or needs a body that no log has.
    Method,
    /// The target is `*`, which means the server as a whole.
    Asterisk,
    /// The target is neither a path nor an `http` or `https` URL.
    NotAPath,
    /// The target is longer than 8000 bytes: servers refuse it before they read it.
    TargetTooLong,
    /// A space inside the target: servers do not agree on what it means.
    Space,
    /// A control character in the target, raw or percent-encoded in its path.
    Control,
    /// A zero byte in the target, raw or percent-encoded in its path.
    Nul,
    /// A `%` in the path without two hexadecimal digits behind it.
    BadPercent,
    /// `..` as a segment of the path, raw or percent-encoded.
    ParentDirectory,
    /// `%2f` in the path: some servers take it for a slash, others refuse it.
    EncodedSlash,
    /// A segment of the path longer than 255 bytes, which no file system takes.
    NameTooLong,
    /// A path longer than 3072 bytes: with the site's directory it would pass the system's 4096.
    PathTooLong,
    /// The decoded path is not UTF-8.
    NotUtf8,
    /// A segment that starts with `.ht`: Apache obeys or hides such files.
    ServerFile,
    /// `index.html` as a directory: its directory could then have no index.
    IndexAsDirectory,
}

impl SkipReason {
    /// The label in results and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Line(error) => error.as_str(),
            Self::LineTooLong => "line-too-long",
            Self::BrokenRequest => "broken-request",
            Self::Method => "method-not-replayed",
            Self::Asterisk => "asterisk-target",
            Self::NotAPath => "not-a-path",
            Self::TargetTooLong => "target-too-long",
            Self::Space => "space-in-target",
            Self::Control => "control-in-target",
            Self::Nul => "nul-in-target",
            Self::BadPercent => "bad-percent-encoding",
            Self::ParentDirectory => "parent-directory",
            Self::EncodedSlash => "encoded-slash",
            Self::NameTooLong => "name-too-long",
            Self::PathTooLong => "path-too-long",
            Self::NotUtf8 => "not-utf8",
            Self::ServerFile => "server-file",
            Self::IndexAsDirectory => "index-as-directory",
        }
    }

    /// Whether the line is not in its format, as opposed to a request that is not replayed.
    pub const fn is_unparsable(self) -> bool {
        matches!(self, Self::Line(_) | Self::LineTooLong)
    }
}

/// A skipped line, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its number, from 1.
    pub line: u64,
    /// Its first 200 bytes; bytes that are not UTF-8 or not printable are replaced.
    pub text: String,
    /// The reason.
    pub reason: SkipReason,
}

/// Number of lines that are kept of each kind.
const SAMPLES: usize = 3;
/// Bytes that are kept of a line.
const TEXT: usize = 200;

/// The skipped lines of a log.
#[derive(Clone, Debug, Default)]
pub struct Skips {
    counts: BTreeMap<SkipReason, u64>,
    unparsable: Vec<Sample>,
    others: Vec<Sample>,
}

impl Skips {
    pub(crate) fn add(&mut self, line: u64, text: &[u8], reason: SkipReason) {
        *self.counts.entry(reason).or_default() += 1;
        let samples = if reason.is_unparsable() { &mut self.unparsable } else { &mut self.others };
        if samples.len() < SAMPLES {
            let text = String::from_utf8_lossy(&text[..text.len().min(TEXT)]);
            let text = text.replace(char::is_control, "\u{fffd}");
            samples.push(Sample { line, text, reason });
        }
    }

    /// Counts by label.
    pub fn by_label(&self) -> BTreeMap<String, u64> {
        self.counts.iter().map(|(reason, count)| (reason.as_str().to_owned(), *count)).collect()
    }

    /// Number of lines that were skipped for this reason.
    pub fn count(&self, reason: SkipReason) -> u64 {
        self.counts.get(&reason).copied().unwrap_or(0)
    }

    /// Number of lines that do not parse.
    pub fn unparsable(&self) -> u64 {
        self.counts.iter().filter(|(reason, _)| reason.is_unparsable()).map(|(_, count)| count).sum()
    }

    /// The first three lines that do not parse, or else the first three that were skipped.
    pub fn samples(&self) -> &[Sample] {
        if self.unparsable.is_empty() { &self.others } else { &self.unparsable }
    }
}
