//! Switch of the kernel's audit: on while a reader of ours lives, and restored when the last one ends.
//!
//! Measured side, cold. The audit belongs to the machine, not to us. Its settings are saved before they are changed,
//! in a file of which all readers lock a byte, so that of two runs at a time none switches it off for the other. A
//! killed reader leaves file and audit as they are, and the next reader to end restores them. Settings that somebody
//! else changed meanwhile stay: those of a daemon, or a lock.

use bakeoff_layers_base::plain::FileLocation;
use bakeoff_sys::audit::{Audit, AuditSettings};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// File shared by all readers of this machine; empty after a restart, as the audit's settings are.
const MEETING: &str = "/run/bakeoff-audit";
/// Byte of the file that is locked while settings change.
const CHANGES: i64 = 0;
/// Byte that each reader shares for as long as it lives.
const LIVES: i64 = 1;
/// Limit on waiting records while the audit is ours. Where calls are audited a refusal has five, and the kernel's own
/// limit is 64: a dozen refusals within a millisecond were too many. About 500 bytes each.
const BACKLOG_LIMIT: u32 = 8192;

/// The audit, on.
#[derive(Debug)]
pub(super) struct Switch {
    audit: Audit,
    meeting: File,
    /// Records that were lost before.
    lost: u32,
}

impl Switch {
    /// Switches it on if it is off.
    ///
    /// # Errors
    /// No right to (`EPERM`), no audit in the kernel, or the file cannot be made.
    pub(super) fn on() -> io::Result<Self> {
        let (audit, meeting) = (Audit::open()?, Path::new(MEETING));
        // Before the file: without the right there is none.
        let lost = audit.settings()?.lost;
        let meeting = loop {
            let opened = open(meeting)?;
            lock(&opened, LIVES, libc::F_RDLCK, true)?;
            // The last reader before us may have taken it away meanwhile.
            if meeting
                .metadata()
                .is_ok_and(|there| opened.metadata().is_ok_and(|own| own.ino() == there.ino()))
            {
                break opened;
            }
        };
        let mut own = Self { audit, meeting, lost };
        own.changing(|own| {
            let before = own.audit.settings()?;
            if before.enabled == 0 {
                // The settings that a killed reader saved count, not those it left.
                if own.before()?.is_none() {
                    own.meeting.write_all_at(format!("{}\n", before.backlog_limit).as_bytes(), 0)?;
                }
                own.spare_calls(before)?;
                own.audit.set_backlog_limit(BACKLOG_LIMIT.max(before.backlog_limit))?;
                own.audit.set_enabled(1)?;
            }
            Ok(())
        })?;
        Ok(own)
    }

    /// Keeps the kernel from auditing every call. Once its audit was on the kernel does so for every process that is
    /// started, also when it is off again: 200 ns a call, until the machine restarts. Without rules nobody reads
    /// that, and one rule prevents it; the rule stays. A kernel that cannot audit calls refuses it, and does not need
    /// it.
    fn spare_calls(&self, before: AuditSettings) -> io::Result<()> {
        if before.daemon == 0 && self.audit.rules()? == 0 {
            let _ = self.audit.never_watch_calls();
        }
        Ok(())
    }

    /// Whether the audit is on, and the number of records lost since.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn look(&self) -> io::Result<(bool, u64)> {
        let AuditSettings { enabled, lost, .. } = self.audit.settings()?;
        Ok((enabled != 0, lost.wrapping_sub(self.lost).into()))
    }

    fn restore(&mut self) -> io::Result<()> {
        self.changing(|own| {
            if lock(&own.meeting, LIVES, libc::F_WRLCK, false).is_err() {
                // Another reader still lives.
                return lock(&own.meeting, LIVES, libc::F_UNLCK, false);
            }
            if let Some(backlog_limit) = own.before()? {
                let now = own.audit.settings()?;
                if now.enabled < 2 && now.daemon == 0 {
                    own.audit.set_enabled(0)?;
                    own.audit.set_backlog_limit(backlog_limit)?;
                }
            }
            FileLocation::guarded(Path::new(MEETING))?.remove()
        })
    }

    /// The saved backlog limit, from when the audit was off.
    fn before(&mut self) -> io::Result<Option<u32>> {
        let mut text = String::new();
        self.meeting.rewind()?;
        (&self.meeting).take(64).read_to_string(&mut text)?;
        Ok(text.trim_end().parse().ok())
    }

    /// Runs `work` while nobody else changes the settings.
    fn changing(&mut self, work: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        lock(&self.meeting, CHANGES, libc::F_WRLCK, true)?;
        let worked = work(self);
        lock(&self.meeting, CHANGES, libc::F_UNLCK, false)?;
        worked
    }
}

fn open(meeting: &Path) -> io::Result<File> {
    FileLocation::guarded(meeting)?.keep(false, 0o600)
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.restore();
    }
}

/// Locks or unlocks a byte for this open file; the lock ends with the file, also when we are killed.
fn lock(file: &File, byte: i64, kind: i32, wait: bool) -> io::Result<()> {
    let wanted = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    };
    loop {
        let how = if wait { FcntlArg::F_OFD_SETLKW(&wanted) } else { FcntlArg::F_OFD_SETLK(&wanted) };
        match fcntl(file, how) {
            Err(Errno::EINTR) => {}
            done => return Ok(done.map(drop)?),
        }
    }
}
