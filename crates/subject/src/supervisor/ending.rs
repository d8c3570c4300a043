//! End of process trees: processes are asked first, then killed, until `/proc` shows none left.

use crate::cgroup::Groups;
use bakeoff_sys::process::{self, Signal, Stat};
use bakeoff_units::{Clock, MonotonicClock, Nanos};

/// Outcome of the end of a process tree.
pub(crate) struct Ended {
    /// Processes that had to be killed.
    pub(crate) killed: usize,
    /// Processes that even SIGKILL did not end in time (stuck in the kernel).
    pub(crate) left: usize,
}

/// Time, after the first SIGKILL, to go on killing processes that still appear.
pub(super) const INSIST: Nanos = Nanos::from_secs(20);

/// Ends everything below this process and in `groups`, reaping as it goes. The direct children are asked first (a
/// server ends its own workers best), then all of them after half the grace. After the end of the grace all are killed,
/// again and again, since they may fork meanwhile.
pub(crate) fn end_below_self(grace: Nanos, groups: &Groups) -> Ended {
    let own = std::process::id();
    let direct = |stat: &Stat| stat.parent == own;
    end(grace, direct, || alive(own, &groups.members()))
}

/// Kills every process that the dead supervisor `supervisor` has left: those still in its session or in `groups`, those
/// that carry its mark and have become children of this process, and all below those.
pub(crate) fn kill_left_by(supervisor: u32, mark: &str, groups: &Groups) -> Ended {
    let ended = end(Nanos::ZERO, |_| true, || left_by(supervisor, mark, groups));
    groups.remove();
    ended
}

fn end(grace: Nanos, direct: impl Fn(&Stat) -> bool, targets: impl Fn() -> Vec<Stat>) -> Ended {
    let clock = MonotonicClock::new();
    let begin = clock.now();
    let mut asked = Vec::new();
    let mut killed = std::collections::HashSet::new();
    let mut pause = Nanos::from_millis(1);
    loop {
        let alive = targets();
        let passed = clock.now().since(begin);
        if alive.is_empty() || passed > grace + INSIST {
            return Ended { killed: killed.len(), left: alive.len() };
        }
        for target in &alive {
            let identity = (target.pid, target.start_ticks);
            if passed >= grace {
                if target.state != 'Z' {
                    killed.insert(identity);
                }
                let _ = process::send(target.pid, target.start_ticks, Signal::Kill); // looked at again below
            } else if !asked.contains(&identity) && (direct(target) || passed.get() >= grace.get() / 2) {
                asked.push(identity);
                let _ = process::send(target.pid, target.start_ticks, Signal::Terminate);
            }
        }
        std::thread::sleep(pause.as_duration());
        pause = pause.times(2.0).min(Nanos::from_millis(32));
    }
}

/// Processes below `root` and the members of its cgroups. Ended ones are reaped first, so an ended process in the list
/// waits for its parent, or has threads that still run.
fn alive(root: u32, members: &[u32]) -> Vec<Stat> {
    while let Ok(Some(_)) = process::reap() {}
    let mut all = process::descendants(root).unwrap_or_default();
    for &pid in members {
        if all.iter().all(|stat| stat.pid != pid) {
            all.extend(process::stat(pid));
        }
    }
    all
}

fn left_by(supervisor: u32, mark: &str, groups: &Groups) -> Vec<Stat> {
    let own = std::process::id();
    let members = groups.members();
    let all = process::scan().unwrap_or_default();
    let ours = |stat: &Stat| {
        stat.session == supervisor
            || members.contains(&stat.pid)
            || (stat.parent == own && carries(stat.pid, mark))
    };
    let roots: Vec<Stat> = all.into_iter().filter(|stat| ours(stat) && stat.pid != supervisor).collect();
    let mut found = Vec::new();
    for root in roots {
        let reaped =
            root.state == 'Z' && root.parent == own && matches!(process::reap_pid(root.pid), Ok(Some(_)));
        if !reaped {
            found.extend(process::descendants(root.pid).unwrap_or_default());
            found.push(root);
        }
    }
    found.retain(|stat| stat.state != 'Z' || stat.threads > 1);
    found
}

fn carries(pid: u32, mark: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes()))
}
