//! Rights of principals: by the list, by delegation, by all names of a file; and no gain by renaming or linking.

use crate::support::{Heard, ROOT, Raw, Site, can_mount, until};
use crate::world::{SERVER, World, code};
use bakeoff_layers_remotefs::client::why;
use bakeoff_layers_remotefs::frame::{ClientRequest, FileName, New, TimeUpdate, Way};
use bakeoff_layers_remotefs::refusal::Refusal;
use nix::errno::Errno;
use nix::sys::signal::{Signal, raise};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

fn refused(refusal: Refusal) -> Heard {
    Heard::Error(refusal.errno() as u32, refusal.number())
}

fn name(text: &str) -> FileName<'_> {
    FileName::of(text.as_bytes()).unwrap()
}

/// Lists a directory: root's kernel opens anything, and the server is asked for names.
fn listed(at: &Path) -> std::io::Result<usize> {
    fs::read_dir(at)?.try_fold(0, |all, entry| entry.map(|_| all + 1))
}

/// Renames past any kernel.
fn rename(raw: &mut Raw, from: u64, old: &str, to: u64, new: &str) -> Heard {
    raw.ask(&ClientRequest::Rename { from, name: name(old), to, new_name: name(new), way: Way::Replace })
}

#[test]
fn each_does_what_the_list_lets_him_and_nothing_else() {
    if !can_mount("each_does_what_the_list_lets_him_and_nothing_else") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    fs::create_dir_all(site.export("open/deep")).unwrap();
    fs::create_dir(site.export("own")).unwrap();
    fs::write(site.export("open/file"), "text").unwrap();
    fs::set_permissions(site.export("open/file"), Permissions::from_mode(0o777)).unwrap();
    fs::write(site.export("own/file"), "secret").unwrap();
    let list = "/ allow any@home.example read,list\n/own only user:alice@home.example all\n";
    let served = world.serve_for(&site, list, 5);
    let alice = world.mount(&site, &served, "a", &world.person("user:alice@home.example"));
    let bob = world.mount(&site, &served, "b", &world.person("user:bob@home.example"));
    // Bob's kernel refuses most of it by the modes that it knows.
    assert_eq!(fs::read_to_string(bob.path("open/file")).unwrap(), "text");
    let about = fs::metadata(bob.path("open/file")).unwrap();
    assert_eq!((about.mode() & 0o7777, about.uid()), (0o577, nix::unistd::geteuid().as_raw()));
    assert_eq!(fs::metadata(bob.path("open")).unwrap().mode() & 0o7777, 0o555);
    let codes = [
        code(fs::write(bob.path("open/new"), "x")),
        code(
            File::options()
                .write(true)
                .open(bob.path("open/file"))
                .and_then(|file| file.write_all_at(b"x", 0)),
        ),
        code(fs::remove_file(bob.path("open/file"))),
        code(fs::read_to_string(bob.path("own/file"))),
        code(listed(&bob.path("own"))),
    ];
    assert_eq!(codes, [Some(Errno::EACCES); 5]);
    // A client of his own making is refused everything.
    let (_callback, mut raw) = served.session(&world, &world.person("user:bob@home.example"));
    let open = raw.number(ROOT, b"open");
    let file = raw.number(open, b"file");
    let new = New { mode: Some(0o600), mtime: TimeUpdate::Now, ..New::default() };
    for request in [
        ClientRequest::Write { object: file, offset: 0, append: false, bytes: b"x" },
        ClientRequest::SetAttributes { object: file, new },
        ClientRequest::SetAttributes { object: file, new: New { size: Some(0), ..New::default() } },
        ClientRequest::Create {
            directory: open,
            name: name("new"),
            mode: 0o600,
            exclusive: false,
            truncate: false,
        },
        ClientRequest::MakeDirectory { directory: open, name: name("new"), mode: 0o700 },
        ClientRequest::SymLink { directory: open, name: name("new"), target: b"x" },
        ClientRequest::Link { object: file, directory: open, name: name("new") },
        ClientRequest::Remove { directory: open, name: name("file") },
        ClientRequest::RemoveDirectory { directory: open, name: name("deep") },
        ClientRequest::Rename {
            from: open,
            name: name("file"),
            to: open,
            new_name: name("new"),
            way: Way::Exchange,
        },
    ] {
        assert_eq!(raw.ask(&request), refused(Refusal::Denied), "{request:?}");
    }
    assert_eq!(raw.lookup(ROOT, b"own"), refused(Refusal::Denied));
    assert_eq!(raw.lookup(open, b"not there"), Heard::Other, "absent");
    served.counts("refused.denied", 11);
    assert_eq!(fs::read_to_string(alice.path("own/file")).unwrap(), "secret");
    fs::write(alice.path("own/file"), "another").unwrap();
    fs::rename(alice.path("own/file"), alice.path("own/moved")).unwrap();
    fs::create_dir(alice.path("own/directory")).unwrap();
    assert_eq!(fs::read_to_string(site.export("own/moved")).unwrap(), "another");
}

