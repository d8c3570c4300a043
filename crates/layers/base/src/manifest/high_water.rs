//! Newest manifest version accepted for each key, kept on disk: an older manifest is a rollback.
//!
//! Anybody who can write the file can undo it; a back end with a counter in hardware would close that hole.

use crate::plain::{self, FileAudience, FileLocation, FileOwner, PathError};
use std::io;
use std::path::{Path, PathBuf};

/// Size limit when reading; a line for each key has some 30 bytes.
const MOST_BYTES: u64 = 1 << 20;

/// A file of lines `KEY VERSION`.
#[derive(Clone, Debug)]
pub struct HighWater {
    path: PathBuf,
}

/// Errors of reading or raising the mark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HighWaterError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] PathError),
    /// The file is not one of ours.
    #[error("{}: line {line} is not a key and a version; look who changed it, then remove the file to begin anew", .path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// The file is cut short: this code never writes it so.
    #[error("{}: empty or cut short, as it is never written; look who changed it, then remove the file to begin anew", .0.display())]
    Cut(PathBuf),
}

impl HighWater {
    /// Kept at `path`; it need not be there yet.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The newest accepted version for this key; 0 if there is none.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn read(&self, key_id: u64) -> Result<u64, HighWaterError> {
        let marks = self.marks()?;
        Ok(marks.into_iter().find(|mark| mark.0 == key_id).map_or(0, |mark| mark.1))
    }

    /// Raises the mark; it never goes down. On disk when this returns.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn raise(&self, key_id: u64, version: u64) -> Result<(), HighWaterError> {
        let mut marks = self.marks()?;
        match marks.iter_mut().find(|mark| mark.0 == key_id) {
            Some(mark) if mark.1 >= version => return Ok(()),
            Some(mark) => mark.1 = version,
            None => marks.push((key_id, version)),
        }
        let text: String = marks.iter().map(|(key, version)| format!("{key:016X} {version}\n")).collect();
        let written = FileLocation::guarded(&self.path)
            .and_then(|place| place.replace(text.as_bytes(), FileAudience::Owner));
        Ok(written.map_err(PathError::written(&*self.path))?)
    }

    fn marks(&self) -> Result<Vec<(u64, u64)>, HighWaterError> {
        let text = match plain::read_text(&self.path, FileOwner::Trusted, MOST_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(PathError::read(&self.path)(source).into()),
        };
        if !text.ends_with('\n') {
            return Err(HighWaterError::Cut(self.path.clone()));
        }
        let mark = |(index, line): (usize, &str)| {
            let parts = line.split_once(' ');
            let parts = parts
                .and_then(|(key, version)| Some((u64::from_str_radix(key, 16).ok()?, version.parse().ok()?)));
            parts.ok_or_else(|| HighWaterError::Format { path: self.path.clone(), line: index + 1 })
        };
        text.lines().enumerate().map(mark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_kept_for_each_key_and_never_goes_down() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("marks");
        let marks = HighWater::at(&path);
        assert_eq!(marks.read(1).unwrap(), 0);
        marks.raise(1, 5).unwrap();
        marks.raise(2, 9).unwrap();
        marks.raise(1, 4).unwrap();
        assert_eq!((marks.read(1).unwrap(), marks.read(2).unwrap()), (5, 9));
        std::fs::write(&path, "nonsense\n").unwrap();
        assert!(matches!(marks.read(1), Err(HighWaterError::Format { line: 1, .. })));
        assert!(marks.raise(1, 6).is_err(), "what cannot be read is not begun anew by itself");
        for cut in ["", "0000000000000001 5"] {
            std::fs::write(&path, cut).unwrap();
            assert!(matches!(marks.read(1), Err(HighWaterError::Cut(_))), "{cut:?} counted as a mark");
        }
    }
}
