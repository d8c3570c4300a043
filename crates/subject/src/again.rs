//! Kill and restart of a running subject in place: the same configuration, port and directory.
//!
//! Measuring side, cold path. The kernel keeps the page cache of its files, as when a process is killed; a machine that
//! loses power would also lose what was not synced. The supervisor stays, and with it the account of CPU. Takes no
//! timestamps: the caller reads the clock.

use crate::SubjectError;
use crate::port;
use crate::ready::Waiting;
use crate::running::{Again, Running};
use crate::supervisor::LaunchError;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;

/// A subject with no process left. Its port is reserved for it.
#[derive(Debug)]
pub struct Killed<'r> {
    running: &'r Running,
    again: &'r Again,
    port: Option<OwnedFd>,
}

/// A subject that was started again and may not be ready yet.
#[derive(Debug)]
pub struct Starting<'r> {
    running: &'r Running,
    again: &'r Again,
    /// Keeps the port reserved: some servers take a while until they listen.
    _port: Option<OwnedFd>,
}

impl Running {
    /// Kills all of its processes at once (SIGKILL), and returns when none is left.
    ///
    /// # Errors
    /// It was not started by bakeoff, or not alone; or its supervisor is gone.
    pub fn kill(&self) -> Result<Killed<'_>, SubjectError> {
        let (Some(again), Some(supervisor)) = (&self.again, &self.supervisor) else {
            let reason = "bakeoff kills and starts what it has started itself, without layers and links";
            return Err(SubjectError::Again { arm: self.arm.clone(), reason });
        };
        match supervisor.kill() {
            Ok(0) => (),
            Ok(_) => {
                let reason = "some of its processes are stuck in the kernel";
                return Err(SubjectError::Again { arm: self.arm.clone(), reason });
            }
            Err(source) => return Err(self.supervisor_failed(source)),
        }
        // Without the reservation there is a small risk that a connection gets the port meanwhile.
        let port = port::hold(again.host, self.address.port()).ok();
        Ok(Killed { running: self, again, port })
    }

    fn supervisor_failed(&self, source: std::io::Error) -> SubjectError {
        let log = self.dir.clone().unwrap_or_default().join("supervisor.log");
        SubjectError::Supervisor { arm: self.arm.clone(), source, log }
    }

    fn not_launched(&self, error: LaunchError) -> SubjectError {
        let (arm, command) = (self.arm.clone(), self.command_line.join(" "));
        let doing = "starting it again".to_owned();
        match error {
            LaunchError::Supervisor(source) => self.supervisor_failed(source),
            LaunchError::Limits(reason) => SubjectError::Limit { arm, reason },
            LaunchError::NotFound => {
                let message = "the program is no longer there".to_owned();
                SubjectError::Spawn { arm, doing, message, command }
            }
            LaunchError::Failed { error, .. } => SubjectError::Spawn { arm, doing, message: error, command },
        }
    }
}

impl<'r> Killed<'r> {
    /// Starts it again; it may not be ready yet.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(self) -> Result<Starting<'r>, SubjectError> {
        let Self { running, again, port } = self;
        if let Some(supervisor) = &running.supervisor {
            supervisor.launch_again(again.plan.clone()).map_err(|error| running.not_launched(error))?;
        }
        Ok(Starting { running, again, _port: port })
    }
}

impl Starting<'_> {
    /// Returns when it is ready, as after a first start.
    ///
    /// # Errors
    /// It ended, or was not ready within the time that a start may take.
    pub fn wait(self, interrupted: &AtomicBool) -> Result<(), SubjectError> {
        let Self { running, again, .. } = &self;
        let (Some(supervisor), Some(dir)) = (&running.supervisor, &running.dir) else { return Ok(()) };
        Waiting {
            arm: &running.arm,
            supervisor,
            host: again.host,
            port: running.address.port(),
            dir,
            logs: &running.logs,
            ready: again.ready.as_deref(),
            tls: running.tls,
            timeout: again.start_timeout,
            interrupted,
        }
        .wait()
    }
}
