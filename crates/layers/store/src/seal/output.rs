//! Output file of a sealing in progress.
//!
//! Measured side, cold. Owns its temporary name until it is complete, and its removal otherwise. The header is
//! written last, and is on disk before the rename.

use super::error::SealError;
use crate::layout::HEADER_BYTES;
use bakeoff_layers_base::plain::{FileAudience, FileLocation, past_the_cache};
use nix::fcntl::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file that becomes a vault, or is removed.
pub(super) struct Output {
    file: File,
    /// The same file past the page cache, where the file system can.
    direct: Option<File>,
    place: FileLocation,
    wanted: PathBuf,
    done: bool,
}

impl Output {
    /// Creates the file beside the final name and allocates its space on the disk.
    pub(super) fn create(wanted: &Path, bytes: u64) -> Result<Self, SealError> {
        let failed = |error| SealError::Write { path: wanted.to_owned(), error };
        let place = FileLocation::guarded(wanted).map_err(failed)?;
        let file = place.begin(FileAudience::Owner).map_err(failed)?;
        let direct = past_the_cache(&file, true).ok();
        let output = Self { file, direct, place, wanted: wanted.to_owned(), done: false };
        let length = i64::try_from(bytes).map_err(|_| SealError::TooMany)?;
        match fallocate(&output.file, FallocateFlags::empty(), 0, length) {
            Ok(()) => {}
            // Not every file system can; then a full disk is found while writing.
            Err(nix::errno::Errno::EOPNOTSUPP) => output.file.set_len(bytes).map_err(failed)?,
            Err(error) => return Err(failed(error.into())),
        }
        Ok(output)
    }

    /// Writes whole blocks at their place.
    pub(super) fn write(&self, blocks: &[u8], offset: u64) -> Result<(), SealError> {
        let file = self.direct.as_ref().unwrap_or(&self.file);
        file.write_all_at(blocks, offset).map_err(|error| self.failed(error))
    }

    /// Writes the header, syncs, renames, and syncs the directory.
    pub(super) fn finish(mut self, header: &[u8; HEADER_BYTES]) -> Result<(), SealError> {
        self.complete(header).map_err(|error| self.failed(error))?;
        self.done = true;
        Ok(())
    }

    fn complete(&self, header: &[u8; HEADER_BYTES]) -> io::Result<()> {
        self.file.write_all_at(header, 0)?;
        self.place.finish(&self.file, FileAudience::Owner)
    }

    fn failed(&self, error: io::Error) -> SealError {
        SealError::Write { path: self.wanted.clone(), error }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.done {
            self.place.abandon();
        }
    }
}
