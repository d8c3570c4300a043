//! Open vault: reads any range of its plain bytes, or refuses.
//!
//! Measured side, hot path of cold reads, many threads. Owns the way from (file, offset, length) to blocks and back.
//! Not one byte of a read is returned if one of its blocks is not genuine. Memory is the tree and, for each thread,
//! two buffers as large as the largest read.

use crate::aligned::Aligned;
use crate::cipher::{Cipher, key_id};
use crate::layout::{BlockSize, Extent, FileHeader, HEADER_BYTES, HeaderError};
use crate::refusal::{OpenError, ReadRefusal};
use crate::source::{Caching, Source};
use crate::tree::{NodeId, NodeKind, Tree};
use bakeoff_layers_base::locks::{read, write};
use bakeoff_layers_base::release::StoreKey;
use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, RwLock};
use zeroize::Zeroize;

/// Largest piece that is read and decrypted at once; longer reads take several. No request of the kernel is longer,
/// and each thread keeps a buffer for it.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// An open vault.
#[derive(Debug)]
pub struct Vault {
    source: Source,
    header: FileHeader,
    extent: Extent,
    /// `None` once the store is locked.
    cipher: RwLock<Option<Arc<Cipher>>>,
    tree: Tree,
}

/// Summary of a vault's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Files.
    pub files: u64,
    /// Directories, the root among them.
    pub directories: u64,
    /// Symbolic links.
    pub links: u64,
    /// Bytes of all files.
    pub data_bytes: u64,
    /// Time of sealing, seconds since 1970.
    pub sealed_at_s: u64,
}

/// Reads a vault's header without a key. Nothing of it is authenticated.
///
/// # Errors
/// The file cannot be read or is no vault.
pub fn summary(path: &Path) -> Result<(FileHeader, u64), OpenError> {
    let source = Source::open(path, Caching::Page)?;
    Ok((read_header(&source)?, source.bytes()))
}

impl Vault {
    /// Opens a vault: header, length and list of files are checked; data is checked as it is read.
    ///
    /// # Errors
    /// The fault, before anything faulty was used.
    pub fn open(path: &Path, key: &StoreKey, caching: Caching) -> Result<Self, OpenError> {
        let source = Source::open(path, caching)?;
        let header = read_header(&source)?;
        if key_id(key).map_err(|_| OpenError::Cipher)? != header.key_id {
            return Err(OpenError::WrongKey);
        }
        let cipher = Cipher::new(key, header.vault_id).map_err(|_| OpenError::Cipher)?;
        let sealed = cipher
            .open_header(&header.open_part(), &header.sealed)
            .map_err(|_| OpenError::HeaderNotGenuine)?;
        let extent = Extent::decode(&sealed);
        let was = header.file_bytes().ok_or(HeaderError::Damaged)?;
        match source.bytes() {
            is if is < was => return Err(OpenError::Truncated { is, was }),
            is if is > was => return Err(OpenError::Appended { extra: is - was }),
            _ => {}
        }
        let cipher = RwLock::new(Some(Arc::new(cipher)));
        let mut vault = Self { source, header, extent, cipher, tree: Tree::default() };
        let list = vault.read_list()?;
        vault.tree = Tree::decode(&list, vault.header.block, extent.stream_bytes)?;
        Ok(vault)
    }

    /// The files in it.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Its header.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// The mode in which the encrypted bytes are really read.
    pub fn caching(&self) -> Caching {
        self.source.caching()
    }

    /// Summary of its contents.
    pub fn contents(&self) -> Contents {
        let count = |kind| self.tree.nodes().filter(|(_, node)| node.kind == kind).count() as u64;
        Contents {
            files: count(NodeKind::File),
            directories: count(NodeKind::Directory),
            links: count(NodeKind::Link),
            data_bytes: self.tree.data_bytes(),
            sealed_at_s: self.extent.sealed_at_s,
        }
    }

    /// Drops the keys. Every read from now on is refused as locked.
    pub fn lock(&self) {
        *write(&self.cipher) = None;
    }

    /// Whether the keys were dropped.
    pub fn is_locked(&self) -> bool {
        read(&self.cipher).is_none()
    }

