//! Audit log of the server: every decision is logged before it takes effect.
//!
//! Measured side. Hot is [`AuditLog::decided`]: a record is hashed into the chain and put into memory, behind a lock
//! that nobody holds while waiting for a disk. A thread writes the gathered records each 100 ms, evidence first, and
//! syncs them; each 10 s or 1,000 records it signs a checkpoint. So a crash loses the decisions of a tenth of a
//! second, and half a record at the end is cut off at the next start. A full disk stops new decisions until it
//! accepts the waiting records. `credentials::audit` owns the formats. A session with an old decision is not looked
//! at again here.

pub mod directory;
mod elsewhere;
mod strangers;

pub use elsewhere::{Keep, NotKept};

use crate::refusal::Refusal;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_credentials::Revoked;
use bakeoff_layers_credentials::audit::{
    AuditFaultKind, Checkpoint, CheckpointKeys, Evidence, InForce, LogEnd, LoggedDecision, SegmentReader,
    TooLong,
};
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::key::{Hash, SecretKey, hash};
use bakeoff_layers_credentials::name::PrincipalName;
use directory::{AuditDirectory, SEGMENT_BYTES, invalid};
use elsewhere::Elsewhere;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::mem;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use strangers::Strangers;

/// Time for which decisions gather in memory.
const COMMIT: Duration = Duration::from_millis(100);
/// Longest age of a checkpoint, and number of records behind it.
const CHECKPOINT: Duration = Duration::from_secs(10);
const CHECKPOINT_RECORDS: u64 = 1000;
/// Limit on bytes that wait for the disk: beyond it the disk is too slow, which counts as full.
const MOST_WAITING_BYTES: usize = 8 << 20;
/// Limit on remembered hashes of evidence, so that each is written once.
const MOST_KNOWN: usize = 100_000;

/// The log, open for writing; when dropped, it writes the rest, and a checkpoint.
#[derive(Debug)]
pub struct AuditLog {
    shared: Arc<Shared>,
    /// Bytes of half a record that were cut off at the start.
    cut_bytes: u64,
    /// Sends requests for a checkpoint, each with a sender for the answer.
    wanted: Option<Sender<Sender<io::Result<()>>>>,
    elsewhere: Option<Elsewhere>,
    writer: Option<JoinHandle<()>>,
}

/// A panic of a holder leaves both parts whole: records are added in one step, and written from their beginning.
#[derive(Debug)]
struct Shared {
    waiting: Mutex<Waiting>,
    disk: Mutex<Disk>,
}

/// Decisions that are not written yet.
#[derive(Debug)]
struct Waiting {
    batch: Batch,
    known: HashSet<Hash>,
    strangers: Strangers,
    /// The disk did not accept the last ones.
    full: bool,
}

#[derive(Debug)]
struct Batch {
    evidence: Vec<(Hash, Vec<u8>)>,
    evidence_bytes: usize,
    /// Frames.
    records: Vec<u8>,
    /// End of the log with them.
    end: LogEnd,
}

#[derive(Debug)]
struct Disk {
    directory: AuditDirectory,
    key: SecretKey,
    server: PrincipalName,
    segment: u64,
    segment_bytes: u64,
    file: File,
    length: u64,
    /// Batch that is tried again until it is written.
    batch: Batch,
    /// End of the log that is safe on the disk.
    durable: LogEnd,
    /// Number of records in the last checkpoint, and the time it was written.
    checkpoint: (u64, Instant),
    elsewhere: Option<Elsewhere>,
    /// Keeps a second server out.
    _lock: File,
}

impl AuditLog {
    /// Opens the log in a directory, or begins one. In an existing log the last segment is verified: half a record at
    /// its end is cut off; after any other fault it is not opened. With `keep` its checkpoints are kept elsewhere,
    /// too; the first is made at once.
    ///
    /// # Errors
    /// It cannot be read or written, is another server's, or was changed.
    pub fn open(dir: &Path, key: SecretKey, name: &PrincipalName, keep: Option<Keep>) -> io::Result<Self> {
        Self::open_with(dir, key, name, keep, SEGMENT_BYTES)
    }

    fn open_with(
        dir: &Path,
        key: SecretKey,
        name: &PrincipalName,
        keep: Option<Keep>,
        segment_bytes: u64,
    ) -> io::Result<Self> {
        let said = |error: io::Error| {
            io::Error::new(error.kind(), format!("the audit log {}: {error}", dir.display()))
        };
        let (mut disk, cut_bytes) = Disk::open(dir, key, name, segment_bytes).map_err(said)?;
        let elsewhere = keep.map(Elsewhere::start).transpose()?;
        if elsewhere.is_some() {
            disk.elsewhere.clone_from(&elsewhere);
            disk.sign().map_err(said)?;
        }
        let waiting = Waiting {
            batch: Batch::behind(disk.durable),
            known: HashSet::new(),
            strangers: Strangers::default(),
            full: false,
        };
        let shared = Arc::new(Shared { waiting: Mutex::new(waiting), disk: Mutex::new(disk) });
        let (wanted, wants) = channel();
        let its = shared.clone();
        let writer =
            thread::Builder::new().name("audit".to_owned()).spawn(move || its.keep_writing(&wants))?;
        Ok(Self { shared, cut_bytes, wanted: Some(wanted), elsewhere, writer: Some(writer) })
    }

