//! Bodies in gzip (RFC 1952), as an origin sends them to clients that accept it.
//!
//! Measuring side, origin process. Owns the packing and its bound. Keeps nothing of an object: a body is packed anew
//! each time, into the same bytes.

use crate::Body;
use flate2::{Compress, Compression, FlushCompress, Status};

/// The longest body that exists in gzip, too: larger ones are not packed while a client waits, as packing holds up the
/// thread that does it.
pub const GZIP_AT_MOST_BYTES: u64 = 1 << 20;
/// zlib's `MAX_WBITS`.
const WINDOW_BITS: u8 = 15;
/// Room that there is before each step, so that each gets on.
const STEP_BYTES: usize = 16 * 1024;

/// Packs bodies, one after the other, at the fastest level. Its memory stays.
#[derive(Debug)]
pub struct GzipPacker {
    compress: Compress,
}

impl Default for GzipPacker {
    fn default() -> Self {
        Self { compress: Compress::new_gzip(Compression::fast(), WINDOW_BITS) }
    }
}

impl GzipPacker {
    /// The body in gzip; `None` should the library refuse, which it has no reason for.
    pub fn pack(&mut self, body: &Body) -> Option<Vec<u8>> {
        self.compress.reset();
        let mut packed = Vec::new();
        loop {
            let rest = body.from(self.compress.total_in());
            let is_last = self.compress.total_in() + rest.len() as u64 == body.len();
            let flush = if is_last { FlushCompress::Finish } else { FlushCompress::None };
            packed.reserve(STEP_BYTES);
            if self.compress.compress_vec(rest, &mut packed, flush).ok()? == Status::StreamEnd {
                return Some(packed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;
    use flate2::read::GzDecoder;
    use std::io::Read;

    #[test]
    fn what_is_packed_is_unpacked_as_the_same() {
        let mut packer = GzipPacker::default();
        for len in [0, 1, 63, 64, 65, 13_000, 70_000, GZIP_AT_MOST_BYTES] {
            for name in [&b"/a"[..], b"/b"] {
                let body = Body::compressible(ObjectId::of_name(name), len, 60);
                let packed = packer.pack(&body).unwrap();
                let mut unpacked = Vec::new();
                GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
                assert_eq!(unpacked.len() as u64, len);
                assert!(body.matches(0, &unpacked));
                assert_eq!(packer.pack(&body), Some(packed), "it is the same each time");
            }
        }
    }

    #[test]
    fn bodies_across_the_pool_s_end_are_packed_whole() {
        let body = Body::compressible(ObjectId(crate::POOL_LEN as u64 - 100), 5_000, 60);
        assert_eq!(body.from(0).len(), 100, "in two pieces");
        let mut unpacked = Vec::new();
        let packed = GzipPacker::default().pack(&body).unwrap();
        GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked.len() == 5_000 && body.matches(0, &unpacked));
    }

    #[test]
    fn what_compresses_gets_smaller_by_about_that_and_random_bytes_a_little_larger() {
        for (percent, most) in [(60, 0.55), (0, 1.07)] {
            let body = Body::compressible(ObjectId::of_name(b"/a"), 100_000, percent);
            let share = GzipPacker::default().pack(&body).unwrap().len() as f64 / 100_000.0;
            assert!(share < most && share > most - 0.15, "{percent} %: {share}");
        }
    }
}
