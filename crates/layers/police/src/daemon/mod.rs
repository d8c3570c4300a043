//! `run`: the layer as a process, from arming to its end.
//!
//! Measured side, cold: what decides is in the kernel. It looks ten times a second, and a hundred times while connections
//! wait and bounds are to be set. Owns the order of arming, the signals, the status, the rights that are given up. Prints
//! nothing. However it ends, the kernel has nothing of it any more; what it set on the server's sockets is put back at an end
//! that was asked for, and after another by the next daemon with the same status file.

mod arm;
mod arrivals;
mod interfaces;
mod life;
mod proof;
mod rights;
mod status;
mod watch;

pub use proof::proof;

use crate::kernel::{KernelError, Mode};
use crate::listeners::ListenError;
use crate::rules::RulesError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The rules; SIGHUP reads them again.
    pub rules: PathBuf,
    /// The server's first process.
    pub server_pid: u32,
    /// The status file.
    pub status: Option<PathBuf>,
    /// What is done with what is decided.
    pub mode: Mode,
    /// Through which packets come; empty: all there are.
    pub interfaces: Vec<String>,
    /// SYNs are decided in the driver, too.
    pub xdp: bool,
    /// The kernel measures how long programs run.
    pub count_time: bool,
}

/// Why nothing is policed.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// The rules.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// The server's sockets.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The status file.
    #[error("{}: {source}; name a file in a directory that can be written to", path.display())]
    Status {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another one writes this status.
    #[error("process {0} polices with this status file already; end it first (kill {0})")]
    Twice(u32),
    /// No interface that could be looked at.
    #[error(
        "there is no interface of Ethernet or loopback in the server's network; name one with --interface"
    )]
    NoInterface,
    /// The system.
    #[error("{what}: {source}")]
    System {
        /// What was done.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
}

impl DaemonError {
    /// For `map_err`.
    fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// Polices until SIGTERM or Ctrl-C. `say` is handed the line `armed ...`, once; `note` what happens later. For a process with
/// one thread.
///
/// # Errors
/// Why it did not begin: nothing is attached then, and the status says `failed`.
pub fn run(
    settings: &Settings,
    mut say: impl FnMut(&str),
    mut note: impl FnMut(&str),
) -> Result<(), DaemonError> {
    let signals = life::signals()?;
    let armed = match arm::arm(settings, &mut note) {
        Ok(armed) => armed,
        Err(error) => {
            status::failed(settings, &error);
            return Err(error);
        }
    };
    say(&armed.told());
    life::live(armed, &signals, &mut note)
}
