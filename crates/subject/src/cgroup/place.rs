//! Locations and names of our cgroups, and the removal of groups that killed supervisors left.

use bakeoff_sys::process;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Controllers of version 1 in whose hierarchies we make groups.
const OURS: [&str; 4] = ["cpuacct", "cpu", "memory", "blkio"];

/// One tree of cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// The version 1 hierarchy that has this controller.
    V1(&'static str),
    /// The one of version 2.
    V2,
}

/// The directory of this process's own cgroup.
pub(super) fn home(tree: Tree) -> io::Result<PathBuf> {
    let found = find_home(tree, &mounts()?, &own_groups()?);
    found.map(|(_, home)| home).ok_or_else(not_mounted)
}

/// Whether there is such a tree.
pub(super) fn is_mounted(tree: Tree) -> bool {
    home(tree).is_ok()
}

/// From this process's own group in version 2 up to the mounted root.
pub(super) fn up_from_home() -> io::Result<Vec<PathBuf>> {
    let (point, home) = find_home(Tree::V2, &mounts()?, &own_groups()?).ok_or_else(not_mounted)?;
    Ok(home.ancestors().take_while(|dir| dir.starts_with(&point)).map(Path::to_owned).collect())
}

fn mounts() -> io::Result<String> {
    fs::read_to_string("/proc/self/mountinfo")
}

fn own_groups() -> io::Result<String> {
    fs::read_to_string("/proc/self/cgroup")
}

fn not_mounted() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "this kind of cgroup is not mounted here")
}

/// Mount point and own group.
fn find_home(tree: Tree, mounts: &str, own: &str) -> Option<(PathBuf, PathBuf)> {
    let (root, point) = mounts.lines().find_map(|line| mount(tree, line))?;
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let ours = match tree {
            Tree::V1(wanted) => controllers.split(',').any(|controller| controller == wanted),
            Tree::V2 => number == "0",
        };
        ours.then_some(path)
    })?;
    // In a container the mount may show only the part below `root`, or a part we are not in.
    let inside = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
    Some((point.into(), Path::new(point).join(inside)))
}

/// Root and mount point, if this line of `mountinfo` is such a tree.
fn mount(tree: Tree, line: &str) -> Option<(&str, &str)> {
    let (place, system) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut system = system.split(' ');
    let ours = match (tree, system.next()?) {
        (Tree::V1(wanted), "cgroup") => system.nth(1)?.split(',').any(|option| option == wanted),
        (Tree::V2, "cgroup2") => true,
        _ => false,
    };
    ours.then_some((root, point))
}

/// `bakeoff-NAMESPACE-PID-START` of the supervisor: unique, and it tells whether its maker still lives.
pub(super) fn own_name() -> io::Result<String> {
    let own = process::stat(std::process::id())?;
    Ok(format!("bakeoff-{}-{}-{}", pid_namespace(), own.pid, own.start_ticks))
}

fn pid_namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino())
}

/// Removes groups that killed supervisors left, wherever they may have made them: our name, maker gone, no process
/// inside.
pub(super) fn sweep() {
    let homes = OURS.iter().filter_map(|controller| home(Tree::V1(controller)).ok());
    homes.chain(up_from_home().unwrap_or_default()).for_each(|home| sweep_in(&home));
}

fn sweep_in(home: &Path) {
    let Ok(entries) = fs::read_dir(home) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(is_stale) {
            remove_empty(&entry.path());
        }
    }
}

fn is_stale(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("bakeoff-") else { return false };
    let mut numbers = rest.split('-').map(str::parse::<u64>);
    let (Some(Ok(namespace)), Some(Ok(pid)), Some(Ok(start)), None) =
        (numbers.next(), numbers.next(), numbers.next(), numbers.next())
    else {
        return false;
    };
    namespace == pid_namespace()
        && u32::try_from(pid)
            .is_ok_and(|pid| process::stat(pid).map_or(true, |stat| stat.start_ticks != start))
}

/// Innermost first. The kernel refuses to remove a group with processes in it, which is what we want.
pub(super) fn remove_empty(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    let _ = fs::remove_dir(path); // busy or gone: both are for the caller to look at
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 24 0:25 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
32 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
33 30 0:28 /docker/abc /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw";

    #[test]
    fn the_own_group_is_found_in_both_systems() {
        let own = "4:cpu,cpuacct:/user.slice\n1:name=systemd:/\n0::/docker/abc/inner\n";
        let home = |tree| find_home(tree, MOUNTS, own).map(|(_, home)| home.display().to_string());
        let both = Some("/sys/fs/cgroup/cpu,cpuacct/user.slice".to_owned());
        assert_eq!(home(Tree::V1("cpuacct")), both);
        assert_eq!(home(Tree::V1("cpu")), both);
        assert_eq!(home(Tree::V1("memory")), None);
        assert_eq!(home(Tree::V2), Some("/sys/fs/cgroup/unified/inner".to_owned()));
        assert_eq!(find_home(Tree::V1("cpuacct"), "", own), None);
    }

    #[test]
    fn only_our_names_with_a_dead_maker_are_stale() {
        let living = own_name().unwrap();
        assert!(!is_stale(&living));
        assert!(is_stale(&format!("bakeoff-{}-{}-1", pid_namespace(), std::process::id())));
        for other in
            ["bakeoff", "bakeoff-1-2", "bakeoff-0-1-1", "docker-1-2-3", "bakeoff-1-2-3-4", "bakeoff-a-b-c"]
        {
            assert!(!is_stale(other), "{other}");
        }
    }
}
