//! The writer's end of the log of transactions: batches into parts, parts onto the disk.
//!
//! Measuring side, a thread of its own on the generator's cores, with a lower priority than all others there. A part is
//! not synced: while load runs that would delay the store of a cache on the same disk, and a killed process loses
//! nothing of what it has written.

use super::{Fate, Log, Logged, PART_AGE, PART_ROWS, RunContext, Transaction, TransactionFile};
use bakeoff_results::directory::DirectoryError;
use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Writer of the log: see the module.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(super) from: Receiver<Vec<Transaction>>,
    pub(super) log: Log,
    pub(super) of: RunContext,
    pub(super) fate: Fate,
}

/// A part that is being gathered.
#[derive(Debug)]
struct Open {
    rows: Vec<Transaction>,
    since: Instant,
}

impl Writer {
    /// Counters that can be read while it writes.
    pub(crate) fn fate(&self) -> Fate {
        self.fate.clone()
    }

    /// Writes until the robots are over. After the first error it only counts lost rows.
    pub(crate) fn write(self) -> (Logged, Option<DirectoryError>) {
        // If refused, it competes with the robots for their core, and their lateness shows it.
        let _ = bakeoff_sys::thread::go_behind();
        let mut logged = Logged::default();
        let failed = self.parts(&mut logged).err();
        if failed.is_some() {
            self.fate.fail();
            self.from.iter().for_each(|batch| self.fate.drop_rows(batch.len()));
        }
        logged.dropped = self.fate.dropped();
        (logged, failed)
    }

    fn parts(&self, logged: &mut Logged) -> Result<(), DirectoryError> {
        let mut open: Option<Open> = None;
        loop {
            let come = match &open {
                Some(part) => self.from.recv_timeout(left(part)),
                None => self.from.recv().map_err(RecvTimeoutError::from),
            };
            match come {
                Ok(batch) => {
                    let new = || Open { rows: Vec::with_capacity(batch.len()), since: Instant::now() };
                    open.get_or_insert_with(new).rows.extend_from_slice(&batch);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return open.map_or(Ok(()), |part| self.part(&part.rows, logged));
                }
            }
            let is_full = |part: &mut Open| part.rows.len() >= PART_ROWS || left(part).is_zero();
            if let Some(part) = open.take_if(is_full) {
                self.part(&part.rows, logged)?;
            }
        }
    }

    /// Written beside its name and then renamed: a file under its name is whole.
    fn part(&self, rows: &[Transaction], logged: &mut Logged) -> Result<(), DirectoryError> {
        let name = format!("run-{:03}-part-{:05}.parquet", self.of.run, logged.parts);
        let (path, beside) = (self.log.folder.join(&name), self.log.folder.join(format!(".{name}.new")));
        let made = (self.log.encode)(&TransactionFile { of: &self.of, rows }).map_err(io::Error::other);
        let written = made.and_then(|bytes| {
            fs::write(&beside, &bytes)?;
            fs::rename(&beside, &path)?;
            Ok(bytes.len())
        });
        match written {
            Ok(bytes) => {
                logged.rows += rows.len() as u64;
                logged.parts += 1;
                logged.bytes += bytes as u64;
                Ok(())
            }
            Err(why) => {
                let _ = fs::remove_file(&beside); // the error of the writing is what is told
                self.fate.drop_rows(rows.len());
                Err(DirectoryError::Write { path, why })
            }
        }
    }
}

/// Time that a part may still wait for more rows.
fn left(part: &Open) -> Duration {
    PART_AGE.as_duration().saturating_sub(part.since.elapsed())
}
