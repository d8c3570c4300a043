//! Accesses that a system call needs, in the words of the kernel's log of refusals.
//!
//! Measured side, hot. Owns the list of watched calls, and the needs of each. A call needs its stages one after the
//! other: the kernel ends it at the first refused one, and checks no more. A call that fails anyway, for a missing
//! file, needs nothing.

use super::observed::{Name, Observed, There};
use crate::access::Access::{self, Create, Delete, Exec, List, Read, Rename, Write};
use crate::grant::DomainGrant;
use crate::log::LoggedAccess;
use bakeoff_layers_base::plain::open_in_tree;
use bakeoff_sys::notify::Call;
use bakeoff_sys::rules;
use bakeoff_sys::seccomp::{SyscallRule, watch};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The calls about which Landlock is asked, but `ioctl`, which is made far too often, and those that signal. All others
/// that wait are ones that no domain may make.
pub(super) const WATCHED: &[SyscallRule] = rules! {
    watch: SYS_openat SYS_unlinkat SYS_mkdirat SYS_mknodat SYS_symlinkat SYS_linkat SYS_renameat SYS_renameat2
        SYS_execve SYS_bind SYS_connect;
    x86_64 watch: SYS_open SYS_creat SYS_unlink SYS_rmdir SYS_mkdir SYS_mknod SYS_symlink SYS_link SYS_rename;
};

/// Accesses that are checked at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) wanted: Vec<LoggedAccess>,
    /// A file moved or linked to another directory.
    pub(super) moved: Option<Moved>,
}

/// A file or directory that gets another parent: refused, too, if it would gain rights there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    /// Its path.
    pub(super) path: PathBuf,
    is_dir: bool,
    /// Its directory.
    pub(super) from: PathBuf,
    /// The new directory.
    pub(super) to: PathBuf,
}

impl Stage {
    /// Accesses that the kernel would name as missing under this grant.
    fn lacking(self, grant: &DomainGrant) -> Vec<LoggedAccess> {
        match self.moved {
            Some(moved) if moved.gains(grant) => stage(&[Rename], &moved.from)
                .wanted
                .into_iter()
                .chain(stage(&[Rename], &moved.to).wanted)
                .collect(),
            _ => self.wanted.into_iter().filter(|wanted| !is_granted(grant, wanted)).collect(),
        }
    }
}

impl Moved {
    fn gains(&self, grant: &DomainGrant) -> bool {
        let of_files = [Read, Write, Exec, Access::Ioctl].into_iter().collect();
        let there = grant.effective(&self.to);
        let there = if self.is_dir { there } else { there.common(of_files) };
        !there.without(grant.effective(&self.path)).is_none()
    }
}

fn is_granted(grant: &DomainGrant, wanted: &LoggedAccess) -> bool {
    match wanted {
        LoggedAccess::File(access, path) => grant.effective(path).has(*access),
        LoggedAccess::Bind(port) => grant.listen.contains(port),
        LoggedAccess::Connect(port) => grant.connect.contains(port),
        LoggedAccess::Files(_) | LoggedAccess::Scope(_) | LoggedAccess::Call(_) => false,
    }
}

