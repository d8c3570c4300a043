//! Cgroups of a subject: the kernel's own account of a set of processes, however they come and go, and the limits a
//! plan puts on them.
//!
//! Measuring side; made, joined and removed in the supervisor, read by bakeoff. Only directories named after us are ever
//! made or removed, and only when empty. Measuring alone touches no controller and no limit, so it changes nothing for
//! the subject; `limit` sets what a plan asks for, `hits` reads how often a limit was met, `place` knows where groups
//! can be.

mod hits;
mod limit;
mod place;

pub(crate) use hits::HitMeter;
pub use hits::LimitsHit;
pub(crate) use limit::{Ceiling, Throttle};

use crate::cpu::choice::CpuChoice;
use bakeoff_units::Nanos;
use place::{Tree, home, own_name, remove_empty, sweep};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Version of the kernel's cgroup system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Version 1: a hierarchy for each controller. CPU of `cpuacct`: nanoseconds.
    V1,
    /// Version 2: microseconds in `cpu.stat`, there also without the `cpu` controller.
    V2,
}

/// One cgroup directory of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) kind: Kind,
    path: PathBuf,
}

/// All groups of one subject.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Groups {
    /// The group that its CPU is read from; none: CPU clocks are used.
    pub(crate) account: Option<Group>,
    /// The groups that limit it. The account may be one of them.
    pub(crate) limiting: Vec<Group>,
}

/// The groups a child can be put into, before it is known which it joined.
pub(crate) struct Prospects {
    /// Best first; the child joins the first that takes it.
    accounts: Vec<Group>,
    /// The child must join all of these.
    limiting: Vec<Group>,
}

/// Reasons why there are no groups for a subject.
pub(crate) enum NoGroups {
    /// No account can be had, and one was demanded.
    Account(io::Error),
    /// A limit cannot be set: a sentence, with what to do.
    Limit(String),
}

impl Prospects {
    /// Makes the groups. Leaves none when it fails.
    pub(crate) fn make(choice: CpuChoice, ceiling: &Ceiling) -> Result<Self, NoGroups> {
        sweep();
        let limiting = limit::make(ceiling).map_err(|refusal| NoGroups::Limit(refusal.to_string()))?;
        match accounts(choice, &limiting) {
            Ok(accounts) => Ok(Self { accounts, limiting }),
            Err(error) => {
                limiting.iter().for_each(Group::remove);
                Err(NoGroups::Account(error))
            }
        }
    }

    /// The prospects of a subject that already has groups.
    pub(crate) fn of(groups: &Groups) -> Self {
        Self { accounts: groups.account.iter().cloned().collect(), limiting: groups.limiting.clone() }
    }

    /// Door files of which the child needs to pass one.
    pub(crate) fn any(&self) -> Vec<File> {
        self.accounts.iter().filter_map(|group| group.door().ok()).collect()
    }

    /// Door files that the child must all pass.
    pub(crate) fn all(&self) -> io::Result<Vec<File>> {
        self.limiting.iter().map(Group::door).collect()
    }

    /// Keeps the groups that `pid` joined and removes the others.
    pub(crate) fn keep_joined(self, pid: u32) -> Groups {
        let mut account = None;
        for group in self.accounts {
            if account.is_none() && group.was_joined_by(pid) {
                account = Some(group);
            } else if !self.limiting.contains(&group) {
                group.remove();
            }
        }
        Groups { account, limiting: self.limiting }
    }

    /// Removes all.
    pub(crate) fn remove(&self) {
        self.accounts.iter().chain(&self.limiting).for_each(Group::remove);
    }
}

/// Groups from which the CPU could be read. Empty when clocks are wanted, or no group can be made and none is demanded.
fn accounts(choice: CpuChoice, limiting: &[Group]) -> io::Result<Vec<Group>> {
    match choice {
        CpuChoice::Clocks => Ok(Vec::new()),
        CpuChoice::CgroupV1 => Ok(vec![account(Kind::V1, limiting)?]),
        CpuChoice::CgroupV2 => Ok(vec![account(Kind::V2, limiting)?]),
        CpuChoice::Auto => {
            Ok([Kind::V1, Kind::V2].into_iter().filter_map(|kind| account(kind, limiting).ok()).collect())
        }
    }
}

/// A limiting group of the same tree is the account too: a process is in one group of a tree.
fn account(kind: Kind, limiting: &[Group]) -> io::Result<Group> {
    let shared = match kind {
        Kind::V1 => {
            let path = home(Tree::V1("cpuacct"))?.join(own_name()?);
            limiting.iter().find(|group| group.path == path)
        }
        Kind::V2 => limiting.iter().find(|group| group.kind == Kind::V2),
    };
    if let Some(group) = shared {
        group.usage()?;
        return Ok(group.clone());
    }
    let tree = if kind == Kind::V1 { Tree::V1("cpuacct") } else { Tree::V2 };
    let group = Group::make(kind, home(tree)?)?;
    if let Err(error) = group.usage() {
        group.remove();
        return Err(error);
    }
    Ok(group)
}

impl Groups {
    pub(crate) fn is_empty(&self) -> bool {
        self.each().next().is_none()
    }

    /// All processes in them.
    pub(crate) fn members(&self) -> Vec<u32> {
        self.each().flat_map(Group::members).collect()
    }

    pub(crate) fn remove(&self) {
        self.each().for_each(Group::remove);
    }

    fn each(&self) -> impl Iterator<Item = &Group> {
        let apart = self.account.iter().filter(|account| !self.limiting.contains(account));
        apart.chain(&self.limiting)
    }
}

impl Group {
    fn make(kind: Kind, home: PathBuf) -> io::Result<Self> {
        let path = home.join(own_name()?);
        fs::create_dir(&path)?;
        Ok(Self { kind, path })
    }

    /// File through which a process joins: writing `0` to it moves the writer in.
    fn door(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))
    }

    /// CPU of every process that was ever in. Exact when none runs; else up to a scheduler tick per core too little (1
    /// to 10 ms, the kernel's `CONFIG_HZ`).
    pub(crate) fn usage(&self) -> io::Result<Nanos> {
        Meter::open(self)?.read()
    }

    fn members(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Also true for a process that was in and has ended: it left its CPU behind.
    fn was_joined_by(&self, pid: u32) -> bool {
        self.members().contains(&pid) || self.usage().is_ok_and(|usage| usage > Nanos::ZERO)
    }

    /// Removes it with the groups the subject made inside. Ended processes leave a moment late, so removal is tried for
    /// a second; should the group stay, the next start sweeps it away.
    fn remove(&self) {
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
        let text = whole(&self.file)?;
        let number = match self.kind {
            Kind::V1 => text.trim().parse().ok().map(Nanos::new),
            Kind::V2 => named(&text, "usage_usec").map(Nanos::from_micros),
        };
        number
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no CPU usage in the cgroup's account"))
    }
}

/// Current text of a small kernel file, which stays open.
fn whole(file: &File) -> io::Result<String> {
    let mut buffer = [0; 4096];
    let length = file.read_at(&mut buffer, 0)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// The number behind a name, in files that have a name and a number on each line.
fn named(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    rest.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_whole_name() {
        assert_eq!(named("usage_usec 1234\nuser_usec 1000\n", "usage_usec"), Some(1234));
        assert_eq!(named("oom 1\noom_kill 2\nmax 3\n", "oom_kill"), Some(2));
        assert_eq!(named("user_usec 1000\n", "usec"), None);
    }
}
