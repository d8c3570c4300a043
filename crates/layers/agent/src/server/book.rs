//! Persistent state of an agent: endorsed transfers with their givers, keys that logged in, and revocations.
//!
//! Measured side, cold. A file of lines, each on the disk before its question is answered. Lines are only added;
//! expired ones are removed when the agent starts, and when room is short. Half a line at the end was never answered,
//! and is removed, too. Every line is charged to the enrolled key that caused it, which has room for so many.

use crate::files::of_hex;
use crate::refusal::No;
use bakeoff_layers_base::hex::to_hex;
use bakeoff_layers_base::plain::{self, FileAudience, FileLocation, FileOwner};
use bakeoff_layers_credentials::Item;
use bakeoff_layers_credentials::key::Hash;
use bakeoff_layers_credentials::name::PrincipalName;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Longest file: all kinds of lines at their limits, each with the longest names.
const MOST_FILE_BYTES: u64 = 128 << 20;
/// Expiry of entries without one.
const NEVER: u64 = u64::MAX;
/// Time for which servers are told of a revocation, in seconds. No leaf and no status that was made before it lives
/// longer, and none is made after it: the agent itself never forgets it.
const TOLD_S: u64 = 24 * 60 * 60 + 300;

/// Limits on entries of each kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Number of entries.
    pub(super) all: usize,
    /// Number of them that only the administrator can make.
    pub(super) reserved: usize,
    /// Number of entries of one enrolled key, its roles included.
    pub(super) each: usize,
}

impl Limits {
    /// Those of an agent that serves.
    pub(super) const SERVING: Self = Self { all: 100_000, reserved: 10_000, each: 1_000 };
}

/// Cause of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The holder of the agent's key.
    Administrator,
    /// The holder of an enrolled key.
    Enrolled(Hash),
}

/// An endorsed transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endorsed {
    pub(super) giver: PrincipalName,
    pub(super) by: By,
    pub(super) until_unix_s: u64,
}

/// A key that logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SeenKey {
    key: Hash,
    by: By,
    until_unix_s: u64,
}

/// A revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Revocation {
    by: By,
    at_unix_s: u64,
    until_unix_s: u64,
}

/// The file with its content in memory.
#[derive(Debug)]
pub(super) struct Book {
    place: FileLocation,
    file: File,
    kept: Kept,
    limits: Limits,
}

/// Content of the file.
#[derive(Debug, Default)]
struct Kept {
    endorsed: HashMap<Hash, Endorsed>,
    seen: HashMap<PrincipalName, Vec<SeenKey>>,
    revoked: HashMap<Item, Revocation>,
    /// Number of revocations ever made.
    epoch: u64,
}

/// A line.
enum Line<'a> {
    Epoch(u64),
    Endorsed(&'a Hash, &'a Endorsed),
    Seen(&'a PrincipalName, SeenKey),
    Revoked(Item, Revocation),
}

