//! Regression: two signed names were made one inode. By a way whose path says nothing, the content of one was opened
//! under the name of the other.

use crate::site::{EPERM, Mounted, Site, may_run, open};
use std::fs;

#[test]
fn where_the_path_tells_nothing_neither_of_two_names_opens() {
    if !may_run("where_the_path_tells_nothing_neither_of_two_names_opens") {
        return;
    }
    let site = Site::tampered(&[]);
    fs::remove_file(site.file("b")).unwrap();
    fs::hard_link(site.file("a"), site.file("b")).unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    fs::create_dir(site.path("alias")).unwrap();
    let _alias = Mounted::bind(&site.path("site"), &site.path("alias"));
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    assert_eq!(open(&site.file("b")), Err(EPERM));
    assert_eq!(open(&site.path("alias/b")), Err(EPERM), "the content of `a` under the name of `b`");
    assert_eq!(open(&site.path("alias/sub/c")).unwrap(), "good sub/c");
    guard.wait_for("unlisted", 1);
}
