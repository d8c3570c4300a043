//! Directories served by a daemon, over a link and without: placement of processes, drops of caches, and accounts of
//! CPU.

use crate::contract;
use crate::files::{has_fuse, nothing_mounted};
use crate::support::{
    ENDLESS, PATIENCE, Yard, has, is_root, plan, python, signal, sooner_or_later, wait_until,
};
use serde_json::Value;

const READ: &str = "kind = \"files\"\noperations = [\"read\"]\nsizes = [\"100B\"]\nfiles = 20";
const FEW: &str = "slice_requests = 5";
/// Message of a link that a busy machine cannot shape.
const NOT_NOW: &str = "this machine cannot";

/// The plain arm, and one with an HTTP server that its `setup` sends a request to.
fn asked_by_http() -> String {
    let python = python();
    format!(
        "[arm.plain]\n\n[arm.far]\n\
         serve = [\"{python}\", \"-u\", \"-m\", \"http.server\", \"{{port}}\", \"--bind\", \"{{host}}\", \"--directory\", \"{{dir}}\"]\n\
         ready = \"Serving HTTP on\"\n\
         setup = [\"{python}\", \"-c\", \"import urllib.request as u; open('asked', 'a').write(u.urlopen('http://{{host}}:{{port}}/').url + ' ')\"]\n"
    )
}

/// A directory that bindfs shows in another one, and a server that does nothing.
fn bound(drop: &str) -> String {
    let mount = "[\"bindfs\", \"--no-allow-other\", \"{dir}/export\", \"{dir}/seen\"]";
    let unmount = "[\"fusermount3\", \"-u\", \"{dir}/seen\"]";
    format!(
        "[arm.plain]\n\n[arm.far]\npath = \"{{dir}}/seen\"\nserved = \"{{dir}}/export\"\n\
         serve = [\"sh\", \"-c\", \"mkdir -p {{dir}}/export {{dir}}/seen; echo here; exec sleep 1000\"]\nready = \"here\"\n\
         setup = {mount}\ndrop = [{unmount}, {mount}, [\"sh\", \"-c\", \"{drop}\"]]\ncleanup = {unmount}\n"
    )
}

#[test]
fn what_serves_a_directory_is_at_the_other_end_of_the_link() {
    let test = "what_serves_a_directory_is_at_the_other_end_of_the_link";
    if !is_root(test) || !has("tc", test) || !has("python3", test) {
        return;
    }
    let (yard, said) = sooner_or_later(|| {
        let yard = Yard::new();
        yard.write("plan.toml", plan(&format!("{FEW}\nlink = \"20Mbit\""), READ, &asked_by_http()));
        let said = yard.run(&["run", "plan.toml", "--out", "out", "--verbose"]);
        if said.stderr.contains(NOT_NOW) { Err(said.stderr) } else { Ok((yard, said.exits(0))) }
    });
    assert!(yard.read("asked").starts_with("http://198.18.0.2:"), "{}", yard.read("asked"));
    let results = contract::kept(&yard, "out", &["plain", "far"], "subject_cpu_per_request");
    assert_eq!(results["link"]["rate_bps"], 2e7);
    let meters = |arm: &str| results["operations"][0]["arms"][arm]["meters"].clone();
    let of = |arm: &str, meter: &str| meters(arm)[meter].as_f64();
    let (all, front) = (of("far", "subject_cpu_per_request"), of("far", "front_cpu_per_request"));
    assert!(all.unwrap() >= front.unwrap() && front.unwrap() > 0.0, "{}", meters("far"));
    assert!(of("far", "server_cpu_per_request").is_some(), "{}", meters("far"));
    assert_eq!(of("plain", "server_cpu_per_request"), None);
    for line in yard.read("out/slices.jsonl").lines() {
        let slice: Value = serde_json::from_str(line).unwrap();
        assert!(slice["counters"]["link"]["busy"].as_f64().unwrap() < 1.0, "{line}");
    }
    for words in ["CPU per operation by side", "server's side", "20 Mbit/s asked"] {
        assert!(said.stdout.contains(words), "{words}\n{}", said.stdout);
    }
}

#[test]
fn without_a_link_what_serves_is_on_loopback_and_ends_with_the_run() {
    let test = "without_a_link_what_serves_is_on_loopback_and_ends_with_the_run";
    if !has("python3", test) {
        return;
    }
    let yard = Yard::new();
    yard.write("plan.toml", plan(&format!("{FEW}\nrestart_every = 2"), READ, &asked_by_http()));
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    let asked = yard.read("asked");
    let urls: Vec<&str> = asked.split_whitespace().collect();
    assert!(urls.len() > 1 && urls.iter().all(|url| url.starts_with("http://127.0.0.1:")), "{asked}");
}

#[test]
fn a_killed_run_leaves_nothing_that_served() {
    let yard = Yard::new();
    let arms = "[arm.plain]\n\n[arm.far]\nserve = [\"sh\", \"-c\", \"echo here; exec sleep 1000\"]\nready = \"here\"\n";
    yard.write("plan.toml", plan(&format!("{ENDLESS}\nslice_requests = 20"), READ, arms));
    let mut started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
    let slices = yard.path("out/slices.jsonl");
    wait_until(PATIENCE, || if slices.exists() { Ok(()) } else { Err("no slice".to_owned()) });
    started.child.kill().unwrap();
    started.child.wait().unwrap();
    yard.nobody_left_behind_the_killed();
}

