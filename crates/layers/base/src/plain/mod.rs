//! Files beside a tree: status, marks, keys, vaults, manifests, policies, logs. Opened, read and replaced without ever
//! following, waiting for or writing to a link, a FIFO or a device in their place.
//!
//! Measured side, cold, as root among others' files. Owns how such a file is opened, once: [`way`] walks to its
//! directory, and everything else happens by its name below that descriptor. A temporary file beside it is newly
//! created (`O_EXCL`, `O_NOFOLLOW`, `O_NONBLOCK`), and renamed over the old one. Not a file without a name
//! (`O_TMPFILE`): `linkat` replaces nothing, so it would need a temporary name and a rename all the same, and NFS, FAT
//! and FUSE have none. Nobody else can take that name, as nobody else can exchange what is in the directory.

mod error;
mod way;

pub use error::PathError;

use bakeoff_sys::inode::{OpenPurpose, open_below};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, fsync, unlinkat};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use way::{LastLink, Owners, walk};

/// The path of a file beside another: of its name with this behind it.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Path of a file that need not exist, without symbolic links.
pub fn resolved(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = || folder.canonicalize().unwrap_or_default().join(file.file_name().unwrap_or_default());
    file.canonicalize().unwrap_or_else(|_| beside())
}

/// Checks that nobody else can exchange a directory.
///
/// # Errors
/// There is no such directory, or somebody else could exchange it or a part of its path.
pub fn guard_directory(path: &Path) -> io::Result<()> {
    match FileLocation::followed(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(()),
        other => other.and(Err(io::ErrorKind::NotADirectory.into())),
    }
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

/// Owners whose files are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOwner {
    /// Root or the caller: what the file says is believed.
    Trusted,
    /// Anybody: what it says is signed or sealed, or means nothing.
    Anybody,
}

impl FileLocation {
    /// Opens the directory that contains a file, by a way that nobody else can exchange. A link that has the file's
    /// own name is not followed.
    ///
    /// # Errors
    /// There is no such directory, the path names none of its files, or somebody else could exchange a part of it.
    pub fn guarded(path: &Path) -> io::Result<Self> {
        walk(path, LastLink::Kept).map(|(folder, name)| Self { folder, name })
    }

    /// The same of the file itself: a link that nobody else can exchange leads to it.
    ///
    /// # Errors
    /// As [`guarded`](Self::guarded).
    pub fn followed(path: &Path) -> io::Result<Self> {
        walk(path, LastLink::Followed).map(|(folder, name)| Self { folder, name })
    }

