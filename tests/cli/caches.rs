//! Bake-offs of caches: a run, a run that is broken off, the two sides on their own, and refusals.

use crate::support::{Ended, Origin, PATIENCE, Yard, has, signal, wait_until};
use serde_json::Value;
use std::fs;

/// No think time, and as many requests as take some seconds at most.
pub(crate) fn plan(rate: &str, requests: u32) -> String {
    format!(
        "[bakeoff]\ntitle = \"Tiny\"\nproducts = [\"none\"]\nrate = \"{rate}\"\nhit_ratio = \"55%\"\n\
         [robots]\nrecurrence = \"68.75%\"\nconnections = \"64\"\n\
         [[content]]\nname = \"any\"\nsize = \"exp:2KB\"\ncachable = \"80%\"\n\
         life = {{ length = \"const:2year\", expires = \"nmt+0s\" }}\n[origin]\n\
         [[phase]]\nname = \"warm\"\ngoal = {{ transactions = 100 }}\nmeasured = false\n\
         [[phase]]\nname = \"meas\"\ngoal = {{ transactions = {requests} }}\n"
    )
}

/// The records of a file of lines; each must be whole.
pub(crate) fn lines(yard: &Yard, file: &str) -> Vec<Value> {
    yard.read(file).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
pub(crate) fn prints(said: &Ended, words: &[&str]) {
    for word in words {
        assert!(said.stdout.contains(word), "should print `{word}`:\n{}", said.stdout);
    }
}

/// The value behind a name of `extract`.
fn value(said: &Ended, name: &str) -> f64 {
    let line = said.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let line = line.unwrap_or_else(|| panic!("no {name}:\n{}", said.stdout));
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// No request failed. It does not matter here whether the machine sent as many as it should have.
#[track_caller]
pub(crate) fn answers_all_that_was_asked(entrant: &Value) {
    let point = &entrant["points"][0];
    assert_eq!(
        (&entrant["errors"], &point["fault_share"]),
        (&serde_json::json!([]), &0.0.into()),
        "{entrant}"
    );
    assert!(point["replies"].as_u64().unwrap() >= 200, "{entrant}");
}

#[test]
fn a_run_without_a_cache_leaves_a_point_and_its_figures_under_lx_names() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("400/s", 600));
    let said = yard.run(&["run", "tiny.toml", "--out", "out"]).exits(0);
    assert_eq!(said.last_line(), "results: out");
    let results = yard.results("out");
    let point = &results["entrants"][0]["points"][0];
    assert_eq!((results["ended"].as_str(), point["rate_per_s"].as_f64()), (Some("complete"), Some(400.0)));
    answers_all_that_was_asked(&results["entrants"][0]);

    let said = yard.run(&["extract", "out"]).exits(0);
    prints(&said, &["# run 2 (none, 400/s), phase meas\n", "name: "]);
    assert_eq!(value(&said, "ok_xact.count") as u64, point["replies"].as_u64().unwrap());
    assert_eq!(value(&said, "hit.ratio.obj"), 0.0);
    let offered = value(&said, "offered.hit.ratio.obj");
    assert!((45.0..65.0).contains(&offered), "{offered}");
    let of_warm = yard.run(&["extract", "out", "--entrant", "none", "--rate", "400/s", "--phase", "warm"]);
    prints(&of_warm.exits(0), &["phase warm\n"]);
}

#[test]
fn extract_says_what_there_is_in_place_of_what_is_not() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("400/s", 200));
    yard.run(&["run", "tiny.toml", "--out", "out", "--quiet"]).exits(0);
    for (args, words) in [
        (&["out", "--phase", "cool"][..], &["no such phase", "warm, meas"][..]),
        (&["out", "--run", "3"], &["no such run", "run 2 (none, 400/s)"]),
        (&["out", "--rate", "50/s"], &["no such run", "run 2 (none, 400/s)"]),
        (&["nowhere"], &["nowhere", "no such directory"]),
        (&["."], &["no results directory"]),
    ] {
        let said = yard.run(&[&["extract"], args].concat()).exits(2).says(words);
        assert_eq!(said.stdout, "", "{args:?}");
    }
}

/// The path to the origin is measured before; this is of the rate.
fn is_of_warm(line: &str) -> bool {
    let read: Result<Value, _> = serde_json::from_str(line);
    read.is_ok_and(|line| line["interval"]["phase"] == "warm")
}

