//! Walk through the tree: finds its directories and symbolic links, whatever their names.
//!
//! Cold. Opens directories and nothing else, which raises no permission event. Goes by descriptors below the root, so
//! that it stays in the tree that it began with, even if the path to it changes.

use crate::tree::Tree;
use bakeoff_layers_base::manifest::Manifest;
use bakeoff_layers_base::manifest::seal::{self, is_below_any};
use bakeoff_sys::inode::{self, OpenPurpose};
use std::fs::ReadDir;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest path that the kernel takes (`PATH_MAX` without its final zero).
const MAX_PATH_BYTES: usize = 4095;

/// Time limit of one walk: a process that makes directories faster than they are frozen could keep us for ever. It is
/// enough for some million directories.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Result of a walk.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Directories, the root as the empty path, each before everything below it.
    pub(crate) dirs: Vec<PathBuf>,
    /// Excluded files in directories that are not.
    pub(crate) excluded: Vec<PathBuf>,
    /// Symbolic links.
    pub(crate) links: Vec<PathBuf>,
    /// FIFOs and devices. A socket cannot be opened.
    pub(crate) special: Vec<PathBuf>,
    /// Number of directories too deep to be opened by their path: neither they nor anything below was looked at.
    pub(crate) deep: u64,
    /// Directories that cannot be listed, or for which there was no time.
    pub(crate) closed: u64,
}

impl Tree {
    /// Lists all directories except the excluded ones. `enter` gets each before it is listed: if it freezes the
    /// directory, nothing can appear in it afterwards that is not listed. If it returns false, nothing is listed.
    pub(crate) fn walk(&self, exclude: &[String], mut enter: impl FnMut(&Path, &OwnedFd) -> bool) -> Walked {
        let mut rest = vec![PathBuf::new()];
        let mut walked = Walked::default();
        let began = Instant::now();
        while let Some(dir) = rest.pop() {
            if began.elapsed() > MAX_TIME {
                walked.closed += 1;
                continue;
            }
            let file = match inode::open_below(&self.root, &dir, OpenPurpose::Listing) {
                Ok(file) => file,
                // Removed since its parent was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => {
                    walked.closed += 1;
                    continue;
                }
            };
            if !enter(&dir, &file) {
                continue;
            }
            match list(&file) {
                Ok(entries) => sort(entries, &dir, exclude, &mut rest, &mut walked),
                Err(_) => walked.closed += 1,
            }
            walked.dirs.push(dir);
        }
        walked
    }

    /// Files that must not be in the tree, and why: their opens raise no event, or one about another file than they
    /// seem to.
    pub(crate) fn odd(&self, manifest: &Manifest, walked: &Walked) -> Vec<(PathBuf, &'static str)> {
        let special = walked.special.iter().map(|path| (path.clone(), SPECIAL));
        let links =
            walked.links.iter().filter_map(|link| Some((link.clone(), self.odd_link(manifest, link)?)));
        links.chain(special).collect()
    }

    /// The fault of a symbolic link, if there is one. The kernel reports the opened file, not the link used: a link
    /// in the place of a listed name would show another file under it, unnoticed.
    fn odd_link(&self, manifest: &Manifest, link: &Path) -> Option<&'static str> {
        let path = link.as_os_str().as_bytes();
        if manifest.find(path).is_some() {
            Some("a symbolic link in the place of a signed file")
        } else if manifest.has_below(path) {
            Some("a symbolic link on the way to signed files")
        } else {
            seal::odd_link(&self.path, &self.path.join(link))
        }
    }
}

/// Linux 6.18 raises no event when one is opened, whatever the mark. Older kernels may, and then it is refused.
const SPECIAL: &str = "a FIFO or a device";

/// Sorts the entries of one directory.
fn sort(entries: ReadDir, dir: &Path, exclude: &[String], rest: &mut Vec<PathBuf>, walked: &mut Walked) {
    for entry in entries {
        let Ok((entry, kind)) = entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind))) else {
            walked.closed += 1;
            continue;
        };
        if kind.is_socket() || kind.is_file() && exclude.is_empty() {
            continue;
        }
        let below = dir.join(entry.file_name());
        let excluded = below.to_str().is_some_and(|below| is_below_any(below, exclude));
        if excluded || kind.is_file() {
            walked.excluded.extend((excluded && kind.is_file()).then_some(below));
            continue;
        }
        match (kind.is_dir(), kind.is_symlink()) {
            (true, _) if below.as_os_str().len() > MAX_PATH_BYTES => walked.deep += 1,
            (true, _) => rest.push(below),
            (_, true) => walked.links.push(below),
            _ => walked.special.push(below),
        }
    }
}

/// Lists an open directory, whatever its path is by now.
pub(crate) fn list(dir: &OwnedFd) -> io::Result<ReadDir> {
    std::fs::read_dir(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}
