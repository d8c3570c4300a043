//! Checks of bakeoff's rights, and of the programs it would find.

use super::super::cgroup::CpuGroup;
use super::super::neighbours::Neighbours;
use super::{CheckInput, Judged, Level, PROGRAMS};

pub(super) fn proc_hidden(asked: &CheckInput<'_>) -> Option<Judged> {
    if asked.seen.neighbours != Neighbours::Hidden {
        return Some(Judged::ok("/proc shows the processes of other users"));
    }
    Some(Judged::but(
        "/proc hides the processes of other users",
        Level::Note,
        "all processes in sight",
        "what else runs here is not known, and the CPU time of a server under another user cannot be read",
        "Run as root, or mount /proc without `hidepid`.",
    ))
}

pub(super) fn cpu_group(asked: &CheckInput<'_>) -> Option<Judged> {
    let found = match &asked.seen.rights.cpu_group {
        Some(CpuGroup { version, writable: true }) => {
            return Some(Judged::ok(format!("control groups for CPU time can be made (version {version})")));
        }
        Some(CpuGroup { version, .. }) => {
            format!("control groups for CPU time may not be made (version {version})")
        }
        None => "no control groups for CPU time are mounted".to_owned(),
    };
    Some(Judged::but(
        found,
        Level::Note,
        "a group for each subject",
        "CPU time is read from the processes' clocks, which miss children that nobody waits for",
        "Run as root, or in a scope of your own: `systemd-run --user --scope -p Delegate=yes bakeoff ...`.",
    ))
}

pub(super) fn links(asked: &CheckInput<'_>) -> Option<Judged> {
    let rights = &asked.seen.rights;
    if rights.net_admin && rights.sys_admin {
        return Some(Judged::ok("network namespaces can be made"));
    }
    Some(Judged::but(
        "network namespaces may not be made",
        Level::Note,
        "root, or CAP_NET_ADMIN and CAP_SYS_ADMIN",
        "plans with a link of a given rate between load and server do not run",
        "Run as root.",
    ))
}

pub(super) fn programs(asked: &CheckInput<'_>) -> Option<Judged> {
    let missing = &asked.seen.rights.missing;
    let absent: Vec<_> = PROGRAMS.iter().filter(|program| missing.contains(&program.names[0])).collect();
    if absent.is_empty() {
        let all: Vec<&str> = PROGRAMS.iter().map(|program| program.names[0]).collect();
        return Some(Judged::ok(format!("found {}", all.join(", "))));
    }
    let names: Vec<&str> = absent.iter().map(|program| program.names[0]).collect();
    let needed: Vec<String> =
        absent.iter().map(|program| format!("{} for {}", program.names[0], program.needed_for)).collect();
    let mut packages: Vec<&str> = absent.iter().map(|program| program.package).collect();
    packages.dedup();
    Some(Judged::but(
        format!("{} {} not installed", names.join(", "), if names.len() == 1 { "is" } else { "are" }),
        Level::Note,
        "installed where they are used",
        format!("needed: {}", needed.join("; ")),
        format!("On Debian: `apt-get install {}`.", packages.join(" ")),
    ))
}
