//! Logs that cannot be replayed, and their messages: the cause, the line, the remedy.

use crate::support::{Ended, ORIGINS, Yard, plan};
use serde_json::Value;

fn replay(yard: &Yard, content: &str) -> Ended {
    yard.write("access.log", content);
    yard.write("plan.toml", plan("", "kind = \"replay\"\nlog = \"access.log\"\nrobots = 2", ORIGINS));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]).exits(3).says(&["bakeoff: ", "access.log"]);
    assert!(said.stdout.is_empty() && !yard.path("out").exists(), "nothing was measured");
    said
}

fn line(request: &str, status: u16) -> String {
    format!("10.0.0.1 - - [17/May/2015:10:05:03 +0000] \"{request}\" {status} 500 \"-\" \"-\"\n")
}

#[test]
fn an_empty_log() {
    replay(&Yard::new(), "").says(&["is empty"]);
}

#[test]
fn a_log_of_skipped_lines_only() {
    let text = line("POST /form HTTP/1.1", 200) + &line("DELETE /x HTTP/1.1", 200);
    replay(&Yard::new(), &text).says(&["none of the 2 lines", "GET and HEAD"]);
}

#[test]
fn a_log_of_errors_only() {
    let text = line("GET /a HTTP/1.1", 404).repeat(3) + &line("GET /b HTTP/1.1", 500);
    replay(&Yard::new(), &text).says(&["errors or redirects"]);
}

#[test]
fn a_log_of_garbage() {
    let said = ["cannot tell the format", "the first is `what is this`", "`format` (--format)"];
    replay(&Yard::new(), "what is this\nand this\n").says(&said);
}

/// The part of the results that says what was asked for.
fn replayed(yard: &Yard, out: &str, format: &str) -> Value {
    let workload = format!("kind = \"replay\"\nlog = \"access.log\"\nrobots = 2\n{format}");
    yard.write("plan.toml", plan("", &workload, ORIGINS));
    let said = yard.run(&["run", "plan.toml", "--out", out]).exits(0);
    let results = yard.results(out);
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    for warning in results["warnings"].as_array().unwrap() {
        if warning["label"] == "log-not-replayed" {
            assert!(words.join(" ").contains(warning["sentence"].as_str().unwrap()), "{}", said.stdout);
        }
    }
    results
}

#[test]
fn logs_of_nobodys_kind_are_read_when_it_is_said_where_things_stand() {
    let yard = Yard::new();
    let args = ["compare", "http://127.0.0.1:9", "http://127.0.0.1:8", "--log", "access.log"];
    let run = |more: &[&str]| yard.start(yard.bakeoff(&[&args[..], more].concat())).wait();
    let json = ["{\"req\":{\"u\":", "\"/a\"},\"code\":200}\n"];
    let bars = ["200|-|", "/a|x\n"];
    for (line, wrong, hints, right, name) in [
        (
            json,
            "json:paht=req.u",
            ["json:path=KEY", "json:path=request.uri"],
            "json:path=req.u,status=code",
            "json",
        ),
        (
            bars,
            "nginx:$status $x",
            ["--format 'nginx:", "neither $request"],
            "nginx:$status|$user|$request_uri|$x",
            "nginx",
        ),
    ] {
        yard.write("access.log", line.concat().repeat(9));
        run(&[]).exits(3).says(&["the first is `", line[0], hints[0]]);
        run(&["--format", wrong]).exits(2).says(&[wrong, hints[1]]);
        let results = replayed(&yard, name, &format!("format = '{right}'\n"));
        let said = results["workload"]["description"].as_str().unwrap();
        assert!(said.contains(&format!("9 lines ({name}), 9 requests")), "{said}");
    }
}

#[test]
fn what_can_be_read_only_once_is_refused_before_anything_starts() {
    let yard = Yard::new();
    let servers = ["http://127.0.0.1:9", "http://127.0.0.1:8"];
    yard.run(&["compare", servers[0], servers[1], "--log", "-"])
        .exits(2)
        .says(&["-: standard input", "to a file"]);
    yard.write("a.conf", "events {}\n");
    let line = "mkfifo b.conf && exec \"$@\"";
    let args = ["compare", "--server", "nginx", "a.conf", "b.conf"];
    yard.ended(yard.start(yard.shell(line, &args))).exits(2).says(&["b.conf: a pipe", "to a file"]);
}

#[test]
fn a_w3c_log_says_itself_where_things_stand_and_what_is_left_out_is_a_warning() {
    let yard = Yard::new();
    let header = "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query sc-status sc-bytes\n";
    let line = |method: &str| format!("2015-05-17 10:05:03 ::1 {method} /a b=1 200 620\n");
    let other = "#Fields: date time cs-uri-stem sc-status\n2015-05-17 10:05:03 /b 200\n";
    let lines =
        ["#Software: IIS\n", header, &line("GET").repeat(95), &line("POST").repeat(4), other].concat();
    yard.write("access.log", lines);
    let results = replayed(&yard, "out", "");
    let workload = &results["workload"];
    assert_eq!(workload["log_lines"], 100);
    assert_eq!(workload["skipped"], serde_json::json!({ "method-not-replayed": 4, "other-fields": 1 }));
    assert!(workload["description"].as_str().unwrap().contains("100 lines (w3c), 95 requests"), "{workload}");
    let warnings = results["warnings"].as_array().unwrap();
    let said = warnings.iter().find(|warning| warning["label"] == "log-not-replayed").unwrap();
    assert!(
        said["sentence"].as_str().unwrap().starts_with("5 of the log's 100 lines are not replayed"),
        "{said}"
    );
}

#[test]
fn a_log_with_more_garbage_than_allowed_shows_the_first_three_lines() {
    let bad: String = (1..=9).map(|n| format!("garbage number {n}\n")).collect();
    let text = line("GET /a HTTP/1.1", 200).repeat(10) + &bad;
    let said = replay(&Yard::new(), &text).says(&["9 of 19 lines", "max_unparsable"]);
    for (number, shown) in [(1, true), (3, true), (4, false)] {
        assert_eq!(said.stderr.contains(&format!("garbage number {number}")), shown, "{}", said.stderr);
    }
}

#[test]
fn a_site_above_its_limit_is_refused_before_the_first_byte() {
    let yard = Yard::new();
    yard.write("access.log", line("GET /a HTTP/1.1", 200).replace(" 500 ", " 3000000 "));
    let workload = "kind = \"replay\"\nlog = \"access.log\"\nmax_site = \"1MB\"";
    let arms = "[arm.plain]\nserver = \"nginx\"\n\n[arm.tls]\nserver = \"nginx\"\ntls = true";
    yard.write("plan.toml", plan("", workload, arms));
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(3).says(&["3.01 MB", "1 MB", "max_site"]);
}
