//! Files that a far end was handed: without a name, and gone with the process however it ends.
//!
//! Cold. Names are keys here and never paths.

use bakeoff_results::digest;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// Most things that are taken.
const MOST: usize = 1000;

/// All that was taken, by name.
#[derive(Default)]
pub struct Taken(BTreeMap<String, File>);

impl Taken {
    /// Keeps a file that is whole.
    ///
    /// # Errors
    /// Its name or its bytes are not what they should be, in words for the run.
    pub(crate) fn keep(&mut self, name: &str, sha256: &str, file: File) -> Result<(), String> {
        if name.contains('/') || name.is_empty() || self.0.len() >= MOST {
            return Err(format!("`{name}` is no name of something to take"));
        }
        let found = digest::sha256_of(&path_of(&file)).map_err(|why| format!("{name}: {why}"))?;
        if found != sha256 {
            return Err(format!("{name} came with other bytes than were sent"));
        }
        self.0.insert(name.to_owned(), file);
        Ok(())
    }

    /// Path by which this process can open it.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.0.get(name).map(path_of)
    }
}

fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn what_is_taken_is_whole_has_a_plain_name_and_leaves_nothing() {
        let file = || {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(b"lines\n").unwrap();
            file
        };
        let (mut taken, sum) = (Taken::default(), digest::sha256(&[b"lines\n"]));
        taken.keep("log", &sum, file()).unwrap();
        assert_eq!(std::fs::read(taken.path("log").unwrap()).unwrap(), b"lines\n");
        assert!(taken.keep("log", &"0".repeat(64), file()).unwrap_err().contains("other bytes"));
        assert!(taken.keep("../log", &sum, file()).unwrap_err().contains("no name"));
        assert_eq!(taken.path("other"), None);
        assert_eq!(file().metadata().unwrap().nlink(), 0);
    }
}
