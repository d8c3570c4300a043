//! Objects of the export: their numbers, and the descriptors by which they are reached.
//!
//! Measured side, server process, hot. An object is an inode of the export that a client has been told of. Its number
//! is never another's while the server lives, nor one of an earlier start. It is reached by a descriptor that was
//! opened for nothing (`O_PATH`), by one name below its parent's: no path is ever resolved, no link followed, no
//! mount crossed. Opening for reading or writing goes through that descriptor, so that it is the very inode. When
//! there are too many descriptors the longest unused are closed, and opened again by parent and name; if another
//! inode is there then, the object is gone (ESTALE).
//!
//! Clients report what they forget, as their kernels do; an object that nobody knows has no number any more. A
//! removed file that a client still knows keeps its descriptor, and thereby its bytes.

use super::error::No;
use crate::frame::{Attributes, FileName, FileTime, FileType};
use crate::lease::{ObjectNumber, SessionNumber};
use crate::refusal::Refusal;
use bakeoff_layers_base::locks::lock;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::Mode;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{self, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

/// The export's own number, at every start.
pub(super) const ROOT: ObjectNumber = 1;
/// Limit on objects that one session may know: at some 300 bytes each, the memory that a client can make the server
/// use.
const MOST_OF_SESSION: usize = 1 << 20;
/// Limit on inodes of which several names are remembered, and on the names of one.
const MOST_LINKED: usize = 10_000;
const MOST_NAMES: usize = 64;
/// Limit on the depth of a path whose rights are decided.
const MOST_DEPTH: usize = 1000;
/// Limit on objects with descriptors. Each has three at most, and the limit of open files is mostly above four times
/// this.
const MOST_OPEN: usize = 8000;

/// Flags for looking up a name: one component, from a descriptor.
pub(super) fn by_name(flags: OFlag) -> OpenHow {
    OpenHow::new().flags(flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).resolve(
        ResolveFlag::RESOLVE_BENEATH
            | ResolveFlag::RESOLVE_NO_SYMLINKS
            | ResolveFlag::RESOLVE_NO_MAGICLINKS
            | ResolveFlag::RESOLVE_NO_XDEV,
    )
}

/// Opens a name in a directory for nothing.
pub(super) fn open_name(directory: &File, name: FileName<'_>) -> Result<File, No> {
    let opened = openat2(directory, name.os(), by_name(OFlag::O_PATH));
    match opened {
        Ok(file) => Ok(file.into()),
        Err(Errno::EXDEV) => Err(Refusal::OtherFileSystem.into()),
        Err(error) => Err(error.into()),
    }
}

/// Names from the export's root down.
pub(super) type Path = Vec<Vec<u8>>;

/// An inode, and its time of creation: inode numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    born: Option<SystemTime>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino(), born: metadata.created().ok() }
    }
}

/// An object with a number.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) number: ObjectNumber,
    pub(super) kind: FileType,
    identity: Identity,
    /// Last known place: the parent's number, and the name there.
    place: Mutex<(ObjectNumber, OsString)>,
    open: Mutex<Option<Arc<Opened>>>,
    used: AtomicU64,
    /// Whether it has no name any more: its descriptor is all that is left.
    removed: AtomicBool,
    /// Whether its name may not be on the disk yet.
    pub(super) is_new: AtomicBool,
}

impl Object {
    pub(super) fn parent(&self) -> ObjectNumber {
        lock(&self.place).0
    }

    pub(super) fn moved(&self, parent: ObjectNumber, name: FileName<'_>) {
        *lock(&self.place) = (parent, name.os().to_owned());
    }

    /// Marks it as reachable by its descriptor alone.
    pub(super) fn lost_its_names(&self) {
        self.removed.store(true, Ordering::Relaxed);
    }
}

/// Its descriptors.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) path: File,
    reads: OnceLock<File>,
    writes: OnceLock<File>,
}

impl Opened {
    fn new(path: File) -> Arc<Self> {
        Arc::new(Self { path, reads: OnceLock::new(), writes: OnceLock::new() })
    }

    /// The kernel's name for the descriptor; opening it opens the inode.
    pub(super) fn link(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.path.as_fd().as_raw_fd()))
    }

    /// Descriptor for reading. Only of a regular file.
    pub(super) fn reads(&self) -> io::Result<&File> {
        self.once(&self.reads, OpenOptions::new().read(true))
    }

    /// Descriptor for writing. Only of a regular file.
    pub(super) fn writes(&self) -> io::Result<&File> {
        self.once(&self.writes, OpenOptions::new().write(true))
    }

    fn once<'o>(&self, kept: &'o OnceLock<File>, how: &mut OpenOptions) -> io::Result<&'o File> {
        if let Some(file) = kept.get() {
            return Ok(file);
        }
        let file = how.custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY).open(self.link())?;
        Ok(kept.get_or_init(|| file))
    }
}

