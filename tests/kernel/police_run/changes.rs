//! Changes during `police run`: rules, server, interfaces and the daemon itself are replaced or end.

use crate::link::{IP, ip};
use crate::refusals::RULES;
use crate::stage::{Daemon, Got, NGINX, Site, left_of, may_run, until};
use nix::sys::signal::Signal;

#[test]
fn other_rules_are_in_force_after_sighup_and_broken_ones_never() {
    if !may_run("other_rules_are_in_force_after_sighup_and_broken_ones_never", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    assert_eq!(site.ask("127.0.1.1", "/noaccess"), Got::Reset);
    daemon.reload(&RULES.replace("*noaccess*", "*elsewhere*"));
    daemon.await_line("reloads 1");
    assert_eq!(site.ask("127.0.1.1", "/noaccess"), Got::body("high"));
    assert_eq!(site.ask("127.0.1.1", "/elsewhere"), Got::Reset);
    // A fault of the text, and a port on which nobody listens.
    daemon.reload(&RULES.replace("rate = \"5/s\"", "rate = \"5/y\""));
    daemon.await_line("reloads-refused 1");
    daemon.reload(&RULES.replace("8201", "8203"));
    daemon.await_line("reloads-refused 2");
    let notes = daemon.notes();
    assert!(notes.contains("rules.toml:12") && notes.contains("the old rules stay"), "{notes}");
    assert!(notes.contains("nobody listens on port 8203 (class low)"), "{notes}");
    assert_eq!(site.ask("127.0.1.1", "/elsewhere"), Got::Reset, "the old rules are in force");
    assert_eq!(site.ask("127.0.9.1", "/"), Got::body("low"));
    // Without classes nothing is steered any more, and nobody listens on the public port.
    daemon.reload("[server]\nlisten = 80\n");
    daemon.await_line("reloads-refused 3");
    assert_eq!(site.ask("127.0.9.1", "/"), Got::body("low"));
}

#[test]
fn a_server_that_is_started_anew_is_found_again() {
    if !may_run("a_server_that_is_started_anew_is_found_again", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let mut server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body("high"));
    server.stop();
    daemon.await_line("gap-listeners 8200");
    daemon.await_line("degree partial: listeners");
    // Rules go on, and a conforming client finds no listener.
    assert_eq!(site.ask("127.0.1.1", "/"), Got::Reset);
    server.start_again();
    daemon.await_line("restarts 1");
    daemon.await_line(&format!("server-pid {}", server.pid()));
    daemon.await_line("degree partial: fair-share");
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body("high"));
    assert!(site.deferral_s(&server) > 0, "the new sockets defer, too");
}

#[test]
fn an_end_that_was_asked_for_leaves_nothing() {
    if !may_run("an_end_that_was_asked_for_leaves_nothing", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let mut daemon = Daemon::start(&site, &server, RULES, &[]);
    let held = daemon.held();
    assert!(held.iter().any(|(kind, _)| kind == "link_id"), "{held:?}");
    assert!(site.deferral_s(&server) > 0);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    daemon.await_line("state ended");
    assert_eq!(site.deferral_s(&server), 0);
    until("the kernel forgets it", || left_of(&held).is_empty());
    assert_eq!(site.ask("127.0.1.1", "/"), Got::Reset, "nobody listens on the public port");
}

#[test]
fn a_daemon_that_is_killed_opens_everything_and_the_next_one_tidies_up() {
    if !may_run("a_daemon_that_is_killed_opens_everything_and_the_next_one_tidies_up", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx_of("server { listen 127.0.0.1:80; location / { return 200 \"all\"; } }");
    let rules = "[server]\nlisten = 80\n[[request]]\npath = \"/no\"\nrefuse = \"503\"\n";
    let mut daemon = Daemon::start(&site, &server, rules, &[]);
    assert!(daemon.armed.contains("on lo; full"), "{}", daemon.armed);
    assert!(!site.ask("127.0.0.1", "/no").is_served());
    daemon.await_line("refused.refused 1");
    let held = daemon.held();
    let proof = |daemon: &Daemon<'_>| {
        let (status, pid) = (site.path("status").display().to_string(), daemon.pid().to_string());
        site.run(&[crate::stage::LAYERS, "police", "proof", "--pid", &pid, "--status", &status]).status.code()
    };
    assert_eq!(proof(&daemon), Some(0));
    assert_eq!(daemon.end(Signal::SIGKILL), None);
    until("the kernel forgets it", || left_of(&held).is_empty());
    assert!(site.ask("127.0.0.1", "/no").is_served());
    assert!(site.deferral_s(&server) > 0, "nobody could put it back");
    assert_eq!(proof(&daemon), Some(1));
    drop(daemon);
    // One that cannot begin does not forget it.
    let (code, said) = crate::stage::refused(&site, server.pid(), "[server]\nlisten = 81\n", &[]);
    assert!(code == Some(3) && said.contains("nobody listens on port 81"), "{said}");
    let mut next = Daemon::start(&site, &server, rules, &[]);
    assert!(next.notes().contains("was killed"), "{}", next.notes());
    assert_eq!(next.end(Signal::SIGINT), Some(0));
    assert_eq!(site.deferral_s(&server), 0);
}

#[test]
fn interfaces_that_come_and_go_are_noticed() {
    if !may_run("interfaces_that_come_and_go_are_noticed", &[NGINX, IP]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    ip(&site.network, "link add one type veth peer name two");
    daemon.await_line("interfaces lo one two");
    ip(&site.network, "link del one");
    daemon.await_line("interfaces lo");
    assert!(daemon.notes().contains("the interface one is gone"), "{}", daemon.notes());
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body("high"));
}

#[test]
fn of_a_bridge_and_its_parts_the_bridge_alone_is_looked_at() {
    if !may_run("of_a_bridge_and_its_parts_the_bridge_alone_is_looked_at", &[NGINX, IP]) {
        return;
    }
    let site = Site::new();
    ip(&site.network, "link add bridge type bridge");
    ip(&site.network, "link add part type veth peer name other");
    ip(&site.network, "link set part master bridge");
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    assert!(daemon.armed.contains(", on bridge, lo, other; "), "{}", daemon.armed);
}
