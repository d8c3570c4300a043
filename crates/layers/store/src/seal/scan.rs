//! Scan of the tree to be sealed, and detection of changes since.
//!
//! Measured side, cold. Walks level by level, the directories of a level in parallel. So the nodes come out breadth
//! first, with children together and sorted, as the format requires.

use super::error::SealError;
use crate::layout::BlockSize;
use crate::tree::{Found, NodeKind};
use bakeoff_layers_base::manifest::seal::stays_below;
use bakeoff_layers_base::threads;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tree at one moment.
pub(super) struct Scan {
    root: PathBuf,
    /// Breadth first.
    pub(super) found: Vec<Found>,
    /// One for each of `found`.
    marks: Vec<Mark>,
    /// The files among them, by the start of their bytes.
    pub(super) files: Vec<FileAt>,
    /// Symbolic links that lead out of the tree.
    pub(super) links_out: Vec<PathBuf>,
    /// Bytes of all files.
    pub(super) data_bytes: u64,
    /// End of the last of them in the stream.
    pub(super) stream_bytes: u64,
    block: BlockSize,
}

/// A file in the stream.
pub(super) struct FileAt {
    pub(super) at: u64,
    pub(super) size: u64,
    pub(super) path: PathBuf,
    pub(super) mark: Mark,
}

/// Mark that shows a change: any write moves the change time, which nobody can set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    device: u64,
    inode: u64,
    size: u64,
    changed_s: i64,
    changed_ns: i64,
}

impl Mark {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            changed_s: metadata.ctime(),
            changed_ns: metadata.ctime_nsec(),
        }
    }
}

/// A directory entry before its level is merged.
struct Entry {
    found: Found,
    mark: Mark,
    path: PathBuf,
}

impl Entry {
    /// Its path, if it is a link out of the tree: where the vault is mounted, it leads to whatever is there.
    fn leads_out(&self, root: &Path) -> Option<PathBuf> {
        let target = OsStr::from_bytes(&self.found.target);
        let inside = stays_below(root, &self.path.parent().unwrap_or(root).join(target));
        (!inside).then(|| self.path.clone())
    }
}

impl Scan {
    /// Scans everything below `root`.
    pub(super) fn of(root: &Path, block: BlockSize, threads: usize) -> Result<Self, SealError> {
        let metadata = fs::metadata(root).map_err(|error| read_error(root, error))?;
        if !metadata.is_dir() {
            return Err(SealError::NotADirectory(root.to_owned()));
        }
        let mut scan = Self {
            root: root.to_owned(),
            found: vec![found(&metadata, NodeKind::Directory, 0, Vec::new(), Vec::new())],
            marks: vec![Mark::of(&metadata)],
            files: Vec::new(),
            links_out: Vec::new(),
            data_bytes: 0,
            stream_bytes: 0,
            block,
        };
        let mut level = vec![(0, root.to_owned())];
        while !level.is_empty() {
            level = scan.take(&level, threads)?;
        }
        if u32::try_from(scan.found.len()).is_err() {
            return Err(SealError::TooMany);
        }
        Ok(scan)
    }

    /// Reads the directories of a level and returns those of the next.
    fn take(
        &mut self,
        level: &[(usize, PathBuf)],
        threads: usize,
    ) -> Result<Vec<(usize, PathBuf)>, SealError> {
        let mut next = Vec::new();
        let lists = read_all(level, threads)?;
        for ((parent, _), list) in level.iter().zip(lists) {
            if let Some(parent) = self.found.get_mut(*parent) {
                parent.size = list.len() as u64;
            }
            for entry in list {
                match entry.found.kind {
                    NodeKind::Directory => next.push((self.found.len(), entry.path)),
                    NodeKind::File => self.add_file(&entry)?,
                    NodeKind::Link => self.links_out.extend(entry.leads_out(&self.root)),
                }
                self.found.push(entry.found);
                self.marks.push(entry.mark);
            }
        }
        Ok(next)
    }

