//! Caches that cheat: the report names the cheat of each before anything else, and none passes.

use crate::support::{Helper, Origin, Yard, python};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Replies take half a second, so that many are asked for again while they are on their way.
const WORLD: &str = "[[content]]\nname = \"any\"\nsize = \"exp:2KB\"\ncachable = \"80%\"\n\
                     life = { length = \"const:2year\", expires = \"nmt+0s\" }\n";

/// Results of a proxy of `cheating_cache.py`, after a run that ended so.
fn judged(mode: &str, exit: i32) -> (Value, Vec<String>) {
    // Leftovers of a run in its own yard are counted.
    let (yard, aside) = (Yard::new(), Yard::new());
    let plan = |think: &str| {
        format!(
            "[bakeoff]\ntitle = \"Tiny\"\nproducts = [\"none\"]\nrate = \"120/s\"\nhit_ratio = \"55%\"\n\
             [robots]\nrecurrence = \"68.75%\"\npopularity = \"zipf-recency:1\"\n{WORLD}\
             [origin]\nthink = \"{think}\"\n\
             [[phase]]\nname = \"meas\"\ngoal = {{ transactions = 600 }}\n"
        )
    };
    yard.write("plan.toml", plan("const:500ms"));
    aside.write("second.toml", plan("const:0s"));
    let second = Origin::start(&aside, &["--threads", "1", "--plan", "second.toml"]);
    let script = aside.write("cheating_cache.py", include_str!("cheating_cache.py"));
    let mut proxy = Command::new(python());
    proxy.arg(script).args([mode, second.port()]).stdout(Stdio::piped());
    let mut proxy = Helper(proxy.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(proxy.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = format!("127.0.0.1:{}", line.trim_start_matches("listening: ").trim());
    yard.run(&["run", "plan.toml", "--proxy", &address, "--out", "out"]).exits(exit);
    let entrants = yard.results("out")["entrants"].take();
    let entrant = entrants.as_array().unwrap().iter().find(|entrant| entrant["name"] == address.as_str());
    let entrant = entrant.unwrap().clone();
    let faults = entrant["faults"].as_array().unwrap().iter();
    let faults = faults.filter(|fault| fault["only_counted"] == false);
    let labels = faults.map(|fault| fault["label"].as_str().unwrap().to_owned()).collect();
    (entrant, labels)
}

#[test]
fn an_honest_cache_is_accused_of_nothing() {
    let (entrant, labels) = judged("honest", 0);
    assert_eq!(labels, [""; 0], "{entrant:#}");
    assert!(entrant["points"][0]["hit_ratio"].as_f64().unwrap() > 0.0, "{entrant:#}");
    assert!(entrant["sentence"].as_str().unwrap().contains("no faults"), "{entrant:#}");
    assert_eq!(entrant["points"][0]["rule"]["books"], true);
}

#[track_caller]
fn is_caught(mode: &str, label: &str) {
    let (entrant, labels) = judged(mode, 8);
    // A leak that follows from it is the greater harm, and comes before it.
    assert!(labels.iter().any(|named| named == label), "{entrant:#}");
    let sentence = entrant["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("what it gave and what the origin sent do not agree ("), "{sentence}");
    assert!(sentence.contains(label) && !sentence.contains("no faults"), "{sentence}");
    assert_eq!(
        (&entrant["points"][0]["rule"]["books"], &entrant["verdict"]),
        (&Value::from(false), &Value::from("cheat"))
    );
    assert_eq!(entrant["passed_up_to_per_s"], Value::Null);
}

#[test]
fn hits_that_are_forged_are_named() {
    is_caught("forge", "unexplained-hit");
}

#[test]
fn repeats_that_are_fabricated_are_named() {
    is_caught("repeats", "unexplained-hit");
}

#[test]
fn an_origin_that_is_never_asked_is_named() {
    is_caught("everything", "fabricated");
}

#[test]
fn what_nobody_asked_for_is_named() {
    is_caught("prefetch", "prefetch");
}

#[test]
fn an_origin_that_is_asked_twice_is_named() {
    is_caught("twice", "prefetch");
}
