//! Limits on real processes: their effect, their counters, and their removal without a trace.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{Context, CpuChoice, LimitsHit, Running, SubjectError};
use bakeoff_sys::process::{self, Signal};
use bakeoff_units::{Bytes, BytesPerSecond, Clock, MonotonicClock, Nanos};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::{Yard, all_gone, cgroups_of, command, identity, play};

/// A server that runs commands within its limits.
struct Limited {
    running: Running,
    stream: BufReader<TcpStream>,
}

impl Limited {
    /// None where this machine cannot set such limits.
    fn start(test: &str, context: &Context<'_>) -> Option<Self> {
        let spec = command(&[&play().display().to_string(), "shell", "{port}"]);
        let running = match bakeoff_subject::start(&spec, context) {
            Ok(running) => running,
            Err(SubjectError::Limit { reason, .. }) => {
                assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
                println!("SKIP {test}: {reason}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let stream = BufReader::new(TcpStream::connect(running.address).unwrap());
        Some(Self { running, stream })
    }

    /// Runs a command inside; returns the limit readings before and after it, and the time.
    fn run(&mut self, script: &str) -> (LimitsHit, LimitsHit, Nanos) {
        let clock = MonotonicClock::new();
        let before = self.running.limits_hit();
        writeln!(self.stream.get_mut(), "{script}").unwrap();
        let mut answer = String::new();
        self.stream.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim(), "exit status: 0", "{script}");
        (before, self.running.limits_hit(), clock.now())
    }

    fn stop(self) {
        let supervisor = self.running.supervisor_process().unwrap();
        let all: Vec<_> = self.running.processes().into_iter().map(identity).collect();
        assert!(!cgroups_of(supervisor).is_empty());
        self.running.stop();
        all_gone(&all, Duration::ZERO);
        assert!(cgroups_of(supervisor).is_empty());
    }
}

#[test]
fn a_quota_throttles_and_says_for_how_long() {
    let yard = Yard::new();
    for choice in [CpuChoice::Auto, CpuChoice::Clocks] {
        let mut context = yard.context("quota");
        context.limits.cpus = Some(0.02); // less than the busiest machine leaves it
        context.cpu_source = choice;
        let Some(mut limited) = Limited::start("a_quota_throttles_and_says_for_how_long", &context) else {
            return;
        };
        let used = limited.running.cpu().unwrap();
        let (before, after, wall) = limited.run(&format!("{} burn 30", play().display()));
        let used = limited.running.cpu().unwrap().nanos.since(used.nanos);
        assert!(after.throttled.unwrap() > before.throttled.unwrap(), "{before:?} {after:?}");
        assert_eq!((after.memory, after.storage_share(&before, wall)), (None, None));
        // The burner reads its own clock, and that counts what a hypervisor took.
        assert!(used >= Nanos::from_millis(10), "still read: {used}");
        // 30 ms are 15 periods of 100 ms; the kernel's steps are coarse, so a quarter of that.
        assert!(wall >= Nanos::from_millis(400), "{wall}");
        limited.stop();
    }
}

#[test]
fn memory_that_was_wanted_beyond_the_limit_is_counted() {
    let yard = Yard::new();
    let mut context = yard.context("small");
    context.limits.memory = Some(Bytes::new(16 << 20));
    let Some(mut limited) = Limited::start("memory_that_was_wanted_beyond_the_limit_is_counted", &context)
    else {
        return;
    };
    let file = yard.path("base/big");
    let script = format!("dd if=/dev/zero of={} bs=1M count=24 2> /dev/null", file.display());
    let (before, after, _) = limited.run(&script);
    assert!(after.memory.unwrap() > before.memory.unwrap(), "{before:?} {after:?}");
    assert_eq!(after.throttled, None);
    limited.stop();
}

#[test]
fn reading_is_throttled_on_the_device_of_the_site() {
    let test = "reading_is_throttled_on_the_device_of_the_site";
    let yard = Yard::new();
    std::fs::write(yard.path("site/blob"), vec![7; 1 << 20]).unwrap();
    let mut context = yard.context("slow");
    context.limits.read = BytesPerSecond::new(2 << 20);
    let Some(mut limited) = Limited::start(test, &context) else { return };
    let script = format!(
        "sync {0}; dd if={0} of=/dev/null bs=64k iflag=direct 2> /dev/null",
        yard.path("site/blob").display()
    );
    let (before, after, wall) = limited.run(&script);
    let share = after.storage_share(&before, wall).unwrap();
    // Without the throttle a MiB is there in milliseconds: hundreds of times what the limit allows.
    assert!(share > 0.0 && share < 1.5, "{share} in {wall}: {after:?}");
    limited.stop();
}

#[test]
fn files_in_memory_cannot_be_throttled() {
    let yard = Yard::new();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        println!("SKIP files_in_memory_cannot_be_throttled: no /dev/shm");
        return;
    };
    let mut context = yard.context("it");
    context.root = memory.path().to_owned();
    context.limits.write = BytesPerSecond::new(1);
    let error = bakeoff_subject::start(&command(&["sleep", "1000"]), &context).unwrap_err().to_string();
    assert!(error.starts_with("arm `it`: its limits cannot be set: /dev/shm/"), "{error}");
    assert!(error.contains("is on a tmpfs, which is memory"), "{error}");
}

#[test]
fn groups_go_when_the_supervisor_is_killed() {
    let yard = Yard::new();
    let mut context = yard.context("it");
    context.limits.memory = Some(Bytes::new(64 << 20));
    context.limits.cpus = Some(1.0);
    let Some(limited) = Limited::start("groups_go_when_the_supervisor_is_killed", &context) else { return };
    let supervisor = limited.running.supervisor_process().unwrap();
    let all: Vec<_> = limited.running.processes().into_iter().map(identity).collect();
    assert!(cgroups_of(supervisor).len() >= 2);
    process::send(supervisor, identity(supervisor).1, Signal::Kill).unwrap();
    limited.running.stop();
    all_gone(&all, Duration::ZERO);
    assert!(cgroups_of(supervisor).is_empty());
}
