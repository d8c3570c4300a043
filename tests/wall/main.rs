//! The wall between the measuring side and the measured side, and the house rules a compiler cannot check.
//!
//! The rule itself is tried on synthetic graphs that must be refused, so that it cannot pass by having nothing to look
//! at.

#![allow(clippy::unwrap_used)] // a test that cannot read the tree has failed

mod graph;
mod rule;
mod words;

use graph::{Edge, Node, root, workspace};
use rule::refusals;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn the_workspace_keeps_the_wall() {
    let graph = workspace();
    assert!(graph.len() >= 13, "only {} crates were found", graph.len());
    let wrong = refusals(&graph);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_arrow_is_allowed_that_nobody_uses() {
    let graph = workspace();
    let name = |folder: &str| graph.iter().find(|node| node.folder == folder).map(|node| node.name.clone());
    let mut seen = BTreeSet::new();
    for (from, to, dev) in rule::rows() {
        assert!(seen.insert((from, to)), "{from} -> {to} stands twice");
        let to_name = name(to);
        let mut edges = graph.iter().filter(|node| node.folder == from).flat_map(|node| &node.edges);
        let used = edges.any(|edge| edge.dev == dev && Some(&edge.to) == to_name.as_ref());
        let whose = if dev { "tests use" } else { "code uses" };
        assert!(used, "no {whose} {from} -> {to}: take it out of tests/wall/rule.rs");
    }
}

#[test]
fn a_meter_that_asks_a_layer_is_refused() {
    let graph = [
        node("meter", &["bakeoff-units", "bakeoff-layers-proxy"]),
        node("layers/proxy", &["bakeoff-units"]),
        node("units", &[]),
    ];
    assert_refused(&graph, "bakeoff-meter -> bakeoff-layers-proxy", "never links what is measured");
}

#[test]
fn a_layer_that_sees_a_plan_or_another_layer_is_refused() {
    let graph = [
        node("layers/proxy", &["bakeoff-wire", "bakeoff-experiment"]),
        node("layers/store", &["bakeoff-layers-base", "bakeoff-layers-credentials", "bakeoff-layers-proxy"]),
        node("layers/credentials", &["bakeoff-layers-base"]),
        node("layers/base", &["bakeoff-units", "bakeoff-layers-credentials"]),
        node("experiment", &["bakeoff-units"]),
        node("wire", &[]),
        node("units", &[]),
    ];
    assert_refused(&graph, "bakeoff-layers-proxy -> bakeoff-experiment", "nothing that measures");
    assert_refused(&graph, "bakeoff-layers-store -> bakeoff-layers-proxy", "no other layer");
    assert_refused(&graph, "bakeoff-layers-base -> bakeoff-layers-credentials", "names no layer");
    assert_eq!(refusals(&graph).len(), 3, "{:#?}", refusals(&graph));
}

#[test]
fn a_workload_with_a_socket_and_statistics_with_files_are_refused() {
    let mut graph = vec![
        node("workload", &["bakeoff-units", "bakeoff-sys", "socket2", "memchr"]),
        node("stats", &["statrs", "serde_json"]),
        node("sys", &["bakeoff-units", "nix"]),
        node("units", &[]),
    ];
    graph[1].edges.push(Edge { to: "proptest".to_owned(), dev: true });
    assert_refused(&graph, "bakeoff-workload -> bakeoff-sys", "no such arrow");
    assert_refused(&graph, "bakeoff-workload -> socket2", "sees no socket");
    assert_refused(&graph, "bakeoff-stats -> serde_json", "no I/O");
    assert_eq!(refusals(&graph).len(), 3, "{:#?}", refusals(&graph));
}

#[test]
fn plans_results_and_analysis_that_ask_the_machine_are_refused() {
    for folder in ["plan", "results", "analysis"] {
        for (name, why) in [("bakeoff-sys", "no such arrow"), ("nix", folder), ("libc", folder)] {
            let graph = [node(folder, &[name]), node("sys", &[])];
            assert_refused(&graph, &format!("bakeoff-{folder}"), why);
        }
    }
}

#[test]
fn an_arrow_backwards_is_refused_in_tests_too() {
    let mut graph = vec![node("wire", &[]), node("loadgen", &["bakeoff-wire"])];
    graph[0].edges.push(Edge { to: "bakeoff-loadgen".to_owned(), dev: true });
    assert_refused(&graph, "bakeoff-wire -> bakeoff-loadgen (in tests)", "no such arrow");
}

#[test]
fn an_arrow_for_tests_is_refused_in_code() {
    let mut graph = vec![node("robots", &["bakeoff-origin"]), node("origin", &[])];
    assert_refused(&graph, "bakeoff-robots -> bakeoff-origin", "for tests alone");
    graph[0].edges[0].dev = true;
    assert_eq!(refusals(&graph), [] as [String; 0]);
}

#[test]
fn a_crate_that_no_rule_knows_is_refused() {
    assert_refused(&[node("attic", &[])], "crates/attic", "no rule knows this crate");
    let misnamed = Node { name: "bakeoff-wires".to_owned(), ..node("wire", &[]) };
    assert_refused(&[misnamed], "bakeoff-wires", "no folder for a package of this name");
}

#[test]
fn only_sys_may_hold_unsafe_code() {
    for node in workspace() {
        let source = root().join("crates").join(&node.folder).join("src");
        for file in
            ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().filter(|file| file.exists())
        {
            let forbids = text(&file).lines().any(|line| line == "#![forbid(unsafe_code)]");
            assert_eq!(forbids, node.folder != "sys", "{}: #![forbid(unsafe_code)]", file.display());
        }
    }
}

#[test]
fn every_member_inherits_the_lint_table() {
    for node in workspace() {
        let manifest = root().join("crates").join(&node.folder).join("Cargo.toml");
        let inherits = text(&manifest).contains("\n[lints]\nworkspace = true\n");
        assert!(inherits, "{}: needs `[lints]` with `workspace = true`", manifest.display());
    }
}

#[test]
fn every_crate_is_a_member() {
    let members: BTreeSet<PathBuf> =
        workspace().iter().map(|node| root().join("crates").join(&node.folder).join("Cargo.toml")).collect();
    let found: BTreeSet<PathBuf> =
        files(&root().join("crates")).into_iter().filter(|file| file.ends_with("Cargo.toml")).collect();
    assert_eq!(found, members);
}

#[test]
fn every_source_file_opens_with_its_room() {
    let folders = ["crates", "tests", "fuzz", "benches"].map(|folder| root().join(folder));
    let sources = folders.iter().flat_map(|folder| files(folder));
    let sources: Vec<PathBuf> =
        sources.filter(|file| file.extension().is_some_and(|end| end == "rs")).collect();
    assert!(sources.len() > 100, "only {} source files were found", sources.len());
    let bare: Vec<&PathBuf> = sources.iter().filter(|file| !text(file).starts_with("//!")).collect();
    assert!(bare.is_empty(), "these open without a //! head: {bare:#?}");
}

/// The share of public types whose name another public type has; it may fall, and not rise.
const MOST_HOMONYMS: f64 = 0.02;

#[test]
fn no_head_opens_with_a_relative_clause() {
    let folders = ["crates", "tests", "fuzz", "benches"];
    let sources = folders.iter().flat_map(|folder| files(&root().join(folder)));
    let sources = sources.filter(|file| file.extension().is_some_and(|end| end == "rs"));
    let wrong: Vec<String> = sources
        .filter_map(|file| Some(format!("{}: {}", file.display(), words::refused_opening(&text(&file))?)))
        .collect();
    assert!(wrong.is_empty(), "a head names the thing, noun first: {wrong:#?}");
    for (head, refused) in [
        ("//! What a search came to.", Some("What")),
        ("//! who goes on when", Some("Who")),
        ("//! All that took part.", Some("All that")),
        ("//! Whatever: nothing.", Some("Whatever")),
        ("//! Outcome of a peak search.", None),
        ("//! Whole files are renamed.", None),
        ("//! `what`: a word of plans.", None),
    ] {
        assert_eq!(words::refused_opening(head), refused, "{head}");
    }
}

/// Counted by the command that shows them, so that there is one counter.
#[test]
fn files_of_a_crate_draw_no_circle() {
    let counted = std::process::Command::new(root().join("benches/house"))
        .arg("--circles")
        .current_dir(root())
        .output()
        .expect("benches/house runs");
    let said = String::from_utf8_lossy(&counted.stdout);
    assert!(counted.status.success() && said.contains("import circles: 0,"), "{said}");
}

#[test]
fn few_public_names_mean_two_things() {
    let sources =
        files(&root().join("crates")).into_iter().filter(|file| file.iter().any(|part| part == "src"));
    let found = words::Homonyms::of(sources.flat_map(|file| words::public_types(&text(&file))));
    let share = found.share();
    println!("{} of {} public types share their name: {:.1} %", found.shared, found.types, share * 100.0);
    assert!(found.types > 500 && share <= MOST_HOMONYMS, "{:.1} %: {:#?}", share * 100.0, found.names);
    let two = words::public_types(
        "pub struct Kind;\n    pub enum Kind {\npub(crate) struct Other;\n#[cfg(test)]\npub struct Kind;",
    );
    assert_eq!(two, ["Kind", "Kind"]);
    assert_eq!(words::Homonyms::of(two).share(), 1.0);
}

/// A rule that `Cargo.toml` cannot express: the standard library has sockets and files, too.
#[test]
fn rooms_without_io_do_not_name_it() {
    let sockets = ["std::net", "std::os::unix::net"];
    let all = ["std::net", "std::os::unix::net", "std::fs", "std::process"];
    let machine = ["std::net::Tcp", "std::net::Udp", "std::os::unix::net", "std::process", "std::thread"];
    let rooms: [(&str, &[&str]); 9] = [
        ("plan", &machine),
        ("results", &machine),
        ("analysis", &machine),
        ("workload", &sockets),
        ("wire", &all),
        ("content", &all),
        ("stats", &all),
        ("units", &all),
        ("layers/credentials", &all),
    ];
    for (folder, names) in rooms {
        for file in files(&root().join("crates").join(folder).join("src")) {
            let code = text(&file);
            let named = names.iter().find(|name| code.contains(**name));
            assert_eq!(named, None, "{}", file.display());
        }
    }
}

#[test]
fn no_folder_has_a_name_that_says_nothing() {
    for file in files(&root().join("crates")) {
        let path = file.strip_prefix(root()).unwrap();
        let vague = path.parent().unwrap().iter().find(|part| {
            ["common", "util", "utils", "core", "helpers", "manager"].iter().any(|name| part == name)
        });
        assert_eq!(vague, None, "{}", path.display());
    }
}

fn node(folder: &str, uses: &[&str]) -> Node {
    let edges = uses.iter().map(|&to| Edge { to: to.to_owned(), dev: false }).collect();
    let name = format!("bakeoff-{}", folder.replace('/', "-"));
    Node { name, folder: folder.to_owned(), edges }
}

fn assert_refused(graph: &[Node], who: &str, why: &str) {
    let wrong = refusals(graph);
    assert!(
        wrong.iter().any(|line| line.contains(who) && line.contains(why)),
        "{who}: {why}: not in {wrong:#?}"
    );
}

/// All files below a folder that exists, build products left out.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut rest = vec![folder.to_owned()];
    while let Some(folder) = rest.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with("target")
                    || path.ends_with("corpus")
                    || path.ends_with("artifacts") => {}
                true => rest.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
