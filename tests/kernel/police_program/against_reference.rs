//! Kernel programs against the reference: random tables, packets and times give the same decisions and counters.

use crate::packets::{ACK, PUSH, RST, SYN, Segment, Wrapping, frame, seen};
use crate::stage::namespace;
use crate::tables::{CLIENTS, PATHS, PORTS, SERVERS, address, table};
use crate::trial::run_on;
use bakeoff_layers_police::kernel::{KernelCounters, PoliceMode, Programs, ServerListener};
use bakeoff_layers_police::reference::head::Unread;
use bakeoff_layers_police::reference::{
    self, Flow, Fragment, PacketDecision, PacketKind, PacketOutcome, Police, Reason, Syn,
};
use bakeoff_layers_police::rules::table::{Refuse, RuleTable};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

const NEXT: i32 = -1;
const DROPPED: i32 = 2;

/// The next input.
#[derive(Clone, Debug)]
enum Step {
    /// Time passes, in ns.
    Later(u64),
    /// Bounds on the waiting connections of each class.
    Bounds([u32; 3]),
    /// A SYN; with data if so, or as the first fragment of one that may have some.
    Syn(Ends, Fragment, bool),
    /// A payload, at this distance from the end of the connection's last one, and what of it the server has taken.
    Says(Ends, i32, Vec<u8>, Taken),
}

/// What the server's kernel has taken of a connection when a segment comes.
#[derive(Clone, Copy, Debug)]
enum Taken {
    /// All before the segment, and so much more or less.
    Before(i32),
    /// No more than when the segment before came.
    NoMore,
    /// There is no such connection.
    Nothing,
}

/// A connection: indices into `CLIENTS`, `SERVERS` and `PORTS`, a port of the client's, and the wrapping of its
/// packets.
#[derive(Clone, Debug)]
struct Ends {
    client: usize,
    server: usize,
    port: usize,
    own: u16,
    wrapping: Wrapping,
}

impl Ends {
    fn flow(&self, base: u16) -> Flow {
        // Both of the same family: the first half of each list is IPv4.
        let server = self.client / 4 * 2 + self.server;
        Flow {
            source: address(CLIENTS[self.client]),
            source_port: base + self.own,
            destination: address(SERVERS[server]),
            port: [PORTS[0], PORTS[1], 8_200, 81][self.port],
        }
    }
}

fn ends() -> impl Strategy<Value = Ends> {
    let wrapping = (0..4_usize, 0..4_usize, prop_oneof![Just(0), 0..30_usize], any::<bool>());
    let port = prop_oneof![12 => Just(0), 4 => Just(1), 1 => Just(2), 1 => Just(3)];
    // One connection much more often than others, so that it has a past.
    let client = prop_oneof![1 => Just(0), 1 => 0..CLIENTS.len()];
    let server = prop_oneof![2 => Just(0), 1 => Just(1_usize)];
    (client, server, port, prop_oneof![3 => Just(0), 1 => Just(1_u16)], wrapping).prop_map(
        |(client, server, port, own, wrapping)| {
            let (options, tcp_options, padding, routed) = wrapping;
            let wrapping = Wrapping { options, routed, tcp_options, padding, first_fragment: false };
            Ends { client, server, port, own, wrapping }
        },
    )
}

/// A request as clients write it: with a body that may come later, or a head that is not read whole.
fn clean() -> impl Strategy<Value = Vec<u8>> {
    let path =
        (prop::sample::select(&PATHS[..]), prop_oneof![3 => Just(""), 1 => Just("?q=%20"), 1 => Just("/.x")]);
    let filling = prop_oneof![2 => Just(0), 3 => 1..250_usize];
    let body =
        prop_oneof![1 => Just(None), 1 => (0..40_usize, prop_oneof![Just(5), 0..60_usize]).prop_map(Some)];
    (path, filling, body, any::<bool>()).prop_map(|((path, tail), filling, body, before)| {
        let filling = if filling > 0 { format!("X: {}\r\n", "x".repeat(filling)) } else { String::new() };
        let (method, length, said) = match body {
            None => ("GET", String::new(), 0),
            Some((said, more)) => ("POST", format!("Content-Length: {}\r\n", said + more), said),
        };
        let fields = if before { length + &filling } else { filling + &length };
        format!("{method} {path}{tail} HTTP/1.1\r\n{fields}\r\n{}", "b".repeat(said)).into_bytes()
    })
}

