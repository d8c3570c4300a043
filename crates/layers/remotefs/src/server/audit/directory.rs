//! Directory of an audit log: names and writing of its files, for the server and for programs that inspect the log.
//!
//! Measured side, cold. `log.N` are segments, `evidence/HASH` the evidence for decisions, each under its SHA-256,
//! `checkpoint` the last one, `keys` the log's server and the keys that verify its checkpoints. `credentials::audit`
//! owns the contents.

use bakeoff_layers_base::digest::Digest;
use bakeoff_layers_base::plain::{self, FileAudience, FileLocation, FileOwner};
use bakeoff_layers_credentials::audit::{Checkpoint, CheckpointKeys, DecisionRecord, SegmentReader};
use bakeoff_layers_credentials::key::Hash;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Length from which a segment is followed by another.
pub const SEGMENT_BYTES: u64 = 64 << 20;
/// Size limit when reading: a segment exceeds that length by at most one batch.
const MOST_SEGMENT: u64 = 2 * SEGMENT_BYTES;
const MOST_EVIDENCE: u64 = 16 << 20;
const MOST_TEXT: u64 = 1 << 20;

const KEYS: &str = "keys";
const CHECKPOINT: &str = "checkpoint";
const EVIDENCE: &str = "evidence";
const SEGMENT: &str = "log.";

/// The directory of a log.
#[derive(Clone, Debug)]
pub struct AuditDirectory(PathBuf);

impl AuditDirectory {
    /// The directory at this path, which need not exist.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Server and keys of the log.
    ///
    /// # Errors
    /// It is no directory of a log.
    pub fn keys(&self) -> io::Result<CheckpointKeys> {
        let text = self.text(KEYS)?;
        text.parse().map_err(|wrong| invalid(format!("{}: {wrong}", self.0.join(KEYS).display())))
    }

    /// Text of the last checkpoint.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn checkpoint(&self) -> io::Result<Option<String>> {
        match self.text(CHECKPOINT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    /// Reads the whole log and compares it with these checkpoints; `each` gets the records.
    ///
    /// # Errors
    /// It cannot be read; the reader has the findings.
    pub fn read(
        &self,
        keys: &CheckpointKeys,
        checkpoints: Vec<Checkpoint>,
        mut each: impl FnMut(DecisionRecord),
    ) -> io::Result<SegmentReader> {
        let mut reader = SegmentReader::new(keys.start(), checkpoints);
        for number in self.segments()? {
            reader.segment(number, &self.segment(number)?, &mut each);
        }
        Ok(reader)
    }

    /// A piece of evidence, if it exists.
    pub fn evidence(&self, of: &Hash) -> Option<Vec<u8>> {
        plain::read_regular(&self.evidence_path(of), FileOwner::Anybody, MOST_EVIDENCE).ok()
    }

    /// The numbers of the segments, in their order.
    pub(super) fn segments(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            let number = name
                .to_str()
                .and_then(|name| name.strip_prefix(SEGMENT))
                .and_then(|number| number.parse().ok());
            numbers.extend(number.filter(|number| *name == *segment_name(*number)));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(super) fn segment(&self, number: u64) -> io::Result<Vec<u8>> {
        plain::read_regular(&self.0.join(segment_name(number)), FileOwner::Anybody, MOST_SEGMENT)
    }

    /// Creates what is missing.
    pub(super) fn make(&self) -> io::Result<()> {
        for dir in [self.0.clone(), self.0.join(EVIDENCE)] {
            match DirBuilder::new().mode(0o700).create(&dir) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps a second server out as long as the file is open.
    pub(super) fn lock(&self) -> io::Result<File> {
        let dir = File::open(&self.0)?;
        dir.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => invalid("another server writes this log".to_owned()),
            fs::TryLockError::Error(error) => error,
        })?;
        Ok(dir)
    }

    /// Creates a segment, beginning with this head.
    pub(super) fn new_segment(&self, number: u64, head: &[u8]) -> io::Result<File> {
        FileLocation::guarded(&self.0.join(segment_name(number)))?.replace_by(head, FileAudience::Owner)
    }

    pub(super) fn open_segment(&self, number: u64) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.0.join(segment_name(number)))
    }

    pub(super) fn put_keys(&self, keys: &CheckpointKeys) -> io::Result<()> {
        FileLocation::guarded(&self.0.join(KEYS))?.replace(keys.to_string().as_bytes(), FileAudience::Owner)
    }

    pub(super) fn put_checkpoint(&self, note: &str) -> io::Result<()> {
        FileLocation::guarded(&self.0.join(CHECKPOINT))?.replace(note.as_bytes(), FileAudience::Owner)
    }

    /// Writes evidence once: an existing file stays, right or not, as it is evidence, too.
    pub(super) fn put_evidence(&self, of: &Hash, bytes: &[u8]) -> io::Result<()> {
        let path = self.evidence_path(of);
        if fs::symlink_metadata(&path).is_ok() {
            return Ok(());
        }
        FileLocation::guarded(&path)?.replace(bytes, FileAudience::Owner)
    }

    fn evidence_path(&self, of: &Hash) -> PathBuf {
        self.0.join(EVIDENCE).join(Digest(*of).to_string())
    }

    fn text(&self, name: &str) -> io::Result<String> {
        let path = self.0.join(name);
        let said = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        plain::read_text(&path, FileOwner::Anybody, MOST_TEXT).map_err(said)
    }
}

fn segment_name(number: u64) -> String {
    format!("{SEGMENT}{number}")
}

pub(super) fn invalid(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, sentence)
}
