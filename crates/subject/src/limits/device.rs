//! Block device below a path, as I/O throttling needs it: a whole device, by its numbers.
//!
//! `st_dev` is the device of most file systems. Some have a number of their own instead. For an overlay the upper
//! directory is looked at, for others (btrfs) the device they were mounted from. Memory and network file systems have
//! no device, and that is the answer.

use nix::sys::stat::{major, minor};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Overlays nested deeper than this are no set-up we know.
const DEEPEST: usize = 4;

/// Reasons why there is no device to throttle.
#[derive(Debug)]
pub(super) enum NoDevice {
    /// The path or what the kernel says of it cannot be read.
    Unreadable { path: PathBuf, source: io::Error },
    /// The file system has none.
    NotOnOne { path: PathBuf, kind: String },
    /// The upper directory of an overlay is outside of what this process sees.
    HiddenUpper { path: PathBuf, upper: PathBuf },
}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, source } => {
                write!(f, "the block device of {} cannot be found: {source}", path.display())
            }
            Self::NotOnOne { path, kind } => {
                let what =
                    if matches!(kind.as_str(), "tmpfs" | "ramfs") { "memory" } else { "no block device" };
                write!(
                    f,
                    "{} is on a {kind}, which is {what}, so reading and writing there cannot be throttled",
                    path.display()
                )
            }
            Self::HiddenUpper { path, upper } => write!(
                f,
                "{} is on an overlay whose upper directory, {}, cannot be seen from here (a container?)",
                path.display(),
                upper.display()
            ),
        }?;
        f.write_str("; set TMPDIR to a directory on a disk, or leave `read` and `write` out")
    }
}

/// `MAJOR:MINOR` of the whole device that files below `path` are on.
pub(super) fn below(path: &Path) -> Result<String, NoDevice> {
    let unreadable = |source| NoDevice::Unreadable { path: path.to_owned(), source };
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(unreadable)?;
    let mut at = fs::canonicalize(path).map_err(unreadable)?;
    for _ in 0..DEEPEST {
        let device = fs::metadata(&at).map_err(unreadable)?.dev();
        if let Some(whole) = whole(Path::new("/sys"), device) {
            return Ok(whole);
        }
        match below_mount(&mounts, &at) {
            Below::Upper(upper) if upper.is_dir() => at = upper,
            Below::Upper(upper) => return Err(NoDevice::HiddenUpper { path: path.to_owned(), upper }),
            Below::Source(source) => {
                let about = fs::metadata(&source).map_err(unreadable)?;
                let device =
                    about.file_type().is_block_device().then(|| whole(Path::new("/sys"), about.rdev()));
                let none =
                    || NoDevice::NotOnOne { path: path.to_owned(), kind: source.display().to_string() };
                return device.flatten().ok_or_else(none);
            }
            Below::Nothing(kind) => return Err(NoDevice::NotOnOne { path: path.to_owned(), kind }),
        }
    }
    Err(NoDevice::NotOnOne { path: path.to_owned(), kind: "overlay of overlays".to_owned() })
}

/// The whole device of a device or partition: limits are put on that only.
fn whole(sys: &Path, device: u64) -> Option<String> {
    let entry = sys.join(format!("dev/block/{}:{}", major(device), minor(device)));
    let place = fs::canonicalize(entry).ok()?;
    let whole = if place.join("partition").exists() { place.parent()? } else { place.as_path() };
    Some(fs::read_to_string(whole.join("dev")).ok()?.trim().to_owned())
}

/// Storage that a mounted file system is on.
#[derive(Debug, PartialEq, Eq)]
enum Below {
    /// Another directory.
    Upper(PathBuf),
    /// A file in `/dev`.
    Source(PathBuf),
    /// Neither: its type.
    Nothing(String),
}

/// The storage of the mount that `path` (absolute, no links) is on: the one with the longest mount point, the last of
/// these, since later mounts cover earlier ones.
fn below_mount(mounts: &str, path: &Path) -> Below {
    let found = mounts
        .lines()
        .filter_map(|line| {
            let (place, system) = line.split_once(" - ")?;
            let point = PathBuf::from(unescaped(place.split(' ').nth(4)?));
            path.starts_with(&point).then_some((point, system))
        })
        .max_by_key(|(point, _)| point.as_os_str().len());
    let Some((_, system)) = found else {
        return Below::Nothing("file system that is not mounted here".into());
    };
    let mut words = system.split(' ');
    let kind = words.next().unwrap_or_default();
    let source = unescaped(words.next().unwrap_or_default());
    let upper =
        words.next().unwrap_or_default().split(',').find_map(|option| option.strip_prefix("upperdir="));
    match upper {
        Some(upper) if kind == "overlay" => Below::Upper(unescaped(upper).into()),
        _ if source.starts_with("/dev/") => Below::Source(source.into()),
        _ => Below::Nothing(kind.to_owned()),
    }
}

/// `mountinfo` writes white space and backslashes as three octal digits.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_stands_for_its_disk() {
        let sys = tempfile::tempdir().unwrap();
        let disk = sys.path().join("devices/sda");
        fs::create_dir_all(disk.join("sda1")).unwrap();
        fs::create_dir_all(sys.path().join("dev/block")).unwrap();
        fs::write(disk.join("dev"), "8:0\n").unwrap();
        fs::write(disk.join("sda1/dev"), "8:1\n").unwrap();
        fs::write(disk.join("sda1/partition"), "1\n").unwrap();
        for (number, target) in [("8:0", "sda"), ("8:1", "sda/sda1")] {
            let link = sys.path().join("dev/block").join(number);
            std::os::unix::fs::symlink(sys.path().join("devices").join(target), link).unwrap();
        }
        let device = nix::sys::stat::makedev;
        assert_eq!(whole(sys.path(), device(8, 1)).as_deref(), Some("8:0"));
        assert_eq!(whole(sys.path(), device(8, 0)).as_deref(), Some("8:0"));
        assert_eq!(whole(sys.path(), device(8, 2)), None);
    }

    #[test]
    fn overlays_and_mounted_devices_are_looked_through() {
        let mounts =
            "27 1 0:30 / / rw shared:1 - overlay overlay rw,lowerdir=/l,upperdir=/var/up\\040per,workdir=/w
28 27 0:31 /@home /home rw - btrfs /dev/sda2 rw,ssd
29 27 0:32 / /tmp rw - tmpfs tmpfs rw
30 29 0:33 / /tmp/x rw - nfs4 host:/export rw";
        let at = |path| below_mount(mounts, Path::new(path));
        assert_eq!(at("/srv/site"), Below::Upper("/var/up per".into()));
        assert_eq!(at("/home/me"), Below::Source("/dev/sda2".into()));
        assert_eq!(at("/tmp/y"), Below::Nothing("tmpfs".into()));
        assert_eq!(at("/tmp/x/y"), Below::Nothing("nfs4".into()));
    }

    #[test]
    fn memory_has_no_device_and_says_so() {
        if !fs::read_to_string("/proc/mounts")
            .unwrap()
            .lines()
            .any(|line| line.starts_with("tmpfs /dev/shm "))
        {
            return; // an odd machine: nothing to look at
        }
        let message = below(Path::new("/dev/shm")).unwrap_err().to_string();
        assert!(message.starts_with("/dev/shm is on a tmpfs, which is memory"), "{message}");
    }
}
