//! Arming of the tree: the marks that make the kernel ask about its directories and its listed files, and their end.
//!
//! Cold. Every directory is marked, so that opens of new files in it are decided. Every listed file is marked by
//! itself, so that its opens are decided by any path: a hard link, another mount, a file handle.

use crate::enforcer::Enforcer;
use crate::error::{EnforceError, escaped};
use crate::gap::Gap;
use crate::guard::Frozen;
use crate::leases::Key;
use crate::tree::{Listed, key};
use crate::walk::Walked;
use crate::words::plain;
use bakeoff_layers_base::manifest::Manifest;
use bakeoff_layers_base::manifest::check::has_signed_links;
use bakeoff_sys::fanotify::{Mark, set_answered};
use bakeoff_sys::inode::{self, Facts, InodeKind, OpenPurpose};
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Puts the marks on a tree, those that were removed too, and freezes it.
///
/// # Errors
/// The root cannot be marked: then nothing would be enforced.
pub(crate) fn arm(
    enforcer: &Enforcer,
    manifest: Arc<Manifest>,
    mounts: Mounts,
) -> Result<Listed, EnforceError> {
    let tree = &enforcer.tree;
    let _alone = tree.alone();
    let mark_failed = |source| EnforceError::Mark { path: tree.path.clone(), source };
    enforcer.group.add(Mark::Children, &tree.root).map_err(mark_failed)?;
    let dirs = arm_dirs(enforcer, mounts);
    let unfrozen = u64::from(!enforcer.freezes() && !enforcer.is_read_only());
    enforcer.gaps.set(Gap::Marks, dirs.unmarked);
    enforcer.gaps.set(Gap::NotFrozen, unfrozen + dirs.unfrozen);
    enforcer.gaps.set(Gap::Immutable, dirs.others);
    let manifest = &manifest;
    let mut listed = Listed::new(manifest.clone());
    listed.exact = enforcer.freezes();
    let mut owned = 0;
    for index in 0..manifest.len() {
        let Some(entry) = manifest.entry(index) else { continue };
        match arm_file(enforcer, entry.path, mounts) {
            Some(key) => listed.note(key, index as u32),
            None => listed.missing += 1,
        }
        owned += u64::from(entry.mode & SET_ID != 0);
    }
    enforcer.gaps.set(Gap::Owners, owned);
    enforcer.gaps.set(Gap::Missing, listed.missing);
    let excluded = dirs.walked.excluded.iter().filter_map(|path| {
        let file = inode::open_below(&tree.root, path, OpenPurpose::Knowing).ok()?;
        Some(key(&inode::facts(file).ok()?))
    });
    listed.excluded = excluded.collect();
    listed.odd = note_odd(enforcer, manifest, &dirs.walked);
    enforcer.progress.done();
    Ok(listed)
}

/// Set-user-id and set-group-id.
const SET_ID: u16 = 0o6000;

/// Walks the tree, as no event tells of what it finds. In one that is not frozen it marks directories that came since
/// it was armed, and notes forbidden files. In one that is it looks whether everything still is.
pub(crate) fn look_again(enforcer: &Enforcer) {
    let _alone = enforcer.tree.alone();
    if enforcer.is_read_only() || enforcer.ended.load(Ordering::Relaxed) {
        return;
    }
    if enforcer.freezes() && !enforcer.can_change() {
        return look_at_frozen(enforcer);
    }
    let dirs = arm_dirs(enforcer, Mounts::Known);
    enforcer.progress.done();
    if dirs.unmarked > 0 && !enforcer.gaps.is_open(Gap::Marks) {
        enforcer.gaps.set(Gap::Marks, dirs.unmarked);
    }
    note_odd(enforcer, &enforcer.listed().manifest, &dirs.walked);
}

