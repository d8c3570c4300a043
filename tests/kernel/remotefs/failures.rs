//! Failures below: a server that stays away or returns with other files, a full disk, an expired bundle of a domain.

use crate::daemon::{can_mount, until};
use crate::hosts::Hosts;
use crate::support::{Below, Reader, Site, TERM_S, bytes, command, count};
use crate::world::code;
use bakeoff_layers_agent::authority::{self, NextKeys, Terms};
use bakeoff_layers_agent::read_secret_key;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const LIST: &str = "/ allow user:alice@home.example all\n";

#[test]
fn files_that_were_replaced_while_the_server_was_down_are_stale_where_they_are_open() {
    if !can_mount("files_that_were_replaced_while_the_server_was_down_are_stale_where_they_are_open") {
        return;
    }
    let site = Site::new();
    let about = |name: &str| fs::metadata(site.export(name)).unwrap();
    let names = ["rewritten", "replaced"];
    names.iter().for_each(|name| fs::write(site.export(name), "old").unwrap());
    let before = names.map(about);
    let mut server = site.serve();
    let mount = site.mount(&server, "a", &[]);
    let open = names.map(|name| File::open(mount.path(name)).unwrap());
    assert!(open.iter().all(|file| bytes(file) == "old"));
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    // Another file under the same inode number, which many file systems reuse at once; or changed in place, to be
    // sure.
    fs::remove_file(site.export("replaced")).unwrap();
    for (name, before) in names.iter().zip(&before) {
        let mut file = File::create(site.export(name)).unwrap();
        file.write_all(b"new").unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
    }
    assert_eq!(about("rewritten").ino(), before[0].ino());
    let next = site.serve_at(&server.address.to_string(), TERM_S);
    until("there is a new session", || count(&mount.status, "sessions") == 2);
    for (name, open) in names.iter().zip(&open) {
        assert_eq!(code(open.read_at(&mut [0; 3], 0)), Some(Errno::ESTALE), "{name}");
        assert_eq!(mount.read(name), "new");
        assert_eq!(code(open.read_at(&mut [0; 3], 0)), Some(Errno::ESTALE), "{name}");
    }
    drop(next);
}

#[test]
fn a_server_that_stays_away_is_an_error_and_nothing_old_is_read() {
    if !can_mount("a_server_that_stays_away_is_an_error_and_nothing_old_is_read") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "old").unwrap();
    let server = site.serve();
    let mount = site.mount(&server, "a", &[]);
    assert_eq!(mount.read("file"), "old");
    let open = File::open(mount.path("file")).unwrap();
    assert_eq!(bytes(&open), "old");
    drop(server);
    until("the mount has lost its session", || count(&mount.status, "sessions-lost") == 1);
    let reader = Reader::of(open);
    reader.waits();
    assert_eq!(code(reader.told()), Some(Errno::EIO));
    assert_eq!(code(fs::write(mount.path("file"), "new")), Some(Errno::EIO));
}

#[test]
fn a_full_disk_is_told_once_and_to_who_writes() {
    if !can_mount("a_full_disk_is_told_once_and_to_who_writes") {
        return;
    }
    let site = Site::new();
    let small = Below(site.path("export"));
    mount(Some("none"), &small.0, Some("tmpfs"), MsFlags::empty(), Some("size=1m")).unwrap();
    let (_server, a, b) = site.two();
    a.write("filler", &"x".repeat(600_000));
    let mut file = File::create(a.path("file")).unwrap();
    let mut written = 0;
    let full = loop {
        match file.write_all(&[b'y'; 64 << 10]) {
            Ok(()) => written += 64 << 10,
            Err(error) => break error,
        }
        assert!(written < 1 << 20, "a full disk takes all");
    };
    assert_eq!(full.raw_os_error(), Some(Errno::ENOSPC as i32));
    file.sync_all().unwrap();
    assert!(fs::read(b.path("file")).unwrap()[..written].iter().all(|byte| *byte == b'y') && written > 0);
    fs::remove_file(a.path("filler")).unwrap();
    until("there is room", || file.write_all(b"more").is_ok());
    drop(file);
    assert!(b.read("file").ends_with("more"));
}

