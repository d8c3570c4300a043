//! Errors of workloads: the fault, its place, and what to do next.

use crate::replay::Sample;
use bakeoff_units::{Bytes, Ratio};
use bakeoff_wire::access_log::DetectError;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

/// Errors in making a workload, or in writing its site. All but the last two are faults of the plan or of the log it
/// names.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The log cannot be opened.
    #[error(
        "cannot open the log {log}: {source}; check `log` in the plan (relative to the plan's directory)"
    )]
    LogMissing {
        /// The log's name.
        log: String,
        /// The system's error.
        source: io::Error,
    },
    /// Reading or unpacking failed on the way.
    #[error(
        "cannot read the log {log} beyond line {line}: {source}; if it is packed, test it with gzip -t or zstd -t"
    )]
    LogUnreadable {
        /// The log's name.
        log: String,
        /// The last line that was read.
        line: u64,
        /// The error of the system or the unpacker.
        source: io::Error,
    },
    /// No line at all.
    #[error("the log {log} is empty; name one that has requests in it")]
    LogEmpty {
        /// The log's name.
        log: String,
    },
    /// The format cannot be told.
    #[error(
        "cannot tell the format of the log {log}: {source}; if it is one of these, say so with `format` (--format)"
    )]
    FormatUnknown {
        /// The log's name.
        log: String,
        /// The lines that were looked at.
        source: DetectError,
    },
    /// Too many lines are not in the format.
    #[error(
        "{bad} of {lines} lines of the log {log} do not parse as {format}, more than {limit}; \
         give the right `format` or raise `max_unparsable`{}", shown(.samples)
    )]
    TooManyBadLines {
        /// The log's name.
        log: String,
        /// The format that was told or given.
        format: &'static str,
        /// Lines that do not parse.
        bad: u64,
        /// Lines with anything in them.
        lines: u64,
        /// The largest share that is allowed.
        limit: Ratio,
        /// The first of them.
        samples: Vec<Sample>,
    },
    /// No line is fit to be replayed.
    #[error("none of the {lines} lines of the log {log} can be replayed ({reasons}); GET and HEAD requests are needed{}", shown(.samples))]
    NothingToReplay {
        /// The log's name.
        log: String,
        /// All lines.
        lines: u64,
        /// `reason: count` of the skipped lines.
        reasons: String,
        /// The first of them.
        samples: Vec<Sample>,
    },
    /// No reply was a success.
    #[error(
        "all {requests} requests in the log {log} that can be replayed were answered with errors or redirects; \
         a site is rebuilt from replies with status 200: take a log of a working server"
    )]
    OnlyErrors {
        /// The log's name.
        log: String,
        /// Requests that could be replayed.
        requests: u64,
    },
    /// The log's own pace was chosen, and it has none.
    #[error(
        "no line of the log {log} has a time that can be read; use `clock = \"constant\"` or \"shuffled\""
    )]
    NoStamps {
        /// The log's name.
        log: String,
    },
    /// The log differs from its first reading.
    #[error(
        "the log {log} changed while it was in use: it now has fewer requests than the {expected} it had; copy it to a file that nobody writes"
    )]
    LogChanged {
        /// The log's name.
        log: String,
        /// Requests at first.
        expected: u64,
    },
    /// More distinct requests than an index can name.
    #[error("the log {log} has more than 4,294,967,295 distinct requests; split it")]
    TooManyDistinct {
        /// The log's name.
        log: String,
    },
    /// No URL to ask for, or no weight.
    #[error("the workload has no URL with a weight above zero; add one to `urls`")]
    NoUrls,
    /// A URL that cannot be sent.
    #[error("`{url}` cannot be requested: {reason}; write a path such as \"/index.html\", percent-encoded")]
    BadUrl {
        /// As it was given.
        url: String,
        /// The fault.
        reason: &'static str,
    },
    /// A closed loop without robots.
    #[error("a closed loop needs at least one robot; set `robots`")]
    NoRobots,
    /// A site that cannot be.
    #[error("there is no such site: {fault}")]
    NoSuchSite {
        /// The numbers that contradict each other.
        fault: String,
    },
    /// The site is over the limit.
    #[error(
        "the site would need {need} in {files} files, more than {max}; raise `max_site`, or take a log with smaller replies"
    )]
    SiteTooLarge {
        /// Bytes on disk.
        need: Bytes,
        /// Files.
        files: u64,
        /// The limit.
        max: Bytes,
    },
    /// The site's directory has something in it, or is none.
    #[error("{} is not an empty directory; the site is only written into a fresh one", dir.display())]
    SiteDirNotEmpty {
        /// The directory.
        dir: PathBuf,
    },
    /// Writing the site failed.
    #[error("cannot write {} of the site: {source}", path.display())]
    SiteWrite {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Each sample on a line of its own.
fn shown(samples: &[Sample]) -> String {
    let mut text = String::new();
    for sample in samples {
        let _ = write!(text, "\n  line {} ({}): {}", sample.line, sample.reason.as_str(), sample.text);
    }
    text
}
