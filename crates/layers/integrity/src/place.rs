//! Location of the tree as the kernel reports it now: mounts on it, whether anybody can write to it, and whether its
//! path still leads to it.
//!
//! Cold: runs when mounts change, and also every few seconds, since nobody is told when another mount namespace
//! changes a file system, or a directory above the tree is renamed. Makes no request to a file system that is mounted
//! on the tree: it need not answer.

use crate::tree::Tree;
use bakeoff_layers_base::manifest::seal::is_below_any;
use bakeoff_layers_base::plain::open_to_know;
use bakeoff_sys::inode;
use bakeoff_sys::mount::{self, Mount};
use std::io;
use std::path::Path;

/// Findings about the location.
#[derive(Debug)]
pub(crate) struct LocationFindings {
    /// Nobody can write to any file of the tree: all its file systems are read-only, and on block devices.
    pub(crate) read_only: bool,
    /// Mounts of the tree whose files can change without our notice.
    pub(crate) elsewhere: u64,
    /// The tree's path now leads to another directory, or nowhere.
    pub(crate) moved: bool,
    /// Mounts that were put on the tree after it was armed.
    pub(crate) over: Vec<u64>,
    /// Devices whose last mount in the tree is gone, if any mount is.
    pub(crate) gone: Option<Vec<u64>>,
}

/// Looks at the location of a tree.
///
/// # Errors
/// `/proc` is missing.
pub(crate) fn look(tree: &Tree, given: &Path, exclude: &[String]) -> io::Result<LocationFindings> {
    let number = inode::mount_number(&tree.root)?;
    let mut mounts = mount::all()?;
    mounts.retain(|mount| mount.number == number || is_looked_at(tree, exclude, mount));
    let own = mounts.iter().any(|mount| mount.number == number);
    let below = mounts.iter().filter(|mount| mount.number != number);
    // By a number that no other mount ever has, and its place: another may have got its number, and it may be moved.
    let tops: Vec<(&Mount, u64)> = below
        .filter_map(|mount| Some((mount, inode::mount_of(open_to_know(&mount.point).ok()?).ok()?)))
        .collect();
    let gone = tree.forget_mounts(|known, its| {
        let point = tree.path.join(&its.below);
        let mut there = tops.iter().filter(|(mount, _)| mount.point == point);
        let alone = there.clone().count() == 1;
        there.any(|(mount, top)| mount.number == its.number && (*top == known || !alone))
    });
    let over = tops.iter().map(|(_, top)| *top);
    Ok(LocationFindings {
        read_only: own && mounts.iter().all(|mount| mount.read_only && mount.is_on_block_device()),
        elsewhere: mounts.iter().filter(|mount| !mount.keeps_its_files()).count() as u64,
        moved: !own || !leads_to(tree, given).unwrap_or(false),
        over: over.filter(|mount| !tree.knows_mount(*mount)).collect(),
        gone,
    })
}

fn is_looked_at(tree: &Tree, exclude: &[String], mount: &Mount) -> bool {
    let Ok(below) = mount.point.strip_prefix(&tree.path) else { return false };
    !below.to_str().is_some_and(|below| is_below_any(below, exclude))
}

/// Whether the tree's path, as it was given and without links, leads to its root.
fn leads_to(tree: &Tree, given: &Path) -> io::Result<bool> {
    if given.canonicalize()? != tree.path {
        return Ok(false);
    }
    let found = open_to_know(&tree.path)?;
    // Another mount's file system must not be asked.
    if inode::mount_of(&found)? != inode::mount_of(&tree.root)? {
        return Ok(false);
    }
    Ok(inode::facts(found)?.inode == inode::facts(&tree.root)?.inode)
}
