//! Inodes: facts by an open descriptor, the immutable attribute, and opening below a directory without following a
//! link.
//!
//! Measured side, hot where noted. Owns the calls; decides nothing.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The result of `statx` on an open file.
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
    /// Its kind.
    pub kind: InodeKind,
    /// Names that it has.
    pub links: u32,
    /// The mount it was opened on, by a number that no other mount ever has; before Linux 6.8 by one
    /// that is used again.
    pub mount: u64,
    /// When content, attributes or names last changed, in nanoseconds since 1970: as the clock was
    /// then, which moves on in ticks of some milliseconds.
    pub changed_unix_ns: u64,
    /// Whether its file system knows the immutable attribute and says that it has none.
    pub changeable: bool,
}

/// The kind of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InodeKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A link, a device, a fifo, a socket.
    Other,
}

/// `STATX_ATTR_IMMUTABLE`.
const ATTR_IMMUTABLE: u64 = libc::STATX_ATTR_IMMUTABLE as u64;

/// Reads the facts of an open file; one call, nothing is allocated, and no server of a file system is called, which
/// could let us wait.
///
/// # Errors
///
/// What the file system reports.
pub fn facts(file: impl AsFd) -> io::Result<Facts> {
    let found = statx(file.as_fd(), libc::AT_STATX_DONT_SYNC, libc::STATX_BASIC_STATS | UNIQUE_MOUNT)?;
    let changed = found.stx_ctime;
    let changed_unix_s = u64::try_from(changed.tv_sec).unwrap_or(0);
    let kind = match libc::mode_t::from(found.stx_mode) & libc::S_IFMT {
        libc::S_IFREG => InodeKind::File,
        libc::S_IFDIR => InodeKind::Dir,
        _ => InodeKind::Other,
    };
    Ok(Facts {
        device: u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor),
        inode: found.stx_ino,
        size_bytes: found.stx_size,
        mode: found.stx_mode & 0o7777,
        kind,
        links: found.stx_nlink,
        mount: found.stx_mnt_id,
        changed_unix_ns: changed_unix_s.saturating_mul(1_000_000_000) + u64::from(changed.tv_nsec),
        changeable: (found.stx_attributes_mask & !found.stx_attributes) & ATTR_IMMUTABLE != 0,
    })
}

/// The mount as in [`Facts::mount`], without asking the file system, which need not answer.
///
/// # Errors
/// As [`facts`].
pub fn mount_of(file: impl AsFd) -> io::Result<u64> {
    Ok(statx(file.as_fd(), libc::AT_STATX_DONT_SYNC, UNIQUE_MOUNT)?.stx_mnt_id)
}

/// The mount by its number in `mountinfo`, which may be another mount's once it is gone.
///
/// # Errors
/// As [`facts`].
pub fn mount_number(file: impl AsFd) -> io::Result<u64> {
    Ok(statx(file.as_fd(), libc::AT_STATX_DONT_SYNC, libc::STATX_MNT_ID)?.stx_mnt_id)
}

/// The topmost mount at a path, by a number that no other mount ever has; `None` before Linux 6.8. A link at its end is
/// not followed, and no server of a file system is called.
///
/// # Errors
/// What looking the path up reports.
pub fn unique_mount(at: &Path) -> io::Result<Option<u64>> {
    let path = CString::new(at.as_os_str().as_bytes())?;
    let flags = libc::AT_STATX_DONT_SYNC | libc::AT_SYMLINK_NOFOLLOW | libc::AT_NO_AUTOMOUNT;
    let found = statx_at(libc::AT_FDCWD, &path, flags, libc::STATX_MNT_ID_UNIQUE)?;
    Ok((found.stx_mask & libc::STATX_MNT_ID_UNIQUE != 0).then_some(found.stx_mnt_id))
}

/// The unique one where the kernel has it: it then leaves the other out.
const UNIQUE_MOUNT: libc::c_uint = libc::STATX_MNT_ID | libc::STATX_MNT_ID_UNIQUE;

fn statx(file: BorrowedFd<'_>, flags: libc::c_int, wanted: libc::c_uint) -> io::Result<libc::statx> {
    statx_at(file.as_raw_fd(), c"", flags | libc::AT_EMPTY_PATH, wanted)
}