    /// Keeps evidence, once; decisions refer to it by its hash.
    ///
    /// # Errors
    /// The disk is full.
    pub fn evidence(&self, evidence: &Evidence<'_>) -> Result<Hash, Refusal> {
        let bytes = evidence.bytes();
        let name = hash(&bytes);
        let mut waiting = lock(&self.shared.waiting);
        waiting.look()?;
        if waiting.known.len() >= MOST_KNOWN {
            waiting.known.clear();
        }
        if waiting.known.insert(name) {
            waiting.batch.evidence_bytes += bytes.len();
            waiting.batch.evidence.push((name, bytes));
        }
        Ok(name)
    }

    /// Keeps the rules in force from now on; `epoch` counts their changes.
    ///
    /// # Errors
    /// The disk is full.
    pub fn in_force(
        &self,
        epoch: u64,
        acl: &str,
        bundles: &Bundles,
        revoked: &Revoked,
    ) -> Result<Arc<InForce>, Refusal> {
        let mut each: Vec<_> = bundles.each().collect();
        each.sort_by(|one, other| one.domain.cmp(&other.domain));
        let bundles = each.into_iter().map(|bundle| self.evidence(&Evidence::Bundle(bundle)));
        Ok(Arc::new(InForce {
            epoch,
            acl: self.evidence(&Evidence::Acl(acl))?,
            bundles: bundles.collect::<Result<_, _>>()?,
            revoked: self.evidence(&Evidence::Revoked(revoked))?,
        }))
    }

    /// Logs a decision, before it takes effect.
    ///
    /// # Errors
    /// The disk is full: the decision must not take effect.
    pub fn decided(&self, decision: &LoggedDecision) -> Result<(), Refusal> {
        let mut waiting = lock(&self.shared.waiting);
        waiting.look()?;
        let Waiting { batch, strangers, .. } = &mut *waiting;
        if decision.shown.is_none() && !strangers.may_be_written(decision.time_unix_s) {
            return Ok(());
        }
        // A record that is too long is lost like one without room.
        let added = batch.end.add(decision, strangers.unwritten, &mut batch.records);
        added.map_err(|TooLong| Refusal::AuditFull)?;
        strangers.unwritten = 0;
        Ok(())
    }

