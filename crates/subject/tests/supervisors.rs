//! Tests that no process outlives bakeoff, whichever of the parts is killed.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_sys::process::{self, Signal};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Identity, PATIENCE, Yard, all_gone, cgroups_of, command, has, identity, living, play};

/// Starts nginx, Apache and a command that detaches two children (one deaf to SIGTERM) in a process that plays bakeoff;
/// kills that with SIGKILL; no process may be left.
#[test]
fn nothing_is_left_when_bakeoff_is_killed() {
    let name = "nothing_is_left_when_bakeoff_is_killed";
    if !has("nginx", name) || !has("apache2", name) {
        return;
    }
    let yard = Yard::new();
    let mut bakeoff = Command::new(play())
        .arg("bakeoff")
        .args([yard.path("base"), yard.path("site")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut all: Vec<Identity> = Vec::new();
    let mut supervisors = Vec::new();
    for line in BufReader::new(bakeoff.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let mut words = line.split(' ');
        let arm = words.next().unwrap().to_owned();
        if arm == "ready" {
            break;
        }
        let pids: Vec<u32> = words.map(|pid| pid.parse().unwrap()).collect();
        // The supervisor, and: master and worker; parent and child; server, sleep, deaf shell.
        let least = if arm == "command" { 4 } else { 3 };
        assert!(pids.len() >= least, "{line}");
        supervisors.push(pids[0]);
        all.extend(pids.into_iter().map(identity));
    }
    assert_eq!(supervisors.len(), 3, "it died before all were ready");
    for &supervisor in &supervisors {
        all.extend(process::descendants(supervisor).unwrap().iter().map(|stat| (stat.pid, stat.start_ticks)));
    }
    assert_eq!(living(&all).len(), all.len(), "all are there before");
    bakeoff.kill().unwrap();
    bakeoff.wait().unwrap();
    all_gone(&all, PATIENCE);
    for supervisor in supervisors {
        assert!(cgroups_of(supervisor).is_empty());
    }
}

#[test]
fn nothing_is_left_when_the_supervisor_is_killed() {
    let yard = Yard::new();
    let script = format!("(setsid sleep 1000 &); sleep 1000 & exec {} http {{port}}", play().display());
    let running = yard.start(&command(&["sh", "-c", &script])).unwrap();
    let supervisor = running.supervisor_process().unwrap();
    let all: Vec<_> = running.processes().into_iter().map(identity).collect();
    assert_eq!(all.len(), 3);
    let (pid, start) = identity(supervisor);
    process::send(pid, start, Signal::Kill).unwrap();
    all_gone(&[(pid, start)], PATIENCE);
    assert!(running.alive().unwrap_err().to_string().contains("supervisor process failed"));
    running.stop();
    all_gone(&all, Duration::ZERO);
    assert!(cgroups_of(supervisor).is_empty());
}

#[test]
fn a_deaf_subject_is_killed_after_the_grace() {
    let yard = Yard::new();
    let mut context = yard.context("deaf");
    context.grace = bakeoff_units::Nanos::from_millis(300);
    let script = format!("trap '' TERM; {} http {{port}}; while :; do sleep 1; done", play().display());
    let running = bakeoff_subject::start(&command(&["sh", "-c", &script]), &context).unwrap();
    let all: Vec<_> = running.processes().into_iter().map(identity).collect();
    let supervisor = running.supervisor_process().unwrap();
    let report = running.stop();
    assert!(report.killed >= 1, "{report:?}");
    assert_eq!(report.left, 0);
    all_gone(&all, Duration::ZERO);
    assert!(cgroups_of(supervisor).is_empty());
}

#[test]
fn a_subject_that_leaves_its_server_behind_lives_on_and_ends_on_stop() {
    let yard = Yard::new();
    let script = format!("setsid {} http {{port}} & exit 0", play().display());
    let running = yard.start(&command(&["sh", "-c", &script])).unwrap();
    running.alive().unwrap();
    // The shell ends in its own time.
    let begin = Instant::now();
    while running.processes().len() > 1 {
        assert!(begin.elapsed() < PATIENCE, "{:?}", running.processes());
    }
    let all: Vec<_> = running.processes().into_iter().map(identity).collect();
    assert_eq!(all.len(), 1);
    running.stop();
    all_gone(&all, Duration::ZERO);
}

#[test]
fn a_subject_stays_on_its_cores() {
    let yard = Yard::new();
    let last = *bakeoff_sys::affinity::allowed().unwrap().last().unwrap();
    let mut context = yard.context("it");
    context.cpus = vec![last];
    let script = format!("sleep 1000 & exec {} http {{port}}", play().display());
    let running = bakeoff_subject::start(&command(&["sh", "-c", &script]), &context).unwrap();
    assert_eq!(running.processes().len(), 2);
    for pid in running.processes() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        assert_eq!(line.trim(), last.to_string());
    }
}
