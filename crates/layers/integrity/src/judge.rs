//! Check of an open file: finds its manifest entry and compares the two.
//!
//! Hot at a first open: facts, name, lease, hash, mark. Opens nothing by a path, as that open would wait for itself.
//! The hashed bytes come from the disk: see [`let_go`].

use crate::counters::Count;
use crate::enforcer::{Enforcer, Verdict};
use crate::gap::Gap;
use crate::leases::{Key, NoLease};
use crate::settings::Unlisted;
use crate::tree::{Listed, key};
use bakeoff_layers_base::digest::{Algorithm, Hasher};
use bakeoff_layers_base::manifest::check::{self, Deviation};
use bakeoff_layers_base::manifest::seal::is_below_any;
use bakeoff_layers_base::manifest::{FaultAction, ManifestEntry};
use bakeoff_layers_base::verdict::VerdictStored;
use bakeoff_sys::fanotify::Mark;
use bakeoff_sys::inode::{self, Facts, InodeKind};
use bakeoff_sys::lease::no_writer;
use bakeoff_sys::pages;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};

/// Bytes hashed at a time.
const PART_BYTES: usize = 64 * 1024;

/// Identity of the opened file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// A listed file.
    Listed(u32),
    /// An unlisted file, with its path.
    Unlisted(String),
    /// A file below an excluded path.
    Excluded,
}

/// Evidence of a file's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundBy {
    /// Its place, on a mount that was there when the tree was armed.
    Path,
    /// Its inode alone: it was opened by a way that is not the tree's, which anybody can make for himself.
    Inode,
}

impl FoundBy {
    /// The most that is done about such a file: nobody makes us end a server by a mount of his own.
    pub(crate) fn most(self) -> FaultAction {
        match self {
            Self::Path => FaultAction::default(),
            Self::Inode => FaultAction::Deny,
        }
    }
}

/// The turn to wait for events: a thread that needs more time gives it up.
pub(crate) type Turn<'a> = Option<MutexGuard<'a, ()>>;

/// Identifies the opened file: by its inode if that has only one, fixed name, else by its path if that can be
/// trusted, else by its inode. A device or a FIFO in the place of a file also counts, as it gives unsigned content,
/// too.
pub(crate) fn which(enforcer: &Enforcer, listed: &Listed, file: &OwnedFd, facts: &Facts) -> (Which, FoundBy) {
    if facts.kind == InodeKind::Dir {
        return (Which::Excluded, FoundBy::Path);
    }
    if let Some(index) = fixed(enforcer, listed, facts) {
        let known = enforcer.tree.knows_mount(facts.mount);
        return (Which::Listed(index), if known { FoundBy::Path } else { FoundBy::Inode });
    }
    let path = path_of(file);
    let below = path.strip_prefix(&enforcer.tree.path).ok();
    let below = below.filter(|_| facts.links > 0 && enforcer.tree.knows_mount(facts.mount));
    if let Some(below) = below {
        return (by_path(enforcer, listed, below), FoundBy::Path);
    }
    let named = facts.links == 1 && names_stay(enforcer, listed);
    let which = match (listed.of(key(facts)), enforcer.settings.unlisted) {
        (Some(index), _) if listed.agree(key(facts), index) => Which::Listed(index),
        (None, Unlisted::Allow) if named => Which::Excluded,
        (None, _) if named && listed.excluded.contains(&key(facts)) => Which::Excluded,
        // If two signed names became one inode, either may be meant.
        _ => Which::Unlisted(path.to_string_lossy().into_owned()),
    };
    (which, FoundBy::Inode)
}

fn by_path(enforcer: &Enforcer, listed: &Listed, below: &Path) -> Which {
    if let Some(index) = listed.manifest.find(below.as_os_str().as_bytes()) {
        return Which::Listed(index as u32);
    }
    let name = below.to_string_lossy().into_owned();
    let looked_at = !is_below_any(&name, &enforcer.settings.exclude);
    match enforcer.settings.unlisted {
        Unlisted::Deny if looked_at => Which::Unlisted(name),
        _ => Which::Excluded,
    }
}

