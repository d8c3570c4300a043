//! Unpackers of the content codings, behind one step.
//!
//! Measuring side. Reads untrusted input in bounded memory; knows no object.

use bakeoff_wire::http1::ContentCoding;
use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Decompress, FlushDecompress, Status};
use std::fmt;
use zstd::stream::raw::{DParameter, Decoder, Operation};

/// zlib's `MAX_WBITS`: what any server may have used.
const GZIP_WINDOW_BITS: u8 = 15;
/// 8 MB: no server may use more in a reply (RFC 9659).
const ZSTD_WINDOW_BITS: u32 = 23;

/// One of them, with its window.
pub(super) enum Unpacker {
    Gzip(Decompress),
    Brotli(Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>),
    Zstd(Decoder<'static>),
}

/// Outcome of a step.
pub(super) struct Step {
    /// Bytes that were taken.
    pub(super) used: usize,
    /// Bytes that were unpacked.
    pub(super) made: usize,
    /// Whether the body is whole.
    pub(super) ended: bool,
}

impl Unpacker {
    /// `None` for codings that are not unpacked here.
    pub(super) fn new(coding: ContentCoding) -> Option<Self> {
        match coding {
            ContentCoding::Gzip => Some(Self::Gzip(Decompress::new_gzip(GZIP_WINDOW_BITS))),
            ContentCoding::Brotli => {
                let alloc = StandardAlloc::default;
                Some(Self::Brotli(Box::new(BrotliState::new_strict(alloc(), alloc(), alloc()))))
            }
            ContentCoding::Zstd => {
                let mut decoder = Decoder::new().ok()?;
                decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_BITS)).ok()?;
                Some(Self::Zstd(decoder))
            }
            ContentCoding::Identity | ContentCoding::Other => None,
        }
    }

    /// Unpacks as much as there is room for; `None` where the bytes are not in the coding.
    pub(super) fn step(&mut self, bytes: &[u8], room: &mut [u8]) -> Option<Step> {
        match self {
            Self::Gzip(inflate) => {
                let (used, made) = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(bytes, room, FlushDecompress::None).ok()?;
                // No more than there is in both.
                let used = (inflate.total_in() - used) as usize;
                let made = (inflate.total_out() - made) as usize;
                Some(Step { used, made, ended: status == Status::StreamEnd })
            }
            Self::Brotli(state) => {
                let (mut used, mut made, mut total) = (0, 0, 0);
                let (mut left, mut free) = (bytes.len(), room.len());
                let result = BrotliDecompressStream(
                    &mut left, &mut used, bytes, &mut free, &mut made, room, &mut total, state,
                );
                let ended = match result {
                    BrotliResult::ResultFailure => return None,
                    BrotliResult::ResultSuccess => true,
                    BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => false,
                };
                Some(Step { used, made, ended })
            }
            Self::Zstd(decoder) => {
                let status = decoder.run_on_buffers(bytes, room).ok()?;
                let ended = status.remaining == 0;
                Some(Step { used: status.bytes_read, made: status.bytes_written, ended })
            }
        }
    }
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip(_) => "Gzip",
            Self::Brotli(_) => "Brotli",
            Self::Zstd(_) => "Zstd",
        })
    }
}
