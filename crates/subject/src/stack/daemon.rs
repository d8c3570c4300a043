//! Daemon of a layer: the wait for a foreground process until it says that it is ready.

use super::Task;
use crate::SubjectError;
use crate::run_command::CommandJob;
use crate::supervisor::Supervisor;
use bakeoff_sys::process::Ending;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::fs;
use std::sync::atomic::Ordering;

/// Interval between two looks at its output.
const GLANCE: Nanos = Nanos::from_millis(10);

impl Task<'_> {
    pub(super) fn await_ready(
        &self,
        job: &CommandJob<'_>,
        supervisor: &Supervisor,
    ) -> Result<(), SubjectError> {
        let Some(ready) = &self.layer.ready else { return Ok(()) };
        let command = job.argv.join(" ");
        let clock = MonotonicClock::new();
        while !self.has_printed(ready) {
            let exit = supervisor.exit(GLANCE).map_err(|source| SubjectError::Supervisor {
                arm: job.arm.clone(),
                source,
                log: job.dir.join("supervisor.log"),
            })?;
            if let Some(exit) = exit {
                let how = match exit.ending {
                    Ending::Exited(code) => format!("ended with {code} before it was ready"),
                    Ending::Killed(signal) => format!("was ended by signal {signal} before it was ready"),
                };
                return Err(self.wrong(&command, &how));
            }
            if job.interrupted.load(Ordering::Relaxed) {
                return Err(SubjectError::Interrupted { arm: job.arm.clone() });
            }
            if job.time_limit.is_some_and(|limit| clock.now() >= limit) {
                let what = format!(
                    "it did not print a line that begins with `{ready}` in time; `start_timeout` gives it more"
                );
                return Err(self.wrong(&command, &what));
            }
        }
        Ok(())
    }

    fn has_printed(&self, ready: &str) -> bool {
        let text = fs::read(self.prints.join("stdout.log")).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().any(|line| line.starts_with(ready))
    }
}
