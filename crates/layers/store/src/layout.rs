//! Vault file format: the header, and the positions of blocks.
//!
//! Measured side, cold; anybody who can write the file controls this input. Pure: bytes in, fields out. The header's
//! open part says which key is needed and how large the blocks are. The sealed part (counts of bytes and files) is
//! one authenticated ciphertext whose additional data is the open part, so no bit of either can change. Everything
//! else in the header's page is zero, and checked to be.
//!
//! The file is one page of header and then `blocks` blocks of equal size, each ciphertext and tag.
//! The plain bytes of all blocks in order are one stream: the contents of all files in the order of
//! the tree, padding to a block, the encoded tree, padding. A file begins where the one before it ends,
//! or at the next block when it would otherwise lie in one block more than it needs
//! ([`BlockSize::place`]): a small file is then read with as few blocks as any file system needs.

use thiserror::Error;

/// Bytes of the header's page. Blocks begin behind it, so that they lie on pages of the disk.
pub(crate) const HEADER_BYTES: usize = 4096;
/// Bytes of a tag of AES-GCM.
pub(crate) const TAG_BYTES: usize = 16;
/// Bytes of a vault's id: drawn at random for each seal.
pub(crate) const VAULT_ID_BYTES: usize = 32;
/// Bytes of the identifier of a store key: derived from it, it tells wrong keys from damaged headers.
pub(crate) const KEY_ID_BYTES: usize = 16;

/// First bytes of every vault: the last ones reveal transfers that change line ends.
const MAGIC: [u8; 16] = *b"bakeoff vault\r\n\x1a";
const FORMAT: u16 = 2;
/// AES-256-GCM, keys by HKDF-SHA-256.
const CIPHER: u8 = 1;
const OPEN_BYTES: usize = 88;
/// Plain bytes of the sealed part.
pub(crate) const SEALED_BYTES: usize = 128;
const SEALED_END: usize = OPEN_BYTES + SEALED_BYTES + TAG_BYTES;

/// Size of a block on disk: a power of two, from a page to 1 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize(u8);

impl BlockSize {
    /// Chosen by measurement (docs/layers/store.md).
    pub const DEFAULT: Self = Self(12);

    /// From bytes, if they are a power of two from 4096 to 1 MiB.
    pub fn from_bytes(bytes: u32) -> Option<Self> {
        let power = bytes.is_power_of_two().then(|| bytes.trailing_zeros())?;
        Self::from_power(u8::try_from(power).ok()?)
    }

    fn from_power(power: u8) -> Option<Self> {
        (12..=20).contains(&power).then_some(Self(power))
    }

    /// Bytes on disk, tag included.
    pub fn disk_bytes(self) -> usize {
        1 << self.0
    }

    /// Bytes of plain text.
    pub fn payload_bytes(self) -> usize {
        self.disk_bytes() - TAG_BYTES
    }

    /// Blocks that hold so many plain bytes.
    pub fn blocks_for(self, plain_bytes: u64) -> u64 {
        plain_bytes.div_ceil(self.payload_bytes() as u64)
    }

    /// Start in the stream of a file of `size` bytes, if the one before it ends at `next`; `None` on overflow.
    pub(crate) fn place(self, next: u64, size: u64) -> Option<u64> {
        let payload = self.payload_bytes() as u64;
        let within = next % payload;
        let touched = within.checked_add(size)?.div_ceil(payload);
        let begins = match size > 0 && touched > size.div_ceil(payload) {
            true => next.checked_add(payload - within)?,
            false => next,
        };
        begins.checked_add(size).map(|_| begins)
    }

    /// Offset of a block in the file; saturates, which is past any end.
    pub fn offset_of(self, block: u64) -> u64 {
        block.saturating_mul(self.disk_bytes() as u64).saturating_add(HEADER_BYTES as u64)
    }
}

/// The open part of a header, and its sealed part as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Size of the blocks.
    pub block: BlockSize,
    /// Drawn at random when the vault was sealed; its keys are derived with it.
    pub vault_id: [u8; VAULT_ID_BYTES],
    /// Identifier of the store key that sealed the vault.
    pub key_id: [u8; KEY_ID_BYTES],
    /// Rises with each seal under the same store key.
    pub sequence: u64,
    /// Number of blocks in the file.
    pub blocks: u64,
    /// Ciphertext and tag of [`Extent`].
    pub(crate) sealed: [u8; SEALED_BYTES + TAG_BYTES],
}

/// Content of the sealed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Bytes of the stream that hold files, gaps between them included; they begin at block 0.
    pub(crate) stream_bytes: u64,
    /// Bytes of the encoded tree; it begins at the block behind the data.
    pub(crate) tree_bytes: u64,
    /// Seconds since 1970 when it was sealed.
    pub(crate) sealed_at_s: u64,
}

/// Reasons why a header is invalid.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HeaderError {
    /// Shorter than a header, or another kind of file.
    #[error("this is not a vault")]
    NotAVault,
    /// A newer bakeoff wrote it.
    #[error("the vault's format is not known; read it with the bakeoff that made it")]
    UnknownFormat,
    /// An unknown cipher.
    #[error("the vault's cipher is not known; read it with the bakeoff that made it")]
    UnknownCipher,
    /// A field with an invalid value.
    #[error("the vault's header is damaged")]
    Damaged,
}

