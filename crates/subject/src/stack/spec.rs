//! Description of a layer in a plan: its commands, daemon, proof and status file.

use std::path::{Path, PathBuf};

/// A layer as a plan describes it: commands, no shell, with substitutions. Besides the plan's own
/// values they are `{under}`, the files as what lies below shows them; `{reference}`, the tree that
/// the site's owner signed; `{dir}`, a directory that the layer keeps over all starts of its arm;
/// and `{layers}`, the executable with our own layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerSpec {
    /// Its name.
    pub name: String,
    /// Run once for each arm, before its first start, in order.
    pub build: Vec<Vec<String>>,
    /// Run before each start, in order. Processes they leave running stay until the arm is stopped.
    pub up: Vec<Vec<String>>,
    /// Runs until the arm is stopped.
    pub daemon: Option<Vec<String>>,
    /// The daemon is ready when it prints a line that begins with this; none: as soon as it is started.
    pub ready: Option<String>,
    /// Directory in which the server, or the next layer, finds the files; none: `{under}`.
    pub root: Option<String>,
    /// A command that tells whether the layer is on, as an arm's own proof does.
    pub proof: Option<Vec<String>>,
    /// A file that the layer keeps, with a line `NAME NUMBER` for each of its counters.
    pub status: Option<String>,
    /// The counter of violations noticed.
    pub violations: Option<String>,
    /// Kernel threads that work for it, in words: their CPU is in no account.
    pub kernel_threads: Option<String>,
}

impl LayerSpec {
    /// The directory that it keeps over all starts of an arm.
    pub(super) fn home(&self, base: &Path, arm: &str) -> PathBuf {
        base.join(format!("{arm}.layers")).join(&self.name)
    }
}
