//! The robots' end of the log of transactions: rows into batches, batches to the writer.
//!
//! Measuring side, hot, on the robots' thread. Never waits while load runs: rows that the writer has no room for are
//! counted and dropped, since a robot that waits for a disk would measure the disk.

use super::{BATCH_AGE, BATCH_ROWS, Fate, Transaction};
use std::mem;
use std::sync::mpsc::{SyncSender, TrySendError};

/// Collector of rows: see the module. Dropping it hands over the rest.
#[derive(Debug)]
pub(crate) struct Batcher {
    to: SyncSender<Vec<Transaction>>,
    batch: Vec<Transaction>,
    fate: Fate,
}

impl Batcher {
    pub(super) fn new(to: SyncSender<Vec<Transaction>>, fate: Fate) -> Self {
        Self { to, batch: Vec::with_capacity(BATCH_ROWS), fate }
    }

    /// Takes a row in.
    #[inline]
    pub(crate) fn tell(&mut self, row: Transaction) {
        let is_old = self.batch.first().is_some_and(|first| row.done.since(first.done) >= BATCH_AGE);
        self.batch.push(row);
        if is_old || self.batch.len() >= BATCH_ROWS {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        match self.to.try_send(mem::take(&mut self.batch)) {
            Ok(()) => self.batch.reserve_exact(BATCH_ROWS),
            Err(TrySendError::Full(mut batch) | TrySendError::Disconnected(mut batch)) => {
                self.fate.drop_rows(batch.len());
                batch.clear();
                self.batch = batch;
            }
        }
    }
}

impl Drop for Batcher {
    /// The robots are over: now it may wait.
    fn drop(&mut self) {
        if !self.batch.is_empty()
            && let Err(rest) = self.to.send(mem::take(&mut self.batch))
        {
            self.fate.drop_rows(rest.0.len());
        }
    }
}
