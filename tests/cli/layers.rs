//! Layers under a server: their files are served, their counters are read, and nothing of them is left in any case.

use crate::support::{Ended, PATIENCE, Yard, has, is_root, plan, wait_until};
use serde_json::Value;

const WALK: &str = "kind = \"walk\"\nrobots = 3\n\
    site = { files = 40, bytes = \"200KB\", urls = 30, missing = \"10%\", mean_reply = \"3KB\" }";

/// nginx without layers, and one that has these.
fn arms(layers: &str) -> String {
    format!("[arm.plain]\nserver = \"nginx\"\n\n[arm.layered]\nserver = \"nginx\"\nlayers = {layers}")
}

/// A copy of the site, and a bind mount of that.
const COPY: &str = r#"
[layer.copy]
build = ["cp", "-r", "{under}", "{dir}/copy"]
root = "{dir}/copy"

[layer.bound]
build = ["mkdir", "{dir}/bound"]
up = ["mount", "--bind", "{under}", "{dir}/bound"]
root = "{dir}/bound"
proof = ["grep", "-q", " {dir}/bound ", "/proc/{pid}/mountinfo"]
"#;

/// A daemon that counts every request that nginx logs as a violation.
fn noting(words: &str) -> String {
    format!(
        "[layer.noting]\nbuild = [\"touch\", \"{{dir}}/log\"]\n\
         daemon = [\"sh\", \"-c\", '''{words}''', \"noting\", \"{{dir}}\"]\nready = \"noting\"\n\
         status = \"{{dir}}/status\"\nviolations = \"noted\"\n\
         proof = [\"echo\", \"partial: it only notes\"]\n"
    )
}

fn can(test: &str) -> bool {
    is_root(test) && has("nginx", test)
}

fn run(yard: &Yard, text: &str) -> Ended {
    yard.write("plan.toml", text);
    let ended = yard.run(&["run", "plan.toml", "--out", "out"]);
    nothing_mounted(yard);
    ended
}

#[track_caller]
fn nothing_mounted(yard: &Yard) {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mark = yard.path("tmp").display().to_string();
    assert!(!mounts.contains(&mark), "still mounted:\n{mounts}");
}

fn arm(yard: &Yard, name: &str) -> Value {
    yard.results("out")["arms"][name].clone()
}

#[test]
fn a_server_serves_what_its_stack_shows_and_its_mounts_are_its_own() {
    if !can("a_server_serves_what_its_stack_shows_and_its_mounts_are_its_own") {
        return;
    }
    let yard = Yard::new();
    run(&yard, &format!("{}{COPY}", plan("", WALK, &arms("[\"copy\", \"bound\"]")))).exits(0);
    let layered = arm(&yard, "layered");
    assert_eq!(layered["proof"]["active"], true, "{layered}");
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    let config = setup["subjects"]["layered"]["config"].as_str().unwrap();
    assert!(config.contains("/bound/bound"), "nginx is given the topmost layer's root: {config}");
    assert_eq!(layered["errors"], arm(&yard, "plain")["errors"]);
}

#[test]
fn what_a_layer_notes_is_held_against_what_was_planted() {
    if !can("what_a_layer_notes_is_held_against_what_was_planted") {
        return;
    }
    let yard = Yard::new();
    let words = "echo noted 1000000 > \"$1/status\"; echo noting; sleep 1000";
    let planted = "\n[violations]\ndigests = 5\n";
    let text = format!("{}{}{planted}", plan("", WALK, &arms("[\"noting\"]")), noting(words));
    run(&yard, &text).exits(0);
    let noted = arm(&yard, "layered")["violations"].clone();
    assert!(noted["planted"].as_u64().unwrap() > 0, "{noted}");
    assert_eq!(noted["detected"], 0, "a counter that does not move notes nothing: {noted}");
    assert_eq!(arm(&yard, "layered")["proof"]["enforcement"], "partial");
    let plain = arm(&yard, "plain")["violations"].clone();
    assert_eq!((&plain["planted"], &plain["detected"]), (&noted["planted"], &Value::from(0)));
}

