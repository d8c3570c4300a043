//! Resource limits of a subject, written into cgroups made for it.
//!
//! Each controller is taken where the machine has it: in its version 1 hierarchy, else in version 2. There a controller
//! works in a new group only if the group above hands it down (`cgroup.subtree_control`); so the group is made below
//! the nearest one that does. bakeoff never changes what other groups hand down, since that changes their neighbours
//! too: its error tells the user what to write. A limit that cannot be set is an error; it is never silently left out.

use super::place::{Tree, home, is_mounted, up_from_home};
use super::{Group, Kind};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// The period of CPU quotas: the kernel's own default, and that of containers.
const PERIOD_US: u64 = 100_000;

/// Limits as the kernel takes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ceiling {
    pub(crate) memory_bytes: Option<u64>,
    /// Cores worth of CPU time.
    pub(crate) cpus: Option<f64>,
    /// One for each device that holds files of the subject.
    pub(crate) throttles: Vec<Throttle>,
}

/// Bytes a second from and to one block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Throttle {
    /// `MAJOR:MINOR`.
    pub(crate) device: String,
    pub(crate) read: Option<u64>,
    pub(crate) write: Option<u64>,
}

/// Reasons why a limit cannot be set.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "this machine has no cgroup controller `{0}` (/proc/cgroups lists those of the kernel); leave that limit out"
    )]
    NoController(&'static str),
    #[error(
        "the cgroup controllers {} are handed down by no group above bakeoff's own; as root run `echo '{}' > {}`, or leave these limits out",
        .missing.join(", "), enable(.missing), .file.display()
    )]
    NotHandedDown { missing: Vec<&'static str>, file: PathBuf },
    #[error("no cgroup can be made in {}: {source}; {}", .dir.display(), remedy(.source))]
    Make { dir: PathBuf, source: io::Error },
    #[error("{} does not take `{value}`: {source}; {}", .file.display(), remedy(.source))]
    Set { file: PathBuf, value: String, source: io::Error },
}

fn enable(controllers: &[&str]) -> String {
    controllers.iter().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ")
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "limits need root, and a cgroup file system that may be written; run bakeoff as root, or leave the limits out"
        }
        io::ErrorKind::NotFound => "this kernel was built without that limit; leave it out",
        io::ErrorKind::InvalidInput => {
            "the kernel allows no such value here (a group above may allow less); choose another"
        }
        _ => "change or leave out that limit",
    }
}

/// Controllers that can limit something, by their names in both versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controller {
    Memory,
    Cpu,
    Storage,
}

impl Controller {
    const ALL: [Self; 3] = [Self::Memory, Self::Cpu, Self::Storage];

    const fn in_v1(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Storage => "blkio",
        }
    }

    const fn in_v2(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Storage => "io",
        }
    }

    fn is_wanted(self, ceiling: &Ceiling) -> bool {
        match self {
            Self::Memory => ceiling.memory_bytes.is_some(),
            Self::Cpu => ceiling.cpus.is_some(),
            Self::Storage => !ceiling.throttles.is_empty(),
        }
    }

    /// Files and what is written into them, in order.
    fn settings(self, kind: Kind, ceiling: &Ceiling) -> Vec<(&'static str, String)> {
        let memory = ceiling.memory_bytes.unwrap_or(u64::MAX);
        let quota = (ceiling.cpus.unwrap_or(f64::INFINITY) * PERIOD_US as f64) as u64; // `as` saturates
        match (self, kind) {
            (Self::Memory, Kind::V1) => vec![("memory.limit_in_bytes", memory.to_string())],
            (Self::Memory, Kind::V2) => vec![("memory.max", memory.to_string())],
            (Self::Cpu, Kind::V1) => {
                vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota.to_string())]
            }
            (Self::Cpu, Kind::V2) => vec![("cpu.max", format!("{quota} {PERIOD_US}"))],
            (Self::Storage, _) => ceiling.throttles.iter().flat_map(|one| one.settings(kind)).collect(),
        }
    }
}

impl Throttle {
    fn settings(&self, kind: Kind) -> Vec<(&'static str, String)> {
        let device = &self.device;
        let (read, write) = match kind {
            Kind::V1 => (
                ("blkio.throttle.read_bps_device", self.read.map(|bytes| format!("{device} {bytes}"))),
                ("blkio.throttle.write_bps_device", self.write.map(|bytes| format!("{device} {bytes}"))),
            ),
            Kind::V2 => (
                ("io.max", self.read.map(|bytes| format!("{device} rbps={bytes}"))),
                ("io.max", self.write.map(|bytes| format!("{device} wbps={bytes}"))),
            ),
        };
        [read, write].into_iter().filter_map(|(file, value)| Some((file, value?))).collect()
    }
}

/// Makes the groups and sets the limits. Leaves nothing when it fails; makes nothing when there is
/// nothing to limit.
pub(super) fn make(ceiling: &Ceiling) -> Result<Vec<Group>, Refusal> {
    let mut made = Vec::new();
    match make_into(&mut made, ceiling) {
        Ok(()) => Ok(made),
        Err(refusal) => {
            made.iter().for_each(Group::remove);
            Err(refusal)
        }
    }
}

