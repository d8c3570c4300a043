//! Recorder of exchanges at both ends of a cache: a run of robots, with taps before the cache and between it and our
//! origin.
//!
//!     cargo run -p bakeoff-caches --example record -- PLAN.toml CACHE ORIGIN_PORT OUT.jsonl.gz "words about the cache"
//!
//! CACHE is the address of a reverse proxy that runs already and asks 127.0.0.1:ORIGIN_PORT; written as
//! `forward:ADDRESS` it is asked with whole URLs. The plan's rate and phases count. Put the file into
//! `tests/recorded/exchanges/` to hold the judge against it for ever (`cargo test -p bakeoff-caches --test innocence`).

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a developer's program: its panic is its message

#[path = "../tests/innocence/exchange.rs"]
mod exchange;

use bakeoff_content::Catalogue;
use bakeoff_loadgen::{BodyCheck, Station, StationJob, Target};
use bakeoff_origin::{Costs, Origin, OriginOptions, World};
use bakeoff_robots::judge::Accepts;
use bakeoff_robots::ledger::{INTERVAL, Ledger};
use bakeoff_robots::{FillGate, FinishedRequest, Population, Robots, Setting, Spec, TargetForm, Worker};
use bakeoff_units::Nanos;
use bakeoff_workload::Statuses;
use exchange::{About, OfOrigin, OfRobots, Recording};
use flate2::Crc;
use flate2::read::GzDecoder;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [plan, cache, origin_port, out, about] = words.as_slice() else {
        eprintln!("record PLAN.toml [forward:]CACHE ORIGIN_PORT OUT.jsonl.gz WORDS");
        std::process::exit(2);
    };
    let plan = std::fs::read_to_string(plan).unwrap();
    let origin_at: SocketAddr = format!("127.0.0.1:{origin_port}").parse().unwrap();
    let (form, address) = match cache.strip_prefix("forward:") {
        Some(address) => (TargetForm::Absolute(origin_at.to_string()), address),
        None => (TargetForm::Origin, cache.as_str()),
    };
    let (spec, world) = parts_of(&plan);
    let origin = origin(&world);
    let (behind, _) = Tap::start(origin_at, origin.url().split("//").nth(1).unwrap().parse().unwrap());
    let (before, cache_at) = Tap::start("127.0.0.1:0".parse().unwrap(), address.parse().unwrap());
    let (mut robots, began_unix) = run(spec, &world, (cache_at, origin_at, form));
    let came = before.exchanges(began_unix);
    let came: HashMap<u64, Option<u32>> =
        came.iter().map(|of| (asked_by(&of.request), of.body_crc)).collect();
    for exchange in &mut robots {
        exchange.body_crc = came.get(&exchange.stamp).copied().flatten();
    }
    let about = About { cache: about.clone(), plan, began_unix_ns: began_unix.get() };
    let recording = Recording { about, robots, origin: behind.exchanges(began_unix) };
    recording.write(out.as_ref()).unwrap();
    eprintln!("{out}: {} exchanges, {} at the origin", recording.robots.len(), recording.origin.len());
}

/// The robots and the world of a plan.
fn parts_of(plan: &str) -> (Spec, World) {
    let table: toml::Table = toml::from_str(plan).unwrap();
    let part = |names: [&str; 2]| {
        let keys = table.iter().filter(|(name, _)| names.contains(&name.as_str()));
        toml::to_string(&keys.map(|(name, value)| (name.clone(), value.clone())).collect::<toml::Table>())
            .unwrap()
    };
    (
        Spec::from_toml(&part(["robots", "phase"])).unwrap(),
        World::from_toml(&part(["content", "origin"])).unwrap(),
    )
}

fn origin(world: &World) -> Origin {
    let options = OriginOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        threads: 1,
        catalogue: Catalogue::default(),
        tls: None,
        http2: false,
        world: Some(world.clone()),
        burn: Costs::default(),
        for_caches: None,
    };
    Origin::start(options).unwrap()
}

