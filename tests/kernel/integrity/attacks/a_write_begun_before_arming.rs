//! Regression: a direct read from the attacker's own file system went into a page of a file of the tree. The attacker
//! dropped mapping and descriptor, the lease was granted, the file frozen and hashed, and `full` printed. Then the
//! read ended, and the immutable file had the attacker's content: in memory and on the disk.

use crate::site::{Attacker, EPERM, Site, may_run, open, wait_until};

#[test]
fn a_write_begun_before_arming_is_a_gap_and_is_seen_when_it_lands() {
    if !may_run("a_write_begun_before_arming_is_a_gap_and_is_seen_when_it_lands") {
        return;
    }
    let site = Site::tampered(&[]);
    let mut attacker = Attacker::with_fuse(&site, "pin", &site.file("a"));
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!((guard.degree().as_str(), guard.number("gap-pinned")), ("partial", 1), "{}", guard.armed);
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    attacker.go_on("done");
    assert_eq!(open(&site.file("a")), Err(EPERM), "it landed");
    assert_eq!(open(&site.file("b")).unwrap(), "good b");
    wait_until("nobody holds a page", || guard.number("gap-pinned") == 0);
    assert_eq!(open(&site.file("a")), Err(EPERM));
}

/// A right file is fully enforced again once nobody holds its pages, without anybody opening it.
#[test]
fn a_page_that_was_let_go_of_is_no_gap_any_more() {
    if !may_run("a_page_that_was_let_go_of_is_no_gap_any_more") {
        return;
    }
    let site = Site::tampered(&[]);
    let attacker = Attacker::with_fuse(&site, "pin", &site.file("a"));
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(guard.number("gap-pinned"), 1);
    drop(attacker);
    wait_until("full", || guard.degree() == "full");
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
}