#[derive(Debug, Default)]
struct Inner {
    by_number: HashMap<ObjectNumber, Known>,
    by_inode: HashMap<(u64, u64), ObjectNumber>,
    /// Number of times that each session was told of each object.
    told: HashMap<SessionNumber, HashMap<ObjectNumber, u64>>,
    /// Known names of inodes with several; a session's rights to one are the least of all.
    linked: HashMap<(u64, u64), Vec<(ObjectNumber, OsString)>>,
    last: ObjectNumber,
}

#[derive(Debug)]
struct Known {
    object: Arc<Object>,
    /// Number of sessions that know it.
    by: usize,
}

/// All objects of an export.
#[derive(Debug)]
pub(super) struct Objects {
    inner: Mutex<Inner>,
    open: AtomicUsize,
    most_open: usize,
    clock: AtomicU64,
}

impl Objects {
    /// For the export at `path`; numbers follow from `boot`, which no other start has.
    pub(super) fn new(path: &path::Path, boot: u64, open_files: u64) -> io::Result<Self> {
        let flags = nix::libc::O_PATH | nix::libc::O_DIRECTORY;
        let root = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let metadata = root.metadata()?;
        let object = Object {
            number: ROOT,
            kind: FileType::Directory,
            identity: Identity::of(&metadata),
            place: Mutex::new((ROOT, OsString::new())),
            open: Mutex::new(Some(Opened::new(root))),
            used: AtomicU64::new(0),
            removed: AtomicBool::new(false),
            is_new: AtomicBool::new(false),
        };
        // 31 bits of the start, 32 of a counter: below 2^63, and none is 1.
        let mut inner = Inner { last: (boot >> 33 | 1) << 32, ..Inner::default() };
        inner.by_inode.insert((metadata.dev(), metadata.ino()), ROOT);
        inner.by_number.insert(ROOT, Known { object: Arc::new(object), by: 1 });
        let most_open = usize::try_from(open_files / 4).map_or(MOST_OPEN, |most| most.min(MOST_OPEN));
        Ok(Self { inner: Mutex::new(inner), open: AtomicUsize::new(1), most_open, clock: AtomicU64::new(0) })
    }

    /// The object with this number.
    pub(super) fn find(&self, number: ObjectNumber) -> Result<Arc<Object>, No> {
        let inner = lock(&self.inner);
        Ok(inner.by_number.get(&number).ok_or(Refusal::NoObject)?.object.clone())
    }

    /// The object of this descriptor, if a session knows it.
    pub(super) fn known(&self, path: &File) -> Result<Option<Arc<Object>>, No> {
        let identity = Identity::of(&path.metadata()?);
        Ok(lock(&self.inner).same(identity))
    }

