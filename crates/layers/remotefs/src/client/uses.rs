//! Reads and writes of objects in progress, and acknowledgements that wait for them.
//!
//! Measured side, client process, hot: twice a read or write that the kernel asks for. A break is acknowledged when the
//! kernel has no old page any more: once all passes over its pages are done, and all reads have been answered and their
//! pages dropped, too. A read that comes between them is held until the acknowledgement is sent, or there would always
//! be another one. A pass may wait for its page, so during one it is held only briefly. A write of our own holds pages
//! and waits for the server, perhaps for the very change that waits for us: while there is one, breaks of its object
//! are acknowledged at once.

use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time for which a read is held while a pass over its object's pages may wait for it.
const HELD: Duration = Duration::from_millis(2);

/// Sends an acknowledgement.
pub(super) type Ack = Box<dyn FnOnce() + Send>;

/// Objects in use.
#[derive(Default)]
pub(super) struct Uses {
    objects: Mutex<HashMap<u64, ObjectUse>>,
    /// Signals that reads need not be held, or not for long.
    released: Condvar,
}

#[derive(Default)]
struct ObjectUse {
    reads: u32,
    writes: u32,
    /// Passes over its pages that drop them.
    drops: u32,
    owed: Vec<Ack>,
}

impl ObjectUse {
    /// Acknowledgements that need not wait any more.
    fn due(&mut self) -> Vec<Ack> {
        let is_due = self.writes > 0 || (self.drops == 0 && self.reads == 0);
        if is_due { std::mem::take(&mut self.owed) } else { Vec::new() }
    }

    fn is_idle(&self) -> bool {
        self.reads + self.writes + self.drops == 0 && self.owed.is_empty()
    }
}

/// A use, until it is dropped.
pub(super) struct InUse {
    uses: Arc<Uses>,
    object: u64,
    count: Counter,
}

/// A number of an object's uses.
type Counter = fn(&mut ObjectUse) -> &mut u32;

impl Uses {
    /// Begins a read, perhaps after it was held.
    pub(super) fn reads(self: &Arc<Self>, object: u64) -> InUse {
        let (mut objects, mut until) = (lock(&self.objects), None);
        while let Some(its) = objects.get(&object).filter(|its| !its.owed.is_empty()) {
            if its.drops == 0 {
                objects = self.released.wait(objects).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let until: Instant = *until.get_or_insert_with(|| Instant::now() + HELD);
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            objects = self.released.wait_timeout(objects, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        objects.entry(object).or_default().reads += 1;
        InUse { uses: self.clone(), object, count: |its| &mut its.reads }
    }

    /// Begins a write.
    pub(super) fn writes(self: &Arc<Self>, object: u64) -> InUse {
        self.begins(object, |its| &mut its.writes)
    }

    /// Begins to drop the object's pages; the acknowledgement is sent when that is done and nothing else stands
    /// against it.
    pub(super) fn drops(self: &Arc<Self>, object: u64, ack: Ack) -> InUse {
        let dropping = self.passes(object);
        self.change(object, |its| its.owed.push(ack));
        dropping
    }

    /// Begins a pass over some of the object's pages.
    pub(super) fn passes(self: &Arc<Self>, object: u64) -> InUse {
        self.begins(object, |its| &mut its.drops)
    }

    /// Whether an acknowledgement has not been sent yet.
    pub(super) fn owes(&self, object: u64) -> bool {
        lock(&self.objects).get(&object).is_some_and(|its| !its.owed.is_empty())
    }

    /// Forgets what is owed: the session is over.
    pub(super) fn lost(&self) {
        lock(&self.objects).values_mut().for_each(|its| its.owed.clear());
        self.released.notify_all();
    }

    fn begins(self: &Arc<Self>, object: u64, count: Counter) -> InUse {
        self.change(object, |its| *count(its) += 1);
        InUse { uses: self.clone(), object, count }
    }

    fn change(&self, object: u64, change: impl FnOnce(&mut ObjectUse)) {
        let mut objects = lock(&self.objects);
        let its = objects.entry(object).or_default();
        let drops = its.drops;
        change(its);
        let due = its.due();
        let releases = !due.is_empty() || drops != its.drops;
        if its.is_idle() {
            objects.remove(&object);
        }
        drop(objects);
        due.into_iter().for_each(|ack| ack());
        if releases {
            self.released.notify_all();
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let count = self.count;
        self.uses.change(self.object, |its| *count(its) -= 1);
    }
}

impl fmt::Debug for Uses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uses({} objects)", lock(&self.objects).len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{TryRecvError, channel};
    use std::thread;

    #[test]
    fn a_break_is_acknowledged_when_no_old_page_is_left() {
        let uses = Arc::new(Uses::default());
        let (told, hears) = channel();
        let ack = |name: &'static str| -> Ack {
            let told = told.clone();
            Box::new(move || told.send(name).unwrap())
        };
        // Nothing stands against it but the pass itself.
        let dropping = uses.drops(7, ack("alone"));
        assert!(uses.owes(7) && hears.try_recv() == Err(TryRecvError::Empty));
        drop(dropping);
        assert_eq!((hears.try_recv(), uses.owes(7)), (Ok("alone"), false));
        // Reads that began before or during it do; of another object they do not.
        let (_other, before) = (uses.reads(8), uses.reads(7));
        let dropping = uses.drops(7, ack("behind reads"));
        let meanwhile = uses.reads(7);
        drop(dropping);
        drop(before);
        assert!(hears.try_recv() == Err(TryRecvError::Empty));
        // A later one is held until then; it would be another that the acknowledgement waits for.
        let its = uses.clone();
        let later = thread::spawn(move || drop(its.reads(7)));
        (0..1000).for_each(|_| thread::yield_now());
        assert!(!later.is_finished());
        drop(meanwhile);
        assert_eq!(hears.try_recv(), Ok("behind reads"));
        later.join().unwrap();
        // A write of our own may wait for whoever waits for us.
        let dropping = uses.drops(7, ack("for a write"));
        let writing = uses.writes(7);
        assert_eq!(hears.try_recv(), Ok("for a write"));
        let second = uses.drops(7, ack("during a write"));
        assert_eq!(hears.try_recv(), Ok("during a write"));
        drop((dropping, second, writing));
        // A session that is over owes nothing, and nobody waits for it.
        let (read, dropping) = (uses.reads(7), uses.drops(7, ack("never")));
        drop(dropping);
        uses.lost();
        drop(read);
        assert_eq!(hears.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(lock(&uses.objects).len(), 1, "the other object's");
    }
}
