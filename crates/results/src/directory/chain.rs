//! The hash chain of files that grow by a line at a time.
//!
//! Every line is a JSON object whose last member is `"check"`: the first 16 bytes, in hexadecimal, of the SHA-256 of
//! the check of the line before it and of the line without that member. The first line follows on `setup.json`. So a
//! changed line is known by its number, and a missing line by the one behind it. Half of the hash keeps lines short,
//! and 128 bits are as good against accidents. It is no signature: a user who may write the directory may write a whole
//! new chain.

use crate::digest::sha256;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const DIGITS: usize = 32;
const OPENING: &str = ",\"check\":\"";
const CLOSING: &str = "\"}";
/// Bytes of the member at the end of every line, the object's closing brace included.
const MEMBER: usize = OPENING.len() + DIGITS + CLOSING.len();

/// The check of a line: a hash of it and all lines before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check(String);

impl Check {
    /// The check before the first line; `setup` is the SHA-256 of `setup.json`.
    pub fn before_the_first(setup: &str) -> Self {
        Self(setup.chars().take(DIGITS).collect())
    }

    /// The check of the next line; `open` is that line up to its closing brace or its check.
    fn follow(&self, open: &[u8]) -> Self {
        Self(sha256(&[self.0.as_bytes(), open, b"}"]).chars().take(DIGITS).collect())
    }

    /// 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The line of a JSON object that has members, its check and the newline included; and that check.
pub(super) fn line(previous: &Check, object: &[u8]) -> (Vec<u8>, Check) {
    let open = object.strip_suffix(b"}").unwrap_or(object);
    let check = previous.follow(open);
    let line = [open, OPENING.as_bytes(), check.as_str().as_bytes(), CLOSING.as_bytes(), b"\n"].concat();
    (line, check)
}

/// A line in two: the part that its check covers, and the check.
fn parts(line: &str) -> Option<(&str, Check)> {
    let (open, member) = line.split_at_checked(line.len().checked_sub(MEMBER)?)?;
    let digits = member.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    let is_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hex.then(|| (open, Check(digits.to_owned())))
}

/// The check of a file's last line, from its last bytes alone: `Ok(None)` when the file is empty.
///
/// # Errors
/// It cannot be read, or does not end with a whole line that has a check.
pub(super) fn last(file: &File) -> io::Result<Option<Check>> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(None);
    }
    let mut end = [0; MEMBER + 1];
    let no_check = || io::Error::other("it does not end with a whole line and its check");
    let start = length.checked_sub(end.len() as u64).ok_or_else(no_check)?;
    file.read_exact_at(&mut end, start)?;
    let text = std::str::from_utf8(&end).ok().and_then(|text| text.strip_suffix('\n'));
    text.and_then(parts).map(|(_, check)| Some(check)).ok_or_else(no_check)
}

/// The same from the text of a file that may end in half a line.
pub(super) fn last_whole(text: &str) -> Option<Check> {
    let whole = &text[..text.rfind('\n')?];
    parts(whole.lines().last()?).map(|(_, check)| check)
}

/// Faults of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFault {
    /// It has no check.
    Unchecked,
    /// It is not the line that was written behind the one before it.
    Changed,
}

