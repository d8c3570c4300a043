//! Populations: clients of several kinds that ask one server at the same time, each over connections of its own.
//!
//! Measuring side, the generator's process. Each population has threads of its own on the generator's cores, so that
//! the kernel shares those out among them and none waits in another's loop; any wait that remains is its lateness.

use super::arm::ServerArm;
use super::jobs::Jobs;
use crate::run::{RunError, workloads};
use bakeoff_loadgen::{Recording, Station};
use bakeoff_meter::{SliceCounters, Times};
use bakeoff_plan::{LoadClock, Population, RequestWork};
use bakeoff_results::{PopulationRecord, PopulationSetup};
use bakeoff_units::Nanos;
use bakeoff_workload::Workload;
use std::collections::BTreeMap;

/// A workload for each population with paths of its own.
pub(super) fn own_workloads(
    populations: &[Population],
    seed: u64,
) -> Result<Vec<Option<Box<dyn Workload>>>, RunError> {
    let own = |population: &Population| {
        let is_own = population.own_requests.then_some(&population.work);
        is_own.map(|work| Ok(workloads::build(work, seed, false)?.0)).transpose()
    };
    populations.iter().map(own).collect()
}

/// Seed offset that keeps the draws of populations apart; zero for the first.
pub(super) const fn apart(population: usize) -> u64 {
    (population as u64) << 40
}

/// The stations of an arm: one for all clients, or one for each population.
pub(super) fn askers<'p>(place: &'p mut ServerArm, jobs: Jobs<'p>) -> Vec<(&'p mut Station, Jobs<'p>)> {
    if jobs.work.populations.is_empty() {
        return vec![(&mut place.station, jobs)];
    }
    let of_each = jobs.work.populations.iter().map(|population| Jobs { work: &population.work, ..jobs });
    place.populations.iter_mut().zip(of_each).collect()
}

/// Counts of each population. Fetched replies are not attributed: which client asked first is not known.
pub(super) fn records(work: &RequestWork, heard: &[Recording]) -> BTreeMap<String, PopulationRecord> {
    let record = |(population, recording): (&Population, &Recording)| {
        let counters = SliceCounters { hits: None, ..recording.counters.clone() };
        (population.name.clone(), PopulationRecord { counters, times: recording.times.encode() })
    };
    work.populations.iter().zip(heard).map(record).collect()
}

/// Sum of all counts.
pub(super) fn all_together(heard: Vec<Recording>) -> (SliceCounters, Times) {
    let mut heard = heard.into_iter();
    let Some(first) = heard.next() else { return Default::default() };
    heard.fold((first.counters, first.times), |(mut counters, mut times), recording| {
        counters.add_beside(&recording.counters);
        times.merge(&recording.times);
        (counters, times)
    })
}

/// For `setup.json`; `works`: the loads of the arms.
pub(super) fn setup(index: usize, population: &Population, works: &[&RequestWork]) -> PopulationSetup {
    let clocks = || works.iter().filter_map(|work| Some(work.populations.get(index)?.work.clock));
    PopulationSetup {
        population: population.name.clone(),
        load: population.load_in_words(clocks()),
        max_errors: population.max_errors.get(),
        max_lateness_ns: clocks().filter_map(LoadClock::max_lateness).min().map(Nanos::get),
    }
}
