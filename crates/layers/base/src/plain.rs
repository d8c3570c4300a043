//! Plain files in directories that others may write to: read and replaced without ever following, waiting for or
//! writing to a link, a FIFO or a device in their place.
//!
//! Measured side, cold, as root among others' files. Owns how such a file is opened. A temporary file beside it is
//! newly created (`O_EXCL`, `O_NOFOLLOW`, `O_NONBLOCK`) below a descriptor of the directory, and renamed over the old
//! one. Anybody who may write to the directory can still remove the file.

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, fsync, unlinkat};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The path of a file beside another: of its name with this behind it.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Location of a file that need not exist: its directory, opened, and its name there.
#[derive(Debug)]
pub struct FileLocation {
    folder: OwnedFd,
    name: OsString,
}

/// Readers of a file, and its durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAudience {
    /// Everybody may read it; it need not survive a crash.
    Readers,
    /// Everybody may read it; it is on the disk when writing returns.
    Everybody,
    /// Only its owner may read it; it is on the disk when writing returns.
    Owner,
}

impl FileLocation {
    /// Opens the directory that contains a file.
    ///
    /// # Errors
    /// There is no such directory, or the path names none of its files.
    pub fn of(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self { folder: open(folder.unwrap_or(Path::new(".")), flags, Mode::empty())?, name })
    }

    /// Atomically replaces whatever has this name by a file with these bytes.
    ///
    /// # Errors
    /// The I/O error; the old file is still there.
    pub fn replace(&self, bytes: &[u8], reader: FileAudience) -> io::Result<()> {
        self.replace_by(bytes, reader).map(drop)
    }

    /// The same; the file stays open, so that a process that cannot open it again can rewrite its bytes.
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    pub fn replace_by(&self, bytes: &[u8], reader: FileAudience) -> io::Result<File> {
        let beside = self.beside();
        let mut file = self.make_anew(&beside, reader)?;
        let written = file.write_all(bytes).and_then(|()| match reader {
            FileAudience::Owner | FileAudience::Everybody => file.sync_all(),
            FileAudience::Readers => Ok(()),
        });
        let name = self.name.as_os_str();
        if let Err(error) =
            written.and_then(|()| Ok(renameat(&self.folder, beside.as_os_str(), &self.folder, name)?))
        {
            let _ = unlinkat(&self.folder, beside.as_os_str(), UnlinkatFlags::NoRemoveDir);
            return Err(error);
        }
        match reader {
            FileAudience::Owner | FileAudience::Everybody => self.sync()?,
            FileAudience::Readers => {}
        }
        Ok(file)
    }

    /// Puts a file with these bytes there, on the disk when this returns. Of several who do so at once one does.
    ///
    /// # Errors
    /// `AlreadyExists`, and what has its name stays; or what the kernel reports, and nothing is left.
    pub fn put_new(&self, bytes: &[u8], reader: FileAudience) -> io::Result<()> {
        let name = self.name.as_os_str();
        let mut file = self.make(name, reader)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| self.sync());
        written.inspect_err(|_| {
            let _ = unlinkat(&self.folder, name, UnlinkatFlags::NoRemoveDir);
        })
    }

    /// Whether what has its name now is another than this file; nothing is none.
    pub fn is_anothers(&self, file: &File) -> bool {
        let there = fstatat(&self.folder, self.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW);
        match (there, fstat(file)) {
            (Ok(there), Ok(own)) => (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino),
            _ => false,
        }
    }

    /// Tests whether a file could be written there, and removes it again.
    ///
    /// # Errors
    /// The I/O error.
    pub fn try_writing(&self) -> io::Result<()> {
        let beside = self.beside();
        drop(self.make_anew(&beside, FileAudience::Owner)?);
        Ok(unlinkat(&self.folder, beside.as_os_str(), UnlinkatFlags::NoRemoveDir)?)
    }

    /// A temporary name of its own for each process: two that write the same file do not collide.
    fn beside(&self) -> OsString {
        let mut name = self.name.clone();
        name.push(format!(".{}.new", std::process::id()));
        name
    }

    fn make(&self, name: &OsStr, reader: FileAudience) -> nix::Result<File> {
        let flags = OFlag::O_WRONLY
            | OFlag::O_CREAT
            | OFlag::O_EXCL
            | OFlag::O_NOFOLLOW
            | OFlag::O_NONBLOCK
            | OFlag::O_CLOEXEC;
        let mode = Mode::from_bits_truncate(match reader {
            FileAudience::Readers | FileAudience::Everybody => 0o644,
            FileAudience::Owner => 0o600,
        });
        openat(&self.folder, name, flags, mode).map(File::from)
    }

    fn make_anew(&self, name: &OsStr, reader: FileAudience) -> io::Result<File> {
        Ok(match self.make(name, reader) {
            // Left by a process that was killed, or put there by somebody: its name goes, not what it leads to.
            Err(Errno::EEXIST) => {
                unlinkat(&self.folder, name, UnlinkatFlags::NoRemoveDir)?;
                self.make(name, reader)?
            }
            other => other?,
        })
    }

    fn sync(&self) -> io::Result<()> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(fsync(openat(&self.folder, ".", flags, Mode::empty())?)?)
    }
}

