//! Packets that are not for the server, and ways to it that clients have no business with.

use crate::link::{IP, ip, join};
use crate::refusals::RULES;
use crate::stage::{Daemon, Got, NGINX, Site, may_run, refused, until};
use bakeoff_sys::namespace::Namespace;
use std::process::{Command, Stdio};

/// Waits for a connection, says one word, and waits for the next.
const STRANGER: &str = "import socket,sys; s=socket.socket(); s.setsockopt(1,2,1); s.bind((sys.argv[1],int(sys.argv[2]))); s.listen()\n\
    while True:\n  c=s.accept()[0]; c.recv(999); c.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\nstranger'); c.close()";

/// Another program that listens, until it is dropped.
struct Stranger(std::process::Child);

impl Stranger {
    fn start(site: &Site, address: &str, port: u16) -> Self {
        let words = ["-c", STRANGER, address, &port.to_string()];
        let child = site.spawn(Command::new("python3").args(words).stderr(Stdio::null()));
        let stranger = Self(child);
        let listens = || site.network.run(|| bakeoff_layers_police::listeners::listening(&[port]));
        until("the stranger listens", || {
            let held = listens().unwrap().unwrap();
            held.iter().any(|at| at.on.address().to_string() == address)
        });
        stranger
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_port_of_a_class_answers_nobody() {
    if !may_run("a_port_of_a_class_answers_nobody", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    assert_eq!(site.ask_at(8200, "127.0.9.1", "/noaccess"), Got::body("high"), "without police it does");
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    for port in [8200, 8201] {
        assert_eq!(site.ask_at(port, "127.0.1.1", "/"), Got::Reset, "{port}");
    }
    daemon.await_line("refused.class-port 2");
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body("high"));
    let rules = site.path("rules.toml").display().to_string();
    let said = site.run(&[
        crate::stage::LAYERS,
        "police",
        "explain",
        &rules,
        "--from",
        "127.0.1.1",
        "--to",
        ":8200",
    ]);
    assert!(said.status.code() == Some(7), "{said:?}");
}

#[test]
fn connections_of_another_program_are_left_alone() {
    if !may_run("connections_of_another_program_are_left_alone", &[NGINX, "/usr/bin/python3"]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let stranger = Stranger::start(&site, "127.0.0.9", 80);
    let at = |from: &str, path: &str| site.ask_of(([127, 0, 0, 9], 80).into(), from, path);
    // The public port's, at its own address; at all others the classes'.
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    assert_eq!(at("127.0.9.1", "/noaccess"), Got::body("stranger"));
    assert!((0..4).all(|_| at("127.0.3.1", "/") == Got::body("stranger")), "no rate of ours");
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body("high"));
    assert_eq!(site.ask("127.0.1.1", "/noaccess"), Got::Reset);
    drop((stranger, daemon));
    // Where it has all addresses nothing would come to the classes.
    let stranger = Stranger::start(&site, "0.0.0.0", 80);
    let (code, said) = refused(&site, server.pid(), RULES, &[]);
    assert!(code == Some(3) && said.contains("port 80 (`listen`, at all addresses)"), "{said}");
    drop(stranger);
    // Without classes, who comes later is known too.
    let plain = "[server]\nlisten = 8200\n[[request]]\npath = \"/noaccess\"\nrefuse = \"503\"\n";
    let _daemon = Daemon::start(&site, &server, plain, &[]);
    let _stranger = Stranger::start(&site, "127.0.0.9", 8200);
    let at = |path: &str| site.ask_of(([127, 0, 0, 9], 8200).into(), "127.0.0.1", path);
    until("the stranger is left alone", || at("/noaccess") == Got::body("stranger"));
    assert!(!site.ask_at(8200, "127.0.0.1", "/noaccess").is_served());
}

#[test]
fn what_goes_to_another_host_is_not_policed() {
    if !may_run("what_goes_to_another_host_is_not_policed", &[NGINX, IP, "/usr/bin/python3"]) {
        return;
    }
    // A router between two networks, with a server of its own on the same port.
    let (site, client, behind) = (Site::new(), Namespace::create().unwrap(), Site::new());
    join(&site.network, &client);
    let peer = format!("link add right type veth peer name left netns {}", behind.network.path().display());
    ip(&site.network, &peer);
    for (network, device, address, router) in [
        (&site.network, "right", "10.9.0.1/24", None),
        (&behind.network, "left", "10.9.0.2/24", Some("10.9.0.1")),
    ] {
        ip(network, &format!("address add {address} dev {device}"));
        ip(network, &format!("link set {device} up"));
        router.into_iter().for_each(|router| ip(network, &format!("route add default via {router}")));
    }
    ip(&client, "route add default via 198.18.0.1");
    site.network.run(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap()).unwrap();
    let server = site.nginx_of("server { listen 80; location / { return 200 \"router\"; } }");
    let _stranger = Stranger::start(&behind, "10.9.0.2", 80);
    let rules = "[server]\nlisten = 80\n[[from]]\nsource = \"198.18.0.2\"\nrate = \"1/h\"\nburst = 1\nrefuse = \"reset\"\n\
        [[request]]\npath = \"/noaccess\"\nrefuse = \"503\"\n";
    let daemon = Daemon::start(&site, &server, rules, &[]);
    let ask =
        |to: [u8; 4], path: &str| client.run(|| Got::from((to, 80).into(), "198.18.0.2", path)).unwrap();
    for _ in 0..3 {
        assert_eq!(ask([10, 9, 0, 2], "/noaccess"), Got::body("stranger"));
    }
    assert_eq!(daemon.count("rule.from-198.18.0.2/32.passed"), 0);
    assert_eq!(ask([198, 18, 0, 1], "/"), Got::body("router"));
    assert_eq!(ask([198, 18, 0, 1], "/"), Got::Reset);
    assert_eq!(ask([10, 9, 0, 1], "/"), Got::Reset, "every address of its own");
}

#[test]
fn what_a_vlan_or_another_card_gets_counts_once() {
    if !may_run("what_a_vlan_or_another_card_gets_counts_once", &[NGINX, IP]) {
        return;
    }
    let (site, client) = (Site::new(), Namespace::create().unwrap());
    join(&site.network, &client);
    for (network, under, host) in [(&site.network, "here", 1), (&client, "there", 2)] {
        ip(network, &format!("link add link {under} name tagged type vlan id 7"));
        ip(network, &format!("link add link {under} name mac type macvlan mode bridge"));
        for (device, net) in [("tagged", 30), ("mac", 40)] {
            ip(network, &format!("address add 198.18.{net}.{host}/24 dev {device}"));
            ip(network, &format!("link set {device} up"));
        }
    }
    // The card answers for its own addresses only.
    let own = "/proc/sys/net/ipv4/conf/all/arp_ignore";
    site.network.run(|| std::fs::write(own, "1").unwrap()).unwrap();
    let server = site.nginx_of("server { listen 80; location / { return 200 \"all\"; } }");
    let rules = "[server]\nlisten = 80\n[[from]]\nsource = \"198.18.0.0/16\"\nrate = \"1/h\"\nburst = 9\n[[request]]\npath = \"/noaccess\"\nrefuse = \"503\"\n";
    let daemon = Daemon::start(&site, &server, rules, &[]);
    assert!(daemon.armed.contains("on here, lo, mac, tagged"), "{}", daemon.armed);
    for (nth, net) in [0, 30, 40].into_iter().enumerate() {
        let ask = |path: &str| {
            client
                .run(|| Got::from(([198, 18, net, 1], 80).into(), &format!("198.18.{net}.2"), path))
                .unwrap()
        };
        assert_eq!(ask("/"), Got::body("all"), "{net}");
        assert!(!ask("/noaccess").is_served(), "{net}");
        daemon.await_line(&format!("heads {}", 2 * (nth + 1)));
        daemon.await_line(&format!("rule.from-198.18.0.0/16.passed {}", 2 * (nth + 1)));
    }
}
