//! Plans that are good, and what is said of those that are not.

use crate::plan::*;

const GOOD: &str = r#"
[experiment]
baseline = "plain"
margin = "2%"

[workload]
kind = "get"
urls = ["/f", { path = "/g", weight = 3 }]

[arm.plain]
server = "origin"

[arm.tls]
server = "origin"
tls = true
"#;

fn parse(text: &str) -> Result<Plan, String> {
    Plan::parse("test", "plan.toml", text, Path::new("/plans")).map_err(|error| error.to_string())
}

#[test]
fn a_plan_keeps_the_order_of_its_arms_and_runs_the_baseline_twice() {
    let plan = parse(GOOD).unwrap();
    assert_eq!(plan.names(), ["plain", "plain'", "tls"]);
    assert_eq!(plan.margin.get(), 0.02);
    assert_eq!(plan.arm_of("plain'").unwrap().name, "plain");
}

#[test]
fn paths_are_relative_to_the_plan() {
    let text = GOOD
        .replace("kind = \"get\"", "kind = \"replay\"\nlog = \"a.log\"")
        .replace("urls = [\"/f\", { path = \"/g\", weight = 3 }]\n", "");
    let Work::Requests(work) = parse(&text).unwrap().work else { panic!("no requests") };
    let RequestSource::Replay { log: LogSource::File(path), .. } = work.source else { panic!("no file") };
    assert_eq!(path, Path::new("/plans/a.log"));
}

/// Each wrong plan: what is changed, and what the message must name.
#[test]
fn errors_point_at_the_line_name_the_key_and_suggest_the_near_miss() {
    for (from, to, expected) in [
        ("margin", "margn", &["margn", "did you mean `margin`", "plan.toml:4"][..]),
        ("baseline = \"plain\"", "baseline = \"plian\"", &["plian", "did you mean `plain`", "plan.toml:3"]),
        ("baseline = \"plain\"\n", "", &["`baseline` is missing"]),
        ("margin = \"2%\"", "margin = \"2\"", &["`2` is not a share", "plan.toml:4"]),
        ("margin = \"2%\"", "margin = \"0%\"", &["above zero"]),
        ("margin = \"2%\"", "max_rounds = 2", &["3 or more"]),
        ("kind = \"get\"", "kind = \"gte\"", &["gte", "did you mean `get`"]),
        ("urls = [\"/f\", { path = \"/g\", weight = 3 }]", "", &["needs `urls`"]),
        ("\"/f\"", "\"f\"", &["`f` is no path"]),
        ("weight = 3", "wieght = 3", &["plan.toml:8"]),
        ("kind = \"get\"", "kind = \"get\"\nlog = \"x\"", &["`log` has no meaning"]),
        (
            "kind = \"get\"",
            "kind = \"get\"\nrate = \"5/s\"",
            &["`rate` has no meaning with the clock `closed`"],
        ),
        ("kind = \"get\"", "kind = \"get\"\nclock = \"constant\"", &["needs a rate"]),
        ("kind = \"get\"", "kind = \"get\"\nclock = \"shuffled\"", &["no clock `shuffled`"]),
        ("tls = true", "", &["the arms `plain` and `tls` are equal", "allow_equal_arms"]),
        ("tls = true", "tls = 1", &["plan.toml"]),
        ("tls = true", "pid = 4", &["`pid` has no meaning"]),
        ("server = \"origin\"\ntls", "server = \"ngnix\"\ntls", &["ngnix", "did you mean `nginx`"]),
        ("server = \"origin\"\ntls = true", "burn = \"2us\"", &["is no server"]),
        (
            "server = \"origin\"\ntls = true",
            "server = \"nginx\"\nurl = \"http://x\"",
            &["more than one server"],
        ),
        ("[arm.tls]\nserver = \"origin\"\ntls = true\n", "", &["nothing to compare the baseline with"]),
        ("[arm.tls]", "[arm.\"a/b\"]", &["no name for an arm"]),
        ("[workload]", "[workload", &["plan.toml:6"]),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "nothing was changed: {from}");
        let message = parse(&text).expect_err(to);
        for word in expected {
            assert!(message.contains(word), "{to}\nshould say {word}\n{message}");
        }
    }
}
