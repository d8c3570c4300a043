//! Threads that drop pages from the kernel's cache.
//!
//! Measured side, client process. Dropping waits for locked pages, and a page is locked while it is read or written,
//! for as long as a wire is slow. So a job never waits for one of another object: there are as many threads as jobs
//! that wait, within a limit.

use bakeoff_layers_base::locks::lock;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// Limit on threads: more questions than connections are never under way.
const MOST_THREADS: usize = 32;
/// Threads that stay when there is nothing to do.
const SPARE: usize = 1;

/// Drops the pages of an object in a range.
type DropPages = dyn Fn(u64, PageRange) + Send + Sync;

/// Offset and length in bytes; the length 0 is up to the end.
pub(super) type PageRange = (u64, u64);

/// The threads, which end when this is dropped and their jobs are done.
pub(super) struct PageDroppers(Arc<Shared>);

struct Shared {
    drop_pages: Box<DropPages>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Objects and ranges, each with what is dropped when it is done.
    jobs: VecDeque<(u64, PageRange, Box<dyn Send>)>,
    threads: usize,
    idle: usize,
    is_over: bool,
}

impl PageDroppers {
    pub(super) fn new(drop_pages: Box<DropPages>) -> Self {
        Self(Arc::new(Shared { drop_pages, queue: Mutex::default(), changed: Condvar::new() }))
    }

    /// Has an object's pages dropped, and then this.
    pub(super) fn drop_pages(&self, object: u64, range: PageRange, done: impl Send + 'static) {
        let mut queue = lock(&self.0.queue);
        queue.jobs.push_back((object, range, Box::new(done)));
        if queue.idle < queue.jobs.len() && queue.threads < MOST_THREADS {
            let shared = self.0.clone();
            let begun = thread::Builder::new().name("pages".to_owned()).spawn(move || shared.work());
            queue.threads += usize::from(begun.is_ok());
        }
        drop(queue);
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn work(&self) {
        let mut queue = lock(&self.queue);
        loop {
            if let Some((object, range, done)) = queue.jobs.pop_front() {
                drop(queue);
                (self.drop_pages)(object, range);
                drop(done);
                queue = lock(&self.queue);
            } else if queue.is_over || queue.idle >= SPARE {
                queue.threads -= 1;
                return;
            } else {
                queue.idle += 1;
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }
}

impl Drop for PageDroppers {
    fn drop(&mut self) {
        lock(&self.0.queue).is_over = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for PageDroppers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageDroppers({} threads)", lock(&self.0.queue).threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, TryRecvError, channel};

    #[test]
    fn an_object_whose_page_is_locked_holds_up_no_other() {
        let (unlock, locked) = channel::<()>();
        let locked = Mutex::new(locked);
        let droppers = PageDroppers::new(Box::new(move |object, _| {
            if object == 1 {
                let _ = lock(&locked).recv();
            }
        }));
        let dropped = |object| -> Receiver<()> {
            let (done, ends) = channel();
            droppers.drop_pages(object, (0, 0), done);
            ends
        };
        let first = dropped(1);
        for object in 2..100 {
            assert!(dropped(object).recv().is_err(), "{object}");
        }
        assert!(first.try_recv() == Err(TryRecvError::Empty), "the page is locked");
        drop(unlock);
        assert!(first.recv().is_err());
        assert!(lock(&droppers.0.queue).threads <= 3);
    }
}
