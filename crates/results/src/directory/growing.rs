//! A file that grows by a line at a time, each a record with its check.
//!
//! Cold, but between measurements. Owns the rule that half a line is none: a full disk takes back what it wrote of a
//! line, and a killed run's half line is cut off before another follows.

use super::chain::{self, Check};
use super::{DirectoryError, unreadable};
use crate::digest::sha256_of;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// A file that grows, open for more lines.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    file: File,
    previous: Check,
}

impl Growing {
    /// Opens or makes the file; the first line of all follows on the file `setup`.
    pub(super) fn open(path: PathBuf, setup: &Path) -> Result<Self, DirectoryError> {
        let open = || {
            let file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
            let previous = match chain::last(&file)? {
                Some(check) => check,
                None => Check::before_the_first(&sha256_of(setup)?),
            };
            Ok((file, previous))
        };
        let (file, previous) = open().map_err(|why| failed(&path, why))?;
        Ok(Self { path, file, previous })
    }

    /// Appends a record, which must be an object with members, and waits until it is on disk.
    ///
    /// # Errors
    /// The disk is full: what stood there before still stands there.
    pub fn append(&mut self, record: &impl Serialize) -> Result<(), DirectoryError> {
        self.append_unsynced(record)?;
        self.file.sync_data().map_err(|why| failed(&self.path, why))
    }

    /// The same without waiting for the disk.
    ///
    /// # Errors
    /// As [`Growing::append`].
    pub fn append_unsynced(&mut self, record: &impl Serialize) -> Result<(), DirectoryError> {
        let object = serde_json::to_vec(record).unwrap_or_default();
        let (line, check) = chain::line(&self.previous, &object);
        let mut write = || {
            let before = self.file.metadata()?.len();
            self.file.write_all(&line).inspect_err(|_| {
                let _ = self.file.set_len(before); // the error of the writing is what is told
            })
        };
        write().map_err(|why| failed(&self.path, why))?;
        self.previous = check;
        Ok(())
    }
}

/// Cuts off half a line that a killed run left.
pub(super) fn mend(path: PathBuf) -> Result<(), DirectoryError> {
    let Ok(text) = fs::read(&path) else { return Ok(()) };
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    if whole == text.len() {
        return Ok(());
    }
    let cut = OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(whole as u64));
    cut.map_err(|why| failed(&path, why))
}

/// The whole lines of a file that grows; none when it is not there. One line at a time: the file may be larger than what
/// becomes of it.
///
/// # Errors
/// It cannot be read, or a line is no such record.
pub fn records<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<Vec<T>, DirectoryError> {
    let damaged = |why: io::Error| unreadable(dir, name, why);
    let mut file = match File::open(dir.join(name)) {
        Ok(file) => BufReader::new(file),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(damaged(why)),
    };
    let (mut line, mut records) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        file.read_until(b'\n', &mut line).map_err(damaged)?;
        let Some(whole) = line.strip_suffix(b"\n") else { return Ok(records) };
        let wrong = |why| unreadable(dir, name, format!("line {}: {why}", records.len() + 1));
        records.push(serde_json::from_slice(whole).map_err(wrong)?);
    }
}

fn failed(path: &Path, why: io::Error) -> DirectoryError {
    DirectoryError::Write { path: path.to_owned(), why }
}
