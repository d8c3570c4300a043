//! Regression: "read-only" was believed of the whole tree, of any file system, and for ever.

use crate::site::{EPERM, Guard, Mounted, Site, may_run, open, wait_until};
use std::fs;
use std::process::Command;

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A writable loop device, like a disk.
struct Disk(String);

impl Disk {
    fn new(image: &str) -> Self {
        let done = Command::new("losetup").args(["--find", "--show", image]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self(String::from_utf8(done.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// The sealed tree on a disk that is mounted read-only in its place; an empty directory `inner` in it.
fn disk() -> (Disk, Site, Mounted) {
    let site = Site::new();
    fs::create_dir(site.file("inner")).unwrap();
    site.seal(1, &[]);
    let image = site.text("image");
    fs::File::create(&image).unwrap().set_len(8 << 20).unwrap();
    run("mkfs.ext4", &["-q", "-O", "^has_journal", "-d", &site.text("site"), &image]);
    let disk = Disk::new(&image);
    let mounted = Mounted::new(&["-o", "ro", &disk.0], &site.path("site"));
    (disk, site, mounted)
}

#[test]
fn a_file_system_that_somebody_remounts_is_believed_no_more() {
    if !may_run("a_file_system_that_somebody_remounts_is_believed_no_more") {
        return;
    }
    let (_disk, site, _mounted) = disk();
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!((guard.degree().as_str(), guard.number("frozen")), ("full", 0), "{}", guard.armed);
    assert_eq!(open(&site.file("b")).unwrap(), "good b");
    // In a mount namespace of its own: no other process is notified.
    let change = "mount -o remount,rw \"$1\" && printf 'evil b' > \"$1/b\"";
    run("unshare", &["-m", "sh", "-c", change, "sh", &site.text("site")]);
    wait_until("partial", || guard.degree() == "partial" && guard.number("gap-not-frozen") > 0);
    assert_eq!(open(&site.file("b")), Err(EPERM));
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
}

#[test]
fn a_mount_that_can_be_written_to_makes_the_whole_tree_so() {
    if !may_run("a_mount_that_can_be_written_to_makes_the_whole_tree_so") {
        return;
    }
    let (_disk, site, _mounted) = disk();
    // It existed before: no mount over the tree.
    let _inner = Mounted::new(&["-t", "tmpfs", "tmpfs"], &site.file("inner"));
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(guard.degree(), "partial", "{}", guard.armed);
    assert!(guard.number("gap-not-frozen") > 0);
    let _ = fs::write(site.file("inner/new"), "evil");
    assert!(open(&site.file("inner/new")).is_err());
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
}

#[test]
fn an_overlay_is_never_full_since_its_files_lie_elsewhere() {
    if !may_run("an_overlay_is_never_full_since_its_files_lie_elsewhere") {
        return;
    }
    for read_only in [true, false] {
        let site = Site::tampered(&[]);
        for name in ["lower", "upper", "work"] {
            fs::create_dir(site.path(name)).unwrap();
        }
        run("cp", &["-a", &format!("{}/.", site.text("site")), &site.text("lower")]);
        let mut options = format!("lowerdir={}", site.text("lower"));
        match read_only {
            true => options += &format!(":{}", site.text("upper")),
            false => options += &format!(",upperdir={},workdir={}", site.text("upper"), site.text("work")),
        }
        let _overlay = Mounted::new(&["-t", "overlay", "overlay", "-o", &options], &site.path("site"));
        let guard: Guard = site.enforce(&["--mode", "deny"]);
        assert_eq!(
            (guard.degree().as_str(), guard.number("gap-elsewhere")),
            ("partial", 1),
            "{}",
            guard.armed
        );
        assert_eq!(open(&site.file("a")).unwrap(), "good a");
        assert_eq!(guard.end(), Some(0));
    }
}