    /// Writes and syncs all decisions, and a checkpoint of them.
    ///
    /// # Errors
    /// The I/O error.
    pub fn checkpoint(&self) -> io::Result<()> {
        let (answer, answered) = channel();
        let asked = self.wanted.as_ref().and_then(|wanted| wanted.send(answer).ok());
        // A writer that has ended does not answer.
        asked.and_then(|()| answered.recv().ok()).unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()))
    }

    /// Ends the log: all decisions are on the disk, and kept elsewhere if that is reachable.
    pub fn close(&self) {
        // A full disk loses the end, as a crash does.
        let _ = self.checkpoint();
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.end();
        }
    }

    /// Lines of the status.
    pub fn status(&self) -> String {
        let (size, full) = {
            let waiting = lock(&self.shared.waiting);
            (waiting.batch.end.size, waiting.look().is_err())
        };
        let elsewhere = self.elsewhere.as_ref().map_or_else(String::new, Elsewhere::status);
        format!(
            "audit-records {size}\naudit-full {}\naudit-cut-bytes {}\n{elsewhere}",
            u8::from(full),
            self.cut_bytes
        )
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        drop(self.wanted.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Shared {
    /// Main loop of the thread, until all users are gone. Only this thread opens files: it is started before the
    /// kernel confines the others to the export.
    fn keep_writing(&self, wants: &Receiver<Sender<io::Result<()>>>) {
        loop {
            match wants.recv_timeout(COMMIT) {
                Ok(answer) => drop(answer.send(self.write(|_| true))),
                // A failed write is repeated the next time; until then nothing is decided.
                Err(RecvTimeoutError::Timeout) => drop(self.write(Disk::is_due)),
                // With a full disk the end is lost, as in a crash.
                Err(RecvTimeoutError::Disconnected) => return drop(self.write(|_| true)),
            }
        }
    }

    /// Writes the waiting records, and a checkpoint if requested.
    fn write(&self, wanted: impl FnOnce(&Disk) -> bool) -> io::Result<()> {
        let mut disk = lock(&self.disk);
        let mut written = disk.write();
        if written.is_ok() {
            let mut waiting = lock(&self.waiting);
            let behind = Batch::behind(waiting.batch.end);
            disk.batch = mem::replace(&mut waiting.batch, behind);
            drop(waiting);
            written = disk.write();
        }
        let done = written.and_then(|()| if wanted(&disk) { disk.sign() } else { Ok(()) });
        lock(&self.waiting).full = done.is_err();
        done
    }
}

impl Waiting {
    fn look(&self) -> Result<(), Refusal> {
        let crowded = self.batch.records.len() + self.batch.evidence_bytes > MOST_WAITING_BYTES;
        if self.full || crowded { Err(Refusal::AuditFull) } else { Ok(()) }
    }
}

impl Batch {
    const fn behind(end: LogEnd) -> Self {
        Self { evidence: Vec::new(), evidence_bytes: 0, records: Vec::new(), end }
    }
}

impl Disk {
    /// Returns also the number of bytes that were cut off.
    fn open(
        dir: &Path,
        key: SecretKey,
        server: &PrincipalName,
        segment_bytes: u64,
    ) -> io::Result<(Self, u64)> {
        let directory = AuditDirectory::at(dir);
        directory.make()?;
        let lock = directory.lock()?;
        let last = directory.segments()?.last().copied();
        let keys = keys(&directory, &key, server, last.is_none())?;
        let (segment, file, durable, half) = match last {
            None => (0, directory.new_segment(0, &keys.start().head())?, keys.start(), 0),
            Some(last) => {
                let (end, half) = verify(&directory, &keys, last)?;
                (last, directory.open_segment(last)?, end, half)
            }
        };
        let length = file.metadata()?.len() - half;
        if half > 0 {
            file.set_len(length)?;
            file.sync_all()?;
        }
        let disk = Self {
            directory,
            key,
            server: server.clone(),
            segment,
            segment_bytes,
            file,
            length,
            batch: Batch::behind(durable),
            durable,
            checkpoint: (0, Instant::now()),
            elsewhere: None,
            _lock: lock,
        };
        Ok((disk, half))
    }

    /// Writes the batch; after an error it is kept, and written from its beginning the next time.
    fn write(&mut self) -> io::Result<()> {
        for (hash, bytes) in &self.batch.evidence {
            self.directory.put_evidence(hash, bytes)?;
        }
        if !self.batch.records.is_empty() {
            if self.length >= self.segment_bytes {
                let head = self.durable.head();
                self.file = self.directory.new_segment(self.segment + 1, &head)?;
                (self.segment, self.length) = (self.segment + 1, head.len() as u64);
            }
            self.file.write_all_at(&self.batch.records, self.length)?;
            self.file.sync_data()?;
            self.length += self.batch.records.len() as u64;
        }
        self.durable = self.batch.end;
        self.batch = Batch::behind(self.durable);
        Ok(())
    }

    fn is_due(&self) -> bool {
        let (size, at) = self.checkpoint;
        let new = self.durable.size.saturating_sub(size);
        new >= CHECKPOINT_RECORDS || (new > 0 && at.elapsed() >= CHECKPOINT)
    }

    fn sign(&mut self) -> io::Result<()> {
        let note = Checkpoint(self.durable).sign(&self.server, &self.key);
        self.directory.put_checkpoint(&note)?;
        self.checkpoint = (self.durable.size, Instant::now());
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.keep(note);
        }
        Ok(())
    }
}

/// Keys of a log, of which this is the last.
fn keys(
    directory: &AuditDirectory,
    key: &SecretKey,
    server: &PrincipalName,
    is_new: bool,
) -> io::Result<CheckpointKeys> {
    let mut keys = match directory.keys() {
        Err(error) if is_new && error.kind() == io::ErrorKind::NotFound => {
            CheckpointKeys { server: server.clone(), keys: Vec::new() }
        }
        other => other?,
    };
    if keys.server != *server {
        return Err(invalid(format!("it is that of {}; give {server} a directory of its own", keys.server)));
    }
    if keys.keys.last() != Some(&key.public()) {
        keys.keys.push(key.public());
        directory.put_keys(&keys)?;
    }
    Ok(keys)
}

/// End of the log, by its last segment and its checkpoint, and the bytes of half a record behind it.
fn verify(directory: &AuditDirectory, keys: &CheckpointKeys, last: u64) -> io::Result<(LogEnd, u64)> {
    const NEXT: &str =
        "`bakeoff layer audit verify` tells more; move the directory away, and keep it, to begin a new log";
    let wrong = |what: String| invalid(format!("{what}; {NEXT}"));
    let bytes = directory.segment(last)?;
    let (start, _) = LogEnd::of_head(&bytes).ok_or_else(|| wrong(AuditFaultKind::NoHead.to_string()))?;
    let note = directory.checkpoint()?;
    let checkpoint = note.map(|note| Checkpoint::open(&note, keys)).transpose();
    let checkpoint = checkpoint.map_err(|no| wrong(format!("the file checkpoint: {no}")))?;
    let mut reader = SegmentReader::new(start, checkpoint.into_iter().collect());
    reader.segment(last, &bytes, drop);
    let (end, half, findings) = reader.end();
    match findings.first() {
        Some(finding) => Err(wrong(finding.to_string())),
        None => Ok((end, half.map_or(0, |half| half.bytes))),
    }
}

#[cfg(test)]
mod tests;
