//! Compact stored histograms, read back by the thousand: only the non-empty buckets.
//!
//! Cold, but the bulk of every analysis. A whole [`Histogram`] takes 100 KB and more, a slice's buckets some 2 KB: the
//! payload of the stored form itself (HdrHistogram's V2: a signed number a bucket, or minus the number of empty ones,
//! as variable-length integers), inflated and checked once. Text in another form than [`Histogram::encode`] writes goes
//! through the library, which also words the errors.

use crate::layout::{BUCKETS, HIGHEST_NANOS, SIGNIFICANT_DIGITS, edge_ns};
use crate::{DecodeError, Histogram};
use bakeoff_units::Nanos;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use flate2::{Decompress, FlushDecompress, Status};

/// "V2, deflated" and "V2", as HdrHistogram writes them.
const DEFLATED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;
/// Bytes before the deflated part, and before the payload in it.
const OUTER_HEAD: usize = 8;
const HEAD: usize = 40;

/// The non-empty buckets of one histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets {
    packed: Box<[u8]>,
    count: u64,
}

impl Buckets {
    /// Number of times counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The bucket, as its place among [`crate::edges_ns`], and its count; ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        Unpacked { bytes: &self.packed, bucket: 0 }
    }

    /// As [`Histogram::quantile`].
    pub fn quantile(&self, q: f64) -> Nanos {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut running = 0;
        let found = self.iter().find(|(_, count)| {
            running += count;
            running >= rank
        });
        found.map_or(Nanos::ZERO, |(bucket, _)| Nanos::new(edge_ns(bucket)))
    }
}

/// Reads the payload, whose bytes were checked.
struct Unpacked<'a> {
    bytes: &'a [u8],
    bucket: usize,
}

impl Iterator for Unpacked<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        loop {
            let number = number(&mut self.bytes)?;
            let bucket = self.bucket;
            match u64::try_from(number) {
                Ok(_) => self.bucket += 1,
                Err(_) => self.bucket = bucket.checked_add(usize::try_from(number.unsigned_abs()).ok()?)?,
            }
            if number > 0 {
                return Some((bucket, number.unsigned_abs()));
            }
        }
    }
}

