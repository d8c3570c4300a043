//! `[workload]` and `[population.NAME]` as typed, to be read for each setting of the factors that they name.
//!
//! Measuring side, cold. Only keys that set the amount of requests may name a factor: the requests themselves are the
//! same for all arms.

use super::keys::{Named, TableKeys};
use super::population::PopulationOf;
use super::spanned::Spanned;
use super::workload::WorkloadSection;
use crate::PlanError;
use std::collections::BTreeMap;
use std::ops::Range;

/// The keys that may contain `{factor}`.
const MAY_VARY: [&str; 5] = ["robots", "think", "rate", "burst", "every"];

/// The load, unread.
#[derive(Debug)]
pub struct Loads<'t> {
    pub(super) workload: TableKeys<'t>,
    pub(super) population: Named<TableKeys<'t>>,
    /// A search for the highest rate, which sets the clock.
    pub(super) peak: bool,
}

impl Loads<'_> {
    /// The load at these levels of the factors.
    pub(crate) fn at(
        &self,
        values: &BTreeMap<String, String>,
    ) -> Result<(WorkloadSection, Vec<PopulationOf>), PlanError> {
        let workload = filled(&self.workload, values);
        let read = WorkloadSection::read(workload.clone(), self.peak)?;
        let of = |(name, own): &(Spanned<String>, TableKeys<'_>)| {
            PopulationOf::read(name.clone(), filled(own, values), &workload)
        };
        let populations = self.population.iter().map(of).collect::<Result<_, _>>()?;
        Ok((read, populations))
    }

    /// The first key that contains one of these factors, and its place.
    pub(crate) fn first_with(&self, factors: &[&str]) -> Option<(&'static str, Range<usize>)> {
        let all = [&self.workload].into_iter().chain(self.population.iter().map(|(_, own)| own));
        let says = |text: &str| factors.iter().any(|factor| text.contains(&format!("{{{factor}}}")));
        all.flat_map(|keys| MAY_VARY.iter().map(move |key| (keys, *key)))
            .find_map(|(keys, key)| Some((key, keys.text_of(key).filter(|(text, _)| says(text))?.1)))
    }
}

fn filled<'t>(keys: &TableKeys<'t>, values: &BTreeMap<String, String>) -> TableKeys<'t> {
    let mut keys = keys.clone();
    keys.fill_only(&MAY_VARY, values);
    keys
}
