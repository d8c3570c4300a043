//! Lossless latency histograms: HdrHistogram, three significant digits, merged and never averaged.
//!
//! Hot: [`Histogram::record`] runs four times a reply on the generator's threads, so counts are a plain array in the
//! library's layout. Readers go through the library's own form, made on demand: quantiles, means and the stored bytes
//! are the library's, and must stay so.

use crate::layout::{BUCKETS, HIGHEST_NANOS, OCTAVE, SIGNIFICANT_DIGITS, bucket_of, edge_ns};
use bakeoff_units::Nanos;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The library's form.
type Library = hdrhistogram::Histogram<u64>;

/// Counts of times in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// By bucket, up to the octave of the longest time so far: 8 KB an octave, empty when nothing was counted.
    counts: Vec<u64>,
}

/// The usual points of a distribution, in nanoseconds; all zero when nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest.
    pub max: u64,
    /// How many times were counted.
    pub count: u64,
}

/// A stored histogram that cannot be read back.
#[derive(Debug, thiserror::Error)]
#[error("a stored histogram cannot be read: {0}")]
pub struct DecodeError(String);

impl Histogram {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one time.
    #[inline]
    pub fn record(&mut self, time: Nanos) {
        self.record_many(time, 1);
    }

    /// Counts one time so many times.
    #[inline]
    pub(crate) fn record_many(&mut self, time: Nanos, count: u64) {
        match self.counts.get_mut(bucket_of(time.get())) {
            Some(sum) => *sum = sum.saturating_add(count),
            None => self.record_beyond(time, count),
        }
    }

    /// Counts a time that is longer than all before; one beyond the last bucket counts as an hour.
    #[cold]
    fn record_beyond(&mut self, time: Nanos, count: u64) {
        let bucket = Some(bucket_of(time.get())).filter(|bucket| *bucket < BUCKETS);
        let bucket = bucket.unwrap_or_else(|| bucket_of(HIGHEST_NANOS));
        self.grow(bucket + 1);
        self.counts[bucket] = self.counts[bucket].saturating_add(count);
    }

    /// Makes room for so many buckets at least.
    fn grow(&mut self, buckets: usize) {
        if buckets > self.counts.len() {
            let whole = buckets.next_multiple_of(OCTAVE);
            // Exactly: a vector left to itself would take twice as much.
            self.counts.reserve_exact(whole - self.counts.len());
            self.counts.resize(whole, 0);
        }
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.grow(other.counts.len());
        for (sum, more) in self.counts.iter_mut().zip(&other.counts) {
            *sum = sum.saturating_add(*more);
        }
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Number of times counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The value at quantile `q` (0 to 1), zero when empty.
    pub fn quantile(&self, q: f64) -> Nanos {
        if self.is_empty() { Nanos::ZERO } else { Nanos::new(self.library().value_at_quantile(q)) }
    }

    /// The usual points.
    pub fn quantiles(&self) -> Quantiles {
        if self.is_empty() {
            return Quantiles::default();
        }
        let library = self.library();
        Quantiles {
            p50: library.value_at_quantile(0.5),
            p90: library.value_at_quantile(0.9),
            p99: library.value_at_quantile(0.99),
            p999: library.value_at_quantile(0.999),
            max: library.max(),
            count: library.len(),
        }
    }

    /// Mean in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.library().mean()
    }

    /// Non-empty buckets as (upper edge in ns, count), ascending.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.counted().map(|(bucket, count)| (edge_ns(bucket), count)).collect()
    }

    /// Non-empty buckets and their counts, ascending.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    fn is_empty(&self) -> bool {
        self.counted().next().is_none()
    }

    /// The interchange form of all HdrHistogram tools: V2, deflated, base64. Empty when empty.
    pub fn encode(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut bytes = Vec::new();
        // Writing into memory cannot fail and the counts fit u64.
        if V2DeflateSerializer::new().serialize(&self.library(), &mut bytes).is_err() {
            return String::new();
        }
        STANDARD_NO_PAD.encode(bytes)
    }

    /// Reads the text of [`Histogram::encode`].
    ///
    /// # Errors
    ///
    /// When the text is no base64 or no V2 histogram.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        if text.is_empty() {
            return Ok(Self::new());
        }
        let bytes = STANDARD_NO_PAD.decode(text).map_err(|error| DecodeError(error.to_string()))?;
        let read: Library = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| DecodeError(error.to_string()))?;
        // A histogram that was read may have other bounds; in the sum it has ours.
        let mut sum = empty_library();
        sum.add(read).map_err(|error| DecodeError(error.to_string()))?;
        let mut whole = Self::new();
        for step in sum.iter_recorded() {
            whole.record_many(Nanos::new(step.value_iterated_to()), step.count_at_value());
        }
        Ok(whole)
    }

    fn library(&self) -> Library {
        let mut library = empty_library();
        self.counted().for_each(|(bucket, count)| library.saturating_record_n(edge_ns(bucket), count));
        library
    }
}

