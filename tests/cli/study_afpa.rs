//! `bakeoff run afpa`, shrunk: who is refused and who is not, and the page beside the published figures.

use crate::support::{Yard, has, is_root, skipped};
use serde_json::Value;

/// Parts with a flood, and all that each needs to be over soon.
const PARTS: [(&str, &str); 2] = [("rate", "flood"), ("burst", "other")];

/// A population of an arm.
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
    let sets = PARTS.iter().flat_map(|(part, _)| {
        ["experiment.max_rounds=3", "experiment.slice=1s", "workload.timeout=900ms"]
            .into_iter()
            .chain(["workload.connect_timeout=900ms", "experiment.warm=100ms"])
            .flat_map(move |set| ["--set".to_owned(), format!("{part}.{set}")])
    });
    let sets: Vec<String> =
        sets.chain(PARTS.iter().flat_map(|(part, _)| ["--part".to_owned(), (*part).to_owned()])).collect();
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let ended = yard.run(&[&["run", "afpa", "--out", "out", "--quiet"][..], &sets[..]].concat());
    if ["no bpf(2)", "no tcx", "to load BPF", "/sys/kernel/btf"]
        .iter()
        .any(|word| ended.stderr.contains(word))
    {
        return skipped(test, &ended.stderr);
    }
    for (part, flood) in PARTS {
        let results = yard.results(&format!("out/{part}"));
        assert_eq!(results["rounds"], 3, "{part}: {}", ended.stderr);
        for (arm, found) in results["arms"].as_object().unwrap() {
            let limit = arm.split_once('.').and_then(|(_, limit)| limit.parse::<u64>().ok());
            let seen = of(&results, flood, arm);
            let refused: u64 = seen["refused"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
            assert_eq!(refused > 0, limit.is_some(), "{part} {arm}: {seen}");
            assert!(
                of(&results, "preferred", arm)["refused"].as_object().is_none_or(serde_json::Map::is_empty)
            );
            assert_eq!(
                found["proof"]["active"],
                if arm.starts_with("police") { true.into() } else { Value::Null }
            );
        }
    }
    // In each of three slices what the bucket holds, what comes in a second, and what the warming left over: 5 + 2 + 1.
    let results = yard.results("out/rate");
    for arm in ["police.2", "limit-req.2"] {
        let served = of(&results, "flood", arm)["replies"].as_u64().unwrap();
        assert!((1..=24).contains(&served), "{arm}: {served}");
    }
    let studies = &yard.results("out")["studies"];
    let rows = studies[0]["rows"].as_array().unwrap();
    let row = |row: &str, arm: &str| rows.iter().find(|one| one["row"] == row && one["arm"] == arm).unwrap();
    for (name, arm, published) in [
        ("none", "nothing.none", "under 1 KB/s"),
        ("2 requests/s", "police.2", "650 KB/s"),
        ("2 requests/s", "haproxy.2", "650 KB/s"),
        ("5", "police.5", "36.6 conn/s"),
    ] {
        let row = row(name, arm);
        assert_eq!((&row["published"], row["value"].is_number()), (&published.into(), true), "{row}");
        assert_eq!(row["standing"], "not-comparable", "{row}");
    }
    let page = yard.read("out/report.html");
    assert!(page.contains("the layer police before nginx") && page.contains("preferred: police.2"), "{page}");
}
