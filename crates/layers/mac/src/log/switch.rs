//! The kernel's audit is on while a reader of ours lives, and as it was when the last one ends.
//!
//! Measured side, cold. It is the machine's, not ours: what it was set to is written down before it is changed, in a
//! file that all readers lock a byte of, so that two runs at a time do not switch it off for each other. A reader that
//! was killed leaves file and audit as they are, and the next reader to end puts them back. What somebody else has
//! set meanwhile stays: a daemon that came, or a lock.

use bakeoff_sys::audit::{Audit, Settings};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Where all readers of this machine meet; empty after a restart, as the audit's settings are.
const MEETING: &str = "/run/bakeoff-audit";
/// Byte of the file that is locked to change something.
const CHANGES: i64 = 0;
/// Byte that each reader shares for as long as it lives.
const LIVES: i64 = 1;
/// Records that may wait while it is ours. Where calls are watched a refusal has five, and the kernel's own limit is
/// 64: a dozen refusals within a millisecond were too many. About 500 bytes each.
const BACKLOG_LIMIT: u32 = 8192;

/// The audit, on.
#[derive(Debug)]
pub(super) struct Switch {
    audit: Audit,
    meeting: File,
    /// Records that had been lost before.
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
                // What a killed reader found counts, not what it left.
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

    /// Once its audit was on the kernel watches the calls of every process that is started, also when it is off again:
    /// 200 ns a call, until the machine is started anew. Where nobody has rules nobody reads that, and a rule keeps it
    /// from being done; it stays. A kernel that cannot watch calls does not take it, and does not need it.
    fn spare_calls(&self, before: Settings) -> io::Result<()> {
        if before.daemon == 0 && self.audit.rules()? == 0 {
            let _ = self.audit.never_watch_calls();
        }
        Ok(())
    }

    /// Whether it is on, and how many records it has lost since.
    ///
    /// # Errors
    /// What the kernel reports.
    pub(super) fn look(&self) -> io::Result<(bool, u64)> {
        let Settings { enabled, lost, .. } = self.audit.settings()?;
        Ok((enabled != 0, lost.wrapping_sub(self.lost).into()))
    }

    fn restore(&mut self) -> io::Result<()> {
        self.changing(|own| {
            if lock(&own.meeting, LIVES, libc::F_WRLCK, false).is_err() {
                // Another one reads.
                return lock(&own.meeting, LIVES, libc::F_UNLCK, false);
            }
            if let Some(backlog_limit) = own.before()? {
                let now = own.audit.settings()?;
                if now.enabled < 2 && now.daemon == 0 {
                    own.audit.set_enabled(0)?;
                    own.audit.set_backlog_limit(backlog_limit)?;
                }
            }
            std::fs::remove_file(MEETING)
        })
    }

    /// The limit that stood there when it was off.
    fn before(&mut self) -> io::Result<Option<u32>> {
        let mut text = String::new();
        self.meeting.rewind()?;
        (&self.meeting).take(64).read_to_string(&mut text)?;
        Ok(text.trim_end().parse().ok())
    }

    /// Nobody else changes anything meanwhile.
    fn changing(&mut self, work: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        lock(&self.meeting, CHANGES, libc::F_WRLCK, true)?;
        let worked = work(self);
        lock(&self.meeting, CHANGES, libc::F_UNLCK, false)?;
        worked
    }
}

fn open(meeting: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW).open(meeting)
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.restore();
    }
}

/// Locks a byte for this open file, or lets go of it; ends with the file, also when we are killed.
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
