//! The `calls` workload: every operation through a wrap, refused operations, a planted cost, and no process left.

use crate::contract;
use crate::support::{Ended, PATIENCE, Yard, has, is_root, plan, signal, wait_until};
use serde_json::Value;
use std::process::Command;

const TIME: &str = "operation_time";
/// Short batches of a few operations.
const FEW: &str = "kind = \"calls\"\nbatch = \"500us\"\noperations = [\"null\", \"open-close\", \"fork\", \"tcp\", \"connect\"]";

fn kind<'a>(results: &'a Value, label: &str) -> &'a Value {
    let all = results["operations"].as_array().unwrap();
    all.iter().find(|kind| kind["operation"] == label).unwrap_or_else(|| panic!("no {label}"))
}

/// Compares independently of the terminal's width.
fn shows(ended: &Ended, words: &[&str]) {
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn every_operation_is_made_through_the_wraps_and_stands_by_itself() {
    let yard = Yard::new();
    let arms = "[wrap.bound]\nwords = [\"setpriv\", \"--no-new-privs\"]\n\
                proof = [\"grep\", \"-q\", \"NoNewPrivs:.1\", \"/proc/{pid}/status\"]\n\n\
                [arm.plain]\n\n[arm.bound]\nwraps = [\"bound\"]\nwrap = [\"env\", \"MARK={dir}-{port}\"]\n";
    yard.write("plan.toml", plan("", "kind = \"calls\"\nbatch = \"300us\"\ndepth = 3", arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    let results = contract::kept(&yard, "out", &["plain", "bound"], TIME);
    let kinds = results["operations"].as_array().unwrap();
    assert_eq!(kinds.len(), 24);
    let mut made = 0;
    for kind in kinds {
        let count = 3 * kind["count"].as_u64().unwrap();
        for arm in ["plain", "plain'", "bound"] {
            let figures = &kind["arms"][arm];
            assert_eq!(figures["tried"], count, "{kind}");
            assert_eq!(figures["errors"].as_object().unwrap().len(), 0, "{kind}");
            assert!(figures["meters"][TIME].as_f64().unwrap() > 0.0, "{kind}");
        }
        // Time and CPU of the other arm and of the baseline's second process.
        assert_eq!(kind["comparisons"].as_array().unwrap().len(), 4, "{kind}");
        made += count;
    }
    assert_eq!(results["arms"]["bound"]["requests"], made);
    assert_eq!(results["arms"]["bound"]["proof"]["active"], true);
    shows(&said, &["Time per operation, kind by kind", "shell8"]);
}

/// 20 us of CPU in each call of getppid, which needs a fraction of one.
#[test]
fn a_planted_cost_stands_at_its_operation() {
    let yard = Yard::new();
    let source = "#include <sys/syscall.h>\n#include <time.h>\n#include <unistd.h>\n\
        static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }\n\
        pid_t getppid(void) { long end = now() + 20000; while (now() < end) {} return syscall(SYS_getppid); }\n";
    let source = yard.write("costly.c", source);
    let library = yard.path("costly.so");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
    assert!(built.unwrap().success());
    let arms =
        format!("[arm.plain]\n\n[arm.costly]\nwrap = [\"env\", \"LD_PRELOAD={}\"]\n", library.display());
    yard.write("plan.toml", plan("max_rounds = 8", FEW, &arms));
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    let results = yard.results("out");
    let rows = kind(&results, "null")["comparisons"].as_array().unwrap();
    let found = |arm: &str| rows.iter().find(|row| row["arm"] == arm && row["meter"] == TIME).unwrap();
    let costly = found("costly");
    assert!(costly["value"].as_f64().unwrap() >= 20_000.0, "{costly}");
    let floor = found("plain'");
    assert!(costly["effect"].as_f64() > floor["effect"].as_f64(), "{costly} {floor}");
}

#[test]
fn what_an_arm_refuses_is_named_and_the_rest_is_measured() {
    if !is_root("what_an_arm_refuses_is_named_and_the_rest_is_measured") {
        return;
    }
    let yard = Yard::new();
    // A network of its own whose loopback device is down.
    let arms = "[arm.plain]\n\n[arm.alone]\nwrap = [\"unshare\", \"--net\"]\n";
    let workload = FEW.replace("\"tcp\"", "\"udp\", \"tcp\", \"rpc-udp\"");
    yard.write("plan.toml", plan("", &workload, arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out", "--verbose"]).exits(0);
    shows(
        &said,
        &[
            "refused: ENETUNREACH",
            "alone cannot make udp (ENETUNREACH: connect of UDP: Network is unreachable)",
        ],
    );
    let results = contract::kept(&yard, "out", &["plain", "alone"], TIME);
    for label in ["udp", "tcp", "rpc-udp", "connect"] {
        let kind = kind(&results, label);
        assert_eq!(kind["arms"]["alone"]["refused"], "ENETUNREACH", "{kind}");
        assert_eq!(kind["arms"]["alone"]["tried"], 0, "{kind}");
        assert!(kind["arms"]["plain"]["tried"].as_u64().unwrap() > 0, "{kind}");
        let compared = kind["comparisons"].as_array().unwrap();
        assert!(compared.len() == 2 && compared.iter().all(|row| row["arm"] == "plain'"), "{kind}");
    }
    // The total covers operations that all arms make.
    let [null, open, fork] = ["null", "open-close", "fork"].map(|label| &kind(&results, label)["count"]);
    let total = 3 * [null, open, fork].map(|count| count.as_u64().unwrap()).iter().sum::<u64>();
    for arm in ["plain", "plain'", "alone"] {
        assert_eq!(results["arms"][arm]["requests"], total, "{arm}");
    }
}

#[test]
fn a_sandbox_lets_its_process_be_spoken_to() {
    if !has("bwrap", "a_sandbox_lets_its_process_be_spoken_to") {
        return;
    }
    let yard = Yard::new();
    let arms = "[arm.plain]\n\n[arm.bwrap]\nwrap = [\"bwrap\", \"--unshare-all\", \"--die-with-parent\", \"--ro-bind\", \"/\", \
        \"/\", \"--dev\", \"/dev\", \"--proc\", \"/proc\", \"--bind\", \"{dir}\", \"{dir}\"]\n";
    yard.write("plan.toml", plan("", FEW, arms));
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    let results = contract::kept(&yard, "out", &["plain", "bwrap"], TIME);
    assert_eq!(kind(&results, "connect")["comparisons"].as_array().unwrap().len(), 4);
}

#[test]
fn a_process_that_does_not_speak_is_told() {
    let yard = Yard::new();
    let run = |wrap: &str, more: &str| {
        let arms = format!("[arm.plain]\n\n[arm.mute]\nwrap = {wrap}\n");
        yard.write("plan.toml", plan("", &format!("{FEW}\n{more}"), &arms));
        let _ = std::fs::remove_dir_all(yard.path("out"));
        yard.run(&["run", "plan.toml", "--out", "out"])
    };
    run("[\"sh\", \"-c\", \"echo no entry >&2; exit 3\"]", "").exits(3).says(&[
        "mute",
        "exit status 3",
        "no entry",
    ]);
    // The other arm has to answer within it.
    run("[\"sh\", \"-c\", \"sleep 1000\"]", "time_limit = \"10s\"")
        .exits(3)
        .says(&["mute", "has not answered within 10 s"]);
    run("[\"nobody-has-this\"]", "").exits(2).says(&["there is no program `nobody-has-this`"]);
    run("[\"sh\", \"-c\", \"exec \\\"$@\\\" --fast\", \"sh\"]", "")
        .exits(3)
        .says(&["mute", "there is no --fast"]);
}

#[test]
fn ctrl_c_and_kill_leave_nobody_and_a_run_is_gone_on_with() {
    let yard = Yard::new();
    let begin = |out: &str| {
        let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", out]));
        let slices = yard.path(&format!("{out}/slices.jsonl"));
        wait_until(PATIENCE, || if slices.exists() { Ok(()) } else { Err(started.errors_so_far()) });
        started
    };
    // Slices long enough for a run that is caught in its middle.
    let slow = FEW.replace("500us", "20ms");
    yard.write("plan.toml", plan("max_rounds = 12", &slow, "[arm.plain]\n\n[arm.nice]\nwrap = [\"nice\"]\n"));
    let started = begin("out");
    signal("INT", &started.pid().to_string());
    yard.ended(started).exits(130);
    yard.run(&["run", "--resume", "out"]).exits(0);
    let results = yard.results("out");
    assert!(
        ["rounds", "verdicts"].contains(&results["stopped_by"].as_str().unwrap()),
        "{}",
        results["stopped_by"]
    );
    let mut started = begin("killed");
    started.child.kill().unwrap();
    started.child.wait().unwrap();
    yard.nobody_left_behind_the_killed();
}
