//! Commands as workload: run to their end, with the CPU of all processes they started.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{CommandEnd, CommandJob, CpuChoice, run_command};
use bakeoff_units::Nanos;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use support::{NEVER, Yard, all_gone, identity, play};

fn job(yard: &Yard, script: &str) -> CommandJob<'static> {
    CommandJob {
        arm: "it".into(),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: Vec::new(),
        cwd: yard.path("base"),
        dir: yard.path("base"),
        cpus: Vec::new(),
        time_limit: Some(Nanos::from_secs(300)),
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
        "echo said; {0} burn 60; mkfifo done; (setsid sh -c '{0} burn 80; echo > done' &); read line < done; (setsid sleep 1000 &); echo $$ >&2; exit 3",
        play().display()
    );
    let outcome = run_command(&job(&yard, &script)).unwrap();
    assert_eq!(outcome.status, CommandEnd::Exited(3));
    let total = outcome.user + outcome.system;
    // 60 and 80 ms by their own clocks, which may be ahead of the account if a hypervisor takes time. A sum that misses
    // either is below the range; one that counts either twice is above it, even with the start of shells and programs.
    assert!(total >= Nanos::from_millis(100) && total < Nanos::from_secs(2), "{total}");
    assert!(outcome.elapsed >= Nanos::from_millis(100) && outcome.elapsed < Nanos::from_secs(300));
    assert!(outcome.max_rss.get() > 100_000);
    if let Some(cpu) = outcome.cpu {
        assert!(
            cpu.nanos.get().abs_diff(total.get()) < 50_000_000,
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
    assert_eq!(run_command(&job(&yard, "true")).unwrap().status, CommandEnd::Exited(0));
    assert_eq!(run_command(&job(&yard, "kill -9 $$")).unwrap().status, CommandEnd::Killed(9));
    let mut limited = job(&yard, "echo $$ > pid; exec sleep 1000");
    let pid: u32 = support::with_limits(|limit| {
        limited.time_limit = Some(limit);
        assert_eq!(run_command(&limited).unwrap().status, CommandEnd::TimedOut);
        std::fs::read_to_string(yard.path("base/pid")).ok()?.trim().parse().ok()
    });
    all_gone(&[identity(pid)], Duration::ZERO);
    static STOP: AtomicBool = AtomicBool::new(true);
    let mut stopped = job(&yard, "sleep 100");
    stopped.interrupted = &STOP;
    assert_eq!(run_command(&stopped).unwrap().status, CommandEnd::Interrupted);
    let mut wrong = job(&yard, "");
    wrong.argv = vec!["no-such-program-here".into()];
    assert!(run_command(&wrong).unwrap_err().to_string().contains("no program `no-such-program-here`"));
}
