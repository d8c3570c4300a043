//! Files beside the tree that are written during enforcement.
//!
//! The supervisor opens their directories once, before anything is marked, and its workers inherit them: no later
//! change of a path leads elsewhere, and a path that cannot be written is found at the start.

use crate::error::EnforceError;
use crate::settings::EnforcementSettings;
use bakeoff_layers_base::daemon::status::StatusFile;
use bakeoff_layers_base::plain::{FileLocation, PathError};
use bakeoff_layers_base::release::StoreLock;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Places of these files.
#[derive(Debug)]
pub(crate) struct WrittenFiles {
    pub(crate) status: Option<FileLocation>,
    /// Lock of the store that `lock` locks.
    pub(crate) lock: Option<StoreLock>,
    high_water: Option<FileLocation>,
}

impl WrittenFiles {
    /// Opens their directories, and tries to write each.
    pub(crate) fn open(settings: &EnforcementSettings) -> Result<Self, EnforceError> {
        let lock = settings.lock_store.as_deref().map(StoreLock::of).transpose()?;
        if let Some(lock) = &lock {
            lock.try_locking()?;
        }
        let tried = |path: &Path| {
            let place = FileLocation::guarded(path).and_then(|place| place.try_writing().map(|()| place));
            place.map_err(PathError::written(path))
        };
        let status = settings.status.as_deref().map(tried).transpose()?;
        Ok(Self { status, lock, high_water: settings.high_water.as_deref().map(tried).transpose()? })
    }

    /// Tries to write each with the rights of the calling thread.
    pub(crate) fn try_writing(&self) -> io::Result<()> {
        let mut places = self.status.iter().chain(&self.high_water);
        places.try_for_each(FileLocation::try_writing)?;
        self.lock.as_ref().map_or(Ok(()), |lock| lock.try_locking().map_err(io::Error::other))
    }
}

/// Writer of the status: a thread that may hang on a disk, so that nothing else does.
#[derive(Debug)]
pub(crate) struct StatusWriter {
    texts: SyncSender<String>,
    given: u64,
    done: Arc<AtomicU64>,
}

impl StatusWriter {
    pub(crate) fn start(place: Option<FileLocation>) -> io::Result<Self> {
        let (texts, all) = sync_channel::<String>(1);
        let done = Arc::new(AtomicU64::new(0));
        let counted = done.clone();
        let mut status = StatusFile::at(place);
        let work = move || {
            for text in all {
                // What cannot be written now is written the next time; enforcement goes on.
                let _ = status.write(text);
                // If it stayed open, the supervisor would take it for the file of an open when this worker dies.
                status.take_over();
                counted.fetch_add(1, Ordering::Release);
            }
        };
        std::thread::Builder::new().name("status".to_owned()).spawn(work)?;
        Ok(Self { texts, given: 0, done })
    }

    /// Gives it a text, unless the last two are not written yet; returns whether it took it.
    pub(crate) fn write(&mut self, text: String) -> bool {
        let taken = self.texts.try_send(text).is_ok();
        self.given += u64::from(taken);
        taken
    }

    /// Gives it a text and waits until it is written, if that does not take too long.
    pub(crate) fn write_now(&mut self, text: &str, patience: Duration) {
        let began = Instant::now();
        let mut taken = false;
        while began.elapsed() < patience {
            taken = taken || self.write(text.to_owned());
            if taken && self.done.load(Ordering::Acquire) == self.given {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
