//! Parser of manifests: bytes with a verified signature become a [`Manifest`], or are refused by name.
//!
//! Cold, but a million lines must take well below a second: no allocation a line.

use super::{
    FaultAction, Line, Manifest, ManifestEntry, ManifestHeader, ManifestRefusal, SignedComment, path,
};
use crate::digest::Digest;

/// Reads a manifest.
///
/// # Errors
/// Anything that [`super::text`] would not write in exactly this form.
pub(super) fn parse(text: Vec<u8>) -> Result<Manifest, ManifestRefusal> {
    if u32::try_from(text.len()).is_err() {
        return Err(ManifestRefusal::TooLarge);
    }
    let mut rest = Rest { text: &text, at: 0, line: 0 };
    let (header, files) = head(&mut rest)?;
    // A line has at least 75 bytes: a count that the text cannot hold reserves nothing.
    let mut lines = Vec::with_capacity(files.min(text.len() / 75 + 1));
    let mut before: Option<&[u8]> = None;
    for _ in 0..files {
        let start = rest.at;
        let bytes = rest.next().ok_or(ManifestRefusal::CutShort)?;
        let (entry, before_path) = entry(bytes).map_err(|wrong| wrong.at(rest.line))?;
        let path = entry.path.as_bytes();
        match before.map(|before| before.cmp(path)) {
            Some(std::cmp::Ordering::Equal) => {
                return Err(ManifestRefusal::DuplicatePath { line: rest.line });
            }
            Some(std::cmp::Ordering::Greater) => return Err(ManifestRefusal::Unsorted { line: rest.line }),
            _ => before = Some(path),
        }
        lines.push(Line { start: start as u32, before_path });
    }
    if rest.at != text.len() {
        return Err(ManifestRefusal::TrailingData);
    }
    let manifest = Manifest { header, text, lines, signed: SignedComment::default() };
    path::twins(manifest.len(), |index| {
        let line = manifest.lines.get(index).copied().unwrap_or(Line { start: 0, before_path: 0 });
        // Already checked to be UTF-8.
        std::str::from_utf8(manifest.path(line)).unwrap_or_default()
    })?;
    Ok(manifest)
}

/// Unread lines.
struct Rest<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Rest<'a> {
    /// The next line without its end; a line without an end is none.
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.at..)?;
        let end = memchr::memchr(b'\n', rest)?;
        self.at += end + 1;
        self.line += 1;
        rest.get(..end)
    }

    fn field(&mut self, what: &'static str, word: &str) -> Result<&'a [u8], ManifestRefusal> {
        let line = self.next().ok_or(ManifestRefusal::CutShort)?;
        let value = line.strip_prefix(word.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
        value.ok_or(ManifestRefusal::Malformed { line: self.line, what })
    }

    fn number(&mut self, what: &'static str, word: &str) -> Result<u64, ManifestRefusal> {
        let value = self.field(what, word)?;
        number(value).ok_or(ManifestRefusal::Malformed { line: self.line, what })
    }
}

fn head(rest: &mut Rest<'_>) -> Result<(ManifestHeader, usize), ManifestRefusal> {
    if rest.next() != Some(b"bakeoff-manifest 1") {
        return Err(ManifestRefusal::UnknownFormat);
    }
    let version = rest.number("`version` and a number", "version")?;
    let created_unix_s = rest.number("`created` and seconds since 1970", "created")?;
    let not_after_unix_s = rest.number("`not-after` and seconds since 1970", "not-after")?;
    let what = "`key` and 16 hexadecimal digits";
    let key_id =
        key_id(rest.field(what, "key")?).ok_or(ManifestRefusal::Malformed { line: rest.line, what })?;
    let name = rest.field("`digest` and its name", "digest")?;
    let algorithm = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
    let algorithm = algorithm.ok_or(ManifestRefusal::UnknownAlgorithm { line: rest.line })?;
    let what = "`files` and their number";
    let files = rest.number(what, "files")?;
    let files = u32::try_from(files).map_err(|_| ManifestRefusal::Malformed { line: rest.line, what })?;
    Ok((ManifestHeader { version, created_unix_s, not_after_unix_s, key_id, algorithm }, files as usize))
}

/// Fault of a line whose number is not known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Field(&'static str),
    Path(ManifestRefusal),
}

