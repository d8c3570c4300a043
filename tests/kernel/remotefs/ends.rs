//! Ends of servers and mounts: nothing of them stays, and no promise is broken.

use crate::support::{Mount, Site, TERM_S, bytes, can_mount, command, is_mounted, refused, until};
use crate::world::code;
use bakeoff_sys::notify::file_of;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

#[test]
fn sigterm_unmounts_and_leaves_nothing() {
    if !can_mount("sigterm_unmounts_and_leaves_nothing") {
        return;
    }
    let site = Site::new();
    let (server, mut a, mut b) = site.two();
    assert!(is_mounted(&a.at) && is_mounted(&b.at));
    a.write("file", "x");
    let open = File::open(b.path("file")).unwrap();
    assert_eq!(bytes(&open), "x");
    for mount in [&mut a, &mut b] {
        mount.signal(Signal::SIGTERM);
        assert_eq!(mount.ended(), Some(0));
        assert!(!is_mounted(&mount.at));
        assert_eq!(fs::read_dir(&mount.at).unwrap().count(), 0);
    }
    // Nobody vouches any more for the kernel's cache of it.
    let gone = code(open.read_at(&mut [0; 1], 0));
    assert!(matches!(gone, Some(Errno::ENOTCONN | Errno::ECONNABORTED)), "{gone:?}");
    drop(open);
    // Both said that they ended, so nobody waits for them.
    until("the server has no session", || {
        fs::read_to_string(site.path("server.status")).unwrap().contains("\nsessions-live 0\n")
    });
    drop(server);
    let text = refused(command("mount").args(["127.0.0.1:1", a.at.to_str().unwrap(), "--plain"]), 3);
    assert!(text.contains("is `remotefs serve` running there?"), "{text}");
    assert!(!is_mounted(&a.at));
}

/// A thread of a killed daemon can stay in the kernel, with the sockets and the FUSE device, until an answer comes that
/// nobody will give. This test has them open in its place.
#[test]
fn a_killed_daemon_whose_files_stay_open_holds_up_nobody() {
    if !can_mount("a_killed_daemon_whose_files_stay_open_holds_up_nobody") {
        return;
    }
    let site = Site::new();
    let (server, a, _b) = site.two();
    fs::write(site.export("file"), "text").unwrap();
    let daemon = a.daemon.id();
    let numbers = fs::read_dir(format!("/proc/{daemon}/fd")).unwrap();
    let numbers = numbers.map(|entry| entry.unwrap().file_name().into_string().unwrap().parse().unwrap());
    let held: Vec<OwnedFd> = numbers.map(|number| file_of(daemon, number).unwrap()).collect();
    let stopped = Pid::from_raw(server.process.id() as i32);
    kill(stopped, Signal::SIGSTOP).unwrap();
    let path = a.path("file");
    let (told, answer) = channel();
    let read = move || told.send(fs::read(path).is_err()).unwrap();
    thread::Builder::new().name(READER.to_owned()).spawn(read).unwrap();
    until("the read waits", || {
        let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path().join("stat"));
        tasks.filter_map(|stat| fs::read_to_string(stat).ok()).any(|stat| is_waiting(&stat))
    });
    a.signal(Signal::SIGKILL);
    until("the keeper unmounts", || !is_mounted(&a.at));
    assert_eq!(answer.recv_timeout(Duration::from_secs(60)), Ok(true), "the read was answered");
    kill(stopped, Signal::SIGCONT).unwrap();
    drop(held);
}

const READER: &str = "reader";

/// Whether a thread of this `/proc/PID/task/TID/stat` is the reader, asleep.
fn is_waiting(stat: &str) -> bool {
    ["S", "D"].iter().any(|state| stat.contains(&format!("({READER}) {state} ")))
}

#[test]
fn the_threads_that_serve_live_under_a_filter() {
    if !can_mount("the_threads_that_serve_live_under_a_filter") {
        return;
    }
    let site = Site::new();
    let (server, a, _b) = site.two();
    a.write("file", "x");
    let text = |path: PathBuf| fs::read_to_string(path).unwrap();
    let mut named = Vec::new();
    for task in fs::read_dir(format!("/proc/{}/task", server.process.id())).unwrap() {
        let task = task.unwrap().path();
        if text(task.join("status")).contains("\nSeccomp:\t2\n") {
            named.push(text(task.join("comm")).trim().to_owned());
        }
    }
    named.sort();
    named.dedup();
    assert_eq!(named, ["accept", "bakeoff-layers", "connection"]);
}

#[test]
fn a_killed_client_leaves_no_dead_mount_and_others_go_on() {
    if !can_mount("a_killed_client_leaves_no_dead_mount_and_others_go_on") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "old").unwrap();
    let (server, a, mut b) = site.two();
    let mut file = File::create(b.path("by-b")).unwrap();
    file.write_all(b"written").unwrap();
    assert_eq!(b.read("file"), "old");
    b.daemon.kill().unwrap();
    b.daemon.wait().unwrap();
    until("the keeper unmounts", || !is_mounted(&b.at));
    assert_eq!(fs::read_dir(&b.at).unwrap().count(), 0);
    assert_eq!(a.read("by-b"), "written", "what write returned is at the server");
    // It waits for the dead client's term, once.
    a.write("file", "new");
    assert_eq!(a.read("file"), "new");
    server.drops_a_session();
    drop(b);
    assert_eq!(site.mount(&server, "b", &[]).read("file"), "new");
}

