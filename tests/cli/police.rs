//! The layer police before servers of a plan: attached, given its ports, proved, counted, ended.

use crate::support::{GET, Yard, has, is_root, plan};

/// nginx, and nginx with a class of its own for all clients.
const ARMS: &str = r#"
[arm.plain]
server = "nginx"

[arm.policed]
server = "nginx"
directives = "listen {host}:{port2}; listen {host}:{port3};"
front = ["police"]

[front.police]
rules = "police.toml"
"#;

const RULES: &str = r#"
[server]
listen = {port}
classes = { high = {port2}, low = {port3} }
[overload]
target = "20ms"
[[from]]
source = "127.0.0.0/8"
class = "high"
[[request]]
path = "/never"
"#;

#[test]
fn a_policed_server_is_compared_with_one_that_is_not() {
    let test = "a_policed_server_is_compared_with_one_that_is_not";
    if !is_root(test) || !has("nginx", test) {
        return;
    }
    let yard = Yard::new();
    let walk = "kind = \"walk\"\nrobots = 3\nkeep_alive = false\n\
        site = { files = 40, bytes = \"200KB\", urls = 30, missing = \"0%\", mean_reply = \"3KB\" }";
    let file = format!("[file.\"police.toml\"]\ntext = '''{RULES}'''\n");
    yard.write("plan.toml", plan("", walk, &format!("{ARMS}{file}")));
    let ended = yard.run(&["run", "plan.toml", "--out", "out"]);
    let said = ended.exits(0).stdout;
    let results = yard.results("out");
    let policed = &results["arms"]["policed"];
    assert_eq!(policed["proof"]["enforcement"], "full", "{policed}\n{said}");
    assert_eq!(policed["errors"], serde_json::json!({}), "{said}");
    let printed = yard.read("out/logs/policed/police/stdout.log");
    assert!(printed.starts_with("armed: 2 rules, 2 classes, on lo; full"), "{printed}");
}

#[test]
fn rules_with_faults_end_the_run_with_file_and_line() {
    let test = "rules_with_faults_end_the_run_with_file_and_line";
    if !is_root(test) || !has("nginx", test) {
        return;
    }
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ARMS));
    yard.run(&["check", "plan.toml"]).exits(2).says(&["police.toml: No such file"]);
    yard.write("police.toml", RULES.replace("20ms", "soon"));
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(3).says(&["rules.toml:6", "`soon`"]);
    yard.write("police.toml", RULES.replace("{port2}", "{prot2}"));
    yard.run(&["run", "plan.toml", "--out", "again"]).exits(3).says(&["police.toml", "{prot2}"]);
}