/// A head that is longer than what is read of it at once, or a part of one.
fn long() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec![
        "GET /a HTTP/1.1\r\n",
        "GET /noaccess HTTP/1.0\r\n",
        "POST /a HTTP/1.1\r\n",
        "",
    ]);
    let field = prop::sample::select(vec![
        "Cookie: ",
        "Content-Length: 7",
        "Content-Length: 0",
        "Content-Length: ",
        "Upgrade: websocket",
        "upgrade:",
        "Transfer-Encoding: chunked",
        "content-",
        "T",
        " folded",
        "X: y\n",
    ]);
    let field =
        (field, prop_oneof![2 => 0..20_usize, 2 => 200..260_usize, 1 => 500..900_usize], any::<bool>())
            .prop_map(|(field, more, spaces)| {
                format!("{field}{}\r\n", if spaces { " " } else { "x" }.repeat(more))
            });
    let end = prop::sample::select(vec!["\r\n", "\r\n", "\r\n", "\r\n1234567", "\r", "\n", ""]);
    let cut = prop_oneof![2 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    (line, prop::collection::vec(field, 0..6), end, cut).prop_map(|(line, fields, end, cut)| {
        let mut bytes = format!("{line}{}{end}", fields.concat()).into_bytes();
        bytes.truncate(cut.map_or(1_300, |cut| cut.index(bytes.len() + 1)));
        bytes
    })
}

