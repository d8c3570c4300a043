//! Regression: a known mount was removed, and another one got its number, so files on it opened unchecked.

use crate::site::{EPERM, Mounted, Site, Thawed, may_run, open, wait_until};
use std::fs;

#[test]
fn a_mount_with_the_number_of_one_that_was_known_is_asked_about() {
    if !may_run("a_mount_with_the_number_of_one_that_was_known_is_asked_about") {
        return;
    }
    let site = Site::new();
    for name in ["good", "evil"] {
        fs::create_dir(site.path(name)).unwrap();
    }
    fs::write(site.path("good/c"), "good sub/c").unwrap();
    fs::write(site.path("evil/c"), "evil").unwrap();
    fs::write(site.path("evil/new"), "evil").unwrap();
    let sub = site.file("sub");
    let known = Mounted::bind(&site.path("good"), &sub);
    let number =
        |path: &std::path::Path| bakeoff_sys::inode::mount_number(fs::File::open(path).unwrap()).unwrap();
    let before = number(&sub);
    site.seal(1, &[]);
    // Frozen files there cannot be found any more at the end.
    let _good = Thawed(site.path("good"));
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(
        (open(&site.file("sub/c")).unwrap().as_str(), guard.degree().as_str()),
        ("good sub/c", "full")
    );
    drop(known);
    // The lowest free number is the next mount's, unless somebody else mounts something just then.
    let _over = Mounted::bind(&site.path("evil"), &sub);
    println!("mount {before}, then {}", number(&sub));
    guard.wait_for("gap-mounted-over", 1);
    wait_until("a refusal", || open(&site.file("sub/new")) == Err(EPERM));
    assert_eq!(guard.degree(), "partial");
}
