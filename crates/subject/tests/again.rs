//! Repeated starts and stops of the same subject, as in a run with restarts. One test, so that the descriptors of the
//! process are this one's.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{Product, Spec};
use bakeoff_units::Nanos;
use std::collections::BTreeSet;
use std::time::Duration;
use support::{Yard, all_gone, cgroups_of, command, has, identity, play};

const STARTS: usize = 8;

#[test]
fn starting_again_and_again_leaves_nothing() {
    let yard = Yard::new();
    let play = play().display().to_string();
    let specs = [
        ("nginx", Spec::Product { product: Product::Nginx, config: None, tls: true }),
        ("apache2", Spec::Product { product: Product::Apache, config: None, tls: false }),
        ("sh", command(&[&play, "http", "{port}"])),
    ];
    for (program, spec) in specs {
        if has(program, "starting_again_and_again_leaves_nothing") {
            start_again_and_again(&yard, program, &spec);
        }
    }
    assert_eq!(std::fs::read_dir(yard.path("base")).unwrap().count(), 0);
}

fn start_again_and_again(yard: &Yard, program: &str, spec: &Spec) {
    let mut context = yard.context("again");
    let (mut taken, mut ports) = (Nanos::ZERO, BTreeSet::new());
    let mut open = BTreeSet::new();
    for start in 0..STARTS {
        context.padding = 16 * start;
        let running = bakeoff_subject::start(spec, &context).unwrap_or_else(|error| panic!("{error}"));
        taken += running.start_time;
        ports.insert(running.address.port());
        let supervisor = running.supervisor_process().unwrap();
        let all: Vec<_> = running.processes().into_iter().map(identity).collect();
        let dir = running.dir.clone().unwrap();
        assert!(dir.ends_with("again"), "its name is free again: {}", dir.display());
        assert_eq!(running.stop().left, 0);
        all_gone(&all, Duration::ZERO);
        assert!(cgroups_of(supervisor).is_empty());
        std::fs::remove_dir_all(&dir).unwrap();
        open.insert(std::fs::read_dir("/proc/self/fd").unwrap().count());
    }
    assert_eq!(open.len(), 1, "descriptors after each stop: {open:?}");
    assert!(ports.len() > 1, "{ports:?}");
    println!("{program}: {} a start", taken.times(1.0 / STARTS as f64));
}
