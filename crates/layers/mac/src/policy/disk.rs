//! Look-up of a policy's paths on disk: the only facts that its text does not contain.
//!
//! Measured side, cold. Reads only; changes nothing.

use bakeoff_sys::mount::{Mount, elsewhere};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// State of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathState {
    /// The path without symbolic links, as far as it exists.
    pub path: PathBuf,
    /// Kind of the object.
    pub kind: ObjectKind,
    /// Other paths of the same files, by mounts.
    pub others: Vec<PathBuf>,
}

/// Kinds of objects at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A file, a device, a socket.
    File,
    /// A disk, or the machine's memory: all files are in it.
    Disk,
    /// A directory.
    Directory,
    /// Nothing, or nothing that we may look at.
    Nothing,
    /// An object of the looking process: another one for each process.
    OfEachProcess,
}

/// Looks at an absolute path on this machine, with these mounts.
pub fn see(path: &Path, mounts: &[Mount]) -> PathState {
    let own = PathBuf::from("/proc").join(std::process::id().to_string());
    let (path, kind) = match path.canonicalize() {
        Ok(path) if path.starts_with(own) => (path, ObjectKind::OfEachProcess),
        Ok(path) if path.is_dir() => (path, ObjectKind::Directory),
        Ok(path) if is_disk(&path) => (path, ObjectKind::Disk),
        Ok(path) => (path, ObjectKind::File),
        Err(_) => (as_far_as_it_goes(path), ObjectKind::Nothing),
    };
    PathState { others: elsewhere(mounts, &path), path, kind }
}

fn is_disk(path: &Path) -> bool {
    let memory = ["/dev/mem", "/dev/kmem", "/dev/port"].iter().any(|memory| path == Path::new(memory));
    memory || path.metadata().is_ok_and(|about| about.file_type().is_block_device())
}

/// The path with the existing part of it without symbolic links.
fn as_far_as_it_goes(path: &Path) -> PathBuf {
    let above = path.ancestors().skip(1).find_map(|above| Some((above, above.canonicalize().ok()?)));
    let rest = above.as_ref().and_then(|(above, _)| path.strip_prefix(above).ok());
    match (&above, rest) {
        (Some((_, real)), Some(rest)) => real.join(rest),
        _ => path.components().collect(),
    }
}
