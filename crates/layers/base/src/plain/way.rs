//! Walk to a file through directories that nobody else can exchange.
//!
//! Measured side, cold, as root among others' files. Goes from descriptor to descriptor, each opened without following
//! a link, so that what was checked is what is used. Every directory on the way belongs to root or to the caller, and
//! nobody else may rename what is in it. A symbolic link is followed only if it cannot be exchanged either: its owner
//! and its directory's are such, and nobody else may write to that directory.

use nix::fcntl::{OFlag, open, openat, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{getegid, geteuid};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Limit on symbolic links of a path, as the kernel's.
const MOST_LINKS: usize = 40;

/// Treatment of a symbolic link that has the file's own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLink {
    /// The name is the file's, whatever has it.
    Kept,
    /// It leads to the file, where links may be followed.
    Followed,
}

/// The directory that contains a file, and the file's name there.
pub(super) fn walk(path: &Path, last: LastLink) -> io::Result<(OwnedFd, OsString)> {
    path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut walk = Walk::begin(path)?;
    let mut links = 0;
    while let Some(step) = walk.rest.pop() {
        if walk.rest.is_empty() && last == LastLink::Kept {
            return Ok((walk.at.folder, step));
        }
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let found = openat(&walk.at.folder, step.as_os_str(), flags, Mode::empty());
        // It need not be there yet.
        let found = match found {
            Err(nix::errno::Errno::ENOENT) if walk.rest.is_empty() => return Ok((walk.at.folder, step)),
            found => found?,
        };
        let about = fstat(&found)?;
        match SFlag::from_bits_truncate(about.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFLNK if links == MOST_LINKS => return Err(nix::errno::Errno::ELOOP.into()),
            SFlag::S_IFLNK => {
                links += 1;
                walk.follow(&step, &about)?;
            }
            SFlag::S_IFDIR => walk.enter(found, about, &step)?,
            _ if walk.rest.is_empty() => return Ok((walk.at.folder, step)),
            _ => return Err(io::ErrorKind::NotADirectory.into()),
        }
    }
    Err(io::ErrorKind::IsADirectory.into())
}

/// Owners who could do as they like anyway: root and the caller. Whoever owns `/` can put anything anywhere; in a user
/// namespace that is root outside.
pub(super) struct Owners {
    caller: u32,
    group: u32,
    of_all: u32,
}

impl Owners {
    pub(super) fn now() -> io::Result<Self> {
        Ok(Self {
            caller: geteuid().as_raw(),
            group: getegid().as_raw(),
            of_all: nix::sys::stat::stat("/")?.st_uid,
        })
    }

    pub(super) fn are(&self, owner: u32) -> bool {
        [0, self.caller, self.of_all].contains(&owner)
    }

    /// Whether others may write to this directory: everybody, or a group that is neither root's nor the caller's.
    pub(super) fn share(&self, about: &FileStat) -> bool {
        let group = about.st_mode & libc::S_IWGRP != 0 && ![0, self.group].contains(&about.st_gid);
        group || about.st_mode & libc::S_IWOTH != 0
    }
}

/// A directory of the walk.
struct Stage {
    folder: OwnedFd,
    about: FileStat,
    path: PathBuf,
}

impl Stage {
    fn start(path: &Path) -> io::Result<Self> {
        let at = if path.is_absolute() { "/" } else { "." };
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let folder = open(at, flags, Mode::empty())?;
        Ok(Self { about: fstat(&folder)?, folder, path: at.into() })
    }

    /// Whether whoever may write to it can rename what others have put there.
    fn is_loose(&self) -> bool {
        self.about.st_mode & libc::S_ISVTX == 0
    }
}

struct Walk {
    owners: Owners,
    at: Stage,
    /// Steps to take, the next one last.
    rest: Vec<OsString>,
}

impl Walk {
    fn begin(path: &Path) -> io::Result<Self> {
        let walk = Self { owners: Owners::now()?, at: Stage::start(path)?, rest: steps(path) };
        walk.check()?;
        Ok(walk)
    }

    fn enter(&mut self, folder: OwnedFd, about: FileStat, step: &OsStr) -> io::Result<()> {
        self.at = Stage { folder, about, path: self.at.path.join(step) };
        self.check()
    }

    fn check(&self) -> io::Result<()> {
        let (path, owner) = (self.at.path.display(), self.at.about.st_uid);
        let elsewhere = match self.owners.caller {
            0 => "as root, also by sudo, use a directory of root's (in /etc, /srv, /root)",
            _ => "use a directory of root's or your own",
        };
        match self.owners.are(owner) {
            false => Err(refused(format!(
                "{path} belongs to user {owner}, who can exchange what is in it: {elsewhere}"
            ))),
            true if self.owners.share(&self.at.about) && self.at.is_loose() => Err(refused(format!(
                "others may write to {path}, and can exchange what is in it (chmod go-w, or +t): {elsewhere}"
            ))),
            true => Ok(()),
        }
    }

    fn follow(&mut self, step: &OsStr, about: &FileStat) -> io::Result<()> {
        let path = self.at.path.join(step);
        if !self.owners.are(about.st_uid) || self.owners.share(&self.at.about) {
            let sentence = "is a symbolic link that others can exchange: name the file without it";
            return Err(refused(format!("{} {sentence}", path.display())));
        }
        let target = PathBuf::from(readlinkat(&self.at.folder, step)?);
        if target.is_absolute() {
            self.at = Stage::start(&target)?;
        }
        self.rest.extend(steps(&target));
        Ok(())
    }
}

pub(super) fn refused(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, sentence)
}

/// The parts of a path, the first one last.
fn steps(path: &Path) -> Vec<OsString> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.map(|part| part.as_os_str().to_owned()).rev().collect()
}
