//! Graceful restarts: the old server lives on while it drains, and the new one has the sockets.

use crate::refusals::RULES;
use crate::servers::{APACHE, HAPROXY, apache, haproxy};
use crate::stage::{Daemon, Got, NGINX, PUBLIC, Server, Site, may_run, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::Write;
use std::net::TcpStream;

/// A connection that keeps its server from ending: a head without its end.
fn living(site: &Site) -> TcpStream {
    let connect = || TcpStream::connect(("127.0.0.1", PUBLIC)).unwrap();
    let mut stream = site.network.run(connect).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n").unwrap();
    stream
}

/// The classes are served, and a rule for requests holds.
fn is_policed(site: &Site, daemon: &Daemon<'_>, high: &str) {
    daemon.await_line("degree partial: fair-share");
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body(high));
    assert_eq!(site.ask("127.0.1.1", "/noaccess"), Got::Reset);
}

#[test]
fn a_server_that_drains_beside_its_successor_is_left_for_it() {
    if !may_run("a_server_that_drains_beside_its_successor_is_left_for_it", &[HAPROXY]) {
        return;
    }
    let site = Site::new();
    let config = haproxy(&site);
    let mut old = Server::start(&site, &[HAPROXY, "-db", "-f", &config]);
    let daemon = Daemon::start(&site, &old, RULES, &[]);
    let held = living(&site);
    let next = Server::start(&site, &[HAPROXY, "-db", "-f", &config, "-sf", &old.pid().to_string()]);
    daemon.await_line(&format!("server-pid {}", next.pid()));
    daemon.await_line("restarts 1");
    assert!(old.lives(), "it drains");
    is_policed(&site, &daemon, "high");
    drop(held);
    until("the old one ends", || !old.lives());
    is_policed(&site, &daemon, "high");
    assert_eq!(daemon.count("restarts"), 1);
}

#[test]
fn a_server_that_was_exchanged_is_followed_when_it_ends() {
    if !may_run("a_server_that_was_exchanged_is_followed_when_it_ends", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let mut old = site.nginx();
    let daemon = Daemon::start(&site, &old, RULES, &[]);
    let held = living(&site);
    old.signal(Signal::SIGUSR2);
    let number = || fs::read_to_string(site.path("nginx.pid")).ok()?.trim().parse::<i32>().ok();
    until("the new nginx has written its number", || {
        number().is_some_and(|pid| pid.cast_unsigned() != old.pid())
    });
    let next = number().unwrap();
    old.signal(Signal::SIGQUIT);
    is_policed(&site, &daemon, "high");
    drop(held);
    // The sockets are those that they were: only the end of the old one says it.
    until("the old one ends", || !old.lives());
    daemon.await_line(&format!("server-pid {next}"));
    is_policed(&site, &daemon, "high");
    kill(Pid::from_raw(next), Signal::SIGTERM).unwrap();
    daemon.await_line("degree partial: listeners");
}

#[test]
fn a_graceful_restart_of_apache_changes_nothing() {
    if !may_run("a_graceful_restart_of_apache_changes_nothing", &[APACHE]) {
        return;
    }
    let site = Site::new();
    let server = apache(&site);
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    let _held = living(&site);
    server.signal(Signal::SIGUSR1);
    let log = || fs::read_to_string(site.path("error.log")).unwrap_or_default();
    until("Apache has begun anew", || log().contains("raceful restart"));
    is_policed(&site, &daemon, "any");
    assert_eq!(daemon.count("restarts"), 0);
}
