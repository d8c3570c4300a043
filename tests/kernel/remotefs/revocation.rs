//! End of rights, by revocation or expiry: cached, open and mapped files end with them.

use crate::relay::{OneWay, relay};
use crate::support::{Heard, Mapping, Site, bytes, can_mount, count, until};
use crate::world::{Mounted, SERVER, Served, World, code};
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_credentials::Item;
use bakeoff_layers_credentials::key::Hash;
use bakeoff_layers_credentials::notice::News;
use nix::errno::Errno;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

const LIST: &str = "/ allow user:alice@home.example all\n";
/// Duration of a server's promise in s: a client refused sooner was told. `benches/remotefs` shows how soon.
const TERM_S: u64 = 60;
const AT_ONCE: Duration = Duration::from_secs(40);

/// A mount through a transfer, and the items whose revocation ends it.
fn handed_on() -> (Site, World, Served, Mounted, [Item; 2]) {
    let (site, world) = (Site::new(), World::new());
    fs::write(site.export("file"), "text").unwrap();
    let served = world.serve_for(&site, LIST, TERM_S);
    let (alice, bob) = (world.person("user:alice@home.example"), world.person("user:bob@home.example"));
    let (given, transfer) = world.give(&alice, &bob, &[("/", "read,list,write,create")], SERVER);
    let key: Hash = bob.key().public().thumbprint();
    let mount = world.mount(&site, &served, "b", &given);
    (site, world, served, mount, [transfer, Item::Key(key)])
}

fn is_refused(mount: &Mounted, name: &str) {
    until("the mount says why", || {
        fs::read_to_string(&mount.status).unwrap().contains(&format!("\nrefused {name}\n"))
    });
}

#[test]
fn what_is_cached_open_or_written_is_refused_at_once() {
    if !can_mount("what_is_cached_open_or_written_is_refused_at_once") {
        return;
    }
    for which in [0, 1] {
        let (site, world, served, mount, items) = handed_on();
        let open = File::open(mount.path("file")).unwrap();
        let written = File::options().write(true).open(mount.path("file")).unwrap();
        assert_eq!((bytes(&open).as_str(), fs::read_dir(&mount.at).unwrap().count()), ("text", 1));
        written.write_all_at(b"TEXT", 0).unwrap();
        let began = Instant::now();
        served.revokes(items[which]);
        until("the open file is refused", || code(open.read_at(&mut [0; 4], 0)) == Some(Errno::EACCES));
        let took = began.elapsed();
        assert!(took < AT_ONCE, "{took:?}");
        let codes = [
            code(File::open(mount.path("file"))),
            code(written.write_all_at(b"more", 0)),
            code(fs::metadata(mount.path("file"))),
            code(fs::read_dir(&mount.at).and_then(|mut entries| entries.next().transpose())),
        ];
        assert_eq!(codes, [Some(Errno::EACCES); 4]);
        is_refused(&mount, "revoked");
        served.counts("refused.credentials.revoked", 2);
        assert_eq!(fs::read_to_string(site.export("file")).unwrap(), "TEXT");
        // Others continue.
        let (_callback, heard) = served.greets(&world, &world.person("user:alice@home.example"));
        assert!(matches!(heard, Heard::Welcome { .. }));
    }
}

/// Passes bytes on between a client and a server, until what the server says is held back for ever, on all
/// connections that there are but the first.
#[derive(Default)]
struct Stalling {
    stalls: AtomicBool,
    /// Connections from now on are passed on whole.
    spares_new: AtomicBool,
    held_back: AtomicUsize,
}

impl Stalling {
    /// Starts it; returns also the address for the client.
    fn start(server: SocketAddr) -> (Arc<Self>, SocketAddr) {
        let stalling = Arc::new(Self::default());
        let own = stalling.clone();
        (stalling, relay(server, move |way| own.pass(way)))
    }

    fn pass(&self, way: &OneWay) {
        let may_stall = way.is_answer && way.number > 0 && !self.spares_new.load(Ordering::SeqCst);
        let (mut from, mut to, mut bytes) = (&way.from, &way.to, [0; 4096]);
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            if may_stall && self.stalls.load(Ordering::SeqCst) {
                self.held_back.fetch_add(length, Ordering::SeqCst);
            } else if to.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
    }
}

