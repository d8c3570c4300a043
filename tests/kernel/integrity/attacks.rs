//! Attacks on the check at an open, each against its defence; each attack that once succeeded has a file, named after
//! the fault.

mod a_directory_without_a_readable_name;
mod a_fifo_in_the_tree;
mod a_link_that_hides_what_is_opened;
mod a_locked_directory_holds_up_arming;
mod a_manifest_expires_while_it_is_enforced;
mod a_name_with_a_line_end;
mod a_reused_mount_number;
mod a_reused_process_id;
mod a_write_begun_before_arming;
mod a_write_lease;
mod by_a_way_of_ones_own;
mod deep_directories;
mod files_planted_while_arming;
mod full_is_what_was_looked_at;
mod one_inode_with_two_signed_names;
mod opens_that_waited_hardly_at_all;
mod read_only_that_is_not;
mod right_files_after_a_workers_death;
mod rights_beside_the_mode;
mod the_admins_own_immutable_file;
mod the_directory_above_is_exchanged;
mod what_lies_in_place_of_the_status;

use crate::site::{EPERM, Guard, Mounted, Site, is_frozen, may_run, open, python, wait_until};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::Path;

#[test]
fn frozen_files_are_neither_written_nor_renamed_nor_removed_nor_linked() {
    if !may_run("frozen_files_are_neither_written_nor_renamed_nor_removed_nor_linked") {
        return;
    }
    let site = Site::tampered(&[]);
    fs::create_dir(site.file("sub2")).unwrap();
    site.write("sub2/c", "good sub/c");
    site.seal(2, &[]);
    let guard = site.enforce(&["--mode", "deny"]);
    let (a, b) = (site.file("a"), site.file("b"));
    let fails = |done: std::io::Result<()>| done.unwrap_err().raw_os_error() == Some(EPERM);
    assert!(fails(fs::write(&a, "evil")));
    assert!(fails(OpenOptions::new().write(true).truncate(true).open(&a).map(drop)));
    assert!(fails(fs::rename(&a, &b)), "one protected file over another");
    assert!(fails(fs::rename(site.file("sub"), site.file("sub3"))), "a directory and all below it");
    assert!(fails(fs::remove_file(&a)));
    assert!(fails(fs::hard_link(&a, site.path("link"))));
    assert!(fails(fs::write(site.file("sub/new"), "x")), "a new name in a guarded directory");
    assert!(fails(symlink("/etc/passwd", site.file("p"))));
    assert!(fails(fs::set_permissions(&a, fs::metadata("/bin/sh").unwrap().permissions())));
    assert_eq!(guard.degree(), "full");
    assert_eq!(open(&a).unwrap(), "good a");
}

#[test]
fn who_could_write_before_arming_cannot_write_after_it() {
    if !may_run("who_could_write_before_arming_cannot_write_after_it") {
        return;
    }
    let site = Site::tampered(&[]);
    // Like a server that was started before, or one that got a descriptor over a socket.
    let before = OpenOptions::new().read(true).write(true).open(site.file("a")).unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(before.write_at(b"evil", 0).unwrap_err().raw_os_error(), Some(EPERM));
    assert_eq!(guard.degree(), "partial", "nobody proved that this file system stops him, too");
    assert_eq!(guard.number("gap-writer-open"), 1);
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    drop(before);
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    wait_until("full", || guard.degree() == "full");
}

#[test]
fn a_write_through_a_shared_mapping_voids_the_verdict() {
    if !may_run("a_write_through_a_shared_mapping_voids_the_verdict") {
        return;
    }
    let site = Site::tampered(&[]);
    let guard = site.enforce(&["--mode", "deny", "--no-freeze"]);
    assert_eq!(guard.degree(), "partial");
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    // The mapping outlives its descriptor. The kernel keeps ignore marks through such writes: only the lease, which
    // an open for writing has to wait for, reveals it.
    let write = "import mmap,os,sys\nfd=os.open(sys.argv[1],os.O_RDWR)\nm=mmap.mmap(fd,6)\nos.close(fd)\n\
                 m[0:4]=b'evil'\nm.flush()";
    python(write, &[site.file("a").to_str().unwrap()]);
    assert_eq!(open(&site.file("a")), Err(EPERM));
    guard.wait_for("voided", 1);
    // Restored, it opens again.
    site.replace("a", "good a");
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
}

#[test]
fn while_somebody_can_write_no_verdict_is_kept() {
    if !may_run("while_somebody_can_write_no_verdict_is_kept") {
        return;
    }
    let site = Site::tampered(&[]);
    let mut writer = OpenOptions::new().write(true).open(site.file("a")).unwrap();
    let guard = site.enforce(&["--mode", "deny", "--no-freeze"]);
    for turn in 0..20 {
        let text = if turn % 2 == 0 { "evil a" } else { "good a" };
        writer.write_at(text.as_bytes(), 0).unwrap();
        let expected = if turn % 2 == 0 { Err(EPERM) } else { Ok("good a".to_owned()) };
        assert_eq!(open(&site.file("a")), expected, "turn {turn}");
    }
    guard.wait_for("denied", 10);
    assert!(guard.number("gap-writer-open") == 1 && guard.degree() == "partial");
    writer.write_all(b"evil a").unwrap();
}

