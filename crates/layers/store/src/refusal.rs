//! Reasons for not opening a vault, and for not returning bytes of one.
//!
//! Measured side. Each refusal has its name here; for a mounted vault the name is also the counter's label.

use crate::layout::HeaderError;
use crate::tree::TreeError;
use bakeoff_layers_base::refusals;
use std::io;
use thiserror::Error;

/// Reason for not opening a vault.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file could not be read.
    #[error("cannot read the vault: {0}")]
    Io(#[from] io::Error),
    /// Not a vault, or one of another kind.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Sealed under another store key.
    #[error(
        "the vault was sealed under another store key; give the sealed key that was made with it (--sealed)"
    )]
    WrongKey,
    /// The header does not authenticate.
    #[error("the vault's header was changed after sealing; take a copy that was not")]
    HeaderNotGenuine,
    /// The file is too short.
    #[error("the vault is cut short: it has {is} bytes and was sealed with {was}; copy it again")]
    Truncated {
        /// Bytes of the file.
        is: u64,
        /// Bytes when it was sealed.
        was: u64,
    },
    /// The file has data behind its end.
    #[error("the vault has {extra} bytes behind its end; copy it again")]
    Appended {
        /// Number of extra bytes.
        extra: u64,
    },
    /// The blocks with the list of files are refused.
    #[error("the vault's list of files cannot be read: {0}")]
    List(ReadRefusal),
    /// The list of files is malformed; another program sealed it.
    #[error("the vault's list of files is wrong: {0}")]
    Tree(#[from] TreeError),
    /// The cipher library failed.
    #[error("the cipher library failed; is the processor's random source there?")]
    Cipher,
}

refusals! {
    /// Why bytes were not given out. The reader gets EIO.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum ReadRefusal {
        // Its tag is wrong: flipped, moved, replayed.
        BlockNotGenuine(u64) "block-not-genuine" "block {0} is not what was sealed",
        Truncated(u64) "truncated" "the vault ends within block {0}",
        Disk(u64) "disk" "the disk cannot read block {0}",
        // The key was dropped.
        Locked "locked" "the store is locked",
    }
}
