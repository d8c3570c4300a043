//! Assembly of the kernel's audit records into refusals of our domains.
//!
//! Measured side, pure except for `/proc`, where the parents of a process are looked up. A refusal is one record. The
//! process and its program are in another with the same serial number, if the kernel audits the process's calls.
//! Otherwise the domain's first process stands for it.

use super::access::LoggedAccess;
use super::record::{AuditRecord, RecordContent};
use bakeoff_sys::process::stat;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

/// Limit on calls with missing records; the oldest is then reported as far as it is known.
const MOST_PENDING: usize = 256;
/// Limit on remembered processes and domains; a fork bomb must not fill our memory.
const MOST_REMEMBERED: usize = 4096;
/// Limit on parents looked up to find a known one.
const MOST_PARENTS: usize = 64;

/// The domains that count as ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of this launcher.
    Launcher(u32),
    /// Those of every launcher: the same executable as ours.
    Any,
}

/// Event of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainEvent {
    /// The kernel refused something.
    Refused {
        /// Time in milliseconds since 1970.
        t_ms: u64,
        /// The process, if it is known.
        pid: Option<u32>,
        /// Path of its program.
        exe: Option<PathBuf>,
        /// The missing rights, all at once.
        wanted: Vec<LoggedAccess>,
    },
    /// A process was refused a call that may be of a domain: it is gone, or an orphan that began after ours.
    Unclaimed,
    /// Somebody has changed the audit's settings.
    Changed,
}

/// Assembles records.
#[derive(Debug)]
pub struct Gather {
    whose: Whose,
    /// Our own executable, which is the launcher's.
    own: PathBuf,
    /// Our domains, with the launcher of each.
    domains: BTreeMap<u64, u32>,
    /// Processes of our domains.
    members: HashSet<u32>,
    pending: VecDeque<Pending>,
    /// A domain of ours has gone.
    gone: bool,
    /// When the launcher began, or else this process, in clock ticks.
    began: u64,
}

#[derive(Debug, Default)]
struct Pending {
    t_ms: u64,
    serial: u64,
    refused: Vec<(u64, Vec<LoggedAccess>)>,
    call: Option<(Call, Kin)>,
    process: Option<(u32, u32, PathBuf)>,
}

/// A refused call: process, program, number.
type Call = (u32, PathBuf, u32);

/// Relation of a process to our domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kin {
    Ours,
    Others,
    /// It may be ours: it is gone, or the process that began it is.
    Unknown,
}

impl Gather {
    /// `own` is the executable of launchers.
    pub fn new(whose: Whose, own: &Path) -> Self {
        let members = match whose {
            Whose::Launcher(pid) => HashSet::from([pid]),
            Whose::Any => HashSet::new(),
        };
        let (domains, pending) = (BTreeMap::new(), VecDeque::new());
        let first = members.iter().next().copied().unwrap_or_else(std::process::id);
        let began = stat(first).map_or(u64::MAX, |stat| stat.start_ticks);
        Self { whose, own: own.to_owned(), domains, members, pending, gone: false, began }
    }

    /// Whether a domain of ours is known and alive.
    pub fn has_domain(&self) -> bool {
        !self.domains.is_empty()
    }

    /// Whether a domain of ours was known, and none is left.
    pub fn is_gone(&self) -> bool {
        self.gone && self.domains.is_empty()
    }

    /// Whether more records of a call are awaited.
    pub fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes a record; passes every complete event to `tell`.
    pub fn take(&mut self, record: AuditRecord, mut tell: impl FnMut(DomainEvent)) {
        let AuditRecord { t_ms, serial, told } = record;
        match told {
            RecordContent::Refused { domain, wanted } => {
                self.of(t_ms, serial, &mut tell).refused.push((domain, wanted))
            }
            RecordContent::Call { pid, exe, call } => {
                // At once: it may be gone by the time the other records come.
                let kin = self.kin(pid, None);
                self.of(t_ms, serial, &mut tell).call = Some(((pid, exe, call), kin));
            }
            RecordContent::Process { pid, parent, exe } => {
                // Of the audited calls only those are kept that an earlier record belongs to.
                if let Some(pending) = self.pending.iter_mut().find(|pending| pending.serial == serial) {
                    pending.process = Some((pid, parent, exe));
                }
            }
            RecordContent::Domain { domain, pid, exe } => self.meet(domain, pid, &exe),
            RecordContent::Gone { domain } => {
                self.flush(&mut tell);
                self.gone |= self.domains.remove(&domain).is_some();
            }
            RecordContent::End => {
                if let Some(at) = self.pending.iter().position(|pending| pending.serial == serial) {
                    let whole = self.pending.remove(at);
                    whole.into_iter().for_each(|pending| self.tell(pending, &mut tell));
                }
            }
            RecordContent::Changed => tell(DomainEvent::Changed),
        }
    }