impl Book {
    /// Opens the file, or creates it; removes expired lines.
    ///
    /// # Errors
    /// It cannot be read or written, or a line is malformed.
    pub(super) fn open(path: &Path, limits: Limits, now_unix_s: u64) -> io::Result<Self> {
        let text = match plain::read_text(path, FileOwner::Trusted, MOST_FILE_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let mut kept = Kept::default();
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        for (index, line) in whole.lines().enumerate() {
            kept.add(line).ok_or_else(|| {
                io::Error::new(
                    ErrorKind::InvalidData,
                    format!(
                        "line {} is none of an agent's of this version; look who changed it, and bring it back from a copy",
                        index + 1
                    ),
                )
            })?;
        }
        kept.drop_over(now_unix_s);
        let place = FileLocation::guarded(path)?;
        let file = place.replace_by(kept.text().as_bytes(), FileAudience::Owner)?;
        Ok(Self { place, file, kept, limits })
    }

    /// Number of revocations ever made.
    pub(super) fn epoch(&self) -> u64 {
        self.kept.epoch
    }

    /// The revoked items that servers have to know of, in a stable order.
    pub(super) fn told(&self, now_unix_s: u64) -> Vec<Item> {
        let matters = |revocation: &Revocation| {
            revocation.until_unix_s > now_unix_s && revocation.at_unix_s.saturating_add(TOLD_S) > now_unix_s
        };
        let each = self.kept.revoked.iter().filter(|(_, revocation)| matters(revocation));
        let mut items: Vec<Item> = each.map(|(item, _)| *item).collect();
        items.sort_by_key(|item| (item.parts().0, *item.parts().1));
        items
    }

    /// Number of revoked items.
    pub(super) fn count(&self) -> usize {
        self.kept.revoked.len()
    }

    pub(super) fn is_revoked(&self, item: &Item) -> bool {
        self.kept.revoked.contains_key(item)
    }

    /// An endorsed transfer.
    pub(super) fn endorsed(&self, transfer: &Hash) -> Option<&Endorsed> {
        self.kept.endorsed.get(transfer)
    }

    /// The keys that logged in under a name.
    pub(super) fn keys(&self, name: &PrincipalName) -> impl Iterator<Item = Hash> {
        self.kept.seen.get(name).into_iter().flatten().map(|seen| seen.key)
    }

    /// Records an endorsed transfer.
    pub(super) fn endorse(&mut self, transfer: &Hash, what: &Endorsed, now_unix_s: u64) -> Result<(), No> {
        if self.kept.endorsed.contains_key(transfer) {
            return Ok(());
        }
        let charged = |kept: &Kept| kept.endorsed.values().map(|entry| entry.by).collect();
        self.make_room(1, what.by, charged, now_unix_s)?;
        self.append(&[Line::Endorsed(transfer, what)])
    }

    /// Records the key of a login.
    pub(super) fn see(
        &mut self,
        name: &PrincipalName,
        (key, by): (Hash, By),
        until_unix_s: u64,
        now_unix_s: u64,
    ) -> Result<(), No> {
        if self.keys(name).any(|known| known == key) {
            return Ok(());
        }
        let charged = |kept: &Kept| kept.seen.values().flatten().map(|entry| entry.by).collect();
        self.make_room(1, by, charged, now_unix_s)?;
        self.append(&[Line::Seen(name, SeenKey { key, by, until_unix_s })])
    }

    /// Revokes items, each until a time from which on it is of no use; returns the new epoch.
    pub(super) fn revoke(
        &mut self,
        items: &[(Item, Option<u64>)],
        by: By,
        now_unix_s: u64,
    ) -> Result<u64, No> {
        let new = items.iter().filter(|(item, _)| !self.is_revoked(item));
        let line = |(item, until): &(Item, Option<u64>)| {
            let until_unix_s = until.unwrap_or(NEVER);
            Line::Revoked(*item, Revocation { by, at_unix_s: now_unix_s, until_unix_s })
        };
        let lines: Vec<Line<'_>> = new.map(line).collect();
        let charged = |kept: &Kept| kept.revoked.values().map(|entry| entry.by).collect();
        self.make_room(lines.len(), by, charged, now_unix_s)?;
        self.append(&lines)?;
        Ok(self.epoch())
    }

    /// Checks that so many more entries of a kind may be made; forgets expired ones if that helps.
    fn make_room(
        &mut self,
        more: usize,
        by: By,
        charged: impl Fn(&Kept) -> Vec<By>,
        now_unix_s: u64,
    ) -> Result<(), No> {
        if self.limits.room(&charged(&self.kept), more, by).is_ok() || !self.kept.drop_over(now_unix_s) {
            return self.limits.room(&charged(&self.kept), more, by);
        }
        let replaced = self.place.replace_by(self.kept.text().as_bytes(), FileAudience::Owner);
        self.file = replaced.map_err(|_| No::NotKept)?;
        self.limits.room(&charged(&self.kept), more, by)
    }

    /// First the disk, then memory: every answer is persistent.
    fn append(&mut self, lines: &[Line<'_>]) -> Result<(), No> {
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

impl Limits {
    /// Refuses so many more entries beside those that are charged to these.
    fn room(&self, charged: &[By], more: usize, by: By) -> Result<(), No> {
        if by == By::Administrator {
            return if charged.len() + more <= self.all { Ok(()) } else { Err(No::Full) };
        }
        let own = charged.iter().filter(|entry| **entry == by).count();
        let others = charged.iter().filter(|entry| **entry != By::Administrator).count();
        if own + more > self.each {
            Err(No::QuotaReached(self.each))
        } else if others + more > self.all.saturating_sub(self.reserved) {
            Err(No::Full)
        } else {
            Ok(())
        }
    }
}

impl Kept {
    /// Adds the content of a line; `None` if it is malformed.
    fn add(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["epoch", epoch] => self.epoch = epoch.parse().ok()?,
            ["endorsed", transfer, giver, by, until] => {
                let giver = giver.parse().ok()?;
                let entry = Endorsed { giver, by: By::of_word(by)?, until_unix_s: until.parse().ok()? };
                self.endorsed.insert(of_hex(transfer)?, entry);
            }
            ["seen", name, key, by, until] => {
                let until_unix_s = until.parse().ok()?;
                let entry = SeenKey { key: of_hex(key)?, by: By::of_word(by)?, until_unix_s };
                self.seen.entry(name.parse().ok()?).or_default().push(entry);
            }
            ["revoked", kind, what, by, at, until] => {
                let (at_unix_s, until_unix_s) = (at.parse().ok()?, until.parse().ok()?);
                let entry = Revocation { by: By::of_word(by)?, at_unix_s, until_unix_s };
                self.revoked.insert(Item::of_parts(kind, of_hex(what)?)?, entry);
                self.epoch = self.epoch.saturating_add(1);
            }
            _ => return None,
        }
        Some(())
    }

    fn len(&self) -> usize {
        self.endorsed.len() + self.revoked.len() + self.seen.values().map(Vec::len).sum::<usize>()
    }

    /// Forgets expired entries; whether there were any.
    fn drop_over(&mut self, now_unix_s: u64) -> bool {
        let before = self.len();
        self.endorsed.retain(|_, entry| entry.until_unix_s > now_unix_s);
        self.revoked.retain(|_, entry| entry.until_unix_s > now_unix_s);
        for keys in self.seen.values_mut() {
            keys.retain(|entry| entry.until_unix_s > now_unix_s);
        }
        self.seen.retain(|_, keys| !keys.is_empty());
        self.len() < before
    }

    /// All lines. Revocations raise the epoch when they are read again, so the epoch's line has as many fewer.
    fn text(&self) -> String {
        let mut text = String::new();
        Line::Epoch(self.epoch.saturating_sub(self.revoked.len() as u64)).put(&mut text);
        for (transfer, entry) in &self.endorsed {
            Line::Endorsed(transfer, entry).put(&mut text);
        }
        for (name, keys) in &self.seen {
            keys.iter().for_each(|entry| Line::Seen(name, *entry).put(&mut text));
        }
        for (item, entry) in &self.revoked {
            Line::Revoked(*item, *entry).put(&mut text);
        }
        text
    }
}

impl By {
    fn word(self) -> String {
        match self {
            Self::Administrator => "administrator".to_owned(),
            Self::Enrolled(key) => to_hex(&key),
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        if word == "administrator" { Some(Self::Administrator) } else { of_hex(word).map(Self::Enrolled) }
    }
}

impl Line<'_> {
    fn put(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Epoch(epoch) => writeln!(text, "epoch {epoch}"),
            Self::Endorsed(transfer, Endorsed { giver, by, until_unix_s }) => {
                writeln!(text, "endorsed {} {giver} {} {until_unix_s}", to_hex(*transfer), by.word())
            }
            Self::Seen(name, SeenKey { key, by, until_unix_s }) => {
                writeln!(text, "seen {name} {} {} {until_unix_s}", to_hex(key), by.word())
            }
            Self::Revoked(item, Revocation { by, at_unix_s, until_unix_s }) => {
                writeln!(text, "revoked {item} {} {at_unix_s} {until_unix_s}", by.word())
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const TRANSFER: Item = Item::Transfer([1; 32]);
    const KEY: Item = Item::Key([2; 32]);
    const ALICE: By = By::Enrolled([3; 32]);

    fn open(path: &Path, now_unix_s: u64) -> Book {
        Book::open(path, Limits { all: 6, reserved: 2, each: 3 }, now_unix_s).unwrap()
    }

    fn given(by: By, until_unix_s: u64) -> Endorsed {
        Endorsed { giver: "user:alice@a.b".parse().unwrap(), by, until_unix_s }
    }

    #[test]
    fn what_was_taken_back_outlives_a_start_and_ends_by_its_time_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("book");
        let name: PrincipalName = "user:alice@a.b".parse().unwrap();
        let mut book = open(&path, 100);
        book.endorse(&[1; 32], &given(ALICE, 200), 100).unwrap();
        book.see(&name, ([5; 32], ALICE), 300, 100).unwrap();
        assert_eq!(book.revoke(&[(TRANSFER, Some(200)), (KEY, None)], ALICE, 100), Ok(2));
        assert_eq!(book.revoke(&[(TRANSFER, Some(900))], ALICE, 100), Ok(2), "taken back once");
        let book = open(&path, 199);
        assert_eq!((book.epoch(), book.told(199)), (2, vec![KEY, TRANSFER]));
        assert_eq!(
            (book.endorsed(&[1; 32]), book.keys(&name).next()),
            (Some(&given(ALICE, 200)), Some([5; 32]))
        );
        let mut book = open(&path, 300);
        assert_eq!((book.epoch(), book.told(300)), (2, vec![KEY]), "the epoch never falls");
        assert_eq!((book.endorsed(&[1; 32]), book.keys(&name).next()), (None, None));
        assert_eq!(book.revoke(&[(TRANSFER, None)], By::Administrator, 300), Ok(3));
        let book = open(&path, 300);
        assert_eq!(book.epoch(), 3);
        // A day later no leaf and no status of before is left; the agent itself goes on refusing.
        let tomorrow = 100 + TOLD_S;
        assert_eq!(book.told(tomorrow - 1), [KEY, TRANSFER]);
        assert_eq!(book.told(tomorrow), [TRANSFER]);
        assert!(book.is_revoked(&KEY) && book.count() == 2);
    }

    #[test]
    fn half_a_line_is_left_out_and_a_strange_one_is_not_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("book");
        open(&path, 0).revoke(&[(KEY, None)], ALICE, 0).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}revoked key 02")).unwrap();
        assert_eq!(open(&path, 0).told(0), [KEY]);
        let old = format!("revoked serial {} 5", "01".repeat(16));
        for strange in ["nonsense", "revoked key 02 5", "revoked name x 5", "endorsed", "", &old] {
            fs::write(&path, format!("{strange}\n{text}")).unwrap();
            let error = Book::open(&path, Limits::SERVING, 0).unwrap_err();
            assert!(error.to_string().starts_with("line 1 "), "{strange:?}: {error}");
        }
    }

    #[test]
    fn nobody_takes_the_room_of_others_or_of_the_administrator() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("book");
        let mut book = open(&path, 0);
        let key = |index: u8, until| [(Item::Key([index; 32]), until)];
        let bob = By::Enrolled([4; 32]);
        for index in 0..3 {
            book.revoke(&key(index, Some(50)), ALICE, 0).unwrap();
        }
        assert_eq!(book.revoke(&key(3, None), ALICE, 0), Err(No::QuotaReached(3)));
        book.revoke(&key(4, None), bob, 0).unwrap();
        assert_eq!(book.revoke(&key(5, None), bob, 0), Err(No::Full), "the rest is the administrator's");
        for index in 5..7 {
            book.revoke(&key(index, None), By::Administrator, 0).unwrap();
        }
        assert_eq!(book.revoke(&key(8, None), By::Administrator, 0), Err(No::Full));
        // What has ended makes room, in the file, too.
        assert_eq!(book.revoke(&key(8, None), bob, 50), Ok(7));
        assert_eq!((open(&path, 0).count(), open(&path, 0).epoch()), (4, 7));
        for index in 0..3 {
            book.endorse(&[index; 32], &given(ALICE, 90), 50).unwrap();
            let name = format!("role:r{index}.alice@a.b").parse().unwrap();
            book.see(&name, ([index; 32], ALICE), 90, 50).unwrap();
        }
        book.endorse(&[0; 32], &given(ALICE, 90), 50).unwrap();
        assert_eq!(book.endorse(&[9; 32], &given(ALICE, 90), 50), Err(No::QuotaReached(3)));
        let name: PrincipalName = "role:r9.alice@a.b".parse().unwrap();
        assert_eq!(book.see(&name, ([9; 32], ALICE), 90, 50), Err(No::QuotaReached(3)));
        assert_eq!(book.see(&name, ([9; 32], bob), 90, 50), Ok(()));
    }
}
