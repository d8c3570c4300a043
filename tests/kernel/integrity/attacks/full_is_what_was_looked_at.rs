//! The degree is full only while the tree is what was signed, where it was signed, and nobody else can undo it.

use crate::site::{EPERM, Guard, Mounted, Site, is_frozen, layers, may_run, open, python, wait_until};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

fn is(guard: &Guard, gap: &str, number: u64) {
    assert_eq!((guard.degree().as_str(), guard.number(gap)), ("partial", number), "{gap}");
}

#[test]
fn a_tree_has_one_enforcer_and_is_not_thawed_under_it() {
    if !may_run("a_tree_has_one_enforcer_and_is_not_thawed_under_it") {
        return;
    }
    let site = Site::tampered(&[]);
    let guard = site.enforce(&["--mode", "deny"]);
    let (root, manifest, public) = (site.text("site"), site.text("manifest"), site.text("pub"));
    let enforce = ["enforce", &root, "--manifest", &manifest, "--pub", &public, "--mode", "deny"];
    for words in [&enforce[..], &["thaw", &root]] {
        let done = layers(&[&["integrity"], words].concat());
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(3) && said.contains("another process enforces it"), "{said}");
    }
    assert_eq!(guard.degree(), "full");
    assert_eq!(guard.end(), Some(0));
    assert_eq!(site.enforce(&["--mode", "deny"]).degree(), "full");
}

#[test]
fn an_enforcer_that_another_one_does_not_see_is_a_gap() {
    if !may_run("an_enforcer_that_another_one_does_not_see_is_a_gap") {
        return;
    }
    let site = Site::tampered(&[]);
    let first = site.enforce(&["--mode", "deny"]);
    // In a container the locks lie in a `/run` of its own.
    let own = "mount -t tmpfs none /run && exec \"$@\"";
    let mut second = Command::new("unshare");
    second.args(["-m", "sh", "-c", own, "sh", env!("CARGO_BIN_EXE_bakeoff-layers"), "integrity", "enforce"]);
    second.args([&site.text("site"), "--manifest", &site.text("manifest"), "--pub", &site.text("pub")]);
    let status = site.text("second");
    let mut second = second.args(["--mode", "deny", "--status", &status]).spawn().unwrap();
    let says = |line: &str| fs::read_to_string(&status).is_ok_and(|text| text.contains(line));
    wait_until("the second one arms", || says("state armed"));
    let (partial, full) = (says("degree partial"), first.degree());
    drop(first);
    let still = says("degree partial");
    crate::site::kill(second.id(), "-TERM");
    second.wait().unwrap();
    assert_eq!((partial, full.as_str(), still), (true, "full", true));
}

#[test]
fn what_somebody_makes_changeable_is_frozen_and_looked_at_again() {
    if !may_run("what_somebody_makes_changeable_is_frozen_and_looked_at_again") {
        return;
    }
    let site = Site::tampered(&[]);
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!((guard.degree().as_str(), guard.number("unasked")), ("full", 3));
    let own = "mount -t tmpfs none /run && exec \"$@\"";
    let mut thaw = Command::new("unshare");
    thaw.args(["-m", "sh", "-c", own, "sh", env!("CARGO_BIN_EXE_bakeoff-layers"), "integrity", "thaw"]);
    assert!(thaw.arg(site.text("site")).status().unwrap().success());
    site.write("a", "evil a");
    site.write("new", "evil");
    wait_until("a refusal", || ["a", "new"].iter().all(|name| open(&site.file(name)) == Err(EPERM)));
    wait_until("frozen again", || is_frozen(&site.file("b")) && guard.degree() == "full");
    assert!(is_frozen(&site.file("")) && site.said().contains("immutable attribute"), "{}", site.said());
    assert_eq!(open(&site.file("b")).unwrap(), "good b");
}

#[test]
fn another_trees_manifest_is_refused() {
    if !may_run("another_trees_manifest_is_refused") {
        return;
    }
    let site = Site::new();
    site.seal(1, &["--name", "another"]);
    assert!(site.refusal(&["--mode", "deny"]).contains("(wrong-manifest)"));
    let guard = site.enforce(&["--mode", "deny", "--name", "another"]);
    site.seal(2, &["--name", "a third"]);
    guard.signal("-HUP");
    guard.wait_for("reloads-refused", 1);
    assert_eq!((guard.number("manifest-version"), guard.degree().as_str()), (1, "full"));
}

#[test]
fn a_missing_file_is_a_gap_and_one_with_an_access_list_is_wrong() {
    if !may_run("a_missing_file_is_a_gap_and_one_with_an_access_list_is_wrong") {
        return;
    }
    let site = Site::tampered(&[]);
    // Of user 65534, who may read it; the mode stays 0644.
    let list = "import os, struct, sys\n\
        rows = [(1, 6, -1), (2, 4, 65534), (4, 4, -1), (16, 4, -1), (32, 4, -1)]\n\
        text = struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *row) for row in rows)\n\
        os.setxattr(sys.argv[1], 'system.posix_acl_access', text)";
    python(list, &[&site.text("site/b")]);
    fs::remove_file(site.file("a")).unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    is(&guard, "gap-missing", 1);
    assert_eq!((open(&site.file("b")), open(&site.file("sub/c"))), (Err(EPERM), Ok("good sub/c".to_owned())));
    guard.wait_for("access-list", 1);
}

#[test]
fn a_link_to_the_tree_that_leads_elsewhere_is_a_gap() {
    if !may_run("a_link_to_the_tree_that_leads_elsewhere_is_a_gap") {
        return;
    }
    let site = Site::tampered(&[]);
    let current = site.path("current");
    symlink("site", &current).unwrap();
    let guard = site.enforce_at("current", &["--mode", "deny"]);
    assert_eq!(guard.degree(), "full");
    fs::create_dir(site.path("other")).unwrap();
    fs::remove_file(&current).unwrap();
    symlink("other", &current).unwrap();
    wait_until("moved", || guard.number("gap-moved") == 1 && guard.degree() == "partial");
}

#[test]
fn a_mount_of_the_tree_that_is_moved_or_exchanged_is_another() {
    if !may_run("a_mount_of_the_tree_that_is_moved_or_exchanged_is_another") {
        return;
    }
    let site = Site::new();
    fs::create_dir(site.file("volume")).unwrap();
    let first = Mounted::new(&["-t", "tmpfs", "none"], &site.file("volume"));
    site.write("volume/c", "good v");
    site.seal(1, &[]);
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(open(&site.file("volume/c")).unwrap(), "good v");
    let done = Command::new("mount").arg("--move").args([site.file("volume"), site.file("sub")]).status();
    let moved = Mounted::at(&site.file("sub"));
    // Under a parent that is shared it cannot be moved.
    if done.unwrap().success() {
        wait_until("moved", || guard.number("gap-mounted-over") == 1);
    }
    drop((moved, first));
    // Another, which may get the numbers of the first and of its file.
    fs::create_dir(site.path("evil")).unwrap();
    let _second = Mounted::new(&["-t", "tmpfs", "none"], &site.path("evil"));
    fs::write(site.path("evil/c"), "evil v").unwrap();
    let _there = Mounted::bind(&site.path("evil"), &site.file("volume"));
    wait_until("a refusal", || open(&site.file("volume/c")) == Err(EPERM));
    assert_eq!(guard.degree(), "partial");
}
