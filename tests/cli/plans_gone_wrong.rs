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
fn what_only_a_run_would_find_out_is_found_by_the_check() {
    let mine = |command: &str| format!("server = \"origin\"\n\n[arm.mine]\ncommand = [\"{command}\"]");
    refused("server = \"origin\"", &mine("sleep\", \"{prot}"), &["`{prot}`", "did you mean `{port}`?"]);
    refused("server = \"origin\"", &mine("./not-there"), &["no program `./not-there`"]);
    refused("[workload]", "generator_cores = [9999]\n[workload]", &["no core 9999"]);
    refused(GET, "kind = \"replay\"\nlog = \"not-there.log\"", &["not-there.log: No such file"]);
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    refused("robots", "keepalive = 1\nrobots = -1 #", &["`robots` is a whole number"]);
    let text =
        plan("margin = \"x\"", GET, ORIGINS).replace("tls = true", "tls = true\nstart_timeout = \"y\"");
    let yard = Yard::new();
    yard.write("plan.toml", text.replace("150s", "z"));
    yard.run(&["check", "plan.toml"]).exits(2).says(&["`x` is not a share", "`z` is not a time"]);
}

/// `run quickstart --out quickstart`, and then again.
#[test]
fn a_directory_may_have_the_name_of_a_shipped_plan() {
    let yard = Yard::new();
    for name in ["quickstart", "polymix-1", "selinux", "afpa"] {
        std::fs::create_dir(yard.path(name)).unwrap();
        yard.run(&["check", name]).exits(0);
    }
}

#[test]
fn the_near_miss_of_a_shipped_plan_is_named() {
    let yard = Yard::new();
    for (typed, meant) in [("quikstart", "quickstart"), ("polymx-1", "polymix-1")] {
        yard.run(&["check", typed]).exits(2).says(&[typed, &format!("did you mean `{meant}`?")]);
    }
}

#[test]
fn a_budget_that_ends_before_the_first_slice_is_said_so() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS).replace("150s", "1ms"));
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(3).says(&["budget of 1 ms", "larger budget"]);
}
