//! Merged histograms: quantile curves on a tail axis, and counts by round for the shift function.
//!
//! Only slices of complete rounds count, as everywhere. A histogram that cannot be read is counted
//! and left out.

use crate::ReportInput;
use crate::reading::Reading;
use crate::slices::complete_rounds;
use bakeoff_meter::{Buckets, HistogramDecoder, Sum, edges_ns};
use bakeoff_results::{SliceRecord, second};
use bakeoff_stats::{CountsByRound, Quantile, Resampling, SHIFT};
use std::collections::BTreeMap;

/// Step of the tail axis x = -log10(1 - q): 50 points a decade, beyond what a screen shows.
const STEP: f64 = 0.02;
/// Blocks that rounds are put into for the bootstrap: more do not sharpen it, and cost memory.
const BLOCKS: usize = 100;
/// Resamples per interval of the shift plot: exploratory, hence fewer than a verdict takes.
const RESAMPLES: u32 = 1_000;

/// Counts per bucket, by upper edge in ns, ascending.
type Counts = Vec<(u64, u64)>;

/// Times of every arm. What rounds had is forgotten when an arm's quantiles are taken.
#[derive(Debug, Default)]
pub(super) struct Curves {
    arms: BTreeMap<String, Times>,
    /// Quantiles of both processes of each baseline together.
    both: BTreeMap<String, Vec<Quantile>>,
    /// Slices whose histograms cannot be read.
    pub(super) unreadable: usize,
}

/// Times of one arm.
#[derive(Debug)]
struct Times {
    response: Counts,
    service: Counts,
    /// Response time at the points of the shift function.
    quantiles: Vec<Quantile>,
}

/// What arms have in common while they are read.
struct Reader<'a> {
    /// Slices of complete rounds, by arm.
    slices: BTreeMap<&'a str, Vec<&'a SliceRecord>>,
    rounds: Vec<u32>,
    resampling: Resampling,
    edges: &'a [u64],
    decoder: HistogramDecoder,
    unreadable: usize,
}

impl Curves {
    pub(super) fn of(bundle: &ReportInput) -> Self {
        let edges = edges_ns();
        let mut reader = Reader::of(bundle, &edges);
        let mut curves = Self::default();
        for baseline in bundle.setup.baselines() {
            let mut both: Option<CountsByRound<'_>> = None;
            for arm in [baseline, &second(baseline)] {
                let Some((times, blocks)) = reader.arm(arm) else { continue };
                curves.arms.insert(arm.to_owned(), times);
                both = Some(both.map_or_else(|| blocks.clone(), |first| first.merged(&blocks)));
            }
            let quantiles = both.map_or_else(Vec::new, |both| reader.quantiles(&both));
            curves.both.insert(baseline.to_owned(), quantiles);
        }
        let others: Vec<&str> = reader.slices.keys().copied().collect();
        for arm in others {
            if let Some((times, _)) = reader.arm(arm) {
                curves.arms.insert(arm.to_owned(), times);
            }
        }
        curves.unreadable = reader.unreadable;
        curves
    }

    /// Response time at each point of [`axis`], ns; `None` where no reply lies beyond.
    pub(super) fn response(&self, arm: &str, axis: &[f64]) -> Vec<Option<u64>> {
        self.arms.get(arm).map_or(vec![None; axis.len()], |times| curve(&times.response, axis))
    }

    /// The same for service time.
    pub(super) fn service(&self, arm: &str, axis: &[f64]) -> Vec<Option<u64>> {
        self.arms.get(arm).map_or(vec![None; axis.len()], |times| curve(&times.service, axis))
    }

    /// Replies of an arm with a response time.
    pub(super) fn replies(&self, arm: &str) -> u64 {
        self.arms.get(arm).map_or(0, |times| total(&times.response))
    }

    /// Points of the tail axis, as far as any arm has replies beyond.
    pub(super) fn axis(&self) -> Vec<f64> {
        let most = self.arms.values().map(|times| total(&times.response)).max().unwrap_or(0);
        let points = if most < 2 { 0 } else { ((most as f64).log10() / STEP) as usize };
        (0..=points).map(|n| n as f64 * STEP).collect()
    }

    /// The quantiles of the response time of an arm and of its baseline.
    pub(super) fn quantiles(&self, arm: &str, baseline: &str) -> Option<(&[Quantile], &[Quantile])> {
        Some((&self.arms.get(arm)?.quantiles, self.both.get(baseline)?))
    }
}

