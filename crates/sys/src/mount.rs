//! Mounts as this process sees them: which there are, what lies where, and taking one off.
//!
//! Measuring side, cold path. Owns the reading of `mountinfo`. Decides nothing: who is unmounted,
//! and when, is the caller's.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub point: PathBuf,
    /// Kind of file system: `ext4`, `tmpfs`, `fuse.gocryptfs`.
    pub kind: String,
    /// What is mounted, in the file system's own words.
    pub source: String,
    /// Its options, those of this mount and those of the file system.
    pub options: String,
}

/// All mounts, in the order in which they were made.
///
/// # Errors
/// `/proc` is not there.
pub fn all() -> io::Result<Vec<Mount>> {
    let text = std::fs::read("/proc/self/mountinfo")?;
    Ok(text.split(|&byte| byte == b'\n').filter_map(parse).collect())
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
    // Later mounts lie above earlier ones; `max_by_key` takes the last of the longest.
    let found = all()?.into_iter().filter(|mount| path.starts_with(&mount.point));
    found.max_by_key(|mount| mount.point.as_os_str().len()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Takes a mount off the tree at once; the file system goes when nobody uses it any more.
///
/// # Errors
/// What `umount2` reports, mostly that this user may not.
pub fn detach(point: &Path) -> io::Result<()> {
    Ok(umount2(point, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW)?)
}

/// Gives the calling process, which must have one thread, and all that it starts a mount namespace
/// to themselves: mounts made inside are seen nowhere else and go with the last process inside,
/// those made outside later are not seen inside. Needs `CAP_SYS_ADMIN`.
///
/// # Errors
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
    let mut place = line[..apart].split(|&byte| byte == b' ').skip(4);
    let (point, own) = (place.next()?, place.next()?);
    let mut system = line[apart + 3..].split(|&byte| byte == b' ');
    let (kind, source, whole) = (system.next()?, system.next()?, system.next().unwrap_or_default());
    let text = |bytes: &[u8]| String::from_utf8_lossy(&unescape(bytes)).into_owned();
    Some(Mount {
        point: OsString::from_vec(unescape(point)).into(),
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
        }
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"36 35 98:0 / /mnt rw - "), None);
    }

    #[test]
    fn proc_lies_on_proc_and_is_found_below_the_root() {
        assert_eq!(of(Path::new("/proc/self/status")).unwrap().kind, "proc");
        assert!(below(Path::new("/")).unwrap().iter().any(|mount| mount.point == Path::new("/proc")));
        assert!(below(&std::env::temp_dir().join("nobody-mounts-here")).unwrap().is_empty());
    }
}
