//! FUSE file system of the mount: answers to the kernel's requests.
//!
//! Measured side, client process, many threads; hot while the kernel's caches are cold. The kernel caches all that it
//! may, for the time given with each answer; here is only what it has not asked for yet ([`Contents`]). Opening is
//! answered with ENOSYS, FUSE's way to say that opens need not be reported. So is flushing: every `write` is at the
//! server when it returns, so `close` has nothing to wait for. (Write-back would leave size and times to the kernel,
//! which then would not see others' appends.)
//!
//! Everything belongs to the user who mounted it here, whatever its owner at the server.

use super::contents::Contents;
use super::counters::{ClientCounters, Count};
use super::kernel::{BreakCount, Kernel, Telling};
use super::link::Link;
use super::why::{self, Answers};
use crate::frame::{
    Attributes, ClientRequest, FileName, FileTime, FileType, MOST_DATA_BYTES, New, ServerReply, Space,
    TimeUpdate, Way, entries,
};
use bakeoff_layers_base::daemon::mount::MountEvent;
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType as FuseFileType, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use nix::libc;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Limit on background requests of the kernel, which no process waits for.
const BACKGROUND: u16 = 64;
/// Inode numbers are never reused.
const GENERATION: Generation = Generation(0);
/// Bytes of entries requested at once: the most that the kernel accepts.
const LIST_BYTES: u32 = 64 << 10;
/// Pause of a read that crosses a break.
const CROSSING: Duration = Duration::from_millis(1);
/// Features requested from the kernel where it offers them.
const WANTED: [InitFlags; 5] = [
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_CACHE_SYMLINKS,
    InitFlags::FUSE_NO_OPEN_SUPPORT,
    InitFlags::FUSE_NO_OPENDIR_SUPPORT,
    // Before each read the kernel checks attributes that have expired, and drops pages if these changed.
    InitFlags::FUSE_AUTO_INVAL_DATA,
];
/// With these locks come to us, and are refused; without them the kernel has locks of its own, which hold in this mount
/// alone.
const NO_LOCKS: [InitFlags; 2] = [InitFlags::FUSE_POSIX_LOCKS, InitFlags::FUSE_FLOCK_LOCKS];

/// A remote directory as a file system.
pub(super) struct Filesystem {
    link: Arc<Link>,
    kernel: Arc<Kernel>,
    tally: Arc<ClientCounters>,
    answers: Answers,
    contents: Contents,
    owner: (u32, u32),
    /// Whether files can be locked, in this mount alone.
    has_locks: bool,
    /// Gets the event that the mount is gone.
    over: Sender<MountEvent>,
}

/// Time for which the kernel may keep attributes, and a name, with these attributes: they are on their way until the
/// last part is dropped, after the reply.
type Told<'k> = (Duration, Duration, FileAttr, Option<Telling<'k>>);

impl Filesystem {
    pub(super) fn new(
        link: Arc<Link>,
        kernel: Arc<Kernel>,
        tally: Arc<ClientCounters>,
        (has_locks, over): (bool, Sender<MountEvent>),
    ) -> Self {
        let owner = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
        Self {
            link,
            kernel,
            tally,
            answers: Answers::default(),
            contents: Contents::default(),
            owner,
            has_locks,
            over,
        }
    }

    /// Asks a question about an object that is answered by attributes.
    fn attributes(&self, question: &ClientRequest<'_>) -> Result<(Attributes, bool), Errno> {
        self.link.ask(question, |answer| match answer {
            ServerReply::Attributes { attributes, leased, .. } => Ok((attributes, leased)),
            _ => Err(Errno::EIO),
        })
    }

    /// The same for the kernel, about an object that it knows.
    fn known(&self, question: &ClientRequest<'_>) -> Result<(Duration, FileAttr), Errno> {
        let since = self.kernel.now();
        let (attributes, leased) = self.attributes(question)?;
        let holds = leased && self.kernel.holds(attributes.object, since);
        Ok((self.believed(holds), self.attr(&attributes)))
    }

