//! What all threads of the worker share.

use crate::counters::Counters;
use crate::deciders::Slots;
use crate::error::EnforceError;
use crate::gap::{Gap, Gaps};
use crate::guard::Guard;
use crate::judge::Verdict;
use crate::leases::{Key, Leases};
use crate::place;
use crate::queue::Queue;
use crate::respond::Orders;
use crate::settings::Settings;
use crate::tree::{Listed, Tree};
use bakeoff_layers_base::verdict::Verdicts;
use bakeoff_sys::fanotify::{Group, Mark};
use bakeoff_sys::inode::{self, For};
use std::collections::HashMap;
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

/// Descriptors that are kept back from leases: events that are being decided, and our own files.
const SPARE_DESCRIPTORS: usize = 256;

#[derive(Debug)]
pub(crate) struct Enforcer {
    pub(crate) settings: Settings,
    pub(crate) group: Group,
    pub(crate) tree: Tree,
    listed: RwLock<Arc<Listed>>,
    pub(crate) verdicts: Verdicts<Key, Verdict>,
    pub(crate) leases: Leases,
    pub(crate) guard: Guard,
    pub(crate) counters: Counters,
    pub(crate) gaps: Gaps,
    pub(crate) slots: Slots,
    /// Whose turn it is to wait for an event.
    pub(crate) turn: Mutex<()>,
    pub(crate) queue: Queue,
    pub(crate) orders: Orders,
    /// The worker, whose own opens are not asked about.
    pub(crate) own: u32,
    pub(crate) supervisor: u32,
    /// Nobody can write to any file of the tree, so no lease is needed.
    pub(crate) read_only: AtomicBool,
    pub(crate) started: Instant,
    /// The marks are gone.
    pub(crate) ended: AtomicBool,
    /// Files on which no lease was to be had when they were last looked at.
    unheld: Mutex<HashMap<Key, Gap>>,
}

/// How many threads decide: a core each, and two at least, so that one may wait for a disk.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 16)
}

impl Enforcer {
    pub(crate) fn new(
        settings: Settings,
        group: Group,
        first: Listed,
        supervisor: u32,
        adopt_since_ns: Option<u64>,
    ) -> Result<Self, EnforceError> {
        let tree = Tree::open(&settings.root)?;
        let place = place::look(&tree, &settings.exclude);
        let place = place.map_err(EnforceError::system("/proc/self/mountinfo"))?;
        let read_only = place.read_only;
        let limit = bakeoff_sys::rlimit::raise_open_files(u64::MAX)
            .map_err(EnforceError::system("the limit on open files"))?;
        let most = usize::try_from(limit.soft).unwrap_or(usize::MAX).saturating_sub(SPARE_DESCRIPTORS);
        let leases = settings.keep.map_or(most, |keep| keep.min(most));
        Ok(Self {
            guard: Guard::new(settings.freeze && !read_only, adopt_since_ns),
            // Where no lease is held the number of verdicts has no descriptors behind it.
            verdicts: Verdicts::new(4_000_000, 64),
            leases: Leases::new(leases),
            counters: Counters::default(),
            gaps: Gaps::default(),
            slots: Slots::new(threads()),
            turn: Mutex::new(()),
            queue: Queue::default(),
            orders: Orders::new().map_err(EnforceError::system("a pair of sockets"))?,
            own: std::process::id(),
            supervisor,
            read_only: AtomicBool::new(read_only),
            started: Instant::now(),
            ended: AtomicBool::new(false),
            unheld: Mutex::new(HashMap::new()),
            listed: RwLock::new(Arc::new(first)),
            settings,
            group,
            tree,
        })
    }

    pub(crate) fn listed(&self) -> Arc<Listed> {
        self.listed.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    pub(crate) fn replace_listed(&self, listed: Listed) {
        *self.listed.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(listed);
    }

    pub(crate) fn freezes(&self) -> bool {
        self.guard.is_on()
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// Somebody wants to write to the file that this descriptor holds a lease on: the verdict is void,
    /// the kernel asks again, and only then does the writer go on.
    pub(crate) fn broken(&self, fd: RawFd) {
        let void = |key, file: &OwnedFd| {
            self.verdicts.void(&key, || drop(self.group.remove(Mark::Ignored, file)));
        };
        if self.leases.give_back(fd, void) {
            self.counters.add(crate::counters::Count::Voided);
        }
    }

    /// Notes why there is no lease on a file, or that there is one.
    pub(crate) fn note_unheld(&self, key: Key, gap: Option<Gap>) {
        let mut unheld = self.unheld.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let before = match gap {
            Some(gap) => unheld.insert(key, gap),
            None => unheld.remove(&key),
        };
        if before != gap {
            before.into_iter().for_each(|gap| self.gaps.close_one(gap));
            gap.into_iter().for_each(|gap| self.gaps.add(gap));
        }
    }

    /// Every verdict is void.
    pub(crate) fn void_all(&self) {
        let listed = self.listed();
        self.leases.give_all_back(|held| self.void_epoch(&listed, held));
    }

    fn void_epoch(&self, listed: &Listed, held: &HashMap<Key, Arc<OwnedFd>>) {
        self.verdicts.new_epoch(|key| match held.get(key) {
            Some(file) => drop(self.group.remove(Mark::Ignored, &**file)),
            // Without a lease no file is held open: frozen, or on a read-only file system.
            None => {
                let entry = listed.of(*key).and_then(|index| listed.manifest.entry(index as usize));
                let path = entry.map(|entry| Path::new(entry.path));
                let file = path.and_then(|path| inode::open_below(&self.tree.root, path, For::Knowing).ok());
                drop(file.map(|file| self.group.remove(Mark::Ignored, file)));
            }
        });
    }
}
