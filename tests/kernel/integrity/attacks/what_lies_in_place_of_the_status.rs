//! Regression: an attacker with write access to the directory of the status placed a link there, and root's worker
//! overwrote its target; or a FIFO, and both workers hung: the one that wrote, and the next, which read it.

use crate::site::{Site, kill, may_run, wait_until};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::time::Duration;

#[test]
fn a_link_in_place_of_the_status_is_not_followed() {
    if !may_run("a_link_in_place_of_the_status_is_not_followed") {
        return;
    }
    let site = Site::tampered(&[]);
    fs::write(site.path("victim"), "of root").unwrap();
    for link in ["status", "status.new"] {
        symlink(site.path("victim"), site.path(link)).unwrap();
    }
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(guard.degree(), "full", "{}", guard.armed);
    assert_eq!(guard.end(), Some(0));
    assert!(site.path("status").symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read_to_string(site.path("victim")).unwrap(), "of root");
}

#[test]
fn a_fifo_in_place_of_the_status_holds_no_worker_up() {
    if !may_run("a_fifo_in_place_of_the_status_holds_no_worker_up") {
        return;
    }
    let site = Site::tampered(&[]);
    let fifo = |name: &str| mkfifo(&site.path(name), Mode::from_bits_truncate(0o666)).unwrap();
    fifo("status");
    fifo("status.new");
    // Should a worker wait for a reader after all, it gets one, and the test fails in time.
    let names = [site.path("status"), site.path("status.new")];
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(20));
        let open = |path| fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let readers = names.map(open);
        std::thread::sleep(Duration::from_secs(20));
        drop(readers);
    });
    let guard = site.enforce(&["--mode", "deny"]);
    let worker = guard.pids()[1];
    fs::remove_file(site.path("status")).unwrap();
    fifo("status");
    kill(worker, "-KILL");
    wait_until("the next worker has armed", || site.path("status").symlink_metadata().unwrap().is_file());
    assert_eq!(guard.number("restarts"), 1);
    assert_eq!(guard.end(), Some(0));
}
