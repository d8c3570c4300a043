//! Shipped plans of bake-offs from one end to the other, made short: less store, fewer objects, phases of a second.

use crate::support::{Origin, Yard};
use bakeoff_caches::shipped;
use serde_json::Value;

/// A shipped plan with some words replaced, which it must contain.
fn shortened(name: &str, changes: &[(&str, &str)]) -> String {
    let plan = shipped::PLANS.iter().find(|plan| plan.name == name).unwrap();
    changes.iter().fold(plan.text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{name} has no `{from}`");
        text.replace(from, to)
    })
}

/// PolyFill of 16 MB.
fn polyfill() -> String {
    shortened(
        "polyfill",
        &[
            ("memory = \"64MB\"", "memory = \"8MB\""),
            ("disk = \"1GB\"", "disk = \"none\""),
            ("duration = \"2min\"", "duration = \"300ms\""),
            ("duration = \"1min\"", "duration = \"200ms\""),
        ],
    )
}

/// The last recorded run.
fn last_run(yard: &Yard, out: &str) -> Value {
    serde_json::from_str(yard.read(&format!("{out}/runs.jsonl")).lines().last().unwrap()).unwrap()
}

/// Names of the phases of a plan, each with the reason for its end.
fn phases(run: &Value) -> Vec<(&str, &str)> {
    let lines = run["phases"].as_array().unwrap().iter();
    let words = lines.map(|line| (line["phase"]["phase"].as_str().unwrap(), line["ended"].as_str().unwrap()));
    words.filter(|(name, _)| !name.is_empty()).collect()
}

#[test]
fn webaxe_4_fills_freezes_and_measures_two_plateaus_without_the_rule_of_1999() {
    let yard = Yard::new();
    let plan = shortened(
        "webaxe-4",
        &[
            ("rate = \"400/s\"", "rate = \"200/s\""),
            ("memory = \"64MB\"", "memory = \"4MB\""),
            ("disk = \"1GB\"", "disk = \"none\""),
            ("objects = 95325", "objects = 200"),
            ("duration = \"20min\"", "duration = \"300ms\""),
            ("duration = \"4h\"", "transactions = 400"),
        ],
    );
    yard.write("axe.toml", plan);
    let said = yard.run(&["run", "axe.toml", "--out", "out"]).exits(0);
    assert!(said.stdout.contains("200/s top1") && !said.stdout.contains("in 1999"), "{}", said.stdout);
    let run = last_run(&yard, "out");
    let (time, requests) = ("its time was over", "it had its requests");
    let fill = "enough bytes had gone into the cache";
    let names = ["framp", "fill", "fexit", "inc1", "top1", "dec1", "idle", "inc2", "top2", "dec2"];
    let ended = [time, fill, time, time, requests, time, time, time, requests, time];
    assert_eq!(phases(&run), names.into_iter().zip(ended).collect::<Vec<_>>());
    let results = yard.results("out");
    assert!(results["hit_ratio_asked"].is_null());
    let points = results["entrants"][0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    for point in points {
        assert_eq!((point["asked_rate_per_s"].as_f64(), point["rule"].is_null()), (Some(200.0), true));
        // Beside other work some get no reply in time; replies that come are right.
        assert_eq!(point["fault_share"], 0.0, "{point}");
        // 95 % are repeats; of these about 80 % of the images may be kept, and most of the objects that are asked for
        // directly.
        let offered = point["offered_hit_ratio"].as_f64().unwrap();
        assert!((0.5..1.0).contains(&offered), "{offered}");
    }
}

#[test]
fn polyfill_goes_as_fast_as_replies_come_until_twice_the_store_went_in() {
    let yard = Yard::new();
    yard.write("fill.toml", polyfill());
    let said = yard.run(&["run", "fill.toml", "--out", "out"]).exits(0);
    for words in ["replies came at ", "best effort", "1 entrant, best effort"] {
        assert!(said.stdout.contains(words), "{words}:\n{}", said.stdout);
    }
    assert!(!said.stdout.contains("in 1999"), "{}", said.stdout);
    let run = last_run(&yard, "out");
    assert_eq!(run["purpose"]["kind"], "best-effort");
    let entrant = &yard.results("out")["entrants"][0];
    let point = &entrant["points"][0];
    assert_eq!((point["phase"].as_str(), point["replies"].as_u64() > Some(2_000)), (Some("meas"), true));
    for key in ["rate_per_s", "asked_rate_per_s", "rule", "cut_short"] {
        assert!(point[key].is_null(), "{key}: {point}");
    }
    // Without a cache all of it is a miss.
    let fill = &entrant["fill"];
    assert!(fill["bytes"].as_u64() >= Some(16_000_000), "{fill}");
    assert_eq!(fill["ended"], "enough bytes had gone into the cache");
    let said = yard.run(&["extract", "out"]).exits(0);
    assert!(said.stdout.starts_with("# run 2 (none, best effort), phase meas\n"), "{}", said.stdout);
}

#[test]
fn a_store_that_is_never_full_ends_with_the_longest_time_of_its_phase() {
    let yard = Yard::new();
    let never = polyfill().replace("fill = \"200%\"", "fill = \"9000000%\"").replace("\"4h\"", "\"1s\"");
    yard.write("fill.toml", never);
    let origin = Origin::start(&yard, &["--threads", "1", "--plan", "fill.toml"]);
    let address = origin.url.strip_prefix("http://").unwrap();
    let args = ["robots", "fill.toml", "--origin", address, "--log", "log"];
    yard.start(yard.bakeoff(&args)).wait().exits(0);
    let run = last_run(&yard, "log");
    let too_long = "what it waited for had not come after the longest time it may take";
    assert_eq!(phases(&run)[1..], [("meas", too_long), ("cool", "its time was over")]);
    let said = yard.start(yard.bakeoff(&["report", "log"])).wait().exits(0);
    assert!(said.stdout.contains("cut short: what it waited for had not come"), "{}", said.stdout);
}
