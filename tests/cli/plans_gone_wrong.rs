//! Plans that cannot be run: refused before anything is started or written.

use crate::support::{GET, ORIGINS, Yard, plan};

#[track_caller]
fn refused(from: &str, to: &str, words: &[&str]) {
    let yard = Yard::new();
    let good = plan("", GET, ORIGINS);
    let text = good.replacen(from, to, 1);
    assert_ne!(text, good, "nothing was changed");
    yard.write("plan.toml", text);
    for args in [&["check", "plan.toml"][..], &["run", "plan.toml", "--out", "out"]] {
        let said = yard.run(args).exits(2).says(words).says(&["plan.toml:"]);
        assert_eq!(said.stdout, "", "{args:?}");
    }
    assert!(!yard.path("out").exists(), "nothing is made for a plan that is wrong");
}

#[test]
fn an_unknown_key_is_shown_with_the_near_miss() {
    refused("budget", "bugdet", &["bugdet", "did you mean `budget`?", "plan.toml:4"]);
    refused("robots", "robot", &["did you mean `robots`?"]);
    refused("server = \"origin\"", "sever = \"origin\"", &["did you mean `server`?"]);
}

#[test]
fn one_arm_is_nothing_to_compare() {
    refused(
        "\n[arm.tls]\nserver = \"origin\"\ntls = true",
        "",
        &["nothing to compare", "add another [arm.NAME]"],
    );
}

#[test]
fn two_equal_arms_are_named() {
    refused("tls = true", "", &["`plain` and `tls` are equal", "allow_equal_arms"]);
}

#[test]
fn an_unknown_brace_in_a_command_is_named_with_those_that_are_known() {
    let yard = Yard::new();
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.mine]\ncommand = [\"sleep\", \"{prot}\"]";
    yard.write("plan.toml", plan("", GET, arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]);
    said.exits(3).says(&["arm `mine`", "`{prot}`", "{port}"]);
}

#[test]
fn a_budget_that_ends_before_the_first_slice_is_said_so() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS).replace("150s", "1ms"));
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(3).says(&["budget of 1 ms", "larger budget"]);
}
