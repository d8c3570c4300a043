//! Tree on disk: its root and mounts, and its listed files by inode.
//!
//! Cold, except for [`Listed::of`].

use crate::error::EnforceError;
use crate::leases::Key;
use bakeoff_layers_base::locks::{lock, read, write};
use bakeoff_layers_base::manifest::Manifest;
use bakeoff_sys::inode::{self, Facts};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

/// A mount of the tree when it was armed.
#[derive(Debug)]
pub(crate) struct KnownMount {
    /// Its number in `mountinfo`.
    pub(crate) number: u64,
    /// Its mount point below the root; empty for the root's own mount.
    pub(crate) below: PathBuf,
    device: u64,
}

/// The guarded tree and its mounts.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Path without symbolic links.
    pub(crate) path: PathBuf,
    pub(crate) root: File,
    /// The mounts on which a path below `path` identifies its file.
    mounts: RwLock<BTreeMap<u64, KnownMount>>,
    /// Held while the tree is armed or its marks are removed.
    arming: Mutex<()>,
}

impl Tree {
    pub(crate) fn open(path: &Path) -> Result<Self, EnforceError> {
        let failed = |source| EnforceError::Root { path: path.to_owned(), source };
        let path = path.canonicalize().map_err(failed)?;
        let root = open_root(&path).map_err(failed)?;
        Ok(Self { path, root, mounts: RwLock::default(), arming: Mutex::default() })
    }

    /// Whether the path of a file opened on this mount can be trusted.
    pub(crate) fn knows_mount(&self, mount: u64) -> bool {
        read(&self.mounts).contains_key(&mount)
    }

    /// Learns the mount of a directory at this path below the root: the first that is met is its mount point.
    pub(crate) fn learn_mount(&self, facts: &Facts, below: &Path, dir: impl AsFd) {
        if !self.knows_mount(facts.mount) {
            let number = inode::mount_number(dir).unwrap_or(0);
            let known = KnownMount { number, below: below.to_owned(), device: facts.device };
            write(&self.mounts).insert(facts.mount, known);
        }
    }

    pub(crate) fn is_one_mount(&self) -> bool {
        read(&self.mounts).len() <= 1
    }

    /// Forgets the mounts below the root that are not where they were. Returns the devices of which no known mount is
    /// left, if any was forgotten.
    pub(crate) fn forget_mounts(&self, stays: impl Fn(u64, &KnownMount) -> bool) -> Option<Vec<u64>> {
        let mut mounts = write(&self.mounts);
        let is_gone =
            |mount: &u64, known: &KnownMount| !known.below.as_os_str().is_empty() && !stays(*mount, known);
        let gone: Vec<(u64, u64)> = mounts
            .iter()
            .filter(|(mount, known)| is_gone(mount, known))
            .map(|(mount, known)| (*mount, known.device))
            .collect();
        gone.iter().for_each(|(mount, _)| drop(mounts.remove(mount)));
        let left = |device: &u64| mounts.values().any(|known| known.device == *device);
        (!gone.is_empty())
            .then(|| gone.into_iter().map(|(_, device)| device).filter(|device| !left(device)).collect())
    }

    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.arming)
    }
}

/// Opens the directory that is guarded.
#[expect(
    clippy::disallowed_methods,
    reason = "the tree, whoever owns the way to it; it is held from here on"
)]
pub(crate) fn open_root(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path)
}

/// A manifest, with the inodes of its files when it was loaded.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) manifest: Arc<Manifest>,
    inodes: HashMap<Key, u32>,
    /// Inodes of the excluded files in directories that are asked about.
    pub(crate) excluded: HashSet<Key>,
    /// Further names of the same inode.
    twice: HashMap<Key, Vec<u32>>,
    /// Whether the directories were frozen before the files were looked up, so that inodes and names stay together.
    pub(crate) exact: bool,
    /// Number of missing listed files.
    pub(crate) missing: u64,
    /// A file that must not be in the tree, as its opens cannot be decided, and why.
    pub(crate) odd: Option<(PathBuf, &'static str)>,
}

impl Listed {
    pub(crate) fn new(manifest: Arc<Manifest>) -> Self {
        Self {
            manifest,
            inodes: HashMap::new(),
            excluded: HashSet::new(),
            twice: HashMap::new(),
            exact: false,
            missing: 0,
            odd: None,
        }
    }

    /// The file with this inode, by the first of its names.
    pub(crate) fn of(&self, key: Key) -> Option<u32> {
        self.inodes.get(&key).copied()
    }

    /// Whether all names of an inode have equivalent entries: only then may it be opened without asking.
    pub(crate) fn agree(&self, key: Key, index: u32) -> bool {
        if self.of(key) == Some(index) && !self.twice.contains_key(&key) {
            return true;
        }
        let first = self.inodes.get(&key).copied().into_iter();
        let others = self.twice.get(&key).into_iter().flatten().copied();
        first.chain(others).all(|other| self.are_alike(other, index))
    }

    /// Whether two entries are equivalent.
    pub(crate) fn are_alike(&self, one: u32, other: u32) -> bool {
        let wanted = |index: u32| {
            let entry = self.manifest.entry(index as usize);
            entry.map(|entry| (entry.digest, entry.size_bytes, entry.mode))
        };
        one == other || wanted(one) == wanted(other)
    }

    pub(crate) fn note(&mut self, key: Key, index: u32) {
        match self.inodes.get(&key) {
            None => drop(self.inodes.insert(key, index)),
            Some(_) => self.twice.entry(key).or_default().push(index),
        }
    }
}

pub(crate) const fn key(facts: &Facts) -> Key {
    (facts.device, facts.inode)
}
