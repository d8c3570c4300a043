//! Merged histograms: quantile curves on a tail axis, and counts by round for the shift function.
//!
//! Only slices of complete rounds count, as everywhere. A histogram that cannot be read is counted
//! and left out.

use crate::Bundle;
use crate::slices::complete_rounds;
use bakeoff_experiment::results::SliceRecord;
use bakeoff_meter::Histogram;
use bakeoff_stats::CountsByRound;
use std::collections::{BTreeMap, BTreeSet};

/// Step of the tail axis x = -log10(1 - q): 50 points a decade, beyond what a screen shows.
const STEP: f64 = 0.02;
/// Blocks that rounds are put into for the bootstrap: more do not sharpen it, and cost memory.
const BLOCKS: usize = 100;

/// Counts per bucket, by upper edge in ns.
type Counts = BTreeMap<u64, u64>;

/// Times of every arm.
#[derive(Debug, Default)]
pub(super) struct Curves {
    /// Response time per arm and block of rounds.
    response: BTreeMap<String, Vec<Counts>>,
    /// Service time per arm.
    service: BTreeMap<String, Counts>,
    /// Slices whose histograms cannot be read.
    pub(super) unreadable: usize,
}

impl Curves {
    pub(super) fn of(bundle: &Bundle) -> Self {
        let rounds: Vec<u32> = complete_rounds(bundle).into_iter().collect();
        let rounds_per_block = rounds.len().div_ceil(BLOCKS).max(1);
        let blocks = rounds.len().div_ceil(rounds_per_block);
        let block_of = |round: u32| rounds.binary_search(&round).ok().map(|place| place / rounds_per_block);
        let mut curves = Self::default();
        for slice in &bundle.slices {
            if let Some(block) = block_of(slice.round) {
                curves.add(slice, block, blocks);
            }
        }
        curves
    }

    fn add(&mut self, slice: &SliceRecord, block: usize, blocks: usize) {
        let decoded = Histogram::decode(&slice.times.response)
            .and_then(|r| Ok((r, Histogram::decode(&slice.times.service)?)));
        let Ok((response, service)) = decoded else {
            self.unreadable += 1;
            return;
        };
        let by_block = self.response.entry(slice.arm.clone()).or_insert_with(|| vec![Counts::new(); blocks]);
        pour(&mut by_block[block], &response);
        pour(self.service.entry(slice.arm.clone()).or_default(), &service);
    }

    /// Response time at each point of [`axis`], ns; `None` where no reply lies beyond.
    pub(super) fn response(&self, arm: &str, axis: &[f64]) -> Vec<Option<u64>> {
        curve(&self.merged(arm), axis)
    }

    /// The same for service time.
    pub(super) fn service(&self, arm: &str, axis: &[f64]) -> Vec<Option<u64>> {
        self.service.get(arm).map_or(vec![None; axis.len()], |counts| curve(counts, axis))
    }

    /// Replies of an arm with a response time.
    pub(super) fn replies(&self, arm: &str) -> u64 {
        self.response.get(arm).into_iter().flatten().flat_map(BTreeMap::values).sum()
    }

    /// Points of the tail axis, as far as any arm has replies beyond.
    pub(super) fn axis(&self) -> Vec<f64> {
        let most = self.response.keys().map(|arm| self.replies(arm)).max().unwrap_or(0);
        let points = if most < 2 { 0 } else { ((most as f64).log10() / STEP) as usize };
        (0..=points).map(|n| n as f64 * STEP).collect()
    }

    /// An arm's response times per block, on the buckets of all arms together.
    pub(super) fn by_round(&self, arm: &str) -> Option<CountsByRound> {
        let edges: BTreeSet<u64> =
            self.response.values().flatten().flat_map(|counts| counts.keys().copied()).collect();
        let row = |counts: &Counts| edges.iter().map(|edge| counts.get(edge).copied().unwrap_or(0)).collect();
        let rounds = self.response.get(arm)?.iter().map(row).collect();
        Some(CountsByRound { upper_ns: edges.iter().copied().collect(), rounds })
    }

    fn merged(&self, arm: &str) -> Counts {
        let mut all = Counts::new();
        for (edge, count) in self.response.get(arm).into_iter().flatten().flatten() {
            *all.entry(*edge).or_default() += count;
        }
        all
    }
}

fn pour(into: &mut Counts, histogram: &Histogram) {
    for (edge, count) in histogram.buckets() {
        *into.entry(edge).or_default() += count;
    }
}

/// The quantile at each x: the edge of the first bucket that holds the share 1 - 10^-x of all.
fn curve(counts: &Counts, axis: &[f64]) -> Vec<Option<u64>> {
    let total: u64 = counts.values().sum();
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
            (edge, below) = (*next, below + count);
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