/// All phases of these robots; returns their exchanges, and when they began.
fn run(spec: Spec, world: &World, to: (SocketAddr, SocketAddr, TargetForm)) -> (Vec<OfRobots>, Nanos) {
    let (cache, origin, form) = to;
    let (spec, model) = (Arc::new(spec), Arc::new(world.model.clone()));
    let mut target = Target::plain(cache, origin.to_string());
    target.reuse = spec.reuse(1);
    let start_unix = now_unix();
    let setting = Setting {
        world: start_unix.get(),
        seed: start_unix.get(),
        start_unix,
        worker: Worker::ONLY,
        form,
        gate: FillGate::new(),
    };
    let (send, records) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let ledger = Ledger::new(0, INTERVAL, Nanos::ZERO, send);
    let robots = Robots::new(Population::new(spec.clone(), model, setting), ledger, &target)
        .thinking(world.think.clone())
        .telling(move |heard| drop(tell.send(recorded(heard))));
    let interrupted = AtomicBool::new(false);
    let job = StationJob {
        sources: vec![robots],
        robots: Vec::new(),
        pace: spec.pace(),
        begins: None,
        timeout: Nanos::from_secs(60),
        until: None,
        check: BodyCheck::Full,
        refused: Statuses::default(),
        interrupted: &interrupted,
    };
    let (_, mut sources) = Station::new(target, 1, Vec::new()).unwrap().run_heard(job).unwrap();
    drop(sources.remove(0).finish());
    drop(records);
    (told.iter().collect(), start_unix)
}

fn recorded(heard: &FinishedRequest<'_>) -> OfRobots {
    let (flight, entry, reply) = (heard.flight, heard.entry, heard.reply);
    let mut id = Vec::new();
    flight.name.write_id(heard.population.model(), &mut id);
    OfRobots {
        stamp: flight.stamp,
        object: String::from_utf8(id).unwrap(),
        kind: serde_json::to_value(flight.kind).unwrap(),
        repeat: flight.repeat,
        embedded: flight.embedded,
        accepts: match flight.accepts {
            Accepts::Anything => "",
            Accepts::Identity => "identity",
            Accepts::Gzip => "gzip",
        }
        .to_owned(),
        sends: flight.sends,
        due: flight.due.get(),
        written: flight.written.get(),
        sent: entry.sent.get(),
        done: entry.done.get(),
        resent: entry.resent,
        body_bytes: reply.body_bytes,
        body_crc: None,
        error: reply.error.map(|class| class.as_str().to_owned()),
        request: String::from_utf8_lossy(&heard.population.request_text(flight)).into_owned(),
        reply: String::from_utf8_lossy(reply.head).into_owned(),
    }
}

fn now_unix() -> Nanos {
    Nanos::from_duration(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
}

/// The stamp of a request.
fn asked_by(request: &str) -> u64 {
    let value = request.split("X-Bakeoff: ask=").nth(1).and_then(|rest| rest.get(..16));
    value.and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// Passes bytes on, both ways, and keeps them with their times. It reads no message before the run is over.
struct Tap(Arc<Mutex<Vec<Connection>>>);

/// What went up to the origin, and what came down.
type Connection = [Arc<Mutex<Stream>>; 2];

/// What went in one direction: all bytes, and where those of each moment end.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    came: Vec<(usize, Nanos)>,
}

impl Stream {
    /// When the byte before this place came.
    fn time(&self, end: usize) -> Nanos {
        self.came.iter().find(|(upto, _)| *upto >= end).map_or(Nanos::ZERO, |(_, at)| *at)
    }

    /// Heads of the messages, and where they and their bodies end. `bodies` tells which have none, whatever they say.
    fn messages(&self, bodies: impl Fn(usize, &str) -> bool) -> Vec<(String, usize, usize)> {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(length) = self.bytes[at..].windows(4).position(|end| end == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&self.bytes[at..at + length + 4]).into_owned();
            let body =
                if bodies(found.len(), &head) { content(&self.bytes[at + length + 4..], &head) } else { 0 };
            let end = at + length + 4;
            at = (end + body).min(self.bytes.len());
            found.push((head, end, at));
        }
        found
    }
}

