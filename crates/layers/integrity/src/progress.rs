//! What each arming thread is at, so that it can be said which file or directory holds it up.
//!
//! Cold. Who reads a directory, or writes to a file, can keep its lock for as long as he likes: the kernel
//! copies from or to his memory meanwhile, and that may be a file of his own FUSE file system. Whoever
//! freezes it waits for that lock, and nothing can wake him.

use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<HashMap<ThreadId, (String, Instant)>>);

impl Progress {
    /// The calling thread is at this one now.
    pub(crate) fn at(&self, path: &str) {
        self.threads().insert(thread::current().id(), (path.to_owned(), Instant::now()));
    }

    /// The calling thread is done.
    pub(crate) fn done(&self) {
        self.threads().remove(&thread::current().id());
    }

    /// What some thread has been at for longer than `limit`; told of once.
    pub(crate) fn held_up(&self, limit: Duration) -> Vec<String> {
        let mut threads = self.threads();
        let held: Vec<_> =
            threads.iter().filter(|(_, at)| at.1.elapsed() > limit).map(|(id, _)| *id).collect();
        held.iter().filter_map(|id| threads.remove(id)).map(|(path, _)| path).collect()
    }

    fn threads(&self) -> MutexGuard<'_, HashMap<ThreadId, (String, Instant)>> {
        lock(&self.0)
    }
}
