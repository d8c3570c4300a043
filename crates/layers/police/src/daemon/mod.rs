//! Daemon of `run`: the layer as a process, from arming to its end.
//!
//! Measured side, cold: the kernel decides. The daemon looks ten times a second, and a hundred times while
//! connections wait and bounds are to be set. Owns the order of arming, the signals, the status, and giving up
//! rights. Prints nothing. However it ends, nothing stays in the kernel. Its settings on the server's sockets are
//! undone at a requested end, and otherwise by the next daemon with the same status file.

mod arm;
mod arrivals;
mod interfaces;
mod life;
mod proof;
mod rights;
mod status;
mod watch;

pub use proof::proof;

use crate::kernel::{KernelError, PoliceMode};
use crate::listeners::ListenerError;
use crate::rules::{Rules, RulesError};
use bakeoff_layers_base::plain::PathError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Settings of the daemon.
#[derive(Clone, Debug)]
pub struct DaemonSettings {
    /// The rules; SIGHUP reads them again.
    pub rules: PathBuf,
    /// The server's first process.
    pub server_pid: u32,
    /// The status file.
    pub status: Option<PathBuf>,
    /// Whether decisions are enforced.
    pub mode: PoliceMode,
    /// Interfaces whose packets are decided; empty means all.
    pub interfaces: Vec<String>,
    /// Whether SYNs are also decided in the driver.
    pub xdp: bool,
    /// Whether the kernel measures the run time of programs.
    pub count_time: bool,
}

/// Reasons for not policing.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// The rules are faulty.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// The server's sockets cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenerError),
    /// The kernel refused something.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The status file cannot be written.
    #[error(transparent)]
    Status(#[from] PathError),
    /// Another daemon writes this status.
    #[error("process {0} polices with this status file already; end it first (kill {0})")]
    Twice(u32),
    /// There is no suitable interface.
    #[error(
        "there is no interface of Ethernet or loopback in the server's network; name one with --interface"
    )]
    NoInterface,
    /// An operation of the system failed.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
}

impl DaemonSettings {
    /// The rules. A pipe would be waited for, and no signal heard meanwhile.
    fn read_rules(&self) -> Result<Rules, RulesError> {
        if std::fs::metadata(&self.rules).is_ok_and(|about| !about.is_file()) {
            let why = io::Error::other("it is no regular file");
            return Err(RulesError::Unreadable(self.rules.display().to_string(), why));
        }
        Rules::read(&self.rules)
    }
}

impl DaemonError {
    fn deferral(source: io::Error) -> Self {
        Self::System("TCP_DEFER_ACCEPT", source)
    }

    /// Conversion for `map_err`.
    fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System(what, source)
    }
}

/// Polices until SIGTERM or Ctrl-C. `say` gets the line `armed ...`, `note` gets later messages. For a process with
/// one thread.
///
/// # Errors
/// It could not begin: nothing is attached then, and the status says `failed`.
pub fn run(
    settings: &DaemonSettings,
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
