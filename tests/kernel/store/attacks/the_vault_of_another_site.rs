//! Regression: an attacker with write access to the disk put the vault of one site, with its sealed key, in place of
//! another's. Both open under the same key file, so one site served the other's content.

use crate::support::{Site, assert_done};
use std::fs;

#[test]
fn vaults_under_one_key_cannot_be_exchanged() {
    let site = Site::new();
    let seal = |vault: &str, further: &[&str]| {
        let (tree, vault, key) = (site.text("tree"), site.text(vault), site.text("key"));
        site.layers(&[&["seal", &tree, "--out", &vault, "--key", &key], further].concat())
    };
    assert_done(&seal("other.vault", &[]));
    let verify = |further: &[&str]| {
        let (vault, key) = (site.text("site.vault"), site.text("key"));
        let output = site.layers(&[&["verify", &vault, "--key", &key], further].concat());
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(verify(&[]), "");
    for end in ["", ".key", ".key.memory"] {
        fs::copy(site.path(&format!("other.vault{end}")), site.path(&format!("site.vault{end}"))).unwrap();
    }
    let said = verify(&[]);
    assert!(said.contains("the one of the vault other.vault, not of site.vault"), "{said}");
    // An administrator who renamed it says so.
    assert_eq!(verify(&["--name", "other.vault"]), "");
    // A sealed key belongs to one vault.
    let shared = seal("third.vault", &["--sealed", &site.text("other.vault.key")]);
    assert_eq!(shared.status.code(), Some(3));
    assert!(!site.path("third.vault").exists());
}
