//! `bakeoff verify`: every kind of change is found and named.

use crate::support::{Ended, GET, ORIGINS, SLOW, SLOW_GET, Yard, plan};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A finished run of three rounds, in `out`. All tests have copies of one.
fn finished() -> Yard {
    static FILES: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let yard = Yard::new();
        yard.write("plan.toml", plan("", GET, ORIGINS));
        yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
        let mut files = Vec::new();
        read_all(&yard.path(""), Path::new("out"), &mut files);
        files
    });
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    for (path, bytes) in files {
        fs::create_dir_all(yard.path("").join(path.parent().unwrap())).unwrap();
        fs::write(yard.path("").join(path), bytes).unwrap();
    }
    yard
}

fn read_all(root: &Path, dir: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(root.join(dir)).unwrap() {
        let path = dir.join(entry.unwrap().file_name());
        match root.join(&path).is_dir() {
            true => read_all(root, &path, files),
            false => files.push((path.clone(), fs::read(root.join(&path)).unwrap())),
        }
    }
}

/// Output of `verify` after `change` was made to one file; the file is put back.
#[track_caller]
fn after(yard: &Yard, file: &str, change: impl Fn(&str) -> String) -> Ended {
    let name = format!("out/{file}");
    let before = yard.read(&name);
    let changed = change(&before);
    assert_ne!(changed, before, "nothing was changed");
    yard.write(&name, changed);
    let said = yard.run(&["verify", "out"]);
    yard.write(&name, before);
    said
}

#[track_caller]
fn finds(said: Ended, lines: &[&str]) {
    let said = said.exits(7);
    for line in lines {
        assert!(said.stdout.contains(line), "should find `{line}`:\n{}", said.stdout);
    }
    assert_eq!(said.stdout.lines().last(), Some("out: not as it was written"));
}

#[test]
fn a_directory_as_it_was_written_is_called_so_and_not_touched() {
    let yard = finished();
    let listing = || {
        let mut names: Vec<_> = fs::read_dir(yard.path("out"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name(), entry.metadata().unwrap().modified().unwrap()))
            .collect();
        names.sort();
        names
    };
    let before = listing();
    let said = yard.run(&["verify", "out"]).exits(0);
    assert!(said.stdout.starts_with("out: as it was written: 9 slices, "), "{}", said.stdout);
    assert!(said.stdout.ends_with(" values of results.json, slices.csv, report.html\n"), "{}", said.stdout);
    assert_eq!((said.stderr.as_str(), listing()), ("", before));
    yard.run(&["verify", "nowhere"]).exits(2).says(&["nowhere"]);
}

#[test]
fn a_changed_slice_is_named_with_its_line_and_so_are_the_figures() {
    let yard = finished();
    let lines: Vec<String> = yard.read("out/slices.jsonl").lines().map(str::to_owned).collect();
    let slice: serde_json::Value = serde_json::from_str(&lines[4]).unwrap();
    let (round, arm) = (&slice["round"], slice["arm"].as_str().unwrap());
    let cpu = format!("\"subject_cpu_ns\":{}", slice["counters"]["subject_cpu_ns"]);
    let place = format!("slices.jsonl line 5 (round {round}, arm {arm})");
    let changed = lines[4].replacen(&cpu, "\"subject_cpu_ns\":12345", 1);
    let said = after(&yard, "slices.jsonl", |text| text.replacen(&lines[4], &changed, 1));
    finds(
        said,
        &[
            &format!("{place}: changed since it was written"),
            "results.json: ",
            "the slices give",
            "slices.csv line 6: ",
        ],
    );
    let cut = &lines[4][..lines[4].len() - 3];
    let said = after(&yard, "slices.jsonl", |text| text.replacen(&lines[4], cut, 1));
    finds(said, &["slices.jsonl line 5: has no check"]);
    let said = after(&yard, "slices.jsonl", |text| text.replacen(&format!("{}\n", lines[4]), "", 1));
    finds(
        said,
        &[
            "slices.jsonl line 5 ",
            "the line before it is missing",
            &format!("slices.jsonl: round 1 has no slice of {arm}"),
        ],
    );
    let said = after(&yard, "slices.jsonl", |text| format!("{text}{}\n", lines[8]));
    finds(said, &["slices.jsonl line 10 ", "already"]);
    let said = after(&yard, "slices.jsonl", |text| text.replacen(&format!("{}\n", lines[8]), "", 1));
    finds(said, &["slices.jsonl: does not end with the line that it ended with when the run did"]);
    let said = after(&yard, "slices.jsonl", |text| format!("{text}{{\"rou"));
    finds(said, &["slices.jsonl: ends in half a line"]);
}

#[test]
fn a_byte_that_is_no_text_is_named_with_its_line() {
    let yard = finished();
    let mut bytes = fs::read(yard.path("out/slices.jsonl")).unwrap();
    bytes[20] = 0xff;
    yard.write("out/slices.jsonl", bytes);
    finds(yard.run(&["verify", "out"]), &["slices.jsonl line 1"]);
}