/// Finds what was made changeable by a program of root's that knows nothing of us. Until it is frozen again no verdict
/// relies on that.
fn look_at_frozen(enforcer: &Enforcer) {
    let is_lost = |path: &&Path| {
        let file = inode::open_below(&enforcer.tree.root, path, OpenPurpose::Knowing);
        let facts = file.and_then(inode::facts).ok().filter(|facts| facts.changeable);
        facts.is_some_and(|facts| enforcer.guard.forget(key(&facts)))
    };
    let listed = enforcer.listed();
    let dirs = enforcer.tree.walk(&enforcer.settings.exclude, |_, _| true).dirs;
    let files = listed.manifest.entries().map(|entry| Path::new(entry.path));
    let lost: Vec<&Path> = files.chain(dirs.iter().map(PathBuf::as_path)).filter(is_lost).collect();
    let Some(first) = lost.first() else { return };
    enforcer.gaps.set(Gap::NotFrozen, lost.len() as u64);
    enforcer.void_all();
    let first = escaped(&enforcer.tree.path.join(first));
    enforcer.say(format!(
        "somebody took the immutable attribute off {} files and directories, {first} first: looking at all again",
        lost.len()
    ));
}

/// Mounts that belong to the tree.
#[derive(Clone, Copy)]
pub(crate) enum Mounts {
    /// The present mounts: the administrator asked to take the tree as it is.
    Taken,
    /// The earlier mounts. A mount put over the tree since is a gap, and stays one.
    Known,
}

/// Result of arming the directories.
#[derive(Default)]
struct Dirs {
    walked: Walked,
    unmarked: u64,
    unfrozen: u64,
    /// Immutable already, and not by us.
    others: u64,
}

/// Marks and freezes every directory before it is listed: from then on nothing appears in it that is not in the list,
/// and one turn is enough. If a directory cannot be frozen there are more turns, until one finds nothing new.
fn arm_dirs(enforcer: &Enforcer, mounts: Mounts) -> Dirs {
    /// Directories made faster than this are found by the next walk through the tree.
    const TURNS: usize = 8;
    let mut known = HashSet::new();
    let mut dirs = Dirs::default();
    for _ in 0..TURNS {
        let (mut unmarked, mut unfrozen, mut others, before) = (0, 0, 0, known.len());
        let walked = enforcer.tree.walk(&enforcer.settings.exclude, |path, dir| {
            enforcer.progress.at(&path.to_string_lossy());
            let Ok(facts) = inode::facts(dir) else {
                unmarked += 1;
                return false;
            };
            match mounts {
                Mounts::Taken => enforcer.tree.learn_mount(&facts, path, dir),
                Mounts::Known if enforcer.tree.knows_mount(facts.mount) => {}
                Mounts::Known => return false,
            }
            known.insert(key(&facts));
            unmarked += u64::from(enforcer.group.add(Mark::Children, dir).is_err());
            match enforcer.guard.freeze(dir, key(&facts)) {
                Ok(frozen) => others += u64::from(frozen == Frozen::ByOthers),
                Err(_) => unfrozen += 1,
            }
            true
        });
        unmarked += walked.closed;
        dirs = Dirs { walked, unmarked, unfrozen, others };
        let stays = enforcer.is_read_only() || enforcer.freezes() && dirs.unfrozen == 0 && dirs.others == 0;
        if stays || known.len() == before {
            break;
        }
    }
    dirs
}

/// Notes files that no mark helps against. Returns the first one.
fn note_odd(enforcer: &Enforcer, manifest: &Manifest, walked: &Walked) -> Option<(PathBuf, &'static str)> {
    let mut odd = enforcer.tree.odd(manifest, walked);
    let special = walked.special.len() as u64;
    enforcer.gaps.set(Gap::Special, special);
    enforcer.gaps.set(Gap::Links, odd.len() as u64 - special);
    let mut links: Vec<&Path> = walked.links.iter().map(PathBuf::as_path).collect();
    links.sort_unstable_by_key(|link| link.as_os_str());
    let signed = has_signed_links(manifest, &enforcer.tree.path, links.iter().copied());
    enforcer.gaps.set(Gap::LinksUnsigned, if signed { 0 } else { links.len().max(1) as u64 });
    enforcer.gaps.set(Gap::Deep, walked.deep);
    (!odd.is_empty()).then(|| odd.swap_remove(0))
}

