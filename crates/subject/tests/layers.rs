//! Layers: processes that commands leave running stay, are counted, and end with the layer.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{CommandEnd, CommandJob, CpuChoice, Layer};
use bakeoff_units::Nanos;
use std::time::Duration;
use support::{NEVER, Yard, all_gone, cgroups_of, identity, living, play};

fn job(yard: &Yard, cpu_source: CpuChoice, script: &str) -> CommandJob<'static> {
    CommandJob {
        arm: "it".into(),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: Vec::new(),
        cwd: yard.path("base"),
        dir: yard.path("base"),
        cpus: Vec::new(),
        time_limit: Some(Nanos::from_secs(300)),
        cpu_source,
        grace: Nanos::from_millis(500),
        executable: Some(play()),
        interrupted: &NEVER,
    }
}

/// A daemon that works on the order of a later command.
#[test]
fn what_is_left_running_stays_and_its_cpu_is_counted() {
    for source in [CpuChoice::Auto, CpuChoice::Clocks] {
        let yard = Yard::new();
        let mut layer = Layer::default();
        assert!(layer.cpu().unwrap().is_none(), "nothing was run");
        let daemon = format!(
            "mkfifo begun go done; (setsid sh -c 'echo $$ > pid; echo > begun; read line < go; {} burn 60; echo > done; exec sleep 1000' &); read line < begun",
            play().display()
        );
        let first = layer.run(&job(&yard, source, &daemon)).unwrap();
        assert_eq!(first.status, CommandEnd::Exited(0));
        let pid: u32 = std::fs::read_to_string(yard.path("base/pid")).unwrap().trim().parse().unwrap();
        let daemon = [identity(pid)];
        let before = layer.cpu().unwrap().unwrap();
        let second = job(&yard, source, "echo > go; read line < done; echo seen; exit 3");
        let second = layer.run(&second).unwrap();
        assert_eq!((second.status, second.stdout_tail), (CommandEnd::Exited(3), vec!["seen".to_owned()]));
        let spent = layer.cpu().unwrap().unwrap().nanos.since(before.nanos);
        // 60 ms by its own clock, which may be ahead of the account by some of them where a hypervisor takes time.
        assert!((Nanos::from_millis(45)..Nanos::from_secs(2)).contains(&spent), "{spent}");
        assert!(layer.processes().contains(&pid));
        assert_eq!(living(&daemon).len(), 1);
        layer.stop();
        all_gone(&daemon, Duration::ZERO);
        assert!(layer.processes().is_empty());
    }
}

#[test]
fn a_command_that_hangs_takes_the_layer_with_it() {
    let yard = Yard::new();
    let mut layer = Layer::default();
    let ended =
        layer.run(&job(&yard, CpuChoice::Auto, "(setsid sleep 1000 &); echo $$ > pid; true")).unwrap();
    assert_eq!(ended.status, CommandEnd::Exited(0));
    let left = identity(layer.processes()[0]);
    let mut hanging = job(&yard, CpuChoice::Auto, "exec sleep 1000");
    hanging.time_limit = Some(Nanos::from_millis(50));
    assert_eq!(layer.run(&hanging).unwrap().status, CommandEnd::TimedOut);
    all_gone(&[left], Duration::ZERO);
}

#[test]
fn a_dropped_layer_leaves_nobody_and_no_group() {
    let yard = Yard::new();
    let mut layer = Layer::default();
    layer.run(&job(&yard, CpuChoice::Auto, "(setsid sleep 1000 &)")).unwrap();
    let left: Vec<_> = layer.processes().into_iter().map(identity).collect();
    let supervisor = bakeoff_sys::process::stat(left[0].0).unwrap().parent;
    assert_eq!(left.len(), 1);
    drop(layer);
    all_gone(&left, Duration::ZERO);
    assert!(cgroups_of(supervisor).is_empty());
}
