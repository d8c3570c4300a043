//! Requests that a server refuses: counted by name if the workload names them, else as failures.

use crate::support::{Yard, has, plan};

/// One request each 50 ms is served, all others get 429.
const NGINX: &str = "events {}\nhttp {\n  access_log off;\n  limit_req_zone $binary_remote_addr zone=z:1m rate=20r/s;\n\
    server {\n    listen {host}:{port};\n    root {root};\n    location / {\n      limit_req zone=z;\n      limit_req_status 429;\n\
    try_files $uri $uri/index.html =404;\n    }\n  }\n}\n";

fn text(refused: &str) -> String {
    let workload =
        format!("kind = \"get\"\nrobots = 4\nthink = \"10ms\"\nurls = [\"/\"]\nexpect = 404\n{refused}");
    let arms =
        "[arm.plain]\nserver = \"nginx\"\n\n[arm.limited]\nserver = \"nginx\"\nconfig = \"limited.conf\"\n";
    plan("", &workload, arms)
}

#[test]
fn what_is_named_is_refused_at_the_rate_that_arithmetic_tells() {
    if !has("nginx", "what_is_named_is_refused_at_the_rate_that_arithmetic_tells") {
        return;
    }
    let yard = Yard::new();
    yard.write("limited.conf", NGINX);
    yard.write("plan.toml", text("refused = [429]"));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]).exits(0).stdout;
    assert!(said.contains("CPU per served request") && said.contains("Refused"), "{said}");
    let results = yard.results("out");
    let arm = &results["arms"]["limited"];
    let count = |name: &str| arm[name].as_u64().unwrap();
    let refused = arm["refused"]["429"].as_u64().unwrap();
    assert_eq!(count("requests"), count("replies") + refused, "{arm}");
    assert_eq!(arm["errors"], serde_json::json!({}));
    assert_eq!(arm["response_ns"]["count"].as_u64(), Some(count("replies")), "no time of a refusal is kept");
    let meters = &arm["meters"];
    let per = |name: &str| meters[name].as_f64().unwrap();
    // Served are no more than one each 50 ms, and the first of a slice, which comes after a longer pause. How many of
    // those four robots ask for depends on the machine; the refused are the rest.
    let lines = yard.read("out/slices.jsonl");
    let slices = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    for slice in slices.filter(|slice| slice["arm"] == "limited") {
        let (served, wall_ns) =
            (slice["counters"]["replies"].as_u64().unwrap(), slice["counters"]["wall_ns"].as_f64().unwrap());
        assert!((1..=wall_ns as u64 / 50_000_000 + 2).contains(&served), "{slice}");
    }
    assert!(refused > 0 && per("refused_per_second") > 0.0, "{arm}");
    // The cost of refused requests is borne by the served.
    let [reply, request] = ["subject_cpu_per_reply", "subject_cpu_per_request"].map(per);
    assert!(reply > request, "{meters}");
    assert_eq!(results["comparisons"][0]["meter"], "subject_cpu_per_reply");
    assert_eq!(results["arms"]["plain"]["refused"], serde_json::json!({ "429": 0 }));
}

#[test]
fn what_is_not_named_stays_a_failure_and_makes_its_arm_invalid() {
    if !has("nginx", "what_is_not_named_stays_a_failure_and_makes_its_arm_invalid") {
        return;
    }
    let yard = Yard::new();
    yard.write("limited.conf", NGINX.replace("429", "503"));
    yard.write("plan.toml", text("refused = [429]"));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]).exits(4).stdout;
    assert!(said.contains("server-error"), "{said}");
}
