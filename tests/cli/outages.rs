//! Outages in bake-offs: real caches that are killed and started again, one that does not come back, Ctrl-C
//! meanwhile.

use crate::support::{PATIENCE, Yard, has, signal, wait_until};
use serde_json::Value;
use std::fs;

/// A cache gets requests for a while, is away, and gets requests again.
fn plan(products: &str, away: &str) -> String {
    format!(
        "[bakeoff]\ntitle = \"Away\"\nproducts = [{products}]\nrate = \"40/s\"\nhit_ratio = \"55%\"\n\
         disk = \"64MB\"\nmemory = \"8MB\"\n\
         [robots]\nrate = \"40/s\"\ninter_arrival = \"const\"\nrecurrence = \"80%\"\nconnections = \"64\"\n\
         [[content]]\nname = \"any\"\nsize = \"exp:2KB\"\ncachable = \"80%\"\n\
         life = {{ length = \"const:2year\", expires = \"nmt+0s\" }}\n[origin]\n\
         [[phase]]\nname = \"load\"\ngoal = {{ duration = \"3s\" }}\n\
         [[phase]]\nname = \"dark\"\ngoal = {{ duration = \"{away}\" }}\noutage = true\n\
         [[phase]]\nname = \"meas\"\ngoal = {{ duration = \"25s\" }}\n"
    )
}

/// nginx with this configuration writes a log that is no valid configuration, and includes it: the next one cannot
/// start.
const ONCE: &str = "events {}\nhttp {\n  include {dir}/made*.log;\n  server {\n    listen {host}:{port};\n    \
    access_log {dir}/made.log;\n    location / { proxy_pass http://{origin}; }\n  }\n}\n";

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn killed_caches_come_back_with_what_was_on_disk_or_say_why_not() {
    let test = "killed_caches_come_back_with_what_was_on_disk_or_say_why_not";
    if !has("nginx", test) || !has("varnishd", test) {
        return;
    }
    let yard = Yard::new();
    yard.write("once.conf", ONCE);
    let plan = plan("\"nginx=once.conf\", \"nginx\", \"varnish\"", "1s");
    yard.write("away.toml", plan.replace("[bakeoff]", "[bakeoff]\nbaseline_twice = false"));
    let said = yard.run(&["run", "away.toml", "--out", "out"]).exits(4);
    let said = said.says(&["1 of 3 that took part did not finish"]);
    assert!(said.stdout.contains("away for "), "{}", said.stdout);
    let results = yard.results("out");
    let entrants = results["entrants"].as_array().unwrap();
    let outage = |at: usize| &entrants[at]["downtime"][0];

    let why = entrants[0]["failed"].as_str().unwrap();
    assert!(why.starts_with("after its outage it did not come back: ") && why.contains("made.log"), "{why}");
    assert_eq!((&outage(0)["first_good_ns"], &outage(0)["phase"]), (&Value::Null, &"dark".into()));

    for at in [1, 2] {
        let (entrant, outage) = (&entrants[at], outage(at));
        assert_eq!(entrant["failed"], Value::Null, "{entrant}");
        assert!(number(&outage["lost"]["connect-refused"]) > 0, "{outage}");
        assert!(number(&outage["away_ns"]) > 0, "{outage}");
        assert!(number(&outage["first_good_ns"]) <= number(&outage["first_hit_ns"]), "{outage}");
        assert!(number(&outage["known_asked"]) > 0, "{outage}");
        let faults = entrant["faults"].as_array().unwrap().iter();
        assert_eq!(faults.filter(|fault| fault["only_counted"] == false).count(), 0, "{entrant}");
    }
    let known = |at: usize| (number(&outage(at)["known_asked"]), number(&outage(at)["known_hits"]));
    let (asked, hits) = known(1);
    assert!(hits * 10 >= asked * 9, "nginx still had {hits} of {asked}");
    assert_eq!(known(2).1, 0, "Varnish has nothing from before");

    fs::remove_file(yard.path("out/results.json")).unwrap();
    yard.run(&["report", "out"]).exits(4);
    assert_eq!(yard.results("out"), results);
}

/// Whether a program of this name is below a process.
fn has_below(root: u32, program: &str) -> bool {
    let below = bakeoff_sys::process::descendants(root).unwrap_or_default();
    let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    below.into_iter().any(|stat| name(stat.pid).trim() == program)
}

#[test]
fn ctrl_c_while_a_cache_is_away_leaves_nothing() {
    if !has("nginx", "ctrl_c_while_a_cache_is_away_leaves_nothing") {
        return;
    }
    let yard = Yard::new();
    yard.write("away.toml", plan("\"nginx\"", "10min"));
    let run = yard.start(yard.bakeoff(&["run", "away.toml", "--out", "out"]));
    wait_until(PATIENCE, || {
        let text = fs::read_to_string(yard.path("out/intervals.jsonl")).unwrap_or_default();
        let is_away = text.contains("\"phase\":\"load\"") && !has_below(run.pid(), "nginx");
        if is_away { Ok(()) } else { Err("nginx killed".to_owned()) }
    });
    signal("INT", &run.pid().to_string());
    yard.ended(run).exits(130).says(&["interrupted"]);
    let entrant = &yard.results("out")["entrants"][0];
    assert_eq!((&entrant["downtime"][0]["away_ns"], &entrant["failed"]), (&Value::Null, &Value::Null));
    assert!(entrant["sentence"].as_str().unwrap().contains("away until the run ended"), "{entrant}");
}

#[test]
fn robots_by_themselves_have_no_outage() {
    let yard = Yard::new();
    let robots = ["robots", "downtime-2", "--origin", "127.0.0.1:1"];
    yard.run(&robots).exits(2).says(&["downtime-2: ", "kill none", "bakeoff run"]);
    for (args, words) in [
        (&["--product", "none"][..], "`none` cannot be away"),
        (&["--proxy", "127.0.0.1:1"], "`127.0.0.1:1` cannot be away"),
    ] {
        let run = [&["run", "downtime-2", "--out", "out"], args].concat();
        yard.run(&run).exits(2).says(&[words, "take products alone"]);
    }
}
