//! Where our cgroups are made, how they are named, and the sweeping up of those that killed
//! guardians left.

use super::Kind;
use bakeoff_sys::process;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory of this process's own cgroup.
pub(super) fn home(kind: Kind) -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let own = fs::read_to_string("/proc/self/cgroup")?;
    find_home(kind, &mounts, &own)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "this kind of cgroup is not mounted here"))
}

fn find_home(kind: Kind, mounts: &str, own: &str) -> Option<PathBuf> {
    let (root, point) = mounts.lines().find_map(|line| mount(kind, line))?;
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let ours = match kind {
            Kind::V1 => controllers.split(',').any(|controller| controller == "cpuacct"),
            Kind::V2 => number == "0",
        };
        ours.then_some(path)
    })?;
    // In a container the mount may show only the part below `root`, or a part we are not in.
    let inside = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
    Some(Path::new(point).join(inside))
}

/// Root and mount point, when the line of `mountinfo` is a hierarchy of this kind.
fn mount(kind: Kind, line: &str) -> Option<(&str, &str)> {
    let (place, system) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut system = system.split(' ');
    let ours = match (kind, system.next()?) {
        (Kind::V1, "cgroup") => system.nth(1)?.split(',').any(|option| option == "cpuacct"),
        (Kind::V2, "cgroup2") => true,
        _ => false,
    };
    ours.then_some((root, point))
}

/// `bakeoff-NAMESPACE-PID-START` of the guardian: nobody else's, and it says whether its maker lives.
pub(super) fn own_name() -> io::Result<String> {
    let own = process::stat(std::process::id())?;
    Ok(format!("bakeoff-{}-{}-{}", pid_namespace(), own.pid, own.start_ticks))
}

fn pid_namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino())
}

/// Removes what killed guardians left: our name, maker gone, nobody inside.
pub(super) fn sweep(home: &Path) {
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
        assert_eq!(
            find_home(Kind::V1, MOUNTS, own).unwrap(),
            Path::new("/sys/fs/cgroup/cpu,cpuacct/user.slice")
        );
        assert_eq!(find_home(Kind::V2, MOUNTS, own).unwrap(), Path::new("/sys/fs/cgroup/unified/inner"));
        assert_eq!(find_home(Kind::V1, "", own), None);
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
