//! Walk over the directories below a hot path: each gets a rule of its own, so that an open finds one at once and
//! does not walk up.
//!
//! Measured side, cold: start alone. Owns the walk. Others may move the files meanwhile, and a rule holds for a
//! directory wherever it is. So the walk leaves the tree neither over a link nor into another mount, whose files the
//! rule above does not grant at their other place.

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Limit on directories with a rule, over all hot types: about 3 s of starting.
pub const MOST_DIRECTORIES: usize = 100_000;

/// Calls `rule` with each directory below `root`, nearest first, at most `most`; returns their number. A directory
/// that cannot be read or has vanished is left to the rule above it.
pub(super) fn below<E>(
    root: BorrowedFd<'_>,
    most: usize,
    mut rule: impl FnMut(BorrowedFd<'_>) -> Result<(), E>,
) -> Result<usize, E> {
    let mut found = 0;
    let mut waiting = VecDeque::from([PathBuf::from(".")]);
    while let Some(path) = waiting.pop_front() {
        let Ok(mut dir) = enter(root, &path) else { continue };
        if path != Path::new(".") {
            if found == most {
                break;
            }
            rule(dir.as_fd())?;
            found += 1;
        }
        for entry in dir.iter().flatten() {
            let name = entry.file_name().to_bytes();
            // Some file systems do not report the type: opening it as a directory does.
            let may_be_one = matches!(entry.file_type(), Some(Type::Directory) | None);
            if may_be_one && name != b"." && name != b".." && waiting.len() <= most {
                waiting.push_back(path.join(OsStr::from_bytes(name)));
            }
        }
    }
    Ok(found)
}

fn enter(root: BorrowedFd<'_>, path: &Path) -> Result<Dir, Errno> {
    let how = OpenHow::new().flags(OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC).resolve(
        ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_XDEV,
    );
    Dir::from_fd(openat2(root, path, how)?)
}
