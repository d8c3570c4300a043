//! Progress of each arming thread, to report the file or directory that holds it up.
//!
//! Cold. A process that reads a directory, or writes to a file, can hold its lock as long as it likes: the kernel
//! copies from or to its memory meanwhile, which may be a file of its own FUSE file system. A thread that freezes the
//! file waits for that lock, and nothing can wake it.

use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<HashMap<ThreadId, (String, Instant)>>);

impl Progress {
    /// Notes the path that the calling thread is working on.
    pub(crate) fn at(&self, path: &str) {
        self.threads().insert(thread::current().id(), (path.to_owned(), Instant::now()));
    }

    /// Notes that the calling thread is done.
    pub(crate) fn done(&self) {
        self.threads().remove(&thread::current().id());
    }

    /// Paths that some thread has been working on for longer than `limit`; each is reported once.
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
