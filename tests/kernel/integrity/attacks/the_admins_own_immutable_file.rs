//! Regression: a file that the administrator had made immutable was changeable after the end, if a worker had died
//! meanwhile.

use crate::site::{Site, Thawed, is_frozen, kill, may_run, wait_until};
use std::fs::File;

#[test]
fn what_was_immutable_before_is_so_afterwards() {
    if !may_run("what_was_immutable_before_is_so_afterwards") {
        return;
    }
    let site = Site::tampered(&[]);
    let _own = Thawed(site.path("site"));
    bakeoff_sys::inode::set_immutable(File::open(site.file("a")).unwrap(), true).unwrap();
    let mut guard = site.enforce(&["--mode", "deny"]);
    assert_eq!((guard.degree().as_str(), guard.number("gap-immutable-before")), ("partial", 1));
    let worker = guard.pids()[1];
    kill(worker, "-KILL");
    wait_until("another worker", || guard.pids()[1] != worker);
    assert!(is_frozen(&site.file("a")) && is_frozen(&site.file("b")));
    assert_eq!(guard.stop(), Some(0));
    assert!(is_frozen(&site.file("a")), "it was the administrator's");
    for ours in ["b", "sub/c", "sub", ""] {
        assert!(!is_frozen(&site.file(ours)), "{ours} was left frozen");
    }
}
