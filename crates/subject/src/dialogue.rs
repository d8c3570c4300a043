//! A dialogue with a command that stays: bakeoff sends it a line, it answers with a line.
//!
//! Measuring side, cold path; the caller waits for each answer. The command's standard input and output are one end of
//! a socket pair, so that any program it is started through passes them on; standard error goes to the log.

use crate::SubjectError;
use crate::run_command::{CommandJob, guard_speaking, supervisor_error};
use crate::supervisor::{Exit, Supervisor};
use crate::words::last_lines;
use bakeoff_sys::lines::Lines;
use bakeoff_sys::process::Ending;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Interval of the checks whether it still runs.
const LOOK_MS: u8 = 50;

/// A running command. Dropping it ends it, with everything below it.
#[derive(Debug)]
pub struct Dialogue {
    lines: Lines,
    supervisor: Supervisor,
    log: PathBuf,
}

/// Outcome of a wait for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// A line, without its end.
    Line(String),
    /// No line: it has ended, like this.
    Ended(Ending),
    /// No line within the time.
    Late,
    /// No line: the user wants to stop.
    Interrupted,
}

impl Dialogue {
    /// Starts the command. It is for the command to say that it is ready.
    ///
    /// # Errors
    /// As [`crate::run_command`].
    pub fn start(job: &CommandJob<'_>) -> Result<Self, SubjectError> {
        let mut supervisor = guard_speaking(job)?;
        let voice = supervisor.take_voice().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected));
        let lines = Lines::new(voice.map_err(|source| supervisor_error(job, source))?);
        Ok(Self { lines, supervisor, log: job.dir.join("stderr.log") })
    }

    /// The process that was started: the outermost program that the command is started through, or what it became.
    pub fn pid(&self) -> u32 {
        self.supervisor.started()
    }

    /// Sends a line. If the command no longer reads it, [`Self::hear`] finds that out.
    pub fn say(&mut self, line: &str) {
        let _ = self.lines.say(line.into());
    }

    /// Waits for the next line, at most `job`'s time limit, or says why there is none.
    ///
    /// # Errors
    /// The supervisor or the socket is gone.
    pub fn hear(&mut self, job: &CommandJob<'_>) -> Result<WaitOutcome, SubjectError> {
        let clock = MonotonicClock::new();
        loop {
            if let Some(line) = self.lines.next_line() {
                return Ok(WaitOutcome::Line(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            if self.is_readable().map_err(|source| supervisor_error(job, source))? {
                let open = self.lines.hear().map_err(|source| supervisor_error(job, source))?;
                if open {
                    continue;
                }
            }
            let exit = self.supervisor.exit(Nanos::ZERO).map_err(|source| supervisor_error(job, source))?;
            // Its last line may have come between the two looks.
            if let Some(Exit { ending, .. }) = exit
                && !self.is_readable().map_err(|source| supervisor_error(job, source))?
            {
                return Ok(WaitOutcome::Ended(ending));
            }
            if job.interrupted.load(Ordering::Relaxed) {
                return Ok(WaitOutcome::Interrupted);
            }
            if job.time_limit.is_some_and(|limit| clock.now() >= limit) {
                return Ok(WaitOutcome::Late);
            }
        }
    }

    /// The last lines of its standard error.
    pub fn last_words(&self) -> Vec<String> {
        last_lines(&self.log, 20)
    }

    fn is_readable(&self) -> io::Result<bool> {
        match poll(&mut [PollFd::new(self.lines.as_fd(), PollFlags::POLLIN)], PollTimeout::from(LOOK_MS)) {
            Ok(ready) => Ok(ready > 0),
            Err(nix::Error::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