    /// Reads a file's bytes from `offset` into `out`, which is cleared first; fewer than `length` only
    /// at the file's end. Returns the number of blocks that were opened.
    ///
    /// # Errors
    /// The reason; `out` is empty.
    pub fn read(
        &self,
        file: NodeId,
        offset: u64,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, ReadRefusal> {
        out.clear();
        let node = self.tree.node(file);
        let Some((at, size)) = node.and_then(|node| Some((self.tree.data_at(node)?, node.size))) else {
            return Ok(0);
        };
        let length = (length as u64).min(size.saturating_sub(offset));
        self.read_stream(at.saturating_add(offset), length, out)
    }

    /// Checks the blocks from `first` up to, not including, `last`; `buffer` is overwritten.
    pub(crate) fn try_blocks(&self, first: u64, last: u64, buffer: &mut Vec<u8>) -> Result<(), ReadRefusal> {
        buffer.clear();
        let payload = self.header.block.payload_bytes() as u64;
        self.read_stream(first * payload, (last - first) * payload, buffer).map(drop)
    }

    fn read_list(&self) -> Result<Vec<u8>, OpenError> {
        let block = self.header.block;
        let first = block.blocks_for(self.extent.stream_bytes);
        let needed = first.checked_add(block.blocks_for(self.extent.tree_bytes));
        if needed.is_none_or(|needed| needed > self.header.blocks) {
            return Err(HeaderError::Damaged.into());
        }
        let mut list = Vec::new();
        let at = first.saturating_mul(block.payload_bytes() as u64);
        self.read_stream(at, self.extent.tree_bytes, &mut list).map_err(OpenError::List)?;
        Ok(list)
    }

    /// Reads any range of the stream. On a refusal `out` is wiped.
    fn read_stream(&self, at: u64, length: u64, out: &mut Vec<u8>) -> Result<u64, ReadRefusal> {
        let cipher = read(&self.cipher).clone();
        let cipher = cipher.ok_or(ReadRefusal::Locked)?;
        let end = at.saturating_add(length);
        let mut blocks = 0;
        let mut from = at;
        while from < end {
            let to = end.min(from.saturating_add(PIECE_BYTES as u64));
            match SCRATCH.with_borrow_mut(|scratch| self.piece(&cipher, from, to, scratch, out)) {
                Ok(count) => blocks += count,
                Err(refusal) => {
                    out.zeroize();
                    return Err(refusal);
                }
            }
            from = to;
        }
        Ok(blocks)
    }

    /// Reads the blocks that contain `from..to` with one system call and decrypts them.
    fn piece(
        &self,
        cipher: &Cipher,
        from: u64,
        to: u64,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<u64, ReadRefusal> {
        let size = self.header.block;
        let payload = size.payload_bytes() as u64;
        let (first, last) = (from / payload, to.div_ceil(payload));
        let window = scratch.sealed.window((last - first) as usize * size.disk_bytes());
        let filled = self.source.read(window, size.offset_of(first)).map_err(|_| ReadRefusal::Disk(first))?;
        for (number, on_disk) in (first..last).zip(window.chunks_exact(size.disk_bytes())) {
            if (number - first + 1) as usize * size.disk_bytes() > filled {
                return Err(ReadRefusal::Truncated(number));
            }
            let begins = number * payload;
            let skip = from.saturating_sub(begins) as usize;
            let keep = (to - begins).min(payload) as usize;
            open_part(cipher, size, (number, on_disk), skip..keep, &mut scratch.plain, out)?;
        }
        Ok(last - first)
    }
}

/// Decrypts a block and appends part of it: whole blocks straight into `out`, parts through `plain`.
fn open_part(
    cipher: &Cipher,
    size: BlockSize,
    (number, on_disk): (u64, &[u8]),
    part: std::ops::Range<usize>,
    plain: &mut Aligned,
    out: &mut Vec<u8>,
) -> Result<(), ReadRefusal> {
    let refused = |_| ReadRefusal::BlockNotGenuine(number);
    if part == (0..size.payload_bytes()) {
        let start = out.len();
        out.resize(start + part.len(), 0);
        let target = out.get_mut(start..).unwrap_or_default();
        return cipher.open(number, on_disk, target).map_err(refused);
    }
    let plain = plain.window(size.payload_bytes());
    cipher.open(number, on_disk, plain).map_err(refused)?;
    out.extend_from_slice(plain.get(part).unwrap_or_default());
    Ok(())
}

/// A thread's buffers.
#[derive(Default)]
struct Scratch {
    sealed: Aligned,
    plain: Aligned,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

fn read_header(source: &Source) -> Result<FileHeader, OpenError> {
    let mut page = Aligned::default();
    let page = page.window(HEADER_BYTES);
    let filled = source.read(page, 0)?;
    Ok(FileHeader::decode(page.get(..filled).unwrap_or_default())?)
}