#[test]
fn an_interrupted_run_can_be_read_to_its_last_interval() {
    let yard = Yard::new();
    // An interval is 5 s: the first one of a phase's is closed by the change of phases.
    yard.write("tiny.toml", plan("400/s", 1_000_000));
    let run = yard.start(yard.bakeoff(&["run", "tiny.toml", "--out", "out"]));
    wait_until(PATIENCE, || {
        let text = fs::read_to_string(yard.path("out/intervals.jsonl")).unwrap_or_default();
        let has_come = text.lines().filter(|line| line.ends_with('}')).any(is_of_warm);
        if has_come { Ok(()) } else { Err("an interval".to_owned()) }
    });
    signal("INT", &run.pid().to_string());
    yard.ended(run).exits(130).says(&["interrupted"]);
    let intervals = lines(&yard, "out/intervals.jsonl");
    assert!(intervals.iter().any(|line| line["interval"]["phase"] == "warm"));
    assert!(yard.read("out/end.json").contains("\"ended\": \"interrupted\""));
    fs::remove_file(yard.path("out/results.json")).unwrap();
    yard.run(&["report", "out"]).exits(0);
    let results = yard.results("out");
    assert_eq!(results["ended"], "interrupted");
    // Whether it had a reply by then is chance.
    for point in results["entrants"][0]["points"].as_array().into_iter().flatten() {
        assert_eq!(point["cut_short"], "broken-off", "{point}");
    }
}

/// The process that serves the content: it alone is given a world.
fn origin_of(run: u32) -> Option<u32> {
    let below = bakeoff_sys::process::descendants(run).ok()?;
    let is_it = |pid: &u32| {
        let said = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&&b"origin"[..]) && words.contains(&&b"--world"[..])
    };
    below.into_iter().map(|stat| stat.pid).find(is_it)
}

#[test]
fn an_origin_that_dies_ends_the_bake_off_and_what_was_measured_is_kept() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("400/s", 1_000_000));
    let run = yard.start(yard.bakeoff(&["run", "tiny.toml", "--out", "out"]));
    wait_until(PATIENCE, || {
        let text = fs::read_to_string(yard.path("out/intervals.jsonl")).unwrap_or_default();
        let has_come = text.lines().filter(|line| line.ends_with('}')).any(is_of_warm);
        if has_come { Ok(()) } else { Err("an interval".to_owned()) }
    });
    signal("KILL", &origin_of(run.pid()).unwrap().to_string());
    yard.ended(run).exits(3).says(&["the origin: ", "killed by SIGKILL"]);
    let ended = yard.read("out/end.json");
    assert!(ended.contains("\"ended\": \"the origin: "), "{ended}");
    let runs = lines(&yard, "out/runs.jsonl");
    let kinds: Vec<_> = runs.iter().map(|run| run["purpose"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["path", "path", "rate"]);
    let last = &runs[2];
    assert_eq!(
        (&last["phases"][0]["phase"]["phase"], &last["ended"]),
        (&"warm".into(), &"broken off".into())
    );
    assert!(last["failed"].as_str().unwrap().starts_with("the origin: "), "{last}");
}

#[test]
fn what_cannot_be_run_exits_2_and_says_why() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("400/s", 200));
    yard.write("key.toml", plan("400/s", 200).replace("rate = ", "rait = "));
    for (args, words) in [
        (&["polymix-1", "--scale", "1/1000"][..], &["`meas`", "at least 1/"][..]),
        (&["polymix-1", "--scale", "2"], &["is no scale", "1/60"]),
        (&["polyfill", "--rate", "50/s"], &["as fast as replies come", "take --rate out"]),
        (&["tiny.toml", "--product", "squidd"], &["squidd", "squid", "varnish"]),
        (&["tiny.toml", "--reverse", "127.0.0.1:1"], &["--origin-port"]),
        (&["key.toml"], &["key.toml", "rait"]),
        (&["tiny.toml", "--fail-if", "cost > 2%"], &["it is for experiments", "`faults > 0`"]),
        (&["tiny.toml", "--fail-if", "squid: faults > 0"], &["no `squid` takes part"]),
        (&["tiny.toml", "--loads", "10%,50%"], &["--loads is for experiments"]),
        (&["tiny.toml", "--full"], &["--full is for experiments", "take it out"]),
        (&["tiny.toml", "--proxy", "nonsense"], &["nonsense", "HOST:PORT"]),
        (&["tiny.toml", "--product", "squid", "--product", "squid"], &["`squid` takes part twice"]),
    ] {
        let said = yard.run(&[&["run"], args, &["--out", "out"]].concat()).exits(2).says(words);
        assert_eq!(said.stdout, "", "{args:?}");
        assert!(!yard.path("out").exists(), "{args:?}");
    }
}