#[test]
fn a_layer_that_does_not_come_up_or_falls_ends_the_run_in_words() {
    if !can("a_layer_that_does_not_come_up_or_falls_ends_the_run_in_words") {
        return;
    }
    let yard = Yard::new();
    let with = |words: &str| format!("{}{}", plan("", WALK, &arms("[\"noting\"]")), noting(words));
    run(&yard, &with("echo no such key >&2; exit 7")).exits(3).says(&[
        "arm `layered`",
        "layer `noting`",
        "ended with 7 before it was ready",
        "no such key",
    ]);
    let _ = std::fs::remove_dir_all(yard.path("out")); // it is there where something was printed
    let slow = with("sleep 1000").replace("[arm.layered]", "[arm.layered]\nstart_timeout = \"3s\"");
    run(&yard, &slow).exits(3).says(&["layer `noting`", "begins with `noting`", "start_timeout"]);
    let _ = std::fs::remove_dir_all(yard.path("out"));
    // As soon as a slice was measured; slices of more than a second, and no restart that would not come up.
    let measured = yard.path("out/slices.jsonl");
    let falls = format!("echo noting; until [ -s {} ]; do sleep 0.02; done", measured.display());
    let falls = with(&falls)
        .replace("robots = 3", "robots = 3\nthink = \"20ms\"")
        .replace("[experiment]", "[experiment]\nrestart_every = 100");
    run(&yard, &falls).exits(3).says(&["layer `noting`", "ended during the run"]);
}

#[test]
fn a_killed_run_leaves_no_mount_and_no_daemon() {
    if !can("a_killed_run_leaves_no_mount_and_no_daemon") {
        return;
    }
    let yard = Yard::new();
    let text = format!(
        "{}{COPY}{}",
        plan("max_rounds = 40", WALK, &arms("[\"copy\", \"bound\", \"noting\"]")),
        noting("echo noting; sleep 1000")
    );
    yard.write("plan.toml", text);
    let mut started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
    wait_until(PATIENCE, || {
        assert!(started.child.try_wait().unwrap().is_none(), "it ended before it could be caught");
        yard.path("out/slices.jsonl").exists().then_some(()).ok_or_else(|| "no slice yet".to_owned())
    });
    started.child.kill().unwrap();
    drop(started);
    yard.nobody_left_behind_the_killed();
    nothing_mounted(&yard);
}

/// Our own layers are in an executable of their own, which the whole workspace's tests build.
fn has_layers(test: &str) -> bool {
    let beside = std::path::Path::new(env!("CARGO_BIN_EXE_bakeoff")).with_file_name("bakeoff-layers");
    let fuse = std::path::Path::new("/dev/fuse").exists();
    if beside.exists() && fuse {
        return true;
    }
    assert!(
        std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(),
        "{test}: build the workspace; is there /dev/fuse?"
    );
    println!("SKIP {test}: bakeoff-layers is not built, or there is no /dev/fuse");
    false
}

#[test]
fn own_layers_find_what_was_planted_and_leave_nothing() {
    let test = "own_layers_find_what_was_planted_and_leave_nothing";
    if !can(test) || !has_layers(test) {
        return;
    }
    let yard = Yard::new();
    let planted = "\n[violations]\ndigests = 5\n";
    let text =
        format!("{}{planted}", plan("", WALK, &arms("[\"store\", \"integrity-log\", \"page-cache\"]")));
    run(&yard, &text).exits(0);
    let layered = arm(&yard, "layered");
    let noted = &layered["violations"];
    assert!(noted["planted"].as_u64().unwrap() > 0, "{noted}");
    assert_eq!((&noted["detected"], &noted["missed"]), (&noted["planted"], &Value::from(0)), "{noted}");
    assert_eq!(layered["proof"]["active"], true, "{layered}");
    assert_eq!(layered["proof"]["enforcement"], "none", "it only notes: {layered}");
    // Reads of page-cache before the start belong to no request; and it proves nothing.
    assert_eq!(noted["false"], 0, "{noted}");
    let words = layered["proof"]["words"].as_str().unwrap();
    assert!(words.contains("integrity-log") && !words.contains("page-cache"), "{words}");
}

#[test]
fn an_arm_whose_files_are_only_read_beforehand_has_no_proof_and_nothing_to_notice() {
    if !can("an_arm_whose_files_are_only_read_beforehand_has_no_proof_and_nothing_to_notice") {
        return;
    }
    let yard = Yard::new();
    let planted = "\n[violations]\ndigests = 5\nenforced_by = []\n";
    let text = format!("{}{planted}", plan("", WALK, &arms("[\"page-cache\"]")));
    let said = run(&yard, &text).exits(0);
    let layered = arm(&yard, "layered");
    assert!(layered["proof"].is_null(), "{layered}");
    let sentence = layered["violations"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("no layer here has to notice: 0 of"), "{sentence}");
    assert!(!said.stdout.contains("layer on"), "{}", said.stdout);
}

