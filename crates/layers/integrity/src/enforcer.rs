//! State shared by all threads of the worker.

use crate::counters::Counters;
use crate::error::EnforceError;
use crate::gap::{Gap, Gaps};
use crate::guard::Guard;
use crate::leases::{Key, Leases};
use crate::orders::Orders;
use crate::place;
use crate::progress::Progress;
use crate::settings::EnforcementSettings;
use crate::slots::Slots;
use crate::tree::{Listed, Tree};
use crate::waiting::{Job, Waiting};
use crate::written::WrittenFiles;
use bakeoff_layers_base::locks::{lock, read, write};
use bakeoff_layers_base::manifest::check::Deviation;
use bakeoff_layers_base::verdict::Verdicts;
use bakeoff_sys::fanotify::{Group, Mark};
use bakeoff_sys::inode::{self, OpenPurpose};
use bakeoff_sys::process::Stat;
use std::collections::{HashMap, HashSet};
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Instant, SystemTime};

/// Limits of the descriptors kept free from leases, a quarter of all: for waiting events, and our own files.
const SPARE_DESCRIPTORS: (usize, usize) = (256, 8192);

/// Verdict on an inode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    /// The entry that it was compared with.
    pub(crate) index: u32,
    /// The fault, if there is one.
    pub(crate) wrong: Option<Deviation>,
}

#[derive(Debug)]
pub(crate) struct Enforcer {
    pub(crate) settings: EnforcementSettings,
    pub(crate) files: Arc<WrittenFiles>,
    /// Whether a thread locks the store.
    pub(crate) locking: AtomicBool,
    pub(crate) group: Group,
    pub(crate) tree: Tree,
    listed: RwLock<Arc<Listed>>,
    pub(crate) verdicts: Verdicts<Key, Verdict>,
    pub(crate) leases: Leases,
    pub(crate) guard: Guard,
    pub(crate) counters: Counters,
    pub(crate) gaps: Gaps,
    pub(crate) slots: Slots,
    /// Undecided opens.
    pub(crate) waiting: Waiting,
    /// The turn to wait for an event.
    pub(crate) turn: Mutex<()>,
    /// Files that `log` mode has allowed and checks afterwards.
    pub(crate) later: (SyncSender<Job>, Mutex<Receiver<Job>>),
    pub(crate) orders: Orders,
    /// Process id of the worker, whose own opens need no decision.
    pub(crate) own: u32,
    pub(crate) supervisor: u32,
    /// The whole tree is read-only, so no lease is needed.
    pub(crate) read_only: AtomicBool,
    pub(crate) started: Instant,
    /// Number of files without a mark, as nothing can change them: see [`crate::rest`].
    pub(crate) unasked: AtomicU64,
    /// Whether the marks are removed.
    pub(crate) ended: AtomicBool,
    /// Whether the worker is asked to end: long work is given up.
    pub(crate) ending: AtomicBool,
    /// Progress of arming.
    pub(crate) progress: Progress,
    /// Root of the process tree that `stop` ends, as found at the start.
    pub(crate) server: Option<Stat>,
    /// Files that could not be held at their last check, with the gap.
    unheld: Mutex<HashMap<Key, Gap>>,
    /// Frozen files without a page held by others since they were frozen.
    let_go: Mutex<HashSet<Key>>,
    /// Messages for the main thread to print.
    notes: Mutex<Vec<String>>,
}

/// Limit on files that are checked later; each holds a descriptor.
const MOST_LATER: usize = 128;

/// Limit on waiting messages; more are dropped.
const MAX_NOTES: usize = 100;

/// Number of files hashed at once: one a core, and at least two, so that one may wait for a disk.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 16)
}

/// Number of deciding threads: one more than may hash at once, for what needs no hash.
pub(crate) fn deciders() -> usize {
    threads() + 1
}

