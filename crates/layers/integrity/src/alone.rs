//! Lock of a tree: one process enforces or thaws it.

use crate::error::EnforceError;
use crate::tree::open_root;
use bakeoff_layers_base::plain::{FileLocation, PathError};
use bakeoff_sys::inode;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

/// Directory of the locks of trees: only root can put files there.
const LOCKS: &str = "/run";

/// A process that was killed has the lock for a moment longer than its group of events.
const DYING: Duration = Duration::from_secs(1);

/// The right to enforce a tree, or to thaw it: one process has it. Nobody else can open its file, and hold it so.
pub(crate) struct TreeLock {
    place: FileLocation,
    _file: File,
}

impl TreeLock {
    /// Takes it.
    ///
    /// # Errors
    /// Another process has it, or the file cannot be made.
    pub(crate) fn take(root: &Path) -> Result<Self, EnforceError> {
        let failed = |source| EnforceError::Root { path: root.to_owned(), source };
        let facts = inode::facts(open_root(root).map_err(failed)?).map_err(failed)?;
        let path = Path::new(LOCKS).join(format!("bakeoff-integrity-{:x}-{:x}", facts.device, facts.inode));
        let place = FileLocation::guarded(&path);
        let unwritten = PathError::written(&*path);
        let place = place.map_err(&unwritten)?;
        let began = Instant::now();
        loop {
            let file = place.keep(false, 0o600).map_err(&unwritten)?;
            if file.try_lock().is_err() {
                if began.elapsed() > DYING {
                    return Err(EnforceError::Enforced(root.to_owned()));
                }
                std::thread::sleep(DYING / 50);
                continue;
            }
            // The last holder may have removed it meanwhile.
            if place.is_there().map_err(&unwritten)? && !place.is_anothers(&file) {
                return Ok(Self { place, _file: file });
            }
        }
    }
}

impl Drop for TreeLock {
    fn drop(&mut self) {
        let _ = self.place.remove();
    }
}