/// The next signed number: seven bits a byte, the low ones first, all eight of the ninth; the lowest
/// bit is the sign. `None` at the end, and inside a number.
#[inline]
fn number(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if byte < 0x80 || place == 8 {
            value |= u64::from(byte) << (7 * place);
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * place);
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Reads stored histograms one behind the other, with memory that is reused.
#[derive(Debug)]
pub struct HistogramDecoder {
    inflate: Decompress,
    deflated: Vec<u8>,
    plain: Vec<u8>,
}

impl Default for HistogramDecoder {
    fn default() -> Self {
        // A payload is a few KB; nine bytes a bucket is the most that one can have.
        Self { inflate: Decompress::new(true), deflated: Vec::new(), plain: vec![0; HEAD + 9 * BUCKETS] }
    }
}

impl HistogramDecoder {
    /// Reads the text of [`Histogram::encode`].
    ///
    /// # Errors
    ///
    /// As [`Histogram::decode`].
    pub fn read(&mut self, text: &str) -> Result<Buckets, DecodeError> {
        if text.is_empty() {
            return Ok(Buckets::default());
        }
        match self.own_form(text) {
            Some(buckets) => Ok(buckets),
            None => Histogram::decode(text).map(|histogram| pack(&histogram)),
        }
    }

    /// `None` when it is damaged, or in another of the library's forms.
    fn own_form(&mut self, text: &str) -> Option<Buckets> {
        self.deflated.clear();
        STANDARD_NO_PAD.decode_vec(text, &mut self.deflated).ok()?;
        let (head, body) = self.deflated.split_at_checked(OUTER_HEAD)?;
        if big_endian(head, 0)? != DEFLATED {
            return None;
        }
        let body = body.get(..big_endian(head, 4)? as usize)?;
        self.inflate.reset(true);
        let status = self.inflate.decompress(body, &mut self.plain, FlushDecompress::Finish).ok()?;
        let plain = self.plain.get(..usize::try_from(self.inflate.total_out()).ok()?)?;
        let (head, payload) = plain.split_at_checked(HEAD)?;
        let whole = status == Status::StreamEnd && big_endian(head, 4)? as usize == payload.len();
        (whole && is_ours(head)?).then(|| checked(payload))?
    }
}

/// The form, no shift, and the digits, bounds and ratio that our histograms have.
fn is_ours(head: &[u8]) -> Option<bool> {
    let double = |at| Some(u64::from(big_endian(head, at)?) << 32 | u64::from(big_endian(head, at + 4)?));
    Some(
        big_endian(head, 0)? == PLAIN
            && big_endian(head, 8)? == 0
            && big_endian(head, 12)? == u32::from(SIGNIFICANT_DIGITS)
            && double(16)? == 1
            && double(24)? == HIGHEST_NANOS
            && double(32)? == 1_f64.to_bits(),
    )
}

fn big_endian(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// `None` when the last number is cut off, a bucket lies beyond the last, or the counts overflow.
fn checked(payload: &[u8]) -> Option<Buckets> {
    let ends = payload.last().is_none_or(|byte| *byte < 0x80);
    let mut count = 0_u64;
    for (bucket, own) in (Unpacked { bytes: payload, bucket: 0 }) {
        count = count.checked_add(own).filter(|_| bucket < BUCKETS)?;
    }
    ends.then(|| Buckets { packed: payload.into(), count })
}

/// The payload anew.
fn pack(histogram: &Histogram) -> Buckets {
    let mut packed = Vec::new();
    let mut next = 0;
    for (bucket, count) in histogram.counted() {
        if bucket > next {
            push(&mut packed, -((bucket - next) as i64));
        }
        push(&mut packed, i64::try_from(count).unwrap_or(i64::MAX));
        next = bucket + 1;
    }
    Buckets { packed: packed.into(), count: histogram.count() }
}

fn push(packed: &mut Vec<u8>, number: i64) {
    let mut value = (number << 1 ^ number >> 63) as u64;
    for _ in 0..8 {
        if value < 0x80 {
            break;
        }
        packed.push(value as u8 | 0x80);
        value >>= 7;
    }
    packed.push(value as u8);
}

/// The counts of many histograms together.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    counts: Vec<u64>,
}

impl Sum {
    /// Adds all counts of one.
    pub fn add(&mut self, buckets: &Buckets) {
        if self.counts.is_empty() && buckets.count > 0 {
            self.counts = vec![0; BUCKETS];
        }
        for (bucket, count) in buckets.iter() {
            if let Some(sum) = self.counts.get_mut(bucket) {
                *sum += count;
            }
        }
    }

    /// The non-empty buckets, as [`Buckets::iter`] has them.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    /// As one histogram.
    pub fn histogram(&self) -> Histogram {
        let mut whole = Histogram::new();
        self.iter().for_each(|(bucket, count)| whole.record_many(Nanos::new(edge_ns(bucket)), count));
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges_ns;

    fn sample(seed: u64) -> Histogram {
        let mut histogram = Histogram::new();
        let mut state = seed;
        for i in 0..400_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            histogram.record_many(Nanos::new(state >> (22 + i % 42)), 1 + u64::from(i % 7) * 1000);
        }
        histogram
    }

    fn by_edge(buckets: impl Iterator<Item = (usize, u64)>) -> Vec<(u64, u64)> {
        let edges = edges_ns();
        buckets.map(|(bucket, count)| (edges[bucket], count)).collect()
    }

    #[test]
    fn buckets_are_those_of_the_whole_histogram() {
        let mut decoder = HistogramDecoder::default();
        for seed in 0..50 {
            let whole = sample(seed);
            let read = decoder.own_form(&whole.encode()).expect("it is our own form");
            assert_eq!(by_edge(read.iter()), whole.buckets());
            let packed = pack(&whole);
            assert_eq!((read.count(), packed.count()), (whole.count(), whole.count()));
            assert!(read.iter().eq(packed.iter()));
            for q in [0.001, 0.1, 0.5, 0.9, 0.999, 1.0] {
                assert_eq!(read.quantile(q), whole.quantile(q), "{q}");
            }
        }
        assert_eq!(decoder.read("").unwrap(), Buckets::default());
        assert_eq!(Buckets::default().quantile(0.5), Nanos::ZERO);
    }

    #[test]
    fn a_sum_is_the_merged_histogram() {
        let (mut sum, mut merged, mut decoder) =
            (Sum::default(), Histogram::new(), HistogramDecoder::default());
        assert_eq!(sum.histogram().count(), 0);
        for seed in 0..20 {
            let whole = sample(seed);
            sum.add(&decoder.read(&whole.encode()).unwrap());
            merged.merge(&whole);
        }
        let read = sum.histogram();
        assert_eq!((read.buckets(), read.quantiles()), (merged.buckets(), merged.quantiles()));
        assert_eq!((read.mean_ns(), read.quantile(0.0)), (merged.mean_ns(), merged.quantile(0.0)));
        assert_eq!(by_edge(sum.iter()), merged.buckets());
    }

    /// The library's answer to any changed byte is ours, too: the same buckets, or the same error.
    #[test]
    fn damage_is_judged_as_by_the_library() {
        let text = sample(7).encode();
        let mut decoder = HistogramDecoder::default();
        for place in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            match (decoder.read(&changed), Histogram::decode(&changed)) {
                (Ok(read), Ok(whole)) => assert_eq!(by_edge(read.iter()), whole.buckets(), "{place}"),
                (Err(read), Err(whole)) => assert_eq!(read.to_string(), whole.to_string()),
                (read, whole) => panic!("{place}: {read:?}, but {whole:?}"),
            }
        }
        assert!(decoder.read(&text[..text.len() / 2]).is_err() && decoder.read("?").is_err());
    }
}
