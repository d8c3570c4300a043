//! Guests: a kernel that is booted in QEMU, and its instructions counted.

use crate::support::{PATIENCE, Yard, has, signal, wait_until};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two modes and five rows of calls; nginx, for what the policy refuses.
const SMALL: &str = "# Small\n[guest]\ntitle = \"Small\"\nmodes = [\"off\", \"enforcing\"]\nparts = [\"calls\", \"web\"]\n\
                     operations = [\"null\", \"read\", \"write\", \"stat\", \"open-close\"]\nboots = 1\nbatches = 3\n\
                     study = \"selinux\"\n";
const TOOLS: [&str; 7] =
    ["qemu-system-x86_64", "busybox", "lz4", "semodule", "matchpathcon", "debugfs", "nginx"];

/// Kernel and policy are built once for all runs of the tests; tests/prepare has put their packages there.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guest")
}

fn bakeoff(yard: &Yard, args: &[&str]) -> Command {
    let mut command = yard.bakeoff(args);
    command.env("XDG_CACHE_HOME", cache());
    command
}

#[test]
fn a_guest_is_built_booted_in_two_modes_and_counted() {
    let test = "a_guest_is_built_booted_in_two_modes_and_counted";
    if !TOOLS.iter().all(|tool| has(tool, test)) {
        return;
    }
    let yard = Yard::new();
    yard.write("small.toml", SMALL);
    a_boot_that_takes_too_long_is_ended(&yard);
    nothing_outlives_a_killed_run(&yard);
    let run = yard.start(bakeoff(&yard, &["run", "small.toml", "--out", "out", "--quiet"]));
    yard.ended(run).exits(0);
    let results = yard.results("out");
    assert_eq!(results["statement"], "instructions counted in a guest; not time");
    costs(&results);
    refusals(&results);
    a_boot_that_is_missing_is_made(&yard, &results);
    reported(&yard);
}

/// As if the run had been killed within its last boot: the guest is the same, and so is what it counts.
fn a_boot_that_is_missing_is_made(yard: &Yard, before: &Value) {
    let first = yard.read("out/boots.jsonl").lines().next().unwrap().to_owned();
    yard.write("out/boots.jsonl", format!("{first}\n{{\"half"));
    std::fs::remove_file(yard.path("out/end.json")).unwrap();
    yard.ended(yard.start(bakeoff(yard, &["run", "--resume", "out", "--quiet"]))).exits(0);
    let boots = yard.read("out/boots.jsonl");
    assert!(boots.starts_with(&first) && boots.lines().count() == 2, "{boots}");
    let after = yard.results("out");
    assert_eq!((&after["tables"], &after["ended"]), (&before["tables"], &before["ended"]));
    // Another guest's counts do not stand beside these.
    let setup = yard.read("out/guest.json");
    yard.write("out/guest.json", setup.replacen("\"disk_sha256\": \"", "\"disk_sha256\": \"0", 1));
    yard.write("out/boots.jsonl", "");
    let ended = yard.ended(yard.start(bakeoff(yard, &["run", "--resume", "out", "--quiet"]))).exits(3);
    ended.says(&["is not what was booted before (other: disk)", "run the plan anew"]);
    yard.write("out/guest.json", setup);
    yard.write("out/boots.jsonl", &boots);
    yard.run(&["report", "out"]).exits(0);
}

fn a_boot_that_takes_too_long_is_ended(yard: &Yard) {
    let args = ["run", "small.toml", "--out", "short", "--quiet", "--set", "guest.time_limit=1s"];
    let ended = yard.ended(yard.start(bakeoff(yard, &args))).exits(3);
    ended.says(&[": it had not ended after 1 s", "give a longer `time_limit`"]);
}

/// QEMU runs under a supervisor; its files go with the next run.
fn nothing_outlives_a_killed_run(yard: &Yard) {
    let mut run = yard.start(bakeoff(yard, &["run", "small.toml", "--out", "killed"]));
    wait_until(PATIENCE, || match run.errors_so_far().contains("boot 1 of 2") {
        true => Ok(()),
        false => Err(run.errors_so_far()),
    });
    signal("KILL", &run.pid().to_string());
    run.child.wait().unwrap();
    yard.nobody_left_behind_the_killed();
}

