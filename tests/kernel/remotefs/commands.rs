//! The commands, as somebody types them: a domain, an agent, a server, a mount by what was handed on, and its end.

use crate::daemon::{Mount, PATIENCE, can_mount, ready, until};
use crate::support::command;
use crate::yard::Yard;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::process::{Child, Command};
use std::time::Instant;

/// A server that ends with its test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A domain with a server, and Alice who may do everything.
pub(crate) struct Domain {
    pub(crate) yard: Yard,
    server: Serving,
    address: String,
}

impl Domain {
    /// With a file `x/file` in its export.
    pub(crate) fn new() -> Self {
        let yard = Yard::new(&["home.example"]);
        for (kind, name) in
            [("user", "alice@home.example"), ("user", "bob@home.example"), ("node", "files@home.example")]
        {
            yard.certify(kind, name);
        }
        yard.logged_in("user", "alice@home.example", &[]);
        yard.logged_in("node", "files@home.example", &[]);
        for directory in ["export", "export/x", "mnt", "other"] {
            fs::create_dir(yard.path(directory)).unwrap();
        }
        fs::write(yard.path("export/x/file"), "text").unwrap();
        fs::write(yard.path("acl"), "/ allow user:alice@home.example all\n").unwrap();
        let mut serve = command("serve");
        serve.arg(yard.path("export")).arg("--acl").arg(yard.path("acl")).args([
            "--listen",
            "127.0.0.1:0",
            "--term",
            "1",
        ]);
        serve
            .arg("--session")
            .arg(yard.path("files@home.example.session"))
            .arg("--trust")
            .arg(yard.path("trust"));
        let (server, line) = ready(serve.arg("--audit").arg(yard.path("audit")), "listening on ");
        let address = line.strip_prefix("listening on ").unwrap().split(": ").next().unwrap().to_owned();
        Self { yard, server: Serving(server), address }
    }

    /// Alice hands a part on to Bob, who logs in to act through it.
    pub(crate) fn hands_on(&self) {
        let yard = &self.yard;
        let words = [
            "delegate",
            "--to",
            "bob@home.example.identity",
            "--grant",
            "/x=read,list",
            "--until",
            "2100-01-01",
        ];
        let more = [
            "--at",
            "node:files@home.example",
            "--out",
            "x.transfer",
            "--session",
            "alice@home.example.session",
        ];
        yard.good(&[&words[..], &more].concat());
        yard.logged_in("user", "bob@home.example", &["--with", "x.transfer"]);
    }

    pub(crate) fn takes_back(&self) {
        self.yard.good(&["revoke", "x.transfer", "--session", "alice@home.example.session"]);
    }

    /// Bob's mount of the server that has this name, if it has.
    fn mount(&self, at: &str, server: &str) -> Command {
        let yard = &self.yard;
        let mut mount = command("mount");
        mount.arg(&self.address).arg(yard.path(at)).args(["--as-server", server, "--status"]);
        mount.arg(yard.path("mount.status")).arg("--session").arg(yard.path("bob@home.example.session"));
        mount.arg("--trust").arg(yard.path("trust"));
        mount
    }

    pub(crate) fn mounted(&self) -> Mount {
        let mount = self.mount("mnt", "node:files@home.example");
        Mount::of(mount, self.yard.path("mnt"), self.yard.path("mount.status"))
    }
}

#[test]
fn what_was_handed_on_is_mounted_taken_back_and_replayed() {
    if !can_mount("what_was_handed_on_is_mounted_taken_back_and_replayed") {
        return;
    }
    let mut domain = Domain::new();
    domain.hands_on();
    let other = domain.mount("other", "node:mail@home.example").output().unwrap();
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.code() == Some(3) && said.contains("--as-server"), "{said}");
    let mounted = domain.mounted();
    let file = mounted.at.join("x/file");
    assert_eq!(fs::read_to_string(&file).unwrap(), "text");
    assert!(fs::write(&file, "more").is_err());
    let why = domain.yard.good(&["remotefs", "why", file.to_str().unwrap()]);
    assert!(
        why.contains("read yes: acl:1 lets user:alice@home.example read here") && why.contains("write no: "),
        "{why}"
    );

    let taken = Instant::now();
    domain.takes_back();
    until("it is refused", || fs::read_to_string(&file).is_err());
    assert!(taken.elapsed() < PATIENCE);
    let says = || fs::read_to_string(&mounted.status).unwrap().contains("\nrefused revoked\n");
    until("the mount says why", says);
    let refused = domain.mount("other", "node:files@home.example").output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    drop(mounted);
    kill(Pid::from_raw(domain.server.0.id() as i32), Signal::SIGTERM).unwrap();
    until("the server ends", || domain.server.0.try_wait().unwrap().is_some());
    domain.yard.good(&["audit", "verify", "audit"]);
    domain.yard.good(&["audit", "replay", "audit"]);
}
