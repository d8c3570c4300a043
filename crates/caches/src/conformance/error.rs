//! Errors of a conformance run.

use super::suite::{NPM, REPOSITORY};
use crate::run::CachesError;
use bakeoff_results::directory::DirectoryError;
use bakeoff_subject::SubjectError;
use bakeoff_units::Nanos;
use std::io;
use std::path::PathBuf;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    /// The suite is not there.
    #[error(
        "there is no HTTP cache suite in {dir}; install it by `npm install --prefix {dir} {npm}`, or give a clone of \
         {repository}, in which `npm install` was run, with --suite",
        dir = .0.display(),
        npm = NPM,
        repository = REPOSITORY
    )]
    NoSuite(PathBuf),
    /// The suite found there cannot be used.
    #[error("the HTTP cache suite in {}: {why}", .root.display())]
    Unfit {
        /// Its directory.
        root: PathBuf,
        /// The error and the remedy.
        why: String,
    },
    /// node is not installed.
    #[error(
        "there is no program `node` on this machine, and the HTTP cache suite runs on it; install it (Debian, Ubuntu: \
         `apt-get install nodejs`)"
    )]
    NoNode,
    /// No product can be examined.
    #[error(
        "no product takes part that could be examined: the suite's server must stand behind it, so bakeoff must start \
         it; give one with --product"
    )]
    NoProduct,
    /// The suite tests reverse proxies.
    #[error(
        "the plan asks forward proxies (`mode = \"forward\"`), and the suite can be run with reverse proxies only"
    )]
    Forward,
    /// The suite's server, without which no product can be examined.
    #[error("the suite's server: {0}")]
    Server(#[source] SubjectError),
    /// The product.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The suite's client did not come to its end.
    #[error("the suite's client did not come to its end ({status}); its last lines:{said}")]
    Client {
        /// Its exit status.
        status: String,
        /// Its last lines, each after a line feed.
        said: String,
    },
    /// It had not ended when its time was over.
    #[error(
        "the suite had not ended after {0}; a cache that does not answer holds it up: see whether it does, or give \
         --time-limit"
    )]
    TimeLimit(Nanos),
    /// Its output is not in its form.
    #[error(
        "the suite's client printed no results: {0}; is it a version of the suite that this bakeoff knows?"
    )]
    Answer(String),
    /// A file of the run.
    #[error("{}: {why}; the temporary directory (TMPDIR) must be writable", .path.display())]
    Scratch {
        /// Path of the file.
        path: PathBuf,
        /// Error from the system.
        why: io::Error,
    },
    /// An error in the common set-up with a bake-off.
    #[error(transparent)]
    SetUp(Box<CachesError>),
    /// The results directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl From<CachesError> for ConformanceError {
    fn from(why: CachesError) -> Self {
        Self::SetUp(Box::new(why))
    }
}

impl ConformanceError {
    /// Whether it concerns one product alone, so that the next one has its turn.
    pub(super) const fn is_of_one(&self) -> bool {
        matches!(self, Self::Subject(_) | Self::Client { .. } | Self::TimeLimit(_) | Self::Answer(_))
    }
}
