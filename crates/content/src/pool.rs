//! Pools of bytes, into which bodies are windows.
//!
//! Hot: one look-up a piece. A pool is built when it is first asked for and stays: 4 MiB for random
//! bytes, and as much for each degree of compressibility that is in use.

use crate::mix::SplitMix64;
use std::sync::OnceLock;

/// Bytes in a pool: a prime, so that windows of round sizes do not line up; about 4 MiB, beyond
/// a core's second-level cache as real files are.
pub(crate) const POOL_LEN: usize = 4_194_301;
/// The pool's own seed. Changing it changes every object.
const POOL_SEED: u64 = 0xBA4E_0FF0_0000_0001;
/// The byte of compressible runs.
const FILLER: u8 = b' ';
/// Length of such a run, and of the random ones between: a window coder spends some 3 bytes on it,
/// and the random bytes around it are too few to be far apart.
const RUN_LEN: usize = 64;

/// The pool with this share of filler, 0 to 100 %.
#[inline]
pub(crate) fn pool(filler_percent: u8) -> &'static [u8] {
    static POOLS: [OnceLock<Vec<u8>>; 101] = [const { OnceLock::new() }; 101];
    POOLS[usize::from(filler_percent)].get_or_init(|| build(usize::from(filler_percent)))
}

fn build(filler_percent: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(POOL_SEED);
    let mut bytes = Vec::with_capacity(POOL_LEN + 8);
    while bytes.len() < POOL_LEN {
        bytes.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    bytes.truncate(POOL_LEN);
    for (at, run) in bytes.chunks_mut(RUN_LEN).enumerate() {
        // As evenly spread as whole runs can be: this one is filler when the share's sum passes a whole one.
        if at * filler_percent / 100 < (at + 1) * filler_percent / 100 {
            run.fill(FILLER);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, ObjectId};
    use std::io::Write;

    #[test]
    fn filler_has_the_share_asked_for_and_the_rest_is_as_it_was() {
        for percent in [0_u8, 1, 37, 50, 100] {
            let (whole, part) = (pool(0), pool(percent));
            let filler = part.chunks(RUN_LEN).filter(|run| run.iter().all(|&b| b == FILLER)).count();
            let asked = usize::from(percent) * POOL_LEN.div_ceil(RUN_LEN) / 100;
            assert_eq!(filler, asked, "{percent} %");
            let changed = whole.chunks(RUN_LEN).zip(part.chunks(RUN_LEN)).filter(|(a, b)| a != b).count();
            assert_eq!(changed, asked, "{percent} %");
        }
    }

    #[test]
    fn a_window_coder_is_left_with_about_the_random_share() {
        for (percent, least, most) in
            [(0_u8, 0.999, 1.01), (30, 0.70, 0.74), (50, 0.50, 0.55), (80, 0.20, 0.24)]
        {
            let body = Body::compressible(ObjectId::of_name(b"/a"), 200_000, percent);
            let mut coder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
            body.write_to(&mut coder).unwrap();
            coder.flush().unwrap();
            let left = coder.finish().unwrap().len() as f64 / 200_000.0;
            assert!((least..most).contains(&left), "{percent} %: {left}");
        }
    }
}
