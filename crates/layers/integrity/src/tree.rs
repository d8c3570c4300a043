//! The tree as it is on disk: its directories, its listed files, and the marks that make the kernel
//! ask about them.
//!
//! Cold, but for [`Listed::of`]. Every directory is marked, so that whatever appears in it is asked
//! about, and every listed file by itself, so that it is asked about whatever the way to it: a hard
//! link, another mount, a file handle.

use crate::deciders::open_listed;
use crate::enforcer::Enforcer;
use crate::error::EnforceError;
use crate::gap::Gap;
use crate::leases::Key;
use bakeoff_layers_base::manifest::Manifest;
use bakeoff_layers_base::manifest::seal::is_below_any;
use bakeoff_sys::fanotify::Mark;
use bakeoff_sys::inode::{self, Facts, For};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// Where the tree is.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Without symbolic links.
    pub(crate) path: PathBuf,
    pub(crate) root: File,
    /// The mounts on which a path below `path` says which file it is.
    pub(crate) mounts: RwLock<BTreeSet<u64>>,
}

impl Tree {
    pub(crate) fn open(path: &Path) -> Result<Self, EnforceError> {
        let failed = |source| EnforceError::Root { path: path.to_owned(), source };
        let path = path.canonicalize().map_err(failed)?;
        let root = File::open(&path).map_err(failed)?;
        if !root.metadata().map_err(failed)?.is_dir() {
            return Err(failed(std::io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { path, root, mounts: RwLock::new(BTreeSet::new()) })
    }

    /// Whether a path that was opened on this mount can be taken at its word.
    pub(crate) fn knows_mount(&self, mount: u64) -> bool {
        self.mounts.read().unwrap_or_else(std::sync::PoisonError::into_inner).contains(&mount)
    }

    /// All directories, the root as the empty path; those that cannot be listed are left out.
    pub(crate) fn dirs(&self, exclude: &[String]) -> Vec<String> {
        let mut rest = vec![String::new()];
        let mut found = Vec::new();
        while let Some(dir) = rest.pop() {
            let entries = std::fs::read_dir(self.path.join(&dir)).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                let name = entry.file_name();
                // Nothing below such a name can be listed; what is opened there is not asked about.
                let Some(name) = name.to_str() else { continue };
                let below = if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
                if !is_below_any(&below, exclude) {
                    rest.push(below);
                }
            }
            found.push(dir);
        }
        found
    }
}

/// A manifest, and which inodes its files were when it was taken.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) manifest: Arc<Manifest>,
    inodes: HashMap<Key, u32>,
    /// Further names of the same inode.
    twice: HashMap<Key, Vec<u32>>,
    /// The directories were frozen before the files were looked up: the inodes are those of the names.
    pub(crate) exact: bool,
    /// Listed files that were not there.
    pub(crate) missing: u64,
}

impl Listed {
    pub(crate) fn new(manifest: Arc<Manifest>) -> Self {
        Self { manifest, inodes: HashMap::new(), twice: HashMap::new(), exact: false, missing: 0 }
    }

    /// The file that an inode was, by the first of its names.
    pub(crate) fn of(&self, key: Key) -> Option<u32> {
        self.inodes.get(&key).copied()
    }

    /// Whether all names of an inode ask for the same: only then may it be opened unasked.
    pub(crate) fn agree(&self, key: Key, index: u32) -> bool {
        if self.of(key) == Some(index) && !self.twice.contains_key(&key) {
            return true;
        }
        let wanted = |index: u32| {
            let entry = self.manifest.entry(index as usize);
            entry.map(|entry| (entry.digest, entry.size_bytes, entry.mode))
        };
        let first = self.inodes.get(&key).copied().into_iter();
        let others = self.twice.get(&key).into_iter().flatten().copied();
        first.chain(others).all(|other| wanted(other) == wanted(index))
    }

    fn note(&mut self, key: Key, index: u32) {
        match self.inodes.get(&key) {
            None => drop(self.inodes.insert(key, index)),
            Some(_) => self.twice.entry(key).or_default().push(index),
        }
    }
}

