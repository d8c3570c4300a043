//! Cost of the programs, ns a packet, by BPF_PROG_TEST_RUN: the table of benches/police. Asserts nothing about speed.

use crate::packets::{ACK, PUSH, SYN, Segment, Wrapping, frame};
use crate::stage::namespace;
use crate::trial::run_on;
use bakeoff_layers_police::kernel::{PoliceMode, Programs, ServerListener};
use bakeoff_layers_police::rules::AddressPrefix;
use bakeoff_layers_police::rules::table::{
    ConnectionClass, Overload, Rate, Refuse, RuleAction, RuleId, RuleTable, StageRule, SynSource, When,
};
use bakeoff_sys::net::set_deferral;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;

/// Number of runs of which the lowest counts: the rest is other work of the machine.
const LOOKS: usize = 7;
const REPEAT: u32 = 50_000;
/// Number of different packets for a table with many rules.
const SPREAD: usize = 20;
const PLENTY: Rate = Rate { interval_ns: 1, tolerance_ns: 1 << 60 };
const REST: &str = " HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: text/html,\
    application/xhtml+xml\r\n\r\n";

#[test]
#[ignore = "benches/police shows it"]
fn ns_a_packet() {
    let Some(here) = namespace("ns_a_packet") else { return };
    here.run(|| {
        let mut bench =
            Bench { programs: Programs::load(&RuleTable::default(), PoliceMode::Enforce).unwrap(), off: 0 };
        // Packets of a trial are of no connection: looking it up has rows of its own.
        bench.programs.set_standing(Some(1)).unwrap();
        bench.ways();
        bench.look_ups();
        bench.syns();
        bench.heads();
        bench.queues();
    })
    .unwrap();
}

struct Bench {
    programs: Programs,
    /// ns of the program that lets everything pass at once.
    off: u128,
}

impl Bench {
    fn show(&mut self, what: &str, program: &'static str, packets: &[Vec<u8>]) -> u128 {
        let mut lowest = u128::MAX;
        for _ in 0..LOOKS {
            let each = packets.iter().map(|packet| {
                let repeat = REPEAT / packets.len() as u32;
                run_on(&self.programs, program, packet, repeat).each.as_nanos()
            });
            lowest = lowest.min(each.sum::<u128>() / packets.len() as u128);
        }
        println!("{what:<44} {lowest:>5} ns, {:>4} more than off", lowest as i128 - self.off as i128);
        lowest
    }

    fn ways(&mut self) {
        self.programs.swap(&table(1, About::Source)).unwrap();
        self.programs.set_mode(PoliceMode::Off).unwrap();
        self.off = self.show("off", "police", &[syn(4, 0, 80)]);
        self.programs.set_mode(PoliceMode::Enforce).unwrap();
        self.show("a port that is not ours", "police", &[syn(4, 0, 81)]);
        self.show("no payload", "police", &[packet(4, 0, 80, ACK, b"")]);
        self.show(
            "payload of no head, no connection known",
            "police",
            &[packet(4, 0, 80, ACK, &[b'x'; 1400])],
        );
    }

    /// A segment that the server has already, so that nothing but its connection is looked up; a server that defers
    /// has only a request for a connection that has said nothing.
    fn look_ups(&mut self) {
        let real = Programs::load(&table(1, About::Exact(11)), PoliceMode::Enforce).unwrap();
        let trials = std::mem::replace(&mut self.programs, real);
        for (what, deferral_s) in [("a connection", 0), ("a request socket", 30)] {
            let listener = TcpListener::bind("127.0.0.1:80").unwrap();
            set_deferral(&listener, deferral_s).unwrap();
            let client = TcpStream::connect("127.0.0.1:80").unwrap();
            let [from, to] = [client.local_addr().unwrap(), client.peer_addr().unwrap()];
            let at = |sequence: u32| {
                let ends = Segment {
                    from: (from.ip(), from.port()),
                    to: (to.ip(), to.port()),
                    flags: ACK | PUSH,
                    sequence,
                    payload: b"GET / HTTP/1.1\r\n\r\n",
                };
                for_loopback(frame(&ends, &Wrapping::default()))
            };
            // Its numbers are not known here, and one of the two is behind.
            let heads = |bench: &Self| bench.programs.counters().unwrap().heads;
            let behind = [0, 1 << 31].map(at).into_iter().find(|packet| {
                let before = heads(self);
                run_on(&self.programs, "police", packet, 1);
                heads(self) == before
            });
            self.show(&format!("a segment again, of {what}"), "police", &[behind.unwrap()]);
        }
        self.show("a segment of no connection", "police", &[for_loopback(head("/"))]);
        self.programs = trials;
    }

    fn syns(&mut self) {
        for family in [4, 6] {
            for rules in [1, 3, 1_000, 10_000] {
                self.programs
                    .swap(&table(rules, if family == 4 { About::Source } else { About::Source6 }))
                    .unwrap();
                let packets = spread(rules).map(|number| syn(family, number, 80)).collect::<Vec<_>>();
                self.show(&format!("SYN, IPv{family}, {rules} rules"), "police", &packets);
                if family == 4 {
                    self.show(&format!("SYN, IPv{family}, {rules} rules, XDP"), "flood", &packets);
                }
            }
        }
    }

