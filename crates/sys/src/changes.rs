//! Changes of a file system, reported by fanotify after the fact: inode and directory, by file handles.
//!
//! Measured side, one call for many events. Owns the calls and the layout of their records (`fanotify(7)`,
//! `open_by_handle_at(2)`). Decides nothing.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Reports all changes of a file system.
#[derive(Debug)]
pub struct Changes {
    group: OwnedFd,
    /// A directory of the file system, by which handles are opened.
    place: OwnedFd,
    buffer: Vec<u8>,
}

/// An inode, as the file system names it: `struct file_handle`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Handle(Vec<u8>);

/// A report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeReport {
    /// Too much at once: some changes are not reported.
    Overflow,
    /// A change.
    Change(InodeChange),
}

/// A change of an inode, or of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InodeChange {
    /// The process that made it; 0 when it is in another pid namespace.
    pub pid: u32,
    /// Whether bytes of it changed.
    pub contents: bool,
    /// Whether it got a name, another, or lost one.
    pub named: bool,
    /// Whether the name went from one directory to another, or to another name.
    pub moved: bool,
    /// The inode, where the kernel says which.
    pub object: Option<Handle>,
    /// The directory of the name.
    pub directory: Option<Handle>,
}

const MADE: u64 = libc::FAN_CREATE;
const GONE: u64 = libc::FAN_DELETE;
const MOVED: u64 = libc::FAN_MOVED_FROM | libc::FAN_MOVED_TO;
const ALL: u64 = libc::FAN_MODIFY | libc::FAN_ATTRIB | MADE | GONE | MOVED | libc::FAN_ONDIR;
/// `FAN_REPORT_FID`, `_DIR_FID`, `_NAME` and `_TARGET_FID` of `linux/fanotify.h`.
const BY_HANDLE: libc::c_uint = 0x200 | 0x400 | 0x800 | 0x1000;
/// `FAN_EVENT_INFO_TYPE_FID`, `_DFID_NAME` and `_DFID`.
const FID: u8 = 1;
const DIRECTORIES: [u8; 2] = [2, 3];
/// Events that are read at once.
const BUFFER_BYTES: usize = 64 << 10;
/// Of `struct fanotify_event_metadata`; of the head of a record behind it, with the number of its file system.
const EVENT_BYTES: usize = size_of::<libc::fanotify_event_metadata>();
const RECORD_BYTES: usize = 4;
const HANDLE_AT: usize = RECORD_BYTES + 8;

impl Changes {
    /// Of the whole file system that a directory lies on.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `EINVAL` before Linux 5.17, `ENODEV`, `EOPNOTSUPP` or `EXDEV` of a file system
    /// that has no handles.
    pub fn of(directory: impl AsFd) -> io::Result<Self> {
        let place = directory.as_fd().try_clone_to_owned()?;
        let flags = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | BY_HANDLE;
        // SAFETY: fanotify_init takes integers and returns a new descriptor or -1.
        let group = unsafe { libc::fanotify_init(flags, libc::O_CLOEXEC as libc::c_uint) };
        if group < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that was just made and that nobody else owns.
        let group = unsafe { OwnedFd::from_raw_fd(group) };
        let how = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
        // SAFETY: without a path the mark is put on what the descriptor stands for; it is open.
        let done =
            unsafe { libc::fanotify_mark(group.as_raw_fd(), how, ALL, place.as_raw_fd(), std::ptr::null()) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { group, place, buffer: vec![0; BUFFER_BYTES] })
    }

    /// Waits for changes.
    ///
    /// # Errors
    /// What the kernel reports.
    pub fn read(&mut self) -> io::Result<Vec<ChangeReport>> {
        let (room, length) = (self.buffer.as_mut_ptr().cast(), self.buffer.len());
        // SAFETY: the buffer is writable for the length that is given.
        let read = unsafe { libc::read(self.group.as_raw_fd(), room, length) };
        if read < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(events(self.buffer.get(..read as usize).unwrap_or_default()))
    }

