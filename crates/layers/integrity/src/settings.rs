//! Settings of enforcement, from the command line, which has checked their form.

use bakeoff_layers_base::manifest::FaultAction;
use bakeoff_layers_base::name::EscapedName;
use std::path::PathBuf;
use std::time::Duration;

/// Settings for enforcing a tree.
#[derive(Clone, Debug)]
pub struct EnforcementSettings {
    /// The tree.
    pub root: PathBuf,
    /// Path of its manifest.
    pub manifest: PathBuf,
    /// Name that it must carry: the one that it was sealed with, or the tree's path.
    pub name: Option<EscapedName>,
    /// Public key of its signer.
    pub public_key: PathBuf,
    /// Strongest reaction to a wrong file.
    pub mode: FaultAction,
    /// File for the newest accepted version; without it a restart may accept an older one.
    pub high_water: Option<PathBuf>,
    /// Path of the status file.
    pub status: Option<PathBuf>,
    /// Paths below the root that are not enforced.
    pub exclude: Vec<String>,
    /// Treatment of files that exist but are not listed.
    pub unlisted: Unlisted,
    /// Treatment of symbolic links that hide another file, of FIFOs and of devices.
    pub links: Links,
    /// Whether verified files are made immutable while they are guarded.
    pub freeze: bool,
    /// Whether all files are hashed before the first open asks for it.
    pub ahead: bool,
    /// Longest time an open waits for a decision.
    pub time_limit: Duration,
    /// Treatment of an open that exceeded the time limit, or found the queue full.
    pub on_timeout: OnTimeout,
    /// Root of the process tree that `stop` ends. It must be running at the start, so that it can be told from a
    /// later process with the same number.
    pub stop_pid: Option<u32>,
    /// Key file of the store that `lock` locks.
    pub lock_store: Option<PathBuf>,
    /// Limit on verdicts kept under a lease; fewer when descriptors are short.
    pub keep: Option<usize>,
}

/// Treatment of files that exist but are not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// They count as wrong.
    Deny,
    /// They are ignored.
    Allow,
}

/// Treatment of symbolic links that could show another file under a listed name, and of files that open without
/// asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// The tree is not armed with one in it, unless the mode refuses nothing anyway.
    Deny,
    /// They are a named gap.
    Allow,
}

/// Treatment of an open that could not be decided in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// As the mode says: allowed when it is `log`, refused otherwise.
    Mode,
    /// Allowed.
    Allow,
    /// Refused.
    Deny,
}

impl EnforcementSettings {
    /// Whether an open that could not be decided is allowed.
    pub fn allows_undecided(&self) -> bool {
        match self.on_timeout {
            OnTimeout::Mode => self.mode == FaultAction::Log,
            OnTimeout::Allow => true,
            OnTimeout::Deny => false,
        }
    }
}
