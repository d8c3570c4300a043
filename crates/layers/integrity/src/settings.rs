//! What the user wants, checked for form by the command line.

use bakeoff_layers_base::manifest::Action;
use std::path::PathBuf;
use std::time::Duration;

/// How a tree is to be enforced.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The tree.
    pub root: PathBuf,
    /// What it should be.
    pub manifest: PathBuf,
    /// Who says so.
    pub public_key: PathBuf,
    /// The most that is done about a wrong file.
    pub mode: Action,
    /// Where the newest version that was taken is kept; without it a restart may take an older one.
    pub high_water: Option<PathBuf>,
    /// Where the status is written.
    pub status: Option<PathBuf>,
    /// Paths below the root that are not looked at.
    pub exclude: Vec<String>,
    /// What becomes of files that are there and not listed.
    pub unlisted: Unlisted,
    /// Whether a tree is armed in which symbolic links hide what is opened, or FIFOs or devices are.
    pub links: Links,
    /// Whether verified files are made immutable while they are guarded.
    pub freeze: bool,
    /// Whether all files are hashed before the first open asks for it.
    pub ahead: bool,
    /// Longest time an open waits for a decision.
    pub time_limit: Duration,
    /// What becomes of an open that waited so long, or found too many before it.
    pub on_timeout: OnTimeout,
    /// Root of the process tree that `stop` ends; it must be running when enforcing begins, so that its
    /// number is told from the same number of a later process.
    pub stop_pid: Option<u32>,
    /// Key file of the store that `lock` locks.
    pub lock_store: Option<PathBuf>,
    /// Most verdicts that are kept under a lease; fewer when descriptors are short.
    pub keep: Option<usize>,
}

/// What becomes of files that are there and not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// They are wrong.
    Deny,
    /// They are not looked at.
    Allow,
}

/// What becomes of symbolic links by which something else could be opened than it seems, and of what is
/// opened without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// With one the tree is not armed, unless nothing is refused anyhow.
    Deny,
    /// They are a named gap.
    Allow,
}

/// What becomes of an open that could not be decided in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// As the mode says: allowed when it is `log`, refused otherwise.
    Mode,
    /// Allowed.
    Allow,
    /// Refused.
    Deny,
}

impl Settings {
    /// Whether an open that could not be decided is allowed.
    pub fn allows_undecided(&self) -> bool {
        match self.on_timeout {
            OnTimeout::Mode => self.mode == Action::Log,
            OnTimeout::Allow => true,
            OnTimeout::Deny => false,
        }
    }
}