/// Needs of a call; `None` if it could not be looked at.
pub(super) fn needs(who: Observed, call: &Call) -> Option<Vec<Stage>> {
    let int = |index: usize| call.arguments[index] as i32;
    let at = |dir: usize| Some(Name { dir: int(dir), text: who.text(call.arguments[dir + 1])? });
    let here = |path: usize| Some(Name { dir: libc::AT_FDCWD, text: who.text(call.arguments[path])? });
    Some(match call.number {
        libc::SYS_openat => opened(who, call, &at(0)?, int(2)),
        libc::SYS_unlinkat => removed(who, &at(0)?),
        libc::SYS_mkdirat | libc::SYS_mknodat => made(who, &at(0)?),
        libc::SYS_symlinkat => made(who, &at(1)?),
        libc::SYS_linkat => linked(who, &at(0)?, &at(2)?, int(4) & libc::AT_SYMLINK_FOLLOW != 0),
        libc::SYS_renameat => renamed(who, &at(0)?, &at(2)?, false),
        libc::SYS_renameat2 => renamed(who, &at(0)?, &at(2)?, int(4) & libc::RENAME_NOREPLACE as i32 != 0),
        libc::SYS_execve => executed(who, &here(0)?),
        libc::SYS_bind => addressed(who, call, LoggedAccess::Bind)?,
        libc::SYS_connect => addressed(who, call, LoggedAccess::Connect)?,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => opened(who, call, &here(0)?, int(1)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => opened(who, call, &here(0)?, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink | libc::SYS_rmdir => removed(who, &here(0)?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir | libc::SYS_mknod => made(who, &here(0)?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink => made(who, &here(1)?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_link => linked(who, &here(0)?, &here(1)?, false),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => renamed(who, &here(0)?, &here(1)?, false),
        _ => vec![forbidden(call)],
    })
}

/// Whether a call leads to another root, or other mounts.
pub(super) fn leads_elsewhere(call: &Call) -> bool {
    const LEADING: [libc::c_long; 8] = [
        libc::SYS_chroot,
        libc::SYS_pivot_root,
        libc::SYS_setns,
        libc::SYS_unshare,
        libc::SYS_clone,
        libc::SYS_mount,
        libc::SYS_move_mount,
        libc::SYS_umount2,
    ];
    LEADING.contains(&call.number)
}

fn forbidden(call: &Call) -> Stage {
    asked(LoggedAccess::Call(u32::try_from(call.number).unwrap_or_default()))
}

fn asked(wanted: LoggedAccess) -> Stage {
    Stage { wanted: vec![wanted], moved: None }
}

/// Accesses at one place, all at once.
fn stage(accesses: &[Access], path: &Path) -> Stage {
    let wanted = accesses.iter().map(|access| LoggedAccess::File(*access, path.to_owned()));
    Stage { wanted: wanted.collect(), moved: None }
}

/// A move from one directory to another, with the accesses needed in each.
fn moved(there: There, from: (PathBuf, &[Access]), to: (PathBuf, &[Access])) -> Stage {
    let wanted = [stage(from.1, &from.0).wanted, stage(to.1, &to.0).wanted].concat();
    let is_dir = there.is_dir();
    Stage { wanted, moved: Some(Moved { path: there.path, is_dir, from: from.0, to: to.0 }) }
}

fn opened(who: Observed, call: &Call, name: &Name, flags: i32) -> Vec<Stage> {
    let has = |flag: i32| flags & flag == flag;
    let accesses: &[Access] = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => &[Read],
        libc::O_WRONLY => &[Write],
        libc::O_RDWR => &[Read, Write],
        _ => &[],
    };
    if has(libc::O_PATH) {
        return Vec::new();
    }
    // The seccomp filter comes before all rules.
    if has(libc::O_TRUNC) && !accesses.contains(&Write) {
        return vec![forbidden(call)];
    }
    match who.find(name, !has(libc::O_NOFOLLOW)) {
        Some(_) if has(libc::O_CREAT | libc::O_EXCL) => Vec::new(),
        Some(There { path, .. }) if has(libc::O_TMPFILE) => vec![stage(accesses, &path)],
        Some(there) if there.is_dir() && accesses == [Read] => vec![stage(&[List], &there.path)],
        Some(there) if there.is_dir() || there.is_link() || has(libc::O_DIRECTORY) => Vec::new(),
        Some(there) => vec![stage(accesses, &there.path)],
        None if has(libc::O_CREAT) => who.folder(name).map_or_else(Vec::new, |(folder, last)| {
            vec![stage(&[Create], &folder), stage(accesses, &folder.join(last))]
        }),
        None => Vec::new(),
    }
}

fn removed(who: Observed, name: &Name) -> Vec<Stage> {
    let there = who.find(name, false).and_then(|_| who.folder(name));
    there.map_or_else(Vec::new, |(folder, _)| vec![stage(&[Delete], &folder)])
}

fn made(who: Observed, name: &Name) -> Vec<Stage> {
    if who.find(name, false).is_some() {
        return Vec::new();
    }
    who.folder(name).map_or_else(Vec::new, |(folder, _)| vec![stage(&[Create], &folder)])
}

fn linked(who: Observed, from: &Name, to: &Name, follow: bool) -> Vec<Stage> {
    let (Some(there), Some((folder, _))) = (who.find(from, follow), who.folder(to)) else {
        return Vec::new();
    };
    let Some(source) = there.path.parent().map(Path::to_owned) else { return Vec::new() };
    if who.find(to, false).is_some() {
        return Vec::new();
    }
    if source == folder {
        return vec![stage(&[Create], &folder)];
    }
    vec![moved(there, (source, &[Rename]), (folder, &[Create, Rename]))]
}

fn renamed(who: Observed, from: &Name, to: &Name, keeps: bool) -> Vec<Stage> {
    let (Some(there), Some((source, _))) = (who.find(from, false), who.folder(from)) else {
        return Vec::new();
    };
    let Some((folder, _)) = who.folder(to) else { return Vec::new() };
    let replaced = who.find(to, false).is_some();
    if replaced && keeps {
        return Vec::new();
    }
    if source == folder {
        return vec![stage(&[Create, Delete], &folder)];
    }
    let gets: &[Access] = if replaced { &[Create, Delete, Rename] } else { &[Create, Rename] };
    vec![moved(there, (source, &[Delete, Rename]), (folder, gets))]
}

/// The program, then the files that the kernel opens to run it: the interpreter of a script, the loader.
fn executed(who: Observed, name: &Name) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut next = who.find(name, true);
    while let Some(there) = next.filter(|there| there.is_program() && stages.len() < MOST_INTERPRETERS) {
        stages.push(stage(&[Read, Exec], &there.path));
        next = interpreter(&there.path).and_then(|text| who.find(&Name { dir: libc::AT_FDCWD, text }, true));
    }
    stages
}

/// The policy's reason why a program cannot be entered: of the first of the files that the kernel opens for it and may
/// not. Asked before a domain begins, as nothing of them can be read inside.
pub fn refused_entry(grant: &DomainGrant, program: &OsStr) -> Option<String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(program));
    let is_path = program.as_bytes().contains(&b'/');
    let first = if is_path { Some(program.into()) } else { places.find(|place| place.is_file()) };
    let next = |path: &PathBuf| Some(PathBuf::from(OsString::from_vec(interpreter(path)?)));
    let files = std::iter::successors(first, next).take(MOST_INTERPRETERS);
    let refused = |path: PathBuf| {
        let path = path.canonicalize().ok()?;
        let reasons = [Read, Exec].map(|access| grant.because(&path, access));
        reasons.into_iter().find(|because| !because.granted).map(|because| because.reason)
    };
    files.filter_map(refused).next()
}

/// Limit on interpreters: a script's, its interpreter's, ... (the kernel follows five); and a loader.
const MOST_INTERPRETERS: usize = 6;
/// Bytes read of a program: the kernel reads fewer of a script, and loaders are named near the beginning.
const MOST_HEAD: usize = 4096;

/// The interpreter that a program names.
fn interpreter(program: &Path) -> Option<Vec<u8>> {
    let mut head = [0; MOST_HEAD];
    let length = open_in_tree(program, 0).ok()?.read_at(&mut head, 0).ok()?;
    let head = head.get(..length)?;
    if let Some(script) = head.strip_prefix(b"#!") {
        let line = script.split(|byte| *byte == b'\n').next()?;
        let mut words = line.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
        return words.next().map(<[u8]>::to_vec);
    }
    let number = |at: usize, bytes: usize| {
        let digits = head.get(at..at.checked_add(bytes)?)?.iter().rev();
        usize::try_from(digits.fold(0_u64, |number, byte| number << 8 | u64::from(*byte))).ok()
    };
    // `Elf64_Ehdr` and `Elf64_Phdr`, of either architecture; `PT_INTERP` is 3.
    head.strip_prefix(b"\x7fELF\x02\x01")?;
    let (first, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    let mut headers = (0..count).map_while(|index| first.checked_add(index.checked_mul(size)?));
    let found = headers.find(|header| number(*header, 4) == Some(3))?;
    let (begin, length) = (number(found + 8, 8)?, number(found + 32, 8)?);
    let name = head.get(begin..begin.checked_add(length)?)?;
    Some(name.strip_suffix(b"\0").unwrap_or(name).to_vec())
}

/// A TCP port, or the path of a socket to be created. UDP is not covered: its sockets are refused.
fn addressed(who: Observed, call: &Call, wanted: fn(u16) -> LoggedAccess) -> Option<Vec<Stage>> {
    let length = usize::try_from(call.arguments[2]).ok()?.min(size_of::<libc::sockaddr_un>());
    let address = who.bytes(call.arguments[1], length)?;
    let (family, rest) = address.split_first_chunk()?;
    Some(match (i32::from(u16::from_ne_bytes(*family)), rest) {
        (libc::AF_INET | libc::AF_INET6, [high, low, ..]) if who.is_stream(call.arguments[0] as i32) => {
            vec![asked(wanted(u16::from_be_bytes([*high, *low])))]
        }
        (libc::AF_UNIX, [first, ..]) if call.number == libc::SYS_bind && *first != 0 => {
            let text = rest.split(|byte| *byte == 0).next()?.to_vec();
            made(who, &Name { dir: libc::AT_FDCWD, text })
        }
        _ => Vec::new(),
    })
}

/// The first missing needs of a call, if any.
pub(super) fn missing(stages: Vec<Stage>, grant: &DomainGrant) -> Vec<LoggedAccess> {
    let mut lacking = stages.into_iter().map(|stage| stage.lacking(grant));
    lacking.find(|lacking| !lacking.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Accesses;
    use crate::grant::FileGrant;

    #[test]
    fn interpreters_are_those_that_the_kernel_would_open() {
        let dir = tempfile::tempdir().unwrap();
        let of = |text: &[u8]| {
            let path = dir.path().join("program");
            std::fs::write(&path, text).unwrap();
            interpreter(&path).map(|name| String::from_utf8(name).unwrap())
        };
        assert_eq!(of(b"#! /usr/bin/env -S sh\nx").as_deref(), Some("/usr/bin/env"));
        assert_eq!(
            (
                of(b"#!"),
                of(b""),
                of(b"\x7fELF\x02\x01"),
                of(&[b"\x7fELF\x02\x01".as_slice(), &[0xff; 90]].concat())
            ),
            (None, None, None, None)
        );
        let own = interpreter(&std::env::current_exe().unwrap()).unwrap();
        assert!(Path::new(std::str::from_utf8(&own).unwrap()).exists(), "{own:?}");
    }

    /// `/a` may be all of it, `/b` only be read.
    fn grant() -> DomainGrant {
        let file = |path: &str, accesses| FileGrant {
            path: path.into(),
            accesses,
            hot: false,
            label: String::new(),
            line: 0,
        };
        let reading = [Read, List].into_iter().collect();
        DomainGrant {
            files: vec![file("/a", Accesses::any()), file("/b", reading)],
            ..DomainGrant::default()
        }
    }

    #[test]
    fn only_the_first_stage_that_lacks_something_is_told() {
        let stages =
            |folder: &str| vec![stage(&[Create], folder.as_ref()), stage(&[Read, Write], "/b/new".as_ref())];
        assert_eq!(missing(stages("/b"), &grant()), stage(&[Create], "/b".as_ref()).wanted);
        assert_eq!(missing(stages("/a"), &grant()), stage(&[Write], "/b/new".as_ref()).wanted);
        assert!(missing(vec![stage(&[Read, Write], "/a/x".as_ref())], &grant()).is_empty());
        assert_eq!(missing(vec![asked(LoggedAccess::Bind(80))], &grant()), [LoggedAccess::Bind(80)]);
    }

    #[test]
    fn nothing_may_be_moved_to_where_more_may_be_done_with_it() {
        let moved = |from: &str, to: &str, is_dir| Stage {
            wanted: stage(&[Create, Rename], to.as_ref()).wanted,
            moved: Some(Moved { path: Path::new(from).join("x"), is_dir, from: from.into(), to: to.into() }),
        };
        let both = [stage(&[Rename], "/b".as_ref()).wanted, stage(&[Rename], "/a".as_ref()).wanted].concat();
        assert_eq!(missing(vec![moved("/b", "/a", false)], &grant()), both);
        assert_eq!(
            missing(vec![moved("/a", "/b", false)], &grant()),
            stage(&[Create, Rename], "/b".as_ref()).wanted
        );
        assert!(missing(vec![moved("/a/c", "/a/d", true)], &grant()).is_empty());
        assert_eq!(missing(vec![moved("/c", "/b", true)], &grant()).len(), 2);
    }
}
