//! Shuffled replay: each robot walks the whole log in an order of its own, as fast as it can.
//!
//! Cold: before a slice. The benchmark of the Enforcer study (Dartmouth, 2003), where fifteen
//! clients each fetched every URL of a log in random order. Two ways to cut it into slices. Whole:
//! every robot walks every line, so many times. Sampled: a slice takes lines evenly over the log
//! sorted by reply size, so that each has the whole mix of sizes (in real logs few replies carry
//! most bytes, and a random draw of them makes rounds differ by luck), deals them out to the
//! robots, and puts each robot's share in that robot's order. Over the rounds every robot visits
//! every line equally often.

use super::{LogIndex, LogSource, ReplayOptions, Summary};
use crate::draw::{balanced, phase};
use crate::{Permutation, Site, Slice, Workload, WorkloadError};
use bakeoff_content::{Catalogue, SplitMix64};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The shuffled replay.
#[derive(Clone, Debug)]
pub struct Shuffled {
    index: LogIndex,
    robots: usize,
    passes: Option<NonZeroU32>,
    seed: u64,
}

impl Shuffled {
    /// Reads the log. With `passes` a slice is the whole benchmark: every robot walks every line so many times, and the
    /// number of requests for a slice is ignored.
    ///
    /// # Errors
    ///
    /// No robot; and as [`LogIndex::read`].
    pub fn new(
        source: &LogSource,
        options: &ReplayOptions,
        robots: usize,
        passes: Option<NonZeroU32>,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        Self::over(LogIndex::read(source, options)?, robots, passes, seed)
    }

    /// The same over an existing index.
    ///
    /// # Errors
    ///
    /// No robot.
    pub fn over(
        index: LogIndex,
        robots: usize,
        passes: Option<NonZeroU32>,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        if robots == 0 { Err(WorkloadError::NoRobots) } else { Ok(Self { index, robots, passes, seed }) }
    }

    /// The summary of the log; `None` when there is no log.
    pub const fn summary(&self) -> Option<&Summary> {
        self.index.summary()
    }

    /// The order in which a robot walks the lines.
    fn order(&self, robot: usize, walk: u64) -> Permutation {
        let purpose = (robot as u64) << 40 ^ walk;
        Permutation::new(self.index.lines(), SplitMix64::for_purpose(self.seed, purpose).next_u64())
    }

    fn whole(&self, round: u64, passes: u32) -> Vec<Vec<u32>> {
        let walks = (0..u64::from(passes)).map(|pass| round.wrapping_mul(u64::from(passes)) + pass);
        let walk = |robot, walk| {
            let order = self.order(robot, walk);
            (0..order.len()).filter_map(move |place| self.index.request_of(order.get(place)?))
        };
        (0..self.robots).map(|robot| walks.clone().flat_map(|number| walk(robot, number)).collect()).collect()
    }

    /// A line that a robot gets more than once, in a slice larger than the log, comes once in each
    /// of its walks.
    fn sampled(&self, round: u64, requests: usize) -> Vec<Vec<u32>> {
        let mut shares = vec![Vec::with_capacity(requests / self.robots + 1); self.robots];
        let lines = balanced(self.index.lines(), requests as u64, phase(self.seed, round));
        for (taken, line) in (round..).zip(lines) {
            shares[(taken % self.robots as u64) as usize].push(line);
        }
        (0..).zip(shares).map(|(robot, share)| self.in_order(robot, round, &share)).collect()
    }

    fn in_order(&self, robot: usize, round: u64, share: &[u64]) -> Vec<u32> {
        let order = self.order(robot, round);
        let mut walk = 0;
        let mut last = None;
        let mut places: Vec<(u32, Option<u64>, u64)> = Vec::with_capacity(share.len());
        for &line in share {
            walk = if last == Some(line) { walk + 1 } else { 0 };
            last = Some(line);
            places.push((walk, order.place_of(line), line));
        }
        places.sort_unstable();
        places.into_iter().filter_map(|(_, _, line)| self.index.request_of(line)).collect()
    }
}

impl Workload for Shuffled {
    fn slice(&mut self, round: u64, requests: usize) -> Result<Slice, WorkloadError> {
        let lists = match self.passes {
            Some(passes) => self.whole(round, passes.get()),
            None => self.sampled(round, requests),
        };
        Ok(Slice { table: self.index.table().clone(), lists: Arc::new(lists), at: Arc::default() })
    }

    fn closed(&self) -> Option<usize> {
        Some(self.robots)
    }

    /// Every robot, every line, every pass.
    fn total(&self) -> Option<u64> {
        let passes = self.passes.map_or(1, |passes| u64::from(passes.get()));
        Some(self.index.lines().saturating_mul(self.robots as u64).saturating_mul(passes))
    }

    fn skipped(&self) -> BTreeMap<String, u64> {
        self.index.summary().map_or_else(BTreeMap::new, |summary| summary.skips.by_label())
    }

    fn log_lines(&self) -> Option<u64> {
        self.index.summary().map(|summary| summary.lines)
    }

    fn catalogue(&self) -> Option<&Catalogue> {
        self.site().map(Site::catalogue)
    }

    fn site(&self) -> Option<&Site> {
        self.index.site()
    }
}
