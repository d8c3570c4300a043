//! First requests: a mount that connects with its first question, and small files that come with their names.

use crate::support::{Heard, Mount, ROOT, Raw, Site, can_mount, count, until};
use crate::world::{SERVER, World};
use bakeoff_layers_remotefs::frame::{ClientRequest, FileName};
use std::fs;
use std::net::TcpListener;

#[test]
fn a_mount_that_connects_late_needs_one_connection_for_a_small_file() {
    if !can_mount("a_mount_that_connects_late_needs_one_connection_for_a_small_file") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("small"), "x").unwrap();
    fs::write(site.export("large"), vec![7; 5000]).unwrap();
    let server = site.serve();
    let mount = site.mount(&server, "a", &["--delay-connect"]);
    let counts = |names: [&str; 3]| names.map(|name| count(&mount.status, name));
    assert_eq!(counts(["connections", "sessions", "verify-ns"]), [0; 3]);
    assert_eq!(mount.read("small"), "x");
    until("it is counted", || count(&mount.status, "reads") == 1);
    assert_eq!(counts(["connections", "sessions", "sessions-lost"]), [1, 1, 0]);
    assert!(!counts(["connect-ns", "handshake-ns", "verify-ns"]).contains(&0));
    server.counts("bytes-read", 1);
    // Reading bytes needs a connection for questions.
    assert_eq!(mount.read("large").len(), 5000);
    until("it is counted", || count(&mount.status, "connections") == 2);
}

#[test]
fn a_mount_that_connects_late_says_why_it_cannot() {
    if !can_mount("a_mount_that_connects_late_says_why_it_cannot") {
        return;
    }
    let site = Site::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mount = site.mount_at(nobody, "a", &["--delay-connect"]);
    assert_eq!(fs::read(mount.path("file")).unwrap_err().raw_os_error(), Some(libc::EIO));
    until("it is said", || fs::read_to_string(&mount.status).unwrap().contains("\nno-session "));
    drop(mount);

    let (world, secured) = (World::new(), Site::new());
    let served = world.serve(&secured, "/ allow user:alice@home.example all\n");
    let expired = world.person_for("user:alice@home.example", 0);
    let mounted = world.try_mount_when(&secured, &served, "a", (&expired, SERVER, true)).unwrap();
    let read = fs::read_dir(secured.path("a"));
    assert_eq!(read.unwrap_err().raw_os_error(), Some(libc::EACCES));
    until("it is said", || fs::read_to_string(&mounted.status).unwrap().contains("\nrefused expired\n"));
}

#[test]
fn small_contents_that_came_with_a_name_are_never_old() {
    if !can_mount("small_contents_that_came_with_a_name_are_never_old") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "old").unwrap();
    let (_server, a, b) = site.two();
    let size = |mount: &Mount| fs::metadata(mount.path("file")).unwrap().len();
    // The name is known, and the contents with it, and nothing was read.
    assert_eq!((size(&a), size(&b)), (3, 3));
    a.write("file", "new");
    assert_eq!((b.read("file"), a.read("file")), ("new".to_owned(), "new".to_owned()));
    fs::write(site.export("other"), "12345").unwrap();
    assert_eq!(fs::metadata(a.path("other")).unwrap().len(), 5);
    fs::OpenOptions::new().write(true).open(a.path("other")).unwrap().set_len(2).unwrap();
    assert_eq!(a.read("other"), "12");
    let [reads, lookups] = a.counts(["reads", "lookups"]);
    assert!(reads > 0 && lookups > 0);
}

#[test]
fn a_session_asks_one_small_thing_at_a_time_where_it_is_called() {
    if !can_mount("a_session_asks_one_small_thing_at_a_time_where_it_is_called") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "text").unwrap();
    let server = site.serve_at("127.0.0.1:0", "2");
    // The first change after a start waits for a term.
    site.mount(&server, "a", &[]).write("other", "text");
    let (mut callback, ..) = Raw::session(&server);
    for _ in 0..20 {
        assert!(matches!(callback.lookup(ROOT, b"file"), Heard::Attributes(_)));
    }
    assert!(matches!(callback.lookup(ROOT, b"none"), Heard::Other), "it is absent");
    // A change that waits for this session's acknowledgement, and a question that waits for the change.
    let (_other, boot, session) = Raw::session(&server);
    let mut writer = Raw::data(&server, boot, session);
    let number = writer.number(ROOT, b"file");
    let mut write = Vec::new();
    ClientRequest::Write { object: number, offset: 0, append: false, bytes: b"next" }.put(&mut write);
    writer.say(&write);
    let Heard::Break(number) = callback.hear() else { panic!("no break") };
    let (mut question, mut acknowledges) = (Vec::new(), Vec::new());
    ClientRequest::Lookup { directory: ROOT, name: FileName::of(b"file").unwrap() }.put(&mut question);
    ClientRequest::Ack { number }.put(&mut acknowledges);
    callback.say(&question);
    callback.say(&acknowledges);
    assert!(matches!(callback.hear(), Heard::Attributes(_)));
    assert_eq!(writer.hear(), Heard::Other);
}