    /// Treats pending events as complete, as no more records come at the moment.
    pub fn flush(&mut self, mut tell: impl FnMut(DomainEvent)) {
        while let Some(pending) = self.pending.pop_front() {
            self.tell(pending, &mut tell);
        }
    }

    fn of(&mut self, t_ms: u64, serial: u64, tell: &mut impl FnMut(DomainEvent)) -> &mut Pending {
        let at = self.pending.iter().position(|pending| pending.serial == serial);
        let at = at.unwrap_or_else(|| {
            if self.pending.len() == MOST_PENDING
                && let Some(oldest) = self.pending.pop_front()
            {
                self.tell(oldest, tell);
            }
            self.pending.push_back(Pending { t_ms, serial, ..Pending::default() });
            self.pending.len() - 1
        });
        &mut self.pending[at]
    }

    /// A domain is ours if a launcher made it: a program that confines itself further runs another executable.
    fn meet(&mut self, domain: u64, pid: u32, exe: &Path) {
        let ours = match self.whose {
            Whose::Launcher(launcher) => launcher == pid,
            Whose::Any => true,
        };
        if ours && exe == self.own && self.domains.len() < MOST_REMEMBERED {
            self.domains.insert(domain, pid);
            self.members.insert(pid);
        }
    }

    fn tell(&mut self, pending: Pending, tell: &mut impl FnMut(DomainEvent)) {
        let Pending { t_ms, refused, call, process, .. } = pending;
        for (domain, wanted) in refused {
            let Some(launcher) = self.domains.get(&domain).copied() else { continue };
            let (pid, exe) = match &process {
                Some((pid, _, exe)) => (*pid, Some(exe.clone())),
                None => (launcher, None),
            };
            self.remember(pid);
            let known = process.is_some();
            let wanted = wanted.into_iter().map(|wanted| of_a_process(wanted, pid, known)).collect();
            tell(DomainEvent::Refused { t_ms, pid: Some(pid), exe, wanted });
        }
        let Some(((pid, exe, call), kin)) = call else { return };
        let kin = match process {
            Some((_, parent, _)) if kin != Kin::Ours => self.kin(pid, Some(parent)),
            _ => kin,
        };
        match kin {
            Kin::Ours => {
                tell(DomainEvent::Refused {
                    t_ms,
                    pid: Some(pid),
                    exe: Some(exe),
                    wanted: vec![LoggedAccess::Call(call)],
                });
            }
            Kin::Unknown => tell(DomainEvent::Unclaimed),
            Kin::Others => {}
        }
    }

    fn remember(&mut self, pid: u32) {
        if self.members.len() < MOST_REMEMBERED {
            self.members.insert(pid);
        }
    }

    /// Whether a process is one of ours: seccomp's records name no domain, so its parents have to tell.
    fn kin(&mut self, pid: u32, parent: Option<u32>) -> Kin {
        let above = |pid| stat(pid).ok().map(|stat| stat.parent);
        // It may be gone by now, but the record has its parent.
        let Some(first) = parent.or_else(|| above(pid)) else { return Kin::Unknown };
        let line = std::iter::once(pid).chain(std::iter::successors(Some(first), |pid| above(*pid)));
        let line: Vec<u32> = line.take(MOST_PARENTS).take_while(|pid| *pid > 1).collect();
        if line.iter().any(|pid| self.members.contains(pid)) {
            self.remember(pid);
            return Kin::Ours;
        }
        // A launcher's reader is an orphan itself, so that whoever adopted it adopts those of the domain.
        let adopter = if self.whose == Whose::Any { 1 } else { std::os::unix::process::parent_id() };
        let may_be =
            |pid: &u32| stat(*pid).is_ok_and(|is| is.parent == adopter && is.start_ticks >= self.began);
        if line.iter().any(may_be) { Kin::Unknown } else { Kin::Others }
    }
}

