//! Resting directories: opens in right and frozen directories raise no event, and do again as soon as that no longer
//! holds.

use crate::site::{EPERM, Guard, Mounted, Site, is_frozen, may_run, open, wait_until};
use std::fs;

/// Number of the group's marks in the kernel.
fn marks(guard: &Guard) -> usize {
    let pid = guard.pids()[0];
    let descriptors = fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap().flatten();
    let texts = descriptors.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    texts.map(|text| text.lines().filter(|line| line.starts_with("fanotify ino:")).count()).sum()
}

#[test]
fn a_frozen_right_tree_has_no_marks_until_something_changes() {
    if !may_run("a_frozen_right_tree_has_no_marks_until_something_changes") {
        return;
    }
    let site = Site::tampered(&[]);
    fs::create_dir(site.path("evil")).unwrap();
    fs::write(site.path("evil/c"), "evil").unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!((guard.degree().as_str(), guard.number("unasked"), marks(&guard)), ("full", 3, 0));
    let decided = guard.number("decided");
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    assert!(fs::write(site.file("a"), "evil").is_err() && fs::write(site.file("new"), "evil").is_err());
    // A mount over it.
    let over = Mounted::bind(&site.path("evil"), &site.file("sub"));
    wait_until("a refusal below the mount", || open(&site.file("sub/c")) == Err(EPERM));
    wait_until("marks", || guard.number("unasked") == 0 && marks(&guard) >= 3);
    assert!(guard.number("decided") > decided);
    assert_eq!(guard.number("gap-moved"), 0, "its place was looked at");
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    drop(over);
    wait_until("rest", || guard.number("unasked") == 3 && guard.degree() == "full");
    assert!(!is_frozen(&site.path("evil/c")) && !is_frozen(&site.path("evil")), "it is not ours");
    // A tree that is open for changes.
    site.seal(2, &[]);
    guard.signal("-HUP");
    guard.wait_for("reloads", 1);
    assert!(guard.number("unasked") == 0 && marks(&guard) > 3);
    site.replace("b", "evil b");
    assert_eq!(open(&site.file("b")), Err(EPERM));
    guard.signal("-HUP");
    wait_until("closed", || guard.number("gap-open-for-changes") == 0);
    assert_eq!(open(&site.file("b")), Err(EPERM));
    // The directory of the wrong file keeps its marks, the one below needs none.
    wait_until("rest below", || guard.number("unasked") == 1 && marks(&guard) > 0);
    assert_eq!((guard.degree().as_str(), open(&site.file("a")).unwrap().as_str()), ("full", "good a"));
    assert_eq!(open(&site.file("b")), Err(EPERM));
}

#[test]
fn a_directory_with_a_file_that_nobody_signed_keeps_its_marks() {
    if !may_run("a_directory_with_a_file_that_nobody_signed_keeps_its_marks") {
        return;
    }
    let site = Site::tampered(&[]);
    site.write("sub/new", "evil");
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!((guard.degree().as_str(), guard.number("unasked")), ("full", 2));
    assert_eq!(open(&site.file("sub/new")), Err(EPERM));
    assert_eq!(open(&site.file("sub/c")).unwrap(), "good sub/c");
}
