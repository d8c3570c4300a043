//! Persistent state of an agent: endorsed transfers with their givers, keys that logged in, and revocations.
//!
//! Measured side, cold. A file of lines, each on the disk before its question is answered. Lines are only added;
//! expired ones are removed when the agent starts. Half a line at the end was never answered, and is removed, too.

use crate::files::of_hex;
use crate::message::MOST_BYTES;
use crate::refusal::No;
use bakeoff_layers_base::hex::to_hex;
use bakeoff_layers_base::plain::{self, FileAudience, FileLocation};
use bakeoff_layers_credentials::Item;
use bakeoff_layers_credentials::key::{Hash, Serial};
use bakeoff_layers_credentials::name::PrincipalName;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Longest file: everything that may be kept, with room.
const MOST_FILE_BYTES: u64 = 64 << 20;
/// Limit on kept transfers and keys.
const MOST_KEPT: usize = 100_000;
/// Limit on revocations in force: as many as fit into one message, at some 40 bytes each.
const MOST_REVOKED: usize = MOST_BYTES / 40;
/// Expiry of entries without one.
const NEVER: u64 = u64::MAX;

/// The file with its content in memory.
#[derive(Debug)]
pub(super) struct Book {
    file: File,
    kept: Kept,
}

/// Content of the file.
#[derive(Debug, Default)]
struct Kept {
    /// Key of the giver and expiry of each transfer.
    endorsed: HashMap<Serial, (Hash, u64)>,
    /// Keys that logged in under each name, with the expiry of their identities.
    seen: HashMap<PrincipalName, Vec<(Hash, u64)>>,
    /// Revoked items, with the time until which they matter.
    revoked: HashMap<Item, u64>,
    /// Number of revocations ever made.
    epoch: u64,
}

/// A line.
enum Line<'a> {
    Epoch(u64),
    Endorsed(Serial, Hash, u64),
    Seen(&'a PrincipalName, Hash, u64),
    Revoked(Item, u64),
}

