//! Work on several threads at once.
//!
//! Measured side, cold. A panic of one goes on in the caller.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread;

/// Cores that there are for us.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Does the same on so many threads, and waits for all; what each came to.
pub fn on<T: Send>(count: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(&work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, T>| {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        workers.into_iter().map(join).collect()
    })
}
