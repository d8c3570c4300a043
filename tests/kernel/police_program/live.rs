//! Programs before a server, over loopback and over a link: the clients' view, the server's view, and nothing left
//! behind.

use crate::link::join;
use crate::server::{Server, say};
use crate::stage::{Ended, namespace, output, skip};
use bakeoff_layers_police::kernel::{KernelError, PoliceMode, Programs, ServerListener};
use bakeoff_layers_police::rules::Rules;
use bakeoff_layers_police::rules::table::RuleTable;
use bakeoff_sys::namespace::Namespace;
use nix::sys::socket::{AddressFamily, Backlog, MsgFlags, SockFlag, SockType, SockaddrIn, sendto, socket};
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const END: &str = " HTTP/1.1\r\nHost: x\r\n\r\n";

fn table(text: &str) -> RuleTable {
    Rules::of_text(&format!("[server]\nlisten = 80\n{text}"), "rules.toml").unwrap().table
}

fn requests() -> RuleTable {
    table(
        "[[request]]\npath = \"/noaccess\"\nrefuse = \"503\"\n[[request]]\npath = \"/often\"\nrefuse = \"429\"\n\
         [[request]]\npath = \"/reset/*\"\nrefuse = \"reset\"\n[[request]]\npath = \"*secret*\"\nrefuse = \"503\"\n",
    )
}

fn attached(table: &RuleTable, interface: &str) -> Programs {
    let mut programs = Programs::load(table, PoliceMode::Enforce).unwrap();
    programs.attach(interface).unwrap();
    programs
}