/// A page that is being read is locked: nobody may wait for an answer that does not come, and nothing of the file
/// can be dropped until then.
#[test]
fn what_is_being_read_on_a_stalled_wire_is_refused_and_not_waited_for() {
    if !can_mount("what_is_being_read_on_a_stalled_wire_is_refused_and_not_waited_for") {
        return;
    }
    const PIECE: usize = 1 << 20;
    let (site, world) = (Site::new(), World::new());
    fs::write(site.export("file"), vec![b'x'; 8 * PIECE]).unwrap();
    let mut served = world.serve_for(&site, LIST, TERM_S);
    let (relay, address) = Stalling::start(served.address);
    served.address = address;
    let alice = world.person("user:alice@home.example");
    let mount = world.mount(&site, &served, "a", &alice);
    let open = File::open(mount.path("file")).unwrap();
    open.read_exact_at(&mut [0; 4096], 0).unwrap();
    relay.stalls.store(true, Ordering::SeqCst);
    let (told, result) = channel();
    thread::spawn(move || told.send(code(open.read_at(&mut [0; 4096], 6 * PIECE as u64))).unwrap());
    until("an answer is held back", || relay.held_back.load(Ordering::SeqCst) > 0);
    assert!(result.try_recv().is_err(), "it was answered all the same");
    relay.spares_new.store(true, Ordering::SeqCst);
    served.revokes(Item::Key(alice.key().public().thumbprint()));
    assert_eq!(result.recv_timeout(AT_ONCE), Ok(Some(Errno::EACCES)));
    is_refused(&mount, "revoked");
}

#[test]
fn what_is_mapped_is_refused() {
    if !can_mount("what_is_mapped_is_refused") {
        return;
    }
    let (_site, _world, served, mount, items) = handed_on();
    let test = "what_is_mapped_is_refused";
    let Some(mut mapping) = Mapping::of(&mount.path("file"), b't', test) else { return };
    let began = Instant::now();
    served.revokes(items[0]);
    mapping.is_cut_off();
    let took = began.elapsed();
    assert!(took < AT_ONCE, "{took:?}");
}

#[test]
fn a_leaf_that_ends_ends_the_session_and_a_new_one_begins_another() {
    if !can_mount("a_leaf_that_ends_ends_the_session_and_a_new_one_begins_another") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    fs::write(site.export("file"), "text").unwrap();
    let served = world.serve(&site, LIST);
    let alice = world.person_for("user:alice@home.example", 12);
    let mount = world.mount(&site, &served, "a", &alice);
    let open = File::open(mount.path("file")).unwrap();
    assert_eq!(bytes(&open), "text");
    until("the open file is refused", || code(open.read_at(&mut [0; 4], 0)) == Some(Errno::EACCES));
    is_refused(&mount, "expired");
    served.counts("refused.credentials.expired", 1);
    *mount.who.lock().unwrap() = world.again(&alice, 3600);
    until("it goes on with a new leaf", || {
        fs::read_to_string(mount.path("file")).is_ok_and(|text| text == "text")
    });
    until("nothing is refused any more", || {
        !fs::read_to_string(&mount.status).unwrap().contains("\nrefused ")
    });
    served.counts("sessions", 2);
}

#[test]
fn a_leaf_that_is_renewed_in_time_ends_nothing() {
    if !can_mount("a_leaf_that_is_renewed_in_time_ends_nothing") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    fs::write(site.export("file"), "text").unwrap();
    let served = world.serve(&site, LIST);
    let alice = world.person_for("user:alice@home.example", 15);
    let ends = Instant::now() + Duration::from_secs(16);
    let mount = world.mount(&site, &served, "a", &alice);
    let open = File::open(mount.path("file")).unwrap();
    assert_eq!(bytes(&open), "text");
    *mount.who.lock().unwrap() = world.again(&alice, 3600);
    served.counts("renewals", 1);
    while Instant::now() < ends {
        thread::sleep(Duration::from_millis(50));
        assert_eq!(bytes(&open), "text");
    }
    assert_eq!(count(&served.status, "sessions"), 1);
    fs::write(mount.path("file"), "more").unwrap();
    assert_eq!(fs::read_to_string(site.export("file")).unwrap(), "more");
}

#[test]
fn what_was_taken_back_stays_so_when_the_server_starts_anew() {
    if !can_mount("what_was_taken_back_stays_so_when_the_server_starts_anew") {
        return;
    }
    let (site, world, served, mount, items) = handed_on();
    served.revokes(items[0]);
    is_refused(&mount, "revoked");
    until("it is kept", || {
        fs::read_to_string(site.path("revoked")).is_ok_and(|text| text.contains(" transfer "))
    });
    site.copy_export();
    let next = world.serve(&site, LIST);
    let person = mount.who.lock().unwrap().clone();
    assert_eq!(next.greets(&world, &person).1, Heard::Refused("revoked".to_owned()));
    // With an unreadable list of revocations nobody is admitted.
    site.copy_export();
    fs::write(site.path("revoked"), "home.example transfer ?\n").unwrap();
    let unread = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.serve(&site, LIST)));
    assert!(unread.is_err(), "it does not start");
}

#[test]
fn an_agent_that_is_silent_is_told_of_and_ends_nothing() {
    if !can_mount("an_agent_that_is_silent_is_told_of_and_ends_nothing") {
        return;
    }
    let (_site, _world, served, mount, _) = handed_on();
    let says = || fs::read_to_string(&served.status).unwrap().contains("\nola-silent home.example\n");
    served.hears(News::Silent);
    until("it is told", says);
    assert_eq!(fs::read_to_string(mount.path("file")).unwrap(), "text");
    served.hears(News::Alive(now_unix_s()));
    until("it is told no more", || !says());
}
