//! Quantiles of all arms, of all rounds and of resampled ones: taken once, for every row that needs them.

use super::super::decide;
use super::super::series::{Series, second};
use crate::results::Setup;
use bakeoff_meter::{Buckets, Meter, edges_ns};
use bakeoff_stats::{CountsByRound, Quantile, Resampling};
use std::collections::BTreeMap;

/// Bootstrap samples for intervals of quantiles.
const RESAMPLES: u32 = 1000;

/// Quantiles by meter.
type ByMeter = BTreeMap<&'static str, Quantile>;

pub(super) struct Quantiles {
    arms: BTreeMap<String, ByMeter>,
    /// Of both processes of the baseline together.
    both: ByMeter,
}

impl Quantiles {
    /// Of the meters that are quantiles.
    pub(super) fn of(setup: &Setup, series: &Series, meters: &[&'static Meter]) -> Self {
        let edges = edges_ns();
        let resampling = Resampling::new(series.rounds(), RESAMPLES, setup.seed);
        let second = second(&setup.baseline);
        let mut quantiles = Self { arms: BTreeMap::new(), both: BTreeMap::new() };
        for group in groups(meters) {
            let counts = |arm: &str| counts(series.column(arm).histogram(group[0].1).1, &edges);
            let mut take = |arm: &str, counts: &CountsByRound<'_>| {
                let own = quantiles.arms.entry(arm.to_owned()).or_default();
                own.extend(taken(&group, counts, &resampling));
            };
            let (a, a2) = (counts(&setup.baseline), counts(&second));
            take(&setup.baseline, &a);
            take(&second, &a2);
            decide::judged(setup).for_each(|arm| take(arm, &counts(arm)));
            quantiles.both.extend(taken(&group, &a.merged(&a2), &resampling));
        }
        quantiles
    }

    /// An arm and what it is compared with: both processes of the baseline, or the first with the second.
    pub(super) fn pair(&self, setup: &Setup, arm: &str, meter: &Meter) -> Option<(&Quantile, &Quantile)> {
        let reference =
            if arm == second(&setup.baseline) { self.arms.get(&setup.baseline)? } else { &self.both };
        Some((self.arms.get(arm)?.get(meter.name)?, reference.get(meter.name)?))
    }
}

/// Meters that read one histogram, each with its quantile.
fn groups(meters: &[&'static Meter]) -> Vec<Vec<(f64, &'static Meter)>> {
    let quantiles = meters.iter().filter_map(|meter| Some((meter.quantile?, *meter)));
    let (service, response): (Vec<_>, Vec<_>) =
        quantiles.partition(|(_, meter)| meter.name.starts_with("service"));
    [response, service].into_iter().filter(|group| !group.is_empty()).collect()
}

fn taken(
    group: &[(f64, &'static Meter)],
    counts: &CountsByRound<'_>,
    resampling: &Resampling,
) -> Vec<(&'static str, Quantile)> {
    group.iter().map(|(q, meter)| (meter.name, Quantile::of(counts, *q, resampling))).collect()
}

/// A slice of more than four thousand million replies in one bucket would count as so many.
fn counts<'a>(rounds: &[Buckets], upper_ns: &'a [u64]) -> CountsByRound<'a> {
    let round = |buckets: &Buckets| {
        let narrow =
            |(bucket, count): (usize, u64)| (bucket as u32, u32::try_from(count).unwrap_or(u32::MAX));
        buckets.iter().map(narrow).collect()
    };
    CountsByRound { upper_ns, rounds: rounds.iter().map(round).collect() }
}
