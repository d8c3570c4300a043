//! What an inode is, whatever the way to it: facts by an open descriptor, the immutable attribute,
//! and opening below a directory without following a link.
//!
//! Measured side, hot where noted. Owns the calls; decides nothing.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What `statx` tells of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Number of the file system's device.
    pub device: u64,
    /// Number of the inode on it.
    pub inode: u64,
    /// Bytes.
    pub size_bytes: u64,
    /// Permission bits.
    pub mode: u16,
    /// What it is.
    pub kind: Kind,
    /// Names that it has.
    pub links: u32,
    /// The mount it was opened on.
    pub mount: u64,
}

/// What an inode can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A link, a device, a fifo, a socket.
    Other,
}

/// Asks for the facts of an open file; one call, nothing is allocated, and no server of a file system is
/// asked, which could let us wait.
///
/// # Errors
/// What the file system reports.
pub fn facts(file: impl AsFd) -> io::Result<Facts> {
    let mut found = std::mem::MaybeUninit::<libc::statx>::zeroed();
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    let wanted = libc::STATX_BASIC_STATS | libc::STATX_MNT_ID;
    // SAFETY: the path is an empty string with its zero, the record is writable.
    let done =
        unsafe { libc::statx(file.as_fd().as_raw_fd(), c"".as_ptr(), flags, wanted, found.as_mut_ptr()) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed, then written to by the kernel.
    let found = unsafe { found.assume_init() };
    let kind = match libc::mode_t::from(found.stx_mode) & libc::S_IFMT {
        libc::S_IFREG => Kind::File,
        libc::S_IFDIR => Kind::Dir,
        _ => Kind::Other,
    };
    Ok(Facts {
        device: u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor),
        inode: found.stx_ino,
        size_bytes: found.stx_size,
        mode: found.stx_mode & 0o7777,
        kind,
        links: found.stx_nlink,
        mount: found.stx_mnt_id,
    })
}

/// What to open a name below a directory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// To know which inode it is; nobody is asked for permission to open it.
    Knowing,
    /// To read it.
    Reading,
}

/// Opens `path` below `dir`, without following a symbolic link and without leaving the directory.
///
/// # Errors
/// `ELOOP` when a link is in the way; otherwise what opening reports.
pub fn open_below(dir: impl AsFd, path: &Path, purpose: For) -> io::Result<OwnedFd> {
    let path = CString::new(if path.as_os_str().is_empty() { b"." } else { path.as_os_str().as_bytes() })?;
    let flags = match purpose {
        For::Knowing => libc::O_PATH,
        For::Reading => libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOATIME,
    };
    // SAFETY: the structure is plain integers; zero is what the kernel asks for in the rest of it.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC | libc::O_NOFOLLOW) as u64;
    how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_BENEATH;
    let length = size_of_val(&how);
    // SAFETY: path and structure live through the call, and the length is the structure's.
    let fd = unsafe {
        libc::syscall(libc::SYS_openat2, dir.as_fd().as_raw_fd(), path.as_ptr(), &raw const how, length)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that was just made and that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Whether nothing may change the inode (`chattr +i`).
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` on a file system without attributes.
pub fn is_immutable(file: impl AsFd) -> io::Result<bool> {
    Ok(attributes(file)? & IMMUTABLE != 0)
}

/// Makes an inode immutable, or changeable again. What was written to it before is on disk when this
/// returns, and pages that could be written through a mapping fault again.
///
/// # Errors
/// As [`is_immutable`]; `EPERM` without `CAP_LINUX_IMMUTABLE`; `EROFS`.
pub fn set_immutable(file: impl AsFd, immutable: bool) -> io::Result<()> {
    let file = file.as_fd();
    let before = attributes(file)?;
    let wanted = if immutable { before | IMMUTABLE } else { before & !IMMUTABLE };
    if wanted == before {
        return Ok(());
    }
    // SAFETY: the call reads a word of this size from a place that lives through it.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_SETFLAGS, &raw const wanted) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `FS_IMMUTABLE_FL` of `linux/fs.h`.
const IMMUTABLE: libc::c_long = 0x10;

fn attributes(file: impl AsFd) -> io::Result<libc::c_long> {
    let mut found: libc::c_long = 0;
    // SAFETY: the call writes a word of at most this size to a place that lives through it.
    let done = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), libc::FS_IOC_GETFLAGS, &raw mut found) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(found) }
}

/// Whether nobody can write to the file system that `file` lies on, by any mount of it.
///
/// # Errors
/// What `fstatfs` reports.
pub fn is_read_only(file: impl AsFd) -> io::Result<bool> {
    // The flag of statvfs is set for a read-only mount, too; that of the file system itself stands in
    // the second half of the options.
    let facts = facts(&file)?;
    let own = format!("{} ", facts.mount);
    let text = std::fs::read_to_string("/proc/self/mountinfo")?;
    let line = text.lines().find(|line| line.starts_with(&own));
    let options = line.and_then(|line| line.split_once(" - ")).and_then(|(_, rest)| rest.split(' ').nth(2));
    Ok(options.is_some_and(|options| options.split(',').any(|option| option == "ro")))
}

/// Whether reading may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// What is not in memory is `WouldBlock`.
    Never,
    /// As long as the disk takes.
    Allowed,
}

/// Reads from a place in a file.
///
/// # Errors
/// `EOPNOTSUPP` where the file system cannot tell what is in memory; otherwise what reading reports.
pub fn read_at(file: impl AsFd, buffer: &mut [u8], at: u64, waiting: Waiting) -> io::Result<usize> {
    let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let at = libc::off_t::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
    let flags = match waiting {
        Waiting::Never => libc::RWF_NOWAIT,
        Waiting::Allowed => 0,
    };
    // SAFETY: the vector names one buffer, which is writable for its length.
    let read = unsafe { libc::preadv2(file.as_fd().as_raw_fd(), &raw const part, 1, at, flags) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_link_on_the_way_is_not_followed_and_facts_are_those_of_stat() {
        let dir = std::env::temp_dir().join(format!("bakeoff-sys-inode-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("d")).unwrap();
        std::fs::write(dir.join("d/f"), "abc").unwrap();
        std::os::unix::fs::symlink("d", dir.join("l")).unwrap();
        let root = File::open(&dir).unwrap();
        let open = |path: &str| open_below(&root, Path::new(path), For::Knowing);
        let found = facts(open("d/f").unwrap()).unwrap();
        let link = facts(open("l").unwrap()).unwrap();
        let errors = ["l/f", "../x", "/etc/passwd"].map(|path| open(path).unwrap_err().raw_os_error());
        let whole = facts(open("").unwrap()).unwrap();
        let mut buffer = [0; 8];
        let file = open_below(&root, Path::new("d/f"), For::Reading).unwrap();
        let cached = read_at(&file, &mut buffer, 1, Waiting::Allowed);
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!((found.kind, found.size_bytes, found.links), (Kind::File, 3, 1));
        assert_eq!(whole.kind, Kind::Dir);
        assert_eq!(link.kind, Kind::Other, "a link stands for itself");
        assert_eq!(errors, [Some(libc::ELOOP), Some(libc::EXDEV), Some(libc::EXDEV)]);
        assert_eq!(&buffer[..cached.unwrap()], b"bc");
    }
}
