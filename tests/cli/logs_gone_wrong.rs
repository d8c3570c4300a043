//! Logs that cannot be replayed, and their messages: the cause, the line, the remedy.

use crate::support::{Ended, ORIGINS, Origin, Yard, plan};

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

#[test]
fn json_of_nobodys_kind_is_read_when_it_is_said_where_things_stand() {
    let yard = Yard::new();
    let (a, b) = (Origin::start(&yard, &[]), Origin::start(&yard, &[]));
    yard.write("access.log", "{\"req\":{\"u\":\"/bytes/500\"},\"code\":200}\n".repeat(9));
    let args = [
        "compare",
        &a.url,
        &b.url,
        "--log",
        "access.log",
        "--robots",
        "2",
        "--budget",
        "120s",
        "--margin",
        "60%",
    ];
    let run = |more: &[&str]| yard.start(yard.bakeoff(&[&args[..], more].concat())).wait();
    run(&["--out", "told"]).exits(3).says(&["the first is `{\"req\":{\"u\"", "json:path=KEY"]);
    run(&["--format", "json:paht=req.u"]).exits(2).says(&["json:paht=req.u", "json:path=request.uri"]);
    run(&["--format", "json:path=req.u,status=code", "--out", "out"]).exits(0);
    assert!(yard.read("out/plan.toml").contains("format = \"json:path=req.u,status=code\""));
    assert!(yard.results("out")["workload"]["description"].as_str().unwrap().contains("9 lines (json)"));
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