#[test]
fn what_is_for_experiments_says_of_a_bake_off_what_to_do() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("400/s", 200));
    yard.run(&["run", "tiny.toml", "--out", "out", "--quiet"]).exits(0);
    let before = yard.read("out/results.json");
    for (args, words) in [
        (
            &["compare-results", "out", "out"][..],
            &["out: a bake-off of caches is not an experiment", "bakeoff report"][..],
        ),
        (&["report", "out", "--fail-if", "cost > 2%"], &["it is for experiments", "`faults > 0`"]),
        (&["run", "--resume", "out", "--fail-if", "cost > 2%"], &["it is for experiments"]),
    ] {
        let said = yard.run(args).exits(2).says(words);
        assert_eq!(said.stdout, "", "{args:?}");
    }
    assert_eq!(yard.read("out/results.json"), before);
    let rules = ["--fail-if", "faults > 0", "--fail-if", "verdict = cheat"];
    let held = yard.run(&[&["report", "out"][..], &rules].concat()).exits(0);
    held.says(&["fail-if: faults > 0: held: none has 0", "fail-if: verdict = cheat: held: none "]);
    yard.run(&["report", "out", "--fail-if", "verdict = measured"]).exits(5).says(&["BROKEN"]);
}

#[test]
fn whoever_gives_no_figure_is_said_by_the_exit_code_too() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("400/s", 200));
    let nobody = &["run", "tiny.toml", "--proxy", "localhost:1"][..];
    let said = yard.run(&[nobody, &["--out", "none"]].concat()).exits(3).says(&["no rate was measured"]);
    prints(&said, &["did not finish: "]);
    assert_eq!(
        (said.last_line(), yard.results("none")["ended"].as_str()),
        ("results: none", Some("complete"))
    );
    let said = yard.run(&[nobody, &["--product", "none", "--out", "one"]].concat()).exits(4);
    let said = said.says(&["1 of 3 that took part did not finish"]);
    prints(&said, &["did not finish: ", "--proxy localhost:1"]);
    yard.run(&["report", "one"]).exits(4);
    assert_eq!(yard.results("one")["flags"][1], "--proxy localhost:1");
}

#[test]
fn origin_and_robots_serve_and_ask_apart_from_one_plan() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("400/s", 400));
    let origin = Origin::start(&yard, &["--threads", "1", "--plan", "tiny.toml"]);
    let address = origin.url.strip_prefix("http://").unwrap();
    let console = ["--console", "polygraph", "--console-every", "100ms"];
    let args = [&["robots", "tiny.toml", "--origin", address, "--log", "log"][..], &console].concat();
    let said = yard.start(yard.bakeoff(&args)).wait().exits(0).says(&["its clock agrees"]);
    prints(&said, &["| p-meas ", "phase warm (not measured): ", "phase meas: ", "faults: none\n"]);
    assert_eq!(said.last_line(), "results: log");
    let run = &lines(&yard, "log/runs.jsonl")[0];
    assert_eq!(run["purpose"]["kind"], "rate");
    // A Date has whole seconds: one may have turned in between, and more where the machine stood still.
    assert!((-60..=0).contains(&run["clock_ahead_s"].as_i64().unwrap()), "{run}");
    let named = |line: &&Value| line["phase"]["phase"] != "";
    let phases = || run["phases"].as_array().unwrap().iter().filter(named);
    let sum = |of: fn(&Value) -> &Value| phases().map(|line| of(line).as_u64().unwrap()).sum::<u64>();
    let (good, failed) =
        (sum(|line| &line["phase"]["sums"]["good"]), sum(|line| &line["phase"]["sums"]["failed"]));
    assert!(good >= 500 && failed == 0, "{good} good, {failed} failed");
    // A second or two of load has a line each 100 ms; what is stored has intervals of 5 s.
    let (stored, shown) = (lines(&yard, "log/intervals.jsonl").len(), said.stdout.matches("| i-").count());
    assert!(stored > 0 && shown >= stored + 5, "{shown} lines of {stored} intervals:\n{}", said.stdout);
    prints(&yard.start(yard.bakeoff(&["extract", "log"])).wait().exits(0), &["offered.hit.ratio.obj:"]);
    let (code, _, closing) = origin.end_with_closing_lines();
    let requests = closing.lines().find_map(|line| line.strip_prefix("requests: ")).unwrap();
    assert_eq!((code, requests.parse::<u64>().unwrap() >= good), (Some(0), true), "{closing}");
}

