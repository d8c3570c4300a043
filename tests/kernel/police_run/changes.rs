//! Changes during `police run`: rules, server, interfaces and the daemon itself are replaced or end.

use crate::link::{IP, ip};
use crate::refusals::RULES;
use crate::stage::{Daemon, Got, NGINX, Server, Site, left_of, may_run, until};
use bakeoff_layers_police::kernel::{PoliceMode, Programs};
use bakeoff_layers_police::rules::table::RuleTable;
use bakeoff_sys::bpf::{Hook, attached};
use bakeoff_sys::namespace::Namespace;
use nix::sys::signal::Signal;
use std::process::{Child, Command};
use std::time::Duration;

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

/// Another program, which lets everything pass, and after which none is asked: while it runs.
struct Stranger(Child);

impl Stranger {
    /// BPF_PROG_LOAD of `return TCX_PASS`, then BPF_LINK_CREATE before all others.
    fn first_on_lo(site: &Site) -> Self {
        let load = "import ctypes,struct,time\nl=ctypes.CDLL(None)\n\
            i=ctypes.create_string_buffer(bytes([0xb7]+[0]*7+[0x95]+[0]*7)); g=ctypes.create_string_buffer(b'GPL')\n\
            def call(n,b):\n  r=l.syscall(321,n,ctypes.create_string_buffer(b.ljust(128,bytes(1))),128); assert r>=0; return r\n\
            p=call(5,struct.pack('IIQQ',3,2,ctypes.addressof(i),ctypes.addressof(g)))\n\
            k=call(28,struct.pack('IIII',p,1,46,8)); time.sleep(60)";
        Self(site.spawn(Command::new("/usr/bin/python3").args(["-c", load])))
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Each would be the first, and in between packets would pass.
#[test]
fn two_daemons_on_an_interface_leave_each_other_where_they_are() {
    if !may_run("two_daemons_on_an_interface_leave_each_other_where_they_are", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    let order = || site.network.run(|| attached(Hook::Ingress(1)).unwrap()).unwrap();
    let ours = order();
    let other = || {
        let mut other = Programs::load(&RuleTable::default(), PoliceMode::Off).unwrap();
        other.attach("lo").unwrap();
        other
    };
    let other = site.network.run(other).unwrap();
    assert_eq!((order().len(), order().get(1)), (2, ours.first()), "the other is the first");
    // The daemon has looked at its interfaces several times.
    daemon.reload(RULES);
    daemon.await_line("reloads 1");
    std::thread::sleep(Duration::from_secs(1));
    assert!(!daemon.notes().contains("it is first again"), "{}", daemon.notes());
    assert_eq!(site.ask("127.0.1.1", "/noaccess"), Got::Reset, "it still decides");
    drop(other);
}

#[test]
fn our_programs_are_the_first_and_where_somebody_takes_them_off_they_come_back() {
    let test = "our_programs_are_the_first_and_where_somebody_takes_them_off_they_come_back";
    if !may_run(test, &[NGINX, "/usr/bin/python3"]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let order = || site.network.run(|| attached(Hook::Ingress(1)).unwrap()).unwrap();
    let before = Stranger::first_on_lo(&site);
    until("the stranger's is there", || order().len() == 1);
    let theirs = order();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    assert_eq!(order().get(1), theirs.first(), "ours is the first");
    let again = Stranger::first_on_lo(&site);
    until("ours is the first again", || daemon.notes().contains("it is first again"));
    assert_eq!(site.ask("127.0.1.1", "/noaccess"), Got::Reset);
    drop((before, again));
    // BPF_LINK_GET_FD_BY_ID, BPF_LINK_DETACH: of the interface and of the classes.
    let detach = "import ctypes,struct,sys\nl=ctypes.CDLL(None)\n\
        def call(n,v):\n  b=ctypes.create_string_buffer(struct.pack('I',v)+bytes(60)); return l.syscall(321,n,b,64)\n\
        assert call(34,call(30,int(sys.argv[1])))==0";
    let links = daemon.held().into_iter().filter(|(kind, _)| kind == "link_id").map(|(_, number)| number);
    let links: Vec<u32> = links.collect();
    assert_eq!(links.len(), 2);
    for link in links {
        assert!(site.run(&["/usr/bin/python3", "-c", detach, &link.to_string()]).status.success());
    }
    until("they are back", || {
        let notes = daemon.notes();
        notes.matches("it is first again").count() == 2 && notes.contains("somebody took the classes off")
    });
    daemon.await_line("degree partial: fair-share");
    assert_eq!(site.ask("127.0.1.1", "/"), Got::body("high"));
    assert_eq!(site.ask("127.0.1.1", "/noaccess"), Got::Reset);
}

#[test]
fn an_interface_is_known_by_its_number_and_left_when_it_goes_elsewhere() {
    let test = "an_interface_is_known_by_its_number_and_left_when_it_goes_elsewhere";
    if !may_run(test, &[NGINX, IP]) {
        return;
    }
    let (site, elsewhere) = (Site::new(), Namespace::create().unwrap());
    ip(&site.network, "link add one type veth peer name two");
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    ip(&site.network, "link set one name three");
    daemon.await_line("interfaces lo three two");
    // What is part of a bridge comes in through that.
    ip(&site.network, "link add bridge type bridge");
    ip(&site.network, "link set two master bridge");
    daemon.await_line("interfaces bridge lo three");
    ip(&site.network, &format!("link set three netns {}", elsewhere.path().display()));
    daemon.await_line("interfaces bridge lo");
    daemon.await_line("degree partial: fair-share");
    let left = || {
        let number = nix::net::if_::if_nametoindex("three").unwrap();
        attached(Hook::Ingress(number)).unwrap()
    };
    assert_eq!(elsewhere.run(left).unwrap(), [] as [u32; 0]);
}

#[test]
fn what_is_set_on_sockets_is_written_down_before() {
    if !may_run("what_is_set_on_sockets_is_written_down_before", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    // Nothing can take the name of a directory that is not empty.
    std::fs::create_dir_all(site.path("status/full")).unwrap();
    let mut daemon = Daemon::start(&site, &server, RULES, &[]);
    assert_eq!(site.ask("127.0.1.1", "/noaccess"), Got::Reset, "rules hold all the same");
    assert_eq!(site.deferral_s(&server), 0, "it could not be written down");
    std::fs::remove_dir_all(site.path("status")).unwrap();
    until("it is written down, and then set", || site.deferral_s(&server) > 0);
    assert!(daemon.status().contains("\ndeferral "), "{}", daemon.status());
    // Rules that never come do not keep it from ending.
    std::fs::remove_file(site.path("rules.toml")).unwrap();
    site.run(&["mkfifo", &site.path("rules.toml").display().to_string()]);
    daemon.signal(Signal::SIGHUP);
    daemon.await_line("reloads-refused 1");
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    assert_eq!(site.deferral_s(&server), 0);
}

#[test]
fn a_listener_of_multipath_tcp_is_told_what_to_do() {
    let test = "a_listener_of_multipath_tcp_is_told_what_to_do";
    if !may_run(test, &["/usr/bin/python3", "/proc/sys/net/mptcp/enabled"]) {
        return;
    }
    let site = Site::new();
    let listen =
        "import socket,time; s=socket.socket(2,1,262); s.bind(('127.0.0.1',80)); s.listen(); time.sleep(999)";
    let server = Server::start(&site, &["/usr/bin/python3", "-c", listen]);
    let rules = "[server]\nlisten = 80\n[[request]]\npath = \"/no\"\nrefuse = \"503\"\n";
    let (code, said) = crate::stage::refused(&site, server.pid(), rules, &[]);
    assert!(code == Some(3) && said.contains("GODEBUG=multipathtcp=0"), "{said}");
    // Connections can be counted.
    Daemon::start(&site, &server, "[server]\nlisten = 80\n[[from]]\nsource = \"10.0.0.0/8\"\n", &[]);
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
