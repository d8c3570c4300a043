//! Rules for paths in a manifest, and detection of twins: paths that some file systems take for one.
//!
//! Hot while a manifest is read: once a file. ASCII paths take no allocation.

use super::ManifestRefusal;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use unicode_normalization::UnicodeNormalization;

/// Longest path that Linux opens (`PATH_MAX` without its final zero).
const MAX_BYTES: usize = 4095;

/// The path, if a manifest may name it. `line` is for the refusal.
pub(super) fn parse(bytes: &[u8], line: usize) -> Result<&str, ManifestRefusal> {
    let path = std::str::from_utf8(bytes).map_err(|_| ManifestRefusal::NotUtf8 { line })?;
    if bytes.first() == Some(&b'/') {
        return Err(ManifestRefusal::AbsolutePath { line });
    }
    if bytes.iter().any(|byte| byte.is_ascii_control()) {
        return Err(ManifestRefusal::ControlCharacter { line });
    }
    if bytes.len() > MAX_BYTES {
        return Err(ManifestRefusal::OddPath { line });
    }
    for part in bytes.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => return Err(ManifestRefusal::OddPath { line }),
            b".." => return Err(ManifestRefusal::ParentPath { line }),
            _ => {}
        }
    }
    Ok(path)
}

/// Looks for two paths that a file system which folds case or normalises Unicode takes for one.
pub(super) fn twins<'a>(count: usize, path: impl Fn(usize) -> &'a str) -> Result<(), ManifestRefusal> {
    let state = RandomState::new();
    let mut hashes: Vec<(u64, u32)> =
        (0..count).map(|index| (folded_hash(&state, path(index)), index as u32)).collect();
    hashes.sort_unstable();
    for pair in hashes.windows(2) {
        let [(left, first), (right, second)] = pair else { continue };
        // Equal hashes are mostly equal paths; the paths themselves decide. More than two with one
        // hash and no twins among neighbours would take a collision of 64 bits first.
        if left == right && fold(path(*first as usize)) == fold(path(*second as usize)) {
            return Err(ManifestRefusal::Twins {
                first: path(*first as usize).to_owned(),
                second: path(*second as usize).to_owned(),
            });
        }
    }
    Ok(())
}

fn folded_hash(state: &RandomState, path: &str) -> u64 {
    let mut hasher = state.build_hasher();
    if path.is_ascii() {
        let mut chunk = [0; 64];
        for part in path.as_bytes().chunks(chunk.len()) {
            let lower = chunk.get_mut(..part.len()).unwrap_or_default();
            lower.copy_from_slice(part);
            lower.make_ascii_lowercase();
            hasher.write(lower);
        }
    } else {
        hasher.write(fold(path).as_bytes());
    }
    hasher.finish()
}

/// Maps both cases and all spellings of a letter to one. Upper case first: it spells out letters without a small
/// letter of their own (`ß` and `ss`).
fn fold(path: &str) -> String {
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    path.nfkc().collect::<String>().to_uppercase().to_lowercase().nfkc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_odd_path_has_its_own_name() {
        let name = |path: &[u8]| parse(path, 1).err().map(|refusal| refusal.name());
        for good in ["a", "a/b", "a b", ".hidden", "...", "a/..b", "ä/日本"] {
            assert_eq!(name(good.as_bytes()), None, "{good}");
        }
        for (bad, expected) in [
            ("", "odd-path"),
            ("/", "absolute-path"),
            ("/etc/passwd", "absolute-path"),
            ("a//b", "odd-path"),
            ("a/", "odd-path"),
            ("./a", "odd-path"),
            ("a/./b", "odd-path"),
            ("..", "parent-path"),
            ("a/../b", "parent-path"),
            ("a\tb", "control-character"),
            ("a\u{7f}", "control-character"),
        ] {
            assert_eq!(name(bad.as_bytes()), Some(expected), "{bad:?}");
        }
        assert_eq!(name(b"a\xff"), Some("not-utf8"));
        assert_eq!(name(&[b'a'; MAX_BYTES + 1]), Some("odd-path"));
    }

    #[test]
    fn twins_are_found_by_case_and_by_spelling() {
        let found = |paths: &[&'static str]| twins(paths.len(), |at| paths[at]).is_err();
        assert!(found(&["README", "a", "readme"]));
        assert!(found(&["caf\u{e9}", "cafe\u{301}"]), "one letter, written in two ways");
        assert!(found(&["STRASSE", "straße"]));
        assert!(found(&["Ä/x", "ä/X"]));
        let long = format!("{}/A", "d".repeat(70));
        let small: &'static str = Box::leak(long.to_lowercase().into_boxed_str());
        let long: &'static str = Box::leak(long.into_boxed_str());
        assert!(found(&[long, small]));
        assert!(!found(&["a", "b", "ab", "a/b", "é", "e"]));
    }
}
