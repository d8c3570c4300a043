//! Cache of verdicts, used by all layers: key, verdict, sequence, expiry, epoch.
//!
//! Measured side, hot: a look-up is one lock that is hardly ever contended, and one hash. Owns when a verdict may be
//! kept and when it is void; the caller owns the content of a verdict, and the clock.
//!
//! The danger is a verdict about something that changed while it was looked at. So the caller takes a [`Ticket`]
//! before it looks. Whoever learns of a change voids the key, which advances its *sequence*; a verdict is kept only
//! if the sequence is still the ticket's. A change of the rules themselves begins a new *epoch*, which voids
//! everything, tickets included. A verdict with a limited life has an *expiry*. An action that must go together with
//! a kept verdict (a mark in the kernel) happens under the same lock as the keeping and the voiding.
//!
//! `tests/verdict.rs` runs this file under loom, in all orders of its steps.

use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::{BuildHasher, Hash};

/// Kept verdicts about keys.
#[derive(Debug)]
pub struct Verdicts<K: Hash + Eq + Clone, V> {
    shards: Vec<Mutex<HashMap<K, Slot<V>>>>,
    hasher: RandomState,
    epoch: AtomicU64,
    /// Limit on keys in a shard.
    limit: usize,
}

#[derive(Debug)]
struct Slot<V> {
    /// Advances whenever the key is voided.
    sequence: u64,
    /// Outstanding tickets.
    tickets: u32,
    kept: Option<Verdict<V>>,
}

#[derive(Debug)]
struct Verdict<V> {
    value: V,
    epoch: u64,
    /// Time on the caller's clock from which it is void.
    expiry: Option<u64>,
}

/// Result of keeping a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictStored {
    /// It was.
    Kept,
    /// The key was voided, or an epoch began, since the ticket was taken.
    Stale,
    /// The table is full.
    Full,
    /// The accompanying action failed.
    Unmarked,
}

/// The right to keep one verdict about a key as it was when the ticket was taken.
#[derive(Debug)]
pub struct Ticket<'a, K: Hash + Eq + Clone, V> {
    verdicts: &'a Verdicts<K, V>,
    key: K,
    sequence: u64,
    epoch: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> Verdicts<K, V> {
    /// A cache for up to `limit` keys, in `shards` parts that do not wait for each other.
    pub fn new(limit: usize, shards: usize) -> Self {
        let shards = shards.max(1);
        Self {
            shards: (0..shards).map(|_| Mutex::new(HashMap::new())).collect(),
            hasher: RandomState::new(),
            epoch: AtomicU64::new(0),
            limit: limit.div_ceil(shards),
        }
    }

    /// The verdict about a key, if there is one that holds at `now`.
    pub fn look_up(&self, key: &K, now: u64) -> Option<V> {
        let shard = self.shard(key)?;
        let kept = shard.get(key)?.kept.as_ref()?;
        let holds = kept.epoch == self.epoch.load(Ordering::Acquire);
        (holds && kept.expiry.is_none_or(|expiry| now < expiry)).then(|| kept.value.clone())
    }

    /// Takes a ticket, before the caller looks at the key's object.
    pub fn ticket(&self, key: K) -> Ticket<'_, K, V> {
        let mut sequence = 0;
        if let Some(mut shard) = self.shard(&key) {
            let slot = shard.entry(key.clone()).or_insert(Slot { sequence: 0, tickets: 0, kept: None });
            slot.tickets += 1;
            sequence = slot.sequence;
        }
        Ticket { verdicts: self, key, sequence, epoch: self.epoch.load(Ordering::Acquire) }
    }

    /// Voids the verdict on a key, whose object may have changed. `undo` runs under the lock, whether or not a
    /// verdict was kept.
    pub fn void(&self, key: &K, undo: impl FnOnce()) {
        let Some(mut shard) = self.shard(key) else { return };
        if let Some(slot) = shard.get_mut(key) {
            slot.sequence += 1;
            slot.kept = None;
            if slot.tickets == 0 {
                shard.remove(key);
            }
        }
        undo();
    }

    /// Begins an epoch, as the rules changed: all verdicts are void, and those of outstanding tickets will not be
    /// kept. `undo` runs for each kept verdict, under its lock.
    pub fn new_epoch(&self, mut undo: impl FnMut(&K)) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        for shard in &self.shards {
            let mut shard = lock(shard);
            for (key, slot) in shard.iter_mut() {
                if slot.kept.take().is_some() {
                    undo(key);
                }
            }
            shard.retain(|_, slot| slot.tickets > 0);
        }
    }

    /// Number of kept verdicts.
    pub fn kept(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).values().filter(|slot| slot.kept.is_some()).count()).sum()
    }

    fn shard(&self, key: &K) -> Option<MutexGuard<'_, HashMap<K, Slot<V>>>> {
        let index = self.hasher.hash_one(key) % self.shards.len() as u64;
        self.shards.get(index as usize).map(lock)
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Ticket<'_, K, V> {
    /// Keeps a verdict until it is voided or `expiry` is reached. `mark` runs under the lock, and the verdict is kept
    /// only if it returns true.
    pub fn keep(self, value: V, expiry: Option<u64>, mark: impl FnOnce() -> bool) -> VerdictStored {
        let verdicts = self.verdicts;
        let Some(mut shard) = verdicts.shard(&self.key) else { return VerdictStored::Full };
        let crowded = shard.len() > verdicts.limit;
        let Some(slot) = shard.get_mut(&self.key) else { return VerdictStored::Stale };
        let epoch = verdicts.epoch.load(Ordering::Acquire);
        if slot.sequence != self.sequence || epoch != self.epoch {
            return VerdictStored::Stale;
        }
        if crowded && slot.kept.is_none() {
            return VerdictStored::Full;
        }
        if !mark() {
            return VerdictStored::Unmarked;
        }
        slot.kept = Some(Verdict { value, epoch, expiry });
        VerdictStored::Kept
    }
}

impl<K: Hash + Eq + Clone, V> Drop for Ticket<'_, K, V> {
    fn drop(&mut self) {
        let index = self.verdicts.hasher.hash_one(&self.key) % self.verdicts.shards.len() as u64;
        let Some(mut shard) = self.verdicts.shards.get(index as usize).map(lock) else { return };
        if let Entry::Occupied(mut slot) = shard.entry(self.key.clone()) {
            slot.get_mut().tickets = slot.get().tickets.saturating_sub(1);
            if slot.get().tickets == 0 && slot.get().kept.is_none() {
                slot.remove();
            }
        }
    }
}

/// A panic of another holder leaves the table whole: every change to it is complete.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
