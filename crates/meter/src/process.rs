//! Resource usage of processes from `/proc`: memory, storage, context switches, threads.
//!
//! Measuring side, in bakeoff, read at both ends of a slice when nothing is in flight: a few small
//! files a process and one a thread. Not CPU: that is exact only with the subject's own account
//! (`bakeoff-subject`). A figure that cannot be read carries its reason instead of a zero.

use bakeoff_sys::process::{self, Stat};
use bakeoff_units::Bytes;
use std::fmt;
use std::fs;
use std::io;

/// The reason for which a figure is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// No process was named or is left.
    NoProcess,
    /// `/proc` hides other users' processes (`hidepid`).
    ProcHidden,
    /// The process is another user's, and this figure is for its owner and root.
    NotPermitted,
    /// This kernel does not tell.
    NotInKernel,
}

impl MissingReason {
    /// As reports name it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NoProcess => "no-process",
            Self::ProcHidden => "proc-hidden",
            Self::NotPermitted => "not-permitted",
            Self::NotInKernel => "not-in-kernel",
        }
    }
}

impl fmt::Display for MissingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The numbers of the processes below `root`, without it: for a supervisor, its subject.
pub fn below(root: u32) -> Result<Vec<u32>, MissingReason> {
    let found = process::descendants(root).map_err(|_| MissingReason::ProcHidden)?;
    Ok(found.iter().map(|stat| stat.pid).collect())
}

/// Usage of a set of processes at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    each: Vec<Process>,
    hidden: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    identity: (u32, u64),
    threads: u64,
    rss: Result<u64, MissingReason>,
    storage: Result<(u64, u64), MissingReason>,
    switches: Result<(u64, u64), MissingReason>,
}

/// Usage of the processes between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageChange {
    /// Resident memory at the end, shared pages counted in each process.
    pub rss: Result<Bytes, MissingReason>,
    /// Read from storage (not from the page cache).
    pub disk_read: Result<Bytes, MissingReason>,
    /// Caused to be written to storage.
    pub disk_write: Result<Bytes, MissingReason>,
    /// Times a thread gave up its core to wait.
    pub voluntary_switches: Result<u64, MissingReason>,
    /// Times a thread was made to give up its core.
    pub involuntary_switches: Result<u64, MissingReason>,
    /// Processes at the end.
    pub processes: u64,
    /// Threads at the end.
    pub threads: u64,
}

impl Usage {
    /// The usage of these processes. Those that have ended are left out.
    pub fn of(pids: &[u32]) -> Self {
        let each: Vec<Process> =
            pids.iter().filter_map(|&pid| Process::read(process::stat(pid).ok()?)).collect();
        Self { hidden: each.is_empty() && process::number_hidden(), each }
    }

    /// The usage since `earlier`. A process that began in between counts from its beginning; one that ended, and
    /// threads that ended, take their usage since `earlier` with them.
    pub fn since(&self, earlier: &Self) -> UsageChange {
        let grown = |figure: fn(&Process) -> Result<u64, MissingReason>| {
            self.total(|process| {
                let before = earlier.each.iter().find(|before| before.identity == process.identity);
                Ok(figure(process)?.saturating_sub(before.map_or(Ok(0), figure)?))
            })
        };
        UsageChange {
            rss: self.rss(),
            disk_read: grown(|process| process.storage.map(|(read, _)| read)).map(Bytes::new),
            disk_write: grown(|process| process.storage.map(|(_, written)| written)).map(Bytes::new),
            voluntary_switches: grown(|process| process.switches.map(|(voluntary, _)| voluntary)),
            involuntary_switches: grown(|process| process.switches.map(|(_, involuntary)| involuntary)),
            processes: self.each.len() as u64,
            threads: self.each.iter().map(|process| process.threads).sum(),
        }
    }

    /// Resident memory at this moment, shared pages counted in each process.
    pub fn rss(&self) -> Result<Bytes, MissingReason> {
        self.total(|process| process.rss).map(Bytes::new)
    }

    /// One that cannot be read spoils the sum: a part would look like the whole.
    fn total(&self, figure: impl Fn(&Process) -> Result<u64, MissingReason>) -> Result<u64, MissingReason> {
        match self.each.len() {
            0 if self.hidden => Err(MissingReason::ProcHidden),
            0 => Err(MissingReason::NoProcess),
            _ => self.each.iter().map(figure).sum(),
        }
    }
}

