//! Arming of `police run`: failures that end it before it begins, and its rights once it is armed.

use crate::refusals::RULES;
use crate::stage::{Daemon, Got, NGINX, Site, may_run, refused};
use nix::sys::signal::Signal;
use std::fs;

#[test]
fn what_cannot_be_armed_is_a_sentence_and_leaves_nothing() {
    if !may_run("what_cannot_be_armed_is_a_sentence_and_leaves_nothing", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let own = std::process::id();
    let plain = "[server]\nlisten = 8200\n";
    let twice = format!("{RULES}[[from]]\nsource = \"127.0.1.0/24\"\nclass = \"low\"\n");
    for (pid, rules, flags, code, words) in [
        (server.pid(), plain.replace("8200", "8299"), &[][..], 3, "nobody listens on port 8299 (`listen`)"),
        (server.pid(), RULES.replace("8201", "8299"), &[], 3, "nobody listens on port 8299 (class low)"),
        (own, plain.to_owned(), &["--interface", "lo"], 3, "port 8200"),
        (u32::MAX >> 1, plain.to_owned(), &[], 3, "there is no process"),
        (server.pid(), plain.to_owned(), &["--interface", "nowhere"], 3, "no interface nowhere"),
        (
            server.pid(),
            plain.to_owned(),
            &["--interface", "lo", "--interface", "nowhere"],
            3,
            "no interface nowhere",
        ),
        (server.pid(), twice, &[], 2, "rules.toml:"),
    ] {
        let (ended, said) = refused(&site, pid, &rules, flags);
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains(words), "{words} in {said}");
        let status = fs::read_to_string(site.path("status")).unwrap();
        assert!(status.starts_with("state failed\ndegree none: "), "{status}");
        assert_eq!(site.deferral_s(&server), 0);
    }
    // A pipe would be waited for.
    site.run(&["mkfifo", &site.path("pipe").display().to_string()]);
    fs::rename(site.path("pipe"), site.path("rules.toml")).unwrap();
    let (ended, said) = crate::stage::refused_as_it_is(&site, server.pid());
    assert!(ended == Some(3) && said.contains("it is no regular file"), "{said}");
    fs::remove_file(site.path("rules.toml")).unwrap();
    // No failed start is in the way of one that succeeds.
    let mut daemon = Daemon::start(&site, &server, plain, &[]);
    let (ended, said) = refused(&site, server.pid(), plain, &[]);
    assert!(ended == Some(3) && said.contains("polices with this status file already"), "{said}");
    daemon.await_line("state armed");
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

#[test]
fn rights_are_given_up_once_it_is_armed() {
    if !may_run("rights_are_given_up_once_it_is_armed", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    let about = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = |name: &str| about.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    // CAP_DAC_READ_SEARCH, CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_PERFMON, CAP_BPF.
    let kept = [2, 12, 19, 38, 39].iter().fold(0_u64, |mask, bit| mask | 1 << bit);
    assert_eq!(u64::from_str_radix(&line("CapPrm:"), 16), Ok(kept));
    assert_eq!((line("NoNewPrivs:").as_str(), line("Seccomp:").as_str()), ("1", "2"));
}

#[test]
fn runs_are_counted_where_that_was_asked_for() {
    if !may_run("runs_are_counted_where_that_was_asked_for", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let mut daemon = Daemon::start(&site, &server, RULES, &["--count-time"]);
    assert!(site.ask("127.0.1.1", "/").is_served());
    daemon.end(Signal::SIGTERM);
    let (runs, time) = (daemon.count("runs"), daemon.count("run-ns"));
    // Each of a connection's packets comes in once; both ends are here.
    assert!(runs >= 8 && time >= runs, "{runs} runs in {time} ns");
    drop(daemon);
    let without = Daemon::start(&site, &server, RULES, &[]);
    assert!(!without.status().contains("\nruns "));
}

#[test]
fn a_server_in_another_network_is_gone_to() {
    if !may_run("a_server_in_another_network_is_gone_to", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let daemon = Daemon::start_outside(&site, &server, RULES);
    assert!(daemon.armed.contains(", on lo; "), "the server's network has no other: {}", daemon.armed);
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body("high"));
    assert_eq!(site.ask("127.0.1.1", "/noaccess"), Got::Reset);
}