fn empty_library() -> Library {
    // The bounds are constants that satisfy the crate's rules (low >= 1, high >= 2 * low).
    Library::new_with_bounds(1, HIGHEST_NANOS, SIGNIFICANT_DIGITS).expect("constant bounds are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_known_ramp() {
        let mut histogram = Histogram::new();
        for micros in 1..=1000 {
            histogram.record(Nanos::from_micros(micros));
        }
        let q = histogram.quantiles();
        for (found, truth) in [(q.p50, 500_000), (q.p90, 900_000), (q.p99, 990_000), (q.max, 1_000_000)] {
            assert!((found as f64 / f64::from(truth) - 1.0).abs() < 0.001, "{found} is not {truth}");
        }
        assert_eq!(q.count, 1000);
    }

    /// The stall scenario of HdrHistogram's own tests: 100 s at 1 ms each, then one stall.
    #[test]
    fn a_stall_is_in_the_tail_and_not_in_the_median() {
        let mut histogram = Histogram::new();
        for _ in 0..10_000 {
            histogram.record(Nanos::from_millis(1));
        }
        histogram.record(Nanos::from_secs(100));
        assert_eq!(histogram.quantile(0.5).get() / 1_000_000, 1);
        assert!(histogram.quantile(1.0) >= Nanos::from_secs(99));
    }

    #[test]
    fn stored_and_merged_histograms_lose_nothing() {
        let mut a = Histogram::new();
        let mut b = Histogram::new();
        for i in 1..500_u64 {
            a.record(Nanos::new(i * 977));
            b.record(Nanos::new(i * 104_729));
        }
        let read = Histogram::decode(&a.encode()).unwrap();
        assert_eq!(read.buckets(), a.buckets());
        a.merge(&b);
        assert_eq!(a.count(), 998);
        assert_eq!(Histogram::decode("").unwrap().count(), 0);
        assert!(Histogram::decode("?").is_err() && Histogram::decode("AAAA").is_err());
    }

    #[test]
    fn times_beyond_an_hour_count_as_an_hour() {
        let mut histogram = Histogram::new();
        histogram.record(Nanos::MAX);
        assert_eq!(histogram.count(), 1);
    }

    /// The library fed with the same times, for comparison with each of our answers.
    #[derive(Clone)]
    struct Both(Histogram, Library);

    impl Both {
        fn new() -> Self {
            Self(Histogram::new(), empty_library())
        }

        fn record_many(&mut self, ns: u64, count: u64) {
            self.0.record_many(Nanos::new(ns), count);
            self.1.saturating_record_n(ns, count);
        }

        fn agree(&self) {
            let Self(ours, library) = self;
            assert_eq!(ours.count(), library.len());
            assert_eq!(ours.mean_ns().to_bits(), library.mean().to_bits());
            assert_eq!(ours.quantiles().max, library.max());
            for q in [-1.0, 0.0, 1e-9, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0, 2.0] {
                assert_eq!(ours.quantile(q).get(), library.value_at_quantile(q), "{q}");
            }
            let steps = library.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()));
            assert!(steps.eq(ours.buckets()));
            let mut bytes = Vec::new();
            V2DeflateSerializer::new().serialize(library, &mut bytes).unwrap();
            let text = if library.is_empty() { String::new() } else { STANDARD_NO_PAD.encode(bytes) };
            assert_eq!(ours.encode(), text, "the stored bytes are the library's");
            assert_eq!(Histogram::decode(&text).unwrap().buckets(), ours.buckets());
        }
    }

    /// Times of every size, with a seed.
    fn random(seed: u64, times: usize) -> Both {
        let (mut both, mut state) = (Both::new(), seed);
        for turn in 0..times {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            both.record_many((state >> 1) >> (turn * 7 % 64), 1 + (state >> 60));
        }
        both
    }

    #[test]
    fn every_answer_is_the_library_s() {
        Both::new().agree();
        for seed in 0..30 {
            let (mut one, two) = (random(seed, 1 + seed as usize * 20), random(seed + 1000, 50));
            one.agree();
            one.0.merge(&two.0);
            one.1.add(&two.1).unwrap();
            one.agree();
        }
    }

    #[test]
    fn times_at_every_edge_are_counted_where_the_library_counts_them() {
        let mut all = Both::new();
        let hour = [HIGHEST_NANOS - 1, HIGHEST_NANOS, HIGHEST_NANOS + 1, u64::MAX - 1, u64::MAX];
        for ns in (0..64).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]).chain(hour) {
            let mut one = Both::new();
            one.record_many(ns, 3);
            one.agree();
            all.record_many(ns, 1);
        }
        all.agree();
    }

    #[test]
    fn memory_grows_with_the_longest_time_and_is_none_before_the_first() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.counts.capacity(), 0);
        histogram.record(Nanos::from_millis(1));
        let octaves = histogram.counts.capacity() / OCTAVE;
        assert_eq!(octaves, 11, "2048 ns are two octaves; nine doublings lead to 1.05 ms");
        histogram.clear();
        assert_eq!((histogram.count(), histogram.quantiles()), (0, Quantiles::default()));
        assert_eq!(histogram.counts.capacity() / OCTAVE, octaves);
        histogram.record(Nanos::MAX);
        assert_eq!(histogram.counts.capacity(), BUCKETS);
    }
}