    fn heads(&mut self) {
        for length in [11, 80, 160] {
            self.programs.swap(&table(0, About::Exact(length))).unwrap();
            let none = [head(&path(length, 0))];
            self.show(&format!("head, {length} characters, no rule"), "police", &none);
            for rules in [1, 3, 10_000] {
                self.programs.swap(&table(rules, About::Exact(length))).unwrap();
                let packets = spread(rules).map(|number| head(&path(length, number))).collect::<Vec<_>>();
                self.show(&format!("head, {length} characters, {rules} exact, rate"), "police", &packets);
                self.programs.swap(&table(rules, About::Beginning(length))).unwrap();
                self.show(&format!("head, {length} characters, {rules} prefixes, rate"), "police", &packets);
            }
            self.programs.swap(&table(1, About::Class(length))).unwrap();
            self.show(&format!("head, {length} characters, exact, class"), "police", &none);
            self.programs.swap(&table(1, About::Part)).unwrap();
            self.show(&format!("head, {length} characters, a part that is not in it"), "police", &none);
        }
    }

    fn queues(&mut self) {
        let listeners: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let mut table = table(3, About::Source);
        table.classes =
            ["a", "b", "c"].map(|name| ConnectionClass { name: name.to_owned(), port: 1 }).to_vec();
        table.overload = Some(Overload { target_ns: 1, shares: Vec::new(), when: When::Always });
        table.rules.iter_mut().zip(0..).for_each(|(rule, class)| rule.class = Some(class));
        self.programs.swap(&table).unwrap();
        let socket = |(class, listener): (usize, &'_ TcpListener)| {
            (class as u8, listener.as_fd().try_clone_to_owned().unwrap())
        };
        let sockets: Vec<_> = listeners.iter().enumerate().map(socket).collect();
        let sockets =
            sockets.iter().map(|(class, socket)| ServerListener { class: *class, socket: socket.as_fd() });
        self.programs.steer(&sockets.collect::<Vec<_>>()).unwrap();
        self.programs.set_bounds(&[9, 9, 9]).unwrap();
        for class in 0..3 {
            self.show(&format!("SYN, rate, queues up to class {class}"), "police", &[syn(4, class, 80)]);
        }
    }
}

enum About {
    Source,
    Source6,
    Exact(usize),
    Beginning(usize),
    Class(usize),
    Part,
}

fn table(rules: usize, about: About) -> RuleTable {
    let mut table = RuleTable { ports: vec![80], ..RuleTable::default() };
    for number in 0..rules {
        let rule = RuleId(number as u16);
        let (action, name) = (RuleAction::Police(PLENTY), format!("rule{number}"));
        let mut made = StageRule { name, line: 1, action, class: None, refuse: Refuse::Drop, per: None };
        match about {
            About::Source => {
                let prefix = AddressPrefix::of(client(4, number), 24).unwrap();
                table.sources.push(SynSource { prefix, to: None, rule });
            }
            About::Source6 => {
                let prefix = AddressPrefix::of(client(6, number), 64).unwrap();
                table.sources.push(SynSource { prefix, to: None, rule });
            }
            About::Exact(length) => table.exact.push((path(length, number).into(), rule)),
            About::Beginning(length) => {
                table.prefixes.push((path(length, number)[..length - 3].into(), rule))
            }
            About::Class(length) => {
                (made.action, made.class) = (RuleAction::Pass, Some(0));
                table.exact.push((path(length, number).into(), rule));
            }
            About::Part => table.contains.push((b"noaccess".to_vec(), rule)),
        }
        table.rules.push(made);
    }
    table
}

fn client(family: u8, number: usize) -> IpAddr {
    match family {
        4 => Ipv4Addr::from_bits(0x0a00_0001 + ((number as u32) << 8)).into(),
        _ => Ipv6Addr::new(0x2001, 0xdb8, number as u16, 1, 0, 0, 0, 9).into(),
    }
}

fn spread(rules: usize) -> impl Iterator<Item = usize> {
    let most = SPREAD.min(rules);
    (0..most).map(move |place| place * rules / most)
}

/// For loopback's own card, whose packets are looked up.
fn for_loopback(mut frame: Vec<u8>) -> Vec<u8> {
    frame[..6].fill(0);
    frame
}

fn syn(family: u8, number: usize, port: u16) -> Vec<u8> {
    packet(family, number, port, SYN, b"")
}

fn head(path: &str) -> Vec<u8> {
    packet(4, 0, 80, ACK | PUSH, format!("GET {path}{REST}").as_bytes())
}

fn packet(family: u8, number: usize, port: u16, flags: u8, payload: &[u8]) -> Vec<u8> {
    let to = if family == 4 { Ipv4Addr::new(198, 18, 0, 1).into() } else { Ipv6Addr::LOCALHOST.into() };
    let segment =
        Segment { from: (client(family, number), 40_000), to: (to, port), flags, sequence: 1, payload };
    frame(&segment, &Wrapping::default())
}

fn path(length: usize, number: usize) -> String {
    let mut path = format!("/r{number:05}");
    while path.len() < length {
        path.push(if path.len() % 20 == 19 { '/' } else { char::from(b'a' + (path.len() % 26) as u8) });
    }
    path.truncate(length);
    path
}
