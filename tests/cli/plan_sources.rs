//! Sources of a plan: a file, a pipe, standard input, a shipped plan; and plans of every kind as parts of a suite.

use crate::support::{Ended, GET, ORIGINS, Yard, plan};

/// The binary with this text on standard input, which is read once: a pipe has nothing left after that.
fn fed(yard: &Yard, text: &str, args: &[&str]) -> Ended {
    yard.write("fed.toml", text);
    let mut cat = std::process::Command::new("cat");
    let mut cat = cat.arg(yard.path("fed.toml")).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut command = yard.bakeoff(args);
    command.stdin(cat.stdout.take().unwrap());
    let ended = yard.ended(yard.start(command));
    cat.wait().unwrap();
    ended
}

/// It was read four times, so that a pipe gave an empty plan.
#[test]
fn a_plan_of_every_kind_is_read_once_from_a_pipe_or_standard_input() {
    let yard = Yard::new();
    let experiment = plan("", GET, ORIGINS);
    let suite = "# Two\n[[part]]\nname = \"q\"\nplan = \"quickstart\"\n";
    let guest = "[guest]\ntitle = \"Small\"\n";
    let bake_off = crate::caches::plan("400/s", 200);
    for text in [experiment.as_str(), suite, guest, &bake_off] {
        for name in ["-", "/dev/stdin"] {
            let said = fed(&yard, text, &["check", name]).exits(0);
            assert!(said.stdout.starts_with("plan: good"), "{name}: {}", said.stdout);
        }
    }
    fed(&yard, &experiment, &["run", "-", "--out", "out", "--quiet"]).exits(0);
    assert_eq!(
        (yard.read("out/plan.toml"), yard.results("out")["name"].as_str()),
        (experiment, Some("plan"))
    );
    fed(&yard, "[experiment", &["check", "-"]).exits(2).says(&["standard input:1"]);
    fed(&yard, "", &["check", "-"]).exits(2).says(&["`experiment` is missing"]);
}

/// A second `run quickstart --out quickstart` took the directory for the plan.
#[test]
fn a_directory_may_have_the_name_of_a_shipped_plan() {
    let yard = Yard::new();
    for name in ["quickstart", "selinux", "polymix-1", "webfs"] {
        std::fs::create_dir(yard.path(name)).unwrap();
        let said = yard.run(&["check", name]);
        assert!(
            said.stdout.contains(": good") || said.stderr.contains("is not on this machine"),
            "{name}: {}",
            said.stderr
        );
    }
    yard.run(&["check", "./quickstart"]).exits(2).says(&["./quickstart: "]);
}

/// A guest could not be one: "there is no such plan; did you mean `selinux`?"
#[test]
fn a_plan_of_every_kind_may_be_part_of_a_suite() {
    let yard = Yard::new();
    let part = |name: &str, plan: &str| format!("[[part]]\nname = \"{name}\"\nplan = \"{plan}\"\n");
    let parts = [part("one", "quickstart"), part("two", "selinux"), part("three", "polymix-1")].concat();
    yard.write("three.toml", format!("# Three kinds\n{parts}"));
    let said = yard.run(&["check", "three.toml"]).exits(0);
    for words in [
        "one, quickstart: good",
        "two, selinux: good",
        "counts instructions in a guest",
        "three, polymix-1: good",
    ] {
        assert!(said.stdout.contains(words), "{words}:\n{}", said.stdout);
    }
    yard.run(&["check", "three.toml", "--budget", "60s"])
        .exits(2)
        .says(&["part two is a counted guest", "--part"]);
    yard.run(&["check", "three.toml", "--set", "two.guest.bots=1"])
        .exits(2)
        .says(&["three, part two", "bots"]);
}

/// A value that is wrong is shown at its line, whatever the kind.
#[test]
fn errors_of_every_kind_point_at_the_line() {
    let yard = Yard::new();
    let bake_off = crate::caches::plan("400/s", 200);
    for (file, text, words) in [
        ("guest.toml", "[guest]\ntitle = \"T\"\nboots = 0\n".to_owned(), ["guest.toml:3:9", "`boots`"]),
        ("guest.toml", "[guest]\ntitle = \"T\"\nboot = 1\n".to_owned(), ["guest.toml:3:1", "no key `boot`"]),
        (
            "bakeoff.toml",
            bake_off.replacen("rate = ", "mean_bound = \"soon\"\nrate = ", 1),
            ["bakeoff.toml:", "`mean_bound`"],
        ),
        ("suite.toml", "[[part]]\nname = \"a/b\"\nplan = \"x\"\n".to_owned(), ["suite.toml:2:8", "`a/b`"]),
    ] {
        yard.write(file, text);
        yard.run(&["check", file]).exits(2).says(&words);
    }
}