fn arm_file(enforcer: &Enforcer, name: &str, mounts: Mounts) -> Option<Key> {
    enforcer.progress.at(name);
    let known = |facts: &Facts| matches!(mounts, Mounts::Taken) || enforcer.tree.knows_mount(facts.mount);
    let regular = |file: &OwnedFd| {
        inode::facts(file).ok().filter(|facts| facts.kind == InodeKind::File && known(facts))
    };
    // Opened first without reading, to learn its type: opening a device for reading may have effects.
    let mut file = inode::open_below(&enforcer.tree.root, Path::new(name), OpenPurpose::Knowing).ok()?;
    let mut facts = regular(&file)?;
    let mut frozen = !enforcer.freezes();
    // Freezing takes a real descriptor; the deciding threads allow our own opens.
    if enforcer.freezes() {
        match open_listed(enforcer, name) {
            Some(real) => {
                facts = regular(&real)?;
                file = real;
                let by = enforcer.guard.freeze(&file, key(&facts));
                if matches!(by, Ok(Frozen::ByOthers)) {
                    enforcer.gaps.add(Gap::Immutable);
                }
                frozen = by.is_ok();
            }
            // A gap of its own: it is frozen as soon as its holder lets go.
            None => frozen = enforcer.held_by_others().contains(&key(&facts)),
        }
    }
    if enforcer.group.add(Mark::File, &file).is_err() {
        enforcer.gaps.add(Gap::Marks);
    }
    if !frozen {
        enforcer.gaps.add(Gap::NotFrozen);
    }
    Some(key(&facts))
}

/// Removes the marks, and then makes everything changeable again: files put into the tree from now on open, and
/// nothing could be put into it before.
pub(crate) fn disarm(enforcer: &Enforcer) {
    let _alone = enforcer.tree.alone();
    let _ = enforcer.group.flush();
    thaw_all(enforcer);
}

/// Makes everything changeable again, but keeps the marks.
pub(crate) fn thaw(enforcer: &Enforcer) {
    let _alone = enforcer.tree.alone();
    thaw_all(enforcer);
}

/// Files first, then directories from below, so that nothing can be moved away before its turn.
fn thaw_all(enforcer: &Enforcer) {
    enforcer.guard.switch(false);
    if enforcer.guard.len() == 0 {
        return;
    }
    enforcer.forget_let_go();
    let dirs = enforcer.tree.walk(&enforcer.settings.exclude, |_, _| true).dirs;
    let listed = enforcer.listed();
    let files = listed.manifest.entries().map(|entry| Path::new(entry.path));
    for path in files.chain(dirs.iter().rev().map(PathBuf::as_path)) {
        let file = inode::open_below(&enforcer.tree.root, path, OpenPurpose::Reading);
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

/// Opens a listed file for reading, if that needs no waiting. Nobody's open waits for it, if it is kept and we die. A
/// file under a write lease is a gap until the holder gives it up, as the kernel asks.
pub(crate) fn open_listed(enforcer: &Enforcer, name: &str) -> Option<OwnedFd> {
    let path = Path::new(name);
    let error = match inode::open_below(&enforcer.tree.root, path, OpenPurpose::Reading) {
        Ok(file) => {
            let _ = set_answered(&file);
            return Some(file);
        }
        Err(error) => error.kind(),
    };
    // If it has a mark already, the kernel has to open it for us first, fails, and refuses our own open.
    if matches!(error, io::ErrorKind::WouldBlock | io::ErrorKind::PermissionDenied) {
        let file = inode::open_below(&enforcer.tree.root, path, OpenPurpose::Knowing).ok()?;
        let facts = inode::facts(file).ok()?;
        if enforcer.note_unheld(key(&facts), Some(Gap::Leased)) {
            enforcer.say(format!(
                "{} is leased by somebody: opens of it are refused until he lets go",
                plain(name)
            ));
        }
    }
    None
}