fn costs(results: &Value) {
    let rows = results["tables"][0]["rows"].as_array().unwrap();
    let of = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    for name in ["stat", "open-close", "read", "write", "http-500", "http-mix", "null-io"] {
        assert_eq!(of(name)["modes"][0]["resolved"], "more", "{}", of(name));
        assert!(of(name)["modes"][0]["more"].as_f64().unwrap() > 1.0, "{}", of(name));
    }
    let null = of("null");
    assert_eq!(null["modes"][0]["resolved"], "equal", "getppid asks nobody: {null}");
    assert!(null["baseline"]["median"].as_f64().unwrap() > 100.0, "{null}");
    assert_eq!(of("stat")["published"][0]["text"], "28 %");
}

fn refusals(results: &Value) {
    let planted = results["planted"].as_array().unwrap();
    assert_eq!(planted.len(), 4, "two modes, a file and a port each");
    for one in planted {
        let refused = if one["mode"] == "enforcing" { 4 } else { 0 };
        assert_eq!(
            (&one["asked"], &one["refused"], &one["logged"]),
            (&4.into(), &refused.into(), &refused.into()),
            "{one}"
        );
    }
    assert_eq!(results["server_domain"], "system_u:system_r:httpd_t:s0");
}

fn reported(yard: &Yard) {
    let (page, results) = (yard.read("out/report.html"), yard.read("out/results.json"));
    assert!(
        page.contains("instructions counted in a guest; not time") && page.contains("open-close"),
        "{page}"
    );
    std::fs::remove_file(yard.path("out/report.html")).unwrap();
    let said = yard.run(&["report", "out"]).exits(0);
    for words in [
        "instructions counted in a guest; not time",
        "stat",
        "28 %",
        "more",
        "4 of 4 requests for a forbidden file",
    ] {
        assert!(said.stdout.contains(words), "{words}:\n{}", said.stdout);
    }
    assert_eq!((yard.read("out/report.html"), yard.read("out/results.json")), (page, results));
    yard.run(&["verify", "out"]).exits(0);
    yard.run(&["compare-results", "out", "out"]).exits(2).says(&["has no arms to compare"]);
    yard.run(&["run", "--resume", "out"]).exits(0).says(&["the run is complete"]);
    // A boot that did not count the same twice.
    let setup = yard.read("out/guest.json");
    let boots = yard.read("out/boots.jsonl");
    yard.write("out/boots.jsonl", format!("{boots}{}\n{{\"half", counted_otherwise_again(&boots)));
    let said = yard.run(&["report", "out"]).exits(4);
    assert!(said.stdout.contains("INVALID: not deterministic: off, again"), "{}", said.stdout);
    yard.write("out/guest.json", setup.replacen("\"format\": 1", "\"format\": 9", 1));
    yard.run(&["report", "out"]).exits(3).says(&["in the form 9"]);
}

/// The repeat of the boot in mode `off`, with another count in its first row. Boots run beside each other and stand in
/// the order in which they ended, so the line is found by its mode.
fn counted_otherwise_again(boots: &str) -> String {
    let all = boots.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut again =
        all.into_iter().find(|record| record["boot"]["mode"] == "off").expect("a boot in mode off");
    again["boot"]["repeat"] = true.into();
    let max = &mut again["rows"][0]["max"];
    *max = (max.as_f64().unwrap() + 1.0).into();
    again.to_string()
}

#[test]
fn what_a_guest_does_not_have_is_refused_before_anything_is_built() {
    let yard = Yard::new();
    yard.write("small.toml", SMALL);
    yard.run(&["check", "small.toml"]).exits(0);
    for (args, words) in [
        (&["--budget", "5min"][..], "--budget is for experiments"),
        (&["--loads", "10%,50%"][..], "--loads is for experiments"),
        (&["--fail-if", "cost>1%"][..], "--fail-if"),
        (&["--full"][..], "states no sample"),
        (&["--set", "guest.parts=[\"tools\"]"][..], "tools"),
        (&["--product", "squid"][..], "--product squid is for bake-offs of caches"),
    ] {
        yard.run(&[&["run", "small.toml", "--out", "out"], args].concat()).exits(2).says(&[words]);
        assert!(!yard.path("out/guest.json").exists());
    }
}

/// A user without any of the packages is told all of them at once, with one command.
#[test]
fn what_is_missing_is_named_with_one_command() {
    let yard = Yard::new();
    yard.write("small.toml", SMALL);
    std::fs::create_dir(yard.path("empty")).unwrap();
    let mut command = bakeoff(&yard, &["run", "small.toml", "--out", "out", "--quiet"]);
    command.env("PATH", yard.path("empty"));
    let ended = yard.ended(yard.start(command)).exits(3);
    ended.says(&[
        "qemu-system-x86_64 (boots the guest)",
        "apt-get install --no-install-recommends qemu-system-x86",
    ]);
}
