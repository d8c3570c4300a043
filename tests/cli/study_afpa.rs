//! `bakeoff run afpa`, shrunk: refused and served clients, and the page beside the published figures.

use crate::support::{Yard, has, is_root, skipped};
use serde_json::Value;

/// Settings of the part `rate` that end it soon.
const SHRUNK: [&str; 6] = [
    "cell=[{policy='nothing', rate='none'}, {policy='police', rate='2'}, {policy='limit-req', rate='2'}, {policy='haproxy', rate='2'}]",
    "experiment.max_rounds=3",
    "experiment.slice=1s",
    "experiment.warm=100ms",
    "workload.timeout=900ms",
    "workload.connect_timeout=900ms",
];

/// Results of a population in an arm.
fn of<'r>(results: &'r Value, population: &str, arm: &str) -> &'r Value {
    let all = results["populations"].as_array().unwrap();
    &all.iter().find(|of| of["population"] == population).unwrap()["arms"][arm]
}

#[test]
fn a_limit_holds_for_whom_it_is_meant_and_stands_beside_the_published_figures() {
    let test = "a_limit_holds_for_whom_it_is_meant_and_stands_beside_the_published_figures";
    if !["nginx", "haproxy"].iter().all(|program| has(program, test)) || !is_root(test) {
        return;
    }
    let yard = Yard::new();
    let sets: Vec<String> = SHRUNK.iter().map(|set| format!("rate.{set}")).collect();
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let start = ["run", "afpa", "--part", "rate", "--out", "out", "--quiet"];
    let ended = yard.run(&start.into_iter().chain(sets).collect::<Vec<_>>());
    if ["no bpf(2)", "no tcx", "to load BPF", "/sys/kernel/btf"]
        .iter()
        .any(|word| ended.stderr.contains(word))
    {
        return skipped(test, &ended.stderr);
    }
    let results = yard.results("out/rate");
    assert_eq!(results["rounds"], 3, "{}", ended.stderr);
    assert_eq!(results["arms"].as_object().unwrap().len(), 5);
    for (arm, found) in results["arms"].as_object().unwrap() {
        let is_police = arm.starts_with("police");
        assert_eq!(
            found["proof"]["active"],
            if is_police { Value::Bool(true) } else { Value::Null },
            "{arm}"
        );
        let preferred = of(&results, "preferred", arm);
        assert!(preferred["refused"].as_object().is_none_or(serde_json::Map::is_empty), "{arm}: {preferred}");
        if arm.starts_with("nothing") {
            continue;
        }
        let flood = of(&results, "flood", arm);
        let count = |what: &str| flood[what].as_u64().unwrap();
        let turned_away = count("requests") - count("replies") - count("cut");
        // In each of three slices the contents of a bucket, the requests of a second, and the rest of the warm-up.
        assert!(turned_away > 100 && count("replies") <= 3 * (5 + 2 + 1), "{arm}: {flood}");
        // An arm that refuses sends no more than it announces.
        assert!(!flood.to_string().contains("surplus"), "{arm}: {flood}");
    }
    let studies = &yard.results("out")["studies"];
    let rows = studies[0]["rows"].as_array().unwrap();
    let row = |row: &str, arm: &str| rows.iter().find(|one| one["row"] == row && one["arm"] == arm).unwrap();
    for (name, arm, published) in [
        ("none", "nothing.none", "under 1 KB/s"),
        ("2 requests/s", "police.2", "650 KB/s"),
        ("2 requests/s", "haproxy.2", "650 KB/s"),
    ] {
        let row = row(name, arm);
        // On a busy machine an arm may be invalid, and then it has no figure, and says so.
        let is_told = row["value"].is_number() != row["said"].as_str().unwrap().contains("invalid");
        assert_eq!((&row["published"], is_told), (&published.into(), true), "{row}");
        assert_eq!(row["standing"], "not-comparable", "{row}");
    }
    let page = yard.read("out/report.html");
    assert!(page.contains("the layer police before nginx") && page.contains("preferred: police.2"), "{page}");
}
