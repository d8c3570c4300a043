//! Runs over a link: networks of their own for generator and servers, requested and achieved values.

use crate::contract;
use crate::support::{
    ORIGINS, PATIENCE, SLOW, SLOW_GET, Yard, has, is_root, plan, sooner_or_later, wait_until,
};
use serde_json::Value;
use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Message of a link that a busy machine cannot shape.
const NOT_NOW: &str = "this machine cannot";
const LINK: &str = "link = \"20Mbit\"\ndelay = \"10ms\"\nloss = \"1%\"\n";

#[test]
fn a_link_is_asked_for_and_what_came_of_it_is_reported() {
    let test = "a_link_is_asked_for_and_what_came_of_it_is_reported";
    if !is_root(test) || !has("tc", test) {
        return;
    }
    let (yard, said) = sooner_or_later(|| {
        let yard = Yard::new();
        let experiment = format!("{LINK}max_rounds = 3\nslice_requests = 100");
        yard.write("plan.toml", plan(&experiment, SLOW_GET, ORIGINS));
        let said = yard.run(&["run", "plan.toml", "--out", "out", "--verbose"]);
        if said.stderr.contains(NOT_NOW) { Err(said.stderr) } else { Ok((yard, said.exits(0))) }
    });
    let results = contract::kept(&yard, "out", &["plain", "tls"], "subject_cpu_per_request");
    let link = &results["link"];
    let number = |key: &str| link[key].as_f64().unwrap_or_else(|| panic!("{key}: {link}"));
    assert_eq!((number("rate_bps"), number("delay_ns"), number("loss")), (2e7, 1e7, 0.01));
    assert!((number("carried_bps") / 2e7 - 1.0).abs() <= 0.1, "{link}");
    // Histograms keep three digits.
    assert!(link["probes"]["min_ns"].as_f64().unwrap() >= 1e7 * 0.999, "{link}");
    // Three arms, three rounds, a hundred requests: a frame there and one back at least.
    assert!(number("packets") >= 1800.0 && number("lost") >= 1.0, "{link}");
    for line in yard.read("out/slices.jsonl").lines() {
        let slice: Value = serde_json::from_str(line).unwrap();
        let busy = slice["counters"]["link"]["busy"].as_f64().unwrap();
        assert!(busy > 0.0 && busy < 1.0, "{busy}");
    }
    let busy = results["arms"]["tls"]["meters"]["link_busy"].as_f64().unwrap();
    assert!(busy > 0.0 && busy < 1.0, "{busy}");
    let url = results["arms"]["plain"]["subject"]["url"].as_str().unwrap();
    assert!(url.starts_with("http://198.18.0.2:"), "{url}");
    assert!(said.stdout.contains("20 Mbit/s asked"), "{}", said.stdout);
    assert!(yard.read("out/report.html").contains("of TCP payload carried"));
}

#[test]
fn a_killed_run_leaves_no_network() {
    let test = "a_killed_run_leaves_no_network";
    if !is_root(test) || !has("tc", test) {
        return;
    }
    let yard = Yard::new();
    yard.write("plan.toml", plan(&format!("{LINK}{SLOW}"), SLOW_GET, ORIGINS));
    let mut started = sooner_or_later(|| {
        let mut started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
        let runs = wait_until(PATIENCE, || match started.child.try_wait().unwrap() {
            None if !yard.path("out/slices.jsonl").exists() => Err("no slice yet".to_owned()),
            ended => Ok(ended.is_none()),
        });
        let said = started.errors_so_far();
        assert!(runs || said.contains(NOT_NOW), "it ended before it could be caught: {said}");
        if runs { Ok(started) } else { Err(said) }
    });
    let made = held_below(started.pid());
    assert!(made.len() >= 2, "the generator's and the subjects': {made:?}");
    started.child.kill().unwrap();
    started.wait();
    yard.nobody_left_behind_the_killed();
    let all = bakeoff_sys::process::scan().unwrap();
    let held: HashSet<u64> = all.iter().flat_map(|stat| held(stat.pid)).collect();
    assert!(held.is_disjoint(&made), "{held:?} holds some of {made:?}");
}

/// Networks, other than the test's own, that bakeoff or a process it started is in or holds.
fn held_below(pid: u32) -> HashSet<u64> {
    let below = bakeoff_sys::process::descendants(pid).unwrap();
    let mut found: HashSet<u64> = below.iter().map(|stat| stat.pid).chain([pid]).flat_map(held).collect();
    found.remove(&fs::metadata("/proc/self/ns/net").unwrap().ino());
    found
}

fn held(pid: u32) -> Vec<u64> {
    let of = |name: &str| PathBuf::from(format!("/proc/{pid}/{name}"));
    let is_network =
        |fd: &PathBuf| fs::read_link(fd).is_ok_and(|to| to.to_string_lossy().starts_with("net:["));
    let descriptors = fs::read_dir(of("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
    let all = descriptors.filter(is_network).chain([of("ns/net")]);
    all.filter_map(|path| Some(fs::metadata(path).ok()?.ino())).collect()
}

#[test]
fn without_root_a_link_is_refused_with_what_to_do() {
    let yard = Yard::new();
    yard.write("plan.toml", plan(LINK, SLOW_GET, ORIGINS));
    let mut command = yard.bakeoff(&["run", "plan.toml", "--out", "out"]);
    if bakeoff_sys::process::is_root() {
        // As a user that may write here, and with the program in a place that all users can reach.
        for open in ["", "tmp"] {
            fs::set_permissions(yard.path(open), Permissions::from_mode(0o777)).unwrap();
        }
        fs::copy(env!("CARGO_BIN_EXE_bakeoff"), yard.path("bakeoff")).unwrap();
        command = Command::new(yard.path("bakeoff"));
        command.args(["run", "plan.toml", "--out", "out"]).current_dir(yard.path("."));
        command.env("TMPDIR", yard.path("tmp")).uid(65534).gid(65534);
    }
    let said = yard.ended(yard.start(command)).exits(3);
    said.says(&["CAP_NET_ADMIN", "run as root, or take `link` out of the plan"]);
}
