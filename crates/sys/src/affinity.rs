//! Which cores a thread may run on.
//!
//! Both sides of the wall, cold path: placement is decided once, before measuring, and children
//! inherit it.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io;

/// The cores the calling thread may run on, in rising order.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect())
}

/// Confines the calling thread, and what it starts from now on, to `cpus`. `InvalidInput` when
/// none of them exists or is allowed here.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    match cpu_set(cpus)? {
        Some(set) => Ok(sched_setaffinity(Pid::from_raw(0), &set)?),
        None => Ok(()),
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
    fn a_core_that_cannot_exist_is_refused() {
        assert!(pin(&[usize::MAX]).is_err());
        assert!(pin(&[1023]).is_err() || allowed().unwrap().contains(&1023));
    }
}
