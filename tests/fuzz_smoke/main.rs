//! The fuzz targets as ordinary tests: over their seeds, and over some thousand mutations of them.
//!
//! Needs neither cargo-fuzz nor a nightly compiler. The same bytes in every run: the seed is fixed.
//! What fails is written to `target/tmp/fuzz_smoke-TARGET`, to become a seed and a unit test.

#![allow(clippy::print_stdout, reason = "a failing input is shown whole")]
#![allow(clippy::unwrap_used)] // a test that cannot read the seeds has failed

#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub)] // it is a crate of its own, too
mod targets;

use bakeoff_content::SplitMix64;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// Inputs made from the seeds; about a second a target in the `ci` profile.
const MUTATIONS: usize = 20_000;
/// Longest input made.
const MAX_BYTES: usize = 4_096;

#[test]
fn reply() {
    smoke("reply");
}

#[test]
fn request() {
    smoke("request");
}

#[test]
fn access_log() {
    smoke("access_log");
}

#[test]
fn plan() {
    smoke("plan");
}

#[test]
fn catalogue() {
    smoke("catalogue");
}

#[test]
fn every_target_has_a_binary_and_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
    let own = std::fs::read_to_string(root.join("tests/fuzz_smoke/main.rs")).unwrap();
    for (name, _) in targets::TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "fuzz/Cargo.toml: no binary `{name}`");
        assert!(root.join(format!("fuzz/fuzz_targets/{name}.rs")).exists(), "no fuzz/fuzz_targets/{name}.rs");
        assert!(own.contains(&format!("    smoke(\"{name}\");")), "tests/fuzz_smoke: no test `{name}`");
    }
}

fn smoke(name: &str) {
    let (_, target) = targets::TARGETS.into_iter().find(|(known, _)| *known == name).unwrap();
    let seeds = seeds(name);
    for (path, seed) in &seeds {
        attempt(name, target, seed, &path.display().to_string());
    }
    let mut random = SplitMix64::new(0xF022);
    for turn in 0..MUTATIONS {
        let mut input = seeds[below(&mut random, seeds.len())].1.clone();
        for _ in 0..=below(&mut random, 4) {
            let other = &seeds[below(&mut random, seeds.len())].1;
            mutate(&mut input, other, &mut random);
        }
        input.truncate(MAX_BYTES);
        attempt(name, target, &input, &format!("mutation {turn}"));
    }
}

fn attempt(name: &str, target: fn(&[u8]), input: &[u8], what: &str) {
    if let Err(panic) = catch_unwind(|| target(input)) {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz_smoke-{name}"));
        std::fs::write(&kept, input).unwrap();
        let text = String::from_utf8_lossy(&input[..input.len().min(2_000)]).into_owned();
        println!("{name}: {what}, kept as {}:\n{text:?}", kept.display());
        std::panic::resume_unwind(panic);
    }
}

/// The seeds in the order of their names.
fn seeds(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut seeds: Vec<_> = files
        .map(|file| file.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect();
    assert!(!seeds.is_empty(), "{}: no seeds", folder.display());
    seeds.sort();
    seeds
}

/// One change of the kind that breaks parsers.
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut SplitMix64) {
    const TELLING: &[u8] = b"\r\n\t \0\"'\\%:;,=[]{}#/.-+0159aAfFzZ\x7f\x80\xc3\xff";
    let at = below(random, input.len() + 1);
    let end = (at + 1 + below(random, 16)).min(input.len());
    match below(random, 8) {
        0 => input.truncate(at),
        1 => drop(input.drain(at..end)),
        2 => input.insert(at, TELLING[below(random, TELLING.len())]),
        3 if at < input.len() => input[at] = TELLING[below(random, TELLING.len())],
        4 if at < input.len() => input[at] ^= 1 << below(random, 8),
        5 => {
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
        6 => {
            let from = below(random, other.len() + 1);
            let to = (from + 1 + below(random, 64)).min(other.len());
            input.splice(at..at, other[from..to].iter().copied());
        }
        _ => {
            let number = ["0", "-1", "1e999", "4294967296", "18446744073709551616", "9223372036854775807"];
            input.splice(at..end, number[below(random, number.len())].bytes());
        }
    }
}

fn below(random: &mut SplitMix64, limit: usize) -> usize {
    (random.next_u64() % limit.max(1) as u64) as usize
}