/// The listed file, if the inode alone decides it. Asking the kernel for a path costs as much as the rest of the
/// identification.
fn fixed(enforcer: &Enforcer, listed: &Listed, facts: &Facts) -> Option<u32> {
    // A mount below the root could be moved, and its files with it.
    if facts.kind != InodeKind::File || facts.links != 1 || !enforcer.tree.is_one_mount() {
        return None;
    }
    let closed = enforcer.guard.holds(key(facts)) && names_stay(enforcer, listed);
    (closed || enforcer.is_read_only()).then(|| listed.of(key(facts)))?
}

/// Whether a file with one name still has the name that it had when the tree was armed.
fn names_stay(enforcer: &Enforcer, listed: &Listed) -> bool {
    enforcer.freezes() && listed.exact && !enforcer.can_change()
}

fn path_of(file: &OwnedFd) -> PathBuf {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default()
}

/// The kept verdict, if it is about the same entry or an equivalent one.
pub(crate) fn remembered(
    enforcer: &Enforcer,
    listed: &Listed,
    facts: &Facts,
    index: u32,
) -> Option<Option<Deviation>> {
    let verdict = enforcer.verdicts.look_up(&key(facts), 0)?;
    listed.are_alike(verdict.index, index).then_some(verdict.wrong)
}

/// Checks a file, and keeps the verdict if possible. `None` if the file changed twice meanwhile.
pub(crate) fn look(
    enforcer: &Enforcer,
    listed: &Listed,
    file: &Arc<OwnedFd>,
    facts: &Facts,
    index: u32,
    turn: &mut Turn<'_>,
) -> Option<Option<Deviation>> {
    if facts.kind != InodeKind::File {
        return Some(Some(Deviation::NotAFile));
    }
    let Some(entry) = listed.manifest.entry(index as usize) else {
        return Some(Some(Deviation::Unlisted));
    };
    // First of all: holding a file takes time for each of its bytes, and its owner may give it any number.
    if let Some(wrong) = unlike(facts, &entry) {
        return Some(Some(wrong));
    }
    // It may wait for the disk.
    *turn = None;
    for _ in 0..2 {
        let ticket = enforcer.verdicts.ticket(key(facts));
        let held = hold(enforcer, file, facts, entry.size_bytes);
        let wrong = examine(enforcer, listed.manifest.algorithm(), file, facts, &entry);
        if !held {
            return Some(wrong);
        }
        let verdict = Verdict { index, wrong };
        let unasked = wrong.is_none() && listed.agree(key(facts), index);
        let kept = ticket.keep(verdict, None, || !unasked || ask_no_more(enforcer, file, facts).is_ok());
        match kept {
            // Frozen meanwhile, it needs no lease from now on.
            VerdictStored::Kept if !enforcer.guard.holds(key(facts)) => return Some(wrong),
            VerdictStored::Stale => {}
            VerdictStored::Kept | VerdictStored::Full | VerdictStored::Unmarked => {
                enforcer.leases.give_back(file.as_raw_fd(), |_, _| {});
                return Some(wrong);
            }
        }
    }
    enforcer.counters.add(Count::Changing);
    None
}

/// Tells the kernel to open a file without asking. A file that was renamed into the tree has no mark of its own, and
/// gets one first. Otherwise voiding its verdict would remove its last mark, and an open a few microseconds later was
/// seen to pass unchecked (Linux 6.18, one in some thousand).
fn ask_no_more(enforcer: &Enforcer, file: &OwnedFd, facts: &Facts) -> io::Result<()> {
    if !enforcer.is_read_only() && !enforcer.guard.holds(key(facts)) {
        enforcer.group.add(Mark::File, file)?;
    }
    enforcer.group.add(Mark::Ignored, file)
}

/// Makes sure that nobody can write to the file without notice, and that no earlier write is still on its way;
/// returns whether that holds.
fn hold(enforcer: &Enforcer, file: &Arc<OwnedFd>, facts: &Facts, most_bytes: u64) -> bool {
    let key = key(facts);
    let mut gap = if enforcer.is_read_only() { None } else { keep_writers_out(enforcer, file, key) };
    if gap.is_none() && !let_go(enforcer, file, key, most_bytes) {
        enforcer.leases.give_back(file.as_raw_fd(), |_, _| {});
        gap = Some(Gap::Pinned);
    }
    enforcer.note_unheld(key, gap);
    gap.is_none()
}

