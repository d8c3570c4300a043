//! Regression: an attacker with write access to the directory of the status placed a link there, and root's daemon
//! overwrote its target.

use crate::support::{Site, assert_done, can_mount};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_link_in_place_of_the_status_or_the_lock_is_never_written_through() {
    if !can_mount("a_link_in_place_of_the_status_or_the_lock_is_never_written_through") {
        return;
    }
    let site = Site::new();
    let victim = site.path("victim");
    fs::write(&victim, "of root").unwrap();
    for link in ["status", "status.new"] {
        symlink(&victim, site.path(link)).unwrap();
    }
    let mount = site.mount();
    mount.read("index.html").unwrap();
    assert_eq!(mount.state(), "state mounted");
    assert!(site.path("status").symlink_metadata().unwrap().is_file());
    // A lock that is a link is a lock, too; the next one replaces the link.
    symlink(&victim, site.path("site.vault.key.locked")).unwrap();
    assert_done(&site.layers(&["lock", &site.text("site.vault"), "--reason", "seen"]));
    assert_eq!(fs::read_to_string(site.path("site.vault.key.locked")).unwrap(), "seen\n");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "of root");
}
