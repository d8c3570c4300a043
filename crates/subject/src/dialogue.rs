//! A command that stays and is spoken to: a line to it, a line from it.
//!
//! Measuring side, cold path; whoever speaks waits. Its standard input and output are one end of a socket pair, so that
//! whatever it is started through lets them pass; standard error goes to the log.

use crate::SubjectError;
use crate::guardian::{Exit, Guardian};
use crate::run_command::{Job, guard_speaking, guardian_error};
use crate::words::last_lines;
use bakeoff_sys::lines::Lines;
use bakeoff_sys::process::Ending;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// How often it is looked whether it still runs.
const LOOK_MS: u8 = 50;

/// A command that runs. Dropping it ends it, with everything below it.
#[derive(Debug)]
pub struct Dialogue {
    lines: Lines,
    guardian: Guardian,
    log: PathBuf,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its end.
    Line(String),
    /// Nothing: it has ended so.
    Ended(Ending),
    /// Nothing within the time.
    Late,
    /// Nothing: the user wants to stop.
    Interrupted,
}

impl Dialogue {
    /// Starts the command. That it runs is for it to say.
    ///
    /// # Errors
    /// As [`crate::run_command`].
    pub fn start(job: &Job<'_>) -> Result<Self, SubjectError> {
        let mut guardian = guard_speaking(job)?;
        let voice = guardian.take_voice().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected));
        let lines = Lines::new(voice.map_err(|source| guardian_error(job, source))?);
        Ok(Self { lines, guardian, log: job.dir.join("stderr.log") })
    }

    /// The process that was started: the outermost of what the command is started through, or what it became.
    pub fn pid(&self) -> u32 {
        self.guardian.started()
    }

    /// Says a line. That nobody hears it is found out by [`Self::hear`].
    pub fn say(&mut self, line: &str) {
        let _ = self.lines.say(line.into());
    }

    /// The next line, or why there is none. Waits at most `job`'s time limit.
    ///
    /// # Errors
    /// The guardian or the socket is gone.
    pub fn hear(&mut self, job: &Job<'_>) -> Result<Heard, SubjectError> {
        let clock = MonotonicClock::new();
        loop {
            if let Some(line) = self.lines.next_line() {
                return Ok(Heard::Line(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            if self.is_readable().map_err(|source| guardian_error(job, source))? {
                let open = self.lines.hear().map_err(|source| guardian_error(job, source))?;
                if open {
                    continue;
                }
            }
            let exit = self.guardian.exit(Nanos::ZERO).map_err(|source| guardian_error(job, source))?;
            // What it said last may have come between the two looks.
            if let Some(Exit { ending, .. }) = exit
                && !self.is_readable().map_err(|source| guardian_error(job, source))?
            {
                return Ok(Heard::Ended(ending));
            }
            if job.interrupted.load(Ordering::Relaxed) {
                return Ok(Heard::Interrupted);
            }
            if job.time_limit.is_some_and(|limit| clock.now() >= limit) {
                return Ok(Heard::Late);
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
