//! Baselines: the arm that each arm is compared with.

use super::{Arm, Factor};

/// The baseline of each arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baselines {
    /// For each arm an index of an arm; a baseline's is its own.
    of: Vec<usize>,
    /// The factors whose levels tell the strata apart; empty: one baseline for all.
    pub(super) stratified_by: Vec<usize>,
}

impl Baselines {
    /// One for all.
    pub(super) fn one(baseline: usize, arms: usize) -> Self {
        Self { of: vec![baseline; arms], stratified_by: Vec::new() }
    }

    /// `of`: for each arm the index of its baseline, which is its own baseline.
    pub(super) const fn of_strata(of: Vec<usize>, stratified_by: Vec<usize>) -> Self {
        Self { of, stratified_by }
    }

    /// Indices of the arms stratum by stratum, each baseline first.
    pub(super) fn by_stratum(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.of.len()).collect();
        if !self.stratified_by.is_empty() {
            order.sort_by_key(|arm| (self.of(*arm), !self.is(*arm)));
        }
        order
    }

    /// The same for arms in another order.
    pub(super) fn reordered(&self, order: &[usize]) -> Self {
        let place = |arm: usize| order.iter().position(|old| *old == arm).unwrap_or(0);
        Self { of: order.iter().map(|old| place(self.of(*old))).collect(), ..self.clone() }
    }

    /// The baseline of an arm.
    pub fn of(&self, arm: usize) -> usize {
        self.of.get(arm).copied().unwrap_or(0)
    }

    /// Whether other arms are compared with it.
    pub fn is(&self, arm: usize) -> bool {
        self.of.get(arm) == Some(&arm)
    }

    /// All baselines in plan order.
    pub fn all(&self) -> impl Iterator<Item = usize> {
        (0..self.of.len()).filter(|arm| self.is(*arm))
    }

    /// The arms of a baseline's stratum, itself among them.
    pub fn stratum(&self, baseline: usize) -> impl Iterator<Item = usize> {
        (0..self.of.len()).filter(move |arm| self.of(*arm) == baseline)
    }

    /// The levels that the arms of a stratum have in common, such as `apache, https`.
    pub fn stratum_name(&self, baseline: usize, arms: &[Arm], factors: &[Factor]) -> String {
        let level = |factor: &usize| {
            let level = *arms.get(baseline)?.levels.get(*factor)?;
            let factor = factors.get(*factor)?;
            let text = factor.levels.get(level)?;
            let bare = factor.numbers.is_none() && !matches!(text.as_str(), "true" | "false");
            Some(if bare { text.clone() } else { format!("{} = {text}", factor.name) })
        };
        self.stratified_by.iter().filter_map(level).collect::<Vec<_>>().join(", ")
    }
}
