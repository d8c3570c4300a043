//! Integrity layer on the real kernel: refusals, attacks, known gaps.
//!
//! As root, on marks of its own temporary trees. Each attack fails against the defence it is named after, and would
//! succeed without it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod attacks;
mod life;
mod races;
mod resting;
mod site;

use site::{EPERM, Site, is_frozen, layers, may_run, open, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn a_file_opens_only_if_it_is_what_the_manifest_says() {
    if !may_run("a_file_opens_only_if_it_is_what_the_manifest_says") {
        return;
    }
    let site = Site::new();
    fs::create_dir(site.file("cache")).unwrap();
    site.write("script", "#!/bin/sh\necho run\n");
    fs::set_permissions(site.file("script"), fs::Permissions::from_mode(0o755)).unwrap();
    site.seal(1, &["--exclude", "cache"]);
    site.write("b", "evil b");
    site.write("new", "nobody signed this");
    site.write("cache/x", "x");
    fs::write(site.file("script"), "#!/bin/sh\necho bad\n").unwrap();
    let guard = site.enforce(&["--mode", "deny", "--exclude", "cache"]);
    assert_eq!(guard.degree(), "full", "{}", guard.armed);
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    for _ in 0..3 {
        assert_eq!(open(&site.file("b")), Err(EPERM));
    }
    assert_eq!(open(&site.file("new")), Err(EPERM));
    assert_eq!(open(&site.file("nothing")), Err(2));
    assert_eq!(open(&site.file("cache/x")).unwrap(), "x");
    assert!(Command::new(site.file("script")).output().is_err(), "an executable that was changed ran");
    guard.wait_for("denied", 5);
    assert!(guard.says("violation 3 wrong-digest b"));
    assert!(guard.says("violation 1 unlisted new"));
    // With a known good verdict the kernel does not even ask.
    let decided = guard.number("decided");
    for _ in 0..100 {
        open(&site.file("a")).unwrap();
    }
    assert_eq!(open(&site.file("b")), Err(EPERM));
    guard.wait_for("decided", decided + 1);
    assert_eq!(guard.number("decided"), decided + 1);
    assert_eq!(guard.end(), Some(0));
    assert_eq!(open(&site.file("b")).unwrap(), "evil b", "something was left behind");
    site.write("a", "can be changed again");
}

#[test]
fn log_refuses_nothing_counts_every_open_and_calls_its_degree_none() {
    if !may_run("log_refuses_nothing_counts_every_open_and_calls_its_degree_none") {
        return;
    }
    let site = Site::tampered(&["b"]);
    for ahead in [&["--no-ahead"][..], &[]] {
        let guard = site.enforce(&[&["--mode", "log"], ahead].concat());
        assert_eq!(guard.degree(), "none");
        for _ in 0..7 {
            assert_eq!(open(&site.file("b")).unwrap(), "evil b");
            assert_eq!(open(&site.file("a")).unwrap(), "good a");
        }
        wait_until("seven violations", || guard.says("violation 7 wrong-digest b"));
        assert_eq!((guard.number("denied"), guard.number("violated-paths")), (0, 1));
        site.write("a", "good a");
    }
}

#[test]
fn a_log_that_freezes_holds_no_descriptor_for_a_file_and_asks_about_the_wrong_ones_only() {
    if !may_run("a_log_that_freezes_holds_no_descriptor_for_a_file_and_asks_about_the_wrong_ones_only") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let guard = site.enforce(&["--mode", "log", "--freeze"]);
    assert_eq!(
        (guard.degree().as_str(), guard.number("leases-held"), guard.number("unasked")),
        ("none", 0, 1)
    );
    for _ in 0..3 {
        assert_eq!(open(&site.file("b")).unwrap(), "evil b");
        assert_eq!(open(&site.file("sub/c")).unwrap(), "good sub/c");
    }
    wait_until("three violations", || guard.says("violation 3 wrong-digest b"));
    assert_eq!((guard.number("decided"), guard.number("denied")), (3, 0));
    assert!(is_frozen(&site.file("a")));
    assert_eq!(guard.end(), Some(0));
    site.write("a", "can be changed again");
}

#[test]
fn a_file_has_its_own_action_and_the_mode_is_the_most_that_is_done() {
    if !may_run("a_file_has_its_own_action_and_the_mode_is_the_most_that_is_done") {
        return;
    }
    let site = Site::new();
    site.seal(1, &["--action", "log"]);
    site.write("b", "evil b");
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(open(&site.file("b")).unwrap(), "evil b");
    guard.wait_for("wrong-digest", 1);
}

#[test]
fn stop_ends_the_served_processes_and_lock_locks_the_store() {
    if !may_run("stop_ends_the_served_processes_and_lock_locks_the_store") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let mut server = Command::new("sh").args(["-c", "sleep 300 & sleep 300"]).spawn().unwrap();
    let pid = server.id().to_string();
    wait_until("the server's children", || {
        bakeoff_sys::process::descendants(server.id()).is_ok_and(|below| !below.is_empty())
    });
    let children = bakeoff_sys::process::descendants(server.id()).unwrap();
    let key = site.text("store.key");
    fs::write(&key, "sealed").unwrap();
    let guard = site.enforce(&["--mode", "lock", "--stop-pid", &pid, "--lock-store", &key]);
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    assert!(server.try_wait().unwrap().is_none());
    assert_eq!(open(&site.file("b")), Err(EPERM));
    assert!(!server.wait().unwrap().success());
    for child in children {
        wait_until("a child's end", || {
            bakeoff_sys::process::stat(child.pid).map_or(true, |stat| stat.state == 'Z')
        });
    }
    guard.wait_for("locked", 1);
    let reason = fs::read_to_string(site.path("store.key.locked")).unwrap();
    assert_eq!(reason, "b is not as its manifest says\n");
}

#[test]
fn what_could_not_be_written_or_locked_is_said_at_the_start() {
    if !may_run("what_could_not_be_written_or_locked_is_said_at_the_start") {
        return;
    }
    let site = Site::new();
    let (key, nowhere) = (site.text("mistyped.key"), site.text("nowhere/file"));
    for (flags, words) in [
        (&["--mode", "lock", "--lock-store", &key][..], "mistyped.key is not there, so nothing was locked"),
        (&["--mode", "lock", "--lock-store", &nowhere], "nowhere/file"),
        (&["--mode", "deny", "--high-water", &nowhere], "give a path that can be written"),
    ] {
        let said = site.refusal(flags);
        assert!(said.contains(words), "{flags:?}: {said}");
    }
}

#[test]
fn what_must_not_be_guarded_is_refused_in_a_sentence() {
    if !may_run("what_must_not_be_guarded_is_refused_in_a_sentence") {
        return;
    }
    let site = Site::tampered(&[]);
    let (manifest, public, root) = (site.text("manifest"), site.text("pub"), site.text("site"));
    let refused = |dir: &str, further: &[&str]| {
        let mut arguments =
            vec!["integrity", "enforce", dir, "--manifest", &manifest, "--pub", &public, "--mode", "deny"];
        arguments.extend(further);
        let done = layers(&arguments);
        assert_eq!(done.status.code(), Some(3));
        String::from_utf8(done.stderr).unwrap()
    };
    let said = refused("/", &[]);
    assert!(said.contains("it is the whole machine"), "{said}");
    let said = refused("/proc/self", &[]);
    assert!(said.contains("the kernel's"), "{said}");
    let said = refused("/usr/lib", &[]);
    assert!(said.contains("which the guard itself runs from"), "{said}");
    let said = refused(site.dir.path().to_str().unwrap(), &[]);
    assert!(said.contains("manifest lies in it: the guard would wait for itself"), "{said}");
    let status = site.file("status").to_str().unwrap().to_owned();
    let said = refused(&root, &["--status", &status]);
    assert!(said.contains("would wait for itself"), "{said}");
    let said = refused("/nonexistent", &[]);
    assert!(said.contains("give a directory that is there"), "{said}");
    for (mode, flag) in [("stop", "--stop-pid"), ("lock", "--lock-store")] {
        let done = layers(&[
            "integrity",
            "enforce",
            &root,
            "--manifest",
            &manifest,
            "--pub",
            &public,
            "--mode",
            mode,
        ]);
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(2) && said.contains(flag), "{said}");
    }
    let inside = site.file("manifest").to_str().unwrap().to_owned();
    let done = layers(&["integrity", "seal", &root, "--key", &site.text("key"), "--out", &inside]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(3) && said.contains("would lie in the tree"), "{said}");
    fs::write(&manifest, "bakeoff-manifest 1\n").unwrap();
    let said = refused(&root, &[]);
    assert!(said.contains("refused (bad-signature)"), "{said}");
}