    /// The file whose name has this behind it, in the same directory.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn beside(&self, end: &str) -> io::Result<Self> {
        Ok(Self { folder: self.folder.try_clone()?, name: self.name_with(end) })
    }

    /// Opens the file for reading.
    ///
    /// # Errors
    /// It does not exist, is no regular file, or is not of such an owner.
    pub fn open(&self, owner: FileOwner) -> io::Result<File> {
        self.open_as(OFlag::O_RDONLY, Mode::empty(), owner)
    }

    /// Opens a file of one's own for reading and writing, for as long as it is locked or written to; makes it if there
    /// is none. It has no other name, so that nothing else is written to by this one.
    ///
    /// # Errors
    /// As [`open`](Self::open); or it has other names.
    pub fn keep(&self, appending: bool, mode: u32) -> io::Result<File> {
        let how = if appending { OFlag::O_WRONLY | OFlag::O_APPEND } else { OFlag::O_RDWR };
        let file = self.open_as(how | OFlag::O_CREAT, Mode::from_bits_truncate(mode), FileOwner::Trusted)?;
        match file.metadata()?.nlink() {
            0 | 1 => Ok(file),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it has other names (hard links)")),
        }
    }

    /// Whether anything has this name; opens nothing.
    ///
    /// # Errors
    /// That cannot be determined.
    pub fn is_there(&self) -> io::Result<bool> {
        match fstatat(&self.folder, self.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes what has this name.
    ///
    /// # Errors
    /// The I/O error.
    pub fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.folder, self.name.as_os_str(), UnlinkatFlags::NoRemoveDir)?)
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
        let mut file = self.begin(reader)?;
        match file.write_all(bytes).and_then(|()| self.finish(&file, reader)) {
            Ok(()) => Ok(file),
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    /// Makes the file that will have this name, under a temporary one.
    ///
    /// # Errors
    /// The I/O error.
    pub fn begin(&self, reader: FileAudience) -> io::Result<File> {
        let name = self.temporary();
        Ok(match self.make(&name, reader) {
            // Left by a process that was killed, or put there by somebody: its name goes, not what it leads to.
            Err(Errno::EEXIST) => {
                self.abandon();
                self.make(&name, reader)?
            }
            other => other?,
        })
    }

    /// Gives the file that was begun its name.
    ///
    /// # Errors
    /// The I/O error; the old file is still there.
    pub fn finish(&self, file: &File, reader: FileAudience) -> io::Result<()> {
        let durable = reader != FileAudience::Readers;
        if durable {
            file.sync_all()?;
        }
        renameat(&self.folder, self.temporary().as_os_str(), &self.folder, self.name.as_os_str())?;
        if durable { self.sync() } else { Ok(()) }
    }

    /// Removes the file that was begun.
    pub fn abandon(&self) {
        let _ = unlinkat(&self.folder, self.temporary().as_os_str(), UnlinkatFlags::NoRemoveDir);
    }

    /// Puts a file with these bytes there, on the disk when this returns. Of several who do so at once one does.
    ///
    /// # Errors
    /// `AlreadyExists`, and what has its name stays; or what the kernel reports, and nothing is left.
    pub fn put_new(&self, bytes: &[u8], reader: FileAudience) -> io::Result<()> {
        let mut file = self.make(self.name.as_os_str(), reader)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| self.sync());
        written.inspect_err(|_| drop(self.remove()))
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
        drop(self.begin(FileAudience::Owner)?);
        Ok(unlinkat(&self.folder, self.temporary().as_os_str(), UnlinkatFlags::NoRemoveDir)?)
    }

    /// A temporary name of its own for each process: two that write the same file do not collide.
    fn temporary(&self) -> OsString {
        self.name_with(&format!(".{}.new", std::process::id()))
    }

    fn name_with(&self, end: &str) -> OsString {
        let mut name = self.name.clone();
        name.push(end);
        name
    }

    fn open_as(&self, how: OFlag, mode: Mode, owner: FileOwner) -> io::Result<File> {
        let flags = how | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file = File::from(openat(&self.folder, self.name.as_os_str(), flags, mode)?);
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(not_regular());
        }
        let others = Owners::now()?;
        match owner {
            FileOwner::Trusted if !others.are(about.uid()) => Err(way::refused(format!(
                "it belongs to user {}: chown it, or give a file of your own",
                about.uid()
            ))),
            // A name that others gave an old file of the owner's.
            FileOwner::Trusted if about.nlink() > 1 && others.share(&fstat(&self.folder)?) => {
                Err(way::refused(
                    "others may have given it this name (hard link): use another directory".to_owned(),
                ))
            }
            _ => Ok(file),
        }
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

    fn sync(&self) -> io::Result<()> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(fsync(openat(&self.folder, ".", flags, Mode::empty())?)?)
    }
}

/// Opens a file to be read that nobody else can have exchanged: [`FileLocation::followed`]. `/dev/stdin` and
/// `/dev/fd/N` are what the caller has open.
///
/// # Errors
/// It does not exist, is no regular file, is not of such an owner, or somebody else could exchange a part of its path.
pub fn open_regular(path: &Path, owner: FileOwner) -> io::Result<File> {
    let inherited = path.strip_prefix("/dev/fd").ok().and_then(|number| number.to_str()?.parse::<u32>().ok());
    match inherited {
        None if path != Path::new("/dev/stdin") => FileLocation::followed(path)?.open(owner),
        number => File::open(format!("/proc/self/fd/{}", number.unwrap_or(0))),
    }
}

/// Reads such a file of at most so many bytes.
///
/// # Errors
/// As [`open_regular`]; or it is larger.
pub fn read_regular(path: &Path, owner: FileOwner, most_bytes: u64) -> io::Result<Vec<u8>> {
    read_at_most(&open_regular(path, owner)?, most_bytes)
}

