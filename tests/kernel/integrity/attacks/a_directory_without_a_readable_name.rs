//! Regression: a directory whose name is not UTF-8 got no mark, so files planted there opened under degree `full`.

use crate::site::{EPERM, Site, may_run, open};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

#[test]
fn what_lies_in_a_directory_without_a_readable_name_is_asked_about() {
    if !may_run("what_lies_in_a_directory_without_a_readable_name_is_asked_about") {
        return;
    }
    let site = Site::tampered(&[]);
    let odd = site.file("sub").join(OsStr::from_bytes(b"\xff\n"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("evil"), "evil").unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(open(&odd.join("evil")), Err(EPERM));
    guard.wait_for("unlisted", 1);
    assert!(fs::write(odd.join("more"), "evil").is_err(), "it is not frozen");
}
