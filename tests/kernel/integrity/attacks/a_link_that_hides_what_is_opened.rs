//! Regression: a symbolic link in the place of a signed file, or on the way to it, showed another file under the
//! signed name. The kernel reports the opened file, not the link used.

use crate::site::{Mounted, Site, layers, may_run, open, wait_until};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A sealed tree, and beside it the attacker's files.
fn site() -> Site {
    let site = Site::tampered(&[]);
    fs::create_dir(site.path("evil")).unwrap();
    for name in ["b", "c"] {
        fs::write(site.path("evil").join(name), "evil").unwrap();
    }
    site
}

#[test]
fn such_a_link_ends_arming_with_a_sentence_that_names_it() {
    if !may_run("such_a_link_ends_arming_with_a_sentence_that_names_it") {
        return;
    }
    let link = |target: &Path, at: &str| {
        let site = site();
        let place = site.file(at);
        let _ = fs::remove_file(&place);
        if place.is_dir() {
            fs::rename(&place, site.path("away")).unwrap();
        }
        symlink(target, &place).unwrap();
        site
    };
    for (target, at, what) in [
        ("../evil/b", "b", "b: a symbolic link in the place of a signed file"),
        ("a", "b", "b: a symbolic link in the place of a signed file"),
        ("../evil", "sub", "sub: a symbolic link on the way to signed files"),
        ("/etc/passwd", "sub/p", "sub/p: a symbolic link that leads out of the tree"),
        // An attacker who may rename a directory above the tree leads it elsewhere.
        ("../site/a", "new", "new: a symbolic link that leads out of the tree"),
        ("nothing", "new\nnoted", "new\\u{a}noted: a symbolic link that leads nowhere"),
    ] {
        let site = link(Path::new(target), at);
        let said = site.refusal(&["--mode", "deny"]);
        assert!(said.contains(what) && said.contains("--links allow"), "{said}");
    }
    // A link to a signed file, by a path inside, hides nothing.
    let site = link(Path::new("sub/../a"), "new");
    let signed = |degree, number| {
        let guard = site.enforce(&["--mode", "deny"]);
        assert_eq!((guard.degree().as_str(), guard.number("gap-links-unsigned")), (degree, number));
    };
    signed("partial", 1);
    site.seal(2, &[]);
    signed("full", 0);
    // To another signed file.
    fs::remove_file(site.file("new")).unwrap();
    symlink("b", site.file("new")).unwrap();
    signed("partial", 1);
    let (root, manifest, public) = (site.text("site"), site.text("manifest"), site.text("pub"));
    let verified = layers(&["integrity", "verify", &root, "--manifest", &manifest, "--pub", &public]);
    assert_eq!(verified.status.code(), Some(7));
    fs::remove_file(site.file("new")).unwrap();
    signed("partial", 1);
}

#[test]
fn taken_on_it_is_a_gap_and_one_that_comes_later_is_found() {
    if !may_run("taken_on_it_is_a_gap_and_one_that_comes_later_is_found") {
        return;
    }
    let site = site();
    symlink("/etc/passwd", site.file("p")).unwrap();
    let guard = site.enforce(&["--mode", "deny", "--links", "allow"]);
    assert_eq!((guard.degree().as_str(), guard.number("gap-links")), ("partial", 1), "{}", guard.armed);
    assert_eq!(guard.end(), Some(0));
    fs::remove_file(site.file("p")).unwrap();
    // The mode refuses nothing: no link is a reason not to start.
    let guard = site.enforce(&["--mode", "deny", "--no-freeze"]);
    assert_eq!(guard.number("gap-links"), 0);
    fs::remove_file(site.file("b")).unwrap();
    symlink("../evil/b", site.file("b")).unwrap();
    fs::create_dir(site.file("later")).unwrap();
    fs::write(site.file("later/x"), "x").unwrap();
    let _over = Mounted::bind(&site.path("evil"), &site.file("sub"));
    guard.wait_for("gap-mounted-over", 1);
    guard.wait_for("gap-links", 1);
    assert_eq!(guard.number("gap-mounted-over"), 1, "a look through the tree takes nothing on");
    // The same walk through the tree has marked new files.
    wait_until("a mark", || open(&site.file("later/x")).is_err());
}