#[test]
fn a_wrong_file_is_refused_by_a_layer_that_denies() {
    let test = "a_wrong_file_is_refused_by_a_layer_that_denies";
    if !can(test) || !has_layers(test) {
        return;
    }
    let yard = Yard::new();
    let planted = "\n[violations]\nshare = \"5%\"\nfiles = 3\n";
    let text = format!("{}{planted}", plan("", WALK, &arms("[\"integrity\"]")));
    run(&yard, &text).exits(0);
    let layered = arm(&yard, "layered");
    let refused = &layered["violations"];
    assert!(refused["planted"].as_u64().unwrap() > 0, "{refused}");
    assert_eq!(
        (&refused["detected"], &refused["false"]),
        (&refused["planted"], &Value::from(0)),
        "{refused}"
    );
    assert_eq!(layered["proof"]["enforcement"], "full", "{layered}");
    assert_eq!(arm(&yard, "plain")["violations"]["detected"], 0);
}

#[test]
fn wrong_layers_are_refused_with_the_line() {
    let yard = Yard::new();
    let check = |layers: &str, more: &str| {
        yard.write("plan.toml", format!("{}{more}", plan("", WALK, &arms(layers))));
        yard.run(&["check", "plan.toml"]).exits(2)
    };
    check("[\"lop-ext4\"]", "").says(&["no layer `lop-ext4`", "did you mean `loop-ext4`", "plan.toml:"]);
    check("[\"loop-ext4\", \"loop-ext4\"]", "").says(&["`loop-ext4` stands under `layered` twice"]);
    check("[\"idle\"]", "\n[layer.idle]\nroot = \"{under}\"\n").says(&["does nothing", "`up`"]);
    check("[\"x\"]", "\n[layer.x]\nup = [\"true\"]\nready = \"y\"\n").says(&["`ready`", "`daemon`"]);
    yard.write("plan.toml", plan("", WALK, "[arm.plain]\nserver = \"origin\"\nlayers = [\"loop-ext4\"]"));
    yard.run(&["check", "plan.toml"]).exits(2).says(&["`layers`", "serve files"]);
}

#[test]
fn a_command_runs_over_its_layers_and_finds_what_they_show() {
    if !is_root("a_command_runs_over_its_layers_and_finds_what_they_show") {
        return;
    }
    let yard = Yard::new();
    let workload = "kind = \"command\"\nsetup = [\"sh\", \"-c\", \"mkdir {dir}/in; echo plain > {dir}/in/f\"]\n\
        command = [\"sh\", \"-c\", \"cat {dir}/in/f\"]";
    // It shows a copy in which the file has another text; a mount that no other process sees; a daemon.
    let layers = "[layer.copy]\nbuild = [\"sh\", \"-c\", \"cp -r {under}/in {dir}/copy; echo copied > {dir}/copy/f\"]\nroot = \"{dir}/copy\"\n\n\
        [layer.bound]\nbuild = [\"mkdir\", \"{dir}/bound\"]\nup = [\"mount\", \"--bind\", \"{under}\", \"{dir}/bound\"]\nroot = \"{dir}/bound\"\n\
        proof = [\"test\", \"-d\", \"{dir}/bound\"]\n\n\
        [layer.watching]\ndaemon = [\"sh\", \"-c\", \"echo ready; exec sleep 1000\"]\nready = \"ready\"\n";
    let arms = format!(
        "{layers}\n[arm.plain]\n\n[arm.layered]\nlayers = [\"copy\", \"bound\", \"watching\"]\n\
         command = [\"sh\", \"-c\", \"cat {{root}}/f; grep -c bound /proc/self/mountinfo\"]\n"
    );
    run(&yard, &plan("", workload, &arms)).exits(0);
    let said = |arm: &str| yard.read(&format!("out/logs/{arm}/stdout.log"));
    assert!(said("layered").starts_with("copied\n1\n"), "{}", said("layered"));
    assert!(said("plain").starts_with("plain\n"), "{}", said("plain"));
    let layered = arm(&yard, "layered");
    assert_eq!(layered["proof"]["active"], true, "{layered}");
    assert!(layered["meters"]["subject_cpu_per_request"].as_f64().unwrap() > 0.0, "{layered}");
    let fallen = Yard::new();
    let text = plan("", workload, &arms.replace("exec sleep 1000", "sleep 0.05"));
    run(&fallen, &text).exits(3).says(&["watching"]);
}