#[test]
fn a_killed_server_loses_nothing_and_its_mounts_find_the_next() {
    if !can_mount("a_killed_server_loses_nothing_and_its_mounts_find_the_next") {
        return;
    }
    let site = Site::new();
    let (mut server, a, b) = site.two();
    fs::create_dir(a.path("directory")).unwrap();
    for round in 0..5 {
        let mut file = File::create(a.path(&format!("directory/{round}"))).unwrap();
        file.write_all(&vec![b'x'; 100_000]).unwrap();
        file.sync_all().unwrap();
        assert_eq!(b.read(&format!("directory/{round}")).len(), 100_000);
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        server = site.serve_at(&server.address.to_string(), TERM_S);
        let whole = |mount: &Mount| {
            (0..=round).all(|round| {
                let size = fs::metadata(mount.path(&format!("directory/{round}"))).map(|about| about.len());
                matches!(size, Ok(100_000))
            })
        };
        assert!(whole(&a) && whole(&b), "round {round}");
    }
    a.write("directory/after", "x");
    assert_eq!(b.read("directory/after"), "x");
    assert!(a.counts(["sessions"])[0] >= 5);
}

#[test]
fn a_mount_ends_though_its_server_is_gone() {
    if !can_mount("a_mount_ends_though_its_server_is_gone") {
        return;
    }
    let site = Site::new();
    let (server, mut a, _b) = site.two();
    drop(server);
    a.signal(Signal::SIGTERM);
    assert_eq!(a.ended(), Some(0));
    assert!(!is_mounted(&a.at));
}

#[test]
fn through_a_read_only_mount_nothing_changes() {
    if !can_mount("through_a_read_only_mount_nothing_changes") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "x").unwrap();
    let server = site.serve();
    let mount = site.mount(&server, "a", &["--read-only"]);
    let code = |result: std::io::Result<()>| result.unwrap_err().raw_os_error();
    let refused = [
        code(fs::write(mount.path("file"), "y")),
        code(fs::create_dir(mount.path("new"))),
        code(fs::remove_file(mount.path("file"))),
        code(fs::rename(mount.path("file"), mount.path("other"))),
    ];
    assert_eq!(refused, [Some(Errno::EROFS as i32); 4]);
    assert_eq!(mount.read("file"), "x");
}

#[test]
fn a_tree_is_kept_whole_with_its_links_times_and_permissions() {
    if !can_mount("a_tree_is_kept_whole_with_its_links_times_and_permissions") {
        return;
    }
    use nix::fcntl::AT_FDCWD;
    use nix::sys::stat::{Mode, SFlag, UtimensatFlags, mknod, utimensat};
    use nix::sys::time::TimeSpec;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::time::Duration;
    let site = Site::new();
    let (_server, a, b) = site.two();
    fs::create_dir(a.path("d")).unwrap();
    a.write("d/file", "text");
    fs::hard_link(a.path("d/file"), a.path("d/twin")).unwrap();
    symlink("file", a.path("d/link")).unwrap();
    fs::set_permissions(a.path("d/file"), fs::Permissions::from_mode(0o640)).unwrap();
    let when = std::time::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    File::options().write(true).open(a.path("d/file")).unwrap().set_modified(when).unwrap();
    let about = fs::metadata(b.path("d/twin")).unwrap();
    assert_eq!((about.mode() & 0o7777, about.nlink(), about.modified().unwrap()), (0o640, 2, when));
    assert_eq!(about.ino(), fs::metadata(b.path("d/file")).unwrap().ino());
    assert_eq!(fs::read_link(b.path("d/link")).unwrap().to_str(), Some("file"));
    assert_eq!(b.read("d/link"), "text");
    // A link has times of its own.
    let (of_link, spec) = (when + Duration::from_secs(5), TimeSpec::new(1_000_000_005, 123_456_789));
    utimensat(AT_FDCWD, &a.path("d/link"), &spec, &spec, UtimensatFlags::NoFollowSymlink).unwrap();
    assert_eq!(fs::symlink_metadata(b.path("d/link")).unwrap().modified().unwrap(), of_link);
    assert_eq!(fs::metadata(b.path("d/link")).unwrap().modified().unwrap(), when);
    mknod(&a.path("d/made"), SFlag::S_IFREG, Mode::S_IRUSR, 0).unwrap();
    assert_eq!(fs::metadata(b.path("d/made")).unwrap().mode() & 0o7777, 0o400);
    fs::remove_file(b.path("d/made")).unwrap();
    fs::remove_file(b.path("d/file")).unwrap();
    assert_eq!((a.read("d/twin"), fs::metadata(a.path("d/twin")).unwrap().nlink()), ("text".to_owned(), 1));
    let suid = fs::set_permissions(a.path("d/twin"), fs::Permissions::from_mode(0o4755)).unwrap_err();
    assert_eq!(suid.raw_os_error(), Some(Errno::EPERM as i32));
    assert!(std::os::unix::fs::chown(a.path("d/twin"), Some(65534), None).is_err());
    // More entries than one answer can hold.
    (0..3000).for_each(|number| drop(File::create(a.path(&format!("d/{number:0100}"))).unwrap()));
    assert_eq!(b.names("d").len(), 3002);
}
