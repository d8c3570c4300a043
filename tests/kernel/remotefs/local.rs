//! Changes by other programs of the server, past all mounts: visible long before leases end.

use crate::support::{Site, bytes, can_mount, until};
use crate::world::{World, code};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::Command;
use std::time::Instant;

/// Leases last for longer than a test waits for anything.
const TERM_S: u64 = 60;

#[test]
fn what_is_changed_at_the_server_is_seen_at_once() {
    if !can_mount("what_is_changed_at_the_server_is_seen_at_once") {
        return;
    }
    let site = Site::new();
    for name in ["file", "other", "gone"] {
        fs::write(site.export(name), "old").unwrap();
    }
    fs::set_permissions(site.export("file"), Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(site.export(""), Permissions::from_mode(0o755)).unwrap();
    let server = site.serve_at("127.0.0.1:0", &TERM_S.to_string());
    let began = Instant::now();
    let mount = site.mount(&server, "a", &[]);
    let open = File::open(mount.path("file")).unwrap();
    let there = |name: &str| mount.path(name).exists();
    let mode = || fs::metadata(mount.path("file")).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (bytes(&open).as_str(), mount.names("").len(), there("new"), mode()),
        ("old", 3, false, 0o640)
    );

    fs::write(site.export("file"), "and a new one").unwrap();
    until("what was written is read", || bytes(&open) == "and a new one");
    OpenOptions::new().append(true).open(site.export("file")).unwrap().write_all(b", longer").unwrap();
    until("what was appended is read", || bytes(&open) == "and a new one, longer");
    OpenOptions::new().write(true).open(site.export("file")).unwrap().set_len(3).unwrap();
    until("what was cut off is not", || bytes(&open) == "and");
    fs::set_permissions(site.export("file"), Permissions::from_mode(0o600)).unwrap();
    until("permissions are seen", || mode() == 0o600);
    let mode_of_root = || fs::metadata(mount.path("")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode_of_root(), 0o755);
    fs::set_permissions(site.export(""), Permissions::from_mode(0o700)).unwrap();
    until("a directory's permissions are seen", || mode_of_root() == 0o700);
    fs::write(site.export("new"), "x").unwrap();
    until("what was made is there", || there("new") && mount.names("").len() == 4);
    fs::remove_file(site.export("gone")).unwrap();
    until("what was removed is not", || !there("gone") && mount.names("").len() == 3);
    assert_eq!(mount.read("other"), "old");
    fs::rename(site.export("new"), site.export("other")).unwrap();
    until("what has the name now is read", || mount.read("other") == "x");
    assert!(began.elapsed().as_secs() < TERM_S, "no lease has ended");
}

#[test]
fn what_the_kernel_could_not_tell_is_seen_too() {
    if !can_mount("what_the_kernel_could_not_tell_is_seen_too") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "old").unwrap();
    let server = site.serve_at("127.0.0.1:0", &TERM_S.to_string());
    let mount = site.mount(&server, "a", &[]);
    let open = File::open(mount.path("file")).unwrap();
    assert_eq!(bytes(&open), "old");
    let most = fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").unwrap();
    let stopped = Pid::from_raw(server.process.id() as i32);
    kill(stopped, Signal::SIGSTOP).unwrap();
    let more = site.path("outside");
    (0..=most.trim().parse::<u32>().unwrap())
        .for_each(|n| drop(File::create(more.join(n.to_string())).unwrap()));
    fs::write(site.export("file"), "new").unwrap();
    kill(stopped, Signal::SIGCONT).unwrap();
    until("it is read", || bytes(&open) == "new");
}

#[test]
fn what_a_mount_changes_itself_it_keeps() {
    if !can_mount("what_a_mount_changes_itself_it_keeps") {
        return;
    }
    let site = Site::new();
    let server = site.serve();
    let mount = site.mount(&server, "a", &[]);
    for text in ["one", "two", "three"] {
        mount.write("file", text);
        assert_eq!(mount.read("file"), text);
    }
    // Another change has been noticed since.
    fs::write(site.export("other"), "x").unwrap();
    until("it is listed", || mount.names("").len() == 2);
    let [breaks] = mount.counts(["breaks"]);
    fs::write(site.export("file"), "four").unwrap();
    until("it is read", || mount.read("file") == "four");
    let [more] = mount.counts(["breaks"]);
    assert!(breaks <= 1 && more > breaks, "{breaks} {more}");
}

#[test]
fn rights_go_with_the_path_that_is_new() {
    if !can_mount("rights_go_with_the_path_that_is_new") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    for directory in ["open", "open/below", "secret"] {
        fs::create_dir(site.export(directory)).unwrap();
    }
    fs::write(site.export("open/below/file"), "text").unwrap();
    let list = "/ allow user:alice@home.example all\n/secret only user:bob@home.example all\n";
    let served = world.serve_for(&site, list, TERM_S);
    let mount = world.mount(&site, &served, "a", &world.person("user:alice@home.example"));
    let path = mount.path("open/below/file");
    assert_eq!(fs::read_to_string(&path).unwrap(), "text");
    let open = File::open(&path).unwrap();
    // By another process: the server is in this one, and skips its own changes.
    let moved = Command::new("mv").args([site.export("open/below"), site.export("secret")]).status();
    assert!(moved.unwrap().success());
    until("it is not there", || code(fs::read(&path)) == Some(Errno::ENOENT));
    let refused = code(fs::read(mount.path("secret/below/file")));
    assert_eq!(refused, Some(Errno::EACCES));
    until("what is open is refused", || {
        let read = open.read_at(&mut [0; 4], 0);
        matches!(code(read), Some(Errno::EACCES | Errno::ESTALE))
    });
}
