//! Reference output of bakeoff: help, version, plans, schemas, meters, and the files made from them.

use crate::schema;
use crate::support::Yard;
use bakeoff_plan::shipped::RECIPES;
use std::path::{Path, PathBuf};

/// Compares with a file of the tree; UPDATE_GOLDEN=1 writes it.
#[track_caller]
fn is_as_in(file: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, text).unwrap();
    }
    let expected = std::fs::read_to_string(file).unwrap_or_default();
    let first = expected.lines().zip(text.lines()).find(|(a, b)| a != b);
    assert!(
        expected == text,
        "{} differs, first in {first:?}; if it is meant so, write it again with UPDATE_GOLDEN=1",
        file.display()
    );
}

fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
fn help_and_lists_are_as_in_the_golden_files() {
    let yard = Yard::new();
    for (golden, args) in [
        ("help", &["--help"][..]),
        ("help-run", &["run", "--help"]),
        ("help-compare", &["compare", "--help"]),
        ("help-report", &["report", "--help"]),
        ("help-peak", &["peak", "--help"]),
        ("help-compare-results", &["compare-results", "--help"]),
        ("help-load", &["load", "--help"]),
        ("help-origin", &["origin", "--help"]),
        ("help-robots", &["robots", "--help"]),
        ("help-extract", &["extract", "--help"]),
        ("help-conformance", &["conformance", "--help"]),
        ("help-doctor", &["doctor", "--help"]),
        ("plans", &["plans"]),
        ("check-quickstart", &["check", "quickstart"]),
        ("studies", &["studies"]),
        ("studies-enforcer", &["studies", "enforcer"]),
    ] {
        let said = yard.run(args).exits(0);
        assert_eq!(said.stderr, "", "{args:?}");
        is_as_in(&tree("tests/cli/golden").join(golden).with_extension("txt"), &said.stdout);
    }
}

#[test]
fn the_version_is_the_packages() {
    for word in ["--version", "version"] {
        let said = Yard::new().run(&[word]).exits(0);
        assert_eq!(said.stdout, format!("bakeoff {}\n", env!("CARGO_PKG_VERSION")), "{word}");
    }
}

#[test]
fn every_command_has_a_page_in_the_manual() {
    let yard = Yard::new();
    yard.run(&["manual", "man/man1"]).exits(0);
    let help = yard.run(&["--help"]).exits(0).stdout;
    let commands = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.contains(&"compare"), "{help}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let page = yard.read(&format!("man/man1/bakeoff-{name}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(yard.read("man/man1/bakeoff-compare.1").contains(r"\-\-allow\-upstream"));
    yard.write("a-file", "");
    yard.run(&["manual", "a-file"]).exits(3).says(&["a-file", "name a directory"]);
}

#[test]
fn the_files_in_docs_are_what_the_binary_prints() {
    let yard = Yard::new();
    for (file, args) in [
        ("docs/meters.md", &["meters", "--markdown"][..]),
        ("docs/plan.schema.json", &["schema", "plan"]),
        ("docs/results.schema.json", &["schema", "results"]),
    ] {
        is_as_in(&tree(file), &yard.run(args).exits(0).stdout);
    }
}

#[test]
fn the_meters_are_one_table_with_the_primary_figures_in_it() {
    let yard = Yard::new();
    let (text, markdown) =
        (yard.run(&["meters"]).exits(0).stdout, yard.run(&["meters", "--markdown"]).exits(0).stdout);
    for line in text.lines() {
        let name = line.split_whitespace().next().unwrap();
        assert!(markdown.contains(&format!("`{name}`")), "{name} is not in the markdown");
    }
    for primary in ["subject_cpu_per_request", "elapsed"] {
        assert!(text.lines().any(|line| line.starts_with(primary)), "{primary}");
    }
}

