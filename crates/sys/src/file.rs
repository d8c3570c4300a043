//! Files by a name below an open directory: one system call each, nothing added.
//!
//! Measuring side, hot path allowed: no allocation but in `entries`. Names are resolved from the directory, so that the
//! path above it costs nothing. Decides nothing: the caller chooses what is opened, checked and synced.

use nix::dir::Type;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::{Mode, SFlag};
use nix::unistd::UnlinkatFlags;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// An open directory.
#[derive(Debug)]
pub struct Dir(OwnedFd);

/// The moment at which written data is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// Whenever the kernel likes.
    Plain,
    /// When `write` returns (`O_DSYNC`).
    DataSync,
}

/// The result of `stat` on a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Bytes.
    pub size: u64,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name, without the directory's.
    pub name: CString,
    /// Whether it is a directory, where the file system tells in its listing.
    pub is_dir: Option<bool>,
}

impl Dir {
    /// Opens a directory.
    ///
    /// # Errors
    /// What `open` reports, as for every method below.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(nix::fcntl::open(path, DIRECTORY, Mode::empty())?))
    }

    /// Opens the directory `name`.
    pub fn inside(&self, name: &CStr) -> io::Result<Self> {
        Ok(Self(nix::fcntl::openat(&self.0, name, DIRECTORY, Mode::empty())?))
    }

    /// Opens a file for reading.
    pub fn read(&self, name: &CStr) -> io::Result<File> {
        self.file(name, OFlag::O_RDONLY)
    }

    /// Opens a file that is there for writing, without cutting it off.
    pub fn overwrite(&self, name: &CStr, writing: Writing) -> io::Result<File> {
        self.file(name, OFlag::O_WRONLY | writing.flag())
    }

    /// Makes a file that must not be there yet.
    pub fn create(&self, name: &CStr, writing: Writing) -> io::Result<File> {
        self.file(name, OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | writing.flag())
    }

    /// Opens a file that is there for writing behind its end.
    pub fn append(&self, name: &CStr, writing: Writing) -> io::Result<File> {
        self.file(name, OFlag::O_WRONLY | OFlag::O_APPEND | writing.flag())
    }

    /// Opens a file that is there for writing, and cuts it to nothing.
    pub fn truncate(&self, name: &CStr, writing: Writing) -> io::Result<File> {
        self.file(name, OFlag::O_WRONLY | OFlag::O_TRUNC | writing.flag())
    }

    fn file(&self, name: &CStr, flags: OFlag) -> io::Result<File> {
        let mode = Mode::from_bits_truncate(0o644);
        Ok(nix::fcntl::openat(&self.0, name, flags | OFlag::O_CLOEXEC, mode)?.into())
    }

    /// The `stat` of a name; a symbolic link is not followed.
    pub fn about(&self, name: &CStr) -> io::Result<FileStatus> {
        let stat = nix::sys::stat::fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
        Ok(FileStatus { is_dir: kind == SFlag::S_IFDIR, size: u64::try_from(stat.st_size).unwrap_or(0) })
    }

    /// Removes a file.
    pub fn remove(&self, name: &CStr) -> io::Result<()> {
        Ok(nix::unistd::unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Gives a file another name, replacing any file of that name.
    pub fn rename(&self, from: &CStr, to: &CStr) -> io::Result<()> {
        Ok(nix::fcntl::renameat(&self.0, from, &self.0, to)?)
    }

    /// Makes a directory.
    pub fn make_dir(&self, name: &CStr) -> io::Result<()> {
        Ok(nix::sys::stat::mkdirat(&self.0, name, Mode::from_bits_truncate(0o755))?)
    }

    /// Waits until the directory's entries are on disk.
    pub fn sync(&self) -> io::Result<()> {
        Ok(nix::unistd::fsync(&self.0)?)
    }

    /// Opens the directory `name` and reads all its entries, `.` and `..` left out.
    pub fn entries(&self, name: &CStr) -> io::Result<Vec<DirEntry>> {
        let mut dir = nix::dir::Dir::openat(&self.0, name, DIRECTORY, Mode::empty())?;
        let mut found = Vec::new();
        for entry in dir.iter() {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                let is_dir = entry.file_type().map(|kind| kind == Type::Directory);
                found.push(DirEntry { name: name.to_owned(), is_dir });
            }
        }
        Ok(found)
    }
}

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

impl Writing {
    const fn flag(self) -> OFlag {
        match self {
            Self::Plain => OFlag::empty(),
            Self::DataSync => OFlag::O_DSYNC,
        }
    }
}

/// Closes a file and returns the error: some file systems tell only then that written data could not be kept.
///
/// # Errors
///
/// What `close` reports.
pub fn close(file: File) -> io::Result<()> {
    Ok(nix::unistd::close(file)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn files_are_made_found_and_removed_by_name() {
        let place = std::env::temp_dir().join(format!("bakeoff-sys-file-{}", std::process::id()));
        std::fs::create_dir(&place).unwrap();
        let dir = Dir::open(&place).unwrap();
        dir.make_dir(c"d").unwrap();
        let mut file = dir.create(c"d/f", Writing::Plain).unwrap();
        file.write_all(b"abc").unwrap();
        close(file).unwrap();
        let again = dir.create(c"d/f", Writing::DataSync).unwrap_err();
        let mut file = dir.overwrite(c"d/f", Writing::DataSync).unwrap();
        file.write_all(b"x").unwrap();
        close(file).unwrap();
        let mut file = dir.append(c"d/f", Writing::Plain).unwrap();
        file.write_all(b"de").unwrap();
        close(file).unwrap();
        let mut text = String::new();
        dir.read(c"d/f").unwrap().read_to_string(&mut text).unwrap();
        let (of_file, of_dir) = (dir.about(c"d/f").unwrap(), dir.about(c"d").unwrap());
        let entries = dir.entries(c"d").unwrap();
        dir.inside(c"d").unwrap().sync().unwrap();
        close(dir.create(c"d/g", Writing::Plain).unwrap()).unwrap();
        dir.rename(c"d/f", c"d/g").unwrap();
        let renamed = dir.about(c"d/g").unwrap().size;
        close(dir.truncate(c"d/g", Writing::Plain).unwrap()).unwrap();
        let cut = dir.about(c"d/g").unwrap().size;
        dir.rename(c"d/g", c"d/f").unwrap();
        dir.remove(c"d/f").unwrap();
        let gone = dir.about(c"d/f").unwrap_err();
        std::fs::remove_dir_all(&place).unwrap();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((text.as_str(), renamed, cut), ("xbcde", 5, 0));
        assert_eq!(of_file, FileStatus { is_dir: false, size: 5 });
        assert!(of_dir.is_dir);
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].name.as_c_str(), entries[0].is_dir != Some(true)), (c"f", true));
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }
}
