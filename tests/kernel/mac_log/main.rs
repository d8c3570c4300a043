//! Log, status and audit of the mac layer on a real kernel: all refusals of a domain are reported. From outside; as
//! root.
//!
//! The audit is the machine's, so these tests take turns, and each checks that it is restored.

#![allow(clippy::unwrap_used)] // a test that cannot prepare its domain has failed

mod domain;
mod learn;
mod permissive;

use bakeoff_sys::audit::Audit;
use domain::{Domain, count, may_run, settings, until};
use std::process::{Command, Stdio};

#[test]
fn every_refusal_is_counted_once_and_told_with_its_reason() {
    let Some(domain) = may_run("every_refusal_is_counted_once_and_told_with_its_reason") else { return };
    let script =
        "for i in 1 2 3; do read x < secret/key; done; read x < 'secret/od\"d na\nme'; echo x > secret/new
        echo x > secret/key; cd secret; for i in *; do :; done; ulimit -n 8; read x < /proc/self/maps";
    domain.run(script);
    let status = domain.ended();
    for (name, value) in
        [("denied", 8), ("denied.fs.read", 5), ("denied.fs.create", 1), ("denied.fs.write", 1)]
    {
        assert_eq!(count(&status, name), value, "{name} in {status}");
    }
    assert_eq!((count(&status, "denied.fs.list"), count(&status, "lost")), (1, 0), "{status}");
    let told = domain.told();
    let of = |access: &str, path: &str| {
        let path = if path.starts_with('/') { path.to_owned() } else { domain.path(path) };
        let lines = told.iter().filter(|line| line["access"] == access && line["path"] == path);
        lines.map(|line| line["count"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((of("read", "secret/key"), of("read", "secret/od\"d na\nme")), (3, 1), "{told:?}");
    assert_eq!(
        (of("create", "secret"), of("write", "secret/key"), of("list", "secret")),
        (1, 1, 1),
        "{told:?}"
    );
    assert_eq!(of("read", "/proc/self/maps"), 1, "{told:?}");
    let key = told.iter().find(|line| line["path"] == domain.path("secret/key")).unwrap();
    assert_eq!(
        (&key["verdict"], &key["domain"], &key["type"]),
        (&"denied".into(), &"web".into(), &"secret".into())
    );
    // The program is reported if the kernel audits the process's calls.
    assert!(key["exe"].as_str().is_none_or(|exe| exe.contains("sh")), "{key}");
    assert!(key["reason"].as_str().unwrap().contains("is of type secret (policy.toml:"), "{key}");
    assert!(key["policy"].as_str().unwrap().len() == 64 && key["pid"].as_u64().unwrap() > 1, "{key}");
}

#[test]
fn ports_signals_and_calls_have_counters_of_their_own() {
    let Some(domain) = may_run("ports_signals_and_calls_have_counters_of_their_own") else { return };
    domain.run(
        "exec /usr/bin/python3 -S -c '
import os, socket
def tried(what, *more):
    try: what(*more)
    except OSError: pass
tried(socket.socket().bind, (\"127.0.0.1\", 4001))
tried(socket.socket().connect, (\"127.0.0.1\", 4002))
tried(socket.socket(socket.AF_INET6).connect, (\"::1\", 4002))
tried(os.kill, 1, 0)
tried(os.chroot, \"/\")
'",
    );
    let status = domain.ended();
    for (name, value) in [("net.bind", 1), ("net.connect", 2), ("scope.signal", 1), ("call", 1)] {
        assert_eq!(count(&status, &format!("denied.{name}")), value, "{name} in {status}");
    }
    let told = domain.told();
    let port = told.iter().find(|line| line["port"] == 4001).unwrap();
    assert_eq!(
        (&port["access"], &port["reason"]),
        (&"bind".into(), &"domain web may listen on no TCP port (policy.toml:7), not 4001".into())
    );
    assert!(told.iter().any(|line| line["access"] == "call" && line["call"] == libc::SYS_chroot), "{told:?}");
}

#[test]
fn a_call_of_an_orphan_may_be_the_domains() {
    let Some(domain) = may_run("a_call_of_an_orphan_may_be_the_domains") else { return };
    domain.run("( (sleep 0.3; /usr/sbin/chroot / true) & ); sleep 1");
    let status = domain.ended();
    assert_eq!((count(&status, "denied.call"), count(&status, "unclaimed")), (0, 1), "{status}");
}

#[test]
fn a_burst_is_whole_and_a_program_that_is_refused_nothing_has_zeros() {
    let Some(domain) = may_run("a_burst_is_whole_and_a_program_that_is_refused_nothing_has_zeros") else {
        return;
    };
    domain.run("i=0; while [ $i -lt 2000 ]; do read x < secret/key; i=$((i + 1)); done");
    let status = domain.ended();
    assert_eq!((count(&status, "denied.fs.read"), count(&status, "lost")), (2000, 0), "{status}");
    let told: u64 = domain.told().iter().map(|line| line["count"].as_u64().unwrap()).sum();
    assert_eq!(told, 2000);
    // The launcher's own refusals, from trying its canaries, are not counted.
    domain.run("exit 0");
    assert_eq!(count(&domain.ended(), "denied"), 0);
}

#[test]
fn the_log_goes_on_until_the_last_process_of_the_domain_ends() {
    let Some(domain) = may_run("the_log_goes_on_until_the_last_process_of_the_domain_ends") else { return };
    domain.run("(until read x < open/go; do read x < secret/key; done) </dev/null >/dev/null 2>&1 &");
    let status = until(&domain, |status| count(status, "denied.fs.read") > 0);
    assert!(status.starts_with("state armed\n"), "{status}");
    std::fs::write(domain.path("open/go"), "go\n").unwrap();
    domain.ended();
}

#[test]
fn two_readers_do_not_switch_it_off_for_each_other_nor_for_one_that_was_killed() {
    let Some(domain) = may_run("two_readers_do_not_switch_it_off_for_each_other_nor_for_one_that_was_killed")
    else {
        return;
    };
    let other = Domain::new();
    let mut daemons = [domain.daemon(), other.daemon()];
    assert_eq!(settings().enabled, 1);
    daemons[0].end();
    assert_eq!(settings().enabled, 1, "somebody else reads still");
    daemons[1].0.kill().unwrap();
    daemons[1].0.wait().unwrap();
    assert_eq!(settings().enabled, 1, "nobody could put it back");
    domain.run("read x < secret/key");
    assert_eq!(count(&domain.ended(), "denied"), 1);
    // Dropping the domain checks that the audit is restored.
}

#[test]
fn that_somebody_switches_the_audit_off_is_noticed_and_stays_as_he_wants_it() {
    let Some(domain) = may_run("that_somebody_switches_the_audit_off_is_noticed_and_stays_as_he_wants_it")
    else {
        return;
    };
    let mut daemon = domain.daemon();
    assert!(!domain.status().contains("gap-no-log"));
    Audit::open().unwrap().set_enabled(0).unwrap();
    let status = until(&domain, |status| status.contains("\ngap-no-log 1\n"));
    assert!(status.contains("\nno-log somebody has switched the kernel's audit off\n"), "{status}");
    daemon.end();
    assert!(domain.status().starts_with("state ended\n"));
}

#[test]
fn a_daemon_of_root_counts_what_launchers_of_others_are_refused() {
    let Some(domain) = may_run("a_daemon_of_root_counts_what_launchers_of_others_are_refused") else {
        return;
    };
    let mut daemon = domain.daemon();
    let own = domain.path("open/own");
    let ran = domain.as_nobody(&own, "read x < secret/key; read x < /proc/self/maps; exit 0");
    assert!(ran.status.success(), "{ran:?}");
    let status = until(&domain, |status| count(status, "denied") >= 2);
    assert_eq!((count(&status, "denied"), count(&status, "denied.fs.read")), (2, 2), "{status}");
    let own = std::fs::read_to_string(own).unwrap();
    assert!(own.starts_with("state armed") && own.contains("\ngap-no-log 1\n"), "{own}");
    daemon.end();
    let refused = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"))
        .args(["mac", "log", &domain.path("policy.toml"), "--domain", "wbe"])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
}