fn make_into(made: &mut Vec<Group>, ceiling: &Ceiling) -> Result<(), Refusal> {
    let wanted = Controller::ALL.into_iter().filter(|controller| controller.is_wanted(ceiling));
    let (v1, v2): (Vec<_>, Vec<_>) = wanted.partition(|controller| is_mounted(Tree::V1(controller.in_v1())));
    for controller in v1 {
        let home =
            home(Tree::V1(controller.in_v1())).map_err(|_| Refusal::NoController(controller.in_v1()))?;
        set(join(made, Kind::V1, home)?, controller, ceiling)?;
    }
    if !v2.is_empty() {
        let home = handing_down(&v2)?;
        for controller in v2 {
            set(join(made, Kind::V2, home.clone())?, controller, ceiling)?;
        }
    }
    Ok(())
}

/// The group of ours in `home`: controllers that are mounted together share it.
fn join(made: &mut Vec<Group>, kind: Kind, home: PathBuf) -> Result<&Group, Refusal> {
    let index = match made.iter().position(|group| group.path.parent() == Some(&home)) {
        Some(index) => index,
        None => {
            let group =
                Group::make(kind, home.clone()).map_err(|source| Refusal::Make { dir: home, source })?;
            made.push(group);
            made.len() - 1
        }
    };
    Ok(&made[index])
}

fn set(group: &Group, controller: Controller, ceiling: &Ceiling) -> Result<(), Refusal> {
    for (name, value) in controller.settings(group.kind, ceiling) {
        let file = group.path.join(name);
        let written =
            OpenOptions::new().write(true).open(&file).and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|source| Refusal::Set { file, value, source })?;
    }
    Ok(())
}

/// The nearest group above that hands down all of these controllers.
fn handing_down(controllers: &[Controller]) -> Result<PathBuf, Refusal> {
    let names: Vec<&'static str> = controllers.iter().map(|controller| controller.in_v2()).collect();
    let places = up_from_home().map_err(|_| Refusal::NoController(names[0]))?;
    let read = |dir: &PathBuf, file| fs::read_to_string(dir.join(file)).unwrap_or_default();
    let lacking = |text: &str| -> Vec<&'static str> {
        names.iter().copied().filter(|name| !text.split_whitespace().any(|word| word == *name)).collect()
    };
    if let Some(found) = places.iter().find(|dir| lacking(&read(dir, "cgroup.subtree_control")).is_empty()) {
        return Ok(found.clone());
    }
    let Some(top) = places.last() else { return Err(Refusal::NoController(names[0])) };
    if let Some(name) = lacking(&read(top, "cgroup.controllers")).first() {
        return Err(Refusal::NoController(name));
    }
    let file = top.join("cgroup.subtree_control");
    Err(Refusal::NotHandedDown { missing: lacking(&read(top, "cgroup.subtree_control")), file })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling() -> Ceiling {
        let throttle = Throttle { device: "8:0".into(), read: Some(1000), write: Some(2000) };
        Ceiling { memory_bytes: Some(1 << 20), cpus: Some(0.5), throttles: vec![throttle] }
    }

    #[test]
    fn both_versions_are_told_the_same() {
        let all = |kind| -> Vec<String> {
            let each = Controller::ALL.iter().flat_map(|controller| controller.settings(kind, &ceiling()));
            each.map(|(file, value)| format!("{file}: {value}")).collect()
        };
        let v1 = [
            "memory.limit_in_bytes: 1048576",
            "cpu.cfs_period_us: 100000",
            "cpu.cfs_quota_us: 50000",
            "blkio.throttle.read_bps_device: 8:0 1000",
            "blkio.throttle.write_bps_device: 8:0 2000",
        ];
        assert_eq!(all(Kind::V1), v1);
        let v2 = [
            "memory.max: 1048576",
            "cpu.max: 50000 100000",
            "io.max: 8:0 rbps=1000",
            "io.max: 8:0 wbps=2000",
        ];
        assert_eq!(all(Kind::V2), v2);
    }

    #[test]
    fn without_limits_no_group_is_made() {
        assert!(make(&Ceiling::default()).unwrap().is_empty());
    }

    #[test]
    fn what_the_kernel_does_not_take_is_refused_and_leaves_nothing() {
        let tiny = Ceiling { memory_bytes: Some(1 << 30), cpus: Some(1e-9), ..Ceiling::default() };
        let message = make(&tiny).unwrap_err().to_string();
        assert!(message.contains(';'), "says what to do: {message}");
        let name = super::super::place::own_name().unwrap();
        for tree in [Tree::V1("memory"), Tree::V1("cpu"), Tree::V2] {
            let left = home(tree).is_ok_and(|home| home.join(&name).exists());
            assert!(!left, "{tree:?}: {message}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let file = PathBuf::from("/sys/fs/cgroup/cgroup.subtree_control");
        let message = Refusal::NotHandedDown { missing: vec!["memory", "io"], file }.to_string();
        assert!(
            message.contains("`echo '+memory +io' > /sys/fs/cgroup/cgroup.subtree_control`"),
            "{message}"
        );
        let denied = Refusal::Make { dir: "/x".into(), source: io::ErrorKind::PermissionDenied.into() };
        assert!(denied.to_string().contains("run bakeoff as root"), "{denied}");
    }
}