    /// Tells the session of the object behind a descriptor, by this name in this directory.
    pub(super) fn tell(
        &self,
        session: SessionNumber,
        (parent, name): (ObjectNumber, FileName<'_>),
        path: File,
    ) -> Result<Arc<Object>, No> {
        let metadata = path.metadata()?;
        let (identity, kind) = (Identity::of(&metadata), kind(&metadata)?);
        let object = {
            let mut inner = lock(&self.inner);
            let object = match inner.same(identity) {
                Some(object) => object,
                None => {
                    inner.last += 1;
                    Arc::new(Object {
                        number: inner.last,
                        kind,
                        identity,
                        place: Mutex::new((parent, name.os().to_owned())),
                        open: Mutex::new(None),
                        used: AtomicU64::new(0),
                        removed: AtomicBool::new(false),
                        is_new: AtomicBool::new(false),
                    })
                }
            };
            inner.told(session, &object)?;
            if metadata.nlink() > 1 && kind != FileType::Directory {
                let before = lock(&object.place).clone();
                inner.is_linked(identity, before);
                inner.is_linked(identity, (parent, name.os().to_owned()));
            }
            object
        };
        if object.number != ROOT {
            object.moved(parent, name);
        }
        self.keep_open(&object, path);
        Ok(object)
    }

    /// The object's descriptors, opened again if necessary.
    pub(super) fn opened(&self, object: &Object) -> Result<Arc<Opened>, No> {
        object.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        if let Some(opened) = lock(&object.open).clone() {
            return Ok(opened);
        }
        // Upwards to a directory that is open, as the root is, and down again: a tree may be deeper than a stack.
        let (mut closed, mut above) = (Vec::new(), self.find(object.parent())?);
        let mut directory = loop {
            if let Some(opened) = lock(&above.open).clone() {
                break opened;
            }
            let parent = self.find(above.parent())?;
            closed.push(std::mem::replace(&mut above, parent));
        };
        for object in closed.iter().rev() {
            directory = self.open_in(&directory, object)?;
        }
        self.open_in(&directory, object)
    }

    /// Opens an object again by its name in its directory.
    fn open_in(&self, directory: &Opened, object: &Object) -> Result<Arc<Opened>, No> {
        let name = lock(&object.place).1.clone();
        let name = FileName::of(name.as_bytes()).map_err(|_| Refusal::NoObject)?;
        let path = open_name(&directory.path, name).map_err(|_| Refusal::NoObject)?;
        if Identity::of(&path.metadata()?) != object.identity {
            return Err(Refusal::NoObject.into());
        }
        Ok(self.keep_open(object, path))
    }

    /// The known names of an object, each from the root down, and whether these are all.
    pub(super) fn paths(&self, object: &Object) -> Result<(Vec<Path>, bool), No> {
        if object.number == ROOT {
            return Ok((vec![Path::new()], true));
        }
        let names = self.opened(object)?.path.metadata()?.nlink();
        let place = lock(&object.place).clone();
        // A removed but open object is judged by the name that it had.
        if names == 0 {
            return Ok((vec![self.below(place.0, place.1.as_bytes())?], true));
        }
        let is_directory = object.kind == FileType::Directory;
        let key = (object.identity.device, object.identity.inode);
        let mut places =
            lock(&self.inner).linked.get(&key).filter(|_| !is_directory).cloned().unwrap_or_default();
        if !places.contains(&place) {
            places.push(place);
        }
        let there = places.iter().filter(|(parent, name)| self.leads(*parent, name, object.identity));
        let paths: Vec<Path> =
            there.filter_map(|(parent, name)| self.below(*parent, name.as_bytes()).ok()).collect();
        let wanted = if is_directory { 1 } else { names };
        match paths.len() as u64 {
            0 => Err(Refusal::NoObject.into()),
            found => Ok((paths, found >= wanted)),
        }
    }

    /// Path of a name in a directory, whether it exists or not.
    pub(super) fn below(&self, mut directory: ObjectNumber, name: &[u8]) -> Result<Path, No> {
        let mut names = vec![name.to_vec()];
        while directory != ROOT {
            let object = self.find(directory)?;
            let (parent, name) = lock(&object.place).clone();
            if names.len() >= MOST_DEPTH || !self.leads(parent, &name, object.identity) {
                return Err(Refusal::NoObject.into());
            }
            names.push(name.as_bytes().to_vec());
            directory = parent;
        }
        names.reverse();
        Ok(names)
    }

    /// Whether a name leads to this inode.
    fn leads(&self, parent: ObjectNumber, name: &OsStr, to: Identity) -> bool {
        let there = || -> Result<bool, No> {
            let parent = self.find(parent)?;
            let path = open_name(&self.opened(&parent)?.path, FileName::of(name.as_bytes())?)?;
            Ok(Identity::of(&path.metadata()?) == to)
        };
        there().unwrap_or(false)
    }

    /// Counts that the session has forgotten mentions of an object; returns whether it knows it no more.
    pub(super) fn forget(&self, session: SessionNumber, number: ObjectNumber, count: u64) -> bool {
        let mut inner = lock(&self.inner);
        let Some(told) = inner.told.get_mut(&session) else { return false };
        let Some(times) = told.get_mut(&number) else { return false };
        *times = times.saturating_sub(count);
        let is_over = *times == 0;
        if is_over {
            told.remove(&number);
            self.closed(inner.one_less(number));
        }
        is_over
    }

    /// Drops everything that the session knew.
    pub(super) fn end(&self, session: SessionNumber) {
        let mut inner = lock(&self.inner);
        for number in inner.told.remove(&session).into_iter().flat_map(HashMap::into_keys) {
            self.closed(inner.one_less(number));
        }
    }

    /// Number of objects.
    pub(super) fn count(&self) -> usize {
        lock(&self.inner).by_number.len()
    }

    /// Keeps a descriptor, unless there is one; returns the kept one.
    fn keep_open(&self, object: &Object, path: File) -> Arc<Opened> {
        let kept = {
            let mut open = lock(&object.open);
            match &*open {
                Some(opened) => return opened.clone(),
                None => open.insert(Opened::new(path)).clone(),
            }
        };
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.most_open {
            self.close_some();
        }
        kept
    }

    /// Closes a quarter of those that can be opened again, the longest unused first. Present users keep theirs.
    fn close_some(&self) {
        let reopened =
            |known: &&Known| known.object.number != ROOT && !known.object.removed.load(Ordering::Relaxed);
        let inner = lock(&self.inner);
        let mut objects: Vec<_> =
            inner.by_number.values().filter(reopened).map(|known| &known.object).collect();
        objects.retain(|object| lock(&object.open).is_some());
        objects.sort_by_cached_key(|object| object.used.load(Ordering::Relaxed));
        for object in objects.iter().take(self.most_open / 4 + 1) {
            if lock(&object.open).take().is_some() {
                self.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts the end of an object that had a descriptor.
    fn closed(&self, object: Option<Arc<Object>>) {
        if object.is_some_and(|object| lock(&object.open).take().is_some()) {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Inner {
    /// The object of this inode. An inode created later is another.
    fn same(&self, identity: Identity) -> Option<Arc<Object>> {
        let number = self.by_inode.get(&(identity.device, identity.inode))?;
        let object = &self.by_number.get(number)?.object;
        (object.identity == identity).then(|| object.clone())
    }

    fn told(&mut self, session: SessionNumber, object: &Arc<Object>) -> Result<(), No> {
        let number = object.number;
        let told = self.told.entry(session).or_default();
        if number == ROOT {
            return Ok(());
        }
        if told.len() >= MOST_OF_SESSION && !told.contains_key(&number) {
            return Err(Refusal::TooManyObjects.into());
        }
        let times = told.entry(number).or_insert(0);
        *times += 1;
        if *times == 1 {
            let (device, inode) = (object.identity.device, object.identity.inode);
            self.by_inode.insert((device, inode), number);
            let known = self.by_number.entry(number);
            known.or_insert_with(|| Known { object: object.clone(), by: 0 }).by += 1;
        }
        Ok(())
    }

    /// Notes a name of an inode with several. When too many are remembered all are forgotten: until they are looked
    /// up anew nobody may use them.
    fn is_linked(&mut self, identity: Identity, place: (ObjectNumber, OsString)) {
        let key = (identity.device, identity.inode);
        if self.linked.len() >= MOST_LINKED && !self.linked.contains_key(&key) {
            self.linked.clear();
        }
        let places = self.linked.entry(key).or_default();
        if places.contains(&place) {
            return;
        }
        if places.len() >= MOST_NAMES {
            places.remove(0);
        }
        places.push(place);
    }

    /// Counts one session less for an object; returns the object, if that was the last.
    fn one_less(&mut self, number: ObjectNumber) -> Option<Arc<Object>> {
        let known = self.by_number.get_mut(&number)?;
        known.by = known.by.saturating_sub(1);
        if known.by > 0 {
            return None;
        }
        let object = self.by_number.remove(&number)?.object;
        let inode = (object.identity.device, object.identity.inode);
        if self.by_inode.get(&inode) == Some(&number) {
            self.by_inode.remove(&inode);
        }
        Some(object)
    }
}

/// Its kind; other kinds are not exported.
pub(super) fn kind(metadata: &Metadata) -> Result<FileType, Refusal> {
    let kind = metadata.file_type();
    match (kind.is_file(), kind.is_dir(), kind.is_symlink()) {
        (true, _, _) => Ok(FileType::File),
        (_, true, _) => Ok(FileType::Directory),
        (_, _, true) => Ok(FileType::Link),
        _ => Err(Refusal::SpecialFile),
    }
}

/// Attributes as sent to clients.
pub(super) fn attributes(object: &Object, metadata: &Metadata) -> Attributes {
    let moment = |s, ns: i64| FileTime { s, ns: u32::try_from(ns).unwrap_or(0) };
    Attributes {
        object: object.number,
        size: metadata.size(),
        blocks: metadata.blocks(),
        atime: moment(metadata.atime(), metadata.atime_nsec()),
        mtime: moment(metadata.mtime(), metadata.mtime_nsec()),
        ctime: moment(metadata.ctime(), metadata.ctime_nsec()),
        names: u32::try_from(metadata.nlink()).unwrap_or(u32::MAX),
        mode: (metadata.mode() & 0o1777) as u16,
        kind: object.kind,
    }
}

/// Limits the permissions of new files.
pub(super) fn permissions(mode: u16) -> Mode {
    Mode::from_bits_truncate(u32::from(mode))
}
