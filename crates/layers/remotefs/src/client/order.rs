//! Order of this mount's own writes, and its reads of the same pages.
//!
//! Measured side, client process, hot: once a read or write that the kernel asks for. The kernel shows what is written
//! before the write is made, and may have to forget it meanwhile, as when a session is lost. A read that comes then may
//! reach the server first, and would leave the kernel with the pages of before. So a write is over only when such reads
//! are, and what they brought is dropped.

use super::pages::PageRange;
use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time from which a read that ended before a write began is not beside it: the write's thread may have been held up
/// between the kernel and here.
const BESIDE: Duration = Duration::from_millis(100);
/// Limit on objects with reads that are over.
const MOST: usize = 1024;
const PAGE_BYTES: u64 = 4096;

/// Reads and writes of all objects.
#[derive(Default)]
pub(super) struct Order {
    objects: Mutex<Objects>,
    /// Signals that a read is over.
    ended: Condvar,
}

#[derive(Default)]
struct Objects {
    of: HashMap<u64, ObjectOrder>,
    /// The last number given to a read.
    last: u64,
}

#[derive(Default)]
struct ObjectOrder {
    reads: Vec<Read>,
    writes: u32,
}

struct Read {
    number: u64,
    range: PageRange,
    /// Time since which the kernel has its pages; none: it is under way.
    over: Option<Instant>,
}

impl ObjectOrder {
    /// Forgets reads that no write can be beside any more.
    fn forget(&mut self, now: Instant) {
        if self.writes == 0 {
            self.reads.retain(|read| read.over.is_none_or(|over| now.duration_since(over) <= BESIDE));
        }
    }

    fn is_idle(&self) -> bool {
        self.writes == 0 && self.reads.is_empty()
    }
}

/// A read, until this is dropped: then the kernel has none of its pages.
pub(super) struct Reading {
    order: Arc<Order>,
    object: u64,
    number: u64,
}

/// A write, until this is dropped.
pub(super) struct Writing {
    order: Arc<Order>,
    object: u64,
    range: PageRange,
    began: Instant,
}

impl Order {
    /// Begins a read of so many bytes.
    pub(super) fn reads(self: &Arc<Self>, object: u64, range: PageRange) -> Reading {
        let mut objects = lock(&self.objects);
        objects.last += 1;
        let number = objects.last;
        if objects.of.len() >= MOST {
            let now = Instant::now();
            objects.of.values_mut().for_each(|its| its.forget(now));
            objects.of.retain(|_, its| !its.is_idle());
        }
        objects.of.entry(object).or_default().reads.push(Read { number, range, over: None });
        Reading { order: self.clone(), object, number }
    }

    /// Begins a write of so many bytes.
    pub(super) fn writes(self: &Arc<Self>, object: u64, range: PageRange) -> Writing {
        lock(&self.objects).of.entry(object).or_default().writes += 1;
        Writing { order: self.clone(), object, range, began: Instant::now() }
    }

    fn change(&self, object: u64, change: impl FnOnce(&mut ObjectOrder)) {
        let mut objects = lock(&self.objects);
        let its = objects.of.entry(object).or_default();
        change(its);
        its.forget(Instant::now());
        if its.is_idle() {
            objects.of.remove(&object);
        }
        drop(objects);
        self.ended.notify_all();
    }
}

impl Reading {
    /// Ends it: the kernel keeps its pages.
    pub(super) fn keeps(self) {
        self.order.change(self.object, |its| {
            let own = its.reads.iter_mut().find(|read| read.number == self.number);
            own.into_iter().for_each(|read| read.over = Some(Instant::now()));
        });
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.order.change(self.object, |its| {
            its.reads.retain(|read| read.number != self.number || read.over.is_some());
        });
    }
}

impl Writing {
    /// Waits until all reads beside it are over that have begun by now; returns those of its pages that they may have left
    /// as they were before it. Others may be locked by a read that waits for a thread, perhaps for this one.
    pub(super) fn beside(&self) -> Vec<PageRange> {
        let mut objects = lock(&self.order.objects);
        let newest = objects.last;
        let is_under_way = |objects: &mut Objects| {
            let reads = objects.of.get(&self.object).map_or(&[][..], |its| &its.reads);
            reads.iter().any(|read| {
                read.number <= newest && read.over.is_none() && shared(read.range, self.range).is_some()
            })
        };
        objects = self.order.ended.wait_while(objects, is_under_way).unwrap_or_else(PoisonError::into_inner);
        let Some(its) = objects.of.get_mut(&self.object) else { return Vec::new() };
        let is_beside = |read: &mut Read| {
            read.over.is_some_and(|over| over + BESIDE >= self.began)
                && shared(read.range, self.range).is_some()
        };
        let beside = its.reads.extract_if(.., is_beside);
        beside.filter_map(|read| shared(read.range, self.range)).collect()
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.order.change(self.object, |its| its.writes -= 1);
    }
}

/// The pages that two ranges have in common.
fn shared((one, its_bytes): PageRange, (other, bytes): PageRange) -> Option<PageRange> {
    let last = |offset: u64, bytes: u64| offset.saturating_add(bytes.max(1) - 1) / PAGE_BYTES;
    let first = one.max(other) / PAGE_BYTES;
    let pages = (last(one, its_bytes).min(last(other, bytes)) + 1).checked_sub(first)?;
    (pages > 0).then(|| (first * PAGE_BYTES, pages.saturating_mul(PAGE_BYTES)))
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Order({} objects)", lock(&self.objects).of.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_write_ends_behind_reads_of_its_pages_and_hears_what_they_left() {
        let order = Arc::new(Order::default());
        let other_object = order.reads(8, (0, 4096));
        let other_page = order.reads(7, (8192, 4096));
        let (kept, dropped) = (order.reads(7, (0, 8192)), order.reads(7, (4096, 4096)));
        let writing = order.writes(7, (4100, 8));
        let beside = thread::spawn(move || (writing.beside(), writing));
        (0..1000).for_each(|_| thread::yield_now());
        assert!(!beside.is_finished(), "two reads of its page are under way");
        kept.keeps();
        drop(dropped);
        let (left, writing) = beside.join().unwrap();
        assert_eq!(left, [(4096, 4096)]);
        assert_eq!(writing.beside(), [], "once");
        // One that ended while it was made, and one that ended long before it began.
        order.reads(7, (4096, 1)).keeps();
        assert_eq!(writing.beside(), [(4096, 4096)]);
        drop(writing);
        order.reads(7, (4096, 1)).keeps();
        thread::sleep(2 * BESIDE);
        assert_eq!(order.writes(7, (4096, 1)).beside(), []);
        drop((other_object, other_page));
        assert_eq!(lock(&order.objects).of.len(), 0);
    }

    #[test]
    fn ranges_share_pages() {
        assert_eq!(shared((0, 1), (4095, 1)), Some((0, 4096)));
        assert_eq!(shared((4000, 8192), (8192, 1)), Some((8192, 4096)));
        assert_eq!(shared((1 << 40, 1), (0, u64::MAX)), Some((1 << 40, 4096)));
        assert_eq!((shared((0, 4096), (4096, 1)), shared((8192, 10), (0, 8192))), (None, None));
    }
}
