//! The directories below a path of a hot type: each gets a rule of its own, so that an open finds one at once and
//! does not walk up.
//!
//! Measured side, cold: start alone. Owns the walk. It is made among files that others may move meanwhile, and a rule
//! holds for a directory wherever it is: so none is followed out of the tree, over a link or into another mount, whose
//! files the rule above does not grant at their other place.

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The most directories that get a rule, of all hot types together: about 3 s of starting.
pub const MOST_DIRECTORIES: usize = 100_000;

/// Calls `rule` with each directory below `root`, nearest first, at most `most`; how many. One that cannot be read or
/// is gone again stays with the rule above it.
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
            // Some file systems do not tell: opening it as a directory does.
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
