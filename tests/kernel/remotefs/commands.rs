//! The commands, as somebody types them: a domain, an agent, a server, a mount by what was handed on, and its end.

use crate::daemon::{Mount, PATIENCE, can_mount, ready, until};
use crate::support::command;
use crate::yard::Yard;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::process::Child;
use std::time::Instant;

/// A server that ends with its test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_was_handed_on_is_mounted_taken_back_and_replayed() {
    if !can_mount("what_was_handed_on_is_mounted_taken_back_and_replayed") {
        return;
    }
    let yard = Yard::new(&["home.example"]);
    for (kind, name) in
        [("user", "alice@home.example"), ("user", "bob@home.example"), ("node", "files@home.example")]
    {
        yard.certify(kind, name);
    }
    yard.logged_in("user", "alice@home.example", &[]);
    yard.logged_in("node", "files@home.example", &[]);
    let words =
        ["delegate", "--to", "bob@home.example.identity", "--grant", "/x=read,list", "--until", "2100-01-01"];
    let more =
        ["--at", "node:files@home.example", "--out", "x.transfer", "--session", "alice@home.example.session"];
    yard.good(&[&words[..], &more].concat());
    yard.logged_in("user", "bob@home.example", &["--with", "x.transfer"]);
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
    let mut server = Serving(server);
    let address = line.strip_prefix("listening on ").unwrap().split(": ").next().unwrap().to_owned();
    let status = yard.path("mount.status");
    let mount = |at: &str, name: &str| {
        let mut mount = command("mount");
        mount.arg(&address).arg(yard.path(at)).args(["--as-server", name, "--status"]).arg(&status);
        mount
            .arg("--session")
            .arg(yard.path("bob@home.example.session"))
            .arg("--trust")
            .arg(yard.path("trust"));
        mount
    };
    let other = mount("other", "node:mail@home.example").output().unwrap();
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.code() == Some(3) && said.contains("--as-server"), "{said}");
    let mounted = Mount::of(mount("mnt", "node:files@home.example"), yard.path("mnt"), status.clone());
    let file = mounted.at.join("x/file");
    assert_eq!(fs::read_to_string(&file).unwrap(), "text");
    assert!(fs::write(&file, "more").is_err());
    let why = yard.good(&["remotefs", "why", file.to_str().unwrap()]);
    assert!(
        why.contains("read yes: acl:1 lets user:alice@home.example read here") && why.contains("write no: "),
        "{why}"
    );

    let taken = Instant::now();
    yard.good(&["revoke", "x.transfer", "--session", "alice@home.example.session"]);
    until("it is refused", || fs::read_to_string(&file).is_err());
    assert!(taken.elapsed() < PATIENCE);
    until("the mount says why", || fs::read_to_string(&status).unwrap().contains("\nrefused revoked\n"));
    let refused = mount("other", "node:files@home.example").output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    drop(mounted);
    kill(Pid::from_raw(server.0.id() as i32), Signal::SIGTERM).unwrap();
    until("the server ends", || server.0.try_wait().unwrap().is_some());
    yard.good(&["audit", "verify", "audit"]);
    let told = yard.layer(&["audit", "verify", "audit", "--agent", "--trust", "trust"]);
    let records = told.1.split(' ').nth(1).unwrap_or_default();
    let said = format!("the agent of home.example was told of {records} records");
    assert!(told.0 == 0 && told.2.contains(&said), "all of it, when the server has ended: {told:?}");
    yard.good(&["audit", "replay", "audit"]);
}
