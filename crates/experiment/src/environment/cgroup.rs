//! Limits of the control groups that this process is in, version 1 and 2.
//!
//! A limit may stand at any level above the process, so all levels are read and the least counts. In a container the
//! upper levels are out of sight; the mounted level is its own.

use super::host::{Found, Host};
use std::os::unix::fs::MetadataExt;

/// CPU time allowed, in cores (1.5 = 150 ms in every 100); `None`: no limit.
pub(super) fn cpu_quota(host: &Host) -> Found<Option<f64>> {
    let quota = |directory: &String| {
        let pair = host.text(&format!("{directory}/cpu.max")).or_else(|_| {
            let quota = host.text(&format!("{directory}/cpu.cfs_quota_us"))?;
            host.text(&format!("{directory}/cpu.cfs_period_us")).map(|period| format!("{quota} {period}"))
        });
        parse_quota(&pair.ok()?)
    };
    Ok(directories(host, "cpu")?.iter().filter_map(quota).min_by(f64::total_cmp))
}

/// Memory allowed, bytes; `None`: no limit.
pub(super) fn memory_limit(host: &Host) -> Found<Option<u64>> {
    let limit = |directory: &String| {
        let text = host.text(&format!("{directory}/memory.max"));
        parse_memory(&text.or_else(|_| host.text(&format!("{directory}/memory.limit_in_bytes"))).ok()?)
    };
    Ok(directories(host, "memory")?.iter().filter_map(limit).min())
}

/// Location for a subject's control group for CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuGroup {
    /// Version of the hierarchy: 1 (`cpuacct`) or 2.
    pub version: u8,
    /// Whether `user` may make one there.
    pub writable: bool,
}

/// The hierarchy that counts CPU time, version 1 before 2, as this user finds it.
pub(super) fn cpu_group(host: &Host, user: u32) -> Found<CpuGroup> {
    let mounts = host.text("/proc/self/mounts")?;
    let groups = host.text("/proc/self/cgroup")?;
    let counts = |list: &str| list.split(',').any(|word| word == "cpuacct");
    let mut found: Vec<CpuGroup> = Vec::new();
    for mount in mounts.lines() {
        let fields: Vec<&str> = mount.split(' ').collect();
        let [_, point, kind, options, ..] = fields[..] else { continue };
        let (version, group) = match kind {
            "cgroup" if counts(options) => (1, group_of(&groups, counts)),
            "cgroup2" => (2, group_of(&groups, str::is_empty)),
            _ => continue,
        };
        let directory = levels(point, group.unwrap_or("/")).into_iter().next().unwrap_or_default();
        let is_owner = std::fs::metadata(host.path(&directory)).is_ok_and(|about| about.uid() == user);
        let writable = options.split(',').next() == Some("rw") && (user == 0 || is_owner);
        found.push(CpuGroup { version, writable });
    }
    found
        .into_iter()
        .min_by_key(|group| group.version)
        .ok_or_else(|| "no control groups are mounted".to_owned())
}

/// `QUOTA PERIOD` in us; `max` or -1 is no quota.
fn parse_quota(pair: &str) -> Option<f64> {
    let (quota, period) = pair.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Version 1 writes "no limit" as the greatest multiple of a page in an i64.
const NO_MEMORY_LIMIT: u64 = 1 << 60;

fn parse_memory(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&limit| limit < NO_MEMORY_LIMIT)
}

/// Directories with a controller's files of our groups, innermost first.
fn directories(host: &Host, controller: &str) -> Found<Vec<String>> {
    let mounts = host.text("/proc/self/mounts")?;
    let groups = host.text("/proc/self/cgroup")?;
    let mut found = Vec::new();
    for mount in mounts.lines() {
        let mut fields = mount.split(' ').skip(1);
        let (Some(point), Some(kind), Some(options)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let named = |list: &str| list.split(',').any(|word| word == controller);
        let group = match kind {
            "cgroup2" => group_of(&groups, str::is_empty),
            "cgroup" if named(options) => group_of(&groups, named),
            _ => continue,
        };
        found.extend(levels(point, group.unwrap_or("/")));
    }
    if found.is_empty() { Err("no control groups are mounted".to_owned()) } else { Ok(found) }
}

/// Our path in the hierarchy that `meant` picks by its controllers: a line is `ID:CONTROLLERS:PATH`.
fn group_of(groups: &str, meant: impl Fn(&str) -> bool) -> Option<&str> {
    let path = |line: &'_ str| -> Option<usize> {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        meant(controllers).then(|| line.len() - path.len())
    };
    groups.lines().find_map(|line| path(line).map(|at| &line[at..]))
}

