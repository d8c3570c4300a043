//! FUSE file system of a vault: answers to the kernel's requests.
//!
//! Measured side, many threads; hot while caches are cold. The kernel may keep every answer: nothing in a vault ever
//! changes. Opening a file is answered with ENOSYS, FUSE's way to say that opens need not be reported: from the
//! second one on the kernel does them by itself and keeps pages across them. So a file that was read once costs the
//! daemon nothing any more.

use super::counters::{Count, MountCounters};
use crate::refusal::ReadRefusal;
use crate::tree::{Node, NodeId, NodeKind};
use crate::vault::{PIECE_BYTES, Vault};
use bakeoff_layers_base::daemon::mount::MountEvent;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Generation, INodeNo, InitFlags, KernelConfig, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEntry, ReplyOpen, ReplyStatfs,
    Request,
};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Limit on background requests of the kernel, which no process waits for.
const BACKGROUND: u16 = 64;
/// Time for which the kernel may keep an answer: nothing changes, and a lock invalidates.
const FOREVER: Duration = Duration::from_secs(365 * 86_400);
/// The same for a missing name, as a lock invalidates only existing names. A server is asked for such names again and
/// again: with 15 % of its requests for them, asking each time cost 2 us for each of all its requests.
const ABSENT: Duration = Duration::from_secs(10);
/// Largest request, for which a thread's buffers are made. They count as the server's memory if a control group
/// limits it, and would take the room of cached files.
pub(super) const REQUEST_BYTES: u32 = PIECE_BYTES as u32;
/// Inodes are never reused.
const GENERATION: Generation = Generation(0);
/// Features requested from the kernel where it offers them.
const WANTED: [InitFlags; 6] = [
    // Names and attributes in one answer.
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_CACHE_SYMLINKS,
    InitFlags::FUSE_NO_OPEN_SUPPORT,
    InitFlags::FUSE_NO_OPENDIR_SUPPORT,
    // Pages are dropped only when we say so.
    InitFlags::FUSE_EXPLICIT_INVAL_DATA,
];

