//! Attacks by names and links: files outside of the export are never reached.

use crate::support::{Below, Heard, ROOT, Raw, Site, can_mount};
use bakeoff_layers_remotefs::frame::{ClientRequest, MessageHead};
use bakeoff_layers_remotefs::refusal::Refusal;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

/// Content that nobody may read through the server.
const SECRET: &[u8] = b"the secret outside";

fn raw(server: &crate::support::Server) -> Raw {
    let (callback, boot, session) = Raw::session(server);
    // Its term, a minute, is longer than a test.
    std::mem::forget(callback);
    Raw::data(server, boot, session)
}

fn read(raw: &mut Raw, object: u64) -> Heard {
    raw.ask(&ClientRequest::Read { object, offset: 0, length: 100 })
}

/// LOOKUP (2) of bytes that are no name.
fn lookup(name: &[u8]) -> Vec<u8> {
    let length = (name.len() as u16).to_le_bytes();
    let head = MessageHead { length: 2 + name.len() as u32, kind: 2, object: ROOT, ..MessageHead::default() };
    [&head.bytes()[..], &length, name].concat()
}

#[test]
fn what_is_no_single_name_closes_the_connection() {
    if !can_mount("what_is_no_single_name_closes_the_connection") {
        return;
    }
    let site = Site::new();
    fs::write(site.path("outside/file"), SECRET).unwrap();
    let server = site.serve_at("127.0.0.1:0", "60");
    let names: [&[u8]; 8] = [b"..", b".", b"", b"/", b"a/b", b"../outside/file", b"a\0b", &[b'a'; 256]];
    for name in names {
        let mut raw = raw(&server);
        raw.say(&lookup(name));
        assert!(matches!(raw.hear(), Heard::Error(..)), "{}", name.escape_ascii());
        assert_eq!(raw.hear(), Heard::Closed);
    }
    server.counts("refused.bad-name", names.len() as u64);
    // The harmless form of such a name is only missing.
    let mut raw = raw(&server);
    raw.say(&lookup(b"%2e%2e"));
    assert_eq!(raw.hear(), Heard::Other, "absent");
}

#[test]
fn names_are_bytes_and_twins_are_different_files() {
    if !can_mount("names_are_bytes_and_twins_are_different_files") {
        return;
    }
    let site = Site::new();
    let (_server, a, b) = site.two();
    let names: [&[u8]; 8] = [
        b"\xff\xfe not UTF-8",
        b"twin",
        b"Twin",
        "\u{e9}".as_bytes(),
        "e\u{301}".as_bytes(),
        b"%2e%2e",
        b"...",
        &[b'n'; 255],
    ];
    for name in names {
        fs::write(a.at.join(OsStr::from_bytes(name)), name).unwrap();
    }
    for name in names {
        assert_eq!(fs::read(b.at.join(OsStr::from_bytes(name))).unwrap(), name, "{}", name.escape_ascii());
    }
    assert_eq!(fs::read_dir(&b.at).unwrap().count(), names.len());
    let long = fs::write(a.path(&"n".repeat(256)), "").unwrap_err();
    assert_eq!(long.raw_os_error(), Some(Errno::ENAMETOOLONG as i32));
}

#[test]
fn a_link_out_is_a_text_and_is_never_followed() {
    if !can_mount("a_link_out_is_a_text_and_is_never_followed") {
        return;
    }
    let site = Site::new();
    fs::write(site.path("outside/file"), SECRET).unwrap();
    symlink(site.path("outside"), site.export("absolute")).unwrap();
    symlink("../outside", site.export("relative")).unwrap();
    symlink("../outside/file", site.export("file")).unwrap();
    symlink("/proc/self/root", site.export("magic")).unwrap();
    let server = site.serve_at("127.0.0.1:0", "60");
    let mut raw = raw(&server);
    for name in [&b"absolute"[..], b"relative", b"magic", b"file"] {
        let link = raw.number(ROOT, name);
        let below = raw.lookup(link, b"file");
        assert!(matches!(below, Heard::Error(..)), "{below:?}");
        assert_eq!(read(&mut raw, link), Heard::Error(Errno::EINVAL as u32, 0));
        assert!(matches!(raw.ask(&ClientRequest::ReadLink { object: link }), Heard::Bytes(_)));
    }
    // Through a mount the reader resolves a link, in the mount.
    let mount = site.mount(&server, "a", &[]);
    assert_eq!(fs::read_link(mount.path("relative")).unwrap().to_str(), Some("../outside"));
    // Written through, it would change a file outside.
    assert!(fs::write(site.mount(&server, "b", &["--read-only"]).path("x"), "").is_err());
}

