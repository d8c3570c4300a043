//! Commands as a user types them: a domain, an agent, a server, a mount through a delegation, and its end.

use crate::daemon::{PATIENCE, can_mount, until};
use crate::hosts::Hosts;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::time::Instant;

#[test]
fn what_was_handed_on_is_mounted_taken_back_and_replayed() {
    if !can_mount("what_was_handed_on_is_mounted_taken_back_and_replayed") {
        return;
    }
    let mut hosts = Hosts::sharing();
    hosts.hand_on();
    let other = hosts.mounting("bob", "b", "node:mail@home.example").output().unwrap();
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(other.status.code() == Some(3) && said.contains("--as-server"), "{said}");
    let mounted = hosts.mount("bob", "a");
    let file = mounted.at.join("x/file");
    assert_eq!(fs::read_to_string(&file).unwrap(), "text");
    assert!(fs::write(&file, "more").is_err());
    let why = hosts.yard.good(&["remotefs", "why", file.to_str().unwrap()]);
    assert!(
        why.contains("read yes: acl:1 lets user:alice@home.example read here") && why.contains("write no: "),
        "{why}"
    );

    let taken = Instant::now();
    hosts.take_back();
    until("it is refused", || fs::read_to_string(&file).is_err());
    assert!(taken.elapsed() < PATIENCE);
    until("the mount says why", || {
        fs::read_to_string(&mounted.status).unwrap().contains("\nrefused revoked\n")
    });
    let refused = hosts.mounting("bob", "b", "node:files@home.example").output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    drop(mounted);
    kill(Pid::from_raw(hosts.server().id() as i32), Signal::SIGTERM).unwrap();
    until("the server ends", || hosts.server().try_wait().unwrap().is_some());
    hosts.yard.good(&["audit", "verify", "audit"]);
    hosts.yard.good(&["audit", "replay", "audit"]);
}
