//! Ends of a mount: nothing of it stays.

use crate::support::{Mount, Site, can_mount, command, is_mounted, until};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

#[test]
fn sigterm_unmounts_and_leaves_nothing() {
    if !can_mount("sigterm_unmounts_and_leaves_nothing") {
        return;
    }
    let site = Site::new();
    let mut mount = site.mount();
    assert!(is_mounted(&mount.at));
    let keepers = mount.children();
    assert_eq!(keepers.len(), 1);
    mount.signal(Signal::SIGTERM);
    assert_eq!(mount.ended(), Some(0));
    assert!(!is_mounted(&mount.at));
    assert_eq!(fs::read_dir(&mount.at).unwrap().count(), 0);
    assert_eq!(kill(keepers[0], None), Err(Errno::ESRCH));
    assert_eq!(mount.state(), "state ended");
}

#[test]
fn the_daemon_keeps_no_rights_and_is_unmounted_all_the_same() {
    if !can_mount("the_daemon_keeps_no_rights_and_is_unmounted_all_the_same") {
        return;
    }
    let site = Site::new();
    let mut mount = site.mount();
    mount.read("img/large.bin").unwrap();
    for task in fs::read_dir(format!("/proc/{}/task", mount.daemon.id())).unwrap() {
        let text = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
        for rights in ["CapEff:", "CapPrm:", "CapBnd:", "CapInh:", "CapAmb:"] {
            assert_eq!(line(rights), "0000000000000000", "{rights} {text}");
        }
        assert_eq!(line("NoNewPrivs:"), "1");
    }
    mount.signal(Signal::SIGTERM);
    assert_eq!(mount.ended(), Some(0));
    assert!(!is_mounted(&mount.at));
    assert_eq!(mount.state(), "state ended");
    // Without its keeper it cannot unmount, and says so.
    let mut mount = site.mount();
    kill(mount.children()[0], Signal::SIGKILL).unwrap();
    mount.signal(Signal::SIGTERM);
    assert_eq!(mount.ended(), Some(3));
    assert!(is_mounted(&mount.at));
}

#[test]
fn another_mount_namespace_reads_nothing_after_the_end() {
    if !can_mount("another_mount_namespace_reads_nothing_after_the_end") {
        return;
    }
    let site = Site::new();
    let mut mount = site.mount();
    let mut apart = Command::new("unshare")
        .args(["-m", "sh", "-c", "echo; sleep 300"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    apart.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let there = format!("/proc/{}/root{}/index.html", apart.id(), mount.at.display());
    let (before, held) = (fs::read(&there).unwrap(), File::open(&there).unwrap());
    mount.signal(Signal::SIGTERM);
    let code = mount.ended();
    let after = (fs::read(&there).is_ok(), held.read_at(&mut [0], 0).is_ok());
    apart.kill().unwrap();
    apart.wait().unwrap();
    assert_eq!((code, before.is_empty(), after), (Some(0), false, (false, false)));
}

#[test]
fn sigterm_ends_a_mount_whose_files_are_open() {
    if !can_mount("sigterm_ends_a_mount_whose_files_are_open") {
        return;
    }
    let site = Site::new();
    let mut mount = site.mount();
    let mut open = File::open(mount.at.join("img/large.bin")).unwrap();
    mount.signal(Signal::SIGTERM);
    assert_eq!(mount.ended(), Some(0));
    assert!(!is_mounted(&mount.at));
    let error = open.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(
        matches!(error.raw_os_error(), Some(code) if code == Errno::ENOTCONN as i32 || code == Errno::ECONNABORTED as i32),
        "{error}"
    );
}

#[test]
fn an_unmount_from_outside_ends_the_daemon() {
    if !can_mount("an_unmount_from_outside_ends_the_daemon") {
        return;
    }
    let site = Site::new();
    let mut mount = site.mount();
    nix::mount::umount(&mount.at).unwrap();
    assert_eq!(mount.ended(), Some(0));
}

#[test]
fn a_mount_whose_directory_was_renamed_is_taken_off() {
    if !can_mount("a_mount_whose_directory_was_renamed_is_taken_off") {
        return;
    }
    for killed in [false, true] {
        let site = Site::new();
        let (here, there) = (site.path("here"), site.path("there"));
        fs::create_dir_all(here.join("mnt")).unwrap();
        let mut command = command();
        command.arg("mount").arg(site.vault()).arg(here.join("mnt")).args(site.key_flags());
        command.arg("--status").arg(site.path("status"));
        let mut mount = Mount::of(command, here.join("mnt"), site.path("status"));
        fs::rename(&here, &there).unwrap();
        assert!(is_mounted(&there.join("mnt")));
        if killed {
            mount.daemon.kill().unwrap();
            mount.daemon.wait().unwrap();
        } else {
            mount.signal(Signal::SIGTERM);
            assert_eq!(mount.ended(), Some(0));
        }
        until("it is taken off", || !is_mounted(&there.join("mnt")));
    }
}

#[test]
fn a_killed_daemon_leaves_no_dead_mount() {
    if !can_mount("a_killed_daemon_leaves_no_dead_mount") {
        return;
    }
    let site = Site::new();
    let mut mount = site.mount();
    let mut open = File::open(mount.at.join("img/large.bin")).unwrap();
    mount.daemon.kill().unwrap();
    mount.daemon.wait().unwrap();
    until("the keeper unmounts", || !is_mounted(&mount.at));
    assert_eq!(fs::read_dir(&mount.at).unwrap().count(), 0);
    open.read_to_end(&mut Vec::new()).unwrap_err();
    // The place can be used again.
    drop(mount);
    site.mount().read("index.html").unwrap();
}

#[test]
fn a_dead_mount_without_keeper_is_enotconn_and_taken_away_by_the_next() {
    if !can_mount("a_dead_mount_without_keeper_is_enotconn_and_taken_away_by_the_next") {
        return;
    }
    let site = Site::new();
    let mut mount = site.mount();
    for keeper in mount.children() {
        kill(keeper, Signal::SIGKILL).unwrap();
    }
    mount.daemon.kill().unwrap();
    mount.daemon.wait().unwrap();
    let not_connected = || {
        fs::metadata(mount.at.join("index.html")).err().and_then(|error| error.raw_os_error())
            == Some(Errno::ENOTCONN as i32)
    };
    until("the mount is dead", not_connected);
    let next = site.mount();
    next.read("index.html").unwrap();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let ours = mounts.lines().filter(|line| line.contains(next.at.to_str().unwrap())).count();
    assert_eq!(ours, 1, "{mounts}");
}
