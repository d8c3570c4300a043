//! Bake-offs in passes: the drawn order, the baseline twice, and the records of one that is killed.

use crate::caches::{lines, plan, prints};
use crate::support::{PATIENCE, Yard, has, signal, wait_until};
use serde_json::Value;
use std::collections::BTreeSet;

/// Two rates in each of two passes.
fn in_passes(products: &str, requests: u32) -> String {
    let changed = format!(
        "rates = [\"100%\", \"50%\"]\npeak = \"400/s\"\nidle = \"0s\"\npasses = 2\nproducts = [{products}]"
    );
    plan("400/s", requests).replace("products = [\"none\"]\n", "").replace("rate = \"400/s\"", &changed)
}

/// Pass, entrant and index of its rate, for every run at a rate, in their order.
fn rates(yard: &Yard) -> Vec<(u64, String, u64)> {
    let all = lines(yard, "out/runs.jsonl");
    let rates = all.iter().filter(|run| run["purpose"]["kind"] == "rate");
    let of = |run: &Value| {
        let name = run["entrant"]["name"].as_str().unwrap().to_owned();
        (run["pass"].as_u64().unwrap(), name, run["purpose"]["order"].as_u64().unwrap())
    };
    rates.map(of).collect()
}

/// The order in the set-up, as [`rates`].
fn drawn(yard: &Yard) -> Vec<(u64, String, u64)> {
    let setup: Value = serde_json::from_str(&yard.read("out/bakeoff.json")).unwrap();
    let mut drawn = Vec::new();
    for turn in setup["turns"].as_array().unwrap() {
        let name = turn["entrant"].as_str().unwrap();
        for rate in turn["rates"].as_array().unwrap() {
            drawn.push((turn["pass"].as_u64().unwrap(), name.to_owned(), rate.as_u64().unwrap()));
        }
    }
    drawn
}

#[test]
fn two_passes_run_as_they_were_drawn_with_the_baseline_twice() {
    if !has("nginx", "two_passes_run_as_they_were_drawn_with_the_baseline_twice") {
        return;
    }
    let yard = Yard::new();
    yard.write("tiny.toml", in_passes("\"none\", \"nginx\"", 300));
    prints(&yard.run(&["check", "tiny.toml"]).exits(0), &["2 passes, none twice in each", "takes "]);
    let said = yard.run(&["run", "tiny.toml", "--out", "out"]).exits(0).says(&["turn 6 of 6, pass 2 of 2"]);
    prints(&said, &["2 entrants, the baseline twice, 2 rates, 2 passes", "The baseline, twice", "passes: "]);
    let ran = rates(&yard);
    assert_eq!(ran, drawn(&yard), "what was drawn beforehand was run");
    let different: BTreeSet<_> = ran.iter().collect();
    assert_eq!((ran.len(), different.len()), (12, 12), "each rate once a turn: {ran:?}");

    let results = yard.results("out");
    let entrants = results["entrants"].as_array().unwrap();
    let names: Vec<&str> = entrants.iter().map(|entrant| entrant["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["none", "none'", "nginx"]);
    assert_eq!((&entrants[1]["second_of"], &entrants[0]["second_of"]), (&"none".into(), &Value::Null));
    for entrant in entrants {
        assert_eq!(entrant["points"].as_array().unwrap().len(), 2, "{entrant}");
        for point in entrant["points"].as_array().unwrap() {
            let of_pass = |at: usize| point["passes"][at]["mean_ns"].as_f64().unwrap();
            let mean = point["mean_ns"].as_f64().unwrap();
            assert!((mean - f64::midpoint(of_pass(0), of_pass(1))).abs() <= 1.0, "{point}");
        }
        assert_eq!(entrant["spread"]["points"], 2, "{entrant}");
    }
    assert!(entrants[2]["points"][0]["hit_ratio"].as_f64() > Some(0.1), "{}", entrants[2]);
    assert_eq!(results["baselines"]["second"], "none'");
    for file in ["nginx.conf", "nginx@pass-2.conf"] {
        assert!(yard.read(&format!("out/{file}")).contains("proxy_cache"), "{file}");
    }
    let said = yard.run(&["extract", "out", "--entrant", "nginx", "--rate", "200/s"]).exits(0);
    prints(&said, &["(nginx, 200/s, pass 1), phase meas", "(nginx, 200/s, pass 2), phase meas"]);
}

#[test]
fn a_bake_off_that_is_killed_in_its_second_pass_keeps_the_first() {
    let yard = Yard::new();
    yard.write("tiny.toml", in_passes("\"none\"", 800));
    let run = yard.start(yard.bakeoff(&["run", "tiny.toml", "--out", "out"]));
    wait_until(PATIENCE, || {
        let text = std::fs::read_to_string(yard.path("out/runs.jsonl")).unwrap_or_default();
        let whole = text.lines().filter(|line| line.ends_with('}'));
        let second = whole.filter(|line| line.contains("\"pass\":2")).count();
        if second > 0 { Ok(()) } else { Err(format!("{second} runs of the second pass")) }
    });
    signal("KILL", &run.pid().to_string());
    run.wait();
    // The next run removes its scratch directory; a report is no run.
    let said = yard.start(yard.bakeoff(&["report", "out"])).wait().exits(0);
    prints(&said, &["PARTIAL RESULTS", "1 entrant, 2 rates, 2 passes"]);
    let results = yard.results("out");
    let points = results["entrants"][0]["points"].as_array().unwrap().clone();
    let passes = |point: &Value| point["passes"].as_array().unwrap().len();
    let mut counts: Vec<usize> = points.iter().map(passes).collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2], "one rate has both passes: {results}");
    assert_eq!(results["entrants"][0]["spread"]["points"], 1);
}
