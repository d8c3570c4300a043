//! Mounts as this process sees them: listing, finding and unmounting.
//!
//! Measuring side, cold path. Owns the reading of `mountinfo`. Decides nothing: the caller chooses the mount and the
//! moment.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its number; once it is gone another mount may get it.
    pub number: u64,
    /// Major number of the file system's device; 0 when the kernel made it up.
    pub major: u32,
    /// Its minor number.
    pub minor: u32,
    /// Whether the file system cannot be written to, by this mount or another one.
    pub read_only: bool,
    /// The mount point.
    pub point: PathBuf,
    /// Path within its file system of what it shows there.
    pub root: PathBuf,
    /// Kind of file system: `ext4`, `tmpfs`, `fuse.gocryptfs`.
    pub kind: String,
    /// The source, in the file system's own words.
    pub source: String,
    /// Its options, those of this mount and those of the file system.
    pub options: String,
}

impl Mount {
    /// Whether its files lie on a block device, and this kernel alone decides on their contents.
    pub fn is_on_block_device(&self) -> bool {
        // These have several devices, and a number that the kernel makes up. A fuseblk has a device, and a process that
        // decides on the contents of its files. Other computers write to a disk that they share.
        let several = ["btrfs", "bcachefs", "zfs"].contains(&self.kind.as_str());
        let shared = ["ocfs2", "gfs2"].contains(&self.kind.as_str());
        several || self.major != 0 && !shared && !self.kind.starts_with("fuse")
    }

    /// Whether its files change by way of it alone: they lie neither in another file system, as those
    /// of an overlay do, nor with another computer or process.
    pub fn keeps_its_files(&self) -> bool {
        self.is_on_block_device() || ["tmpfs", "ramfs"].contains(&self.kind.as_str())
    }
}

/// All mounts, in the order in which they were made.
///
/// # Errors
/// `/proc` is not there.
pub fn all() -> io::Result<Vec<Mount>> {
    Ok(listed(&std::fs::read("/proc/self/mountinfo")?))
}

/// The mounts in the text of a `mountinfo`, in their order.
pub fn listed(mountinfo: &[u8]) -> Vec<Mount> {
    mountinfo.split(|&byte| byte == b'\n').filter_map(parse).collect()
}

/// The mounts at `dir` and below it, the last one made first: the order to take them off in.
///
/// # Errors
/// As [`all`]; or what `dir` lies in is not there.
pub fn below(dir: &Path) -> io::Result<Vec<Mount>> {
    let dir = unfollowed(dir)?;
    let mut found = all()?;
    found.retain(|mount| mount.point.starts_with(&dir));
    found.reverse();
    Ok(found)
}

/// The mount that `path` lies on.
///
/// # Errors
/// As [`all`]; or there is no such path, or its file system does not answer.
pub fn of(path: &Path) -> io::Result<Mount> {
    let path = std::fs::canonicalize(path)?;
    topmost(&all()?, &path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Later mounts lie above earlier ones; `max_by_key` takes the last of the longest.
fn topmost<'m>(mounts: &'m [Mount], path: &Path) -> Option<&'m Mount> {
    let found = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    found.max_by_key(|mount| mount.point.as_os_str().len())
}

/// Other paths by which these mounts show what is at and below a path without links, or a part of it: the same files,
/// with other directories above them.
pub fn elsewhere(mounts: &[Mount], path: &Path) -> Vec<PathBuf> {
    let below = mounts.iter().map(|mount| mount.point.as_path()).filter(|point| point.starts_with(path));
    let mut found = Vec::new();
    for place in std::iter::once(path).chain(below) {
        let Some(own) = topmost(mounts, place) else { continue };
        let inside = own.root.join(place.strip_prefix(&own.point).unwrap_or(Path::new("")));
        let device = |mount: &&Mount| (mount.major, mount.minor) == (own.major, own.minor);
        found.extend(mounts.iter().filter(device).filter_map(|other| {
            let shown = match inside.strip_prefix(&other.root) {
                Ok(rest) => other.point.join(rest).components().collect(),
                Err(_) if other.root.starts_with(&inside) => other.point.clone(),
                Err(_) => return None,
            };
            let is_seen = topmost(mounts, &shown).is_some_and(|top| top.number == other.number);
            (is_seen && !shown.starts_with(path)).then_some(shown)
        }));
    }
    found
}

