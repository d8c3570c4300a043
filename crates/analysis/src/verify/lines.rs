//! Verification of growing files: each line as written, and no round with a hole.

use super::Verified;
use bakeoff_results::directory::{self, Check, DirectoryError, Layout, LineFault, SLICES, StoredExperiment};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Checks every line against its check. `setup` is the digest of `setup.json` when the lines were written.
pub(super) fn check_chains(
    dir: &Path,
    layout: &Layout,
    setup: &str,
    ended: bool,
    verified: &mut Verified,
) -> Result<(), DirectoryError> {
    for name in layout.growing {
        let Some(text) = super::lossy(dir, name)? else { continue };
        let end = text.rfind('\n').map_or(0, |end| end + 1);
        let (whole, rest) = text.split_at(end);
        for (index, fault) in directory::faults(whole, Check::before_the_first(setup)) {
            let line = whole.lines().nth(index).unwrap_or_default();
            let what = match fault {
                LineFault::Unchecked => "has no check: it was changed or was not written by bakeoff",
                LineFault::Changed if index == 0 && !ended => &format!(
                    "changed since it was written, or {} was, or a line before it is missing",
                    layout.setup
                ),
                LineFault::Changed => "changed since it was written, or the line before it is missing",
            };
            verified.find(format!("{name} line {}{}", index + 1, whose(line)), what);
        }
        if !rest.is_empty() && ended {
            verified.find(*name, "ends in half a line, and the run was not killed");
        }
    }
    Ok(())
}

/// ` (round 4, arm https)`, as far as the line still tells.
fn whose(line: &str) -> String {
    let record: Value = serde_json::from_str(line).unwrap_or_default();
    let word = |key: &str| match record.get(key)? {
        Value::String(text) => Some(format!("{key} {text}")),
        Value::Number(number) => Some(format!("{key} {number}")),
        _ => None,
    };
    let words: Vec<String> = ["round", "arm"].into_iter().filter_map(word).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// Checks that every arm is once in every round but the last, which may have been cut short: at each load, and in each block
/// of a duet that it belongs to.
pub(super) fn check_rounds(stored: &StoredExperiment, verified: &mut Verified) {
    let arms = &stored.setup.arms;
    let (mut seen, mut there) = (BTreeSet::new(), BTreeSet::new());
    for (index, slice) in stored.slices.iter().enumerate() {
        let place = || format!("{SLICES} line {} (round {}, arm {})", index + 1, slice.round, slice.arm);
        if !arms.contains(&slice.arm) {
            verified.find(place(), "setup.json knows no such arm");
        }
        there.insert((slice.round, slice.arm.as_str()));
        if !seen.insert((slice.round, slice.arm.as_str(), slice.load, slice.block)) {
            verified.find(place(), "this arm has a slice in this round already");
        }
    }
    let last = stored.slices.iter().map(|slice| slice.round).max().unwrap_or(0);
    for round in 0..last {
        let missing: Vec<&str> =
            arms.iter().map(String::as_str).filter(|arm| !there.contains(&(round, *arm))).collect();
        if !missing.is_empty() {
            verified.find(SLICES, format!("round {round} has no slice of {}", missing.join(", ")));
        }
    }
}
