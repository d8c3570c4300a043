//! A directory that somebody else writes, sent on as it grows.
//!
//! Cold: a look a second. Lines that are appended are sent once; a file that was written anew is sent anew.

use bakeoff_results::digest;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes of a piece.
pub(super) const PIECE: usize = 1 << 20;

/// What was sent of a directory.
pub(super) struct Follower {
    root: PathBuf,
    sent: BTreeMap<String, Sent>,
}

/// What was sent of a file.
struct Sent {
    /// A file that was renamed to this name is another one.
    inode: u64,
    born: Option<SystemTime>,
    /// When it had been changed last.
    changed: Option<SystemTime>,
    bytes: u64,
}

impl Follower {
    /// Of a directory that need not be there yet.
    pub(super) fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), sent: BTreeMap::new() }
    }

    /// Sends what is new: the path below the directory, the bytes before it, and the bytes.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn look(&mut self, send: &mut dyn FnMut(&str, u64, &[u8])) -> io::Result<()> {
        for path in files(&self.root)? {
            match self.file(&path, send) {
                Err(why) if why.kind() == io::ErrorKind::NotFound => {} // it went since
                other => other?,
            }
        }
        Ok(())
    }

    /// SHA-256 of each file that was sent.
    ///
    /// # Errors
    /// One cannot be read.
    pub(super) fn digests(&self) -> io::Result<BTreeMap<String, String>> {
        let there = |path: &&String| self.root.join(path).exists();
        let digest = |path: &String| Ok((path.clone(), digest::sha256_of(&self.root.join(path))?));
        self.sent.keys().filter(there).map(digest).collect()
    }

    fn file(&mut self, path: &str, send: &mut dyn FnMut(&str, u64, &[u8])) -> io::Result<()> {
        let mut file = File::open(self.root.join(path))?;
        let metadata = file.metadata()?;
        let (inode, born, changed) = (metadata.ino(), metadata.created().ok(), metadata.modified().ok());
        let before = self.sent.get(path).filter(|sent| sent.inode == inode && sent.born == born);
        let length = metadata.len();
        let from = match before {
            Some(sent) if sent.bytes < length => sent.bytes,
            Some(sent) if sent.bytes == length && sent.changed == changed => return Ok(()),
            _ => 0,
        };
        let mut at = file.seek(SeekFrom::Start(from))?;
        let mut piece = vec![0; PIECE.min((length - from) as usize)];
        loop {
            let wanted = piece.len().min((length - at) as usize);
            let count = file.read(&mut piece[..wanted])?;
            // An empty file is one, too.
            if count > 0 || at == 0 {
                send(path, at, &piece[..count]);
            }
            at += count as u64;
            if count == 0 || at == length {
                break;
            }
        }
        self.sent.insert(path.to_owned(), Sent { inode, born, changed, bytes: at });
        Ok(())
    }
}

/// Files below a directory, by their paths from there: neither locks nor what is not whole yet.
fn files(root: &Path) -> io::Result<Vec<String>> {
    let (mut found, mut left) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = left.pop() {
        let entries = match fs::read_dir(root.join(&below)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let (name, kind) = (entry.file_name(), entry.file_type()?);
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let path = below.join(name);
            if kind.is_dir() {
                left.push(path);
            } else if kind.is_file() {
                found.extend(path.to_str().map(str::to_owned));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_are_sent_once_and_a_file_that_is_written_anew_is_sent_anew() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("results");
        let mut follower = Follower::of(&root);
        let mut look = || {
            let mut sent = Vec::new();
            follower
                .look(&mut |path, at, bytes| {
                    sent.push((path.to_owned(), at, String::from_utf8(bytes.to_vec()).unwrap()));
                })
                .unwrap();
            sent.sort();
            sent
        };
        let piece = |path: &str, at, text: &str| (path.to_owned(), at, text.to_owned());
        assert!(look().is_empty(), "it is not there yet");
        fs::create_dir_all(root.join("logs")).unwrap();
        fs::write(root.join("slices.jsonl"), "one\n").unwrap();
        fs::write(root.join("logs/empty"), "").unwrap();
        fs::write(root.join(".results.json.new"), "half").unwrap();
        fs::write(root.join(".lock"), "").unwrap();
        assert_eq!(look(), [piece("logs/empty", 0, ""), piece("slices.jsonl", 0, "one\n")]);
        assert!(look().is_empty());
        let mut slices = fs::OpenOptions::new().append(true).open(root.join("slices.jsonl")).unwrap();
        slices.write_all(b"two\n").unwrap();
        assert_eq!(look(), [piece("slices.jsonl", 4, "two\n")]);
        fs::write(root.join(".new"), "ONE\nTWO\n").unwrap();
        fs::rename(root.join(".new"), root.join("slices.jsonl")).unwrap();
        assert_eq!(look(), [piece("slices.jsonl", 0, "ONE\nTWO\n")]);
        let digests = follower.digests().unwrap();
        assert_eq!(digests["slices.jsonl"], digest::sha256(&[b"ONE\nTWO\n"]));
        assert_eq!(digests.len(), 2);

        let long = "x".repeat(PIECE + 1);
        fs::write(root.join("long"), &long).unwrap();
        let mut lengths = Vec::new();
        follower.look(&mut |_, at, bytes| lengths.push((at, bytes.len()))).unwrap();
        assert_eq!(lengths, [(0, PIECE), (PIECE as u64, 1)]);
    }
}