/// The lines that are not as they were written, by their index from 0. A change of one line is the fault of that line
/// alone, even if its check was changed.
pub fn faults(text: &str, first: Check) -> Vec<(usize, LineFault)> {
    let mut found = Vec::new();
    // The check that the line before has, and the one that it should have.
    let mut before = [first.clone(), first];
    for (index, line) in text.lines().enumerate() {
        let Some((open, check)) = parts(line) else {
            found.push((index, LineFault::Unchecked));
            let open =
                line.split_at_checked(line.len().saturating_sub(MEMBER)).map_or(line, |(open, _)| open);
            let should = before[0].follow(open.as_bytes());
            before = [should.clone(), should];
            continue;
        };
        let should = before[0].follow(open.as_bytes());
        if should != check && before[1].follow(open.as_bytes()) != check {
            found.push((index, LineFault::Changed));
        }
        before = [check, should];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first() -> Check {
        Check::before_the_first(&sha256(&[b"setup"]))
    }

    fn written(objects: &[&str]) -> String {
        let mut previous = first();
        let mut text = String::new();
        for object in objects {
            let (line, check) = line(&previous, object.as_bytes());
            let line = String::from_utf8(line).unwrap();
            assert_eq!(parts(line.trim_end()).unwrap().1, check);
            previous = check;
            text += &line;
        }
        text
    }

    #[test]
    fn a_check_is_the_first_half_of_a_hash_that_anybody_can_compute() {
        // printf setup | sha256sum | head -c 32; then
        // printf '%s{"a":1}' THAT | sha256sum | head -c 32
        let line = written(&[r#"{"a":1}"#]);
        assert_eq!(line, "{\"a\":1,\"check\":\"SUM\"}\n".replace("SUM", SETUP_THEN_A));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["a"], 1);
    }

    const SETUP_THEN_A: &str = "14c2a6ed484d8944f7f21f6bd8fbeeea";

    const LINES: [&str; 4] = [r#"{"a":1}"#, r#"{"b":"ü"}"#, r#"{"c":{}}"#, r#"{"d":4}"#];

    #[test]
    fn every_changed_byte_names_its_line_and_no_other() {
        let text = written(&LINES);
        assert_eq!(faults(&text, first()), []);
        let mut line = 0;
        for place in 0..text.len() {
            if text.as_bytes()[place] == b'\n' {
                line += 1;
                continue;
            }
            for byte in [b'0', b'x'] {
                let mut bytes = text.clone().into_bytes();
                if !bytes[place].is_ascii() || bytes[place] == byte {
                    continue;
                }
                bytes[place] = byte;
                let found = faults(&String::from_utf8(bytes).unwrap(), first());
                assert_eq!(found.iter().map(|fault| fault.0).collect::<Vec<_>>(), [line], "byte {place}");
            }
        }
    }

    #[test]
    fn what_is_missing_or_moved_is_noticed_where_it_was() {
        let text = written(&LINES);
        let lines: Vec<&str> = text.lines().collect();
        let of = |order: &[usize]| {
            let text: String = order.iter().map(|&index| format!("{}\n", lines[index])).collect();
            faults(&text, first()).into_iter().map(|fault| fault.0).collect::<Vec<_>>()
        };
        assert_eq!(of(&[0, 2, 3]), [1], "the second is missing");
        assert_eq!(of(&[1, 2, 3]), [0], "the first is missing");
        assert_eq!(of(&[0, 2, 1, 3]), [1, 2, 3], "two changed places");
        assert_eq!(of(&[0, 1, 1, 2, 3]), [2], "one is there twice");
        assert_eq!(of(&[0, 1]), [0; 0], "the end alone is known to end.json only");
        assert_eq!(faults(&text, Check::before_the_first(&sha256(&[b"other"]))), [(0, LineFault::Changed)]);
        assert_eq!(faults(&LINES.join("\n"), first()).len(), 4);
    }

    #[test]
    fn the_last_check_is_read_from_the_end_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            last(&File::open(&path).unwrap())
        };
        assert_eq!(read("").unwrap(), None);
        let text = written(&LINES);
        let check = parts(text.lines().last().unwrap()).unwrap().1;
        assert_eq!(read(&text).unwrap(), Some(check));
        assert!(read(&text[..text.len() - 1]).is_err());
        assert_eq!(last_whole(&format!("{text}{{\"ha")), last_whole(&text));
        assert_eq!(last_whole(&text).unwrap().as_str().len(), DIGITS);
        assert_eq!(last_whole("{\"ha"), None);
        assert!(read("{}\n").is_err() && read(&format!("{}\n", "é".repeat(MEMBER))).is_err());
    }
}