/// The same over TLS, to forward proxies.
fn over_tls(rate: &str, requests: u32) -> String {
    let plan = plan(rate, requests).replace("[origin]", "[origin]\ntls = true");
    plan.replace("[bakeoff]", "[bakeoff]\nmode = \"forward\"")
}

#[test]
fn over_tls_a_forward_proxy_carries_tunnels_and_what_has_none_is_noted() {
    if !has("squid", "over_tls_a_forward_proxy_carries_tunnels_and_what_has_none_is_noted") {
        return;
    }
    let yard = Yard::new();
    let plan = over_tls("200/s", 300) + "[fill]\nrobots = 2\n";
    yard.write("tiny.toml", plan.replace("[bakeoff]", "[bakeoff]\norder = \"plan\"\nbaseline_twice = false"));
    let products = ["--product", "none", "--product", "squid", "--product", "nginx"];
    let said = yard.run(&[&["run", "tiny.toml", "--out", "out"][..], &products].concat()).exits(4);
    prints(&said, &["Kept and modernised", "(CONNECT)"]);
    let results = yard.results("out");
    assert_eq!(results["mode"], "tunnel");
    let sentence = |entrant: usize| results["entrants"][entrant]["sentence"].as_str().unwrap();
    assert!(sentence(1).contains("0 % of the replies are hits by design"), "{}", sentence(1));
    assert!(sentence(2).contains("it is a reverse proxy only"), "{}", sentence(2));
    for (entrant, name) in results["entrants"].as_array().unwrap().iter().zip(["none", "squid"]) {
        let point = &entrant["points"][0];
        assert_eq!(entrant["name"], name, "{entrant}");
        answers_all_that_was_asked(entrant);
        assert!(point["rule"].is_null() && point["hit_ratio"].is_null(), "{point}");
        let tls = &point["tls"];
        assert!(tls["full"].as_u64() >= Some(1) && tls["failed"] == 0, "{tls}");
        assert!(tls["agreed"].as_str().unwrap().starts_with("TLSv1_3"), "{tls}");
        assert_eq!(entrant["faults"], Value::Array(Vec::new()));
    }
    // Nothing goes into its store, which therefore was not filled.
    let purposes: Vec<Value> =
        lines(&yard, "out/runs.jsonl").iter().map(|run| run["purpose"]["kind"].clone()).collect();
    assert_eq!(purposes, ["path", "path", "rate", "rate", "fill"], "the last says why nginx takes no part");
}

#[test]
fn origin_and_robots_apart_speak_tls_where_their_plan_says_so() {
    let yard = Yard::new();
    yard.write("tiny.toml", over_tls("400/s", 200));
    let origin = Origin::start(&yard, &["--threads", "1", "--plan", "tiny.toml"]);
    let address = origin.url.strip_prefix("https://").unwrap();
    let robots = |more: &[&str]| {
        let args = [&["robots", "tiny.toml", "--origin", address][..], more].concat();
        yard.start(yard.bakeoff(&args)).wait()
    };
    let said = robots(&[]).exits(0).says(&["its clock agrees"]);
    prints(&said, &["phase meas: ", "faults: none"]);
    assert!(!said.stdout.contains("failed: "), "{}", said.stdout);
    robots(&["--reverse", address]).exits(2).says(&["a reverse proxy opens none"]);
}

#[test]
fn robots_without_their_origin_say_what_is_missing() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("400/s", 200));
    yard.write("bytes.toml", [0xff, 0xfe]);
    let origin = Origin::start(&yard, &["--threads", "1"]);
    let address = origin.url.strip_prefix("http://").unwrap();
    for (args, code, words) in [
        (["tiny.toml", address], 3, &["no world", "bakeoff origin --plan"][..]),
        (["tiny.toml", "nonsense"], 2, &["nonsense", "HOST:PORT"]),
        (["cache-bakeoff", address], 2, &["one rate"]),
        (["none.toml", address], 2, &["no such plan"]),
        (["bytes.toml", address], 2, &["bytes.toml: ", "UTF-8"]),
    ] {
        let robots = yard.bakeoff(&["robots", args[0], "--origin", args[1], "--log", "log"]);
        yard.start(robots).wait().exits(code).says(words);
        assert!(!yard.path("log").exists(), "{args:?}");
    }
}
