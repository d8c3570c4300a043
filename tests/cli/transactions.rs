//! `--transactions`: the log of every request, as a third-party program reads it, against the run's own sums.

use crate::parquet::duckdb;
use crate::support::{Origin, PATIENCE, Yard, has, signal, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages with images, every kind of request; no think time.
fn plan(requests: u32) -> String {
    format!(
        "[bakeoff]\ntitle = \"Tiny\"\nproducts = [\"none\"]\nrate = \"400/s\"\nhit_ratio = \"55%\"\n\
         [robots]\nrecurrence = \"60%\"\nconnections = \"64\"\nrequests_per_connection = \"const:5\"\n\
         post_body = \"exp:1KB\"\n\
         special = {{ ims200 = \"3%\", ims304 = \"5%\", reload = \"5%\", range = \"3%\", abort = \"3%\", post = \"3%\", \
         head = \"3%\" }}\n\
         [[content]]\nname = \"image\"\nsize = \"exp:2KB\"\ncachable = \"80%\"\nshare = \"50%\"\n\
         life = {{ length = \"const:2year\", expires = \"nmt+0s\" }}\n\
         [[content]]\nname = \"page\"\nsize = \"exp:4KB\"\ncachable = \"80%\"\n\
         life = {{ length = \"const:2year\", expires = \"nmt+0s\" }}\n\
         embeds = {{ kind = \"image\", count = \"const:3\" }}\n[origin]\n\
         [[phase]]\nname = \"warm\"\ngoal = {{ transactions = 100 }}\nmeasured = false\n\
         [[phase]]\nname = \"meas\"\ngoal = {{ transactions = {requests} }}\n"
    )
}

/// DuckDB's figures from the log in a directory.
fn read(python: &Path, dir: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/read_transactions.py");
    let output = Command::new(python).arg(script).arg(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The figures of `found` in the form of a phase's sums.
fn of_sums(sums: &Value, found: &Value) -> Value {
    let figure = |name: &String| {
        let value = name.split('.').fold(sums, |sums, key| &sums[key]);
        match name.as_str() {
            "statuses" => {
                let statuses = value.as_object().unwrap().iter();
                statuses.map(|(status, of_it)| (status.clone(), of_it["bytes"]["count"].clone())).collect()
            }
            _ if value.get("squares").is_some() => json!({ "count": value["count"], "sum": value["sum"] }),
            _ => value.clone(),
        }
    };
    found.as_object().unwrap().keys().map(|name| (name.clone(), figure(name))).collect()
}

/// Checks that every phase of every run has the same figures in the log as in its sums, to the last byte; returns how
/// many of the lines have hits.
fn agree(yard: &Yard, dir: &str, found: &Value) -> usize {
    let (mut phases, mut with_hits) = (BTreeSet::new(), 0);
    for (number, line) in yard.read(&format!("{dir}/runs.jsonl")).lines().enumerate() {
        let run: Value = serde_json::from_str(line).unwrap();
        let mut rows = 0;
        for phase in run["phases"].as_array().unwrap() {
            let sums = &phase["phase"]["sums"];
            let name = format!("{number}/{}", phase["phase"]["phase"].as_str().unwrap());
            if sums["finished"] == 0 {
                continue;
            }
            let logged = &found["phases"][&name];
            assert!(logged.is_object(), "{name} is not in the log");
            assert_eq!(&of_sums(sums, logged), logged, "{name}");
            rows += sums["finished"].as_u64().unwrap();
            with_hits += usize::from(sums["hits"]["bytes"]["count"].as_u64().unwrap() > 0);
            phases.insert(name);
        }
        let told = &run["transactions"];
        assert_eq!((told["rows"].as_u64(), told["dropped"].as_u64()), (Some(rows), Some(0)), "{told}");
    }
    let logged: BTreeSet<String> = found["phases"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(logged, phases);
    for (run, checks) in found["runs"].as_object().unwrap() {
        assert_eq!(checks, &json!([true, true, 1]), "run {run}: stamps, moments, entrants");
    }
    with_hits
}

/// The files of a log; each must be whole.
fn parts(yard: &Yard, dir: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(yard.path(dir).join("transactions")).into_iter().flatten();
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    parts.retain(|path| path.extension().is_some_and(|end| end == "parquet"));
    for part in &parts {
        let bytes = fs::read(part).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{}", part.display());
    }
    parts
}

#[test]
fn the_log_has_every_request_of_every_run_as_its_sums_have_them() {
    let test = "the_log_has_every_request_of_every_run_as_its_sums_have_them";
    if !has("nginx", test) {
        return;
    }
    let yard = Yard::new();
    yard.write("tiny.toml", plan(600));
    let args =
        ["run", "tiny.toml", "--out", "out", "--product", "none", "--product", "nginx", "--transactions"];
    let said = yard.run(&args).exits(0);
    assert!(said.stdout.contains("transactions: ") && !said.stdout.contains("dropped"), "{}", said.stdout);
    assert!(!parts(&yard, "out").is_empty());
    let Some(python) = duckdb(test) else { return };
    let found = read(&python, &yard.path("out"));
    assert!(agree(&yard, "out", &found) > 0, "nginx has hits");
    for (column, kind) in [
        ("run", "BIGINT"),
        ("entrant", "VARCHAR"),
        ("due_ns", "BIGINT"),
        ("stamp", "UBIGINT"),
        ("repeated", "BOOLEAN"),
        ("faults", "VARCHAR[]"),
    ] {
        assert_eq!(found["types"][column], kind, "{found}");
    }
    for (column, unit) in [("done_ns", "ns"), ("reply_bytes", "B")] {
        assert_eq!(found["units"][column], unit, "{found}");
    }
    assert!(found["units"].get("status").is_none());
}

/// Robots by themselves, in the middle of their second phase.
fn robots(yard: &Yard, origin: &Origin) -> crate::support::Started {
    let address = origin.url.strip_prefix("http://").unwrap();
    let args = ["robots", "tiny.toml", "--origin", address, "--log", "log", "--transactions"];
    yard.start(yard.bakeoff(&args))
}

#[test]
fn a_run_that_is_interrupted_has_everything_in_its_log() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan(1_000_000));
    let origin = Origin::start(&yard, &["--threads", "1", "--plan", "tiny.toml"]);
    let run = robots(&yard, &origin);
    wait_until(PATIENCE, || {
        let text = fs::read_to_string(yard.path("log/intervals.jsonl")).unwrap_or_default();
        if text.contains("\"phase\":\"meas\"") { Ok(()) } else { Err("an interval".to_owned()) }
    });
    signal("INT", &run.pid().to_string());
    let said = run.wait().exits(130);
    assert!(said.stdout.contains("\ntransactions: "), "{}", said.stdout);
    let Some(python) = duckdb("a_run_that_is_interrupted_has_everything_in_its_log") else { return };
    agree(&yard, "log", &read(&python, &yard.path("log")));
}

#[test]
fn a_run_that_is_killed_leaves_parts_that_can_be_read() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan(1_000_000));
    let origin = Origin::start(&yard, &["--threads", "1", "--plan", "tiny.toml"]);
    let run = robots(&yard, &origin);
    wait_until(PATIENCE, || match parts(&yard, "log").len() {
        0 => Err("a part".to_owned()),
        _ => Ok(()),
    });
    signal("KILL", &run.pid().to_string());
    assert_eq!(run.wait().code(), None);
    assert!(!parts(&yard, "log").is_empty());
    let Some(python) = duckdb("a_run_that_is_killed_leaves_parts_that_can_be_read") else { return };
    let found = read(&python, &yard.path("log"));
    // The first phase ends with its hundredth request; the part that was closed had seconds of the second.
    assert!(found["phases"]["0/warm"]["finished"].as_u64().unwrap() >= 100, "{found}");
    assert!(found["phases"]["0/meas"]["good"].as_u64().unwrap() > 0, "{found}");
}

#[test]
fn a_log_is_for_bake_offs_and_for_robots_that_have_a_directory() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan(200));
    for (args, words) in [
        (&["run", "quickstart", "--transactions"][..], &["--transactions is for bake-offs of caches"][..]),
        (&["robots", "tiny.toml", "--origin", "127.0.0.1:1", "--transactions"], &["--log <DIR>"]),
    ] {
        yard.run(args).exits(2).says(words);
    }
}