/// As clients write it, possibly with a mutation.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let method = prop_oneof![
        4 => Just("GET"),
        2 => Just("POST"),
        2 => prop::sample::select(vec!["HEAD", "PUT", "PATCH", "OPTIONS", "get", "PROPFIND", "ABCDEFGHIJKLMNOP", ""]),
    ];
    let tail = prop_oneof![
        6 => Just(""),
        4 => prop::sample::select(vec!["?q=%20", "%20", "/", "/.", "/..", "/./x", "//", ";x", "\\", "#", "/.x", "...", "?"]),
    ];
    let version = prop_oneof![
        8 => Just(" HTTP/1.1\r\n"),
        1 => prop::sample::select(vec![" HTTP/1.0\r\n", " HTTP/1.2\r\n", " HTTP/2\r\n", "\r\n", "  HTTP/1.1\r\n", " HTTP/1.1\n", "\tHTTP/1.1\r\n"]),
    ];
    let field = prop_oneof![
        3 => Just("Host: x\r\n"),
        2 => Just("Content-Length: 5\r\n"),
        2 => Just("Content-Length: 0\r\n"),
        4 => prop::sample::select(vec![
            "content-length:12\r\n", "Content-Length: \t 7 \r\n", "Content-Length: +7\r\n", "Content-Length:\r\n",
            "Content-Length: 999999999\r\n", "Content-Length: 1234567890\r\n", "Content-Length : 5\r\n",
            "Content-Lengths: 5\r\n", "Transfer-Encoding: chunked\r\n", "transfer-encodin: x\r\n", " folded: x\r\n", "A: b\n",
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64) something or other that is rather long\r\n", "a\rb: c\r\n", "\tx\r\n",
        ]),
    ];
    let body = prop_oneof![5 => Just(""), 2 => Just("12345"), 1 => Just("GET /noaccess HTTP/1.1\r\n\r\n"), 1 => Just("1234")];
    let path = (prop::sample::select(&PATHS[..]), 0..3_usize, tail)
        .prop_map(|(path, more, tail)| format!("{path}{}{tail}", "/abcdefghi".repeat(more * more * 6)));
    let whole = (method, path, version, prop::collection::vec(field, 0..5), any::<bool>(), body);
    let whole = whole.prop_map(|(method, path, version, fields, ends, body)| {
        let end = if ends { "\r\n" } else { "" };
        format!("{method} {path}{version}{}{end}{body}", fields.concat()).into_bytes()
    });
    let harm = prop_oneof![
        6 => Just(None),
        3 => (any::<prop::sample::Index>(), prop::sample::select(b"\r\n \t\0/.%?;:\x7f\x80Gx".to_vec()), 0..3_u8).prop_map(Some),
    ];
    (whole, harm).prop_map(|(mut bytes, harm)| {
        if let Some((place, byte, kind)) = harm {
            let at = place.index(bytes.len());
            match kind {
                0 => bytes.truncate(at),
                1 => bytes[at] = byte,
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}

fn step() -> impl Strategy<Value = Step> {
    let fragment =
        prop_oneof![6 => Just(Fragment::Whole), 1 => Just(Fragment::CutHead), 1 => Just(Fragment::Later)];
    let garbage = prop::collection::vec(prop::sample::select(b"GET /a\r\n.x:5\0".to_vec()), 0..40);
    let record =
        prop::sample::select(vec![&b"\x16\x03\x01ab"[..], b"\x17\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]);
    let said = prop_oneof![8 => clean(), 5 => payload(), 3 => long(), 1 => garbage, 1 => Just(b"12345".to_vec()), 1 => record.prop_map(<[u8]>::to_vec)];
    let taken = prop_oneof![
        9 => Just(Taken::Before(0)), 1 => (-300..300_i32).prop_map(Taken::Before), 4 => Just(Taken::NoMore), 1 => Just(Taken::Nothing),
    ];
    let ahead = prop_oneof![8 => Just(0), 1 => -300..300_i32, 1 => any::<i32>()];
    prop_oneof![
        2 => prop_oneof![0..3_000_000_u64, 0..200_000_000_u64].prop_map(Step::Later),
        1 => prop::array::uniform3(0..6_u32).prop_map(Step::Bounds),
        3 => (ends(), fragment, prop::bool::weighted(0.2)).prop_map(|(ends, fragment, data)| Step::Syn(ends, fragment, data)),
        6 => (ends(), ahead, said, taken).prop_map(|(ends, ahead, payload, taken)| Step::Says(ends, ahead, payload, taken)),
    ]
}

/// The kernel and its oracle, side by side.
struct Both<'k> {
    kernel: &'k mut Programs,
    oracle: Police,
    now_ns: u64,
    base: u16,
    /// Next sequence number of each connection.
    ends: HashMap<Flow, u32>,
    /// What the server waited for when its last segment came.
    waits: HashMap<Flow, u32>,
    before: KernelCounters,
    table: RuleTable,
    /// Results that occurred, over all cases.
    met: &'k mut BTreeSet<String>,
}

impl Both<'_> {
    fn step(&mut self, step: &Step) -> TestCaseResult {
        match step {
            Step::Later(ns) => {
                self.now_ns += ns;
                self.kernel.set_clock(Some(self.now_ns)).unwrap();
            }
            Step::Bounds(bounds) => {
                self.oracle.load.bounds = bounds.to_vec();
                self.kernel.set_bounds(bounds).unwrap();
            }
            Step::Syn(ends, fragment, data) => {
                let flow = ends.flow(self.base);
                let data = *data && *fragment == Fragment::Whole;
                let decision = self.oracle.syn(self.now_ns, &Syn { flow, fragment: *fragment, data });
                // Either of the two.
                let first_fragment = data && ends.own == 1;
                let payload: &[u8] = if data && !first_fragment { b"GET /a" } else { b"" };
                let said = segment(&flow, SYN, 9, payload);
                let wrapping = Wrapping { first_fragment, ..ends.wrapping.clone() };
                let packet = fragmented(&said, &wrapping, *fragment);
                self.compare(&said, packet, &decision)?;
            }
            Step::Says(ends, ahead, payload, taken) => {
                let flow = ends.flow(self.base);
                let next = self.ends.entry(flow).or_insert(0xffff_ff00);
                let sequence = next.wrapping_add_signed(*ahead);
                *next = sequence.wrapping_add(payload.len() as u32);
                let next = match taken {
                    Taken::Before(more) => Some(sequence.wrapping_add_signed(*more)),
                    Taken::NoMore => Some(self.waits.get(&flow).copied().unwrap_or(sequence)),
                    Taken::Nothing => None,
                };
                self.waits.extend(next.map(|next| (flow, next)));
                self.kernel.set_standing(next).unwrap();
                let whole = reference::TcpSegment { flow, sequence, payload, next };
                let decision = self.oracle.segment(self.now_ns, &whole);
                let said = segment(&flow, PUSH | ACK, sequence, payload);
                let packet = frame(&said, &ends.wrapping);
                self.compare(&said, packet, &decision)?;
            }
        }
        Ok(())
    }

    fn flow_of(&self, said: &Segment<'_>) -> Flow {
        Flow { source: said.from.0, source_port: said.from.1, destination: said.to.0, port: said.to.1 }
    }

    /// The kernel's result for a packet equals the oracle's decision, and it is counted.
    fn compare(&mut self, said: &Segment<'_>, packet: Vec<u8>, decision: &PacketDecision) -> TestCaseResult {
        let reason = decision.refusal().map_or("passed", |(reason, _)| reason.name());
        self.met.extend([format!("{:?}", decision.seen), reason.to_owned()]);
        self.met.extend(decision.unread.map(|kind| format!("unread {}", kind.name())));
        let trial = run_on(self.kernel, "police", &packet, 1);
        match decision.refusal() {
            None => {
                prop_assert_eq!((trial.verdict, &trial.packet), (NEXT, &packet), "passes: {:?}", decision)
            }
            Some((_, Refuse::Drop)) => {
                prop_assert_eq!(trial.verdict, DROPPED, "{:?}", decision)
            }
            Some(_) if said.flags == SYN => {
                prop_assert_eq!(trial.verdict, DROPPED, "{:?}", decision)
            }
            Some(_) => {
                prop_assert_eq!(
                    trial.verdict,
                    NEXT,
                    "refused, and on to the server as a RST: {:?}",
                    decision
                );
                let reset = seen(&trial.packet);
                prop_assert_eq!((reset.from, reset.to, reset.flags), (said.from, said.to, RST | ACK));
                let next = self.waits.get(&self.flow_of(said)).copied();
                prop_assert_eq!(
                    (Some(reset.sequence), reset.payload.len()),
                    (next, 0),
                    "at what the server waits for"
                );
            }
        }
        let after = self.kernel.counters().unwrap();
        let expected =
            counted(&self.table, &self.before, decision, said.payload.is_empty() && said.flags != SYN);
        prop_assert_eq!(&after, &expected, "{:?}", decision);
        self.before = after;
        Ok(())
    }
}

fn segment<'p>(flow: &Flow, flags: u8, sequence: u32, payload: &'p [u8]) -> Segment<'p> {
    let (from, to) = ((flow.source, flow.source_port), (flow.destination, flow.port));
    Segment { from, to, flags, sequence, payload }
}

fn fragmented(said: &Segment<'_>, wrapping: &Wrapping, fragment: Fragment) -> Vec<u8> {
    if fragment == Fragment::Whole {
        return frame(said, wrapping);
    }
    let wrapping = Wrapping { padding: 0, first_fragment: true, ..wrapping.clone() };
    let mut packet = frame(said, &wrapping);
    let tcp = packet.len() - 20 - 4 * wrapping.tcp_options;
    match fragment {
        Fragment::Whole => {}
        // The length in the IP head is larger, as in a truncated capture; the bytes that are there count.
        Fragment::CutHead => packet.truncate(tcp + 12),
        Fragment::Later if said.from.0.is_ipv4() => packet[14 + 7] = 5,
        Fragment::Later => packet[tcp - 8 + 3] |= 8,
    }
    packet
}

fn counted(
    table: &RuleTable,
    before: &KernelCounters,
    decision: &PacketDecision,
    without_payload: bool,
) -> KernelCounters {
    let mut after = before.clone();
    let (seen, outcome) = (decision.seen, decision.outcome);
    after.packets += u64::from(seen != PacketKind::Other && !without_payload);
    after.heads += u64::from(matches!(seen, PacketKind::Plain | PacketKind::Odd));
    after.odd += u64::from(seen == PacketKind::Odd);
    after.bodies += u64::from(seen == PacketKind::Body);
    after.let_in += u64::from(seen == PacketKind::Syn && outcome == PacketOutcome::Pass);
    if let Some(kind) = decision.unread {
        after.unread[Unread::ALL.iter().position(|known| *known == kind).unwrap()] += 1;
    }
    let unread = decision.unread_outcome.map(|outcome| (table.unread, outcome));
    for (rule, outcome) in [(decision.rule, outcome)].into_iter().chain(unread) {
        let rule = rule.map(|id| &mut after.rules[usize::from(id.0)]);
        match outcome {
            PacketOutcome::Pass => rule.into_iter().for_each(|rule| rule.passed += 1),
            PacketOutcome::Refuse { reason, .. } => {
                let place = Reason::ALL.iter().position(|known| *known == reason).unwrap();
                after.refused[place] += 1;
                rule.into_iter().for_each(|rule| rule.refused += 1);
            }
        }
    }
    after
}

/// Runs cases against one set of programs: each has a table of its own, and connections that no other case had.
fn hold(classes: u8, cases: u32, kernel: Programs, queues: &[u32]) -> BTreeSet<String> {
    let state = RefCell::new((kernel, 1_u64 << 40, 0_u16, BTreeSet::new()));
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let case = (
        table(classes),
        table(classes),
        prop::collection::vec(step(), 1..60),
        prop::collection::vec(step(), 1..20),
    );
    let result = runner.run(&case, |(first, second, steps, further)| {
        let (kernel, began_ns, base, met) = &mut *state.borrow_mut();
        *base = base.wrapping_add(2);
        *began_ns += 1 << 40;
        kernel.set_clock(Some(*began_ns)).unwrap();
        kernel.set_bounds(&[]).unwrap();
        kernel.swap(&RuleTable::default()).unwrap();
        kernel.swap(&first).unwrap();
        let mut oracle = Police::new(&first);
        oracle.load.queues = queues.to_vec();
        let before = kernel.counters().unwrap();
        let ends = HashMap::new();
        let (waits, table) = (HashMap::new(), first.clone());
        let mut both =
            Both { kernel, oracle, now_ns: *began_ns, base: *base, ends, waits, before, table, met };
        steps.iter().try_for_each(|step| both.step(step))?;
        both.kernel.swap(&second).unwrap();
        both.oracle.swap(&second);
        both.table = second.clone();
        let counters = both.kernel.counters().unwrap();
        for rule in &counters.rules {
            // Counters stay with the name.
            let old = both.before.rules.iter().find(|old| old.name == rule.name).cloned().unwrap_or_default();
            prop_assert_eq!((rule.passed, rule.refused), (old.passed, old.refused));
        }
        both.before = counters;
        further.iter().try_for_each(|step| both.step(step))
    });
    result.unwrap_or_else(|why| panic!("{why}"));
    state.into_inner().3
}

/// Loaded; packets of a trial are of no card and of no connection.
fn loaded() -> Programs {
    let mut kernel = Programs::load(&RuleTable::default(), PoliceMode::Enforce).unwrap();
    kernel.set_standing(None).unwrap();
    kernel
}

/// All possible decisions occurred.
fn assert_met(met: &BTreeSet<String>, reasons: &[&str]) {
    let kinds = ["Other", "Syn", "Plain", "Odd", "Body", "Rest", "passed"];
    let kinds = kinds.into_iter().chain(["unread tls", "unread http2", "unread upgrade", "unread body"]);
    let missing: Vec<&str> =
        kinds.chain(reasons.iter().copied()).filter(|kind| !met.contains(*kind)).collect();
    assert!(missing.is_empty(), "no case had {missing:?}, only {met:?}");
}

#[test]
fn the_kernel_decides_as_the_reference_does() {
    let Some(namespace) = namespace("the_kernel_decides_as_the_reference_does") else { return };
    let met = namespace.run(|| hold(0, 300, loaded(), &[])).unwrap();
    assert_met(&met, &["rate", "rate-per", "refused", "fragment", "syn-data"]);
}

#[test]
fn queues_refuse_as_the_reference_says() {
    let Some(namespace) = namespace("queues_refuse_as_the_reference_says") else { return };
    namespace
        .run(|| {
            let mut kernel = loaded();
            let listeners: Vec<TcpListener> =
                (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
            let sockets: Vec<ServerListener<'_>> = listeners
                .iter()
                .enumerate()
                .map(|(class, listener)| ServerListener { class: class as u8, socket: listener.as_fd() })
                .collect();
            kernel.steer(&sockets).unwrap();
            let queues = [1, 0, 3];
            let waiting = |(listener, count): (&TcpListener, u32)| {
                let connect = move |_| TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                (0..count).map(connect).collect::<Vec<_>>()
            };
            let _waiting: Vec<_> = listeners.iter().zip(queues).map(waiting).collect();
            assert_met(
                &hold(3, 200, kernel, &queues),
                &["rate", "rate-per", "refused", "queue", "class-port"],
            );
        })
        .unwrap();
}
