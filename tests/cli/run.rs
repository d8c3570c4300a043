//! `bakeoff run`: streams, exit code, results directory.

use crate::contract;
use crate::support::{GET, ORIGINS, PATIENCE, SLOW, SLOW_GET, Yard, plan, signal, wait_until};

#[test]
fn quiet_prints_one_line_and_keeps_the_contract() {
    let yard = Yard::new();
    let text = plan("margin = \"2%\"", GET, ORIGINS);
    yard.write("plan.toml", &text);
    let said = yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    assert_eq!(said.stdout, "results: out\n");
    assert_eq!(said.stderr, "");
    assert_eq!(yard.read("out/plan.toml"), text);
    assert!(yard.read("out/report.html").contains("</html>"));
    let results = contract::kept(&yard, "out", &["plain", "tls"], "subject_cpu_per_request");
    assert_eq!(results["seed"], 7);
    assert_eq!(results["margin"], 0.02);
    assert_eq!(results["rounds"], 3);
    for arm in ["plain", "plain'", "tls"] {
        assert_eq!(results["arms"][arm]["requests"], 600);
        assert_eq!(results["arms"][arm]["replies"], 600);
    }
    let row = contract::row(&results, "tls");
    assert_eq!(row["unit"], "ns");
    let (value, baseline) = (row["value"].as_f64().unwrap(), row["baseline_value"].as_f64().unwrap());
    assert!(value > 1e3 && baseline > 1e3, "{row}");
    // A fraction, not a percentage: it lies among the rounds' own ratios.
    let rounds: Vec<f64> =
        row["differences"].as_array().unwrap().iter().map(|d| d.as_f64().unwrap().exp_m1()).collect();
    let (low, high) =
        (rounds.iter().fold(f64::MAX, |a, b| a.min(*b)), rounds.iter().fold(f64::MIN, |a, b| a.max(*b)));
    assert_eq!(rounds.len(), 3);
    assert!((low..=high).contains(&row["effect"].as_f64().unwrap()), "{row}");
}

/// An arm with a number of requests of its own has as many in every slice, and the words say so.
#[test]
fn an_arm_may_have_slices_of_its_own() {
    let yard = Yard::new();
    let arms = format!("{ORIGINS}\nslice_requests = 90");
    yard.write("plan.toml", plan("design = \"auto\"", GET, &arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out", "--verbose"]).exits(0);
    assert!(said.stdout.contains("1,470 requests in all, 90 to 200 a slice"), "{}", said.stdout);
    let results = contract::kept(&yard, "out", &["plain", "tls"], "subject_cpu_per_request");
    assert_eq!(results["arms"]["plain'"]["requests"], 600);
    assert_eq!(results["arms"]["tls"]["requests"], 270);
    assert_eq!(results["workload"]["requests_of"], serde_json::json!({ "tls": 90 }));
    assert_eq!(results["design"]["design"], "pairs");
    let reason = results["design"]["reason"].as_str().unwrap();
    assert!(reason.contains("numbers of requests of their own"), "{reason}");
    let setup: serde_json::Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    assert_eq!(setup["workload"]["requests_of"]["tls"], 90);
    // Bytes read from storage are of a whole slice: no row compares them.
    let rows = results["comparisons"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["arm"] != "tls" || row["meter"] != "disk_read"));
    yard.run(&["verify", "out"]).exits(0);
}

#[test]
fn a_sample_is_run_unless_the_whole_is_asked_for() {
    let yard = Yard::new();
    let two = "max_rounds = { sample = 3, full = 4 }\nslice_requests = { sample = 50, full = 100 }";
    yard.write("plan.toml", plan(two, GET, ORIGINS));
    let said = yard.run(&["check", "plan.toml"]).exits(0);
    for words in [
        "a sample: budget 2.5 min, at most 3 rounds, 50 requests",
        "--full: budget 2.5 min, at most 4 rounds, 100",
    ] {
        assert!(said.stdout.contains(words), "{words}:\n{}", said.stdout);
    }
    let extent = |dir: &str| {
        let setup: serde_json::Value =
            serde_json::from_str(&yard.read(&format!("{dir}/setup.json"))).unwrap();
        let results = contract::kept(&yard, dir, &["plain", "tls"], "subject_cpu_per_request");
        assert_eq!(setup["extent"], results["extent"]);
        (setup["extent"].clone(), results["arms"]["tls"]["requests"].as_u64().unwrap())
    };
    let said = yard.run(&["run", "plan.toml", "--out", "sample"]).exits(0);
    assert!(said.stdout.contains("a stated sample; `--full` runs the whole"), "{}", said.stdout);
    assert_eq!(extent("sample"), ("sample".into(), 3 * 50));
    let said = yard.run(&["run", "plan.toml", "--full", "--out", "full"]).exits(0);
    assert!(said.stdout.contains("the whole, by `--full`"), "{}", said.stdout);
    assert_eq!(extent("full"), ("full".into(), 4 * 100));
    assert!(yard.read("full/report.html").contains("the whole, by"));

    yard.write("plain.toml", plan("", GET, ORIGINS));
    let said = yard.run(&["run", "plain.toml", "--full"]).exits(2);
    said.says(&["--full", "plain.toml states no sample", "{ sample = X, full = Y }"]);
    assert!(!yard.path("bakeoff-results").exists(), "nothing was begun");
    yard.run(&["run", "--resume", "full", "--full"]).exits(2);
}

/// The pilot sizes the remaining slices.
#[test]
fn the_pilot_sizes_the_slices_of_the_other_arms() {
    let yard = Yard::new();
    let arms = format!("{ORIGINS}\nslice_requests = 90");
    yard.write("plan.toml", plan("", GET, &arms).replace("slice_requests = 200\n", ""));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    let setup: serde_json::Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    assert!(setup["workload"]["slice_requests"].as_u64().unwrap() >= 2000, "{}", setup["workload"]);
    let reason = setup["workload"]["slice_reason"].as_str().unwrap();
    assert!(reason.contains("1 arm has as many as the plan says"), "{reason}");
    let results: serde_json::Value = serde_json::from_str(&yard.read("out/results.json")).unwrap();
    assert_eq!(results["arms"]["tls"]["requests"], 270);
}

#[test]
fn the_report_stands_on_standard_output_and_ends_with_the_directory() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let said = yard.run(&["run", "plan.toml", "--out", "a/new/out"]).exits(0);
    assert_eq!(said.last_line(), "results: a/new/out");
    for word in ["what does tls cost?", "plain'", "noise floor"] {
        assert!(said.stdout.contains(word), "{word}:\n{}", said.stdout);
    }
    // Progress is on the other stream, in plain lines.
    for word in ["starting tls", "round 1 of at most 3", "report.html"] {
        assert!(said.stderr.contains(word), "{word}:\n{}", said.stderr);
        assert!(!said.stdout.contains(word), "{word}:\n{}", said.stdout);
    }
    assert!(!(said.stdout + &said.stderr).contains('\x1b'));
}