/// The group's directory and those above it up to the mount point.
fn levels(point: &str, group: &str) -> Vec<String> {
    // A group outside of our name space is written `/../..`: only the mount point is ours to see.
    let names: Vec<&str> = group.split('/').filter(|name| !name.is_empty()).collect();
    let names = if names.contains(&"..") { Vec::new() } else { names };
    let at = |depth: usize| [&[point], &names[..depth]].concat().join("/");
    (0..=names.len()).rev().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::super::host::tests::machine;
    use super::*;

    const V2: (&str, &str) = ("/proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
    const V1: (&str, &str) = (
        "/proc/self/mounts",
        "proc /proc proc rw 0 0\ncgroup /cg/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup /cg/memory cgroup rw,memory 0 0\n",
    );

    #[test]
    fn the_least_quota_above_us_counts() {
        let (_directory, host) = machine(&[
            V2,
            ("/proc/self/cgroup", "0::/a.slice/b.scope\n"),
            ("/sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a.slice/memory.max", "max\n"),
            ("/sys/fs/cgroup/a.slice/b.scope/memory.max", "1000000\n"),
        ]);
        assert_eq!(cpu_quota(&host), Ok(Some(1.5)));
        assert_eq!(memory_limit(&host), Ok(Some(1_000_000)));
    }

    #[test]
    fn the_first_version_is_read_too() {
        let (_directory, host) = machine(&[
            V1,
            ("/proc/self/cgroup", "3:memory:/x\n2:cpu,cpuacct:/x\n0::/\n"),
            ("/cg/cpu,cpuacct/cpu.cfs_quota_us", "-1"),
            ("/cg/cpu,cpuacct/cpu.cfs_period_us", "100000"),
            ("/cg/cpu,cpuacct/x/cpu.cfs_quota_us", "50000"),
            ("/cg/cpu,cpuacct/x/cpu.cfs_period_us", "100000"),
            ("/cg/memory/x/memory.limit_in_bytes", "9223372036854771712"),
        ]);
        assert_eq!(cpu_quota(&host), Ok(Some(0.5)));
        assert_eq!(memory_limit(&host), Ok(None));
    }

    #[test]
    fn a_container_sees_its_own_level() {
        for group in ["0::/\n", "0::/../../elsewhere\n", "0::/docker/not-in-sight\n"] {
            let (_directory, host) =
                machine(&[V2, ("/proc/self/cgroup", group), ("/sys/fs/cgroup/cpu.max", "200000 100000")]);
            assert_eq!(cpu_quota(&host), Ok(Some(2.0)), "{group}");
        }
    }

    #[test]
    fn groups_for_cpu_time_are_made_by_root_or_their_owner() {
        let group = |mounts: &str, user| {
            let (_directory, host) = machine(&[
                ("/proc/self/mounts", mounts),
                ("/proc/self/cgroup", "2:cpu,cpuacct:/x\n0::/y\n"),
                ("/cg/cpu,cpuacct/x/cpuacct.usage", "1"),
                ("/cg/two/y/cpu.stat", "usage_usec 1"),
            ]);
            cpu_group(&host, user)
        };
        let both = "a /cg/two cgroup2 rw,nosuid 0 0\na /cg/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n";
        assert_eq!(group(both, 0), Ok(CpuGroup { version: 1, writable: true }));
        assert_eq!(group(both, u32::MAX), Ok(CpuGroup { version: 1, writable: false }));
        let second = "a /cg/two cgroup2 rw,nosuid 0 0\n";
        // The files belong to the user that lays them out.
        let owner = std::fs::metadata("/proc/self").unwrap().uid();
        assert_eq!(group(second, owner), Ok(CpuGroup { version: 2, writable: true }));
        assert_eq!(group("a /cg/two cgroup2 ro 0 0\n", 0), Ok(CpuGroup { version: 2, writable: false }));
        assert!(group("a /cg/memory cgroup rw,memory 0 0\n", 0).is_err());
    }

    #[test]
    fn no_groups_is_said() {
        let (_directory, host) =
            machine(&[("/proc/self/mounts", "proc /proc proc rw 0 0"), ("/proc/self/cgroup", "0::/\n")]);
        assert!(cpu_quota(&host).is_err());
    }
}
