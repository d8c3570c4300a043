//! Memory of ten thousand robots of which few ask, and of connections that are kept. Alone in its process, as it reads
//! the process's memory.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test's panic is its message

use bakeoff_loadgen::{Pace, Pools, RequestEnd, RequestListener, Station, StationJob, Target};
use bakeoff_units::Nanos;
use bakeoff_workload::{Ask, Source, Statuses};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;

const ROBOTS: u32 = 10_000;
/// Number of them that ask, once each.
const ASKING: u32 = 2_000;
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

static NEVER: AtomicBool = AtomicBool::new(false);

/// A request for each of the first robots, 50 microseconds apart.
struct Once {
    next: u32,
    asking: u32,
    told: u32,
    /// The resident size when all were answered, in bytes.
    then: i64,
}

impl Source for Once {
    fn next(&mut self, _robot: usize) -> Option<Ask<'_>> {
        let robot = self.next;
        self.next += 1;
        Some(Ask { target: b"/", ticket: robot, robot, ..Ask::default() })
    }

    fn upcoming(&self, _robot: usize) -> Option<Nanos> {
        (self.next < self.asking).then(|| Nanos::from_micros(u64::from(self.next) * 50))
    }
}

impl RequestListener for Once {
    fn ended(&mut self, ended: &RequestEnd<'_>) {
        assert!(ended.result.is_ok() && !ended.head.is_empty());
        self.told += 1;
        if self.told == self.asking {
            self.then = resident();
        }
    }
}

/// Answers one request on each connection and keeps it open.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut kept = Vec::with_capacity(2 * ASKING as usize);
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 1024];
            let mut read = 0;
            while !head[..read].ends_with(b"\r\n\r\n") {
                read += stream.read(&mut head[read..]).unwrap();
            }
            stream.write_all(OK).unwrap();
            kept.push(stream);
        }
    });
    address
}

/// Memory that the job took, in bytes.
fn growth(station: &mut Station, robots: u32, asking: u32) -> i64 {
    let before = resident();
    let job = StationJob {
        sources: vec![Once { next: 0, asking, told: 0, then: 0 }],
        robots: Vec::new(),
        pace: Pace::Pooled(Pools { robots: robots as usize, each: 4 }),
        begins: None,
        timeout: Nanos::from_secs(60),
        until: None,
        check: bakeoff_loadgen::BodyCheck::Full,
        refused: Statuses::default(),
        interrupted: &NEVER,
    };
    let (recording, sources) = station.run_heard(job).unwrap();
    assert_eq!(recording.counters.replies, u64::from(asking));
    assert_eq!(recording.counters.connections, u64::from(asking));
    sources[0].then - before
}

#[test]
fn robots_and_kept_connections_take_less_than_a_kilobyte_each() {
    bakeoff_sys::rlimit::raise_open_files(4 * u64::from(ASKING)).unwrap();
    let mut station = Station::new(Target::plain(server(), "localhost".to_owned()), 1, Vec::new()).unwrap();
    growth(&mut station, 10, 10); // what is there anyway
    let idle = growth(&mut station, ROBOTS, 10);
    let kept = growth(&mut station, ASKING, ASKING);
    println!("{ROBOTS} robots, 10 of which ask: {idle} bytes; {ASKING} with a kept connection: {kept} bytes");
    let noise = 1 << 20;
    assert!(idle < i64::from(ROBOTS) * 64 + noise, "{idle}");
    assert!(kept < i64::from(ASKING) * 1024 + noise, "{kept}");
}

/// The resident size, in bytes.
fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<i64>().unwrap() * 1024
}