#[test]
fn every_way_to_a_wrong_file_is_asked_about() {
    if !may_run("every_way_to_a_wrong_file_is_asked_about") {
        return;
    }
    let site = Site::tampered(&["b"]);
    for name in ["a", "b"] {
        fs::hard_link(site.file(name), site.path(&format!("hard-{name}"))).unwrap();
        symlink(site.file(name), site.path(&format!("soft-{name}"))).unwrap();
    }
    fs::create_dir(site.path("alias")).unwrap();
    let _alias = Mounted::bind(&site.path("site"), &site.path("alias"));
    let guard = site.enforce(&["--mode", "deny"]);
    for way in ["hard-", "soft-", "alias/", "site/sub/../"] {
        let good = open(&site.path(&format!("{way}a")));
        assert_eq!(good.as_deref(), Ok("good a"), "{way}");
        assert_eq!(open(&site.path(&format!("{way}b"))), Err(EPERM), "{way}");
    }
    // A descriptor without read access needs no permission; opening through it does.
    let path = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(site.file("b")).unwrap();
    let again = format!("/proc/self/fd/{}", path.as_raw_fd());
    assert_eq!(open(Path::new(&again)), Err(EPERM));
    assert_eq!(by_handle(&site, "a"), "good a");
    assert_eq!(by_handle(&site, "b"), "errno 1");
    assert_eq!(guard.degree(), "full");
}

/// Opens a file by its handle, as a file server does: without any name.
fn by_handle(site: &Site, name: &str) -> String {
    let code = "
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Handle(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_uint), ('type', ctypes.c_int), ('data', ctypes.c_char * 128)]
handle, mount = Handle(128), ctypes.c_int()
assert libc.name_to_handle_at(-100, sys.argv[1].encode(), ctypes.byref(handle), ctypes.byref(mount), 0) == 0
root = os.open(sys.argv[2], os.O_RDONLY)
fd = libc.open_by_handle_at(root, ctypes.byref(handle), os.O_RDONLY)
print(os.read(fd, 100).decode() if fd >= 0 else 'errno %d' % ctypes.get_errno())
";
    python(code, &[site.file(name).to_str().unwrap(), site.dir.path().to_str().unwrap()])
}

#[test]
fn a_mount_over_the_tree_is_noticed_and_asked_about() {
    if !may_run("a_mount_over_the_tree_is_noticed_and_asked_about") {
        return;
    }
    let site = Site::tampered(&[]);
    fs::create_dir(site.path("evil")).unwrap();
    fs::write(site.path("evil/c"), "evil").unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    let over = Mounted::bind(&site.path("evil"), &site.file("sub"));
    wait_until("a refusal below the mount", || open(&site.file("sub/c")) == Err(EPERM));
    wait_until("partial", || guard.number("gap-mounted-over") == 1 && guard.degree() == "partial");
    drop(over);
    assert!(!is_frozen(&site.path("evil/c")) && !is_frozen(&site.path("evil")), "it is not ours");
    assert_eq!(open(&site.file("sub/c")).unwrap(), "good sub/c");
    wait_until("full", || guard.degree() == "full");
}

#[test]
fn two_names_of_one_file_that_should_differ_never_open_unasked() {
    if !may_run("two_names_of_one_file_that_should_differ_never_open_unasked") {
        return;
    }
    let site = Site::tampered(&[]);
    fs::remove_file(site.file("b")).unwrap();
    fs::hard_link(site.file("a"), site.file("b")).unwrap();
    let _guard = site.enforce(&["--mode", "deny"]);
    for _ in 0..3 {
        assert_eq!(open(&site.file("a")).unwrap(), "good a");
        assert_eq!(open(&site.file("b")), Err(EPERM), "the content of `a` under the name of `b`");
    }
}

#[test]
fn without_freezing_a_rename_is_a_gap_that_is_named() {
    if !may_run("without_freezing_a_rename_is_a_gap_that_is_named") {
        return;
    }
    let site = Site::tampered(&[]);
    let guard: Guard = site.enforce(&["--mode", "deny", "--no-freeze"]);
    assert_eq!(guard.degree(), "partial");
    assert_eq!(guard.number("gap-not-frozen"), 1);
    // A file from elsewhere under a protected name: its directory's mark raises the event.
    fs::write(site.path("evil"), "evil b").unwrap();
    fs::rename(site.path("evil"), site.file("b")).unwrap();
    assert_eq!(open(&site.file("b")), Err(EPERM));
}

#[test]
fn more_files_than_descriptors_is_partial_with_their_number_and_still_checked() {
    if !may_run("more_files_than_descriptors_is_partial_with_their_number_and_still_checked") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let guard = site.enforce(&["--mode", "deny", "--no-freeze", "--keep", "1"]);
    assert_eq!((guard.degree().as_str(), guard.number("gap-descriptors")), ("partial", 2));
    for _ in 0..3 {
        assert_eq!(open(&site.file("a")).unwrap(), "good a");
        assert_eq!(open(&site.file("b")), Err(EPERM));
        assert_eq!(open(&site.file("sub/c")).unwrap(), "good sub/c");
    }
}

#[test]
fn a_reader_from_before_arming_reads_what_was_verified() {
    if !may_run("a_reader_from_before_arming_reads_what_was_verified") {
        return;
    }
    let site = Site::tampered(&[]);
    let mut before = fs::File::open(site.file("a")).unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    assert!(fs::write(site.file("a"), "evil a").is_err());
    let mut text = String::new();
    before.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), guard.degree().as_str()), ("good a", "full"));
}