impl FileHeader {
    /// The bytes of the header's page.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut page = [0; HEADER_BYTES];
        let (open, rest) = page.split_at_mut(OPEN_BYTES);
        open.copy_from_slice(&self.open_part());
        for (to, from) in rest.iter_mut().zip(self.sealed) {
            *to = from;
        }
        page
    }

    /// The open part, which the sealed part is bound to.
    pub(crate) fn open_part(&self) -> [u8; OPEN_BYTES] {
        let mut out = Vec::with_capacity(OPEN_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&[CIPHER, self.block.0]);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.vault_id);
        out.extend_from_slice(&self.key_id);
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.blocks.to_le_bytes());
        let mut part = [0; OPEN_BYTES];
        for (to, from) in part.iter_mut().zip(out) {
            *to = from;
        }
        part
    }

    /// Reads a header's page. Nothing is authenticated yet.
    ///
    /// # Errors
    /// The fault.
    pub fn decode(page: &[u8]) -> Result<Self, HeaderError> {
        let page: &[u8; HEADER_BYTES] =
            page.first_chunk().filter(|page| page.starts_with(&MAGIC)).ok_or(HeaderError::NotAVault)?;
        if field::<2>(page, 16) != FORMAT.to_le_bytes() {
            return Err(HeaderError::UnknownFormat);
        }
        let [cipher, power] = field::<2>(page, 18);
        if cipher != CIPHER {
            return Err(HeaderError::UnknownCipher);
        }
        let block = BlockSize::from_power(power).ok_or(HeaderError::Damaged)?;
        let blank = page.get(SEALED_END..).is_some_and(|rest| rest.iter().all(|byte| *byte == 0));
        if field::<4>(page, 20) != [0; 4] || !blank {
            return Err(HeaderError::Damaged);
        }
        Ok(Self {
            block,
            vault_id: field(page, 24),
            key_id: field(page, 56),
            sequence: u64::from_le_bytes(field(page, 72)),
            blocks: u64::from_le_bytes(field(page, 80)),
            sealed: field(page, OPEN_BYTES),
        })
    }

    /// Required length of the file; `None` on overflow.
    pub fn file_bytes(&self) -> Option<u64> {
        let body = self.blocks.checked_mul(self.block.disk_bytes() as u64)?;
        body.checked_add(HEADER_BYTES as u64)
    }
}

impl Extent {
    pub(crate) fn encode(&self) -> [u8; SEALED_BYTES] {
        let mut out = [0; SEALED_BYTES];
        let fields = [self.stream_bytes, self.tree_bytes, self.sealed_at_s];
        for (to, from) in out.iter_mut().zip(fields.iter().flat_map(|field| field.to_le_bytes())) {
            *to = from;
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8; SEALED_BYTES]) -> Self {
        Self {
            stream_bytes: u64::from_le_bytes(field(bytes, 0)),
            tree_bytes: u64::from_le_bytes(field(bytes, 8)),
            sealed_at_s: u64::from_le_bytes(field(bytes, 16)),
        }
    }
}

/// `N` bytes from `at`; zeros if the bytes are too short, which the callers' array types rule out.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> FileHeader {
        FileHeader {
            block: BlockSize::DEFAULT,
            vault_id: [1; 32],
            key_id: [2; 16],
            sequence: 3,
            blocks: 4,
            sealed: [5; SEALED_BYTES + TAG_BYTES],
        }
    }

    #[test]
    fn a_header_read_back_is_the_same() {
        assert_eq!(FileHeader::decode(&header().encode()), Ok(header()));
        assert_eq!(header().file_bytes(), Some(4096 + 4 * 4096));
    }

    #[test]
    fn a_byte_where_nothing_belongs_is_refused() {
        for at in (20..24).chain(SEALED_END..HEADER_BYTES) {
            let mut page = header().encode();
            page[at] = 1;
            assert_eq!(FileHeader::decode(&page), Err(HeaderError::Damaged), "byte {at}");
        }
    }

    #[test]
    fn what_is_not_ours_is_named() {
        let changed = |at: usize, to: u8| {
            let mut page = header().encode();
            page[at] = to;
            FileHeader::decode(&page)
        };
        assert_eq!(changed(0, b'B'), Err(HeaderError::NotAVault));
        assert_eq!(changed(16, 1), Err(HeaderError::UnknownFormat));
        assert_eq!(changed(18, 9), Err(HeaderError::UnknownCipher));
        assert_eq!(changed(19, 11), Err(HeaderError::Damaged));
        assert_eq!(FileHeader::decode(&header().encode()[..4095]), Err(HeaderError::NotAVault));
    }

    #[test]
    fn block_sizes_are_powers_of_two_from_a_page_to_a_mebibyte() {
        assert_eq!(BlockSize::from_bytes(4096), Some(BlockSize::DEFAULT));
        for wrong in [0, 1, 2048, 5000, 2 << 20] {
            assert_eq!(BlockSize::from_bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_lies_in_no_more_blocks_than_it_needs() {
        let size = BlockSize::DEFAULT;
        let payload = size.payload_bytes() as u64;
        assert_eq!(size.place(10, payload - 10), Some(10), "it ends with the block");
        assert_eq!(size.place(10, payload - 9), Some(payload));
        assert_eq!(size.place(10, 2 * payload - 10), Some(10), "its tail fits");
        assert_eq!(size.place(10, 2 * payload), Some(payload));
        assert_eq!(size.place(10, 0), Some(10), "an empty file is nowhere");
        assert_eq!(size.place(payload, 1), Some(payload));
        assert_eq!(size.place(u64::MAX, 1), None);
        assert_eq!(size.place(u64::MAX - 1, payload), None);
    }

    #[test]
    fn extents_come_back() {
        let extent = Extent { stream_bytes: 7, tree_bytes: u64::MAX, sealed_at_s: 9 };
        assert_eq!(Extent::decode(&extent.encode()), extent);
    }
}
