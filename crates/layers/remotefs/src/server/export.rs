//! Execution of requests on the export.
//!
//! Measured side, server process, hot: once a request, fed by strangers. Owns the effect of a request on the export.
//! `coherence` decides when it may happen, `objects` which inode it means. Everything is done with descriptors and
//! single names.

use super::coherence::Coherence;
use super::counters::{Count, ServerCounters};
use super::error::No;
use super::guard::Guard;
use super::listings::{Listed, Listing, Listings};
use super::objects::{Object, Objects, ROOT, attributes, by_name, open_name, permissions};
use crate::frame::{
    Attributes, BreakScope, ClientRequest, DirectoryEntry, Entries, FileName, FileType, MOST_SMALL_BYTES,
    New, ServerReply, Space, TimeUpdate, Way,
};
use crate::lease::{Key, ObjectNumber, SessionNumber};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, RenameFlags, openat2, readlinkat, renameat2};
use nix::sys::stat::{UtimensatFlags, mkdirat, utimensat};
use nix::sys::statvfs::fstatvfs;
use nix::sys::time::TimeSpec;
use nix::unistd::{UnlinkatFlags, linkat, symlinkat, unlinkat};
use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, OpenOptions, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Change of names in a directory.
pub(super) const NAMES: BreakScope = BreakScope { contents: false, names: true };
/// Change of bytes of a file.
pub(super) const CONTENTS: BreakScope = BreakScope { contents: true, names: false };
/// Change of attributes alone.
pub(super) const ATTRIBUTES: BreakScope = BreakScope { contents: false, names: false };

/// Bit in the mode shown to a session: it may read the file.
const READABLE: u16 = 0o400;

/// An exported directory.
pub(super) struct Export {
    objects: Arc<Objects>,
    coherence: Arc<Coherence>,
    tally: Arc<ServerCounters>,
    /// Access control; without it everybody may do everything.
    guard: Option<Guard>,
    listings: Listings,
}

/// A session, and its request.
type Asked<'r> = (SessionNumber, &'r ClientRequest<'r>);

/// Object that a request made or looked up.
type FoundObject = (Attributes, bool);

impl Export {
    pub(super) fn new(
        objects: Arc<Objects>,
        coherence: Arc<Coherence>,
        tally: Arc<ServerCounters>,
        guard: Option<Guard>,
    ) -> Self {
        Self { objects, coherence, tally, guard, listings: Listings::default() }
    }

    /// Carries out a request, and appends the answer to `out`. Requests that belong on other connections or to other
    /// times are answered like unknown ones.
    pub(super) fn serve(
        &self,
        session: SessionNumber,
        request: &ClientRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), No> {
        self.allow(session, request)?;
        let told =
            |told: FoundObject| ServerReply::Attributes { attributes: told.0, leased: told.1, contents: &[] };
        let answer = match *request {
            ClientRequest::Read { object, offset, length } => {
                return self.read(session, object, offset, length, out);
            }
            ClientRequest::List { directory, cookie, most_bytes } => {
                return self.list(session, directory, cookie, most_bytes, out);
            }
            ClientRequest::ReadLink { object } => return self.read_link(session, object, out),
            ClientRequest::Why { object, name } => {
                let guard = self.guard.as_ref().ok_or(Errno::EOPNOTSUPP)?;
                let text = guard.why(session, object, name)?;
                ServerReply::Bytes { bytes: text.as_bytes(), leased: false, end: true }.put(out);
                return Ok(());
            }
            ClientRequest::Lookup { directory, name } => return self.lookup(session, (directory, name), out),
            ClientRequest::Attributes { object } => told(self.attributes(session, object)?),
            ClientRequest::SetAttributes { object, new } => {
                told(self.set_attributes((session, request), object, &new)?)
            }
            ClientRequest::Space => ServerReply::Space(self.space()?),
            ClientRequest::Write { object, offset, append, bytes } => {
                self.write((session, request), object, (!append).then_some(offset), bytes)?
            }
            ClientRequest::Commit { object } => self.commit(object)?,
            ClientRequest::Create { directory, name, mode, exclusive, truncate } => {
                told(self.create((session, request), (directory, name), mode, (exclusive, truncate))?)
            }
            ClientRequest::MakeDirectory { directory, name, mode } => {
                told(self.make((session, request), (directory, name), |parent| {
                    Ok(mkdirat(parent, name.os(), permissions(mode))?)
                })?)
            }
            ClientRequest::SymLink { directory, name, target } => {
                told(self.make((session, request), (directory, name), |parent| {
                    Ok(symlinkat(OsStr::from_bytes(target), parent, name.os())?)
                })?)
            }
            ClientRequest::Link { object, directory, name } => {
                told(self.link((session, request), object, (directory, name))?)
            }
            ClientRequest::Remove { directory, name } => {
                self.remove((session, request), (directory, name), UnlinkatFlags::NoRemoveDir)?
            }
            ClientRequest::RemoveDirectory { directory, name } => {
                self.remove((session, request), (directory, name), UnlinkatFlags::RemoveDir)?
            }
            ClientRequest::Rename { from, name, to, new_name, way } => {
                self.rename((session, request), (from, name), (to, new_name), way)?
            }
            ClientRequest::Hello { .. }
            | ClientRequest::Ping { .. }
            | ClientRequest::Ack { .. }
            | ClientRequest::Forget { .. }
            | ClientRequest::Bye => {
                return Err(Errno::EPROTO.into());
            }
        };
        answer.put(out);
        Ok(())
    }

