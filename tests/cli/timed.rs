//! Slices that end with time: their number of requests follows from rate and time, and requests in flight are cut.

use crate::support::{Ended, Yard, plan};
use serde_json::Value;

fn counters(yard: &Yard, arm: &str) -> Vec<Value> {
    let lines = yard.read("out/slices.jsonl");
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["arm"] == arm).map(|record| record["counters"].clone()).collect()
}

fn tried(workload: &str, arms: &str) -> (Yard, Ended) {
    let yard = Yard::new();
    let text = plan(
        "slice = \"1s\"",
        &format!("kind = \"get\"\nurls = [\"/bytes/500\"]\ntimeout = \"900ms\"\n{workload}"),
        arms,
    );
    yard.write("plan.toml", text.replace("slice_requests = 200\n", ""));
    let ended = yard.run(&["run", "plan.toml", "--out", "out"]);
    (yard, ended)
}

fn run(workload: &str, arms: &str) -> Yard {
    let (yard, ended) = tried(workload, arms);
    ended.exits(0);
    yard
}

/// Checks that each due request was answered, cut at the end, or failed in a way in which a machine that stands still
/// makes it fail. Returns their number, which is the same on any machine.
fn all_that_came_due(counters: &Value) -> u64 {
    let of = |name: &str| counters[name].as_u64().unwrap_or(0);
    let errors = counters["errors"].as_object().unwrap();
    let late = ["not-sent", "timeout", "connect-timeout"];
    assert!(errors.keys().all(|class| late.contains(&class.as_str())), "{counters}");
    let failed: u64 = errors.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(of("requests"), of("replies") + of("cut") + failed, "{counters}");
    of("requests")
}

const ARMS: &str = "[arm.plain]\nserver = \"origin\"\n\n[arm.other]\nserver = \"origin\"\nburn = \"20us\"\n";

#[test]
fn a_second_of_two_hundred_a_second_has_two_hundred_requests() {
    let (yard, _) = tried("clock = \"constant\"\nrate = \"200/s\"\n", ARMS);
    let slices = counters(&yard, "other");
    assert_eq!(slices.len(), 3);
    for counters in slices {
        assert!((199..=201).contains(&all_that_came_due(&counters)), "{counters}");
    }
}

/// Four bursts of five in a second, over one connection: the first of each goes at once, the others wait for it.
#[test]
fn bursts_come_when_they_are_due_and_all_at_once() {
    let (yard, _) = tried("clock = \"bursts\"\nburst = \"5\"\nevery = \"250ms\"\nconnections = 1\n", ARMS);
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    assert_eq!(setup["load"], "open loop, bursts of 5 every 250 ms, slices of 1 s");
    let slices = counters(&yard, "other");
    assert_eq!(slices.len(), 3);
    for counters in slices {
        let of = |name: &str| counters[name].as_u64().unwrap_or(0);
        assert_eq!(all_that_came_due(&counters), 20, "{counters}");
        assert!(of("postponed") + counters["errors"]["not-sent"].as_u64().unwrap_or(0) >= 16, "{counters}");
    }
}

#[test]
fn robots_that_think_ask_as_often_as_their_law_says() {
    // Four robots that think for 20 ms ask 200 times a second at most; the time of a reply comes off it, and none took
    // longer than the longest.
    let yard = run("robots = 4\nthink = \"20ms\"\n", ARMS);
    let longest = yard.results("out")["arms"]["plain"]["response_ns"]["max"].as_f64().unwrap();
    let slices = counters(&yard, "plain");
    assert_eq!(slices.len(), 3);
    for counters in slices {
        let (requests, wall) =
            (counters["requests"].as_f64().unwrap(), counters["wall_ns"].as_f64().unwrap());
        let most = 4.0 * (wall / 20e6 + 1.0);
        // The last reply of a robot may be cut, and is in no time.
        let least = 4.0 * (wall / (20e6 + longest) - 2.0);
        // The last are asked at the very end, which the wall's clock may have seen a little before.
        assert!(requests < most + 1.0 && requests > least, "{requests}, {least} to {most} in {wall} ns");
    }
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    assert!(setup["load"].as_str().unwrap().contains("slices of 1 s"), "{}", setup["load"]);
    assert!(setup["design"]["design"] == "pairs");
}

#[test]
fn what_is_in_flight_when_time_is_up_is_cut_and_no_failure() {
    // Robots that do not think always wait for a reply. A machine that stands still at the end of a slice for as long as
    // both take has them before it looks, and hardly at all three ends.
    let slow = ARMS.replace("20us", "10ms");
    let yard = run("robots = 2\n", &slow);
    let slices = counters(&yard, "other");
    assert_eq!(slices.len(), 3);
    let mut cut = 0;
    for counters in slices {
        let of = |name: &str| counters[name].as_u64().unwrap_or(0);
        assert!(of("cut") <= 2, "{counters}");
        assert_eq!(of("requests"), of("replies") + of("cut"), "{counters}");
        assert_eq!(counters["errors"], serde_json::json!({}));
        cut += of("cut");
    }
    assert!(cut > 0, "nothing was in flight at three ends");
}
