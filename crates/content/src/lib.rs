//! Object bytes as pure functions of an id.
//!
//! Measuring side; used by the origin process, by the writer of a site on disk, and by the load generator's check of
//! replies. Hot path in all three: no copy, no allocation. Owns the bytes of an object. Does not know paths on disk,
//! sockets or logs.
//!
//! Every body is a window into one pool of seeded random bytes: incompressible for any window
//! coder, ready to be handed to `writev`, and checkable by comparison. The window starts where the
//! object's id says, so that another object's body is recognised by its first bytes. A body that is to
//! be compressible is a window into a pool in which a share of the bytes is filler.

#![forbid(unsafe_code)]

mod catalogue;
mod distribution;
mod gzip;
mod mix;
mod pool;
pub mod world;

pub use catalogue::{Catalogue, CatalogueError, LAST_MODIFIED, MODIFIED_SECS, normal_path};
pub use distribution::{Distribution, DistributionError};
pub use gzip::{GZIP_AT_MOST_BYTES, GzipPacker};
pub use mix::{GOLDEN, SplitMix64, mix64, unit_of, unmix64};
use pool::{POOL_LEN, pool};

/// Names one object; equal ids have equal bytes at every offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId(u64);

impl ObjectId {
    /// The id of the object with this name (a path without query). FNV-1a, mixed.
    pub fn of_name(name: &[u8]) -> Self {
        let hash = name
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
        Self(mix64(hash))
    }

    /// The id as a number, for names and tests.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// One object's body: `len` bytes determined by the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Body {
    id: ObjectId,
    len: u64,
    /// Share of the bytes that are filler, 0 to 100 %.
    filler_percent: u8,
}

impl Body {
    /// The body of the object `id` when it is `len` bytes long.
    pub const fn new(id: ObjectId, len: u64) -> Self {
        Self { id, len, filler_percent: 0 }
    }

    /// A body of which `percent` % (at most 100) of the bytes, in runs of 64, are one and the same: a
    /// window coder is left with about the rest. Bodies may begin with such a run, so another
    /// object's is recognised by its first random one.
    pub const fn compressible(id: ObjectId, len: u64, percent: u8) -> Self {
        Self { id, len, filler_percent: if percent > 100 { 100 } else { percent } }
    }

    /// As many bytes of another object.
    #[must_use]
    pub const fn of(self, id: ObjectId) -> Self {
        Self { id, ..self }
    }

    /// Builds the pool that this body is a window into now, so that no first request pays for it.
    pub fn prepare(&self) {
        let _ = pool(self.filler_percent);
    }

    /// The object of which it is.
    pub const fn id(&self) -> ObjectId {
        self.id
    }

    /// Length in bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Share of the bytes that are filler, in percent.
    pub(crate) const fn filler_percent(&self) -> u8 {
        self.filler_percent
    }

    /// Whether there are no bytes at all.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A run of body bytes from `offset` on: as long as it lies in one piece, empty at the end.
    pub fn from(&self, offset: u64) -> &'static [u8] {
        let pool = pool(self.filler_percent);
        let start = ((self.id.0 % POOL_LEN as u64 + offset % POOL_LEN as u64) % POOL_LEN as u64) as usize;
        let left = self.len.saturating_sub(offset);
        let in_piece = (POOL_LEN - start) as u64;
        &pool[start..start + left.min(in_piece) as usize]
    }

    /// Whether `bytes` are those at `offset`.
    pub fn matches(&self, mut offset: u64, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let expected = self.from(offset);
            let n = expected.len().min(bytes.len());
            if n == 0 || expected[..n] != bytes[..n] {
                return false;
            }
            bytes = &bytes[n..];
            offset += n as u64;
        }
        true
    }

    /// Writes the whole body, for a file on disk.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_to(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        let mut offset = 0;
        while offset < self.len {
            let piece = self.from(offset);
            out.write_all(piece)?;
            offset += piece.len() as u64;
        }
        Ok(())
    }
}

/// Builds the pool of random bytes now, so that no first request pays for it.
pub fn prepare() {
    let _ = pool(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_the_same_however_it_is_read() {
        let body = Body::new(ObjectId::of_name(b"/a"), 10_000_000);
        let mut whole = Vec::new();
        body.write_to(&mut whole).unwrap();
        assert_eq!(whole.len(), 10_000_000);
        assert!(body.matches(0, &whole));
        for offset in [0_usize, 1, 4_194_300, 4_194_301, 4_194_302, 9_999_999] {
            let piece = body.from(offset as u64);
            assert_eq!(piece, &whole[offset..offset + piece.len()]);
            assert!(body.matches(offset as u64, &whole[offset..]));
        }
    }

    #[test]
    fn another_object_a_changed_byte_and_a_byte_too_many_are_noticed() {
        let body = Body::new(ObjectId::of_name(b"/a"), 100);
        let other = Body::new(ObjectId::of_name(b"/b"), 100);
        assert!(!body.matches(0, &other.from(0)[..8]));
        let mut bytes = body.from(0).to_vec();
        bytes[99] ^= 1;
        assert!(!body.matches(0, &bytes));
        bytes[99] ^= 1;
        bytes.push(0);
        assert!(!body.matches(0, &bytes));
    }

    /// The bytes are a promise between versions: recorded runs stay comparable.
    #[test]
    fn the_first_bytes_never_change() {
        let id = ObjectId::of_name(b"/index.html");
        let word = u64::from_le_bytes(Body::new(id, 8).from(0).try_into().unwrap());
        assert_eq!((id.get(), word), (GOLDEN_ID, GOLDEN_WORD));
    }
    const GOLDEN_ID: u64 = 17_774_974_476_708_365_351;
    const GOLDEN_WORD: u64 = 4_470_755_725_112_052_274;
}
