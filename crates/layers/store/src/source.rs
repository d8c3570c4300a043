//! Vault file for reads at offsets, past the page cache or through it.
//!
//! Measured side, hot path of cold reads. Owns the choice whether the kernel keeps the encrypted bytes. Past the page
//! cache (the default) they are not kept: the plain text is in the page cache of the mount already, and under a
//! memory limit a second copy of everything would push it out.

use crate::aligned::PAGE_BYTES;
use bakeoff_layers_base::plain::{FileOwner, open_regular, past_the_cache};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Whether the kernel keeps a vault's encrypted bytes in its page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Read past the page cache where the file system can.
    Direct,
    /// Read through the page cache.
    Page,
}

/// An open vault file.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    bytes: u64,
    caching: Caching,
}

impl Source {
    /// Opens the file for reading; falls back to the page cache if the file system has no other way.
    pub(crate) fn open(path: &Path, caching: Caching) -> io::Result<Self> {
        // Whoever owns it: its header and every block of it are sealed.
        let file = open_regular(path, FileOwner::Anybody)?;
        let direct = (caching == Caching::Direct).then(|| past_the_cache(&file, false).ok()).flatten();
        let (file, caching) = direct.map_or((file, Caching::Page), |direct| (direct, Caching::Direct));
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes, caching })
    }

    /// Bytes of the file when it was opened.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The mode really in use.
    pub(crate) fn caching(&self) -> Caching {
        self.caching
    }

    /// Fills `window` from `offset`; returns the number of bytes that the file had. Both must be multiples of the
    /// page size, as a vault's blocks are.
    pub(crate) fn read(&self, window: &mut [u8], offset: u64) -> io::Result<usize> {
        debug_assert!(offset.is_multiple_of(PAGE_BYTES as u64) && window.len().is_multiple_of(PAGE_BYTES));
        let mut filled = 0;
        while let Some(rest) = window.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // Past the page cache only the file's end makes a read short, and going on from there
            // would not be aligned.
            if !filled.is_multiple_of(PAGE_BYTES) {
                break;
            }
        }
        Ok(filled)
    }
}