#[test]
fn without_out_a_directory_with_the_plans_name_is_made() {
    let yard = Yard::new();
    yard.write("mine.toml", plan("", GET, ORIGINS));
    let said = yard.run(&["run", "mine.toml", "--quiet"]).exits(0);
    let dir = said.stdout.strip_prefix("results: ").unwrap().trim_end();
    assert!(dir.starts_with("bakeoff-results/mine-"), "{dir}");
    assert!(yard.path(dir).join("results.json").is_file());
}

#[test]
fn a_directory_with_something_in_it_is_not_touched() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    std::fs::create_dir(yard.path("out")).unwrap();
    yard.write("out/precious", "x");
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(2).says(&["out", "not empty", "--resume"]);
    assert_eq!(std::fs::read_dir(yard.path("out")).unwrap().count(), 1);
    std::fs::remove_file(yard.path("out/precious")).unwrap();
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
}

#[test]
fn on_40_columns_no_line_of_the_report_is_longer() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let mut command = yard.bakeoff(&["run", "plan.toml", "--out", "out"]);
    command.env("COLUMNS", "40");
    let said = yard.ended(yard.start(command)).exits(0);
    for line in said.stdout.lines() {
        assert!(line.chars().count() <= 40, "{line}");
    }
}

#[test]
fn the_order_of_arms_comes_from_the_seed() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let order = |out: &str| -> Vec<(u64, String)> {
        yard.run(&["run", "plan.toml", "--out", out, "--quiet"]).exits(0);
        let lines = yard.read(&format!("{out}/slices.jsonl"));
        lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|slice| (slice["round"].as_u64().unwrap(), slice["arm"].as_str().unwrap().to_owned()))
            .collect()
    };
    let first = order("a");
    assert_eq!(first.len(), 9);
    assert_eq!(first, order("b"));
    yard.write("plan.toml", plan("", GET, ORIGINS).replace("seed = 7", "seed = 8"));
    assert_ne!(first, order("c"));
}

#[test]
fn two_runs_on_the_same_cores_name_each_other_and_go_on() {
    let yards = [Yard::new(), Yard::new()];
    let started = yards.each_ref().map(|yard| {
        // However long the other takes to begin, the run is still there.
        yard.write("plan.toml", plan(&SLOW.replace("6", "10000"), SLOW_GET, ORIGINS));
        yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out", "--quiet"]))
    });
    for yard in &yards {
        wait_until(PATIENCE, || {
            let begun = yard.path("out/slices.jsonl").exists();
            begun.then_some(()).ok_or_else(|| "no slice".to_owned())
        });
    }
    let pids = started.each_ref().map(|started| started.pid());
    for (yard, started) in yards.iter().zip(started) {
        signal("INT", &started.pid().to_string());
        yard.ended(started).exits(130);
    }
    for (yard, other) in yards.iter().zip([pids[1], pids[0]]) {
        let warnings = yard.results("out")["warnings"].clone();
        assert_eq!(warnings[0]["label"], "other-run", "{warnings}");
        let alone = format!("Another bakeoff (`plan`, process {other}, since 20");
        // Other tests may measure, too.
        let said = warnings[0]["sentence"].as_str().unwrap();
        assert!(said.starts_with(&alone) || said.contains(" other bakeoffs (`"), "{alone}: {warnings}");
        assert!(yard.read("out/report.html").contains("on the same cores"));
    }
}