impl<'a> Reader<'a> {
    fn of(bundle: &'a ReportInput, edges: &'a [u64]) -> Self {
        let timed: Vec<&SliceRecord> = Reading::of(bundle).timed().collect();
        let rounds: Vec<u32> = complete_rounds(bundle, timed.iter().copied()).into_iter().collect();
        let mut slices: BTreeMap<&str, Vec<&SliceRecord>> = BTreeMap::new();
        for slice in timed.into_iter().filter(|slice| rounds.binary_search(&slice.round).is_ok()) {
            slices.entry(&slice.arm).or_default().push(slice);
        }
        let blocks = rounds.len().div_ceil(rounds_per_block(rounds.len()));
        let resampling = Resampling::new(blocks, RESAMPLES, bundle.results.seed);
        Self { slices, rounds, resampling, edges, decoder: HistogramDecoder::default(), unreadable: 0 }
    }

    /// An arm's times, and its response times per block of rounds; `None` when none can be read.
    fn arm(&mut self, arm: &str) -> Option<(Times, CountsByRound<'a>)> {
        let (mut response, mut service) = (Sum::default(), Sum::default());
        let mut blocks = vec![Vec::new(); self.resampling.rounds()];
        let mut any = false;
        for slice in self.slices.remove(arm)? {
            let read = self.decoder.read(&slice.times.response);
            let read = read.and_then(|own| Ok((own, self.decoder.read(&slice.times.service)?)));
            let (Ok((own, own_service)), Ok(place)) = (read, self.rounds.binary_search(&slice.round)) else {
                self.unreadable += 1;
                continue;
            };
            response.add(&own);
            service.add(&own_service);
            blocks[place / rounds_per_block(self.rounds.len())].push(own);
            any = true;
        }
        let blocks =
            CountsByRound { upper_ns: self.edges, rounds: blocks.iter().map(|b| merged(b)).collect() };
        let by_edge = |sum: &Sum| sum.iter().filter_map(|(at, n)| Some((*self.edges.get(at)?, n))).collect();
        let (response, service) = (by_edge(&response), by_edge(&service));
        any.then(|| (Times { response, service, quantiles: self.quantiles(&blocks) }, blocks))
    }

    fn quantiles(&self, blocks: &CountsByRound<'_>) -> Vec<Quantile> {
        SHIFT.iter().map(|p| Quantile::of(blocks, *p, &self.resampling)).collect()
    }
}

fn rounds_per_block(rounds: usize) -> usize {
    rounds.div_ceil(BLOCKS).max(1)
}

/// The slices of a block together.
fn merged(slices: &[Buckets]) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = Vec::new();
    let narrow = |(bucket, count): (usize, u64)| (bucket as u32, u32::try_from(count).unwrap_or(u32::MAX));
    all.extend(slices.iter().flat_map(Buckets::iter).map(narrow));
    all.sort(); // runs that ascend: a merge
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 = if same { kept.1.saturating_add(next.1) } else { kept.1 };
        same
    });
    all
}

fn total(counts: &Counts) -> u64 {
    counts.iter().map(|(_, count)| count).sum()
}

/// The quantile at each x: the edge of the first bucket that holds the share 1 - 10^-x of all.
fn curve(counts: &Counts, axis: &[f64]) -> Vec<Option<u64>> {
    let total = total(counts);
    let mut buckets = counts.iter();
    let (mut below, mut edge) = (0, 0);
    let mut at = |x: &f64| {
        let beyond = 10_f64.powf(-x) * total as f64;
        if beyond < 1.0 - 1e-9 {
            return None;
        }
        let rank = (total as f64 * (1.0 - 1e-12) - beyond).max(1.0);
        while (below as f64) < rank {
            let (next, count) = buckets.next()?;
            (edge, below) = (*next, below + *count);
        }
        Some(edge)
    };
    axis.iter().map(&mut at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_known_ramp() {
        let counts: Counts = (1..=1000).map(|ns| (ns, 1)).collect();
        let found = curve(&counts, &[0.0, 2_f64.log10(), 1.0, 2.0, 3.0, 3.1]);
        assert_eq!(found, [Some(1), Some(500), Some(900), Some(990), Some(999), None]);
    }
}
