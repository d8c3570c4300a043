//! Faults of the machine under a bake-off: a proxy that dies, one that stops, and bakeoff killed itself.

use crate::caches::{lines, plan, prints};
use crate::support::{Ended, Origin, PATIENCE, Started, Yard, signal, wait_until};
use serde_json::Value;
use std::net::TcpListener;
use std::process::Command;

/// A server that knows every object itself stands in for a proxy: its correct behaviour is not tested here. It says that
/// the origin made what the origin never saw, and so it cheats, too.
fn proxy(yard: &Yard, plan: &str) -> (Origin, String) {
    yard.write("tiny.toml", plan);
    let proxy = Origin::start(yard, &["--threads", "1", "--plan", "tiny.toml"]);
    let address = proxy.url.strip_prefix("http://").unwrap().to_owned();
    (proxy, address)
}

/// A bake-off that has measured a part of its rate: an interval of `meas` is on disk.
fn measuring(yard: &Yard, args: &[&str]) -> Started {
    measuring_by(yard, args, |args| yard.bakeoff(args))
}

fn measuring_by(yard: &Yard, args: &[&str], command: impl Fn(&[&str]) -> Command) -> Started {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port().to_string();
    let origin = if args.is_empty() { vec![] } else { vec!["--origin-port", &port] };
    let run = yard.start(command(&[&["run", "tiny.toml", "--out", "out"], args, &origin].concat()));
    wait_until(PATIENCE, || {
        let text = std::fs::read_to_string(yard.path("out/intervals.jsonl")).unwrap_or_default();
        let whole = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let found = whole.filter(|line| line["interval"]["phase"] == "meas").count();
        if found > 0 { Ok(()) } else { Err("an interval of meas".to_owned()) }
    });
    run
}

fn point(yard: &Yard) -> Value {
    let results = yard.results("out");
    let entrants = results["entrants"].as_array().unwrap();
    entrants.last().unwrap()["points"][0].clone()
}

/// Its second pass starts an origin and supervisors anew.
#[test]
fn a_program_that_is_built_anew_meanwhile_goes_on_as_what_it_was() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("100/s", 600).replace("rate = ", "passes = 2\nrate = "));
    let run = measuring_by(&yard, &[], |args| yard.shell("cp \"$1\" own; shift; exec ./own \"$@\"", args));
    yard.write("newer", "#!/bin/false\n");
    std::fs::rename(yard.path("newer"), yard.path("own")).unwrap();
    yard.ended(run).exits(0);
    assert_eq!(point(&yard)["passes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_proxy_that_dies_did_not_finish_and_the_exit_code_says_so() {
    let yard = Yard::new();
    let plan = plan("100/s", 1_000_000).replace("1000000 }", "1000000, errors = 20 }");
    let (proxy, address) = proxy(&yard, &plan);
    let run = measuring(&yard, &["--reverse", &address]);
    signal("KILL", &proxy.pid());
    let of_cheat = 8; // without the cheat it would be 4
    let said: Ended =
        yard.ended(run).exits(of_cheat).says(&["1 of 1 that took part did not finish", "cheated: "]);
    prints(&said, &["did not finish: nobody takes connections at"]);
    let of_run = lines(&yard, "out/runs.jsonl").pop().unwrap();
    assert!(of_run["failed"].as_str().unwrap().contains(&address), "{of_run}");
}

#[test]
fn a_proxy_that_stops_is_waited_for_once_and_what_was_due_has_failed() {
    let yard = Yard::new();
    // Queues of robots' own connections: four requests of each would be under way, and the others wait for them.
    let plan = plan("100/s", 1_500)
        .replace("connections = \"64\"", "robots = 10\nconnections = \"4 per robot\"")
        .replace("[robots]", "timeout = \"1s\"\n[robots]");
    let (proxy, address) = proxy(&yard, &plan);
    let run = measuring(&yard, &["--reverse", &address]);
    signal("STOP", &proxy.pid());
    let said = run.wait();
    signal("CONT", &proxy.pid());
    prints(&said.exits(3).says(&["stopped answering"]), &["at 100/s: overloaded"]);
    let of_run = lines(&yard, "out/runs.jsonl").pop().unwrap();
    let phases = of_run["phases"].as_array().unwrap();
    let (meas, after) = (&phases[1]["phase"], &phases[2]["phase"]);
    assert_eq!((&meas["phase"], &after["phase"]), (&"meas".into(), &"".into()), "{of_run}");
    // Hundreds queue for 40 connections by then: one after the other they would take many times the limit.
    let late = after["sums"]["late_failed"]["meas"].as_u64().unwrap();
    let errors = &after["sums"]["errors"];
    assert!(late > 100 && errors["not-sent"].as_u64().unwrap() > 100, "{late}, {errors}");
    let number = |value: &Value| value.as_u64().unwrap();
    let failed = number(&meas["sums"]["failed"]) + late;
    let share = failed as f64 / number(&meas["sums"]["asked"]) as f64;
    assert_eq!(point(&yard)["error_share"].as_f64(), Some(share));
    assert!(share > 0.3, "{share}");
}

#[test]
fn a_bake_off_that_is_killed_during_a_rate_shows_its_intervals() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("200/s", 1_000_000));
    let run = measuring(&yard, &[]);
    signal("KILL", &run.pid().to_string());
    run.wait();
    let said = yard.start(yard.bakeoff(&["report", "out"])).wait().exits(0);
    prints(&said, &["PARTIAL RESULTS", "1 entrant, 1 rate"]);
    let (point, results) = (point(&yard), yard.results("out"));
    let intervals = lines(&yard, "out/intervals.jsonl").into_iter();
    let good = |line: Value| line["interval"]["sums"]["good"].as_u64().unwrap();
    let measured = intervals.filter(|line| line["run"] == 2 && line["interval"]["phase"] == "meas");
    assert_eq!(point["replies"].as_u64(), Some(measured.map(good).sum()), "{point}");
    assert_eq!((&point["cut_short"], &point["rate_per_s"]), (&"broken-off".into(), &200.0.into()));
    assert_eq!((&results["ended"], &point["two_sided_hit_ratio"]), (&"it was killed".into(), &Value::Null));
    let said = yard.start(yard.bakeoff(&["extract", "out"])).wait().exits(0);
    prints(&said, &["# run 2 (none, 200/s), phase meas\n"]);
}
