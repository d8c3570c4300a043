//! CPU affinity: the cores on which a thread may run.
//!
//! Both sides of the wall, cold path: placement is decided once, before measuring, and children
//! inherit it.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io;
use std::marker::PhantomData;

/// The cores the calling thread may run on, in rising order.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect())
}

/// Confines the calling thread, and all that it starts from now on, to `cpus`. `InvalidInput` when none of them exists
/// or is allowed here.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    match cpu_set(cpus)? {
        Some(set) => Ok(sched_setaffinity(Pid::from_raw(0), &set)?),
        None => Ok(()),
    }
}

/// The calling thread confined to some cores; when this is dropped it may run where it did before.
#[derive(Debug)]
#[must_use = "the thread is confined only as long as this is there"]
pub struct Pinned {
    before: CpuSet,
    /// The value belongs to the thread that made it.
    of_thread: PhantomData<*const ()>,
}

impl Pinned {
    /// As [`pin`].
    pub fn to(cpus: &[usize]) -> io::Result<Self> {
        let before = sched_getaffinity(Pid::from_raw(0))?;
        pin(cpus)?;
        Ok(Self { before, of_thread: PhantomData })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Cores that are gone meanwhile cost placement, nothing else.
        let _ = sched_setaffinity(Pid::from_raw(0), &self.before);
    }
}

/// The kernel's form; none for an empty list, which means "leave it".
pub(crate) fn cpu_set(cpus: &[usize]) -> io::Result<Option<CpuSet>> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok((!cpus.is_empty()).then_some(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_says_so() {
        std::thread::spawn(|| {
            let last = *allowed().unwrap().last().unwrap();
            pin(&[last]).unwrap();
            assert_eq!(allowed().unwrap(), [last]);
            pin(&[]).unwrap();
            assert_eq!(allowed().unwrap(), [last]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_runs_where_it_did_before_when_it_is_pinned_no_more() {
        std::thread::spawn(|| {
            let before = allowed().unwrap();
            let pinned = Pinned::to(&before[..1]).unwrap();
            assert_eq!(allowed().unwrap(), before[..1]);
            drop(pinned);
            assert_eq!(allowed().unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_core_that_cannot_exist_is_refused() {
        assert!(pin(&[usize::MAX]).is_err());
        assert!(pin(&[1023]).is_err() || allowed().unwrap().contains(&1023));
    }
}
