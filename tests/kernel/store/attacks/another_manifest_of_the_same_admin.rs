//! Regression: the key was released for any manifest of the admin: an empty one, another tree's, the right one of
//! another directory. And a high version of another manifest locked the right one out.

use crate::support::{Site, assert_done};
use std::fs;
use std::process::Output;

/// A store whose key is bound to the manifest `good` of `bin`, and other manifests of the same admin.
fn bound() -> Site {
    let site = Site::new();
    fs::remove_file(site.path("site.vault.key")).unwrap();
    for (dir, text) in [("bin", "the server"), ("other", "another program")] {
        fs::create_dir(site.path(dir)).unwrap();
        fs::write(site.path(dir).join("server"), text).unwrap();
    }
    fs::create_dir(site.path("nothing")).unwrap();
    site.integrity(&["keygen", "--key", &site.text("admin.key"), "--pub", &site.text("admin.pub")]);
    manifest(&site, "bin", "good", &["--number", "5"]);
    manifest(&site, "other", "another", &["--number", "99"]);
    manifest(&site, "nothing", "empty", &["--number", "99", "--name", &site.text("bin")]);
    let sealed = store(&site, &["seal", &site.text("tree"), "--out"], &state(&site, "good", "bin"));
    assert_done(&sealed);
    site
}

fn manifest(site: &Site, dir: &str, out: &str, further: &[&str]) {
    let (dir, key, out) = (site.text(dir), site.text("admin.key"), site.text(out));
    site.integrity(&[&["seal", &dir, "--key", &key, "--out", &out], further].concat());
}

fn state(site: &Site, manifest: &str, root: &str) -> Vec<String> {
    let (manifest, public, root) = (site.text(manifest), site.text("admin.pub"), site.text(root));
    ["--manifest", &manifest, "--pub", &public, "--root", &root].map(str::to_owned).to_vec()
}

/// A command with the vault, the key file and these flags appended.
fn store(site: &Site, command: &[&str], flags: &[String]) -> Output {
    let (vault, key) = (site.text("site.vault"), site.text("key"));
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    site.layers(&[command, &[&vault, "--key", &key], &flags].concat())
}

/// Message of `verify`, which needs the key as `mount` does; empty if it got the key.
fn says(site: &Site, flags: &[String]) -> String {
    String::from_utf8(store(site, &["verify"], flags).stderr).unwrap()
}

#[test]
fn another_manifest_of_the_same_admin_is_refused_and_never_locks_the_right_one_out() {
    let site = bound();
    let with = |manifest: &str, root: &str| says(&site, &state(&site, manifest, root));
    assert_eq!(with("good", "bin"), "");
    let said = with("another", "other");
    assert!(said.contains("bound to the one of") && said.contains("/bin"), "{said}");
    assert!(with("empty", "bin").contains("names no file"), "{}", with("empty", "bin"));
    // The right files in another place, while other ones are in use.
    fs::create_dir(site.path("copy")).unwrap();
    fs::copy(site.path("bin/server"), site.path("copy/server")).unwrap();
    assert!(with("good", "copy").contains("--root is"), "{}", with("good", "copy"));
    // None of them raised the version that counts.
    assert_eq!(with("good", "bin"), "");
    // A newer one of the same name is accepted wherever it was sealed, and the older one is refused from then on.
    fs::write(site.path("bin/server"), "a newer server").unwrap();
    fs::copy(site.path("bin/server"), site.path("copy/server")).unwrap();
    manifest(&site, "copy", "newer", &["--number", "6", "--name", &site.text("bin")]);
    assert_eq!(with("newer", "bin"), "");
    fs::write(site.path("bin/server"), "the server").unwrap();
    assert!(with("good", "bin").contains("older than"), "{}", with("good", "bin"));
}

#[test]
fn a_manifest_for_a_key_that_asks_for_none_is_an_error() {
    let site = bound();
    fs::remove_file(site.path("site.vault.key")).unwrap();
    site.seal();
    assert_eq!(says(&site, &[]), "");
    let said = says(&site, &state(&site, "good", "bin"));
    assert!(said.contains("made without a manifest"), "{said}");
}
