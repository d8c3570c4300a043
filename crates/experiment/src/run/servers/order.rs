//! A load as one can hand it on: recipes of slices, and how fast each arm is asked.
//!
//! Measuring side, cold. A slice is never sent anywhere: it is a number and some steps, from which every machine that has
//! the plan and its log makes the same requests. The digest says whether it did.

use super::hits::whole_pass;
use super::shares::Workloads;
use crate::run::RunError;
use crate::run::bench::Part;
use bakeoff_content::SplitMix64;
use bakeoff_loadgen::Lanes;
use bakeoff_results::digest;
use bakeoff_workload::Slice;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Recipe of a slice, from a plan's workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Recipe {
    /// The arm, by name as in `Plan::names`, whose workload it is.
    pub(super) arm: String,
    begin: Begin,
    steps: Vec<Step>,
}

/// First form of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Begin {
    /// The requests of a round.
    Round { round: u64, requests: usize },
    /// Everything once, dealt to robots.
    Pass { round: u64, robots: usize },
}

/// A change of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Step {
    /// A stretch of each list.
    Part { index: u32, of: u32 },
    /// One list in an order of this seed.
    OwnOrder(u64),
    /// Dealt to this number of robots.
    Lists(usize),
    /// The first request of each list.
    Firsts,
    /// The first requests of the first list, so many, each a list.
    Few(usize),
}

impl Step {
    fn apply(self, slice: &Slice) -> Slice {
        let of_lists = |lists: Vec<Vec<u32>>| Slice {
            table: slice.table.clone(),
            lists: Arc::new(lists),
            at: Arc::default(),
        };
        match self {
            Self::Part { index, of } => part_of(slice, Part { index, of }),
            Self::OwnOrder(seed) => in_own_order(slice, seed),
            Self::Lists(robots) => in_lists(slice, robots.max(1)),
            Self::Firsts => {
                of_lists(slice.lists.iter().map(|list| list.iter().copied().take(1).collect()).collect())
            }
            Self::Few(count) => {
                let first = slice.lists.first().into_iter().flatten();
                of_lists(first.take(count).map(|&entry| vec![entry]).collect())
            }
        }
    }
}

/// A slice with its recipe.
#[derive(Clone)]
pub(super) struct Dealt {
    pub(super) slice: Slice,
    pub(super) recipe: Recipe,
}

impl Dealt {
    /// The first form of a slice of this arm.
    pub(super) fn begin(workloads: &mut Workloads, arm: String, begin: Begin) -> Result<Self, RunError> {
        let recipe = Recipe { arm, begin, steps: Vec::new() };
        Ok(Self { slice: recipe.begun(workloads)?, recipe })
    }

    /// The same, changed.
    pub(super) fn then(&self, step: Step) -> Self {
        let mut recipe = self.recipe.clone();
        recipe.steps.push(step);
        Self { slice: step.apply(&self.slice), recipe }
    }
}

impl Recipe {
    /// The slice.
    pub(super) fn make(&self, workloads: &mut Workloads) -> Result<Slice, RunError> {
        let begun = self.begun(workloads)?;
        Ok(self.steps.iter().fold(begun, |slice, step| step.apply(&slice)))
    }

    fn begun(&self, workloads: &mut Workloads) -> Result<Slice, RunError> {
        let workload = workloads.workload_of(&self.arm)?;
        match self.begin {
            Begin::Round { round, requests } => workloads.round(workload, round, requests),
            Begin::Pass { round, robots } => {
                whole_pass(workloads.all[workload].as_mut(), round, robots.max(1))
            }
        }
    }
}

/// Pace of an arm's requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LoadPace {
    /// The plan's own clock.
    Planned,
    /// As fast as it answers: a closed loop of the slice's lists.
    FullSpeed,
    /// At random moments, in slots of its own where several arms are asked in one slice.
    At { rate_per_s: f64, order: u64, slots: Option<SlotsOrder> },
}

/// The slots of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SlotsOrder {
    pub(super) every_ns: u64,
    pub(super) gap_ns: u64,
    pub(super) seed: u64,
    pub(super) arm: usize,
    pub(super) of: usize,
}

/// The load of one arm.
#[derive(Clone)]
pub(super) struct ArmLoad {
    pub(super) dealt: Dealt,
    pub(super) pace: LoadPace,
}