/// Length of the body behind this head, framing and all.
fn content(rest: &[u8], head: &str) -> usize {
    if is_chunked(head) {
        return rest.windows(5).position(|end| end == b"0\r\n\r\n").map_or(rest.len(), |at| at + 5);
    }
    field(head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0)
}

fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn is_chunked(head: &str) -> bool {
    field(head, "transfer-encoding").is_some()
}

/// CRC-32 of a body without its codings, if all of it is here.
fn body_crc(head: &str, framed: &[u8]) -> Option<u32> {
    let bare = if is_chunked(head) { unchunked(framed)? } else { framed.to_vec() };
    let length: Option<usize> = field(head, "content-length").and_then(|length| length.parse().ok());
    if bare.is_empty() || length.is_some_and(|length| length != bare.len()) {
        return None;
    }
    let mut crc = Crc::new();
    match field(head, "content-encoding") {
        None => crc.update(&bare),
        Some("gzip") => {
            let mut plain = Vec::new();
            GzDecoder::new(&*bare).read_to_end(&mut plain).ok()?;
            crc.update(&plain);
        }
        Some(_) => return None,
    }
    Some(crc.sum())
}

fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut bare = Vec::new();
    loop {
        let end = rest.windows(2).position(|end| end == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        if size == 0 {
            return Some(bare);
        }
        bare.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + size + 4..)?;
    }
}

impl Tap {
    /// A tap at this address, which is returned with the port that it took.
    fn start(at: SocketAddr, behind: SocketAddr) -> (Self, SocketAddr) {
        let listener = TcpListener::bind(at).unwrap();
        let at = listener.local_addr().unwrap();
        let tap = Self(Arc::default());
        let connections = tap.0.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(behind) else { continue }; // killed, and not yet started again
                let kept = Connection::default();
                connections.lock().unwrap().push(kept.clone());
                let [up, down] = kept;
                pass(client.try_clone().unwrap(), server.try_clone().unwrap(), up);
                pass(server, client, down);
            }
        });
        (tap, at)
    }

    /// All exchanges, in the order in which they were asked.
    fn exchanges(&self, began_unix: Nanos) -> Vec<OfOrigin> {
        let mut all = Vec::new();
        for [up, down] in &*self.0.lock().unwrap() {
            let (up, down) = (up.lock().unwrap(), down.lock().unwrap());
            let requests = up.messages(|_, _| true);
            let is_final = |head: &str| !head.starts_with("HTTP/1.1 1");
            let has_body = |nth: usize, head: &str| {
                let asked_for_head =
                    requests.get(nth).is_some_and(|(request, ..)| request.starts_with("HEAD"));
                is_final(head) && !asked_for_head && !head.starts_with("HTTP/1.1 304")
            };
            let replies = down.messages(has_body).into_iter().filter(|(head, ..)| is_final(head));
            for ((request, asked, _), (reply, begin, done)) in requests.iter().zip(replies) {
                let body_crc = body_crc(&reply, &down.bytes[begin..done]);
                let since = |at: Nanos| at.since(began_unix).get();
                let (asked, done) = (since(up.time(*asked)), since(down.time(done)));
                all.push(OfOrigin { asked, done, request: request.clone(), reply, body_crc });
            }
        }
        all.sort_by_key(|exchange| exchange.asked);
        all
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, kept: Arc<Mutex<Stream>>) {
    let start = (now_unix(), Instant::now());
    thread::spawn(move || {
        let _ = (from.set_nodelay(true), to.set_nodelay(true));
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(came) = from.read(&mut buffer) {
            let now = start.0 + Nanos::from_duration(start.1.elapsed());
            if came == 0 || to.write_all(&buffer[..came]).is_err() {
                break;
            }
            let mut kept = kept.lock().unwrap();
            kept.bytes.extend_from_slice(&buffer[..came]);
            let end = kept.bytes.len();
            kept.came.push((end, now));
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