    /// Makes a change that the session was allowed. If it had to wait for others the rights are asked again: they may
    /// have moved what it is about, or the list may be another by now.
    fn change<T>(
        &self,
        (session, request): Asked<'_>,
        keys: impl Fn() -> Result<Vec<Key>, No>,
        make: impl FnOnce() -> Result<T, No>,
    ) -> Result<T, No> {
        self.coherence.change(session, keys, |has_waited| {
            if let Some(guard) = self.guard.as_ref().filter(|_| has_waited) {
                guard.allow(session, request)?;
            }
            make()
        })
    }

    fn allow(&self, session: SessionNumber, request: &ClientRequest<'_>) -> Result<(), No> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard.allow(session, request))
    }

    fn lookup(
        &self,
        session: SessionNumber,
        (directory, name): (ObjectNumber, FileName<'_>),
        out: &mut Vec<u8>,
    ) -> Result<(), No> {
        self.tally.add(Count::Lookups, 1);
        let parent = self.objects.find(directory)?;
        let leased = self.coherence.ask(session, &[directory])?;
        let opened = self.objects.opened(&parent)?;
        match open_name(&opened.path, name) {
            Ok(path) => {
                let (attributes, its) = self.tell(session, (directory, name), path)?;
                let mut room = [0; MOST_SMALL_BYTES];
                let contents = if its { self.small(session, &attributes, &mut room) } else { &[] };
                ServerReply::Attributes { attributes, leased: leased && its, contents }.put(out);
            }
            Err(No::Kernel(Errno::ENOENT)) => {
                self.guard.as_ref().map_or(Ok(()), |guard| guard.sees(session, (directory, name)))?;
                ServerReply::Absent { leased }.put(out);
            }
            Err(no) => return Err(no),
        }
        Ok(())
    }

    /// Contents of a small file that the session may read: a client that looks up its name mostly reads it then. On
    /// any failure it is empty, and the error shows when they are asked for.
    /// error, and is found out when they are asked for.
    fn small<'r>(&self, session: SessionNumber, told: &Attributes, room: &'r mut [u8]) -> &'r [u8] {
        let fits = (1..=room.len() as u64).contains(&told.size);
        if told.kind != FileType::File || !fits || told.mode & READABLE == 0 {
            return &[];
        }
        let Attributes { object: number, .. } = *told;
        let mut read = || -> Result<usize, No> {
            self.allow(
                session,
                &ClientRequest::Read { object: number, offset: 0, length: told.size as u32 },
            )?;
            let opened = self.objects.opened(&*self.objects.find(number)?)?;
            Ok(read_full(opened.reads()?, room, 0)?)
        };
        let length = read().unwrap_or(0);
        self.tally.add(Count::BytesRead, length as u64);
        // If it grew meanwhile, the contents are not complete.
        room.get(..length).filter(|bytes| bytes.len() as u64 == told.size).unwrap_or_default()
    }

    fn attributes(&self, session: SessionNumber, number: ObjectNumber) -> Result<FoundObject, No> {
        self.tally.add(Count::Attributes, 1);
        let object = self.objects.find(number)?;
        let leased = self.coherence.ask(session, &[number])?;
        Ok((self.now(session, &object)?, leased))
    }

    /// Its present attributes, as shown to the session.
    fn now(&self, session: SessionNumber, object: &Object) -> Result<Attributes, No> {
        let now = attributes(object, &self.objects.opened(object)?.path.metadata()?);
        self.guard.as_ref().map_or(Ok(now), |guard| guard.effective(session, object, now))
    }

    /// Tells the session of the object behind a descriptor.
    fn tell(
        &self,
        session: SessionNumber,
        place: (ObjectNumber, FileName<'_>),
        path: File,
    ) -> Result<FoundObject, No> {
        let object = self.objects.tell(session, place, path)?;
        let told = self.coherence.ask(session, &[object.number]);
        let told = told.and_then(|leased| Ok((self.now(session, &object)?, leased)));
        // The session does not learn of it after all.
        told.inspect_err(|_| self.forget(session, object.number, 1))
    }

    /// Counts that the session has forgotten an object.
    pub(super) fn forget(&self, session: SessionNumber, number: ObjectNumber, count: u64) {
        if self.objects.forget(session, number, count) {
            self.coherence.release(session, number);
        }
    }

    fn set_attributes(
        &self,
        (session, request): Asked<'_>,
        number: ObjectNumber,
        new: &New,
    ) -> Result<FoundObject, No> {
        let object = self.objects.find(number)?;
        let what = if new.size.is_some() { CONTENTS } else { ATTRIBUTES };
        self.change(
            (session, request),
            || Ok(vec![(number, what)]),
            || {
                self.set(&object, new)?;
                Ok((self.now(session, &object)?, self.coherence.ask(session, &[number])?))
            },
        )
    }

    fn set(&self, object: &Object, new: &New) -> Result<(), No> {
        let opened = self.objects.opened(object)?;
        match (object.kind, new.size) {
            (_, None) => {}
            (FileType::File, Some(size)) => opened.writes()?.set_len(size)?,
            (FileType::Directory, Some(_)) => return Err(Errno::EISDIR.into()),
            (FileType::Link, Some(_)) => return Err(Errno::EINVAL.into()),
        }
        let times = (new.atime, new.mtime) != (TimeUpdate::Kept, TimeUpdate::Kept);
        if object.kind == FileType::Link && new.mode.is_some() {
            return Err(Errno::EOPNOTSUPP.into());
        }
        if let Some(mode) = new.mode {
            fs::set_permissions(opened.link(), Permissions::from_mode(mode.into()))?;
        }
        if times {
            // The descriptor's name is followed; a link that it leads to is not.
            let (atime, mtime) = (time(new.atime), time(new.mtime));
            utimensat(AT_FDCWD, opened.link().as_path(), &atime, &mtime, UtimensatFlags::FollowSymlink)?;
        }
        Ok(())
    }

    fn read_link(&self, session: SessionNumber, number: ObjectNumber, out: &mut Vec<u8>) -> Result<(), No> {
        let object = self.of_kind(number, FileType::Link)?;
        let leased = self.coherence.ask(session, &[number])?;
        let target = readlinkat(&self.objects.opened(&object)?.path, "")?;
        ServerReply::Bytes { bytes: target.as_bytes(), leased, end: true }.put(out);
        Ok(())
    }

    fn space(&self) -> Result<Space, No> {
        let root = self.objects.find(ROOT)?;
        let all = fstatvfs(&self.objects.opened(&root)?.path)?;
        Ok(Space {
            block_bytes: u32::try_from(all.fragment_size()).unwrap_or(4096),
            blocks: all.blocks(),
            free: all.blocks_free(),
            available: all.blocks_available(),
            objects: all.files(),
            free_objects: all.files_free(),
        })
    }

    fn read(
        &self,
        session: SessionNumber,
        number: ObjectNumber,
        offset: u64,
        length: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), No> {
        let object = self.of_kind(number, FileType::File)?;
        let leased = self.coherence.ask(session, &[number])?;
        let opened = self.objects.opened(&object)?;
        let file = opened.reads()?;
        ServerReply::put_bytes(out, length, leased, |room| {
            let read = read_full(file, room, offset)?;
            self.tally.add(Count::Reads, 1);
            self.tally.add(Count::BytesRead, read as u64);
            Ok((read, read < room.len()))
        })
    }

    fn write(
        &self,
        (session, request): Asked<'_>,
        number: ObjectNumber,
        offset: Option<u64>,
        bytes: &[u8],
    ) -> Result<ServerReply<'static>, No> {
        let object = self.of_kind(number, FileType::File)?;
        let write = || -> Result<ServerReply<'static>, No> {
            let opened = self.objects.opened(&object)?;
            let written = match offset {
                // A full disk may take a part, which is reported; the rest is then asked for again, and is an error.
                Some(offset) => {
                    let length = opened.writes()?.write_at(bytes, offset)?;
                    (length, offset + length as u64)
                }
                // A descriptor of its own: its position then is the end of these bytes.
                None => {
                    let mut file = OpenOptions::new().append(true).open(opened.link())?;
                    (file.write(bytes)?, file.stream_position()?)
                }
            };
            self.tally.add(Count::Writes, 1);
            self.tally.add(Count::BytesWritten, written.0 as u64);
            Ok(ServerReply::Written { length: u32::try_from(written.0).unwrap_or(u32::MAX), end: written.1 })
        };
        self.change((session, request), || Ok(vec![(number, CONTENTS)]), write)
    }

    fn commit(&self, number: ObjectNumber) -> Result<ServerReply<'static>, No> {
        self.tally.add(Count::Commits, 1);
        let object = self.objects.find(number)?;
        let opened = self.objects.opened(&object)?;
        match object.kind {
            FileType::Directory => File::open(opened.link())?.sync_all()?,
            FileType::File => opened.writes().or_else(|_| opened.reads())?.sync_data()?,
            FileType::Link => return Err(Errno::EINVAL.into()),
        }
        if object.is_new.swap(false, Ordering::Relaxed) {
            let synced = self
                .objects
                .find(object.parent())
                .and_then(|parent| Ok(File::open(self.objects.opened(&parent)?.link())?.sync_all()?));
            synced.inspect_err(|_| object.is_new.store(true, Ordering::Relaxed))?;
        }
        Ok(ServerReply::Done)
    }

    fn create(
        &self,
        (session, request): Asked<'_>,
        place: (ObjectNumber, FileName<'_>),
        mode: u16,
        (exclusive, truncate): (bool, bool),
    ) -> Result<FoundObject, No> {
        let flags = by_name(OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL).mode(permissions(mode));
        let mut was_there = false;
        let told =
            self.make((session, request), place, |parent| match openat2(parent, place.1.os(), flags) {
                Ok(_) => Ok(()),
                Err(Errno::EEXIST) if !exclusive => {
                    was_there = true;
                    Ok(())
                }
                Err(error) => Err(error.into()),
            })?;
        let number = told.0.object;
        if was_there && truncate && told.0.kind == FileType::File {
            // Under another of its names fewer rights may hold.
            let new = New { size: Some(0), ..New::default() };
            let emptying = ClientRequest::SetAttributes { object: number, new };
            let emptied = self
                .allow(session, &emptying)
                .and_then(|()| self.set_attributes((session, &emptying), number, &new));
            return emptied.inspect_err(|_| self.forget(session, number, 1));
        }
        if !was_there && let Ok(object) = self.objects.find(number) {
            object.is_new.store(true, Ordering::Relaxed);
        }
        Ok(told)
    }

    /// Makes an object in a directory by `make`; then tells of it.
    fn make(
        &self,
        (session, request): Asked<'_>,
        (directory, name): (ObjectNumber, FileName<'_>),
        make: impl FnOnce(&File) -> Result<(), No>,
    ) -> Result<FoundObject, No> {
        let parent = self.objects.find(directory)?;
        self.change(
            (session, request),
            || Ok(vec![(directory, NAMES)]),
            || {
                let opened = self.objects.opened(&parent)?;
                make(&opened.path)?;
                let leased = self.coherence.ask(session, &[directory])?;
                let path = open_name(&opened.path, name)?;
                let (attributes, its) = self.tell(session, (directory, name), path)?;
                Ok((attributes, leased && its))
            },
        )
    }

    fn link(
        &self,
        (session, request): Asked<'_>,
        number: ObjectNumber,
        (directory, name): (ObjectNumber, FileName<'_>),
    ) -> Result<FoundObject, No> {
        let (object, parent) = (self.objects.find(number)?, self.objects.find(directory)?);
        self.change(
            (session, request),
            || Ok(vec![(directory, NAMES), (number, self.of_moved())]),
            || {
                let (opened, its) = (self.objects.opened(&parent)?, self.objects.opened(&object)?);
                let flags = AtFlags::AT_SYMLINK_FOLLOW;
                linkat(AT_FDCWD, its.link().as_path(), &opened.path, name.os(), flags)?;
                self.has_moved(Some(&object));
                let leased = self.coherence.ask(session, &[directory])?;
                let (attributes, its) =
                    self.tell(session, (directory, name), open_name(&opened.path, name)?)?;
                Ok((attributes, leased && its))
            },
        )
    }

    /// The object that has a name now, if a session knows it.
    fn named(&self, (directory, name): (ObjectNumber, FileName<'_>)) -> Result<Option<Arc<Object>>, No> {
        let parent = self.objects.find(directory)?;
        let parent = self.objects.opened(&parent)?;
        self.objects.known(&open_name(&parent.path, name)?)
    }

    fn remove(
        &self,
        (session, request): Asked<'_>,
        place: (ObjectNumber, FileName<'_>),
        flag: UnlinkatFlags,
    ) -> Result<ServerReply<'static>, No> {
        let parent = self.objects.find(place.0)?;
        self.change(
            (session, request),
            || Ok(with([(place.0, NAMES)], [self.named(place)?.as_deref()], ATTRIBUTES)),
            || {
                let object = self.named(place)?;
                // Its descriptor stays for clients that have it open.
                let kept = object.as_deref().map(|object| self.objects.opened(object)).transpose()?;
                unlinkat(&self.objects.opened(&parent)?.path, place.1.os(), flag)?;
                self.may_be_gone(object.as_deref(), kept.is_some());
                Ok(ServerReply::Done)
            },
        )
    }

    fn rename(
        &self,
        (session, request): Asked<'_>,
        from: (ObjectNumber, FileName<'_>),
        to: (ObjectNumber, FileName<'_>),
        way: Way,
    ) -> Result<ServerReply<'static>, No> {
        let (old, new) = (self.objects.find(from.0)?, self.objects.find(to.0)?);
        let replaced = || match self.named(to) {
            Err(No::Kernel(Errno::ENOENT)) => Ok(None),
            other => other,
        };
        let flags = match way {
            Way::Replace => RenameFlags::empty(),
            Way::NoReplace => RenameFlags::RENAME_NOREPLACE,
            Way::Exchange => RenameFlags::RENAME_EXCHANGE,
        };
        self.change(
            (session, request),
            || {
                let (moved, replaced) = (self.named(from)?, replaced()?);
                let objects = [moved.as_deref(), replaced.as_deref()];
                Ok(with([(from.0, NAMES), (to.0, NAMES)], objects, self.of_moved()))
            },
            || {
                let (moved, replaced) = (self.named(from)?, replaced()?);
                let kept = replaced.as_deref().map(|object| self.objects.opened(object)).transpose()?;
                let (old, new) = (self.objects.opened(&old)?, self.objects.opened(&new)?);
                if let Some(guard) = &self.guard
                    && way == Way::Replace
                    && open_name(&new.path, to.1).is_ok()
                {
                    guard.may_replace(session, to)?;
                }
                renameat2(&old.path, from.1.os(), &new.path, to.1.os(), flags)?;
                if let Some(moved) = &moved {
                    moved.moved(to.0, to.1);
                }
                self.has_moved(moved.as_deref());
                match (replaced, way) {
                    (Some(other), Way::Exchange) => {
                        other.moved(from.0, from.1);
                        self.has_moved(Some(&other));
                    }
                    (other, _) => self.may_be_gone(other.as_deref(), kept.is_some()),
                }
                Ok(ServerReply::Done)
            },
        )
    }

    /// Parts of an object to break when its name changes: its bytes, too, if the name decides who may read them.
    const fn of_moved(&self) -> BreakScope {
        if self.guard.is_some() { CONTENTS } else { ATTRIBUTES }
    }

    /// Handles a new or changed name of an object.
    fn has_moved(&self, object: Option<&Object>) {
        if let Some(guard) = &self.guard {
            guard.moved(object, &self.coherence);
        }
    }

    /// Handles a name that somebody past us gave to an object, or took: decisions made by its names are void, and for
    /// a moved directory those about everything below it.
    pub(super) fn has_other_names(&self, object: &Object, moved: bool) {
        if moved || object.kind != FileType::Directory {
            self.has_moved(Some(object));
        }
    }

    /// Voids all answers and decisions, when it is unknown what has changed.
    pub(super) fn forget_all(&self) {
        match &self.guard {
            Some(guard) => guard.moved(None, &self.coherence),
            None => self.coherence.say_to_all(&ServerReply::Changed),
        }
    }

    /// Handles the loss of a name; if it was the last, the descriptor is all that is left of the object.
    fn may_be_gone(&self, object: Option<&Object>, is_open: bool) {
        let Some(object) = object.filter(|_| is_open) else { return };
        let names = self.objects.opened(object).and_then(|opened| Ok(opened.path.metadata()?));
        let names = names.map_or(0, |metadata| std::os::unix::fs::MetadataExt::nlink(&metadata));
        if names == 0 || object.kind == FileType::Directory {
            object.lost_its_names();
        }
    }

    fn list(
        &self,
        session: SessionNumber,
        directory: ObjectNumber,
        cookie: u64,
        most_bytes: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), No> {
        self.tally.add(Count::Lists, 1);
        let object = self.of_kind(directory, FileType::Directory)?;
        let leased = self.coherence.ask(session, &[directory])?;
        let key = (session, directory);
        let listing = match self.listings.rest(key, cookie) {
            Some(listing) => listing,
            None => Arc::new(read_listing(&self.objects.opened(&object)?.link())?),
        };
        let (mut entries, mut end) = (Entries::default(), true);
        let from = listing.partition_point(|(at, _, _)| *at <= cookie);
        for (cookie, kind, name) in listing.iter().skip(from) {
            let Ok(name) = FileName::of(name) else { continue };
            end = entries.add(&DirectoryEntry { cookie: *cookie, kind: *kind, name }, most_bytes);
            if !end {
                break;
            }
        }
        if !end {
            self.listings.keep(key, listing);
        }
        ServerReply::Entries { bytes: entries.bytes(), leased, end }.put(out);
        Ok(())
    }

    fn of_kind(&self, number: ObjectNumber, kind: FileType) -> Result<Arc<Object>, No> {
        let object = self.objects.find(number)?;
        match (object.kind, kind) {
            (is, wanted) if is == wanted => Ok(object),
            (FileType::Directory, _) => Err(Errno::EISDIR.into()),
            (_, FileType::Directory) => Err(Errno::ENOTDIR.into()),
            _ => Err(Errno::EINVAL.into()),
        }
    }
}

/// Keys of directories whose names change, and of objects that change otherwise.
fn with<const N: usize, const M: usize>(
    keys: [Key; N],
    objects: [Option<&Object>; M],
    what: BreakScope,
) -> Vec<Key> {
    let objects = objects.into_iter().flatten().map(|object| (object.number, what));
    keys.into_iter().chain(objects).collect()
}

/// All entries of a directory, in the order of their cookies.
fn read_listing(directory: &Path) -> io::Result<Listing> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        found.extend(listed(&entry?));
    }
    found.sort_unstable_by_key(|(cookie, _, _)| *cookie);
    Ok(found)
}

/// An entry with its cookie, if it is exported. Entries are listed in the order of a hash of their names. It does not
/// change when others come and go, so a reader that continues behind a cookie sees each lasting name once. Of two
/// names with the same hash, of 62 bits, both would be listed together or the second not at all.
fn listed(entry: &DirEntry) -> Option<Listed> {
    let kind = entry.file_type().ok().and_then(|kind| match kind {
        kind if kind.is_file() => Some(FileType::File),
        kind if kind.is_dir() => Some(FileType::Directory),
        kind if kind.is_symlink() => Some(FileType::Link),
        _ => None,
    });
    let name = entry.file_name().as_bytes().to_vec();
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    // The first two are for `.` and `..`, and FUSE's offsets are signed.
    let cookie = (hasher.finish() >> 2) + 3;
    kind.map(|kind| (cookie, kind, name))
}

/// Reads as many bytes as there are, up to the whole buffer.
fn read_full(file: &File, room: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn time(times: TimeUpdate) -> TimeSpec {
    match times {
        TimeUpdate::Kept => TimeSpec::UTIME_OMIT,
        TimeUpdate::Now => TimeSpec::UTIME_NOW,
        TimeUpdate::At(moment) => TimeSpec::new(moment.s, moment.ns.into()),
    }
}
