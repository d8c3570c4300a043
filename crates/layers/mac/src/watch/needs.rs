//! What the kernel would ask the domain's rules about a call, told as its log tells refusals.
//!
//! Measured side, hot. Owns which calls are watched, and what each needs. A call needs its stages one after the other:
//! where one is refused the kernel ends it, and asks no more. What fails anyway, as there is nothing, needs nothing.

use super::observed::{Name, Observed, There};
use crate::access::Access::{self, Create, Delete, Exec, List, Read, Rename, Write};
use crate::log::Wanted;
use bakeoff_sys::notify::Call;
use bakeoff_sys::seccomp::{Rule, watch};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The calls about which Landlock is asked, but `ioctl`, which is made far too often, and those that signal. All others
/// that wait are ones that no domain may make.
pub(super) const WATCHED: &[Rule] = &[
    watch(libc::SYS_openat),
    watch(libc::SYS_unlinkat),
    watch(libc::SYS_mkdirat),
    watch(libc::SYS_mknodat),
    watch(libc::SYS_symlinkat),
    watch(libc::SYS_linkat),
    watch(libc::SYS_renameat),
    watch(libc::SYS_renameat2),
    watch(libc::SYS_execve),
    watch(libc::SYS_bind),
    watch(libc::SYS_connect),
    #[cfg(target_arch = "x86_64")]
    watch(libc::SYS_open),
    #[cfg(target_arch = "x86_64")]
    watch(libc::SYS_creat),
    #[cfg(target_arch = "x86_64")]
    watch(libc::SYS_unlink),
    #[cfg(target_arch = "x86_64")]
    watch(libc::SYS_rmdir),
    #[cfg(target_arch = "x86_64")]
    watch(libc::SYS_mkdir),
    #[cfg(target_arch = "x86_64")]
    watch(libc::SYS_mknod),
    #[cfg(target_arch = "x86_64")]
    watch(libc::SYS_symlink),
    #[cfg(target_arch = "x86_64")]
    watch(libc::SYS_link),
    #[cfg(target_arch = "x86_64")]
    watch(libc::SYS_rename),
];

/// Things that are asked about at once.
pub(super) type Stage = Vec<Wanted>;

/// What a call needs; `None` when it could not be looked at.
pub(super) fn needs(call: &Call) -> Option<Vec<Stage>> {
    let who = Observed(call.thread);
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
        libc::SYS_bind => addressed(who, call, Wanted::Bind)?,
        libc::SYS_connect => addressed(who, call, Wanted::Connect)?,
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
        _ => vec![vec![forbidden(call)]],
    })
}

fn forbidden(call: &Call) -> Wanted {
    Wanted::Call(u32::try_from(call.number).unwrap_or_default())
}

/// At one place, all at once.
fn stage(accesses: &[Access], path: &Path) -> Stage {
    accesses.iter().map(|access| Wanted::File(*access, path.to_owned())).collect()
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
    // The filter comes before all rules.
    if has(libc::O_TRUNC) && !accesses.contains(&Write) {
        return vec![vec![forbidden(call)]];
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
    let source = who.find(from, follow).and_then(|there| Some(there.path.parent()?.to_owned()));
    match (source, who.folder(to)) {
        (Some(_), Some(_)) if who.find(to, false).is_some() => Vec::new(),
        (Some(source), Some((folder, _))) if source == folder => vec![stage(&[Create], &folder)],
        (Some(source), Some((folder, _))) => {
            vec![[stage(&[Rename], &source), stage(&[Create, Rename], &folder)].concat()]
        }
        _ => Vec::new(),
    }
}

fn renamed(who: Observed, from: &Name, to: &Name, keeps: bool) -> Vec<Stage> {
    let source = who.find(from, false).and_then(|_| who.folder(from));
    let (Some((source, _)), Some((folder, _))) = (source, who.folder(to)) else { return Vec::new() };
    let replaced = who.find(to, false).is_some();
    if replaced && keeps {
        return Vec::new();
    }
    if source == folder {
        return vec![stage(&[Create, Delete], &folder)];
    }
    let there: &[Access] = if replaced { &[Create, Delete, Rename] } else { &[Create, Rename] };
    vec![[stage(&[Delete, Rename], &source), stage(there, &folder)].concat()]
}

/// The program, then what the kernel opens to run it: the interpreter of a script, the loader.
fn executed(who: Observed, name: &Name) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut next = who.find(name, true);
    while let Some(there) = next.filter(|there| there.is_program() && stages.len() < MOST_INTERPRETERS) {
        stages.push(stage(&[Read, Exec], &there.path));
        next = interpreter(&there.path).and_then(|text| who.find(&Name { dir: libc::AT_FDCWD, text }, true));
    }
    stages
}

/// A script's, of a script's, ...: the kernel follows five; and a loader.
const MOST_INTERPRETERS: usize = 6;
/// Of a program so much is read: what the kernel reads of a script is less, and loaders are named near the beginning.
const MOST_HEAD: usize = 4096;

/// What a program names as its interpreter.
fn interpreter(program: &Path) -> Option<Vec<u8>> {
    let mut head = [0; MOST_HEAD];
    let length = File::open(program).ok()?.read_at(&mut head, 0).ok()?;
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

/// A TCP port, or the name of a socket that is made. UDP is not: its sockets are refused.
fn addressed(who: Observed, call: &Call, wanted: fn(u16) -> Wanted) -> Option<Vec<Stage>> {
    let length = usize::try_from(call.arguments[2]).ok()?.min(size_of::<libc::sockaddr_un>());
    let address = who.bytes(call.arguments[1], length)?;
    let (family, rest) = address.split_first_chunk()?;
    Some(match (i32::from(u16::from_ne_bytes(*family)), rest) {
        (libc::AF_INET | libc::AF_INET6, [high, low, ..]) if who.is_stream(call.arguments[0] as i32) => {
            vec![vec![wanted(u16::from_be_bytes([*high, *low]))]]
        }
        (libc::AF_UNIX, [first, ..]) if call.number == libc::SYS_bind && *first != 0 => {
            let text = rest.split(|byte| *byte == 0).next()?.to_vec();
            made(who, &Name { dir: libc::AT_FDCWD, text })
        }
        _ => Vec::new(),
    })
}

/// What of a call's needs is missing first, if anything.
pub(super) fn missing(stages: Vec<Stage>, is_granted: impl Fn(&Wanted) -> bool) -> Stage {
    let lacking = |stage: Stage| stage.into_iter().filter(|wanted| !is_granted(wanted)).collect::<Stage>();
    stages.into_iter().map(lacking).find(|stage| !stage.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn only_the_first_stage_that_lacks_something_is_told() {
        let stages = vec![stage(&[Create], Path::new("/a")), stage(&[Read, Write], Path::new("/b"))];
        let granted = |accesses: &'static [Access]| move |wanted: &Wanted| matches!(wanted, Wanted::File(access, _) if accesses.contains(access));
        assert_eq!(missing(stages.clone(), granted(&[])), stage(&[Create], Path::new("/a")));
        assert_eq!(missing(stages.clone(), granted(&[Create, Read])), stage(&[Write], Path::new("/b")));
        assert!(missing(stages, granted(&[Create, Read, Write])).is_empty());
    }
}
