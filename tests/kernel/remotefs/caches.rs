//! Kernel caches of a mount: their content and their lifetime.

use crate::support::{Heard, PATIENCE, ROOT, Raw, Reader, Site, bytes, can_mount};
use bakeoff_layers_remotefs::frame::ClientRequest;
use nix::sys::signal::Signal;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// Counters of the kernel's requests.
const QUESTIONS: [&str; 5] = ["reads", "attributes", "lists", "opens", "lookups"];
/// Limit on bouts of reading, of which one must ask nothing.
const BOUTS: u32 = 10;

#[test]
fn what_is_cached_is_read_without_a_question() {
    if !can_mount("what_is_cached_is_read_without_a_question") {
        return;
    }
    let site = Site::new();
    fs::create_dir(site.export("directory")).unwrap();
    fs::write(site.export("directory/small"), "x").unwrap();
    fs::write(site.export("directory/large"), vec![7; 3 << 20]).unwrap();
    let server = site.serve_at("127.0.0.1:0", "60");
    for flags in [&["--read-only"][..], &[]] {
        let mount = site.mount(&server, "a", flags);
        let read = || {
            assert_eq!(mount.read("directory/small"), "x");
            assert_eq!(fs::read(mount.path("directory/large")).unwrap(), vec![7; 3 << 20]);
            assert_eq!(mount.names("directory"), ["large", "small"]);
        };
        // The second time, the kernel is known to answer opens itself.
        (0..2).for_each(|_| read());
        let asks = || {
            let mut before = mount.counts(QUESTIONS);
            (0..20).for_each(|_| read());
            // Looking at the counters asks for one name.
            before[4] += 1;
            assert!(before[0] > 0 && before[2] > 0, "{before:?}");
            mount.counts(QUESTIONS) != before
        };
        // A kernel short of memory forgets pages by itself: one bout without a question is enough.
        assert!((0..BOUTS).any(|_| !asks()), "{flags:?}");
    }
}

#[test]
fn a_daemon_that_is_stopped_prolongs_nothing() {
    if !can_mount("a_daemon_that_is_stopped_prolongs_nothing") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "old").unwrap();
    let (server, a, b) = site.two();
    let open = fs::File::open(b.path("file")).unwrap();
    assert_eq!(bytes(&open), "old");
    b.signal(Signal::SIGSTOP);
    // It waits for the term of a silent client, and no longer.
    a.write("file", "new");
    server.drops_a_session();
    // The stopped client's kernel cache has expired: its readers wait for the daemon.
    let reader = Reader::of(open);
    reader.waits();
    b.signal(Signal::SIGCONT);
    assert_eq!(reader.told().unwrap(), "new");
    assert_eq!(b.read("file"), "new");
    assert_eq!(a.read("file"), "new");
}

#[test]
fn who_never_acknowledges_is_dropped_after_the_term() {
    if !can_mount("who_never_acknowledges_is_dropped_after_the_term") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "old").unwrap();
    let server = site.serve();
    let a = site.mount(&server, "a", &[]);
    let (mut callback, boot, session) = Raw::session(&server);
    let mut data = Raw::data(&server, boot, session);
    let began = Instant::now();
    let file = data.number(ROOT, b"file");
    // It is alive, and says so, but does not acknowledge.
    let lives = std::thread::spawn(move || {
        let mut heard = Vec::new();
        loop {
            heard.push(callback.ask(&ClientRequest::Ping { stamp: 7 }));
            if heard.last() == Some(&Heard::Closed) {
                return heard;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    a.write("file", "new");
    server.counts("refused.ack-missing", 1);
    let heard = lives.join().unwrap();
    assert!(heard.iter().any(|heard| matches!(heard, Heard::Break(_))), "{heard:?}");
    assert!(began.elapsed() < PATIENCE, "a term is one second");
    let over = data.ask(&ClientRequest::Read { object: file, offset: 0, length: 10 });
    assert!(matches!(over, Heard::Error(..) | Heard::Closed), "{over:?}");
    assert_eq!(a.read("file"), "new");
}

#[test]
fn a_mount_is_for_whoever_mounted_it() {
    if !can_mount("a_mount_is_for_whoever_mounted_it") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "x").unwrap();
    let server = site.serve();
    let mount = site.mount(&server, "a", &[]);
    assert_eq!(mount.read("file"), "x");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(site.path(""), open).unwrap();
    let mut other = Command::new("cat");
    std::os::unix::process::CommandExt::uid(&mut other, 65534);
    let read = other.arg(mount.path("file")).output().unwrap();
    assert!(!read.status.success() && read.stdout.is_empty(), "{read:?}");
    // Locks would hold on one host alone, so there are none.
    let lock = fs::File::open(mount.path("file")).unwrap().lock();
    assert_eq!(lock.unwrap_err().raw_os_error(), Some(nix::errno::Errno::ENOLCK as i32));
}
