//! Process tree from `/proc`: one process, all, the descendants of one.

use bakeoff_units::Nanos;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// One process as `/proc/PID/stat` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its number.
    pub pid: u32,
    /// Its parent's number.
    pub parent: u32,
    /// Its session's number: that of the process that began it.
    pub session: u32,
    /// `R`, `S`, `D`, `Z` (ended, not reaped), ...
    pub state: char,
    /// Threads alive.
    pub threads: u32,
    /// Start time since boot in clock ticks. With the number it names a process for ever: numbers
    /// come back, the pair does not.
    pub start_ticks: u64,
    /// CPU of children it has reaped, in whole clock ticks each for user and system, so up to two
    /// ticks too little.
    pub reaped: Nanos,
}

/// Reads one process. `NotFound` when there is none (any more), or `/proc` hides it.
pub fn stat(pid: u32) -> io::Result<Stat> {
    let mut text = Vec::with_capacity(512);
    File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read_to_end(&mut text)).map_err(gone)?;
    parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat")))
}

/// Whether there is no such process any more; one that is not reaped yet is gone, too.
pub fn is_gone(pid: u32) -> bool {
    match stat(pid) {
        Ok(stat) => stat.state == 'Z',
        Err(why) => why.kind() == io::ErrorKind::NotFound,
    }
}

/// All processes that can be seen. One that ends meanwhile is left out.
pub fn scan() -> io::Result<Vec<Stat>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        if let Some(pid) = name.to_str().and_then(|name| name.parse().ok())
            && let Ok(stat) = stat(pid)
        {
            all.push(stat);
        }
    }
    Ok(all)
}

/// The processes below `root`, without it, parents before children. Ended ones that are not reaped are among them
/// (state `Z`).
pub fn descendants(root: u32) -> io::Result<Vec<Stat>> {
    Ok(below(root, scan()?))
}

/// Whether a process is this one or below it, as far as `/proc` tells.
pub fn is_or_below(pid: u32, root: u32) -> bool {
    pid == root || descendants(root).is_ok_and(|all| all.iter().any(|stat| stat.pid == pid))
}

/// True when `/proc` hides other users' processes from this one (`hidepid`): process 1 belongs to
/// root and is always there.
pub fn number_hidden() -> bool {
    !Path::new("/proc/1/stat").exists()
}

/// Clock ticks per second in `/proc`.
pub fn ticks_per_second() -> u64 {
    nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)
        .ok()
        .flatten()
        .and_then(|ticks| u64::try_from(ticks).ok())
        .filter(|&ticks| ticks > 0)
        .unwrap_or(100)
}

/// Bytes in a page of memory.
pub fn page_size() -> u64 {
    let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten();
    size.and_then(|size| u64::try_from(size).ok()).unwrap_or(4096)
}

fn below(root: u32, mut rest: Vec<Stat>) -> Vec<Stat> {
    let mut parents = HashSet::from([root]);
    let mut found = Vec::new();
    loop {
        let (children, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|stat| parents.contains(&stat.parent) && stat.pid != root);
        if children.is_empty() {
            return found;
        }
        parents.extend(children.iter().map(|child| child.pid));
        found.extend(children);
        rest = others;
    }
}

/// A process that ends between open and read gives ESRCH; for the caller that is "not found".
fn gone(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::ESRCH) { io::ErrorKind::NotFound.into() } else { error }
}

/// The name (field 2) is in parentheses and may hold spaces and parentheses itself, so the fields
/// are counted from the last `)`.
fn parse(text: &[u8]) -> Option<Stat> {
    let name_end = text.iter().rposition(|&byte| byte == b')')?;
    let pid = std::str::from_utf8(text.split(|&byte| byte == b' ').next()?).ok()?.parse().ok()?;
    let rest = std::str::from_utf8(&text[name_end + 1..]).ok()?;
    let mut fields = [""; 20]; // fields 3 to 22 of proc(5)
    let mut found = rest.split_ascii_whitespace();
    for field in &mut fields {
        *field = found.next()?;
    }
    let field = |number: usize| fields[number - 3];
    let ticks = |number| field(number).parse::<u64>().ok();
    let reaped = ticks(16)?.saturating_add(ticks(17)?);
    Some(Stat {
        pid,
        parent: field(4).parse().ok()?,
        session: field(6).parse().ok()?,
        state: field(3).chars().next()?,
        threads: field(20).parse().ok()?,
        start_ticks: ticks(22)?,
        reaped: Nanos::new(reaped.saturating_mul(1_000_000_000 / ticks_per_second())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_no_trap() {
        let line = b"42 (a) R 1 (b)) S 7 42 41 0 -1 4194560 1 2 3 4 5 6 70 30 20 0 3 0 999 1 2 3";
        let stat = parse(line).unwrap();
        assert_eq!((stat.pid, stat.parent, stat.session, stat.state), (42, 7, 41, 'S'));
        assert_eq!((stat.threads, stat.start_ticks), (3, 999));
        assert_eq!(stat.reaped, Nanos::new(100_000_000_000 / ticks_per_second()));
        assert!(parse(b"42 (half").is_none());
        assert!(parse(b"42 (x) S 7").is_none());
    }

    #[test]
    fn this_process_is_below_its_parent() {
        let own = stat(std::process::id()).unwrap();
        assert!(descendants(own.parent).unwrap().iter().any(|below| below.pid == own.pid));
        assert!(!descendants(own.pid).unwrap().iter().any(|below| below.pid == own.pid));
    }

    #[test]
    fn nobody_has_a_number_above_the_limit() {
        assert_eq!(stat(u32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
