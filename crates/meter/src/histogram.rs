//! Lossless latency histograms: HdrHistogram, three significant digits, merged and never averaged.

use bakeoff_units::Nanos;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest time that is told apart: one hour. Longer ones are recorded as one hour.
pub(crate) const HIGHEST_NANOS: u64 = 3_600_000_000_000;
/// Decimal digits kept of every value: the error is at most 0.05 %.
pub(crate) const SIGNIFICANT_DIGITS: u8 = 3;

/// Counts of times in nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
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

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty one.
    pub fn new() -> Self {
        // The bounds are constants that satisfy the crate's rules (low >= 1, high >= 2 * low).
        let inner = hdrhistogram::Histogram::new_with_bounds(1, HIGHEST_NANOS, SIGNIFICANT_DIGITS)
            .expect("constant bounds are valid");
        Self { inner }
    }

    /// Counts one time.
    pub fn record(&mut self, time: Nanos) {
        self.inner.saturating_record(time.get());
    }

    /// Counts one time so many times.
    pub(crate) fn record_many(&mut self, time: Nanos, count: u64) {
        self.inner.saturating_record_n(time.get(), count);
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        // Cannot fail: both have the same bounds.
        let merged = self.inner.add(&other.inner);
        debug_assert!(merged.is_ok(), "histograms of one kind have one range");
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.inner.clear();
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// The value at quantile `q` (0 to 1), zero when empty.
    pub fn quantile(&self, q: f64) -> Nanos {
        if self.count() == 0 { Nanos::ZERO } else { Nanos::new(self.inner.value_at_quantile(q)) }
    }

    /// The usual points.
    pub fn quantiles(&self) -> Quantiles {
        if self.count() == 0 {
            return Quantiles::default();
        }
        Quantiles {
            p50: self.inner.value_at_quantile(0.5),
            p90: self.inner.value_at_quantile(0.9),
            p99: self.inner.value_at_quantile(0.99),
            p999: self.inner.value_at_quantile(0.999),
            max: self.inner.max(),
            count: self.count(),
        }
    }

    /// Mean in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.inner.mean()
    }

    /// Non-empty buckets as (upper edge in ns, count), ascending.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.inner.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
    }

    /// The interchange form of all HdrHistogram tools: V2, deflated, base64. Empty when empty.
    pub fn encode(&self) -> String {
        if self.count() == 0 {
            return String::new();
        }
        let mut bytes = Vec::new();
        // Writing into memory cannot fail and the counts fit u64.
        if V2DeflateSerializer::new().serialize(&self.inner, &mut bytes).is_err() {
            return String::new();
        }
        STANDARD_NO_PAD.encode(bytes)
    }

    /// Reads what [`Histogram::encode`] wrote.
    ///
    /// # Errors
    /// When the text is no base64 or no V2 histogram.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        let mut whole = Self::new();
        if text.is_empty() {
            return Ok(whole);
        }
        let bytes = STANDARD_NO_PAD.decode(text).map_err(|error| DecodeError(error.to_string()))?;
        let read: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| DecodeError(error.to_string()))?;
        whole.inner.add(read).map_err(|error| DecodeError(error.to_string()))?;
        Ok(whole)
    }
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
}