    /// Opens an inode with `O_PATH`; it may be gone (`ESTALE`).
    ///
    /// # Errors
    /// What the kernel reports; `EPERM` without `CAP_DAC_READ_SEARCH`.
    pub fn open(&self, handle: &Handle) -> io::Result<OwnedFd> {
        // Aligned as `struct file_handle` is.
        let mut words = vec![0_u32; handle.0.len().div_ceil(4)];
        for (word, bytes) in words.iter_mut().zip(handle.0.chunks(4)) {
            let mut whole = [0; 4];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u32::from_ne_bytes(whole);
        }
        let flags = libc::O_PATH | libc::O_CLOEXEC;
        // SAFETY: the record begins with its length, which `handle` has checked, and lives through the call.
        let fd = unsafe { libc::open_by_handle_at(self.place.as_raw_fd(), words.as_mut_ptr().cast(), flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that was just made and that nobody else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// All events that were read; a malformed one ends them.
fn events(mut bytes: &[u8]) -> Vec<ChangeReport> {
    let mut told = Vec::new();
    while let Some((event, rest)) = event(bytes) {
        told.push(event);
        bytes = rest;
    }
    told
}

/// One event, and the bytes behind it.
fn event(bytes: &[u8]) -> Option<(ChangeReport, &[u8])> {
    let length = number(bytes, 0)? as usize;
    let (mask, pid) = (u64::from_ne_bytes(bytes.get(8..16)?.try_into().ok()?), number(bytes, 20)?);
    let (whole, rest) = bytes.split_at_checked(length).filter(|_| length >= EVENT_BYTES)?;
    if mask & libc::FAN_Q_OVERFLOW != 0 {
        return Some((ChangeReport::Overflow, rest));
    }
    let mut change = InodeChange {
        pid,
        contents: mask & libc::FAN_MODIFY != 0,
        named: mask & (MADE | GONE | MOVED) != 0,
        moved: mask & MOVED != 0,
        object: None,
        directory: None,
    };
    let mut records = whole.get(EVENT_BYTES..)?;
    while let Some(&[kind, _, low, high]) = records.first_chunk() {
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let (record, behind) = records.split_at_checked(length).filter(|_| length >= RECORD_BYTES)?;
        match kind {
            FID => change.object = handle(record),
            kind if DIRECTORIES.contains(&kind) => change.directory = handle(record),
            _ => {}
        }
        records = behind;
    }
    // A change of a directory itself names `.`, and not the inode.
    if !change.named && change.object.is_none() {
        change.object = change.directory.take();
    }
    Some((ChangeReport::Change(change), rest))
}

/// The handle of a record, without the name behind it.
fn handle(record: &[u8]) -> Option<Handle> {
    let bytes = record.get(HANDLE_AT..)?;
    let length = 8 + number(bytes, 0)? as usize;
    Some(Handle(bytes.get(..length)?.to_vec()))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(mask: u64, records: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, handle) in records {
            let length = (HANDLE_AT + 8 + handle.len()) as u16;
            bytes.extend([*kind, 0]);
            bytes.extend(length.to_ne_bytes());
            bytes.extend([7; 8]);
            bytes.extend((handle.len() as u32).to_ne_bytes());
            bytes.extend(1_i32.to_ne_bytes());
            bytes.extend(*handle);
        }
        let mut event = ((EVENT_BYTES + bytes.len()) as u32).to_ne_bytes().to_vec();
        event.extend([3, 0]);
        event.extend((EVENT_BYTES as u16).to_ne_bytes());
        event.extend(mask.to_ne_bytes());
        event.extend((-1_i32).to_ne_bytes());
        event.extend(42_i32.to_ne_bytes());
        event.extend(bytes);
        event
    }

    #[test]
    fn events_say_who_did_what_to_which_inode() {
        let both = raw(libc::FAN_MOVED_TO, &[(2, b"directory"), (1, b"inode")]);
        let told = events(&[both.clone(), raw(libc::FAN_Q_OVERFLOW, &[])].concat());
        let Some(ChangeReport::Change(change)) = told.first() else { panic!("{told:?}") };
        assert!(change.pid == 42 && change.named && change.moved && !change.contents);
        assert!(change.object.as_ref().unwrap().0.ends_with(b"inode"));
        assert!(change.directory.as_ref().unwrap().0.ends_with(b"directory"));
        assert_eq!(told.get(1), Some(&ChangeReport::Overflow));
        // Nothing that is cut off is read, and nothing panics.
        for length in 0..both.len() {
            assert_eq!(events(&both[..length]), []);
        }
    }
}
