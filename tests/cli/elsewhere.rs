//! Whole runs at another place, as launchers start them on other machines.

use crate::support::{GET, ORIGINS, PATIENCE, SLOW, SLOW_GET, Yard, plan, signal, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A place that is here.
fn at() -> String {
    format!("via:{} runner --stdio", env!("CARGO_BIN_EXE_bakeoff"))
}

/// The files of a directory below it, by path.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().display().to_string();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_plan_with_files_is_run_there_and_everything_it_says_and_writes_comes_here() {
    let yard = Yard::new();
    std::fs::create_dir(yard.path("mine")).unwrap();
    let line = "10.0.0.1 - - [20/Nov/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 1000\n";
    yard.write("mine/access.log", line.repeat(50));
    let replay = "kind = \"replay\"\nlog = \"access.log\"\nrobots = 4";
    yard.write("mine/plan.toml", plan("", replay, ORIGINS));
    let args = ["run", "mine/plan.toml", "--at", &at(), "--out", "out", "--budget", "2min"];
    let said = yard.run(&args).exits(0);
    assert_eq!(said.last_line(), "results: out", "{}", said.stdout);
    let tmp = yard.path("tmp").display().to_string();
    assert!(!said.stdout.contains(&tmp) && !said.stderr.contains(&tmp), "{said:?}");
    said.says(&["plan: round "]);
    yard.run(&["verify", "out"]).exits(0);
    let setup = yard.read("out/setup.json");
    assert!(setup.contains("120000000000"), "the flag went along: {setup}");
    let mut names: Vec<String> = files(&yard.path("out")).into_keys().collect();
    names.retain(|name| !name.starts_with("logs/"));
    let expected = [
        ".lock",
        "end.json",
        "plan.toml",
        "report.html",
        "results.json",
        "setup.json",
        "slices.csv",
        "slices.jsonl",
    ];
    assert_eq!(names, expected);

    let rule = "--fail-if=response_p99 > 1us";
    let broken =
        plan("", GET, "[arm.plain]\nserver = \"origin\"\n[arm.tls]\nserver = \"origin\"\nburn = \"2ms\"");
    yard.write("broken.toml", broken);
    let args = ["run", "broken.toml", "--at", &at(), "--out", "json", "--json", rule];
    let json = yard.run(&args).exits(6).json();
    assert_eq!(json, yard.results("json"), "standard output is that of the run there");
}

#[test]
fn every_kind_of_run_goes_there_and_what_it_lacks_is_said_by_it() {
    let yard = Yard::new();
    yard.write(
        "one.toml",
        plan(
            "",
            "kind = \"command\"",
            "[arm.plain]\ncommand = [\"./work\"]\n[arm.other]\ncommand = [\"true\"]",
        ),
    );
    let work = yard.write("work", "#!/bin/sh\nexec true\n");
    std::fs::set_permissions(work, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    yard.write("two.toml", plan("", GET, ORIGINS));
    yard.write(
        "suite.toml",
        "# Two\n[[part]]\nname = \"a\"\nplan = \"one.toml\"\n[[part]]\nname = \"b\"\nplan = \"two.toml\"\n",
    );
    let ended = yard.run(&["run", "suite.toml", "--at", &at(), "--out", "out", "--quiet", "--part", "a"]);
    let ended = ended.exits(0);
    assert_eq!(ended.stdout, "results: out\n");
    yard.run(&["verify", "out"]).exits(0);
    assert!(!yard.path("out/b").exists(), "the part that was asked for");

    yard.write(
        "lacks.toml",
        plan("", GET, "[arm.plain]\nserver = \"origin\"\n[arm.x]\ncommand = [\"./gone\"]\nport = 0"),
    );
    let ended = yard.run(&["run", "lacks.toml", "--at", &at(), "--out", "none"]);
    assert!(ended.code() != Some(0), "{ended:?}");
    assert!(!yard.path("none").exists(), "nothing was measured");
}

#[test]
fn a_plan_is_checked_there_by_what_is_there() {
    let yard = Yard::new();
    yard.write(
        "plan.toml",
        plan("", GET, "[arm.plain]\nserver = \"origin\"\n[arm.x]\ncommand = [\"./mine\"]"),
    );
    yard.write("lab.toml", format!("[subject]\nat = {:?}\n", at()));
    let check = ["check", "plan.toml", "--on", "lab.toml"];
    let said = yard.run(&check).exits(2);
    assert!(said.stderr.contains("./mine"), "{said:?}");
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let said = yard.run(&check).exits(0);
    assert!(said.stdout.starts_with("plan: good\n"), "{said:?}");
    yard.run(&["run", "plan.toml", "--on", "lab.toml", "--out", "out", "--quiet"]).exits(0);
    assert!(yard.read("out/setup.json").contains("run plan.toml --on lab.toml"), "as it was typed here");
}

#[test]
fn ctrl_c_here_is_that_of_the_run_there() {
    let yard = Yard::new();
    yard.write("plan.toml", plan(SLOW, SLOW_GET, ORIGINS));
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--at", &at(), "--out", "out"]));
    wait_until(PATIENCE, || match yard.path("out/slices.jsonl").exists() {
        true => Ok(()),
        false => Err(started.errors_so_far()),
    });
    signal("INT", &started.pid().to_string());
    let ended = yard.ended(started).exits(130);
    ended.says(&["interrupted; what was measured is kept\n"]);
    yard.run(&["report", "out"]);
    yard.run(&["verify", "out"]).exits(0);
}

/// A generator with so many threads, by a launcher that says so.
fn generator(yard: &Yard, name: &str, threads: usize) -> String {
    let bakeoff = env!("CARGO_BIN_EXE_bakeoff");
    let line = format!("echo $$ > {name}.new; mv {name}.new {name}.pid; echo I am {name} >&2; ");
    yard.write(name, format!("{line}exec {bakeoff} generator --stdio --threads {threads}"));
    format!("via:sh {}", yard.path(name).display())
}

#[test]
fn generators_of_a_run_there_are_called_from_here_and_a_lost_one_is_named_there() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let (one, two) = (generator(&yard, "one", 1), generator(&yard, "two", 2));
    let place = at();
    let places = ["--at", &place, "--generator", &one, "--generator", &two];
    let said = yard.run(&[&["check", "plan.toml"][..], &places].concat()).exits(0).stdout;
    assert!(said.contains(&format!(", by {two}")) && said.contains("lanes 2 to 3 of 3\n"), "{said}");
    yard.run(&[&["run", "plan.toml", "--out", "out"][..], &places].concat()).exits(0);
    yard.run(&["verify", "out"]).exits(0);
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    let of = |index: usize| setup["places"][index]["place"].as_str().unwrap();
    assert_eq!([of(0), of(1)], [&one, &two]);
    assert_eq!(yard.read("out/logs/launcher-2.log"), "I am two\n");

    yard.write("plan.toml", plan(SLOW, SLOW_GET, ORIGINS));
    let words = [&["run", "plan.toml", "--out", "lost"][..], &places].concat();
    let started = yard.start(yard.bakeoff(&words));
    wait_until(PATIENCE, || match yard.path("lost/slices.jsonl").exists() {
        true => Ok(()),
        false => Err(started.errors_so_far()),
    });
    signal("KILL", yard.read("two.pid").trim());
    let ended = yard.ended(started).exits(3);
    ended.says(&["generator 2 (", &format!("{two}) was lost"), "closed before"]);
    assert!(yard.read("lost/end.json").contains("generator-lost"));

    let none =
        ["run", "plan.toml", "--quiet", "--out", "none", "--at", &place, "--generator", "via:/no/such"];
    yard.run(&none).exits(3).says(&["generator 1 (via:/no/such) is not there", "cannot be started"]);
}