impl Process {
    /// None when it ends meanwhile.
    fn read(stat: Stat) -> Option<Self> {
        let pid = stat.pid;
        if stat.state == 'Z' && stat.threads <= 1 {
            return None;
        }
        Some(Self {
            identity: (pid, stat.start_ticks),
            threads: stat.threads.into(),
            rss: figures(&format!("/proc/{pid}/statm"), resident)?,
            storage: figures(&format!("/proc/{pid}/io"), storage)?,
            switches: switches(pid)?,
        })
    }
}

/// Reads a file and takes figures out of it. None: the process has ended.
fn figures<T>(path: &str, take: fn(&str) -> Option<T>) -> Option<Result<T, MissingReason>> {
    match fs::read_to_string(path) {
        Ok(text) => Some(take(&text).ok_or(MissingReason::NotInKernel)),
        Err(error) => match error.kind() {
            io::ErrorKind::PermissionDenied => Some(Err(MissingReason::NotPermitted)),
            _ if path.ends_with("/io") && fs::exists("/proc/self/io").is_ok_and(|exists| !exists) => {
                Some(Err(MissingReason::NotInKernel))
            }
            _ => None,
        },
    }
}

fn resident(statm: &str) -> Option<u64> {
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(process::page_size()))
}

fn storage(io: &str) -> Option<(u64, u64)> {
    Some((named(io, "read_bytes:")?, named(io, "write_bytes:")?))
}

/// `status` of a process tells those of its first thread only, so all threads are asked.
fn switches(pid: u32) -> Option<Result<(u64, u64), MissingReason>> {
    let mut sum = (0, 0);
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let path = thread.path().join("status");
        let Some(found) = figures(&path.display().to_string(), thread_switches) else { continue };
        match found {
            Ok((voluntary, involuntary)) => sum = (sum.0 + voluntary, sum.1 + involuntary),
            Err(missing) => return Some(Err(missing)),
        }
    }
    Some(Ok(sum))
}

fn thread_switches(status: &str) -> Option<(u64, u64)> {
    Some((named(status, "voluntary_ctxt_switches:")?, named(status, "nonvoluntary_ctxt_switches:")?))
}

fn named(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn sleeping_is_a_voluntary_switch_of_any_thread() {
        let before = Usage::of(&[std::process::id()]);
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let (slept, rested) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // Some may be over before the machine gets to them.
            (0..100).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
            slept.send(()).unwrap();
            wait.recv().unwrap_err();
        });
        rested.recv().unwrap();
        let change = Usage::of(&[std::process::id()]).since(&before);
        drop(done);
        thread.join().unwrap();
        assert!(change.voluntary_switches.unwrap() >= 50, "{change:?}");
        assert!(change.threads >= 2 && change.processes == 1);
        assert!(change.rss.unwrap() > Bytes::new(500_000));
    }

    #[test]
    fn a_process_that_began_later_counts_from_its_beginning() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pids = below(std::process::id()).unwrap();
        assert!(pids.contains(&child.id()));
        let change = Usage::of(&[child.id()]).since(&Usage::default());
        assert!(change.voluntary_switches.is_ok() && change.processes == 1, "{change:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(Usage::of(&[child.id()]).rss(), Err(MissingReason::NoProcess));
    }

    #[test]
    fn one_figure_that_cannot_be_read_spoils_the_sum() {
        let process =
            |storage| Process { identity: (1, 1), threads: 1, rss: Ok(1), storage, switches: Ok((0, 0)) };
        let usage = Usage {
            each: vec![process(Ok((1, 1))), process(Err(MissingReason::NotPermitted))],
            hidden: false,
        };
        let change = usage.since(&Usage::default());
        assert_eq!(change.disk_read, Err(MissingReason::NotPermitted));
        assert_eq!(change.rss, Ok(Bytes::new(2)));
    }

    #[test]
    fn figures_are_found_by_name() {
        assert_eq!(
            storage("rchar: 9\nread_bytes: 4096\nwrite_bytes: 1\ncancelled_write_bytes: 7\n"),
            Some((4096, 1))
        );
        assert_eq!(
            thread_switches("voluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n"),
            Some((3, 4))
        );
        assert_eq!(resident("10 x"), None);
    }
}