impl Enforcer {
    pub(crate) fn new(
        (settings, files): (EnforcementSettings, Arc<WrittenFiles>),
        group: Group,
        first: Listed,
        supervisor: u32,
        adopt_since: Option<SystemTime>,
        server: Option<Stat>,
    ) -> Result<Self, EnforceError> {
        let tree = Tree::open(&settings.root)?;
        let place = place::look(&tree, &settings.root, &settings.exclude);
        let place = place.map_err(EnforceError::system("/proc/self/mountinfo"))?;
        let read_only = place.read_only;
        let limit = bakeoff_sys::rlimit::raise_open_files(u64::MAX)
            .map_err(EnforceError::system("the limit on open files"))?;
        let limit = usize::try_from(limit.soft).unwrap_or(usize::MAX);
        let spare = (limit / 4).clamp(SPARE_DESCRIPTORS.0, SPARE_DESCRIPTORS.1);
        let most = limit.saturating_sub(spare);
        let leases = settings.keep.map_or(most, |keep| keep.min(most));
        let (later, sooner) = sync_channel(MOST_LATER);
        Ok(Self {
            guard: Guard::new(settings.freeze && !read_only, adopt_since),
            // Without leases the number of verdicts is not bound by descriptors.
            verdicts: Verdicts::new(4_000_000, 64),
            leases: Leases::new(leases),
            waiting: Waiting::new(spare / 2, threads()).map_err(EnforceError::system("a pair of sockets"))?,
            counters: Counters::default(),
            gaps: Gaps::default(),
            slots: Slots::new(deciders()),
            turn: Mutex::new(()),
            later: (later, Mutex::new(sooner)),
            orders: Orders::new().map_err(EnforceError::system("a pair of sockets"))?,
            own: std::process::id(),
            supervisor,
            read_only: AtomicBool::new(read_only),
            started: Instant::now(),
            unasked: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            progress: Progress::default(),
            server,
            unheld: Mutex::new(HashMap::new()),
            let_go: Mutex::new(HashSet::new()),
            notes: Mutex::new(Vec::new()),
            listed: RwLock::new(Arc::new(first)),
            locking: AtomicBool::new(false),
            settings,
            files,
            group,
            tree,
        })
    }

    pub(crate) fn listed(&self) -> Arc<Listed> {
        read(&self.listed).clone()
    }

    pub(crate) fn replace_listed(&self, listed: Listed) {
        *write(&self.listed) = Arc::new(listed);
    }

    pub(crate) fn freezes(&self) -> bool {
        self.guard.is_on()
    }

    /// Whether directories can change although they should be frozen.
    pub(crate) fn can_change(&self) -> bool {
        self.gaps.is_open(Gap::NotFrozen) || self.gaps.is_open(Gap::Immutable)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// Handles a lease break: somebody wants to write to the file of this descriptor. The verdict is void and the
    /// kernel asks again before the writer goes on.
    pub(crate) fn broken(&self, fd: RawFd) {
        let void = |key, file: &OwnedFd| {
            self.verdicts.void(&key, || drop(self.group.remove(Mark::Ignored, file)));
        };
        if self.leases.give_back(fd, void) {
            self.counters.add(crate::counters::Count::Voided);
        }
    }

    /// Records why a file is not held, or that it is; returns whether that is new.
    pub(crate) fn note_unheld(&self, key: Key, gap: Option<Gap>) -> bool {
        let mut unheld = lock(&self.unheld);
        let before = match gap {
            Some(gap) => unheld.insert(key, gap),
            None => unheld.remove(&key),
        };
        if before != gap {
            before.into_iter().for_each(|gap| self.gaps.close_one(gap));
            gap.into_iter().for_each(|gap| self.gaps.add(gap));
        }
        before != gap
    }

    /// Files that others hold, but can no longer write to.
    pub(crate) fn held_by_others(&self) -> Vec<Key> {
        let unheld = lock(&self.unheld);
        let held = unheld.iter().filter(|(_, gap)| matches!(gap, Gap::Pinned | Gap::Leased));
        held.map(|(key, _)| *key).collect()
    }

    pub(crate) fn was_let_go(&self, key: Key) -> bool {
        lock(&self.let_go).contains(&key)
    }

    pub(crate) fn note_let_go(&self, key: Key) {
        lock(&self.let_go).insert(key);
    }

    /// Forgets released files: they are changeable from now on, so that a write may begin.
    pub(crate) fn forget_let_go(&self) {
        lock(&self.let_go).clear();
    }

    /// Queues a message for the main thread.
    pub(crate) fn say(&self, note: String) {
        let mut notes = lock(&self.notes);
        if notes.len() < MAX_NOTES {
            notes.push(note);
        }
    }

    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.notes))
    }

    /// Voids all verdicts.
    pub(crate) fn void_all(&self) {
        let listed = self.listed();
        self.leases.give_all_back(|held| self.void_epoch(&listed, held));
    }

    fn void_epoch(&self, listed: &Listed, held: &HashMap<Key, Arc<OwnedFd>>) {
        self.verdicts.new_epoch(|key| match held.get(key) {
            Some(file) => drop(self.group.remove(Mark::Ignored, &**file)),
            // Without a lease no file is held open: it is frozen, or on a read-only file system.
            None => {
                let entry = listed.of(*key).and_then(|index| listed.manifest.entry(index as usize));
                let path = entry.map(|entry| Path::new(entry.path));
                let file =
                    path.and_then(|path| inode::open_below(&self.tree.root, path, OpenPurpose::Knowing).ok());
                drop(file.map(|file| self.group.remove(Mark::Ignored, file)));
            }
        });
    }
}
