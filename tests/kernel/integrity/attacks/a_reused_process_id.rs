//! Regression: `stop` ended any process with the number of the server, also when the server had ended long ago and
//! its number belonged to another process.

use crate::site::{EPERM, Server, Site, may_run, open, wait_until};
use std::fs;

#[test]
fn a_process_that_got_the_servers_number_is_not_killed() {
    if !may_run("a_process_that_got_the_servers_number_is_not_killed") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let server = Server::start();
    let pid = server.0.id();
    let guard = site.enforce(&["--mode", "stop", "--stop-pid", &pid.to_string()]);
    drop(server);
    let mut other = takes_over(pid);
    assert_eq!(open(&site.file("b")), Err(EPERM));
    wait_until("what happened", || site.said().contains("b is not as the manifest says"));
    assert!(site.said().contains("ended 0 processes"), "{}", site.said());
    assert!(other.is_alive());
    assert_eq!(guard.number("stopped"), 0);
}

/// A process with this number: the kernel is set to count on from just before it.
fn takes_over(pid: u32) -> Server {
    let mut found = None;
    wait_until("a process with the same number", || {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).unwrap();
        let next = Server::start();
        if next.0.id() == pid {
            found = Some(next);
        }
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_number_that_nobody_has_is_refused_at_once() {
    if !may_run("a_number_that_nobody_has_is_refused_at_once") {
        return;
    }
    let site = Site::tampered(&[]);
    let (root, manifest, public) = (site.text("site"), site.text("manifest"), site.text("pub"));
    let arguments = ["integrity", "enforce", &root, "--manifest", &manifest, "--pub", &public];
    let done = crate::site::layers(&[&arguments[..], &["--mode", "stop", "--stop-pid", "4194305"]].concat());
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(3) && said.contains("--stop-pid 4194305"), "{said}");
}
