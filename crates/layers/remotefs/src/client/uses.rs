//! Reads and writes of objects in progress, and acknowledgements that wait for them.
//!
//! Measured side, client process, hot: twice a read or write that the kernel asks for. A break is acknowledged when the
//! kernel has no old page any more: once its pages were dropped, and all reads that began before that have been
//! answered and their pages dropped, too. Later reads do not count, or there would always be another one; their pages
//! are dropped as soon. A write of our own holds pages and waits for the server, perhaps for the very change that waits
//! for us: while there is one, breaks of its object are acknowledged at once.

use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Sends an acknowledgement.
pub(super) type Ack = Box<dyn FnOnce() + Send>;

/// Objects in use.
#[derive(Default)]
pub(super) struct Uses(Mutex<HashMap<u64, ObjectUse>>);

#[derive(Default)]
struct ObjectUse {
    reads: u32,
    /// Reads that no acknowledgement waits for.
    later_reads: u32,
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
        self.reads + self.later_reads == 0 && self.writes == 0 && self.drops == 0 && self.owed.is_empty()
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
    /// Begins a read.
    pub(super) fn reads(self: &Arc<Self>, object: u64) -> InUse {
        self.begins(object, |its| match its.owed.is_empty() || its.drops > 0 {
            true => |its| &mut its.reads,
            false => |its| &mut its.later_reads,
        })
    }

    /// Begins a write.
    pub(super) fn writes(self: &Arc<Self>, object: u64) -> InUse {
        self.begins(object, |_| |its| &mut its.writes)
    }

    /// Begins to drop the object's pages; the acknowledgement is sent when that is done and nothing else stands
    /// against it.
    pub(super) fn drops(self: &Arc<Self>, object: u64, ack: Ack) -> InUse {
        let dropping = self.begins(object, |_| |its| &mut its.drops);
        self.change(object, |its| its.owed.push(ack));
        dropping
    }

    /// Whether an acknowledgement has not been sent yet.
    pub(super) fn owes(&self, object: u64) -> bool {
        lock(&self.0).get(&object).is_some_and(|its| !its.owed.is_empty())
    }

    /// Forgets what is owed: the session is over.
    pub(super) fn lost(&self) {
        lock(&self.0).values_mut().for_each(|its| its.owed.clear());
    }

    fn begins(self: &Arc<Self>, object: u64, which: impl FnOnce(&ObjectUse) -> Counter) -> InUse {
        let count = self.change(object, |its| {
            let count = which(its);
            *count(its) += 1;
            count
        });
        InUse { uses: self.clone(), object, count }
    }

    fn change<T>(&self, object: u64, change: impl FnOnce(&mut ObjectUse) -> T) -> T {
        let mut objects = lock(&self.0);
        let its = objects.entry(object).or_default();
        let changed = change(its);
        let due = its.due();
        if its.is_idle() {
            objects.remove(&object);
        }
        drop(objects);
        due.into_iter().for_each(|ack| ack());
        changed
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
        write!(f, "Uses({} objects)", lock(&self.0).len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{TryRecvError, channel};

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
        let later = uses.reads(7);
        drop(meanwhile);
        assert_eq!(hears.try_recv(), Ok("behind reads"));
        drop(later);
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
        assert_eq!(lock(&uses.0).len(), 1, "the other object's");
    }
}
