//! Graceful restarts: the old server lives on while it drains, and the new one has the sockets.

use crate::refusals::RULES;
use crate::servers::{APACHE, HAPROXY, apache, haproxy};
use crate::stage::{Daemon, Got, NGINX, PUBLIC, Server, Site, may_run, until};
use nix::sys::signal::Signal;
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
fn a_server_whose_sockets_stay_is_followed_when_it_ends() {
    if !may_run("a_server_whose_sockets_stay_is_followed_when_it_ends", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    // A reload with other sockets, while a worker drains with the old ones.
    let held = living(&site);
    let config = fs::read_to_string(site.path("nginx.conf")).unwrap();
    site.write("nginx.conf", &config.replace("8200;", "8200 reuseport;"));
    let before = daemon.status();
    let deferrals = |status: &str| status.matches("\ndeferral ").count();
    server.signal(Signal::SIGHUP);
    until("the other socket defers, too", || daemon.status() != before && site.deferral_s(&server) > 0);
    is_policed(&site, &daemon, "high");
    assert!(deferrals(&daemon.status()) > 0);
    drop(held);
    // Workers go on; only the end of the first process says it.
    server.signal(Signal::SIGKILL);
    daemon.await_line("restarts 1");
    assert_ne!(daemon.count("server-pid"), u64::from(server.pid()));
    is_policed(&site, &daemon, "high");
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