#[test]
fn what_was_handed_on_is_found_and_nothing_beside_it() {
    if !can_mount("what_was_handed_on_is_found_and_nothing_beside_it") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    fs::create_dir_all(site.export("projects/x/deep")).unwrap();
    fs::create_dir_all(site.export("projects/y")).unwrap();
    fs::write(site.export("projects/x/file"), "text").unwrap();
    let served = world.serve(&site, "/ allow user:alice@home.example all\n");
    let (alice, bob) = (world.person("user:alice@home.example"), world.person("user:bob@home.example"));
    let (given, _) = world.give(&alice, &bob, &[("/projects/x", "read,list,create,write")], "*.home.example");
    let mount = world.mount(&site, &served, "b", &given);
    assert_eq!(fs::read_to_string(mount.path("projects/x/file")).unwrap(), "text");
    assert_eq!(fs::read_dir(mount.path("projects/x")).unwrap().count(), 2);
    // Bob finds the way, and sees nothing beside it, existing or not.
    let codes = [
        code(listed(&mount.at)),
        code(listed(&mount.path("projects"))),
        code(fs::metadata(mount.path("projects/y"))),
        code(fs::metadata(mount.path("projects/not there"))),
        code(fs::remove_file(mount.path("projects/x/file"))),
    ];
    assert_eq!(codes, [Some(Errno::EACCES); 5]);
    fs::write(mount.path("projects/x/new"), "123456").unwrap();
    let said = why(&mount.path("projects/x/file")).unwrap();
    assert!(said.contains("read yes: acl:1 lets user:alice@home.example read here"), "{said}");
    assert!(
        said.contains("remove no: ")
            && said.contains("link 1 of the chain, which user:alice@home.example gave"),
        "{said}"
    );
    let said = why(&mount.path("projects/y")).unwrap();
    assert!(said.contains("read no: "), "{said}");
    assert!(why(&mount.at).unwrap().contains("list no: "));
    assert!(why(&site.export("projects")).is_err());
}