/// Reads a regular file of at most so many bytes; refuses anything else with that name.
///
/// # Errors
/// It does not exist, is no regular file, or is larger.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most_bytes {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::mkfifo;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A directory, the path of a file in it, and that of the temporary one beside it.
    fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let beside = dir.path().join(format!("status.{}.new", std::process::id()));
        let path = dir.path().join("status");
        (dir, path, beside)
    }

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_is_not_written_to() {
        let (dir, path, beside) = place();
        let victim = dir.path().join("victim");
        fs::write(&victim, "of root").unwrap();
        for link in [&path, &beside] {
            symlink(&victim, link).unwrap();
            FileLocation::of(&path).unwrap().replace(b"new", FileAudience::Readers).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert!(path.symlink_metadata().unwrap().is_file());
            assert_eq!(fs::read(&victim).unwrap(), b"of root");
        }
        FileLocation::of(&path).unwrap().try_writing().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "something was left beside it");
    }

    #[test]
    fn what_is_there_stays_when_a_new_file_is_to_be_put_there() {
        let (dir, path, victim) = place();
        let place = FileLocation::of(&path).unwrap();
        place.put_new(b"first", FileAudience::Owner).unwrap();
        assert_eq!(
            place.put_new(b"second", FileAudience::Owner).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read(&path).unwrap(), b"first");
        fs::remove_file(&path).unwrap();
        symlink(&victim, &path).unwrap();
        assert_eq!(
            place.put_new(b"third", FileAudience::Owner).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "something was written through the link");
    }

    #[test]
    fn a_file_that_another_has_put_in_its_place_is_told_from_it() {
        let (_dir, path, _) = place();
        let file = FileLocation::of(&path).unwrap().replace_by(b"own", FileAudience::Readers).unwrap();
        let place = FileLocation::of(&path).unwrap();
        assert!(!place.is_anothers(&file));
        place.replace(b"another's", FileAudience::Readers).unwrap();
        assert!(place.is_anothers(&file));
        fs::remove_file(&path).unwrap();
        assert!(!place.is_anothers(&file), "nobody's");
    }

    #[test]
    fn a_fifo_is_replaced_without_waiting_and_never_read() {
        let (_dir, path, beside) = place();
        for fifo in [&path, &beside] {
            let _ = fs::remove_file(fifo);
            mkfifo(fifo, Mode::from_bits_truncate(0o666)).unwrap();
            assert_eq!(read(fifo, 10).unwrap_err().kind(), io::ErrorKind::InvalidInput);
            FileLocation::of(&path).unwrap().replace(b"new", FileAudience::Owner).unwrap();
            assert_eq!(read(&path, 3).unwrap(), b"new");
        }
        assert_eq!(read(&path, 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        symlink(&path, &beside).unwrap();
        assert_eq!(read(&beside, 10).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    }

    #[test]
    fn the_directory_is_the_one_that_was_opened() {
        let (dir, path, _) = place();
        let (real, elsewhere) = (dir.path().join("real"), dir.path().join("elsewhere"));
        fs::create_dir(&real).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let place = FileLocation::of(&real.join("status")).unwrap();
        fs::rename(&real, &path).unwrap();
        symlink(&elsewhere, &real).unwrap();
        place.replace(b"new", FileAudience::Readers).unwrap();
        assert_eq!(fs::read(path.join("status")).unwrap(), b"new");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