impl Wrong {
    fn at(self, line: usize) -> ManifestRefusal {
        match self {
            Self::Field(what) => ManifestRefusal::Malformed { line, what },
            Self::Path(ManifestRefusal::AbsolutePath { .. }) => ManifestRefusal::AbsolutePath { line },
            Self::Path(ManifestRefusal::ParentPath { .. }) => ManifestRefusal::ParentPath { line },
            Self::Path(ManifestRefusal::OddPath { .. }) => ManifestRefusal::OddPath { line },
            Self::Path(ManifestRefusal::ControlCharacter { .. }) => {
                ManifestRefusal::ControlCharacter { line }
            }
            Self::Path(ManifestRefusal::NotUtf8 { .. }) => ManifestRefusal::NotUtf8 { line },
            Self::Path(other) => other,
        }
    }
}

/// One line without its end, and how many of its bytes stand before the path.
pub(super) fn entry(line: &[u8]) -> Result<(ManifestEntry<'_>, u8), Wrong> {
    const DIGITS: usize = 2 * Digest::BYTES;
    let (digest, rest) =
        line.split_at_checked(DIGITS).ok_or(Wrong::Field("a digest of 64 hexadecimal digits"))?;
    let digest = Digest::from_hex(digest).ok_or(Wrong::Field("a digest of 64 hexadecimal digits"))?;
    let rest = rest.strip_prefix(b"\t").ok_or(Wrong::Field("a tab"))?;
    let (size, rest) = field(rest)?;
    let (mode, rest) = field(rest)?;
    let (action, path) = field(rest)?;
    let size_bytes = number(size).ok_or(Wrong::Field("a size in bytes"))?;
    let mode = octal(mode).ok_or(Wrong::Field("a mode of 4 octal digits"))?;
    let action = match action {
        b"-" => FaultAction::default(),
        named => {
            let known = FaultAction::ALL
                .into_iter()
                .find(|known| known.name().as_bytes() == named && *known != FaultAction::Lock);
            known.ok_or(Wrong::Field("an action: -, log, deny or stop"))?
        }
    };
    // 64 + 20 + 4 + 4 bytes and four tabs at most.
    let before_path = (line.len() - path.len()) as u8;
    let path = path::parse(path, 0).map_err(Wrong::Path)?;
    Ok((ManifestEntry { digest, size_bytes, mode, action, path }, before_path))
}

fn field(rest: &[u8]) -> Result<(&[u8], &[u8]), Wrong> {
    let end = rest.iter().position(|&byte| byte == b'\t').ok_or(Wrong::Field("a tab"))?;
    match (rest.get(..end), rest.get(end + 1..)) {
        (Some(field), Some(rest)) => Ok((field, rest)),
        _ => Err(Wrong::Field("a tab")),
    }
}

/// Decimal digits without sign or leading zero: one spelling a number.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || (digits.len() > 1 && digits.first() == Some(&b'0')) {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| match digit {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

fn octal(digits: &[u8]) -> Option<u16> {
    if digits.len() != 4 {
        return None;
    }
    digits.iter().try_fold(0_u16, |sum, digit| match digit {
        b'0'..=b'7' => Some(sum << 3 | u16::from(digit - b'0')),
        _ => None,
    })
}