impl Book {
    /// Opens the file, or creates it; removes expired lines.
    ///
    /// # Errors
    /// It cannot be read or written, or a line is malformed.
    pub(super) fn open(path: &Path, now_unix_s: u64) -> io::Result<Self> {
        let text = match plain::read(path, MOST_FILE_BYTES) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData)?,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut kept = Kept::default();
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        for (index, line) in whole.lines().enumerate() {
            kept.add(line).ok_or_else(|| {
                io::Error::new(
                    ErrorKind::InvalidData,
                    format!(
                        "line {} is none of an agent's; look who changed it, and bring it back from a copy",
                        index + 1
                    ),
                )
            })?;
        }
        kept.drop_over(now_unix_s);
        let file = FileLocation::of(path)?.replace_by(kept.text().as_bytes(), FileAudience::Owner)?;
        Ok(Self { file, kept })
    }

    /// Number of revocations ever made.
    pub(super) fn epoch(&self) -> u64 {
        self.kept.epoch
    }

    /// All revoked items, in a stable order.
    pub(super) fn revoked(&self) -> Vec<Item> {
        let mut items: Vec<Item> = self.kept.revoked.keys().copied().collect();
        items.sort_by_key(|item| match item {
            Item::Serial(serial) => (0, serial.0.to_vec()),
            Item::Key(thumbprint) => (1, thumbprint.to_vec()),
        });
        items
    }

    /// Number of revoked items.
    pub(super) fn count(&self) -> usize {
        self.kept.revoked.len()
    }

    pub(super) fn is_revoked(&self, item: &Item) -> bool {
        self.kept.revoked.contains_key(item)
    }

    /// Key of the giver of an endorsed transfer, and its expiry.
    pub(super) fn giver(&self, serial: Serial) -> Option<(Hash, u64)> {
        self.kept.endorsed.get(&serial).copied()
    }

    /// The keys that logged in under a name.
    pub(super) fn keys(&self, name: &PrincipalName) -> impl Iterator<Item = Hash> {
        self.kept.seen.get(name).into_iter().flatten().map(|(key, _)| *key)
    }

    /// Records the giver of a transfer.
    pub(super) fn endorse(&mut self, serial: Serial, giver_key: Hash, until_unix_s: u64) -> Result<(), No> {
        match self.kept.endorsed.get(&serial) {
            // The number belongs to another giver: the first one keeps it.
            Some((known, _)) if *known != giver_key => Err(No::NotYours),
            Some(_) => Ok(()),
            None => {
                let room = self.kept.endorsed.len() < MOST_KEPT;
                self.append(room, &[Line::Endorsed(serial, giver_key, until_unix_s)])
            }
        }
    }

    /// Records the key of a login.
    pub(super) fn see(&mut self, name: &PrincipalName, key: Hash, until_unix_s: u64) -> Result<(), No> {
        let known = self.kept.seen.get(name).into_iter().flatten().any(|(known, _)| *known == key);
        let room = self.kept.seen.len() < MOST_KEPT;
        if known { Ok(()) } else { self.append(room, &[Line::Seen(name, key, until_unix_s)]) }
    }

    /// Revokes items; returns the new epoch.
    pub(super) fn revoke(&mut self, items: &[(Item, Option<u64>)]) -> Result<u64, No> {
        let new = items.iter().filter(|(item, _)| !self.is_revoked(item));
        let lines: Vec<Line<'_>> =
            new.map(|(item, until)| Line::Revoked(*item, until.unwrap_or(NEVER))).collect();
        let room = self.kept.revoked.len() + lines.len() <= MOST_REVOKED;
        self.append(room, &lines)?;
        Ok(self.epoch())
    }

    /// First the disk, then memory: every answer is persistent.
    fn append(&mut self, room: bool, lines: &[Line<'_>]) -> Result<(), No> {
        if !room {
            return Err(No::Full);
        }
        let mut text = String::new();
        lines.iter().for_each(|line| line.put(&mut text));
        let end = self.file.metadata().map_err(|_| No::NotKept)?.len();
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if written.is_err() {
            // Nothing may follow half a line.
            let _ = self.file.set_len(end);
            let _ = io::Seek::seek(&mut self.file, io::SeekFrom::Start(end));
            return Err(No::NotKept);
        }
        for line in text.lines() {
            self.kept.add(line);
        }
        Ok(())
    }
}

impl Kept {
    /// Adds the content of a line; `None` if it is malformed.
    fn add(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["epoch", epoch] => self.epoch = epoch.parse().ok()?,
            ["endorsed", serial, key, until] => {
                self.endorsed.insert(Serial(of_hex(serial)?), (of_hex(key)?, until.parse().ok()?));
            }
            ["seen", name, key, until] => {
                let key = (of_hex(key)?, until.parse().ok()?);
                self.seen.entry(name.parse().ok()?).or_default().push(key);
            }
            ["revoked", kind, what, until] => {
                let item = match *kind {
                    "serial" => Item::Serial(Serial(of_hex(what)?)),
                    "key" => Item::Key(of_hex(what)?),
                    _ => return None,
                };
                self.revoked.insert(item, until.parse().ok()?);
                self.epoch = self.epoch.saturating_add(1);
            }
            _ => return None,
        }
        Some(())
    }

    fn drop_over(&mut self, now_unix_s: u64) {
        self.endorsed.retain(|_, (_, until)| *until > now_unix_s);
        self.revoked.retain(|_, until| *until > now_unix_s);
        for keys in self.seen.values_mut() {
            keys.retain(|(_, until)| *until > now_unix_s);
        }
        self.seen.retain(|_, keys| !keys.is_empty());
    }

    /// All lines. Revocations raise the epoch when they are read again, so the epoch's line has as many fewer.
    fn text(&self) -> String {
        let mut text = String::new();
        Line::Epoch(self.epoch.saturating_sub(self.revoked.len() as u64)).put(&mut text);
        for (serial, (key, until)) in &self.endorsed {
            Line::Endorsed(*serial, *key, *until).put(&mut text);
        }
        for (name, keys) in &self.seen {
            keys.iter().for_each(|(key, until)| Line::Seen(name, *key, *until).put(&mut text));
        }
        for (item, until) in &self.revoked {
            Line::Revoked(*item, *until).put(&mut text);
        }
        text
    }
}

