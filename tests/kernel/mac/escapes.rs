//! Known escapes: each is refused under the layer and possible without, or named in the documentation.

use crate::stage::{LAYERS, PYTHON, Stage, may_run, said, script};
use std::process::Command;

#[test]
fn every_way_out_is_refused_or_named() {
    if !may_run("every_way_out_is_refused_or_named") {
        return;
    }
    let stage = Stage::new();
    let (script, place) = (script("escapes.py"), stage.text(""));
    let alone = ["-m", "-i", "-u", "-p", "-n", "-f", "--kill-child", "--mount-proc", PYTHON];
    let words = [&alone[..], &[&script, "stage", &place, LAYERS]].concat();
    let done = Command::new("unshare").args(words).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    let text = String::from_utf8(done.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let of = |verdict: &str| {
        rows.iter().filter(|row| row[0] == verdict).map(|row| row.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(of("WRONG"), Vec::<String>::new());
    assert!(of("ok").len() >= 180, "only {} attempts say anything:\n{text}", of("ok").len());
    let docs = include_str!("../../../docs/layers/mac.md").replace('\n', " ").to_lowercase();
    let docs = docs.split_whitespace().collect::<Vec<_>>().join(" ");
    for row in rows.iter().filter(|row| row[1] == "remains") {
        assert!(
            docs.contains(&row[2].to_lowercase()),
            "docs/layers/mac.md does not say that `{}` remains",
            row[2]
        );
    }
}
