//! Queue of `log` mode, where no open waits: files that were allowed and are checked afterwards.

use bakeoff_layers_base::locks::lock;
use bakeoff_sys::inode::Facts;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex};

/// Limit on queued files; each holds a descriptor.
const MAX_WAITING: usize = 128;

/// An opened file to be checked.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) file: Arc<OwnedFd>,
    pub(crate) facts: Facts,
    /// Its number in the manifest.
    pub(crate) index: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<VecDeque<Job>>,
    more: Condvar,
}

impl Queue {
    /// Queues a job, or gives it back if the queue is full.
    pub(crate) fn put(&self, job: Job) -> Result<(), Job> {
        let mut waiting = lock(&self.waiting);
        if waiting.len() >= MAX_WAITING {
            return Err(job);
        }
        waiting.push_back(job);
        self.more.notify_one();
        Ok(())
    }

    /// The next job; waits until there is one.
    pub(crate) fn take(&self) -> Job {
        let mut waiting = lock(&self.waiting);
        loop {
            if let Some(job) = waiting.pop_front() {
                return job;
            }
            waiting = self.more.wait(waiting).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}
