//! Goldens: the output of `report` for recorded runs of each kind, byte for byte.
//!
//! `tests/recorded/NAME.tar.gz` is a results directory with its `results.json` and the output of `report` on 80 and on
//! 40 columns; `pages.sha256` stands for the pages. `UPDATE_GOLDEN=1` writes all of them again.

use crate::support::Yard;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/recorded");
const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/recorded/pages.sha256");
/// Files of printed reports, with their columns and whether they have everything.
const PRINTED: [(&str, &str, bool); 3] =
    [("report.txt", "80", true), ("report-40.txt", "40", true), ("report-brief.txt", "80", false)];
/// Lines that a comparison of two arms may have, so that it fits a screen.
const SCREEN: usize = 30;
/// Outputs that are in no archive.
const LEFT_OUT: [&str; 3] = ["report.html", "slices.csv", "trials.csv"];

/// A recorded results directory, as `NAME` in this yard.
pub(crate) fn unpack(yard: &Yard, name: &str) {
    tar(&["-xzf", &archive(name)], &yard.path(""));
}

fn archive(name: &str) -> String {
    format!("{RECORDED}/{name}.tar.gz")
}

fn tar(args: &[&str], at: &Path) {
    let done = Command::new("tar").args(args).current_dir(at).status().unwrap();
    assert!(done.success(), "tar {args:?}: {done}");
}

#[test]
fn reports_of_recorded_runs_are_the_same_byte_for_byte() {
    let updates = std::env::var_os("UPDATE_GOLDEN").is_some();
    let (mut differ, mut pages) = (Vec::new(), String::new());
    for name in names() {
        let yard = Yard::new();
        unpack(&yard, &name);
        let before = goldens(&yard, &name);
        for (file, columns, verbose) in PRINTED {
            let words = ["report", &name, "--verbose"];
            let mut command = yard.bakeoff(&words[..if verbose { 3 } else { 2 }]);
            command.env("COLUMNS", columns);
            let said = yard.ended(yard.start(command));
            yard.write(&format!("{name}/{file}"), format!("{}exit {:?}\n", said.stdout, said.code()));
        }
        let after = goldens(&yard, &name);
        let files: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        differ
            .extend(files.into_iter().filter_map(|file| difference(file, before.get(file), after.get(file))));
        pages += &digests(&yard, &name);
        if updates {
            pack(&yard, &name);
        }
    }
    if updates {
        std::fs::write(PAGES, pages).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(PAGES).unwrap();
    differ.extend(difference("pages.sha256", Some(&expected), Some(&pages)));
    assert!(
        differ.is_empty(),
        "{}\nIf it is meant so, UPDATE_GOLDEN=1 writes them again.",
        differ.join("\n")
    );
}

#[test]
fn a_comparison_of_two_arms_fits_a_screen() {
    let yard = Yard::new();
    unpack(&yard, "quickstart");
    let said = yard.run(&["report", "quickstart"]).exits(0).stdout;
    assert!(said.contains("costs") && said.lines().count() <= SCREEN, "{said}");
    let whole = yard.run(&["report", "quickstart", "--verbose"]).exits(0).stdout;
    assert!(!said.contains("Conditions") && whole.contains("Conditions"), "{whole}");
}

/// All archives; there is one a kind at least.
fn names() -> Vec<String> {
    let files =
        std::fs::read_dir(RECORDED).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.strip_suffix(".tar.gz")?.to_owned())).collect();
    names.sort_unstable();
    for kind in [
        "calls",
        "caches",
        "command",
        "conformance",
        "files",
        "growing",
        "guest",
        "peak",
        "populations",
        "suite",
    ] {
        assert!(names.iter().any(|name| name == kind), "{kind} is missing among {names:?}");
    }
    names
}

/// The texts that have to stay as they are, by their path.
fn goldens(yard: &Yard, name: &str) -> BTreeMap<String, String> {
    let is_golden =
        |file: &str| file == "results.json" || PRINTED.iter().any(|(printed, ..)| *printed == file);
    found(&yard.path(name), is_golden)
        .into_iter()
        .map(|path| {
            let file = path.strip_prefix(yard.path("")).unwrap().to_str().unwrap().to_owned();
            let text = yard.read(&file);
            (file, text)
        })
        .collect()
}

/// Files of these names below a directory, in the order of their paths.
fn found(dir: &Path, wanted: impl Fn(&str) -> bool + Copy) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.extend(found(&entry.path(), wanted));
        } else if entry.file_name().to_str().is_some_and(wanted) {
            all.push(entry.path());
        }
    }
    all.sort_unstable();
    all
}

fn difference(file: &str, before: Option<&String>, after: Option<&String>) -> Option<String> {
    let (Some(before), Some(after)) = (before, after) else {
        return Some(format!("{file}: {}", if after.is_some() { "new" } else { "gone" }));
    };
    let lines = before.lines().zip(after.lines()).enumerate().find(|(_, (before, after))| before != after);
    (before != after).then(|| match lines {
        Some((number, (before, after))) => format!("{file}, line {}:\n  - {before}\n  + {after}", number + 1),
        None => format!("{file} ends elsewhere"),
    })
}

/// As `sha256sum` prints them.
fn digests(yard: &Yard, name: &str) -> String {
    let pages = found(&yard.path(name), |file| file == "report.html");
    if pages.is_empty() {
        return String::new(); // without a name it takes the digest of what it is typed
    }
    let pages = pages.iter().map(|page| page.strip_prefix(yard.path("")).unwrap());
    let done = Command::new("sha256sum").args(pages).current_dir(yard.path("")).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

fn pack(yard: &Yard, name: &str) {
    let excluded = LEFT_OUT.map(|file| format!("--exclude={file}"));
    let same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
    let args = excluded.iter().map(String::as_str).chain(same);
    tar(&args.chain(["-czf", &archive(name), name]).collect::<Vec<_>>(), &yard.path(""));
}
