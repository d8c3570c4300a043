//! HPACK (RFC 7541): header fields to bytes and back.
//!
//! Both sides. Hot, reads untrusted input: never panics, sizes are bounded, and in steady state nothing is allocated.
//! Owns the compressed form; the roles know which fields a message needs.

mod decoder;
mod dynamic;
mod encoder;
mod fixed;
mod huffman;
pub(super) mod sound;

pub use decoder::HpackDecoder;
pub use encoder::Encoder;

/// Default size of a dynamic table (RFC 9113 section 6.5.2), in bytes.
pub const DEFAULT_TABLE_BYTES: u32 = 4096;

/// Error in a header block. The connection is lost: its tables differ from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    /// The block ends inside a field.
    #[error("the header block ends inside a field")]
    Truncated,
    /// A number of more than 32 bits, or in more bytes than that needs.
    #[error("a number in the header block is too large")]
    Number,
    /// An index behind both tables, or 0.
    #[error("an index in the header block names no field")]
    Index,
    /// A string that is no Huffman code.
    #[error("a string in the header block is no Huffman code")]
    Huffman,
    /// A change of the table's size that is too large or stands behind a field.
    #[error("the dynamic table's size is changed wrongly")]
    SizeUpdate,
    /// More than the list of fields may have.
    #[error("the header fields are larger than was agreed")]
    ListTooLarge,
}
