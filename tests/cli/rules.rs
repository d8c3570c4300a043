//! `--fail-if`: a rule decides the exit code of a build.

use crate::support::{Ended, GET, ORIGINS, Yard, as_on_a_quiet_machine, plan};

/// A burn far above the cost of a request.
const DEAR: &str = "[arm.plain]\nserver = \"origin\"\n\n[arm.dear]\nserver = \"origin\"\nburn = \"200us\"";

/// A run with these flags. Later judgements use the figures in its directory, as a quiet machine would have measured
/// them: the dear arm ten times the plain one's CPU.
fn ran(flags: &[&str]) -> (Yard, Ended) {
    let yard = Yard::new();
    yard.write("plan.toml", plan("max_rounds = 5", GET, DEAR));
    let ended = yard.run(&[&["run", "plan.toml", "--out", "out", "--quiet"], flags].concat());
    as_on_a_quiet_machine(&yard, "out", |arm| if arm == "dear" { 220e3 } else { 20e3 });
    (yard, ended)
}

fn measured() -> Yard {
    let (yard, ended) = ran(&[]);
    ended.exits(0);
    yard.run(&["report", "out"]).exits(0);
    yard
}

#[test]
fn a_broken_rule_is_named_with_its_figures_and_has_its_own_exit_code() {
    let rules = ["--fail-if", "cost > 2%", "--fail-if", "dear: cost.high > 900000%"];
    let (yard, said) = ran(&rules);
    // The words give the result that the machine allowed, and the code agrees with them.
    let first = said.stderr.lines().next().unwrap_or_default();
    let code = match first.strip_prefix("fail-if: cost > 2%: ").unwrap_or_else(|| panic!("{said:?}")) {
        broken if broken.starts_with("BROKEN: dear +") => 5,
        open if open.starts_with("held, but not ruled out: dear") => 0,
        other => panic!("{other}"),
    };
    let said = said.exits(code).says(&["900000%: held: dear +"]);
    assert_eq!(said.stdout, "results: out\n");
    assert_eq!(said.stderr.lines().count(), 2, "{}", said.stderr);
    // From stored results, and from a complete run that is resumed.
    let said = yard.run(&[&["report", "out"], &rules[..]].concat()).exits(5);
    let said = said.says(&["fail-if: cost > 2%: BROKEN: dear +", "900000%: held: dear +", "--verbose"]);
    assert_eq!(said.stderr.lines().count(), 3, "{}", said.stderr);
    yard.run(&["run", "--resume", "out", "--fail-if", "cost > 2%"]).exits(5).says(&["BROKEN"]);
    yard.run(&["report", "out", "--fail-if", "dear: cost > 900000%"]).exits(0).says(&["held"]);
}

#[test]
fn what_cannot_be_judged_does_not_pass_and_what_is_open_passes_unless_strict() {
    let yard = measured();
    // p99.9 takes 50,000 replies.
    yard.run(&["report", "out", "--fail-if", "response_p999 > 2%"])
        .exits(6)
        .says(&["cannot be judged: dear has no"]);
    let row = crate::contract::row(&yard.results("out"), "dear").clone();
    let between = (row["low"].as_f64().unwrap() + row["high"].as_f64().unwrap()) * 50.0;
    let open = format!("cost > {between}%");
    yard.run(&["report", "out", "--fail-if", &open]).exits(0).says(&["held, but not ruled out: dear"]);
    yard.run(&["report", "out", "--fail-if", &open, "--strict"]).exits(6).says(&["not ruled out"]);
    yard.run(&["report", "out", "--fail-if", "response_p999 > 2%", "--fail-if", "cost > 2%"]).exits(5);
}

#[test]
fn a_figure_itself_has_a_bound_too_and_the_baseline_is_judged_with_the_others() {
    let yard = measured();
    let code = |rule: &str| yard.run(&["report", "out", "--fail-if", rule]);
    code("response_p50 > 1ns").exits(5).says(&["response_p50 > 1ns: BROKEN: plain ", "; dear ", " us (CI "]);
    code("plain: response_p50 > 10s").exits(0).says(&["held: plain "]);
    code("replies_per_second < 0.001/s").exits(0).says(&["/s: held: "]);
    code("errors > 0").exits(0).says(&["errors > 0: held: plain 0"]);
    code("response_p999 > 1ns").exits(6).says(&["has no response_p999 with an interval"]);
    code("plain: cost > 2%").exits(2).says(&["no arm `plain` is compared"]);
    code("pain: errors > 0").exits(2).says(&["did you mean `plain`?"]);
}

/// Rules are words about a directory, and change nothing of it.
#[test]
fn judging_by_rules_leaves_the_directory_as_it_was_written() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, DEAR));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    yard.run(&["report", "out", "--fail-if", "errors > 0"]).exits(0);
    yard.run(&["verify", "out"]).exits(0);
}

#[test]
fn a_wrong_rule_is_told_before_anything_is_measured() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    for (rule, word) in [
        ("cost > 2", "in percent"),
        ("cots > 2%", "did you mean `cost`?"),
        ("tsl: cost > 2%", "did you mean `tls`?"),
        ("plain: cost > 2%", "no arm `plain` is compared"),
        ("verdict = cost", "did you mean `costs`?"),
    ] {
        yard.run(&["run", "plan.toml", "--out", "out", "--fail-if", rule]).exits(2).says(&[rule, word]);
    }
    assert!(!yard.path("out").exists());
    yard.run(&["run", "plan.toml", "--strict"]).exits(2).says(&["--fail-if"]);
}
