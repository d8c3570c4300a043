//! Litter: leftovers of a subject that are useless after its end, such as gigabytes of cached objects or shared memory.
//!
//! Measuring side, cold. The supervisor removes them, so that nothing stays when bakeoff is killed; bakeoff removes them
//! when the supervisor is killed. Leftovers that cannot be removed stay: they are no reason to fail.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Directory of named shared memory (`shm_open(3)`).
const SHARED: &str = "/dev/shm";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Litter {
    /// A directory.
    pub(crate) dir: Option<PathBuf>,
    /// Prefix of the names of its shared memory; no other program may use it.
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
