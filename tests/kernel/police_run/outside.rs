//! Packets that are not for the server, and ways to it that clients have no business with.

use crate::flood::wire;
use crate::link::{IP, ip, join};
use crate::packets::{ACK, SYN, Segment, Wrapping, frame};
use crate::refusals::RULES;
use crate::stage::{Daemon, Got, NGINX, PUBLIC, Site, may_run, refused, until};
use bakeoff_sys::namespace::Namespace;
use nix::sys::socket::{MsgFlags, send};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

/// Waits for a connection, says one word, and waits for the next.
const STRANGER: &str = "import socket,sys; s=socket.socket(); s.setsockopt(1,2,1); s.bind((sys.argv[1],int(sys.argv[2]))); s.listen()\n\
    while True:\n  c=s.accept()[0]\n  try: c.recv(999); c.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\nstranger')\n  except OSError: pass\n  c.close()";

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

/// Behind its addresses a frame's tag of this VLAN.
fn tagged(frame: &[u8], vlan: u8) -> Vec<u8> {
    [&frame[..12], &[0x81, 0, 0, vlan], &frame[12..]].concat()
}

#[test]
fn a_frame_counts_where_the_server_gets_it_and_nowhere_else() {
    let test = "a_frame_counts_where_the_server_gets_it_and_nowhere_else";
    if !may_run(test, &[NGINX, IP]) {
        return;
    }
    let (site, client) = (Site::new(), Namespace::create().unwrap());
    join(&site.network, &client);
    let server = site.nginx();
    let rules = RULES.replace("127.0.2.0/24", "198.18.0.0/16")
        + "[[from]]\nsource = \"2001:db8::/32\"\nrate = \"1/h\"\n";
    let daemon = Daemon::start(&site, &server, &rules, &[]);
    let wire = client.run(wire).unwrap();
    let give = |frame: &[u8]| {
        send(wire.as_raw_fd(), frame, MsgFlags::empty()).unwrap();
    };
    let of = |v6: bool, port: u16, flags: u8, payload: &[u8], wrapping: &Wrapping| {
        let [from, to]: [IpAddr; 2] = match v6 {
            false => [2, 1].map(|host| IpAddr::from([198, 18, 0, host])),
            true => ["2001:db8::2", "2001:db8::1"].map(|host| host.parse().unwrap()),
        };
        frame(&Segment { from: (from, 9), to: (to, port), flags, sequence: 1, payload }, wrapping)
    };
    let plain = Wrapping::default();
    let syn = of(false, PUBLIC, SYN, b"", &plain);
    // For another card, or with the tag of a network that this host is not in.
    let other = [&[2, 0, 0, 0, 0, 99], &syn[6..]].concat();
    (0..20).for_each(|_| {
        [other.clone(), tagged(&syn, 7), tagged(&other, 0)].iter().for_each(|frame| give(frame))
    });
    // A tag of none, as switches write it for priorities, is no way around.
    [syn.clone(), tagged(&syn, 0)].iter().for_each(|frame| give(frame));
    daemon.await_line("rule.from-198.18.0.0/16.passed 2");
    assert_eq!(daemon.count("rule.from-198.18.0.0/16.refused"), 0);
    // However a SYN to a class's port is wrapped.
    let (options, padded) =
        (Wrapping { options: 3, ..plain.clone() }, Wrapping { tcp_options: 3, padding: 9, ..plain.clone() });
    let mut frames = Vec::new();
    for v6 in [false, true] {
        for port in [8200, 8201] {
            for wrapping in [&plain, &options, &padded] {
                frames.push(of(v6, port, SYN, b"", wrapping));
            }
            // ECE and CWR, push, and data.
            frames.push(of(v6, port, SYN | 0xc8, b"GET /noaccess HTTP/1.1\r\n\r\n", &plain));
            frames.push(tagged(&of(v6, port, SYN, b"", &plain), 0));
            frames.push(of(v6, port, SYN, b"", &Wrapping { first_fragment: true, ..plain.clone() }));
        }
    }
    frames.iter().for_each(|frame| give(frame));
    daemon.await_line(&format!("refused.class-port {}", frames.len()));
    assert_eq!(daemon.count("rule.from-2001:db8::/32.passed"), 0);
    // A segment of no connection is no head, and takes nothing.
    give(&of(false, 8200, ACK, b"GET /cgi-bin/ HTTP/1.1\r\nHost: x\r\n\r\n", &plain));
    give(&syn);
    daemon.await_line("rule.from-198.18.0.0/16.passed 3");
    assert_eq!((daemon.count("heads"), daemon.count("rule.request-/cgi-bin/*.passed")), (0, 0));
    // A program that comes later and wants all that the classes get has nothing of it.
    let _thief = Stranger::start(&site, "0.0.0.0", PUBLIC);
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body("high"));
}
