//! Sealing of a tree into a vault.
//!
//! Measured side, cold, but timed: it has to keep up with `cp -r`. Owns the order of steps: scan, encrypt in parallel
//! into a file of another name, scan again, sync, rename. A vault of the final name is either whole and on the disk
//! or does not exist. Memory is the list of files and a few buffers a thread. A change of the tree meanwhile is
//! noticed and named; nothing is left behind then.

mod error;
mod output;
mod scan;
mod stream;

pub use error::SealError;

use crate::cipher::{Cipher, key_id};
use crate::layout::{BlockSize, Extent, FileHeader, SEALED_BYTES, TAG_BYTES, VAULT_ID_BYTES};
use crate::tree;
use aws_lc_rs::rand;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::plain::resolved;
use bakeoff_layers_base::release::StoreKey;
use bakeoff_layers_base::threads;
use output::Output;
use scan::Scan;
use std::path::{Path, PathBuf};

/// The file is rounded up to this, so that its length tells little of the tree's.
const ROUND_BYTES: u64 = 1 << 20;
/// Threads for each core: most of them wait for the disk.
const THREADS_PER_CORE: usize = 4;

/// Options of sealing.
#[derive(Clone, Copy, Debug)]
pub struct SealOptions {
    /// Size of the blocks.
    pub block: BlockSize,
    /// Number of this seal under its store key; see [`FileHeader::sequence`].
    pub sequence: u64,
}

/// Size of a sealed vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Files, directories and links.
    pub nodes: usize,
    /// Symbolic links among them that lead out of the tree.
    pub links_out: Vec<PathBuf>,
    /// Bytes of all files.
    pub data_bytes: u64,
    /// Bytes of the vault.
    pub vault_bytes: u64,
}

/// Seals the tree below `directory` into the file `out`, which is replaced if it exists.
///
/// # Errors
/// The file and the reason; `out` is as it was.
pub fn seal(directory: &Path, out: &Path, key: &StoreKey, options: SealOptions) -> Result<Sealed, SealError> {
    let threads = threads::cores() * THREADS_PER_CORE;
    if resolved(out).starts_with(resolved(directory)) {
        return Err(SealError::Inside(out.to_owned()));
    }
    let scan = Scan::of(directory, options.block, threads)?;
    let list = tree::encode(&scan.found);
    let block = options.block;
    let data_blocks = block.blocks_for(scan.stream_bytes);
    let blocks = rounded(block, data_blocks + block.blocks_for(list.len() as u64));
    let mut header = FileHeader {
        block,
        vault_id: random_id()?,
        key_id: key_id(key).map_err(|_| SealError::Cipher)?,
        sequence: options.sequence,
        blocks,
        sealed: [0; SEALED_BYTES + TAG_BYTES],
    };
    let cipher = Cipher::new(key, header.vault_id).map_err(|_| SealError::Cipher)?;
    let extent =
        Extent { stream_bytes: scan.stream_bytes, tree_bytes: list.len() as u64, sealed_at_s: now_unix_s() };
    header.sealed =
        cipher.seal_header(&header.open_part(), &extent.encode()).map_err(|_| SealError::Cipher)?;

    let vault_bytes = header.file_bytes().ok_or(SealError::TooMany)?;
    let output = Output::create(out, vault_bytes)?;
    stream::write(
        &stream::Job { scan: &scan, list: &list, header: &header, cipher: &cipher, output: &output },
        threads,
    )?;
    scan.still_so(threads)?;
    output.finish(&header.encode())?;
    let Scan { found, links_out, data_bytes, .. } = scan;
    Ok(Sealed { nodes: found.len(), links_out, data_bytes, vault_bytes })
}

fn rounded(block: BlockSize, blocks: u64) -> u64 {
    blocks.next_multiple_of((ROUND_BYTES / block.disk_bytes() as u64).max(1))
}

fn random_id() -> Result<[u8; VAULT_ID_BYTES], SealError> {
    let mut id = [0; VAULT_ID_BYTES];
    rand::fill(&mut id).map_err(|_| SealError::Cipher)?;
    Ok(id)
}