/// Takes a mount off the tree at once; the file system goes when it is not in use any more.
///
/// # Errors
///
/// What `umount2` reports, mostly that this user may not.
pub fn detach(point: &Path) -> io::Result<()> {
    Ok(umount2(point, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW)?)
}

/// Gives the calling process, which must have one thread, and all that it starts a mount namespace to themselves:
/// mounts made inside are seen nowhere else and go with the last process inside, those made outside later are not seen
/// inside. Needs `CAP_SYS_ADMIN`.
///
/// # Errors
///
/// `EPERM` without the privilege; what `unshare` and `mount` report.
pub fn own_namespace() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing = None::<&str>;
    Ok(mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?)
}

/// The path without symbolic links above its last part, which is not looked at: a mount whose server
/// is gone answers no question.
fn unfollowed(path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(std::fs::canonicalize(parent)?.join(name))
        }
        _ => std::fs::canonicalize(path),
    }
}

/// A line of `mountinfo` (proc(5)): fields, optional fields, ` - `, kind, source, options.
fn parse(line: &[u8]) -> Option<Mount> {
    let apart = line.windows(3).position(|window| window == b" - ")?;
    let mut place = line[..apart].split(|&byte| byte == b' ');
    let number = std::str::from_utf8(place.next()?).ok()?.parse().ok()?;
    let device = std::str::from_utf8(place.nth(1)?).ok()?;
    let (major, minor) = device.split_once(':')?;
    let (root, point, own) = (place.next()?, place.next()?, place.next()?);
    let mut system = line[apart + 3..].split(|&byte| byte == b' ');
    let (kind, source, whole) = (system.next()?, system.next()?, system.next().unwrap_or_default());
    let text = |bytes: &[u8]| String::from_utf8_lossy(&unescape(bytes)).into_owned();
    Some(Mount {
        number,
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        read_only: whole.split(|&byte| byte == b',').any(|option| option == b"ro"),
        point: OsString::from_vec(unescape(point)).into(),
        root: OsString::from_vec(unescape(root)).into(),
        kind: text(kind),
        source: text(source),
        options: format!("{}; {}", text(own), text(whole)),
    })
}

/// `\040` is a space: three octal digits behind a backslash.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if first == b'\\' => {
                bytes.push(code);
                rest = &after[3..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_whatever_its_optional_fields() {
        for optional in ["", "shared:9 ", "shared:9 master:2 "] {
            let line =
                format!("36 35 98:0 /r /mnt/a\\040b rw,noatime {optional}- fuse.x host:/\\134 rw,user_id=0");
            let mount = parse(line.as_bytes()).unwrap();
            assert_eq!(mount.point, Path::new("/mnt/a b"));
            assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("fuse.x", "host:/\\"));
            assert_eq!(mount.options, "rw,noatime; rw,user_id=0");
            assert_eq!((mount.number, mount.major, mount.read_only), (36, 98, false));
        }
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"36 35 98:0 / /mnt rw - "), None);
    }

    #[test]
    fn read_only_is_the_file_system_and_a_device_alone_is_no_proof() {
        let mount = |line: &str| parse(line.as_bytes()).unwrap();
        let image = mount("9 1 7:0 / /mnt ro - squashfs /dev/loop0 ro");
        assert!(image.read_only && image.is_on_block_device());
        assert!(!mount("9 1 7:0 / /mnt ro - ext4 /dev/loop0 rw").read_only, "one of its mounts is");
        assert!(!mount("9 1 7:0 / /mnt ro - fuseblk /dev/loop0 ro").is_on_block_device());
        assert!(mount("9 1 0:41 / /mnt rw - btrfs /dev/sda rw").is_on_block_device());
        assert!(mount("9 1 0:42 / /mnt rw - tmpfs tmpfs rw").keeps_its_files());
        for kind in ["overlay", "nfs4", "fuse.sshfs", "9p", "virtiofs"] {
            assert!(!mount(&format!("9 1 0:43 / /mnt ro - {kind} x ro")).keeps_its_files(), "{kind}");
        }
    }

    #[test]
    fn proc_lies_on_proc_and_is_found_below_the_root() {
        assert_eq!(of(Path::new("/proc/self/status")).unwrap().kind, "proc");
        assert!(below(Path::new("/")).unwrap().iter().any(|mount| mount.point == Path::new("/proc")));
        assert!(below(&std::env::temp_dir().join("nobody-mounts-here")).unwrap().is_empty());
    }
}