#[test]
fn changed_figures_and_verdicts_are_named_with_their_path() {
    let yard = finished();
    let results = yard.results("out");
    let effect = results["comparisons"][1]["effect"].to_string();
    let said = after(&yard, "results.json", |text| {
        text.replace(&format!("\"effect\": {effect}"), "\"effect\": 0.5")
    });
    finds(said, &[&format!("results.json: comparisons[1].effect is 0.5, the slices give {effect}")]);
    let verdict = results["comparisons"][1]["verdict"].as_str().unwrap().to_owned();
    let said = after(&yard, "results.json", |text| {
        text.replace(&format!("\"verdict\": \"{verdict}\""), "\"verdict\": \"saves\"")
    });
    finds(said, &[&format!("comparisons[1].verdict is \"saves\", the slices give \"{verdict}\"")]);
    let said = after(&yard, "results.json", |text| text.replacen("\"replies\": 600", "\"replies\": 601", 1));
    finds(said, &["results.json: arms.plain.replies is 601, the slices give 600"]);
    let said = after(&yard, "results.json", |text| text.replacen('{', "", 1));
    finds(said, &["results.json: cannot be read"]);
}

#[test]
fn plan_set_up_end_and_reports_are_held_to_what_they_were() {
    let yard = finished();
    let said = after(&yard, "plan.toml", |text| text.replace("seed = 7", "seed = 8"));
    finds(
        said,
        &[
            "plan.toml: is not the plan that setup.json was made from",
            "plan.toml: changed since the run ended",
        ],
    );
    let said = after(&yard, "setup.json", |text| text.replace("\"margin\": 0.01", "\"margin\": 0.02"));
    finds(
        said,
        &["setup.json: changed since the run ended", "results.json: margin is 0.01, the slices give 0.02"],
    );
    let ended = yard.results("out")["stopped_by"].as_str().unwrap().to_owned();
    let said = after(&yard, "end.json", |text| text.replace(&ended, "budget"));
    finds(said, &[&format!("results.json: stopped_by is \"{ended}\", the slices give \"budget\"")]);
    let said = after(&yard, "slices.csv", |text| text.replacen("\n1,", "\n7,", 1));
    finds(said, &["slices.csv line 5: is not what `bakeoff report` would print"]);
    let said = after(&yard, "report.html", |text| text.replacen("</title>", "!</title>", 1));
    finds(said, &["report.html line ", "is not what `bakeoff report` would print"]);
    let said = after(&yard, "setup.json", |text| text.replace("bakeoff-setup/4", "bakeoff-setup/1"));
    said.exits(2).says(&[
        "setup.json",
        "bakeoff-setup/1",
        "bakeoff-setup/4",
        "use the bakeoff that wrote it",
    ]);
}

#[test]
fn what_another_version_wrote_is_recomputed_and_its_looks_are_not_judged() {
    let yard = finished();
    // The record of the run's end is removed: a killed run has none.
    fs::remove_file(yard.path("out/end.json")).unwrap();
    let version = format!("\"bakeoff\": \"{}\"", env!("CARGO_PKG_VERSION"));
    for file in ["out/setup.json", "out/results.json"] {
        yard.write(file, yard.read(file).replacen(&version, "\"bakeoff\": \"0.0.9\"", 1));
    }
    let said = yard.run(&["verify", "out"]).exits(7).says(&["no end.json", "bakeoff 0.0.9 wrote it"]);
    assert!(said.stdout.contains("slices.jsonl line 1 (round 0"), "the first line follows on setup.json");
    assert!(!said.stdout.contains("slices.csv"), "{}", said.stdout);
}

#[test]
fn a_run_that_was_gone_on_with_is_one_chain() {
    let yard = Yard::new();
    yard.write("plan.toml", plan(&SLOW.replace("6", "3"), SLOW_GET, ORIGINS));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    // As if it had been killed in the second round, in the middle of a line.
    let text = yard.read("out/slices.jsonl");
    let four: String = text.lines().take(4).map(|line| format!("{line}\n")).collect();
    yard.write("out/slices.jsonl", format!("{four}{{\"round\":1,"));
    fs::remove_file(yard.path("out/end.json")).unwrap();
    yard.run(&["report", "out"]).exits(0);
    yard.run(&["verify", "out"]).exits(0).says(&["no end.json"]);
    yard.run(&["run", "--resume", "out", "--quiet"]).exits(0);
    assert!(yard.read("out/slices.jsonl").starts_with(&four));
    let said = yard.run(&["verify", "out"]).exits(0);
    assert!(said.stdout.contains("as it was written: 9 slices"), "{}", said.stdout);
    yard.write("out/plan.toml", yard.read("out/plan.toml").replace("seed = 7", "seed = 8"));
    fs::remove_file(yard.path("out/end.json")).unwrap();
    yard.run(&["run", "--resume", "out", "--quiet"]).exits(3).says(&["plan.toml", "not the plan"]);
}
