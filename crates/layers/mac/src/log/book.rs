//! Log and status file of one domain, written together.
//!
//! Measured side. A full disk ends neither the watched program nor the reader: lines that could not be written are
//! counted.

use super::access::LoggedAccess;
use super::lines::{AccessVerdict, LineWriter};
use crate::grant::DomainGrant;
use crate::status::DomainStatus;
use bakeoff_layers_base::daemon::status::StatusFile;
use bakeoff_layers_base::plain::{FileLocation, PathError};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Longest time after a change for which the status may be out of date.
pub(crate) const STATUS_DELAY: Duration = Duration::from_millis(100);

/// A domain to read about, and the output files.
#[derive(Debug)]
pub struct DomainLog {
    /// Domain, policy and reasons.
    pub grant: DomainGrant,
    /// The status file.
    pub status: Option<PathBuf>,
    /// The log; lines are added.
    pub out: Option<PathBuf>,
}

/// Reasons for not reading.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The kernel does not give us its audit records.
    #[error("cannot read the kernel's audit: {0}; it needs root, and a kernel with audit (CONFIG_AUDIT)")]
    Audit(io::Error),
    /// The status file or the log.
    #[error(transparent)]
    File(#[from] PathError),
    /// The system.
    #[error("reading the kernel's audit: {0}")]
    System(#[from] io::Error),
}

/// State of log and status.
pub(crate) struct Book {
    pub(crate) status: DomainStatus,
    lines: LineWriter,
    file: StatusFile,
    written: Instant,
}

impl Book {
    /// Opens both files.
    pub(crate) fn open(reading: DomainLog) -> Result<Self, ReadError> {
        let DomainLog { grant, status, out } = reading;
        let (status, out) = (status.as_deref(), out.as_deref());
        let file = StatusFile::open(status).map_err(PathError::written(status))?;
        let out = out.map(append).transpose().map_err(PathError::written(out))?;
        Ok(Self {
            status: DomainStatus::default(),
            lines: LineWriter::new(grant, out),
            file,
            written: Instant::now(),
        })
    }

    /// Counts and logs accesses that were attempted at once.
    pub(crate) fn note(
        &mut self,
        verdict: AccessVerdict,
        of: (u64, Option<u32>, Option<&Path>),
        wanted: Vec<LoggedAccess>,
    ) {
        let all = match verdict {
            AccessVerdict::Denied => "denied",
            AccessVerdict::WouldDeny => "would-deny",
        };
        self.status.add(all, 1);
        for wanted in wanted {
            if verdict == AccessVerdict::Denied {
                self.status.add(&wanted.counter(), 1);
            }
            let written = self.lines.note((verdict, wanted), of, Instant::now());
            self.count(written);
        }
    }

    /// Writes the lines that are due by now, a few times a second; at the `end` all of them.
    pub(crate) fn turn(&mut self, end: bool) {
        if end || self.written.elapsed() >= STATUS_DELAY {
            let written = self.lines.turn(Instant::now(), end);
            self.count(written);
            self.write();
        }
    }

    /// Writes the status, if it changed and is ours: a program that was restarted with the same file owns it, and the
    /// end of the previous run must not overwrite it.
    pub(crate) fn write(&mut self) {
        self.written = Instant::now();
        let written = self.file.write_own(self.status.text());
        self.count(written);
    }

    /// Continues from the status left by another process of ours that was killed.
    pub(crate) fn succeed(&mut self, left: &str) {
        self.status.resume(left);
        self.file.take_over();
    }

    /// Time for which nothing can be due, if nothing more happens.
    pub(crate) fn rest(&self) -> Option<Duration> {
        (self.written.elapsed() < STATUS_DELAY).then_some(STATUS_DELAY)
    }

    fn count(&mut self, written: io::Result<()>) {
        if written.is_err() {
            self.status.add("unwritten", 1);
        }
    }
}

fn append(path: &Path) -> io::Result<File> {
    FileLocation::guarded(path)?.keep(true, 0o640)
}
