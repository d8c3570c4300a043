//! Runs a fuzz target over its seeds and their mutations.
//!
//! Shared by the targets of both sides of the wall, so it uses neither side. The same bytes in every run: the seed is
//! fixed. A failing input is written to `target/tmp/fuzz_smoke-TARGET`.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// A target: its name, which is also its folder of seeds, and its function.
type Target = (&'static str, fn(&[u8]));

/// Inputs made from the seeds; less than a second a target in the `ci` profile.
const MUTATIONS: usize = 10_000;
/// Longest input made.
const MAX_BYTES: usize = 4_096;

/// SplitMix64; all that matters is that it is the same in every run.
struct Random(u64);

impl Random {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Every target has a file, a row in the manifest of cargo-fuzz, and a test in this file.
pub(crate) fn assert_complete(root: &Path, targets: &[Target], tests: &str) {
    let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
    let own = std::fs::read_to_string(root.join(tests)).unwrap();
    for (name, _) in targets {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "fuzz/Cargo.toml: no binary `{name}`");
        assert!(root.join(format!("fuzz/fuzz_targets/{name}.rs")).exists(), "no fuzz/fuzz_targets/{name}.rs");
        assert!(own.contains(&format!("    smoke(\"{name}\");")), "{tests}: no test `{name}`");
    }
}

/// The seeds, then their mutations.
pub(crate) fn smoke(root: &Path, targets: &[Target], name: &str) {
    let (_, target) = *targets.iter().find(|(known, _)| *known == name).unwrap();
    let seeds = seeds(root, name);
    for (path, seed) in &seeds {
        attempt(name, target, seed, &path.display().to_string());
    }
    let mut random = Random(0xF022);
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
fn seeds(root: &Path, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = root.join("fuzz/seeds").join(name);
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
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
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

fn below(random: &mut Random, limit: usize) -> usize {
    (random.next_u64() % limit.max(1) as u64) as usize
}