#[test]
fn a_directory_swapped_for_a_link_leads_nowhere_else() {
    if !can_mount("a_directory_swapped_for_a_link_leads_nowhere_else") {
        return;
    }
    let site = Site::new();
    fs::write(site.path("outside/file"), SECRET).unwrap();
    fs::create_dir(site.export("real")).unwrap();
    fs::write(site.export("real/file"), "inside").unwrap();
    symlink(site.path("outside"), site.export("link")).unwrap();
    let server = site.serve_at("127.0.0.1:0", "60");
    let mut raw = raw(&server);
    let over = AtomicBool::new(false);
    let exchange = || {
        use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
        let (real, link) = (site.export("real"), site.export("link"));
        renameat2(AT_FDCWD, &real, AT_FDCWD, &link, RenameFlags::RENAME_EXCHANGE).unwrap();
    };
    let read_inside = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                exchange();
            }
        });
        let mut inside = 0;
        for _ in 0..2000 {
            let Heard::Attributes(found) = raw.lookup(ROOT, b"real") else { continue };
            let Heard::Attributes(file) = raw.lookup(found.object, b"file") else { continue };
            let Heard::Bytes(bytes) = read(&mut raw, file.object) else { continue };
            assert_eq!(bytes, b"inside");
            inside += 1;
        }
        over.store(true, Ordering::Relaxed);
        inside
    });
    assert!(read_inside > 0, "nothing was tried");
}

#[test]
fn mounts_devices_and_fifos_are_not_exported() {
    if !can_mount("mounts_devices_and_fifos_are_not_exported") {
        return;
    }
    let site = Site::new();
    fs::write(site.path("outside/file"), SECRET).unwrap();
    fs::create_dir(site.export("bound")).unwrap();
    let bound = Below(site.export("bound"));
    let none = None::<&str>;
    mount(Some(&site.path("outside")), &bound.0, none, MsFlags::MS_BIND, none).unwrap();
    mkfifo(&site.export("fifo"), Mode::S_IRWXU).unwrap();
    std::os::unix::net::UnixListener::bind(site.export("socket")).unwrap();
    let server = site.serve_at("127.0.0.1:0", "60");
    let mut raw = raw(&server);
    let refused = |refusal: Refusal| Heard::Error(refusal.errno() as u32, refusal.number());
    assert_eq!(raw.lookup(ROOT, b"bound"), refused(Refusal::OtherFileSystem));
    assert_eq!(raw.lookup(ROOT, b"fifo"), refused(Refusal::SpecialFile));
    assert_eq!(raw.lookup(ROOT, b"socket"), refused(Refusal::SpecialFile));
    server.counts("refused.special-file", 2);
    server.counts("refused.other-file-system", 1);
    let mount = site.mount(&server, "a", &[]);
    assert_eq!(mount.names(""), ["bound"]);
    assert_eq!(mkfifo(&mount.path("another"), Mode::S_IRWXU), Err(Errno::EPERM));
}

#[test]
fn numbers_that_nobody_was_told_lead_to_nothing() {
    if !can_mount("numbers_that_nobody_was_told_lead_to_nothing") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "x").unwrap();
    let server = site.serve_at("127.0.0.1:0", "60");
    let mut raw = raw(&server);
    let file = raw.number(ROOT, b"file");
    let refused = Heard::Error(Errno::ESTALE as u32, Refusal::NoObject.number());
    for object in [0, 2, file + 1, u64::MAX] {
        assert_eq!(read(&mut raw, object), refused);
        assert_eq!(raw.lookup(object, b"file"), refused);
    }
    assert_eq!(read(&mut raw, file), Heard::Bytes(b"x".to_vec()));
    assert_eq!(read(&mut raw, ROOT), Heard::Error(Errno::EISDIR as u32, 0));
}