/// A process's own directory in `/proc` has its number, which differs in each run and says nothing. If the process is
/// not known it may be another's directory.
fn of_a_process(wanted: LoggedAccess, pid: u32, known: bool) -> LoggedAccess {
    let LoggedAccess::File(access, path) = wanted else { return wanted };
    let of = |rest: &Path| {
        let mut parts = rest.components();
        let number = parts.next()?.as_os_str().to_str()?.parse::<u32>().ok()?;
        let name = match number == pid {
            true => "/proc/self",
            false if known => return None,
            false => "/proc/[pid]",
        };
        Some(Path::new(name).join(parts.as_path()))
    };
    let named = path.strip_prefix("/proc").ok().and_then(of);
    LoggedAccess::File(access, named.unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access::Read;

    const OWN: &str = "/usr/bin/bakeoff-layers";

    fn record(serial: u64, told: RecordContent) -> AuditRecord {
        AuditRecord { t_ms: 1, serial, told }
    }

    fn refused(serial: u64, domain: u64, path: &str) -> AuditRecord {
        record(serial, RecordContent::Refused { domain, wanted: vec![LoggedAccess::File(Read, path.into())] })
    }

    fn process(serial: u64, pid: u32, exe: &str) -> AuditRecord {
        record(serial, RecordContent::Process { pid, parent: 10, exe: exe.into() })
    }

    fn domain(serial: u64, domain: u64, pid: u32, exe: &str) -> AuditRecord {
        record(serial, RecordContent::Domain { domain, pid, exe: exe.into() })
    }

    /// Process and refused accesses, in the order in which they are reported.
    fn told(whose: Whose, records: impl IntoIterator<Item = AuditRecord>) -> Vec<String> {
        let mut gather = Gather::new(whose, Path::new(OWN));
        let mut told = Vec::new();
        let mut tell = |event| {
            told.push(match event {
                DomainEvent::Refused { pid, wanted, .. } => format!("{} {}", pid.unwrap_or(0), wanted[0]),
                DomainEvent::Unclaimed => "unclaimed".to_owned(),
                DomainEvent::Changed => "changed".to_owned(),
            });
        };
        for record in records {
            gather.take(record, &mut tell);
        }
        gather.flush(tell);
        told
    }

    #[test]
    fn a_refusal_belongs_to_the_process_with_its_serial_number() {
        let records = [
            refused(1, 7, "/a"),
            domain(1, 7, 10, OWN),
            refused(2, 7, "/proc/12/maps"),
            process(1, 11, "/bin/sh"),
            process(2, 12, "/bin/sh"),
            record(2, RecordContent::End),
            record(1, RecordContent::End),
            // Calls are not audited: of the domain's first process, or of another one.
            refused(3, 7, "/proc/10/maps"),
            refused(4, 7, "/proc/11/maps"),
            record(9, RecordContent::Gone { domain: 7 }),
        ];
        let expected =
            ["12 read /proc/self/maps", "11 read /a", "10 read /proc/self/maps", "10 read /proc/[pid]/maps"];
        assert_eq!(told(Whose::Launcher(10), records.clone()), expected);
        assert_eq!(told(Whose::Any, records.clone()), expected);
        assert_eq!(told(Whose::Launcher(11), records), [] as [&str; 0]);
    }

    #[test]
    fn what_a_program_refuses_itself_is_not_ours() {
        let nested = [
            refused(1, 8, "/a"),
            domain(1, 8, 10, "/usr/sbin/nginx"),
            record(2, RecordContent::Gone { domain: 8 }),
        ];
        assert_eq!(told(Whose::Launcher(10), nested.clone()), [] as [&str; 0]);
        assert_eq!(told(Whose::Any, nested), [] as [&str; 0]);
    }

    #[test]
    fn a_call_is_ours_if_its_process_or_a_parent_is() {
        let call = |pid| record(1, RecordContent::Call { pid, exe: "/bin/mount".into(), call: 165 });
        let own = std::process::id();
        assert_eq!(told(Whose::Launcher(own), [call(own)]), [format!("{own} call 165")]);
        let parent = std::os::unix::process::parent_id();
        assert_eq!(told(Whose::Launcher(parent), [call(own)]), [format!("{own} call 165")]);
        assert_eq!(told(Whose::Launcher(u32::MAX), [call(own)]), [] as [&str; 0]);
        // Gone already, and its domain is unknown.
        assert_eq!(told(Whose::Launcher(10), [call(u32::MAX - 1)]), ["unclaimed"]);
        // Gone already, but the kernel named its parent.
        let orphan = [call(u32::MAX - 1), process(1, u32::MAX - 1, "/bin/mount")];
        assert_eq!(told(Whose::Launcher(10), orphan), [format!("{} call 165", u32::MAX - 1)]);
    }

    #[test]
    fn pieces_that_never_end_are_told_when_there_are_too_many() {
        let first = [refused(0, 7, "/0"), domain(0, 7, 10, OWN)];
        let many = (1..=MOST_PENDING as u64).map(|serial| refused(serial, 7, "/more"));
        let mut gather = Gather::new(Whose::Any, Path::new(OWN));
        let mut told = 0;
        for record in first.into_iter().chain(many) {
            gather.take(record, |_| told += 1);
        }
        assert_eq!((told, gather.pending.len()), (1, MOST_PENDING));
    }
}
