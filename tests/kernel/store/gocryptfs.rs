//! gocryptfs mounts under the store's key.

#![allow(clippy::print_stdout, reason = "the SKIP line is for whoever runs the tests")]

use crate::support::{Mount, Site, assert_done, can_mount, command, is_mounted};
use nix::sys::signal::Signal;
use std::fs;
use std::process::{Command, Stdio};

fn can_run(test: &str) -> bool {
    let version = Command::new("gocryptfs").arg("--version").stdout(Stdio::null()).status();
    if version.is_ok_and(|status| status.success()) {
        return can_mount(test);
    }
    let missing = "the package gocryptfs is missing";
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {missing}");
    println!("SKIP {test}: {missing}");
    false
}

fn mount(site: &Site) -> Mount {
    let mut command = command();
    command.args(["gocryptfs", &site.text("cipher"), &site.text("mnt"), "--key", &site.text("key")]);
    Mount::of(command, site.mount_point(), site.path("status"))
}

#[test]
fn gocryptfs_keeps_what_is_written_under_the_stores_key() {
    if !can_run("gocryptfs_keeps_what_is_written_under_the_stores_key") {
        return;
    }
    let site = Site::unsealed();
    fs::create_dir(site.path("cipher")).unwrap();
    let mut first = mount(&site);
    fs::write(first.at.join("page.html"), "a text that changes").unwrap();
    first.signal(Signal::SIGTERM);
    assert_eq!(first.ended(), Some(0));
    assert!(!is_mounted(&site.mount_point()));
    let names: Vec<_> =
        fs::read_dir(site.path("cipher")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name == "page.html"), "{names:?}");
    assert_eq!(mount(&site).read("page.html").unwrap(), b"a text that changes");
}

#[test]
fn a_lock_ends_gocryptfs_and_refuses_the_next() {
    if !can_run("a_lock_ends_gocryptfs_and_refuses_the_next") {
        return;
    }
    let site = Site::unsealed();
    fs::create_dir(site.path("cipher")).unwrap();
    let mut running = mount(&site);
    assert_done(&site.layers(&["lock", &site.text("cipher")]));
    assert_eq!(running.ended(), Some(3));
    assert!(!is_mounted(&site.mount_point()));
    let next =
        site.layers(&["gocryptfs", &site.text("cipher"), &site.text("mnt"), "--key", &site.text("key")]);
    assert_eq!(next.status.code(), Some(3));
    assert!(String::from_utf8(next.stderr).unwrap().contains("the store is locked"));
}
