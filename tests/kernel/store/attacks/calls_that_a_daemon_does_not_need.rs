//! Regression: a hole in a daemon gave everything that its user may do: executing programs, opening files, sockets,
//! tracing. Tests in `layers/base` and `layers/store`, beside the tables, cover the refused calls; this one checks
//! that both processes are filtered, in all threads.

use crate::support::{Site, can_mount, until};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::fs;

/// Whether each thread has a filter, which is 2 in the kernel's status.
fn filtered(process: Pid) -> Vec<bool> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let of = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("status")).unwrap();
        text.lines().any(|line| line == "Seccomp:\t2")
    };
    tasks.map(|task| of(task.unwrap())).collect()
}

#[test]
fn every_thread_of_daemon_and_keeper_is_under_a_filter() {
    if !can_mount("every_thread_of_daemon_and_keeper_is_under_a_filter") {
        return;
    }
    let site = Site::new();
    let mut mount = site.mount();
    mount.read("img/large.bin").unwrap();
    let threads = filtered(Pid::from_raw(mount.daemon.id() as i32));
    // The serving threads, the waiting one, and the one for signals.
    assert!(threads.len() >= 4 && threads.iter().all(|filtered| *filtered), "{threads:?}");
    let keeper = mount.children()[0];
    until("the keeper waits", || filtered(keeper) == [true]);
    mount.signal(Signal::SIGTERM);
    assert_eq!(mount.ended(), Some(0));
}
