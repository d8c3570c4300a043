//! Regression: only opens of regular files raised events, so a FIFO or a device in the tree opened under degree
//! `full`, whatever it delivered. Linux 6.18 raises none for other files, so they must not be in the tree.

use crate::site::{Site, may_run};
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Command;

fn make(site: &Site, program: &str, name: &str, further: &[&str]) {
    assert!(Command::new(program).arg(site.file(name)).args(further).status().unwrap().success());
}

#[test]
fn a_fifo_or_a_device_ends_arming_with_a_sentence_that_names_it() {
    if !may_run("a_fifo_or_a_device_ends_arming_with_a_sentence_that_names_it") {
        return;
    }
    let site = Site::tampered(&[]);
    fs::remove_file(site.file("b")).unwrap();
    make(&site, "mkfifo", "b", &[]);
    let said = site.refusal(&["--mode", "deny"]);
    assert!(said.contains("b: a FIFO or a device"), "{said}");
    fs::remove_file(site.file("b")).unwrap();
    site.write("b", "good b");
    make(&site, "mknod", "sub/zero", &["c", "1", "5"]);
    let said = site.refusal(&["--mode", "deny"]);
    assert!(said.contains("sub/zero: a FIFO or a device"), "{said}");
}

#[test]
fn one_that_is_taken_on_or_comes_later_is_a_gap_and_a_socket_is_none() {
    if !may_run("one_that_is_taken_on_or_comes_later_is_a_gap_and_a_socket_is_none") {
        return;
    }
    let site = Site::tampered(&[]);
    let _listener = UnixListener::bind(site.file("socket")).unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    assert!(fs::File::open(site.file("socket")).is_err());
    assert_eq!(guard.degree(), "full", "{}", guard.armed);
    assert!(!Command::new("mkfifo").arg(site.file("new")).status().unwrap().success(), "it is frozen");
    assert_eq!(guard.end(), Some(0));
    make(&site, "mkfifo", "new", &[]);
    let guard = site.enforce(&["--mode", "deny", "--links", "allow"]);
    assert_eq!((guard.degree().as_str(), guard.number("gap-special")), ("partial", 1), "{}", guard.armed);
    assert_eq!(guard.end(), Some(0));
    fs::remove_file(site.file("new")).unwrap();
    let guard = site.enforce(&["--mode", "deny", "--no-freeze"]);
    assert_eq!(guard.number("gap-special"), 0);
    make(&site, "mkfifo", "sub/later", &[]);
    guard.wait_for("gap-special", 1);
}