fn statx_at(dir: RawFd, path: &CStr, flags: libc::c_int, wanted: libc::c_uint) -> io::Result<libc::statx> {
    let mut found = std::mem::MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path ends with its zero, the record is writable.
    let done = unsafe { libc::statx(dir, path.as_ptr(), flags, wanted, found.as_mut_ptr()) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed, then written to by the kernel.
    Ok(unsafe { found.assume_init() })
}

/// The purpose of opening a name below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenPurpose {
    /// To know which inode it is; this needs no permission on the file itself.
    Knowing,
    /// To read it.
    Reading,
    /// To list it: only a directory is opened.
    Listing,
}

/// Opens `path` below `dir`, without following a symbolic link and without leaving the directory.
///
/// # Errors
/// `ELOOP` when a link is in the way; otherwise what opening reports.
pub fn open_below(dir: impl AsFd, path: &Path, purpose: OpenPurpose) -> io::Result<OwnedFd> {
    let path = CString::new(if path.as_os_str().is_empty() { b"." } else { path.as_os_str().as_bytes() })?;
    let flags = match purpose {
        OpenPurpose::Knowing => libc::O_PATH,
        OpenPurpose::Reading => READING,
        OpenPurpose::Listing => READING | libc::O_DIRECTORY,
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

const READING: libc::c_int = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOATIME;

/// Whether executing the file gives rights that its permission bits do not show (`setcap`).
///
/// # Errors
///
/// What the file system reports, but not that it has no such attributes.
pub fn has_capabilities(file: impl AsFd) -> io::Result<bool> {
    has_attribute(file.as_fd(), c"security.capability")
}

/// Whether an access list gives users or groups rights that its permission bits do not show (`setfacl`).
///
/// # Errors
///
/// As [`has_capabilities`].
pub fn has_access_list(file: impl AsFd) -> io::Result<bool> {
    has_attribute(file.as_fd(), c"system.posix_acl_access")
}

fn has_attribute(file: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    let fd = file.as_raw_fd();
    // SAFETY: the name is a string with its zero; with a length of 0 nothing is written.
    if unsafe { libc::fgetxattr(fd, name.as_ptr(), std::ptr::null_mut(), 0) } >= 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENODATA | libc::EOPNOTSUPP) => Ok(false),
        _ => Err(error),
    }
}

/// Whether the inode is protected from all changes (`chattr +i`).
///
/// # Errors
///
/// `ENOTTY` or `EOPNOTSUPP` on a file system without attributes.
pub fn is_immutable(file: impl AsFd) -> io::Result<bool> {
    Ok(attributes(file)? & IMMUTABLE != 0)
}

/// Makes an inode immutable, or changeable again. Data written to it before is on disk when this returns, and pages
/// that could be written through a mapping fault again.
///
/// # Errors
///
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

/// Reads from a place in a file.
///
/// # Errors
/// What reading reports.
pub fn read_at(file: impl AsFd, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let at = libc::off_t::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the buffer is writable for its length.
    let read = unsafe { libc::pread(file.as_fd().as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), at) };
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
        let open = |path: &str| open_below(&root, Path::new(path), OpenPurpose::Knowing);
        let found = facts(open("d/f").unwrap()).unwrap();
        let link = facts(open("l").unwrap()).unwrap();
        let errors = ["l/f", "../x", "/etc/passwd"].map(|path| open(path).unwrap_err().raw_os_error());
        let whole = facts(open("").unwrap()).unwrap();
        let mut buffer = [0; 8];
        let file = open_below(&root, Path::new("d/f"), OpenPurpose::Reading).unwrap();
        let cached = read_at(&file, &mut buffer, 1);
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!((found.kind, found.size_bytes, found.links), (InodeKind::File, 3, 1));
        assert_eq!(whole.kind, InodeKind::Dir);
        assert_eq!(link.kind, InodeKind::Other, "a link stands for itself");
        assert_eq!(errors, [Some(libc::ELOOP), Some(libc::EXDEV), Some(libc::EXDEV)]);
        assert_eq!(&buffer[..cached.unwrap()], b"bc");
    }
}