#[test]
fn a_file_is_as_closed_as_the_sternest_of_its_names() {
    if !can_mount("a_file_is_as_closed_as_the_sternest_of_its_names") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    for directory in ["mild", "other", "stern"] {
        fs::create_dir(site.export(directory)).unwrap();
    }
    fs::write(site.export("stern/file"), "secret").unwrap();
    fs::write(site.export("mild/known"), "text").unwrap();
    let list = "/ allow any@home.example all\n/stern only user:alice@home.example all\n";
    let served = world.serve_for(&site, list, 5);
    let (alice, bob) = (world.person("user:alice@home.example"), world.person("user:bob@home.example"));
    let (_callback, mut raw) = served.session(&world, &bob);
    let mild = raw.number(ROOT, b"mild");
    let known = raw.number(mild, b"known");
    let read = ClientRequest::Read { object: known, offset: 0, length: 9 };
    assert_eq!(raw.ask(&read), Heard::Bytes(b"text".to_vec()));
    // Made at the server: nobody has seen the other name.
    fs::hard_link(site.export("stern/file"), site.export("mild/link")).unwrap();
    assert_eq!(raw.lookup(mild, b"link"), refused(Refusal::Linked));
    served.counts("refused.linked", 1);
    // It is seen, and is stricter.
    let (_kept, mut hers) = served.session(&world, &alice);
    let stern = hers.number(ROOT, b"stern");
    let (in_mild, _) = (hers.number(ROOT, b"mild"), hers.lookup(stern, b"file"));
    assert!(matches!(hers.lookup(in_mild, b"link"), Heard::Attributes(_)));
    assert!(matches!(hers.lookup(stern, b"file"), Heard::Attributes(_)), "both names are known now");
    assert_eq!(raw.lookup(mild, b"link"), refused(Refusal::Denied));
    // Made through a mount, into the stricter directory: it closes what was open.
    let linked =
        ClientRequest::Link { object: hers.number(in_mild, b"known"), directory: stern, name: name("twin") };
    assert!(matches!(hers.ask(&linked), Heard::Attributes(_)));
    // Bob was told, and did not acknowledge: his session is over.
    let (_callback, mut raw) = served.session(&world, &bob);
    let mild = raw.number(ROOT, b"mild");
    let closed = |heard: Heard| matches!(heard, Heard::Error(code, _) if code == Errno::EACCES as u32);
    assert!(closed(raw.lookup(mild, b"known")));
    let empties = ClientRequest::Create {
        directory: mild,
        name: name("known"),
        mode: 0,
        exclusive: false,
        truncate: true,
    };
    assert!(closed(raw.ask(&empties)));
    assert_eq!(fs::read_to_string(site.export("mild/known")).unwrap(), "text");
}

#[test]
fn nobody_gains_by_a_rename() {
    if !can_mount("nobody_gains_by_a_rename") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    for directory in ["drop", "mine", "top/secret", "top/plain"] {
        fs::create_dir_all(site.export(directory)).unwrap();
    }
    fs::write(site.export("drop/file"), "secret").unwrap();
    fs::write(site.export("mine/file"), "mine").unwrap();
    fs::write(site.export("top/plain/file"), "text").unwrap();
    let list = "/ allow user:alice@home.example all\n/drop allow user:bob@home.example create,remove\n\
                /mine allow user:bob@home.example all\n/top allow user:bob@home.example all\n\
                /top/secret only user:alice@home.example all\n";
    let served = world.serve_for(&site, list, 20);
    let (_callback, mut raw) = served.session(&world, &world.person("user:bob@home.example"));
    let [drop, mine, top] = [&b"drop"[..], b"mine", b"top"].map(|name| raw.number(ROOT, name));
    // A file that he may remove but not read does not become readable.
    assert_eq!(rename(&mut raw, drop, "file", mine, "stolen"), refused(Refusal::Denied));
    // Rules stay where they are, so the objects they are about stay, too.
    assert_eq!(rename(&mut raw, ROOT, "top", mine, "taken"), refused(Refusal::RulesBelow));
    assert_eq!(rename(&mut raw, top, "secret", mine, "taken"), refused(Refusal::Denied));
    assert_eq!(rename(&mut raw, mine, "file", top, "secret"), refused(Refusal::Denied));
    served.counts("refused.rules-below", 1);
    // Last, since it waits for this session, which acknowledges nothing, and that is over then.
    assert_eq!(rename(&mut raw, drop, "file", drop, "other"), Heard::Other, "done");
}

