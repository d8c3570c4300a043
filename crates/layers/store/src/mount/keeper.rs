//! A process that sees to it that a killed daemon leaves no dead mount behind.
//!
//! Measured side, a process of its own that sleeps in one read. It holds the end of a pipe whose other
//! end only the daemon has. When the daemon is gone, however it went, the read ends; if the very
//! mount of the daemon is still there, it is taken away. Without it, every process that touches the
//! mount point would get ENOTCONN until somebody unmounts.

use nix::mount::{MntFlags, umount2};
use nix::sys::stat::{major, minor};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The daemon's end.
pub(crate) struct Keeper {
    pipe: Option<ChildStdin>,
    child: Option<Child>,
}

impl Keeper {
    /// Starts it, if there is a command for it. It gets the mount point as its last argument.
    pub(crate) fn start(command: Option<Command>, at: &Path) -> io::Result<Self> {
        let Some(mut command) = command else { return Ok(Self { pipe: None, child: None }) };
        // A group of its own: Ctrl-C of a terminal is for the daemon alone.
        command.arg(at).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut child = command.spawn()?;
        Ok(Self { pipe: child.stdin.take(), child: Some(child) })
    }

    /// Tells it which device the mount is.
    pub(crate) fn tell(&mut self, device: Option<u64>) {
        if let (Some(pipe), Some(device)) = (&mut self.pipe, device) {
            let _ = writeln!(pipe, "{}:{}", major(device), minor(device));
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.pipe.take());
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
    }
}

/// The keeper's whole life: waits for the daemon's end, then takes its mount away if it is there.
///
/// # Errors
/// When the mount is there and cannot be taken away.
pub fn keeper_main(at: &Path) -> io::Result<()> {
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let mut device = String::new();
    io::stdin().read_to_string(&mut device)?;
    let mounts = std::fs::read("/proc/self/mountinfo")?;
    if is_mounted(&mounts, device.trim_end(), at) {
        umount2(at, MntFlags::MNT_DETACH)?;
    }
    Ok(())
}

/// Whether the topmost mount at this point is this device. The kernel writes blanks in names as `\040`.
fn is_mounted(mountinfo: &[u8], device: &str, at: &Path) -> bool {
    let escaped: Vec<u8> = at.as_os_str().as_bytes().iter().flat_map(|byte| escape(*byte)).collect();
    let of_line = |line: &[u8]| -> Option<bool> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let (number, _root, place) = (fields.next()?, fields.next()?, fields.next()?);
        (place == escaped).then_some(number == device.as_bytes())
    };
    let lines = mountinfo.split(|byte| *byte == b'\n');
    lines.filter_map(of_line).next_back().unwrap_or(false)
}

fn escape(byte: u8) -> Vec<u8> {
    match byte {
        b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
        other => vec![other],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"20 1 254:0 / / rw - ext4 /dev/vda rw\n\
        30 20 0:50 / /srv/a\\040b ro - fuse.bakeoff bakeoff-store ro\n\
        31 30 0:51 / /srv/a\\040b ro - fuse.bakeoff bakeoff-store ro\n";

    #[test]
    fn only_the_topmost_mount_counts() {
        let at = Path::new("/srv/a b");
        assert!(is_mounted(MOUNTS, "0:51", at));
        assert!(!is_mounted(MOUNTS, "0:50", at));
        assert!(!is_mounted(MOUNTS, "0:51", Path::new("/srv/a")));
        assert!(!is_mounted(MOUNTS, "", at));
    }
}