/// Messages of login, serve and mount with the present bundle.
fn all_say(hosts: &Hosts, parts: &[&str]) {
    let login = hosts.yard.login("user", "alice@home.example", &[]);
    let mut serve = command("serve");
    hosts.served_by(&mut serve);
    // One that keeps running is ended.
    let run = |command: Command| {
        let mut limited = Command::new("timeout");
        limited.arg("20").arg(command.get_program()).args(command.get_args());
        let ended = limited.output().unwrap();
        (ended.status.code().unwrap(), String::from_utf8(ended.stderr).unwrap())
    };
    let (serve, mount) = (run(serve), run(hosts.mounting("alice", "b", "node:files@home.example")));
    for (code, said) in [(login.0, login.2), serve, mount] {
        assert_eq!(code, 3, "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}

#[test]
fn a_bundle_that_is_rolled_back_or_over_is_refused_by_name() {
    if !can_mount("a_bundle_that_is_rolled_back_or_over_is_refused_by_name") {
        return;
    }
    let hosts = Hosts::serving(&["alice"], LIST, "8h");
    let (trusted, address) =
        (hosts.yard.path("trust/home.example.trust"), hosts.yard.address("home.example"));
    let signature = hosts.yard.path("trust/home.example.trust.minisig");
    let old = [&trusted, &signature].map(|path| fs::read(path).unwrap());
    let import = ["ca", "import", "home.example/trust/home.example.trust", "--trust", "trust"];
    hosts.yard.good(&["ca", "bundle", "--ca", "home.example", "--ola", &address]);
    hosts.yard.good(&import);
    fs::write(&trusted, &old[0]).unwrap();
    fs::write(&signature, &old[1]).unwrap();
    all_say(&hosts, &["home.example.trust: refused (rolled-back)", "sign a newer one"]);
    // One that expires soon, and then has.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let terms = Terms { agents: &[address], until_unix_s: now + 8, passphrase: None };
    authority::renew(&hosts.yard.path("home.example"), NextKeys::Same, terms, now).unwrap();
    hosts.yard.good(&import);
    sleep(Duration::from_secs(10));
    all_say(&hosts, &["the trust bundle of home.example", "over", "expired"]);
}

/// Agent, server and mount go on; what the stolen key certified ends.
#[test]
fn a_stolen_key_of_the_ca_is_replaced_while_agent_server_and_mount_run() {
    if !can_mount("a_stolen_key_of_the_ca_is_replaced_while_agent_server_and_mount_run") {
        return;
    }
    let mut hosts = Hosts::serving(&["alice"], LIST, "8h");
    let mount = hosts.mount("alice", "a");
    assert_eq!(mount.read("file"), "text");
    let rotate = ["ca", "rotate", "--ca", "home.example", "--stolen"];
    hosts.yard.good(&rotate);
    hosts.yard.good(&["ca", "import", "home.example/trust/home.example.trust", "--trust", "trust"]);
    let server = Pid::from_raw(hosts.server().id().try_into().unwrap());
    for running in [server, hosts.yard.pid("home.example")] {
        kill(running, Signal::SIGHUP).unwrap();
    }
    until("alice's session has ended", || {
        hosts.server_says().contains("\nrefused.credentials.bad-signature ")
    });
    // Nor does the mount take the server, whose identity is of the old key, too.
    until("nothing is read any more", || fs::read(mount.path("file")).is_err());
    until("the agent takes no identity of the old key", || {
        hosts.yard.login("user", "alice@home.example", &[]).2.contains("refuses (bad-signature)")
    });
    // The same keys are certified anew.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for name in ["user:alice@home.example", "node:files@home.example"] {
        let file = name.split_once(':').unwrap().1;
        let key = read_secret_key(&hosts.yard.path(&format!("{file}.key"))).unwrap().public();
        let certified = (&name.parse().unwrap(), &[][..]);
        let made =
            authority::certify(&hosts.yard.path("home.example"), certified, key, (now - 60, now + 9000));
        fs::write(hosts.yard.path(&format!("{file}.identity")), made.unwrap().identity).unwrap();
    }
    hosts.yard.logged_in("node", "files@home.example", &[]);
    hosts.login("alice", &[]);
    until("the mount is one again", || {
        fs::read_to_string(mount.path("file")).is_ok_and(|text| text == "text")
    });
}