#[test]
fn a_machine_that_is_lost_is_named_and_what_had_come_stays() {
    let yard = Yard::new();
    yard.write("plan.toml", plan(SLOW, SLOW_GET, ORIGINS));
    let bakeoff = env!("CARGO_BIN_EXE_bakeoff");
    yard.write("launch", format!("echo $$ > pid; echo far away >&2; exec {bakeoff} runner --stdio"));
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--at", "via:sh launch", "--out", "out"]));
    wait_until(PATIENCE, || match yard.path("out/slices.jsonl").exists() {
        true => Ok(()),
        false => Err(started.errors_so_far()),
    });
    signal("KILL", yard.read("pid").trim());
    let ended = started.wait().exits(3);
    assert_eq!(ended.last_line(), "results: out");
    ended.says(&["via:sh launch) was lost", "its channel closed", "far away"]);
    yard.nobody_left_behind_the_killed();
    assert!(yard.read("out/slices.jsonl").ends_with('\n') && yard.path("out/setup.json").exists());
    // The next one takes away what the killed runner left.
    yard.run(&["run", "plan.toml", "--at", &at(), "--out", "again", "--quiet"]).exits(0);
}

#[test]
fn places_that_cannot_be_used_are_named_and_leave_nothing() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    for (place, code, words) in [
        ("bench-1", 2, &["`bench-1` is no place", "ssh:HOST"][..]),
        ("via:sh -c 'echo no route >&2; exit 255'", 3, &["is not there", "no route", "Try it by hand"]),
        ("via:/no/such/launcher", 3, &["the launcher of via:/no/such/launcher cannot be started"]),
        (
            "via:sh -c \"echo '{\\\"n\\\":0,\\\"say\\\":\\\"taken\\\"}'; cat\"",
            3,
            &["answers what no order has as its answer"],
        ),
    ] {
        yard.run(&["run", "plan.toml", "--quiet", "--out", "out", "--at", place]).exits(code).says(words);
        assert!(!yard.path("out").exists(), "{place}");
    }
    yard.run(&["run", "--resume", "out", "--at", "ssh:a"]).exits(2).says(&["cannot be used with"]);
    yard.run(&["run", "nothing.toml", "--at", &at()]).exits(2).says(&["nothing.toml"]);
}

#[test]
fn a_runner_follows_no_order_that_leads_out_of_its_directory() {
    let yard = Yard::new();
    let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"; // of `x`
    let take = format!(r#"{{"n":2,"say":{{"take":{{"name":"1","bytes":1,"sha256":"{sum}"}}}}}}"#);
    let run = r#"{"n":4,"say":{"own":{"words":["plans"],"files":[{"path":"../out","taken":"1","is_program":true}],"program":"b","out":null,"typed":"","passes":false,"columns":80}}}"#;
    let line =
        format!("(echo '{take}'; printf x; echo '{run}'; echo '{{\"n\":6,\"say\":\"stop\"}}') | \"$@\"");
    let ended = yard.ended(yard.start(yard.shell(&line, &["runner", "--stdio"]))).exits(0);
    assert!(ended.stdout.contains("`../out` did not come"), "{}", ended.stdout);
    assert!(ended.stdout.ends_with("{\"n\":6,\"say\":\"stopped\"}\n"), "{}", ended.stdout);
}
