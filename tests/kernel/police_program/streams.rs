//! Segments as a real server reads them: random conversations over a wire of the test's own, against nginx' log.
//!
//! Segments that no kernel of a client makes are written on the wire: overlaps, gaps, forged and urgent ones. With
//! `/noaccess` and all odd requests refused the server must not read any `/noaccess`; in mode `log` it reads some of
//! each kind, so each kind could get through.

use crate::link::ip;
use crate::packets::{ACK, PUSH, RST, SYN, Segment, Wrapping, checksum, frame, pseudo};
use crate::server::{nginx, wait_until};
use crate::spellings::{ALL, spelled};
use crate::stage::{namespace, skip};
use bakeoff_layers_police::kernel::{PoliceMode, Programs};
use bakeoff_layers_police::rules::Rules;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::process::Command;

/// How many conversations, and of how many the server's log is looked at together.
const CONVERSATIONS: u64 = 3_000;
const TOGETHER: usize = 60;
const URGENT: u8 = 32;
const END: &str = " HTTP/1.1\r\nHost: x\r\n\r\n";
const RULES: &str = "[server]\nlisten = [80, 81]\n[[request]]\npath = \"/noaccess\"\nrefuse = \"reset\"\n[odd]\nrefuse = \"reset\"\n\
    [unread]\nrefuse = \"reset\"\n";

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % most as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Why a server's kernel takes no notice of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    None,
    WrongSum,
    NoAck,
    WrongAck,
}

/// A segment, at an offset in its stream.
#[derive(Clone, Debug)]
struct Piece {
    at: usize,
    payload: String,
    harm: Harm,
    urgent: u16,
    /// Where its packet is cut in two, in eighths of a byte, if it is; the second comes first if that is odd.
    fragments: usize,
    /// The server's reply is waited for.
    answered: bool,
}

fn piece(at: usize, payload: impl Into<String>) -> Piece {
    Piece { at, payload: payload.into(), harm: Harm::None, urgent: 0, fragments: 0, answered: false }
}

/// In order, each behind the one before.
fn in_order(parts: &[String]) -> Vec<Piece> {
    let mut at = 0;
    let mut next = |part: &String| {
        at += part.len();
        piece(at - part.len(), part.clone())
    };
    parts.iter().map(&mut next).collect()
}

const KINDS: [&str; 10] =
    ["method", "urgent", "behind", "ahead", "first", "decoy", "split", "long", "fragments", "mixed"];
const HONEST: &str = "honest";

