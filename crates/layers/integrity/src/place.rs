//! Location of the tree as the kernel reports it now: mounts on it, whether anybody can write to it, and whether its
//! path still leads to it.
//!
//! Cold: runs when mounts change, and also every few seconds, since nobody is told when another mount namespace
//! changes a file system, or a directory above the tree is renamed. Makes no request to a file system that is mounted
//! on the tree: it need not answer.

use crate::tree::Tree;
use bakeoff_layers_base::manifest::seal::is_below_any;
use bakeoff_sys::inode;
use bakeoff_sys::mount::{self, Mount};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
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
}

/// Looks at the location of a tree.
///
/// # Errors
/// `/proc` is missing.
pub(crate) fn look(tree: &Tree, exclude: &[String]) -> io::Result<LocationFindings> {
    let number = inode::mount_number(&tree.root)?;
    let mut mounts = mount::all()?;
    mounts.retain(|mount| mount.number == number || is_looked_at(tree, exclude, mount));
    let own = mounts.iter().any(|mount| mount.number == number);
    let over = mounts.iter().filter(|mount| mount.number != number);
    let over = over.filter_map(|mount| path_only(&mount.point).and_then(inode::mount_of).ok());
    Ok(LocationFindings {
        read_only: own && mounts.iter().all(|mount| mount.read_only && mount.is_on_block_device()),
        elsewhere: mounts.iter().filter(|mount| !mount.keeps_its_files()).count() as u64,
        moved: !own || !leads_to(tree).unwrap_or(false),
        over: over.filter(|mount| !tree.knows_mount(*mount)).collect(),
    })
}

fn is_looked_at(tree: &Tree, exclude: &[String], mount: &Mount) -> bool {
    let Ok(below) = mount.point.strip_prefix(&tree.path) else { return false };
    !below.to_str().is_some_and(|below| is_below_any(below, exclude))
}

/// Whether the tree's path leads to its root.
fn leads_to(tree: &Tree) -> io::Result<bool> {
    let found = path_only(&tree.path)?;
    // Another mount's file system must not be asked.
    if inode::mount_of(&found)? != inode::mount_of(&tree.root)? {
        return Ok(false);
    }
    Ok(inode::facts(found)?.inode == inode::facts(&tree.root)?.inode)
}

/// Opens it without permission events and without waiting; follows no link.
#[expect(clippy::disallowed_methods, reason = "the path is the tree's, whatever lies there")]
pub(crate) fn path_only(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)
}