#[test]
fn a_directory_that_leaves_what_was_handed_on_is_closed_while_it_is_open() {
    if !can_mount("a_directory_that_leaves_what_was_handed_on_is_closed_while_it_is_open") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    fs::create_dir_all(site.export("x/deep")).unwrap();
    fs::write(site.export("x/deep/file"), "text").unwrap();
    let served = world.serve(&site, "/ allow user:alice@home.example all\n");
    let (alice, bob) = (world.person("user:alice@home.example"), world.person("user:bob@home.example"));
    let (given, _) = world.give(&alice, &bob, &[("/x", "read,list")], SERVER);
    let (hers, his) = (world.mount(&site, &served, "a", &alice), world.mount(&site, &served, "b", &given));
    let open = File::open(his.path("x/deep/file")).unwrap();
    assert_eq!(crate::support::bytes(&open), "text");
    fs::rename(hers.path("x/deep"), hers.path("out")).unwrap();
    let read = || code(open.read_at(&mut [0; 4], 0));
    until("what he has open is closed to him", || read() == Some(Errno::EACCES));
    fs::rename(hers.path("out"), hers.path("x/again")).unwrap();
    assert_eq!(fs::read_to_string(his.path("x/again/file")).unwrap(), "text");
}

/// A change waits for whoever holds what it changes, and the directory is elsewhere by then.
#[test]
fn a_right_is_asked_for_again_where_a_change_had_to_wait() {
    if !can_mount("a_right_is_asked_for_again_where_a_change_had_to_wait") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    for directory in ["open/p/d", "closed"] {
        fs::create_dir_all(site.export(directory)).unwrap();
    }
    let list = "/ allow any@home.example read,list\n/open allow user:bob@home.example all\n/closed only user:alice@home.example all\n";
    let served = world.serve_for(&site, list, 3);
    let bob = world.person("user:bob@home.example");
    let [(mut first, mut asks), (mut second, mut holds)] = [0; 2].map(|_| served.session(&world, &bob));
    let walk =
        |raw: &mut Raw| ["open", "p", "d"].iter().fold(ROOT, |at, name| raw.number(at, name.as_bytes()));
    let directory = walk(&mut asks);
    assert_eq!(walk(&mut holds), directory);
    let making = thread::spawn(move || {
        let name = name("made");
        asks.ask(&ClientRequest::MakeDirectory { directory, name, mode: 0o700 })
    });
    let mut is_moved = false;
    // Both sessions live, and acknowledge what they are told; the second one not before the directory was moved.
    while !making.is_finished() {
        for (raw, holds) in [(&mut first, false), (&mut second, true)] {
            let heard = raw.ask(&ClientRequest::Ping { stamp: 1 });
            let Heard::Break(number) = heard else { continue };
            if holds && !is_moved {
                fs::rename(site.export("open/p"), site.export("closed/p")).unwrap();
                is_moved = true;
            }
            let mut out = Vec::new();
            ClientRequest::Ack { number }.put(&mut out);
            raw.say(&out);
        }
        thread::sleep(Duration::from_millis(10));
    }
    let made = making.join().unwrap();
    assert!(is_moved && matches!(made, Heard::Error(..)), "{made:?}");
    assert_eq!(fs::read_dir(site.export("closed/p/d")).unwrap().count(), 0, "it was made all the same");
}

#[test]
fn rules_change_at_sighup_and_faults_change_nothing() {
    if !can_mount("rules_change_at_sighup_and_faults_change_nothing") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    fs::write(site.export("file"), "text").unwrap();
    let served = world.serve(&site, "/ allow user:alice@home.example read,list\n");
    let mount = world.mount(&site, &served, "a", &world.person("user:alice@home.example"));
    let open = File::open(mount.path("file")).unwrap();
    assert_eq!(crate::support::bytes(&open), "text");
    fs::write(site.path("acl"), "/ allow nobody read\n").unwrap();
    raise(Signal::SIGHUP).unwrap();
    served.counts("acl-faults", 1);
    assert_eq!(crate::support::bytes(&open), "text");
    fs::write(site.path("acl"), "/ allow user:alice@home.example list\n").unwrap();
    raise(Signal::SIGHUP).unwrap();
    let read = || code(open.read_at(&mut [0; 4], 0));
    until("what is open is closed", || read() == Some(Errno::EACCES));
    assert_eq!(code(fs::read(mount.path("file"))), Some(Errno::EACCES));
    assert!(why(&mount.path("file")).unwrap().contains("read no: no rule of acl lets"));
}