/// The head has an extra field of so many bytes.
fn curl(address: &str, path: &str, more: usize) -> String {
    let words =
        ["-s", "-g", "-m", "120", "-o", "/dev/null", "-w", "%{http_code} %header{retry-after} %{errormsg}"];
    let mut command = Command::new("curl");
    command.args(words).args(["-H", &format!("X: {}", "x".repeat(more))]);
    let done = command.arg(format!("http://{address}{path}")).output().unwrap();
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

#[test]
fn a_refused_head_is_a_whole_503_over_loopback_and_over_a_link_in_both_families() {
    let test = "a_refused_head_is_a_whole_503_over_loopback_and_over_a_link_in_both_families";
    let (Some(here), Some(there)) = (namespace(test), namespace(test)) else { return };
    if Command::new("curl").arg("--version").output().is_err() {
        return skip(test, "needs curl");
    }
    join(&here, &there);
    let (server, programs) = here
        .run(|| {
            let mut programs = attached(&requests(), "lo");
            programs.attach("here").unwrap();
            (Server::start(), programs)
        })
        .unwrap();
    let ask = |namespace: &Namespace, addresses: &[&str], more: usize| {
        for address in addresses {
            let ask = |path: &str| namespace.run(|| curl(address, path, more)).unwrap();
            assert_eq!(ask("/"), "200", "{address}");
            assert_eq!(ask("/noaccess?x"), "503 1", "{address}");
            assert_eq!(ask("/often"), "429 1", "{address}");
            assert_eq!(ask("/a/secret.html"), "503 1", "{address}");
            assert!(ask("/reset/x").contains("reset by peer"), "{address}");
        }
    };
    ask(&here, &["127.0.0.1", "[::1]"], 0);
    ask(&there, &["198.18.0.1", "[2001:db8::1]"], 0);
    if Command::new("ethtool").arg("--version").output().is_err() {
        skip(&format!("{test}_with_real_sums"), "needs ethtool");
    } else {
        // If no device vouches for checksums, they are verified.
        here.run(|| output("ethtool -K here tx off")).unwrap();
        there.run(|| output("ethtool -K there tx off")).unwrap();
        ask(&there, &["198.18.0.1", "[2001:db8::1]"], 0);
        // A head of several segments; then the driver merges them.
        here.run(|| output("ip route replace 198.18.0.0/24 dev here src 198.18.0.1 advmss 536")).unwrap();
        ask(&there, &["198.18.0.1"], 1_000);
        here.run(|| output("ethtool -K here gro on")).unwrap();
        ask(&there, &["198.18.0.1"], 1_000);
    }
    assert!(server.paths().iter().all(|path| path == "/"), "{:?}", server.paths());
    here.run(crate::server::wait_for_no_connection).unwrap();
    let counters = programs.counters().unwrap();
    assert_eq!(counters.rules.iter().map(|rule| rule.passed).sum::<u64>(), 0);
    assert!(counters.refused[2] >= 16, "{counters:?}");
}

#[test]
fn every_request_of_a_kept_connection_is_looked_at_and_no_body_is_taken_for_one() {
    let test = "every_request_of_a_kept_connection_is_looked_at_and_no_body_is_taken_for_one";
    let Some(here) = namespace(test) else { return };
    here.run(|| {
        let server = Server::start();
        let programs = attached(&requests(), "lo");
        let get = |path: &str| format!("GET {path}{END}");
        assert_eq!(say(&[&get("/a"), &get("/b"), &get("/noaccess")]), [200, 200, 503]);
        let post = |length: usize| format!("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
        let body = get("/noaccess");
        // The body is a request, word by word, in one segment and in three; behind it comes a real one.
        assert_eq!(say(&[&post(body.len()), &body, &get("/b"), &get("/noaccess")]), [200, 200, 503]);
        assert_eq!(say(&[&post(3 * body.len()), &body, &body, &body, &get("/often")]), [200, 429]);
        let chunked = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
        say(&[chunked, "0\r\n\r\n"]);
        assert!(!server.paths().iter().any(|path| path == "/noaccess"), "{:?}", server.paths());
        crate::server::wait_for_no_connection();
        let counters = programs.counters().unwrap();
        assert_eq!((counters.bodies, counters.unread), (4, [0, 0, 0, 1]), "{counters:?}");
    })
    .unwrap();
}

/// Sends a request in the SYN itself (TCP Fast Open).
fn say_in_syn(path: &str) -> Vec<u16> {
    let client = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    let (to, request) = (SockaddrIn::new(127, 0, 0, 1, 80), format!("GET {path}{END}"));
    let flags = MsgFlags::from_bits_retain(libc::MSG_FASTOPEN);
    assert_eq!(sendto(client.as_raw_fd(), request.as_bytes(), &to, flags), Ok(request.len()));
    let (mut stream, mut reply) = (TcpStream::from(client), [0; 4096]);
    let read = stream.read(&mut reply).unwrap();
    crate::server::statuses(&reply[..read])
}

#[test]
fn a_request_in_a_syn_is_not_taken_and_comes_again_behind_it() {
    let Some(here) = namespace("a_request_in_a_syn_is_not_taken_and_comes_again_behind_it") else { return };
    here.run(|| {
        // Client and server have it, without cookies (1 + 4 + 2 + 0x200), for all listeners (0x400).
        std::fs::write("/proc/sys/net/ipv4/tcp_fastopen", "1543").unwrap();
        let server = Server::start();
        let mut programs = attached(&table("[[from]]\nsource = \"10.0.0.0/8\"\n"), "lo");
        assert_eq!(say_in_syn("/noaccess"), [200]);
        assert_eq!(
            kernel_counts("TCPFastOpenPassive"),
            1,
            "without rules for requests it is the server's affair"
        );
        programs.swap(&requests()).unwrap();
        assert_eq!(say_in_syn("/noaccess"), [503]);
        assert_eq!(say_in_syn("/a"), [200]);
        assert_eq!(kernel_counts("TCPFastOpenPassive"), 1);
        assert_eq!(server.paths(), ["/noaccess", "/a"]);
        assert!(programs.counters().unwrap().refused[6] > 0, "by its reason");
    })
    .unwrap();
}

/// Value of a kernel counter in this network.
fn kernel_counts(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:")).map(str::split_whitespace);
    let at = lines.next().unwrap().position(|found| found == name).unwrap();
    lines.next().unwrap().nth(at).unwrap().parse().unwrap()
}

#[test]
fn under_syn_cookies_requests_are_judged_all_the_same() {
    let Some(here) = namespace("under_syn_cookies_requests_are_judged_all_the_same") else { return };
    here.run(|| {
        std::fs::write("/proc/sys/net/ipv4/tcp_syncookies", "2").unwrap(); // always
        let server = Server::start();
        let _programs = attached(&requests(), "lo");
        let get = |path: &str| format!("GET {path}{END}");
        assert_eq!(say(&[&get("/a"), &get("/noaccess")]), [200, 503]);
        assert_eq!((server.paths(), kernel_counts("SyncookiesRecv")), (vec!["/a".to_owned()], 1));
    })
    .unwrap();
}

#[test]
fn before_a_deferring_server_nothing_of_a_refused_request_is_seen_by_it() {
    let test = "before_a_deferring_server_nothing_of_a_refused_request_is_seen_by_it";
    let Some(here) = namespace(test) else { return };
    if Command::new("nginx").arg("-v").output().is_err() {
        return skip(test, "needs nginx");
    }
    let dir = tempfile::tempdir().unwrap();
    let text = "access_log {dir}/log; server { listen [::]:80 ipv6only=off deferred; location / { return 200 ok; } }";
    here.run(|| {
        let _nginx = crate::server::nginx(dir.path(), text, "127.0.0.1:80");
        let mut programs = attached(&requests(), "lo");
        for _ in 0..50 {
            assert_eq!(say(&[&format!("GET /noaccess{END}")]), [503]);
            assert_eq!(say(&[&format!("GET /a{END}")]), [200]);
        }
        // The first piece of a head cannot be told from a body, except on a connection that is still only requested.
        programs.swap(&table("[odd]\nrefuse = \"503\"\n")).unwrap();
        let odd = programs.counters().unwrap().odd;
        assert_eq!(say(&["get /a", END]), [503]);
        assert!(programs.counters().unwrap().odd > odd);
        crate::server::wait_for_no_connection();
        let log = || std::fs::read_to_string(dir.path().join("log")).unwrap_or_default();
        crate::server::wait_until("nginx has written", || log().lines().count() >= 50);
        assert!(!log().contains("noaccess") && !log().contains("get /a"), "{}", log());
    })
    .unwrap();
}

#[test]
fn connections_are_refused_by_source_and_steered_to_the_listener_of_their_class() {
    let test = "connections_are_refused_by_source_and_steered_to_the_listener_of_their_class";
    let Some(here) = namespace(test) else { return };
    let rules = "classes = { high = 8200, low = 8201 }\n[[from]]\nsource = \"127.0.1.0/24\"\nclass = \"high\"\n\
        [[from]]\nsource = \"127.0.2.0/24\"\nrate = \"1/h\"\nburst = 3\nrefuse = \"reset\"\n\
        [[from]]\nsource = \"::1\"\nclass = \"high\"\n";
    let rules = rules.replace("\"1/h\"", "\"1/s\"");
    here.run(|| {
        // Nobody listens on the public port.
        let listeners = [8_200, 8_201].map(|port| TcpListener::bind(("::", port)).unwrap());
        let mut programs = Programs::load(&table(&rules), PoliceMode::Enforce).unwrap();
        programs.set_clock(Some(1 << 40)).unwrap();
        let socket = |class: usize| ServerListener { class: class as u8, socket: listeners[class].as_fd() };
        programs.steer(&[socket(0), socket(1)]).unwrap();
        programs.attach_classes(std::fs::File::open("/proc/thread-self/ns/net").unwrap()).unwrap();
        programs.attach("lo").unwrap();
        let from = |source: &str, to: &str| {
            let local =
                bakeoff_sys::net::Local { address: Some(source.parse().unwrap()), ..Default::default() };
            let stream = bakeoff_sys::net::begin(format!("{to}:80").parse().unwrap(), local, true).unwrap();
            stream.set_nonblocking(false).unwrap();
            crate::server::connected(&stream)
        };
        let accepted = |class: usize| listeners[class].accept().unwrap().1.ip().to_canonical().to_string();
        assert!(from("127.0.1.1", "127.0.0.1") && from("127.0.0.1", "127.0.0.1") && from("::1", "[::1]"));
        assert_eq!([accepted(0), accepted(0), accepted(1)], ["127.0.1.1", "::1", "127.0.0.1"]);
        let let_in = (0..6).map(|_| from("127.0.2.9", "127.0.0.1")).collect::<Vec<_>>();
        assert_eq!(let_in, [true, true, true, false, false, false], "the burst, then RSTs, at once");
        programs.set_mode(PoliceMode::Log).unwrap();
        assert!(from("127.0.2.9", "127.0.0.1"));
        assert_eq!(programs.counters().unwrap().would_refuse, 1);
        drop(programs);
        assert!(!from("127.0.1.1", "127.0.0.1"), "without it nobody listens on the public port");
    })
    .unwrap();
}

#[test]
fn a_full_queue_of_a_lower_class_is_in_no_higher_ones_way() {
    let Some(here) = namespace("a_full_queue_of_a_lower_class_is_in_no_higher_ones_way") else { return };
    let rules =
        "classes = { high = 8200, low = 8201 }\n[[from]]\nsource = \"127.0.1.0/24\"\nclass = \"high\"\n";
    here.run(|| {
        let listeners = [8_200, 8_201].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
        // The low class's queue has room for one.
        nix::sys::socket::listen(&listeners[1], Backlog::new(0).unwrap()).unwrap();
        let mut programs = Programs::load(&table(rules), PoliceMode::Enforce).unwrap();
        let socket = |class: usize| ServerListener { class: class as u8, socket: listeners[class].as_fd() };
        programs.steer(&[socket(0), socket(1)]).unwrap();
        programs.attach_classes(std::fs::File::open("/proc/thread-self/ns/net").unwrap()).unwrap();
        programs.attach("lo").unwrap();
        let from = |source: &str| {
            let local =
                bakeoff_sys::net::Local { address: Some(source.parse().unwrap()), ..Default::default() };
            bakeoff_sys::net::begin("127.0.0.1:80".parse().unwrap(), local, true).unwrap()
        };
        let low = [(); 2].map(|()| from("127.0.0.1"));
        assert_eq!(low.each_ref().map(crate::server::connected), [true, false]);
        assert!(crate::server::connected(&from("127.0.1.1")));
    })
    .unwrap();
}

#[test]
fn a_driver_refuses_what_is_dropped_and_both_programs_count_once() {
    let test = "a_driver_refuses_what_is_dropped_and_both_programs_count_once";
    let (Some(here), Some(there)) = (namespace(test), namespace(test)) else { return };
    join(&here, &there);
    let rules = "[[from]]\nsource = \"198.18.0.0/24\"\nrate = \"1/s\"\nburst = 2\n";
    let rules = format!(
        "{rules}[[from]]\nsource = \"2001:db8::/64\"\nrate = \"1/s\"\nburst = 2\nrefuse = \"reset\"\n"
    );
    let (mut programs, _server) = here
        .run(|| {
            let mut programs = Programs::load(&table(&rules), PoliceMode::Enforce).unwrap();
            assert!(matches!(programs.attach_xdp("lo"), Err(KernelError::NoXdp(..))));
            assert!(matches!(programs.attach("nowhere"), Err(KernelError::NoInterface(_))));
            programs.set_clock(Some(1 << 40)).unwrap();
            programs.attach_xdp("here").unwrap();
            (programs, Server::start())
        })
        .unwrap();
    let ask = |address: &str| {
        let wait = std::time::Duration::from_secs(5);
        there
            .run(|| TcpStream::connect_timeout(&format!("{address}:80").parse().unwrap(), wait))
            .unwrap()
            .is_ok()
    };
    for address in ["198.18.0.1", "[2001:db8::1]"] {
        assert_eq!([ask(address), ask(address), ask(address)], [true, true, false], "{address}");
    }
    let counters = programs.counters().unwrap();
    assert_eq!([counters.rules[0].passed, counters.rules[1].passed], [2, 2], "{counters:?}");
    assert_eq!(counters.rules[1].refused, 1);
    assert!(counters.rules[0].refused >= 1, "and what the client's kernel tries again");
    programs.set_mode(PoliceMode::Off).unwrap();
    assert!(ask("198.18.0.1"));
}

#[test]
fn no_request_gets_past_while_tables_are_swapped() {
    let Some(here) = namespace("no_request_gets_past_while_tables_are_swapped") else { return };
    here.run(|| {
        let server = Server::start();
        let mut programs = attached(&requests(), "lo");
        let (done, asked) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        assert_eq!(say(&[&format!("GET /noaccess{END}")]), [503]);
                        asked.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            // Both refuse it: as a single path, and as one of many with the same prefix.
            let many = (0..400).map(|n| format!("[[request]]\npath = \"/other{n}\"\nrate = \"1/s\"\n"));
            let other =
                table(&format!("[[request]]\npath = \"/*\"\nrefuse = \"503\"\n{}", many.collect::<String>()));
            let (mut swaps, first) = (0, requests());
            while swaps < 100 || asked.load(Ordering::Relaxed) < 300 {
                programs.swap(if swaps % 2 == 0 { &other } else { &first }).unwrap();
                swaps += 1;
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(server.paths(), Vec::<String>::new());
        assert_eq!(programs.counters().unwrap().refused[2], asked.into_inner());
        crate::server::wait_for_no_connection();
    })
    .unwrap();
}

#[test]
fn a_broken_table_leaves_the_old_one_in_force() {
    let Some(here) = namespace("a_broken_table_leaves_the_old_one_in_force") else { return };
    here.run(|| {
        let _server = Server::start();
        let mut programs = attached(&requests(), "lo");
        let mut large = requests();
        large.contains.push((vec![b'x'; 5_000], bakeoff_layers_police::rules::table::RuleId(0)));
        large.exact.clear();
        let why = programs.swap(&large).unwrap_err();
        assert!(matches!(why, KernelError::Map("automaton", _)), "{why}");
        assert_eq!(say(&[&format!("GET /noaccess{END}")]), [503]);
        programs.swap(&table("")).unwrap();
        assert_eq!(say(&[&format!("GET /noaccess{END}")]), [200]);
    })
    .unwrap();
}

/// Attaches to loopback of the namespace it is started in, says so, and waits for its end.
#[test]
#[ignore = "the process that another test kills"]
fn holds_until_it_is_killed() {
    let _programs = attached(&requests(), "lo");
    println!("\nattached");
    std::thread::park();
}

#[test]
fn a_killed_process_leaves_everything_open_and_nothing_behind() {
    let Some(here) = namespace("a_killed_process_leaves_everything_open_and_nothing_behind") else { return };
    here.run(|| {
        let _server = Server::start();
        let words = ["--exact", "live::holds_until_it_is_killed", "--ignored", "--nocapture"];
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut holder = Ended(command.args(words).stdout(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(holder.0.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("attached")));
        assert_eq!(say(&[&format!("GET /noaccess{END}")]), [503]);
        drop(holder);
        crate::server::wait_until("all is open", || say(&[&format!("GET /noaccess{END}")]) == [200]);
    })
    .unwrap();
}