#[test]
fn what_does_not_serve_is_told() {
    for (serve, words) in [
        ("[\"sh\", \"-c\", \"echo no such key >&2; exit 7\"]", &["far", "no such key", "7"][..]),
        ("[\"sleep\", \"1000\"]", &["far", "line that begins with `here`"]),
        ("[\"no-such-program\"]", &["no-such-program"]),
    ] {
        let yard = Yard::new();
        let arms = format!("[arm.plain]\n\n[arm.far]\nserve = {serve}\nready = \"here\"\n");
        yard.write("plan.toml", plan(FEW, &format!("{READ}\ntime_limit = \"5s\""), &arms));
        yard.run(&["run", "plan.toml", "--out", "out"]).exits(3).says(words);
    }
}

#[test]
fn remote_files_are_found_again_after_a_remount_and_first_contacts_are_made_one_by_one() {
    let test = "remote_files_are_found_again_after_a_remount_and_first_contacts_are_made_one_by_one";
    if !has_fuse(test) {
        return;
    }
    // Each kind in the pilot and in three rounds; the first also before each of its five operations.
    for (cache, drops) in [("remote", 2 * 4), ("first", 2 * 4 * 5)] {
        let yard = Yard::new();
        let workload = format!("{READ}\ncache = \"{cache}\"").replace("[\"read\"]", "[\"read\", \"write\"]");
        yard.write("plan.toml", plan(FEW, &workload, &bound("echo dropped >> drops")));
        yard.run(&["run", "plan.toml", "--out", "out"]);
        nothing_mounted(&yard);
        let results = contract::kept(&yard, "out", &["plain", "far"], "operation_time");
        assert_eq!(results["arms"]["far"]["replies"], 2 * 5 * 3, "{cache}");
        assert_eq!(yard.read("drops").lines().count(), drops, "{cache}");
    }
}

#[test]
fn an_arm_that_needs_what_is_not_there_is_left_out() {
    let yard = Yard::new();
    let arms = "[arm.plain]\n\n[arm.other]\nsetup = [\"true\"]\n\n[arm.strange]\nneeds = [\"sh\", \"no-such-program\"]\nsetup = [\"false\"]\n";
    yard.write("plan.toml", plan(FEW, READ, arms));
    let said = yard.run(&["check", "plan.toml"]).exits(0);
    assert!(said.stdout.contains("left out here: strange"), "{}", said.stdout);
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    let results = contract::kept(&yard, "out", &["plain", "other"], "subject_cpu_per_request");
    let warned = results["warnings"].to_string();
    assert!(warned.contains("left-out") && warned.contains("`no-such-program`"), "{warned}");
}

#[test]
fn a_run_whose_arms_are_others_now_is_not_gone_on_with() {
    let yard = Yard::new();
    let arms = "[arm.plain]\n\n[arm.other]\nsetup = [\"true\"]\n\n[arm.strange]\nneeds = [\"./tool\"]\nsetup = [\"sleep\", \"0\"]\n";
    yard.write("tool", "");
    yard.write("plan.toml", plan(&format!("{ENDLESS}\nslice_requests = 5"), READ, arms));
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
    let slices = yard.path("out/slices.jsonl");
    wait_until(PATIENCE, || if slices.exists() { Ok(()) } else { Err("no slice".to_owned()) });
    signal("INT", &started.pid().to_string());
    yard.ended(started).exits(130);
    std::fs::remove_file(yard.path("tool")).unwrap();
    yard.run(&["run", "--resume", "out"]).exits(3).says(&["other arms than when the run began"]);
}

/// Files that must not open count as violations; an arm that need not refuse them is not blamed.
#[test]
fn files_that_must_not_open_are_tried_in_every_slice() {
    let test = "files_that_must_not_open_are_tried_in_every_slice";
    if !has("setpriv", test) {
        return;
    }
    let yard = Yard::new();
    let arms = "[arm.plain]\n\n[arm.closed]\ndeny = [\"sh\", \"-c\", \"chmod 0 {dir}/{denied}/*\"]\n\n\
        [arm.ajar]\ndeny = [\"sh\", \"-c\", \"chmod 0 {dir}/{denied}/*; chmod 600 {dir}/{denied}/000001\"]\n\n[violations]\ndenied = 4";
    yard.write("plan.toml", plan(FEW, READ, arms));
    // Root opens everything, unless without these capabilities.
    let line = "exec setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search \"$@\"";
    let command = if bakeoff_sys::process::is_root() {
        yard.shell(line, &["run", "plan.toml", "--out", "out"])
    } else {
        yard.bakeoff(&["run", "plan.toml", "--out", "out"])
    };
    let said = yard.ended(yard.start(command));
    let results = contract::kept(&yard, "out", &["plain", "closed", "ajar"], "subject_cpu_per_request");
    let of = |arm: &str| {
        let found = &results["arms"][arm]["violations"];
        ["planted", "detected", "missed", "false"].map(|key| found[key].as_u64().unwrap())
    };
    assert_eq!((of("closed"), of("ajar"), of("plain")), ([12, 12, 0, 0], [12, 9, 3, 0], [12, 0, 12, 0]));
    assert!(said.stdout.contains("3 of 12 violations were let through"), "{}", said.stdout);
}
