//! A cgroup per subject: the kernel's own account of a set of processes, however they come and go.
//!
//! Measuring side; made, joined and removed in the guardian, read by bakeoff. Only a directory
//! below our own cgroup, named after us, is ever made or removed, and only when empty; controllers
//! and limits are not touched, so measuring changes nothing for the subject.

mod place;

use crate::cpu::CpuChoice;
use bakeoff_units::Nanos;
use place::{home, own_name, remove_empty, sweep};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Which of the kernel's two cgroup systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Version 1 with the `cpuacct` controller: nanoseconds.
    V1,
    /// Version 2: microseconds in `cpu.stat`, there also without the `cpu` controller.
    V2,
}

/// One cgroup directory of ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) kind: Kind,
    path: PathBuf,
}

/// Makes the cgroups a subject may join, best first. Empty when clocks are wanted, or none can be
/// made and none is demanded.
pub(crate) fn candidates(choice: CpuChoice) -> io::Result<Vec<Group>> {
    match choice {
        CpuChoice::Clocks => Ok(Vec::new()),
        CpuChoice::CgroupV1 => Ok(vec![Group::make(Kind::V1)?]),
        CpuChoice::CgroupV2 => Ok(vec![Group::make(Kind::V2)?]),
        CpuChoice::Auto => {
            Ok([Kind::V1, Kind::V2].into_iter().filter_map(|kind| Group::make(kind).ok()).collect())
        }
    }
}

/// Keeps the one that `pid` joined and removes the others.
pub(crate) fn keep_joined(groups: Vec<Group>, pid: u32) -> Option<Group> {
    let mut kept = None;
    for group in groups {
        if kept.is_none() && group.was_joined_by(pid) {
            kept = Some(group);
        } else {
            group.remove();
        }
    }
    kept
}

impl Group {
    fn make(kind: Kind) -> io::Result<Self> {
        let home = home(kind)?;
        sweep(&home);
        let path = home.join(own_name()?);
        fs::create_dir(&path)?;
        let group = Self { kind, path };
        if let Err(error) = group.usage() {
            group.remove();
            return Err(error);
        }
        Ok(group)
    }

    /// Writing `0` here moves the writer in.
    pub(crate) fn door(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))
    }

    /// CPU of everybody who was ever in. Exact when nobody runs; else up to a scheduler tick per
    /// core too little (1 to 10 ms, the kernel's `CONFIG_HZ`).
    pub(crate) fn usage(&self) -> io::Result<Nanos> {
        Meter::open(self)?.read()
    }

    pub(crate) fn members(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Also true for a process that was in and has ended: it left its CPU behind.
    fn was_joined_by(&self, pid: u32) -> bool {
        self.members().contains(&pid) || self.usage().is_ok_and(|usage| usage > Nanos::ZERO)
    }

    /// Removes it with the groups the subject made inside. Ended processes leave a moment late, so
    /// it tries for a second; should it stay, the next start sweeps it away.
    pub(crate) fn remove(&self) {
        for _ in 0..100 {
            remove_empty(&self.path);
            if !self.path.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// The open account of a group; reading it is one system call.
#[derive(Debug)]
pub(crate) struct Meter {
    file: File,
    kind: Kind,
}

impl Meter {
    pub(crate) fn open(group: &Group) -> io::Result<Self> {
        let name = match group.kind {
            Kind::V1 => "cpuacct.usage",
            Kind::V2 => "cpu.stat",
        };
        Ok(Self { file: File::open(group.path.join(name))?, kind: group.kind })
    }

    pub(crate) fn read(&self) -> io::Result<Nanos> {
        let mut buffer = [0; 1024];
        let length = self.file.read_at(&mut buffer, 0)?;
        let text = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
        let number = match self.kind {
            Kind::V1 => text.trim().parse().ok().map(Nanos::new),
            Kind::V2 => usage_usec(text).map(Nanos::from_micros),
        };
        number
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no CPU usage in the cgroup's account"))
    }
}

fn usage_usec(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_stat_is_read_by_name() {
        assert_eq!(usage_usec("usage_usec 1234\nuser_usec 1000\n"), Some(1234));
        assert_eq!(usage_usec("user_usec 1000\n"), None);
    }
}
