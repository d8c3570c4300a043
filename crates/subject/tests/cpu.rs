//! CPU readings against a server that knows what it burned, in threads and children that end inside the measured span.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{CpuChoice, CpuReading, CpuSource, Running};
use bakeoff_units::Nanos;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use support::{Yard, command, play};

struct Burner {
    running: Running,
    stream: BufReader<TcpStream>,
}

impl Burner {
    /// None when this machine has no such source.
    fn start(yard: &Yard, choice: CpuChoice) -> Option<Self> {
        let mut context = yard.context("burner");
        context.cpu_source = choice;
        let spec = command(&[&play().display().to_string(), "burner", "{port}"]);
        let running = match bakeoff_subject::start(&spec, &context) {
            Ok(running) => running,
            Err(error) if choice != CpuChoice::Clocks && error.to_string().contains("cgroup") => {
                println!("SKIP {choice:?}: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let stream = BufReader::new(TcpStream::connect(running.address).unwrap());
        Some(Self { running, stream })
    }

    /// CPU it has used by its own account, after burning once more.
    fn burn(&mut self) -> Nanos {
        self.stream.get_mut().write_all(b"burn\n").unwrap();
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        Nanos::new(line.trim().parse().unwrap())
    }

    fn read(&self) -> CpuReading {
        self.running.cpu().unwrap()
    }
}

/// 100 ms in threads, 150 ms in children, and what starting them costs.
const LEAST: Nanos = Nanos::from_millis(250);

/// A scheduler tick on each of two cores (cgroups lag behind by as much), what the burner does between its own reading
/// and ours, and what a hypervisor takes. Less than the error of a source that misses ended threads (100 ms) or
/// children (150 ms).
const SLACK: Nanos = Nanos::from_millis(60);

#[test]
fn every_source_finds_what_was_burned() {
    let yard = Yard::new();
    let sources = [
        (CpuChoice::CgroupV1, CpuSource::CgroupV1),
        (CpuChoice::CgroupV2, CpuSource::CgroupV2),
        (CpuChoice::Clocks, CpuSource::Clocks),
    ];
    for (choice, source) in sources {
        let Some(mut burner) = Burner::start(&yard, choice) else { continue };
        let own_before = burner.burn();
        let before = burner.read();
        let own = burner.burn().since(own_before);
        let after = burner.read();
        let seen = after.nanos.since(before.nanos);
        let error = seen.get().abs_diff(own.get());
        println!("{source}: seen {seen}, burned {own}, resolution {}", after.resolution);
        assert_eq!(after.source, source);
        assert!(own >= LEAST, "{own}");
        assert!(error <= (SLACK + after.resolution).get(), "{source}: seen {seen}, burned {own}");
    }
}

#[test]
fn at_rest_nothing_is_used() {
    let yard = Yard::new();
    for choice in [CpuChoice::Auto, CpuChoice::Clocks] {
        let burner = Burner::start(&yard, choice).unwrap();
        let before = burner.read();
        // It rests while we do not.
        let start = bakeoff_sys::thread::cpu_time();
        while bakeoff_sys::thread::cpu_time().since(start) < Nanos::from_millis(60) {}
        let after = burner.read();
        let used = after.nanos.since(before.nanos);
        assert!(used < Nanos::from_millis(20), "{choice:?}: {used}");
    }
}
