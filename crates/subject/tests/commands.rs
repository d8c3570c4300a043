//! Commands as workload: run to their end, with the CPU of everybody they started.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{CpuChoice, Job, Status, run_command};
use bakeoff_units::Nanos;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use support::{NEVER, Yard, all_gone, identity, play};

fn job(yard: &Yard, script: &str) -> Job<'static> {
    Job {
        arm: "it".into(),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: Vec::new(),
        cwd: yard.path("base"),
        dir: yard.path("base"),
        cpus: Vec::new(),
        time_limit: Some(Nanos::from_secs(30)),
        cpu_source: CpuChoice::Auto,
        grace: Nanos::from_millis(500),
        executable: Some(play()),
        interrupted: &NEVER,
    }
}

#[test]
fn the_whole_tree_is_counted() {
    let yard = Yard::new();
    // One child waited for, one detached that ends before the command does, one left behind.
    let script = format!(
        "echo said; {0} burn 60; (setsid sh -c '{0} burn 80; touch done' &); while [ ! -e done ]; do sleep 0.01; done; (setsid sleep 1000 &); echo $$ >&2; exit 3",
        play().display()
    );
    let outcome = run_command(&job(&yard, &script)).unwrap();
    assert_eq!(outcome.status, Status::Exited(3));
    let total = outcome.user + outcome.system;
    assert!(total >= Nanos::from_millis(140) && total < Nanos::from_millis(500), "{total}");
    assert!(outcome.elapsed >= Nanos::from_millis(140) && outcome.elapsed < Nanos::from_secs(20));
    assert!(outcome.max_rss.get() > 100_000);
    if let Some(cpu) = outcome.cpu {
        assert!(
            cpu.nanos.get().abs_diff(total.get()) < 20_000_000,
            "{} by {}, {total} reaped",
            cpu.nanos,
            cpu.source
        );
    }
    assert_eq!(outcome.stdout_tail, ["said"]);
    assert_eq!(outcome.stderr_tail.len(), 1);
}

#[test]
fn endings_are_told_apart() {
    let yard = Yard::new();
    assert_eq!(run_command(&job(&yard, "true")).unwrap().status, Status::Exited(0));
    assert_eq!(run_command(&job(&yard, "kill -9 $$")).unwrap().status, Status::Killed(9));
    let mut limited = job(&yard, "echo $$ > pid; exec sleep 100");
    limited.time_limit = Some(Nanos::from_millis(200));
    let outcome = run_command(&limited).unwrap();
    assert_eq!(outcome.status, Status::TimedOut);
    let pid: u32 = std::fs::read_to_string(yard.path("base/pid")).unwrap().trim().parse().unwrap();
    all_gone(&[identity(pid)], Duration::ZERO);
    static STOP: AtomicBool = AtomicBool::new(true);
    let mut stopped = job(&yard, "sleep 100");
    stopped.interrupted = &STOP;
    assert_eq!(run_command(&stopped).unwrap().status, Status::Interrupted);
    let mut wrong = job(&yard, "");
    wrong.argv = vec!["no-such-program-here".into()];
    assert!(run_command(&wrong).unwrap_err().to_string().contains("no program `no-such-program-here`"));
}