pub(crate) const fn key(facts: &Facts) -> Key {
    (facts.device, facts.inode)
}

/// Puts the marks on a tree, and freezes it.
///
/// # Errors
/// The root cannot be marked: then nothing would be enforced.
pub(crate) fn arm(enforcer: &Enforcer, manifest: Arc<Manifest>) -> Result<Listed, EnforceError> {
    let tree = &enforcer.tree;
    let mark_failed = |source| EnforceError::Mark { path: tree.path.clone(), source };
    enforcer.group.add(Mark::Children, &tree.root).map_err(mark_failed)?;
    enforcer.gaps.set(Gap::Marks, 0);
    enforcer.gaps.set(Gap::NotFrozen, u64::from(!enforcer.freezes() && !enforcer.is_read_only()));
    for dir in tree.dirs(&enforcer.settings.exclude) {
        if let Err(error) = arm_dir(enforcer, &dir) {
            enforcer.gaps.add(if error.is_some() { Gap::Marks } else { Gap::NotFrozen });
        }
    }
    let manifest = &manifest;
    let mut listed = Listed::new(manifest.clone());
    listed.exact = enforcer.freezes();
    for index in 0..manifest.len() {
        let Some(entry) = manifest.entry(index) else { continue };
        match arm_file(enforcer, entry.path) {
            Some(key) => listed.note(key, index as u32),
            None => listed.missing += 1,
        }
    }
    enforcer.progress.done();
    Ok(listed)
}

/// An error in the error when it was the mark that was refused.
fn arm_dir(enforcer: &Enforcer, dir: &str) -> Result<(), Option<std::io::Error>> {
    enforcer.progress.at(dir);
    let file = inode::open_below(&enforcer.tree.root, Path::new(dir), For::Reading).map_err(Some)?;
    let facts = inode::facts(&file).map_err(Some)?;
    enforcer.tree.mounts.write().unwrap_or_else(std::sync::PoisonError::into_inner).insert(facts.mount);
    enforcer.group.add(Mark::Children, &file).map_err(Some)?;
    freeze(enforcer, &file, key(&facts)).map_err(|_| None)
}

fn arm_file(enforcer: &Enforcer, name: &str) -> Option<Key> {
    enforcer.progress.at(name);
    let file = inode::open_below(&enforcer.tree.root, Path::new(name), For::Knowing).ok()?;
    let facts = inode::facts(&file).ok()?;
    if facts.kind != inode::Kind::File {
        return None;
    }
    if enforcer.group.add(Mark::File, &file).is_err() {
        enforcer.gaps.add(Gap::Marks);
    }
    // That needs a real descriptor; whoever reads the events lets our own opens pass.
    if enforcer.freezes()
        && let Some(file) = open_listed(enforcer, name)
        && inode::facts(&file).and_then(|facts| enforcer.guard.freeze(&file, key(&facts))).is_err()
    {
        enforcer.gaps.add(Gap::NotFrozen);
    }
    Some(key(&facts))
}

fn freeze(enforcer: &Enforcer, file: impl AsFd, key: Key) -> std::io::Result<()> {
    if enforcer.freezes() { enforcer.guard.freeze(file, key) } else { Ok(()) }
}

/// Makes everything changeable again that was frozen here.
pub(crate) fn thaw_all(enforcer: &Enforcer, listed: &Listed) {
    if enforcer.guard.len() == 0 {
        return;
    }
    enforcer.forget_let_go();
    let dirs = enforcer.tree.dirs(&enforcer.settings.exclude);
    let files = listed.manifest.entries().map(|entry| entry.path);
    for path in dirs.iter().map(String::as_str).chain(files) {
        let file = inode::open_below(&enforcer.tree.root, Path::new(path), For::Reading);
        let Ok(file) = file else { continue };
        if let Ok(facts) = inode::facts(&file) {
            let key = key(&facts);
            if enforcer.guard.thaw(&file, key) {
                // Its verdict was kept without a lease, since it could not change.
                enforcer.verdicts.void(&key, || drop(enforcer.group.remove(Mark::Ignored, &file)));
            }
        }
    }
}
