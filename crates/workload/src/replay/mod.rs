//! Replay of access logs.
//!
//! Measuring side, load-generator process, between slices: reads files, never sockets. Owns which
//! lines of a log become requests and in which order, and which objects they expect. A log is
//! untrusted: every line is either replayed or counted under a [`SkipReason`].
//!
//! Two ways to walk a log. [`Shuffled`]: robots in closed loop, each with an order of its own over
//! all lines; holds the distinct requests. [`InOrder`]: the log's own order, for open-loop clocks;
//! streams the log, twice, and holds only the distinct paths that were answered with 200 (none
//! with `expect = false`), whatever the number of lines.

mod classify;
mod in_order;
mod index;
mod intern;
mod pass;
mod reader;
mod served;
mod shuffled;
mod skip;
mod target;
mod timeline;

pub use classify::{Classifier, Replayable, is_host, without_port};
pub use in_order::InOrder;
pub use index::LogIndex;
pub use pass::Summary;
pub use reader::{LogReader, ReplayLine};
pub use shuffled::Shuffled;
pub use skip::{Sample, SkipReason, Skips};

use bakeoff_units::{Bytes, Ratio};
use bakeoff_wire::access_log::Format;
use std::path::PathBuf;

/// The place of a log.
#[derive(Clone, Debug)]
pub enum LogSource {
    /// In a file: plain, gzip or zstd, told by its first bytes.
    File(PathBuf),
    /// In the program itself, packed or not.
    Embedded {
        /// Its name in messages.
        name: &'static str,
        /// Its bytes.
        bytes: &'static [u8],
    },
}

impl LogSource {
    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Embedded { name, .. } => (*name).to_owned(),
        }
    }
}

/// Options for reading a log.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The format; `None`: told from the first lines.
    pub format: Option<Format>,
    /// Whether the server holds the site rebuilt from the log, so that replies can be judged.
    /// Without it a reply must be good where the log's was, anything below 500 is one elsewhere, and there is no site.
    pub expect: bool,
    /// Whether a logged 304 is replayed with `If-Modified-Since` and a logged 206 with `Range`. Otherwise both are
    /// plain requests.
    pub conditional: bool,
    /// Whether the site's texts are compressible, as texts are. Otherwise nothing of it is.
    pub compressible: bool,
    /// The largest share of lines that may not parse, blank ones aside; 10 % by default.
    pub max_unparsable: Ratio,
    /// The largest site in bytes on disk; 2 GB by default.
    pub max_site: Bytes,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            format: None,
            expect: true,
            conditional: false,
            compressible: false,
            max_unparsable: Ratio::new(0.1).unwrap_or_default(),
            max_site: Bytes::new(2_000_000_000),
        }
    }
}