fn keep_writers_out(enforcer: &Enforcer, file: &Arc<OwnedFd>, key: Key) -> Option<Gap> {
    if enforcer.freezes() && enforcer.guard.freeze(&**file, key).is_err() {
        enforcer.gaps.add(Gap::NotFrozen);
    }
    // A frozen file that nobody has open for writing stays so: seeing that once is enough. A lease would cost every
    // further open half a microsecond and us a descriptor.
    let taken = match enforcer.guard.holds(key) {
        true => no_writer(&**file).map_err(|error| NoLease::of(&error)),
        false => enforcer.leases.take(key, file),
    };
    taken.err().map(|why| match why {
        NoLease::Writer => Gap::WriterOpen,
        NoLease::Unsupported => Gap::NoLease,
        NoLease::Full => Gap::Descriptors,
    })
}

/// Whether nobody holds a page of the file, so that reads come from its disk from now on. A process that began a read
/// from elsewhere into a mapping of the file holds that page until the read ends. Then the file changes, long after
/// mapping and descriptor are gone, and no lease and no attribute shows it. A page that nobody holds can be dropped.
/// While a file stays frozen, seeing that once is enough.
pub(crate) fn let_go(enforcer: &Enforcer, file: &OwnedFd, key: Key, most_bytes: u64) -> bool {
    let frozen = enforcer.guard.holds(key);
    if frozen && enforcer.was_let_go(key) {
        return true;
    }
    // The facts of the event are older than the lease.
    let size_bytes = inode::facts(file).map(|facts| facts.size_bytes).ok().filter(|size| *size <= most_bytes);
    let gone = size_bytes.is_some_and(|size| pages::give_up(file, size).unwrap_or(false));
    if frozen && gone {
        enforcer.note_let_go(key);
    }
    gone
}

/// The difference from the manifest that shows without reading.
fn unlike(facts: &Facts, entry: &ManifestEntry<'_>) -> Option<Deviation> {
    if facts.size_bytes != entry.size_bytes {
        return Some(Deviation::Size);
    }
    (facts.mode != entry.mode).then_some(Deviation::Mode)
}

fn examine(
    enforcer: &Enforcer,
    algorithm: Algorithm,
    file: &OwnedFd,
    facts: &Facts,
    entry: &ManifestEntry<'_>,
) -> Option<Deviation> {
    // The facts of the event are older than the lease.
    let Ok(facts) = (if enforcer.is_read_only() { Ok(*facts) } else { inode::facts(file) }) else {
        return Some(Deviation::Unreadable);
    };
    if let Some(wrong) = unlike(&facts, entry) {
        return Some(wrong);
    }
    if let Err(wrong) = check::more_rights(file) {
        return Some(wrong);
    }
    let mut hasher = Hasher::new(algorithm);
    match read_all(file, &mut hasher, entry.size_bytes) {
        Err(_) => Some(Deviation::Unreadable),
        Ok(read_bytes) => {
            enforcer.counters.add(Count::Hashed);
            enforcer.counters.add_many(Count::HashedBytes, read_bytes);
            match (read_bytes == entry.size_bytes, hasher.finish() == entry.digest) {
                (false, _) => Some(Deviation::Size),
                (true, false) => Some(Deviation::Digest),
                (true, true) => None,
            }
        }
    }
}

/// Reads the file until its end, or until it has more bytes than it should.
fn read_all(file: &OwnedFd, hasher: &mut Hasher, most_bytes: u64) -> io::Result<u64> {
    thread_local! {
        static BUFFER: std::cell::RefCell<Vec<u8>> = std::cell::RefCell::new(vec![0; PART_BYTES]);
    }
    BUFFER.with_borrow_mut(|buffer| {
        let mut at = 0;
        loop {
            let length = match inode::read_at(file, buffer, at) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if length == 0 || at > most_bytes {
                return Ok(at);
            }
            hasher.update(buffer.get(..length).unwrap_or_default());
            at += length as u64;
        }
    })
}