thread_local! {
    /// A thread's plain bytes on their way to the kernel.
    static PLAIN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A node's inode number: the root is 1, as FUSE wants it.
pub(super) fn inode(id: NodeId) -> INodeNo {
    INodeNo(u64::from(id.0) + 1)
}

fn node_id(inode: INodeNo) -> Option<NodeId> {
    u32::try_from(inode.0.checked_sub(1)?).ok().map(NodeId)
}

/// A vault as a file system.
pub(super) struct Filesystem {
    vault: Arc<Vault>,
    counters: Arc<MountCounters>,
    /// Gets the event that the session is over.
    over: Sender<MountEvent>,
}

impl Filesystem {
    pub(super) fn new(vault: Arc<Vault>, counters: Arc<MountCounters>, over: Sender<MountEvent>) -> Self {
        Self { vault, counters, over }
    }

    fn node(&self, inode: INodeNo) -> Result<(NodeId, &Node), Errno> {
        if self.vault.is_locked() {
            self.counters.refuse(ReadRefusal::Locked);
            return Err(Errno::EIO);
        }
        let id = node_id(inode).ok_or(Errno::ESTALE)?;
        self.vault.tree().node(id).map(|node| (id, node)).ok_or(Errno::ESTALE)
    }

    /// Attributes of a name, and the time for which the kernel may keep them. Inode number 0 means that the name is
    /// missing.
    fn find(&self, parent: INodeNo, name: &OsStr) -> Result<(Duration, FileAttr), Errno> {
        let (own, directory) = self.node(parent)?;
        let tree = self.vault.tree();
        let found = tree.child(directory, name.as_bytes()).and_then(|id| Some((id, tree.node(id)?)));
        Ok(match found {
            Some((id, node)) => (FOREVER, self.attributes(id, node)),
            None => (ABSENT, FileAttr { ino: INodeNo(0), ..self.attributes(own, directory) }),
        })
    }

    fn attributes(&self, id: NodeId, node: &Node) -> FileAttr {
        let mtime = time(node).unwrap_or(UNIX_EPOCH);
        let (nlink, size) = match node.kind {
            NodeKind::File | NodeKind::Link => (1, node.size),
            NodeKind::Directory => (2, 4096),
        };
        FileAttr {
            ino: inode(id),
            size,
            blocks: size.div_ceil(512),
            atime: mtime,
            mtime,
            ctime: mtime,
            crtime: mtime,
            kind: file_type(node.kind),
            perm: node.mode,
            nlink,
            uid: node.uid,
            gid: node.gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// The entries of a directory from `offset` on, each with the offset of the next. The first two
    /// are the directory and its parent.
    fn entries<'a>(
        &'a self,
        id: NodeId,
        directory: &'a Node,
        offset: u64,
    ) -> impl Iterator<Item = (u64, NodeId, &'a Node, &'a OsStr)> {
        let tree = self.vault.tree();
        let parent = tree.parent(directory);
        let above = tree.node(parent).unwrap_or(directory);
        let dots = [(id, directory, OsStr::new(".")), (parent, above, OsStr::new(".."))];
        let children = tree.children(directory);
        let children = children.map(|(id, node)| (id, node, OsStr::from_bytes(tree.name(node))));
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        let all = dots.into_iter().chain(children).zip(1_u64..);
        all.skip(skip).map(|((id, node, name), next)| (next, id, node, name))
    }
}

fn file_type(kind: NodeKind) -> FileType {
    match kind {
        NodeKind::File => FileType::RegularFile,
        NodeKind::Directory => FileType::Directory,
        NodeKind::Link => FileType::Symlink,
    }
}

fn time(node: &Node) -> Option<SystemTime> {
    let whole = Duration::from_secs(node.mtime_s.unsigned_abs());
    let whole = match node.mtime_s {
        0.. => UNIX_EPOCH.checked_add(whole),
        _ => UNIX_EPOCH.checked_sub(whole),
    };
    whole?.checked_add(Duration::from_nanos(node.mtime_ns.into()))
}

impl fuser::Filesystem for Filesystem {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for flag in WANTED {
            // A missing feature costs speed, not correctness.
            let _ = config.add_capabilities(flag);
        }
        // Nobody writes; but the largest request of either kind is derived from this.
        let _ = config.set_max_write(REQUEST_BYTES);
        let _ = config.set_max_background(BACKGROUND);
        Ok(())
    }

    fn destroy(&mut self) {
        let _ = self.over.send(MountEvent::Over);
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.counters.add(Count::Lookups, 1);
        match self.find(parent, name) {
            Ok((believed, attributes)) => reply.entry(&believed, &attributes, GENERATION),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.counters.add(Count::Attributes, 1);
        match self.node(inode) {
            Ok((id, node)) => reply.attr(&FOREVER, &self.attributes(id, node)),
            Err(error) => reply.error(error),
        }
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        self.counters.add(Count::Links, 1);
        match self.node(inode) {
            Ok((_, node)) if node.kind == NodeKind::Link => reply.data(self.vault.tree().target(node)),
            Ok(_) => reply.error(Errno::EINVAL),
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.counters.add(Count::Opens, 1);
        reply.error(Errno::ENOSYS);
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.counters.add(Count::Reads, 1);
        let Some(file) = node_id(inode) else { return reply.error(Errno::ESTALE) };
        PLAIN.with_borrow_mut(|plain| match self.vault.read(file, offset, size as usize, plain) {
            Ok(blocks) => {
                self.counters.add(Count::Blocks, blocks);
                self.counters.add(Count::Bytes, plain.len() as u64);
                reply.data(plain);
            }
            Err(refusal) => {
                self.counters.refuse(refusal);
                reply.error(Errno::EIO);
            }
        });
    }

    fn readdir(&self, _: &Request, inode: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        self.counters.add(Count::Directories, 1);
        let (id, directory) = match self.node(inode) {
            Ok(found) => found,
            Err(error) => return reply.error(error),
        };
        for (next, id, node, name) in self.entries(id, directory, offset) {
            if reply.add(self::inode(id), next, file_type(node.kind), name) {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        self.counters.add(Count::Directories, 1);
        let (id, directory) = match self.node(inode) {
            Ok(found) => found,
            Err(error) => return reply.error(error),
        };
        for (next, id, node, name) in self.entries(id, directory, offset) {
            let attributes = self.attributes(id, node);
            if reply.add(self::inode(id), next, name, &FOREVER, &attributes, GENERATION) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let tree = self.vault.tree();
        let blocks = tree.data_bytes().div_ceil(4096);
        reply.statfs(blocks, 0, 0, tree.len() as u64, 0, 4096, 255, 4096);
    }
}