impl Line<'_> {
    fn put(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Epoch(epoch) => writeln!(text, "epoch {epoch}"),
            Self::Endorsed(serial, key, until) => writeln!(text, "endorsed {serial} {} {until}", to_hex(key)),
            Self::Seen(name, key, until) => writeln!(text, "seen {name} {} {until}", to_hex(key)),
            Self::Revoked(Item::Serial(serial), until) => writeln!(text, "revoked serial {serial} {until}"),
            Self::Revoked(Item::Key(key), until) => writeln!(text, "revoked key {} {until}", to_hex(key)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SERIAL: Item = Item::Serial(Serial([1; 16]));
    const KEY: Item = Item::Key([2; 32]);

    #[test]
    fn what_was_taken_back_outlives_a_start_and_ends_by_its_time_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("book");
        let name: PrincipalName = "user:alice@a.b".parse().unwrap();
        let mut book = Book::open(&path, 100).unwrap();
        book.endorse(Serial([1; 16]), [3; 32], 200).unwrap();
        assert_eq!(
            book.endorse(Serial([1; 16]), [4; 32], 200),
            Err(No::NotYours),
            "a number that is another's"
        );
        book.see(&name, [5; 32], 300).unwrap();
        assert_eq!(book.revoke(&[(SERIAL, Some(200)), (KEY, None)]), Ok(2));
        assert_eq!(book.revoke(&[(SERIAL, Some(900))]), Ok(2), "taken back once");
        let book = Book::open(&path, 199).unwrap();
        assert_eq!((book.epoch(), book.revoked()), (2, vec![SERIAL, KEY]));
        assert_eq!(
            (book.giver(Serial([1; 16])), book.keys(&name).next()),
            (Some(([3; 32], 200)), Some([5; 32]))
        );
        let mut book = Book::open(&path, 300).unwrap();
        assert_eq!((book.epoch(), book.revoked()), (2, vec![KEY]), "the epoch never falls");
        assert_eq!((book.giver(Serial([1; 16])), book.keys(&name).next()), (None, None));
        assert_eq!(book.revoke(&[(SERIAL, None)]), Ok(3));
        assert_eq!(Book::open(&path, 300).unwrap().epoch(), 3);
    }

    #[test]
    fn half_a_line_is_left_out_and_a_strange_one_is_not_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("book");
        Book::open(&path, 0).unwrap().revoke(&[(KEY, None)]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}revoked key 02")).unwrap();
        assert_eq!(Book::open(&path, 0).unwrap().revoked(), [KEY]);
        for strange in ["nonsense", "revoked key 02 5", "revoked name x 5", "endorsed", ""] {
            fs::write(&path, format!("{strange}\n{text}")).unwrap();
            let error = Book::open(&path, 0).unwrap_err();
            assert!(error.to_string().starts_with("line 1 "), "{strange:?}: {error}");
        }
    }

    #[test]
    fn there_is_room_for_what_one_message_tells() {
        let dir = tempfile::tempdir().unwrap();
        let mut book = Book::open(&dir.path().join("book"), 0).unwrap();
        let key = |index: usize| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&index.to_le_bytes());
            (Item::Key(key), None)
        };
        let all: Vec<_> = (0..MOST_REVOKED).map(key).collect();
        book.revoke(&all).unwrap();
        assert_eq!(book.revoke(&[(SERIAL, None)]), Err(No::Full));
        let told = crate::message::AgentReply::Epoch(u64::MAX, book.revoked()).write();
        assert!(told.len() <= MOST_BYTES, "{} bytes", told.len());
    }
}
