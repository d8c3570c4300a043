//! Regression: file capabilities, which give rights beyond the permission bits, were not checked; nor is the owner,
//! whose rights a set-user-id file gives.

use crate::site::{EPERM, Site, layers, may_run, open};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn a_file_with_capabilities_is_wrong_and_an_owner_who_matters_is_a_gap() {
    if !may_run("a_file_with_capabilities_is_wrong_and_an_owner_who_matters_is_a_gap") {
        return;
    }
    let site = Site::new();
    fs::set_permissions(site.file("a"), fs::Permissions::from_mode(0o4755)).unwrap();
    site.seal(1, &[]);
    let given = Command::new("setcap").arg("cap_net_raw+ep").arg(site.file("b")).status().unwrap();
    assert!(given.success());
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(open(&site.file("b")), Err(EPERM));
    guard.wait_for("capabilities", 1);
    assert_eq!((guard.degree().as_str(), guard.number("gap-owners")), ("partial", 1));
    assert_eq!(guard.end(), Some(0));
    let (root, key, out) = (site.text("site"), site.text("key"), site.text("manifest"));
    let sealed = layers(&["integrity", "seal", &root, "--key", &key, "--out", &out, "--number", "2"]);
    let said = String::from_utf8(sealed.stderr).unwrap();
    assert!(!sealed.status.success() && said.contains("b: has file capabilities"), "{said}");
}