#[test]
fn studies_are_told_to_programs_too() {
    let yard = Yard::new();
    let all = yard.run(&["studies", "--json"]).exits(0).json();
    let names: Vec<&str> =
        all.as_array().unwrap().iter().map(|study| study["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["enforcer", "selinux", "crisis", "polygraph", "afpa"]);
    let enforcer = yard.run(&["studies", "enforcer", "--json"]).exits(0).json();
    assert_eq!(enforcer, all[0]);
    let cell = &enforcer["tables"][0]["rows"][1]["cells"][0];
    assert_eq!((cell["value"].as_f64(), cell["unit"].as_str()), (Some(39.4), Some("%")));
    assert_eq!(cell["certain"].as_bool(), Some(true));
}

#[test]
fn shipped_plans_are_listed_good_and_as_the_schema_says() {
    let yard = Yard::new();
    let schema = yard.run(&["schema", "plan"]).exits(0).json();
    let listed = yard.run(&["plans"]).exits(0).stdout;
    // A line below a plan has the differences between its sample and the whole.
    let named = listed.lines().filter(|line| !line.starts_with([' ', '#']));
    let names: Vec<&str> = named.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(
        names.contains(&"quickstart") && names[0] == RECIPES[0],
        "the golden list says the rest: {names:?}"
    );
    for name in names.into_iter().filter(|name| *name != "help") {
        let said = yard.run(&["check", name]);
        // A plan without any of its programs here is told with the line that installs them.
        if !["apt", "pip"]
            .iter()
            .any(|tool| said.stderr.contains(&format!("on this machine; `{tool} install ")))
        {
            let said = said.exits(0);
            assert!(said.stdout.starts_with(&format!("{name}: good\n")), "{}", said.stdout);
        }
        let text = std::fs::read_to_string(tree("plans").join(name).with_extension("toml")).unwrap();
        let value: toml::Value = toml::from_str(&text).unwrap();
        // The schema is that of experiments; other kinds of plans are read by parsers of their own.
        if ["bakeoff", "guest", "part"].iter().any(|kind| value.get(kind).is_some()) {
            continue;
        }
        schema::holds(&schema, &serde_json::to_value(value).unwrap());
    }
}

#[test]
fn a_wrong_command_line_exits_2_and_says_what_is_wrong() {
    let yard = Yard::new();
    for (args, word) in [
        (&[][..], "Usage"),
        (&["rnu"][..], "rnu"),
        (&["run"], "PLAN"),
        (&["run", "quickstart", "--ot", "x"], "--ot"),
        (&["run", "quickstart", "--resume", "x"], "--resume"),
        (&["run", "quickstrat"], "did you mean `quickstart`?"),
        (&["check", "nothing.toml"], "nothing.toml"),
        (&["report", "nowhere"], "nowhere"),
        (&["verify", "nowhere"], "nowhere"),
        (&["run", "--resume", "nowhere"], "nowhere"),
        (&["schema", "plans"], "plan"),
        (&["studies", "enforcers"], "there are enforcer, selinux"),
        (&["load"], "URL"),
        (&["load", "127.0.0.1:80"], "http://"),
        (&["load", "http://127.0.0.1/", "--rate", "fast"], "fast"),
        (&["load", "http://127.0.0.1/", "--connections", "0"], "connections"),
        (&["load", "http://127.0.0.1/", "--header", "nothing"], "Accept: text/html"),
        (&["load", "http://127.0.0.1/", "--insecure", "--cacert", "x"], "--cacert"),
        (&["origin", "--cert", "x"], "--key"),
        (&["origin", "--burn", "2"], "2"),
        (&["origin", "--world", "nowhere.toml"], "nowhere.toml"),
        (&["compare", "a.conf"], "CONFIG"),
        (&["compare", "a.conf", "b.conf"], "--server"),
        (&["compare", "a.conf", "http://127.0.0.1/"], "not one with the other"),
        (&["compare", "http://127.0.0.1:1/", "http://127.0.0.1:2/", "--pid", "1"], "--pid"),
        (&["compare", "http://127.0.0.1:1/a", "http://127.0.0.1:2/b"], "--path"),
        (&["compare", "--server", "nginx", "a.conf", "b.conf"], "a.conf"),
        (&["compare", "--server", "ngnix", "a.conf", "b.conf"], "did you mean `nginx`?"),
        (&["compare", "--server", "nginx", "a.conf", "./a.conf"], "./a.conf is given twice"),
        (&["compare", "127.0.0.1:1", "127.0.0.1:2"], "write http://127.0.0.1:1"),
        (&["peak"], "CONFIG"),
        (&["peak", "a.conf"], "--server"),
        (&["peak", "http://127.0.0.1:1/", "--slo", "fast"], "fast"),
        (&["peak", "http://127.0.0.1:1/", "--budget", "30s"], "--confirm"),
    ] {
        let said = yard.run(args).exits(2).says(&[word]);
        assert_eq!(said.stdout, "", "{args:?}");
    }
}