/// A conversation by its kind. All but honest ones try to get `/noaccess?ID` read.
fn conversation(dice: &mut Dice, kind: &str, id: u64) -> Vec<Piece> {
    let hidden = format!("GET /noaccess?{id}{END}");
    let ok = format!("GET /ok?{id}{END}");
    let post =
        |length: usize| format!("POST /ok?{id} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    let more = 300 + dice.below(900);
    let long = |more: usize| format!("GET /ok?{id} HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(more));
    let harm = dice.one(&[Harm::WrongSum, Harm::NoAck, Harm::WrongAck]);
    match kind {
        "method" => {
            let method = dice.one(&["G-T", "GET_X", "\r\nGET", "\nGET", "GE", "ABCDEFGHIJKLMNOPQ"]);
            in_order(&[ok, hidden.replacen("GET", method, 1)])
        }
        "urgent" => {
            let at = 4 + dice.below(9);
            let before = dice.below(2) * ok.len();
            let mut said = vec![piece(0, ok); usize::from(before > 0)];
            let mut urgent = piece(before, hidden);
            urgent.payload.insert(at, 'X');
            let announced = Piece { urgent: at as u16 + 1, payload: String::new(), ..urgent.clone() };
            urgent.urgent = if dice.below(2) == 0 { announced.urgent } else { 0 };
            said.extend((urgent.urgent == 0).then_some(announced));
            said.push(urgent);
            said
        }
        "behind" => {
            let more = 1 + dice.below(20);
            vec![piece(0, ok.clone()), piece(ok.len() - more, "x".repeat(more) + &hidden)]
        }
        "ahead" => {
            let body = 1 + dice.below(9);
            let filler = post(body) + &"b".repeat(body);
            let over = dice.below(body + 1);
            let begin = ok.len();
            let ahead = piece(begin + filler.len() - over, "x".repeat(over) + &hidden);
            vec![piece(0, ok), ahead, piece(begin, filler)]
        }
        "first" => vec![Piece { harm, ..piece(0, post(900_000_000)) }, piece(0, hidden)],
        "decoy" => {
            let decoy = post(900_000_000);
            let (from, fill) = (ok.len(), decoy.len() - format!("GET /ok?{END}").len());
            let filler = format!("GET /ok?{}{END}", "f".repeat(fill));
            let hidden = piece(from + decoy.len(), hidden);
            vec![piece(0, ok), Piece { harm, ..piece(from, decoy) }, hidden, piece(from, filler)]
        }
        "fragments" => {
            let mut said = in_order(&[ok, hidden]);
            said[1].fragments = 3 + dice.below(5);
            said
        }
        "split" => cut(dice, &(ok + &hidden), 0),
        "long" => cut(dice, &(long(more) + &hidden), 0),
        "mixed" => {
            let parts =
                [ok.clone(), hidden.clone(), post(hidden.len()) + &hidden, long(400), post(3) + "123"];
            let all: String =
                (0..1 + dice.below(4)).map(|_| parts[dice.below(parts.len())].clone()).collect();
            let overlap = dice.below(4);
            let mut said = cut(dice, &(all + &hidden), overlap);
            for _ in 0..dice.below(4) {
                let (one, other) = (dice.below(said.len()), dice.below(said.len()));
                match dice.below(3) {
                    0 => said.swap(one, other),
                    1 => said.insert(one, said[other].clone()),
                    _ => {
                        let decoy = Piece { harm, payload: post(900), ..said[other].clone() };
                        said.insert(one, decoy);
                    }
                }
            }
            said
        }
        _ => honest(dice, &[ok, long(more), post(60)]),
    }
}

/// A stream in random segments; each begins up to `overlap` bytes early, and ends as many late, with other bytes.
fn cut(dice: &mut Dice, stream: &str, overlap: usize) -> Vec<Piece> {
    let mut ends: Vec<usize> = (0..dice.below(4)).map(|_| dice.below(stream.len())).collect();
    // Often where a request begins.
    ends.extend(stream.match_indices("\r\n\r\n").map(|(at, _)| at + 4).filter(|_| dice.below(3) > 0));
    ends.extend([0, stream.len()]);
    ends.sort_unstable();
    ends.dedup();
    let one = |ends: &[usize]| {
        let (early, late) = (dice.below(overlap + 1).min(ends[0]), dice.below(overlap + 1));
        let payload = "y".repeat(early) + &stream[ends[0]..ends[1]] + &"z".repeat(late);
        piece(ends[0] - early, payload)
    };
    ends.windows(2).map(one).collect()
}

/// Requests one after the other, each when the one before was answered; segments that come twice, bodies in parts.
fn honest(dice: &mut Dice, requests: &[String; 3]) -> Vec<Piece> {
    let (mut said, mut at) = (Vec::new(), 0);
    for _ in 0..1 + dice.below(3) {
        let request = dice.one(&[0, 1, 2]);
        let text = &requests[request];
        match request {
            1 if dice.below(2) == 0 => {
                // Broken off where a segment is full, behind what is read of a head at once.
                let (first, second) = text.split_at(300);
                said.extend([piece(at, first), piece(at + first.len(), second)]);
            }
            2 => {
                let (first, second) = ("1".repeat(dice.below(61)), at + text.len());
                said.push(piece(at, text.clone()));
                said.push(piece(second, first.clone()));
                // The rest, with what came before it again.
                let again = dice.below(first.len() + 1);
                said.push(piece(second + first.len() - again, "1".repeat(60 - first.len() + again)));
                at += 60;
            }
            _ => said.push(piece(at, text.clone())),
        }
        at += text.len();
        said.retain(|piece| !piece.payload.is_empty());
        if let Some(last) = said.last_mut() {
            last.answered = true;
        }
        if dice.below(2) == 0 {
            said.extend(said.last().cloned().map(|last| Piece { answered: false, ..last }));
        }
    }
    said
}

/// The client's end of the wire, below any kernel of a client.
struct Wire {
    tap: File,
    /// Of each connection, by the client's port: the server's port, its first number, what it has acknowledged last,
    /// and whether it has replied.
    ends: HashMap<u16, (u16, u32, u32, bool)>,
}

const FIRST: u32 = 0xffff_ff00;

/// A packet in two, behind so many times eight bytes; or whole.
fn fragments(packet: Vec<u8>, eights: usize) -> Vec<Vec<u8>> {
    if eights == 0 {
        return vec![packet];
    }
    let (head, said) = packet.split_at(34);
    let parts = [(0, &said[..8 * eights]), (eights, &said[8 * eights..])].map(|(at, part)| {
        let mut bytes = [head, part].concat();
        let more = if at == 0 { 0x20 } else { 0 };
        bytes[16..18].copy_from_slice(&(20 + part.len() as u16).to_be_bytes());
        // Its number, so that those of no other packet are put together with it.
        bytes[18..20]
            .copy_from_slice(&head[24..26].iter().zip(&said[..2]).map(|(a, b)| a ^ b).collect::<Vec<_>>());
        bytes[20..22].copy_from_slice(&[more, at as u8]);
        bytes[24..26].fill(0);
        let sum = checksum(&[&bytes[14..34]]);
        bytes[24..26].copy_from_slice(&sum.to_be_bytes());
        bytes
    });
    let mut parts = parts.to_vec();
    parts.rotate_left(eights % 2);
    parts
}

impl Wire {
    fn send(&mut self, port: u16, flags: u8, sequence: u32, said: &Piece) {
        let [client, server]: [IpAddr; 2] = ["198.18.0.2", "198.18.0.1"].map(|text| text.parse().unwrap());
        let (to, isn, ..) = self.ends[&port];
        let (from, to) = ((client, port), (server, to));
        let urgent = if said.urgent > 0 { URGENT } else { 0 };
        let flags = (flags | urgent) & !if said.harm == Harm::NoAck { ACK } else { 0 };
        let segment = Segment { from, to, flags, sequence, payload: said.payload.as_bytes() };
        let mut bytes = frame(&segment, &Wrapping::default());
        let harm = if said.harm == Harm::WrongAck { 1 << 30 } else { 0 };
        bytes[42..46].copy_from_slice(&isn.wrapping_add(1 + harm).to_be_bytes());
        bytes[50..52].fill(0);
        bytes[52..54].copy_from_slice(&said.urgent.to_be_bytes());
        let sum = checksum(&[&pseudo(client, server, bytes.len() - 34), &bytes[34..]]);
        let sum = sum ^ if said.harm == Harm::WrongSum { 0x5555 } else { 0 };
        bytes[50..52].copy_from_slice(&sum.to_be_bytes());
        for packet in fragments(bytes, said.fragments) {
            self.tap.write_all(&packet).unwrap();
        }
        self.hear();
    }

    /// Takes in all that the server has sent.
    fn hear(&mut self) {
        let mut bytes = [0; 2048];
        while let Ok(read) = self.tap.read(&mut bytes) {
            let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
            let port = u16::from_be_bytes([bytes[36], bytes[37]]);
            if read < 54 || bytes[12..14] != [8, 0] || bytes[23] != 6 {
                continue;
            }
            let Some(end) = self.ends.get_mut(&port) else { continue };
            if bytes[47] == SYN | ACK {
                end.1 = word(38);
            }
            end.2 = word(42);
            end.3 |= read > 34 + usize::from(bytes[46] >> 4) * 4;
        }
    }

    fn say(&mut self, port: u16, to: u16, handshake: bool, said: &[Piece]) {
        let nothing = piece(0, "");
        self.ends.insert(port, (to, 0, 0, false));
        self.send(port, SYN, FIRST, &nothing);
        wait_until("the server answers a SYN", || {
            self.hear();
            self.ends[&port].2 == FIRST.wrapping_add(1)
        });
        if handshake {
            self.send(port, ACK, FIRST.wrapping_add(1), &nothing);
        }
        for piece in said {
            self.ends.entry(port).and_modify(|end| end.3 = false);
            self.send(port, PUSH | ACK, FIRST.wrapping_add(1 + piece.at as u32), piece);
            if piece.answered {
                wait_until(&format!("{said:?} is answered"), || {
                    self.hear();
                    self.ends[&port].3
                });
            }
        }
    }

    /// Ends all connections.
    fn hang_up(&mut self) {
        self.hear();
        let ends: Vec<(u16, u32)> = self.ends.iter().map(|(port, end)| (*port, end.2)).collect();
        ends.into_iter().for_each(|(port, next)| self.send(port, RST | ACK, next, &piece(0, "")));
        self.ends.clear();
    }
}

/// Requests that the server has read since the last look: not those that it called wrong.
fn read_by_server(log: &mut File) -> Vec<String> {
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    text.lines().filter(|line| !line.starts_with("400 ")).map(str::to_owned).collect()
}

/// Says so many conversations, as `of` makes them; returns how many of each kind the server has read, where that is
/// not what is wanted.
fn say_all(
    wire: &mut Wire,
    log: &mut File,
    (first, conversations): (u64, u64),
    of: impl Fn(&mut Dice, u64) -> (&'static str, Vec<Piece>),
) -> BTreeMap<&'static str, u64> {
    let mut dice = Dice(first);
    let mut got_through = BTreeMap::new();
    let all: Vec<u64> = (first..first + conversations).collect();
    for together in all.chunks(TOGETHER) {
        let mut said = HashMap::new();
        for id in together {
            let (kind, pieces) = of(&mut dice, *id);
            let port = 10_000 + (id % 50_000) as u16;
            // A server that defers does not hear of a handshake; without its end the first segment ends it.
            wire.say(port, dice.one(&[80, 81]), dice.below(4) > 0, &pieces);
            said.insert(*id, (kind, pieces));
        }
        // Once for what waits to be accepted, and once for what was read with it.
        let mut read = Vec::new();
        for marker in 0..2 {
            wire.say(9_998 + marker, 81, true, &[piece(0, format!("GET /marker{marker}{END}"))]);
            wait_until("the server has read all before", || {
                wire.hear();
                read.extend(read_by_server(log));
                read.iter().any(|line| line.contains(&format!("/marker{marker}")))
            });
        }
        wire.hang_up();
        for line in read.iter().filter(|line| line.contains("/noaccess?")) {
            let id = line.split(['?', ' ']).skip(1).find_map(|word| word.parse::<u64>().ok());
            if id.is_some_and(|id| id < first) {
                continue; // read late, and judged in the mode before
            }
            // What was written over may have no number.
            let known = id.and_then(|id| said.get(&id)).cloned();
            let (kind, pieces) = known.unwrap_or(("mixed", Vec::new()));
            let count = got_through.entry(kind).or_insert(0_u64);
            *count += 1;
            if *count == 1 {
                println!("{kind}: {line}: {pieces:?}");
            }
        }
    }
    got_through
}

#[test]
fn no_segmentation_hides_a_request_from_the_rules_that_a_real_server_reads() {
    let test = "no_segmentation_hides_a_request_from_the_rules_that_a_real_server_reads";
    let Some(here) = namespace(test) else { return };
    if Command::new("nginx").arg("-v").output().is_err() {
        return skip(test, "needs nginx");
    }
    let wanted =
        std::env::var("CONVERSATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(CONVERSATIONS);
    let dir = tempfile::tempdir().unwrap();
    let tap = here.run(|| bakeoff_sys::tap::create("wire").unwrap()).unwrap();
    ip(&here, "link set wire address 02:00:00:00:00:01 up");
    ip(&here, "address add 198.18.0.1/24 dev wire");
    ip(&here, "neighbour replace 198.18.0.2 lladdr 02:00:00:00:00:02 dev wire nud permanent");
    here.run(|| {
        let text = "log_format short '$status $uri?$args'; access_log {dir}/log short; server { listen 198.18.0.1:80 deferred; \
             listen 198.18.0.1:81; location / { return 200 ok; } }";
        let _nginx = nginx(dir.path(), text, "198.18.0.1:81");
        let mut log = File::open(dir.path().join("log")).unwrap();
        let table = Rules::of_text(RULES, "rules.toml").unwrap().table;
        let mut programs = Programs::load(&table, PoliceMode::Log).unwrap();
        programs.attach("wire").unwrap();
        let mut wire = Wire { tap, ends: HashMap::new() };
        let random = |dice: &mut Dice, id: u64| {
            let kind = *KINDS.iter().chain([&HONEST]).nth(dice.below(KINDS.len() + 1)).unwrap();
            (kind, conversation(dice, kind, id))
        };
        // In order, so that each spelling comes to both ports sooner or later.
        let spelled = |_: &mut Dice, id: u64| ("spelling", in_order(&spelled(id % ALL, id)));
        let mut served = say_all(&mut wire, &mut log, (1_000, 600), random);
        served.extend(say_all(&mut wire, &mut log, (2_000, ALL), spelled));
        println!("{ALL} spellings: {served:?}");
        assert!(served["spelling"] > ALL / 4, "too few are read anywhere: {served:?}");
        let missing: Vec<&&str> = KINDS.iter().filter(|kind| !served.contains_key(**kind)).collect();
        assert!(missing.is_empty(), "of {missing:?} none got through where nothing is refused: {served:?}");
        programs.set_mode(PoliceMode::Enforce).unwrap();
        let mut served = say_all(&mut wire, &mut log, (10_000, wanted), random);
        served.extend(say_all(&mut wire, &mut log, (5_000, 2 * ALL), spelled));
        let counters = programs.counters().unwrap();
        println!(
            "{wanted} conversations, {} segments, {} heads, {} odd",
            counters.packets, counters.heads, counters.odd
        );
        assert_eq!(served, BTreeMap::new());
        assert!(counters.unread.iter().all(|count| *count > 0), "{counters:?}");
    })
    .unwrap();
}