/// Digest of what lanes are to ask, and in which order. It is of the same build on both sides, so the form of a reply
/// that is expected may be written in any way that tells all forms apart.
pub(super) fn digest_of(slices: &[&Slice], lanes_of: usize) -> String {
    let mut text = format!("{lanes_of} lanes\n").into_bytes();
    for slice in slices {
        for request in &slice.table.requests {
            for part in [request.method.as_str().as_bytes(), &request.target, &request.headers] {
                text.extend_from_slice(&(part.len() as u64).to_le_bytes());
                text.extend_from_slice(part);
            }
            text.extend_from_slice(format!("{:?}\n", request.expect).as_bytes());
        }
        for list in slice.lists.iter() {
            text.extend_from_slice(&(list.len() as u64).to_le_bytes());
            list.iter().for_each(|entry| text.extend_from_slice(&entry.to_le_bytes()));
        }
        slice.at.iter().for_each(|at| text.extend_from_slice(&at.get().to_le_bytes()));
    }
    digest::sha256(&[&text])
}

/// Lanes as they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LanesOrder {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) of: usize,
}

impl LanesOrder {
    /// `None`: there are no such lanes.
    pub(super) fn lanes(self) -> Option<Lanes> {
        Lanes::some(self.first, self.count, self.of)
    }
}

/// All requests of a slice as one list, in random order.
fn in_own_order(slice: &Slice, seed: u64) -> Slice {
    let mut list: Vec<u32> = slice.lists.iter().flatten().copied().collect();
    SplitMix64::new(seed).shuffle(&mut list);
    Slice { table: slice.table.clone(), lists: Arc::new(vec![list]), at: Arc::default() }
}

/// A part of a slice: the stretch of each robot's list that is due.
fn part_of(slice: &Slice, part: Part) -> Slice {
    if part.of <= 1 {
        return slice.clone();
    }
    let at = |len: usize, index: u32| (len as u64 * u64::from(index) / u64::from(part.of)) as usize;
    let stretch = |list: &Vec<u32>| list[at(list.len(), part.index)..at(list.len(), part.index + 1)].to_vec();
    Slice {
        table: slice.table.clone(),
        lists: Arc::new(slice.lists.iter().map(stretch).collect()),
        at: Arc::default(),
    }
}

/// One list, dealt to this number of robots.
fn in_lists(slice: &Slice, robots: usize) -> Slice {
    let deal = |robot| slice.lists.iter().flatten().skip(robot).step_by(robots).copied().collect();
    let lists: Vec<Vec<u32>> = (0..robots).map(deal).collect();
    Slice { table: slice.table.clone(), lists: Arc::new(lists), at: Arc::default() }
}

#[cfg(test)]
mod tests {
    use super::super::jobs::order_seed;
    use super::*;
    use bakeoff_workload::RequestTable;

    fn slice(lists: Vec<Vec<u32>>) -> Slice {
        Slice { table: Arc::new(RequestTable::default()), lists: Arc::new(lists), at: Arc::default() }
    }

    #[test]
    fn arms_of_a_duet_get_the_same_requests_in_orders_of_their_own() {
        let slice = slice(vec![(0..40).collect(), (40..60).collect()]);
        let order = |arm| in_own_order(&slice, order_seed(7, 3, arm)).lists[0].clone();
        let (one, other) = (order(0), order(1));
        assert_ne!(one, other);
        assert_eq!(one, order(0), "the same as often as it is asked");
        for mut list in [one, other] {
            list.sort_unstable();
            assert_eq!(list, (0..60).collect::<Vec<u32>>());
        }
        assert_ne!(order_seed(7, 3, 0), order_seed(7, 4, 0));
    }

    #[test]
    fn parts_of_a_slice_hold_each_request_once() {
        let whole = slice(vec![(0..10).collect(), vec![10, 11], vec![]]);
        let parts: Vec<Slice> = (0..4).map(|index| part_of(&whole, Part { index, of: 4 })).collect();
        let lengths: Vec<usize> = parts.iter().map(Slice::len).collect();
        assert_eq!(lengths, [2, 4, 2, 4]);
        let robots: Vec<u32> = parts.iter().flat_map(|part| part.lists[0].clone()).collect();
        assert_eq!(robots, whole.lists[0], "each robot goes on where it was");
        assert_eq!(part_of(&whole, Part { index: 0, of: 1 }).lists, whole.lists);
    }
}