/// The same of text.
///
/// # Errors
/// As [`read_regular`]; or it is no text.
pub fn read_text(path: &Path, owner: FileOwner, most_bytes: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, owner, most_bytes)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Opens a file of the kernel's own: below `/proc`, `/sys` or `/dev`, where only root can put files.
///
/// # Errors
/// The I/O error.
pub fn open_kernels(path: &str) -> io::Result<File> {
    let kernels = ["/proc/", "/sys/", "/dev/"].iter().any(|top| path.starts_with(top));
    if kernels { File::open(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Reads the text of such a file.
///
/// # Errors
/// As [`open_kernels`]; or it is no text.
pub fn read_kernels(path: &str) -> io::Result<String> {
    let mut text = String::new();
    open_kernels(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Opens the null device, for reading and writing.
///
/// # Errors
/// The I/O error.
pub fn null_device() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null")
}

/// Writes a word to a setting of the kernel's below `/proc/self`.
///
/// # Errors
/// The I/O error.
pub fn tell_kernel(setting: &str, word: &str) -> io::Result<()> {
    let own = setting.starts_with("/proc/self/");
    if own { std::fs::write(setting, word) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Opens a path, which may lie anywhere, only to know what it is: follows no link on the way, reads nothing.
///
/// # Errors
/// `ELOOP` when a link is in the way; otherwise what opening reports.
pub fn open_to_know(path: &Path) -> io::Result<OwnedFd> {
    let start = if path.is_absolute() { "/" } else { "." };
    let start = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(start)?;
    open_below(start, path.strip_prefix("/").unwrap_or(path), OpenPurpose::Knowing)
}

/// The same open file once more, past the page cache, where the file system can.
///
/// # Errors
/// It cannot.
pub fn past_the_cache(file: &File, writing: bool) -> io::Result<File> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(!writing).write(writing).custom_flags(libc::O_DIRECT).open(own)
}

/// Opens a regular file of somebody else's tree, with these flags more; waits for nothing.
///
/// # Errors
/// It does not exist, or is no regular file.
pub fn open_in_tree(path: &Path, flags: i32) -> io::Result<File> {
    let flags = flags | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Reads an open file of at most so many bytes.
///
/// # Errors
/// The I/O error; or it is larger.
pub fn read_at_most(file: &File, most_bytes: u64) -> io::Result<Vec<u8>> {
    // Its size is looked at first, and allocated: a large manifest is not copied from buffer to buffer.
    let expected = file.metadata()?.len();
    if expected > most_bytes {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0).saturating_add(1));
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most_bytes {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")
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
            FileLocation::guarded(&path).unwrap().replace(b"new", FileAudience::Readers).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert!(path.symlink_metadata().unwrap().is_file());
            assert_eq!(fs::read(&victim).unwrap(), b"of root");
        }
        FileLocation::guarded(&path).unwrap().try_writing().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "something was left beside it");
    }

    #[test]
    fn what_is_there_stays_when_a_new_file_is_to_be_put_there() {
        let (dir, path, victim) = place();
        let place = FileLocation::guarded(&path).unwrap();
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
        let file = FileLocation::guarded(&path).unwrap().replace_by(b"own", FileAudience::Readers).unwrap();
        let place = FileLocation::guarded(&path).unwrap();
        assert!(!place.is_anothers(&file));
        place.replace(b"another's", FileAudience::Readers).unwrap();
        assert!(place.is_anothers(&file));
        fs::remove_file(&path).unwrap();
        assert!(!place.is_anothers(&file), "nobody's");
    }

    #[test]
    fn a_fifo_is_replaced_without_waiting_and_never_read() {
        let (_dir, path, beside) = place();
        let read = |path: &Path, most| read_regular(path, FileOwner::Trusted, most);
        for fifo in [&path, &beside] {
            let _ = fs::remove_file(fifo);
            mkfifo(fifo, Mode::from_bits_truncate(0o666)).unwrap();
            assert_eq!(read(fifo, 10).unwrap_err().kind(), io::ErrorKind::InvalidInput);
            FileLocation::guarded(&path).unwrap().replace(b"new", FileAudience::Owner).unwrap();
            assert_eq!(read(&path, 3).unwrap(), b"new");
        }
        assert_eq!(read(&path, 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn the_directory_is_the_one_that_was_opened() {
        let (dir, path, _) = place();
        let (real, elsewhere) = (dir.path().join("real"), dir.path().join("elsewhere"));
        fs::create_dir(&real).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let place = FileLocation::guarded(&real.join("status")).unwrap();
        fs::rename(&real, &path).unwrap();
        symlink(&elsewhere, &real).unwrap();
        place.replace(b"new", FileAudience::Readers).unwrap();
        assert_eq!(fs::read(path.join("status")).unwrap(), b"new");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
