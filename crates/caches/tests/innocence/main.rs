//! Recorded caches, which a second reading clears: the judge may accuse them of nothing that this reading does not find.
//!
//! The judge, the counts of both ends and the analysis run over each recording as they do over a run, and every
//! accusation is then looked at by a small model of RFC 9111 that shares no code with them. No product is needed.

#![allow(clippy::unwrap_used)] // a test that cannot read its own recordings has failed

mod exchange;
mod model;
mod replay;
mod suite;

use exchange::{OfRobots, Recording};
use model::{Finding, Model};
use replay::{Replay, replay};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recorded/exchanges");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// Accusations that the model does not find, and those that it does, by label.
fn held(recording: &Recording, replay: &Replay) -> (Vec<String>, BTreeMap<&'static str, u64>) {
    let model = Model::of(recording);
    let (mut cleared, mut found) = (Vec::new(), BTreeMap::new());
    for (exchange, label) in &replay.accused {
        match model.check(label, exchange) {
            Finding::Broken => *found.entry(*label).or_default() += 1,
            Finding::Cleared(why) => {
                cleared.push(format!("{label}, but {why}:\n{}\n{}", exchange.request, exchange.reply));
            }
        }
    }
    (cleared, found)
}

#[test]
fn no_recorded_cache_is_accused_of_what_the_rfcs_clear() {
    let mut heard = 0;
    for file in recordings() {
        let recording = Recording::read(&file).unwrap();
        let replay = replay(&recording);
        let (cleared, found) = held(&recording, &replay);
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        println!("{name}: {} exchanges, {found:?}, {:?}", recording.robots.len(), replay.of_both_ends);
        assert!(cleared.is_empty(), "{name}: {} are false, such as {}", cleared.len(), cleared[0]);
        // These programs are known, and none makes anything up.
        let passes_hops = Model::of(&recording).passes_hops();
        let of_both_ends = if passes_hops { vec!["hop-passed"] } else { Vec::new() };
        assert_eq!(replay.of_both_ends, of_both_ends, "{name}");
        heard += recording.robots.len();
    }
    assert!(heard > 5_000, "{heard} exchanges are too few");
}

/// The generator's word that a body is wrong is held against the bytes that the origin sent.
#[test]
fn wrong_bytes_are_cleared_by_the_body_that_the_origin_sent_and_by_no_other() {
    let file = recordings().into_iter().find(|file| file.ends_with("squid-gzip.jsonl.gz")).unwrap();
    let recording = Recording::read(&file).unwrap();
    let model = Model::of(&recording);
    let mut cleared = 0;
    for exchange in recording.robots.iter().filter(|exchange| exchange.body_crc.is_some()) {
        cleared += u32::from(model.check("wrong-bytes", exchange) != Finding::Broken);
        let other = OfRobots { body_crc: exchange.body_crc.map(|crc| !crc), ..exchange.clone() };
        assert_eq!(model.check("wrong-bytes", &other), Finding::Broken);
    }
    assert!(cleared > 100, "{cleared}");
}