    /// Looks up, or makes, an object by name. Returns how long the kernel may keep its attributes, and its name.
    fn told(&self, question: &ClientRequest<'_>) -> Result<Told<'_>, Errno> {
        let since = self.kernel.now();
        let (attributes, leased) = self.attributes(question)?;
        Ok(self.tell(&attributes, leased, since))
    }

    fn tell(&self, attributes: &Attributes, leased: bool, since: BreakCount) -> Told<'_> {
        let (is_fresh, telling) = self.kernel.tell(attributes.object, since);
        let holds = leased && is_fresh;
        (self.believed(holds), self.named(holds), self.attr(attributes), Some(telling))
    }

    fn believed(&self, holds: bool) -> Duration {
        if holds { self.link.left() } else { Duration::ZERO }
    }

    fn named(&self, holds: bool) -> Duration {
        self.believed(holds && self.kernel.keeps_names())
    }

    fn attr(&self, attributes: &Attributes) -> FileAttr {
        let (uid, gid) = self.owner;
        FileAttr {
            ino: INodeNo(attributes.object),
            size: attributes.size,
            blocks: attributes.blocks,
            atime: time(attributes.atime),
            mtime: time(attributes.mtime),
            ctime: time(attributes.ctime),
            crtime: UNIX_EPOCH,
            kind: file_type(attributes.kind),
            perm: attributes.mode,
            nlink: attributes.names,
            uid,
            gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    fn make(&self, question: Result<ClientRequest<'_>, Errno>, reply: ReplyEntry) {
        self.tally.add(Count::Changes, 1);
        match question.and_then(|question| self.told(&question)) {
            Ok((believed, named, attr, _telling)) => {
                reply.entry_with_ttls(&believed, &named, &attr, GENERATION)
            }
            Err(error) => reply.error(error),
        }
    }

    fn done(&self, question: Result<ClientRequest<'_>, Errno>, reply: ReplyEmpty) {
        let done = question.and_then(|question| {
            self.link.ask(&question, |answer| match answer {
                ServerReply::Done => Ok(()),
                _ => Err(Errno::EIO),
            })
        });
        match done {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    /// Whether these are the mount's owner, who owns everything; nobody else can.
    fn is_owned(&self, uid: Option<u32>, gid: Option<u32>) -> bool {
        uid.is_none_or(|uid| uid == self.owner.0) && gid.is_none_or(|gid| gid == self.owner.1)
    }

    /// Answers a question why, as the text of a short-lived symbolic link.
    fn why(&self, directory: u64, name: &[u8]) -> Result<FileAttr, Errno> {
        let name = (!name.is_empty()).then(|| FileName::of(name)).transpose().map_err(|_| Errno::EINVAL)?;
        let text = self.link.ask(&ClientRequest::Why { object: directory, name }, |answer| match answer {
            ServerReply::Bytes { bytes, .. } => Ok(bytes.to_vec()),
            _ => Err(Errno::EIO),
        })?;
        let size = text.len() as u64;
        let object = self.answers.keep(text);
        Ok(self.attr(&Attributes { object, size, names: 1, mode: 0o777, kind: FileType::Link, ..ABSENT }))
    }

    /// Contents that came with the name, if they are still valid.
    fn kept(&self, object: u64, offset: u64) -> Option<Vec<u8>> {
        let (bytes, since) = self.contents.take(object)?;
        let may = offset == 0 && !self.link.left().is_zero() && self.kernel.holds(object, since);
        may.then(|| {
            self.tally.add(Count::BytesRead, bytes.len() as u64);
            bytes
        })
    }

    fn commit(&self, object: u64, reply: ReplyEmpty) {
        self.tally.add(Count::Commits, 1);
        self.done(Ok(ClientRequest::Commit { object }), reply);
    }
}

impl fuser::Filesystem for Filesystem {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let refused = NO_LOCKS.into_iter().filter(|_| !self.has_locks);
        for flag in WANTED.into_iter().chain(refused) {
            let there = config.add_capabilities(flag);
            // Without it old pages would be read for ever.
            if flag == InitFlags::FUSE_AUTO_INVAL_DATA && there.is_err() {
                return Err(io::ErrorKind::Unsupported.into());
            }
        }
        let _ = config.set_max_write(MOST_DATA_BYTES);
        let _ = config.set_max_readahead(MOST_DATA_BYTES);
        let _ = config.set_max_background(BACKGROUND);
        Ok(())
    }

    fn destroy(&mut self) {
        let _ = self.over.send(MountEvent::Over);
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.tally.add(Count::Lookups, 1);
        if let Some(asked) = why::asked(name) {
            return match self.why(parent.0, asked) {
                Ok(attr) => reply.entry_with_ttls(&Duration::ZERO, &Duration::ZERO, &attr, GENERATION),
                Err(error) => reply.error(error),
            };
        }
        let (since, changes) = (self.kernel.now(), self.contents.changes());
        let found = self::name(name).and_then(|name| {
            self.link.ask(&ClientRequest::Lookup { directory: parent.0, name }, |answer| match answer {
                ServerReply::Attributes { attributes, leased, contents } => {
                    self.contents.keep(attributes.object, contents, (since, changes));
                    Ok(self.tell(&attributes, leased, since))
                }
                ServerReply::Absent { leased } => {
                    Ok((Duration::ZERO, self.named(leased), self.attr(&ABSENT), None))
                }
                _ => Err(Errno::EIO),
            })
        });
        match found {
            Ok((believed, named, attr, _telling)) => {
                reply.entry_with_ttls(&believed, &named, &attr, GENERATION)
            }
            Err(error) => reply.error(error),
        }
    }

    fn forget(&self, _: &Request, object: INodeNo, count: u64) {
        if self.answers.forget(object.0) {
            return;
        }
        self.tally.add(Count::Forgotten, 1);
        self.link.forgot(object.0, count);
    }

    fn getattr(&self, _: &Request, object: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.tally.add(Count::Attributes, 1);
        match self.known(&ClientRequest::Attributes { object: object.0 }) {
            Ok((believed, attr)) => reply.attr(&believed, &attr),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        object: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.tally.add(Count::Changes, 1);
        if !self.is_owned(uid, gid) || mode.is_some_and(|mode| mode & 0o6000 != 0) {
            return reply.error(Errno::EPERM);
        }
        let new = New { mode: mode.map(permissions), size, atime: times(atime), mtime: times(mtime) };
        let question = match new == New::default() {
            true => ClientRequest::Attributes { object: object.0 },
            false => ClientRequest::SetAttributes { object: object.0, new },
        };
        let known = self.known(&question);
        self.contents.changed(object.0);
        match known {
            Ok((believed, attr)) => reply.attr(&believed, &attr),
            Err(error) => reply.error(error),
        }
    }

    fn readlink(&self, _: &Request, object: INodeNo, reply: ReplyData) {
        if let Some(answer) = self.answers.get(object.0) {
            return reply.data(answer.as_bytes());
        }
        self.tally.add(Count::Links, 1);
        let target = self.link.ask(&ClientRequest::ReadLink { object: object.0 }, |answer| match answer {
            ServerReply::Bytes { bytes, .. } => Ok(bytes.to_vec()),
            _ => Err(Errno::EIO),
        });
        match target {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(error),
        }
    }

    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        if mode & libc::S_IFMT != libc::S_IFREG {
            return reply.error(Errno::EPERM);
        }
        let (directory, mode) = (parent.0, permissions(mode));
        let question =
            |name| ClientRequest::Create { directory, name, mode, exclusive: true, truncate: false };
        self.make(self::name(name).map(question), reply);
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        let mode = permissions(mode);
        let question = |name| ClientRequest::MakeDirectory { directory: parent.0, name, mode };
        self.make(self::name(name).map(question), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.tally.add(Count::Changes, 1);
        self.done(self::name(name).map(|name| ClientRequest::Remove { directory: parent.0, name }), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.tally.add(Count::Changes, 1);
        self.done(
            self::name(name).map(|name| ClientRequest::RemoveDirectory { directory: parent.0, name }),
            reply,
        );
    }

    fn symlink(&self, _: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let target = target.as_os_str().as_bytes();
        let question = |name| ClientRequest::SymLink { directory: parent.0, name, target };
        self.make(self::name(name).map(question), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        self.tally.add(Count::Changes, 1);
        let way = match flags {
            flags if flags.is_empty() => Way::Replace,
            RenameFlags::RENAME_NOREPLACE => Way::NoReplace,
            RenameFlags::RENAME_EXCHANGE => Way::Exchange,
            _ => return reply.error(Errno::EINVAL),
        };
        let names = self::name(name).and_then(|name| Ok((name, self::name(new_name)?)));
        let question = names.map(|(name, new_name)| ClientRequest::Rename {
            from: parent.0,
            name,
            to: to.0,
            new_name,
            way,
        });
        self.done(question, reply);
    }

    fn link(&self, _: &Request, object: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let question = |name| ClientRequest::Link { object: object.0, directory: parent.0, name };
        self.make(self::name(name).map(question), reply);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.tally.add(Count::Opens, 1);
        reply.error(Errno::ENOSYS);
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        self.tally.add(Count::Changes, 1);
        let made = self::name(name).and_then(|name| {
            self.told(&ClientRequest::Create {
                directory: parent.0,
                name,
                mode: permissions(mode),
                exclusive: flags & libc::O_EXCL != 0,
                truncate: flags & libc::O_TRUNC != 0,
            })
        });
        if let Ok((_, _, attr, _)) = &made {
            self.contents.changed(attr.ino.0);
        }
        match made {
            // FUSE has a single time for both here.
            Ok((believed, named, attr, _telling)) => reply.created(
                &believed.min(named),
                &attr,
                GENERATION,
                FileHandle(0),
                FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH,
            ),
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        object: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.tally.add(Count::Reads, 1);
        let range = (offset, size.into());
        let own = self.kernel.order().reads(object.0, range);
        let reply = match self.kept(object.0, offset) {
            Some(bytes) => {
                reply.data(bytes.get(..size as usize).unwrap_or(&bytes));
                return own.keeps();
            }
            None => reply,
        };
        let mut reply = Some(reply);
        let reading = self.kernel.uses().reads(object.0);
        let since = self.kernel.now();
        let question = ClientRequest::Read { object: object.0, offset, length: size.min(MOST_DATA_BYTES) };
        let read = loop {
            let read = self.link.ask(&question, |answer| match answer {
                // It is being changed, and a break is on its way to us, or our acknowledgement is to the server.
                ServerReply::Bytes { leased: false, .. } if !self.kernel.uses().owes(object.0) => Ok(None),
                ServerReply::Bytes { bytes, leased, .. } => {
                    self.tally.add(Count::BytesRead, bytes.len() as u64);
                    reply.take().into_iter().for_each(|reply| reply.data(bytes));
                    Ok(Some(leased))
                }
                _ => Err(Errno::EIO),
            });
            match read {
                Ok(None) => thread::sleep(CROSSING),
                Ok(Some(leased)) => break Ok(leased),
                Err(error) => break Err(error),
            }
        };
        match (read, reply) {
            (Err(error), Some(reply)) => reply.error(error),
            (Ok(leased), _) if leased && self.kernel.holds(object.0, since) => own.keeps(),
            // It was read while somebody changes it: the page was needed, and is dropped again.
            _ => self.kernel.drop_read(object.0, range, (reading, own)),
        }
    }

    fn write(
        &self,
        _: &Request,
        object: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        how: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.tally.add(Count::Writes, 1);
        let _writing = self.kernel.uses().writes(object.0);
        // Pages that were changed through a mapping have an offset of their own, and the kernel reads none of them before
        // they are written.
        let is_mapped = how.contains(WriteFlags::FUSE_WRITE_CACHE);
        let append = flags.0 & libc::O_APPEND != 0 && !is_mapped;
        let bytes = if append { u64::MAX } else { data.len() as u64 };
        let own = (!is_mapped).then(|| self.kernel.order().writes(object.0, (offset, bytes)));
        let question = ClientRequest::Write { object: object.0, offset, append, bytes: data };
        let written = self.link.ask(&question, |answer| match answer {
            ServerReply::Written { length, .. } => Ok(length),
            _ => Err(Errno::EIO),
        });
        self.contents.changed(object.0);
        own.iter().for_each(|own| self.kernel.drop_beside(object.0, own));
        match written {
            Ok(length) => {
                self.tally.add(Count::BytesWritten, length.into());
                reply.written(length);
            }
            Err(error) => reply.error(error),
        }
    }

    fn fsync(&self, _: &Request, object: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.commit(object.0, reply);
    }

    fn fsyncdir(&self, _: &Request, object: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.commit(object.0, reply);
    }

    fn readdir(&self, _: &Request, object: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        self.tally.add(Count::Lists, 1);
        for (cookie, dots) in [(1, "."), (2, "..")] {
            if offset < cookie && reply.add(object, cookie, FuseFileType::Directory, dots) {
                return reply.ok();
            }
        }
        let question = ClientRequest::List { directory: object.0, cookie: offset, most_bytes: LIST_BYTES };
        let listed = self.link.ask(&question, |answer| {
            let ServerReply::Entries { bytes, .. } = answer else { return Err(Errno::EIO) };
            for entry in entries(bytes) {
                let entry = entry.map_err(|_| Errno::EIO)?;
                // The real number comes when the name is looked up; here it only must not be 0.
                if reply.add(INodeNo(entry.cookie), entry.cookie, file_type(entry.kind), entry.name.os()) {
                    break;
                }
            }
            Ok(())
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let space = self.link.ask(&ClientRequest::Space, |answer| match answer {
            ServerReply::Space(space) => Ok(space),
            _ => Err(Errno::EIO),
        });
        match space {
            Ok(Space { block_bytes, blocks, free, available, objects, free_objects }) => {
                let longest = FileName::MOST_BYTES as u32;
                reply.statfs(
                    blocks,
                    free,
                    available,
                    objects,
                    free_objects,
                    block_bytes,
                    longest,
                    block_bytes,
                );
            }
            Err(error) => reply.error(error),
        }
    }

    fn setlk(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: LockOwner,
        _: u64,
        _: u64,
        kind: i32,
        _: u32,
        _: bool,
        reply: ReplyEmpty,
    ) {
        // Closing a file unlocks it, whether it was locked or not.
        match kind == libc::F_UNLCK {
            true => reply.ok(),
            false => reply.error(Errno::ENOLCK),
        }
    }
}

fn name(name: &OsStr) -> Result<FileName<'_>, Errno> {
    let bytes = name.as_bytes();
    FileName::of(bytes)
        .map_err(|_| if bytes.len() > FileName::MOST_BYTES { Errno::ENAMETOOLONG } else { Errno::EINVAL })
}

fn permissions(mode: u32) -> u16 {
    (mode & 0o1777) as u16
}

fn times(times: Option<TimeOrNow>) -> TimeUpdate {
    match times {
        None => TimeUpdate::Kept,
        Some(TimeOrNow::Now) => TimeUpdate::Now,
        Some(TimeOrNow::SpecificTime(time)) => TimeUpdate::At(moment(time)),
    }
}

fn moment(time: SystemTime) -> FileTime {
    let whole = |seconds: u64| i64::try_from(seconds).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => FileTime { s: whole(since.as_secs()), ns: since.subsec_nanos() },
        Err(before) => match (whole(before.duration().as_secs()), before.duration().subsec_nanos()) {
            (s, 0) => FileTime { s: -s, ns: 0 },
            (s, ns) => FileTime { s: -s - 1, ns: 1_000_000_000 - ns },
        },
    }
}

fn time(moment: FileTime) -> SystemTime {
    let whole = Duration::from_secs(moment.s.unsigned_abs());
    let whole = if moment.s < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    whole.and_then(|whole| whole.checked_add(Duration::from_nanos(moment.ns.into()))).unwrap_or(UNIX_EPOCH)
}

fn file_type(kind: FileType) -> FuseFileType {
    match kind {
        FileType::File => FuseFileType::RegularFile,
        FileType::Directory => FuseFileType::Directory,
        FileType::Link => FuseFileType::Symlink,
    }
}

/// Attributes of a missing name: number 0 says so.
const ABSENT: Attributes = Attributes {
    object: 0,
    size: 0,
    blocks: 0,
    atime: FileTime { s: 0, ns: 0 },
    mtime: FileTime { s: 0, ns: 0 },
    ctime: FileTime { s: 0, ns: 0 },
    names: 0,
    mode: 0,
    kind: FileType::File,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_come_back() {
        for (s, ns) in [(0, 0), (-1, 999_999_999), (-7, 0), (1_700_000_000, 5)] {
            let there = FileTime { s, ns };
            assert_eq!(moment(time(there)), there);
        }
    }
}
