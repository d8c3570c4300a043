//! Bucket layout of histograms: HdrHistogram's for 1 ns to one hour and three significant digits.
//!
//! Hot: [`bucket_of`] is called four times a reply. The one place that knows the layout; nothing here holds counts.

/// Longest time that is told apart: one hour. Longer ones are recorded as one hour, once they lie
/// beyond the last bucket, which begins above it.
pub(crate) const HIGHEST_NANOS: u64 = 3_600_000_000_000;
/// Decimal digits kept of every value: the error is at most 0.05 %.
pub(crate) const SIGNIFICANT_DIGITS: u8 = 3;

/// Buckets of an octave: HdrHistogram's half of 2048, the power of two that three digits need.
pub(crate) const OCTAVE: usize = 1024;
/// Buckets up to an hour, which is less than 2^42 ns: 31 octaves above the first 2048 ns.
pub(crate) const BUCKETS: usize = 33 * OCTAVE;

/// The upper edges of all buckets in nanoseconds, ascending.
pub fn edges_ns() -> Vec<u64> {
    (0..BUCKETS).map(edge_ns).collect()
}

/// The longest time that is counted in this bucket.
pub(crate) fn edge_ns(bucket: usize) -> u64 {
    match (bucket / OCTAVE).checked_sub(1) {
        None => bucket as u64,
        Some(octave) => (((bucket % OCTAVE + OCTAVE + 1) as u64) << octave) - 1,
    }
}

/// The bucket that counts this time; not below [`BUCKETS`] when there is none.
#[inline]
pub(crate) fn bucket_of(ns: u64) -> usize {
    let octave = (64 - (ns | (2 * OCTAVE as u64 - 1)).leading_zeros() as usize) - 11;
    octave * OCTAVE + (ns >> octave) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_is_its_own_bucket_s() {
        let edges = edges_ns();
        assert!(edges.is_sorted_by(|a, b| a < b) && edges.iter().any(|edge| *edge >= HIGHEST_NANOS));
        for (bucket, edge) in edges.iter().enumerate() {
            assert_eq!(bucket_of(*edge), bucket);
            assert_eq!(bucket_of(*edge + 1), bucket + 1, "edges are the last of their bucket");
        }
        assert!(bucket_of(u64::MAX) >= BUCKETS);
    }
}