/// Sixteen hexadecimal digits in upper case, as minisign prints the number of a key.
fn key_id(digits: &[u8]) -> Option<u64> {
    if digits.len() != 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        Some(sum << 4 | u64::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;
    use crate::digest::Algorithm;

    fn header() -> ManifestHeader {
        ManifestHeader {
            version: 3,
            created_unix_s: 10,
            not_after_unix_s: 20,
            key_id: 0x8F3A_0C11_D2E4_B596,
            algorithm: Algorithm::Blake3,
        }
    }

    fn manifest_of(paths: &[&str]) -> Vec<u8> {
        let digest = Digest([7; 32]);
        let entry =
            |path| ManifestEntry { digest, size_bytes: 5, mode: 0o644, action: FaultAction::Lock, path };
        text(&header(), paths.iter().map(|path| entry(path)).collect::<Vec<_>>().into_iter())
    }

    fn name(text: Vec<u8>) -> &'static str {
        parse(text).map_or_else(|refusal| refusal.name(), |_| "taken")
    }

    #[test]
    fn what_is_written_is_read_again_and_found_by_its_path() {
        let text = manifest_of(&["a", "a/b", "b"]);
        let manifest = parse(text.clone()).unwrap();
        assert_eq!(manifest.header(), &header());
        assert_eq!(manifest.find(b"a/b"), Some(1));
        assert_eq!(manifest.find(b"a/c"), None);
        let below = [&b"a"[..], b"a/b", b"b", b"", b"a/"].map(|path| manifest.has_below(path));
        assert_eq!(below, [true, false, false, false, false]);
        let entries: Vec<ManifestEntry<'_>> = manifest.entries().collect();
        assert_eq!(super::super::text(&header(), entries.into_iter()), text);
        assert!(parse(manifest_of(&[])).unwrap().is_empty());
    }

    #[test]
    fn every_refusal_has_its_own_name() {
        assert_eq!(name(b"".to_vec()), "unknown-format");
        assert_eq!(name(b"bakeoff-manifest 2\n".to_vec()), "unknown-format");
        for (paths, expected) in [
            (&["a", "a"][..], "duplicate-path"),
            (&["b", "a"], "unsorted"),
            (&["A", "a"], "twins"),
            (&["../a"], "parent-path"),
            (&["/a"], "absolute-path"),
            (&["a//b"], "odd-path"),
            (&["a\u{1}"], "control-character"),
            (&["caf\u{65}\u{301}", "caf\u{e9}"], "twins"),
        ] {
            assert_eq!(name(manifest_of(paths)), expected, "{paths:?}");
        }
        let good = String::from_utf8(manifest_of(&["a", "b"])).unwrap();
        let change = |from: &str, to: &str| name(good.replacen(from, to, 1).into_bytes());
        assert_eq!(change("blake3", "md5"), "unknown-algorithm");
        assert_eq!(change("files 2", "files 3"), "cut-short");
        assert_eq!(change("files 2", "files 1"), "trailing-data");
        assert_eq!(change("files 2", "files 99999999999"), "malformed");
        assert_eq!(change("version 3", "version 03"), "malformed");
        assert_eq!(change("8F3A", "8f3a"), "malformed");
        assert_eq!(change("\t5\t", "\t-5\t"), "malformed");
        assert_eq!(change("0644", "0844"), "malformed");
        assert_eq!(change("\t-\t", "\tpanic\t"), "malformed");
        assert_eq!(name(format!("{good}x").into_bytes()), "trailing-data");
        assert_eq!(name(good.trim_end().as_bytes().to_vec()), "cut-short");
        let not_utf8 = [good.trim_end().as_bytes(), b"\xff\n"].concat();
        assert_eq!(name(not_utf8), "not-utf8");
        assert_eq!(name(good.into_bytes()), "taken");
    }

    #[test]
    fn a_line_that_is_wrong_is_named_by_its_number() {
        assert_eq!(parse(manifest_of(&["b", "a"])).unwrap_err(), ManifestRefusal::Unsorted { line: 9 });
        assert_eq!(
            parse(manifest_of(&["a", "b/../c"])).unwrap_err(),
            ManifestRefusal::ParentPath { line: 9 }
        );
    }
}
