//! What a subject leaves that is of no use when it has ended: gigabytes of cached objects, shared memory.
//!
//! Measuring side, cold. Removed by the guardian, so that nothing stays when bakeoff is killed, and by bakeoff
//! when that is killed. What cannot be removed stays: it is no reason to fail.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Where shared memory with a name is (`shm_open(3)`).
const SHARED: &str = "/dev/shm";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Litter {
    /// A directory.
    pub(crate) dir: Option<PathBuf>,
    /// How names of its shared memory begin, which must be its own.
    pub(crate) shared: Option<String>,
}

impl Litter {
    pub(crate) fn remove(&self) {
        if let Some(dir) = &self.dir {
            let _ = fs::remove_dir_all(dir); // stays with the other files of the run
        }
        if let Some(prefix) = self.shared.as_deref().filter(|prefix| !prefix.is_empty()) {
            remove_named(Path::new(SHARED), prefix);
        }
    }
}

fn remove_named(dir: &Path, prefix: &str) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let _ = fs::remove_file(entry.path()); // somebody else's, then
    }
}