    fn add_file(&mut self, entry: &Entry) -> Result<(), SealError> {
        let size = entry.found.size;
        let at = self.block.place(self.stream_bytes, size).ok_or(SealError::TooMany)?;
        self.files.push(FileAt { at, size, path: entry.path.clone(), mark: entry.mark });
        self.stream_bytes = at + size;
        self.data_bytes += size;
        Ok(())
    }

    /// Scans again; the error names the first file that differs.
    pub(super) fn still_so(&self, threads: usize) -> Result<(), SealError> {
        let now = Self::of(&self.root, self.block, threads)?;
        let nodes = |scan: &Self| -> Vec<_> {
            scan.found.iter().map(|node| (node.kind, node.name.clone(), node.size)).collect()
        };
        if self.marks == now.marks && nodes(self) == nodes(&now) {
            return Ok(());
        }
        let files = |scan: &Self| -> BTreeMap<PathBuf, Mark> {
            scan.files.iter().map(|file| (file.path.clone(), file.mark)).collect()
        };
        let (before, after) = (files(self), files(&now));
        let differs = |path: &&PathBuf| before.get(*path) != after.get(*path);
        let path = before.keys().chain(after.keys()).find(differs).unwrap_or(&self.root);
        let how = match (before.contains_key(path), after.contains_key(path)) {
            (true, false) => "vanished",
            (false, true) => "appeared",
            _ => "changed",
        };
        Err(SealError::Changed { path: path.clone(), how })
    }
}

/// The entries of several directories, each sorted by name, in the directories' order.
fn read_all(level: &[(usize, PathBuf)], threads: usize) -> Result<Vec<Vec<Entry>>, SealError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Vec<Entry>)>, SealError> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, path)) = level.get(at) else { return Ok(done) };
            done.push((at, read_directory(path)?));
        }
    };
    let mut lists = Vec::with_capacity(level.len());
    for part in threads::on(threads.min(level.len()), work) {
        lists.extend(part?);
    }
    lists.sort_by_key(|(at, _)| *at);
    Ok(lists.into_iter().map(|(_, list)| list).collect())
}

fn read_directory(directory: &Path) -> Result<Vec<Entry>, SealError> {
    let mut list = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| read_error(directory, error))? {
        let entry = entry.map_err(|error| read_error(directory, error))?;
        let path = entry.path();
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(SealError::Changed { path, how: "vanished" });
            }
            Err(error) => return Err(read_error(&path, error)),
        };
        let name = entry.file_name().into_vec();
        let (kind, size, target) = content(&path, &metadata)?;
        list.push(Entry {
            found: found(&metadata, kind, size, name, target),
            mark: Mark::of(&metadata),
            path,
        });
    }
    list.sort_by(|one, other| one.found.name.cmp(&other.found.name));
    Ok(list)
}

fn content(path: &Path, metadata: &Metadata) -> Result<(NodeKind, u64, Vec<u8>), SealError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok((NodeKind::File, metadata.len(), Vec::new()));
    }
    if kind.is_dir() {
        return Ok((NodeKind::Directory, 0, Vec::new()));
    }
    if kind.is_symlink() {
        let target = fs::read_link(path).map_err(|error| read_error(path, error))?;
        let target = target.into_os_string().into_vec();
        return Ok((NodeKind::Link, target.len() as u64, target));
    }
    let what = if kind.is_socket() {
        "socket"
    } else if kind.is_fifo() {
        "pipe"
    } else {
        "device"
    };
    Err(SealError::Special { path: path.to_owned(), what })
}

fn found(metadata: &Metadata, kind: NodeKind, size: u64, name: Vec<u8>, target: Vec<u8>) -> Found {
    Found {
        kind,
        mode: (metadata.mode() & 0o7777) as u16,
        uid: metadata.uid(),
        gid: metadata.gid(),
        mtime_s: metadata.mtime(),
        mtime_ns: u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
        size,
        name,
        target,
    }
}

pub(super) fn read_error(path: &Path, error: std::io::Error) -> SealError {
    SealError::Read { path: path.to_owned(), error }
}
