//! Quantiles of all arms, of all rounds and of resampled ones: taken once, for every row that needs them.

use super::super::series::Series;
use bakeoff_meter::{Buckets, Meter, edges_ns};
use bakeoff_results::{Setup, second};
use bakeoff_stats::{CountsByRound, Quantile, Resampling};
use std::collections::BTreeMap;

/// Bootstrap samples for intervals of quantiles.
const RESAMPLES: u32 = 1000;

/// Quantiles by meter.
type ByMeter = BTreeMap<&'static str, Quantile>;

pub(in super::super) struct Quantiles {
    arms: BTreeMap<String, ByMeter>,
    /// Quantiles of both processes of each baseline together.
    both: BTreeMap<String, ByMeter>,
}

impl Quantiles {
    /// Quantiles of all arms, for the meters that are quantiles.
    pub(in super::super) fn of(setup: &Setup, series: &Series, meters: &[&'static Meter]) -> Self {
        let edges = edges_ns();
        let resampling = Resampling::new(series.rounds(), RESAMPLES, setup.seed);
        let mut quantiles = Self { arms: BTreeMap::new(), both: BTreeMap::new() };
        for group in groups(meters) {
            let counts = |arm: &str| counts(series.column(arm).histogram(group[0].1).1, &edges);
            let mut take = |arm: &str, counts: &CountsByRound<'_>| {
                let own = quantiles.arms.entry(arm.to_owned()).or_default();
                own.extend(taken(&group, counts, &resampling));
            };
            setup.judged().for_each(|arm| take(arm, &counts(arm)));
            for baseline in setup.baselines() {
                let second = second(baseline);
                let (a, a2) = (counts(baseline), counts(&second));
                take(baseline, &a);
                take(&second, &a2);
                let both = quantiles.both.entry(baseline.to_owned()).or_default();
                both.extend(taken(&group, &a.merged(&a2), &resampling));
            }
        }
        quantiles
    }

    /// An arm's own.
    pub(super) fn of_arm(&self, arm: &str, meter: &Meter) -> Option<&Quantile> {
        self.arms.get(arm)?.get(meter.name)
    }

    /// An arm and what it is compared with: both processes of the baseline, or the first with the second.
    pub(super) fn pair(&self, setup: &Setup, arm: &str, meter: &Meter) -> Option<(&Quantile, &Quantile)> {
        let of = if setup.is_second(arm) { &self.arms } else { &self.both };
        let reference = of.get(setup.baseline_of(arm))?;
        Some((self.arms.get(arm)?.get(meter.name)?, reference.get(meter.name)?))
    }
}

/// Meters that read one histogram, each with its quantile.
fn groups(meters: &[&'static Meter]) -> Vec<Vec<(f64, &'static Meter)>> {
    let quantiles = meters.iter().filter_map(|meter| Some((meter.quantile?, *meter)));
    let (service, response): (Vec<_>, Vec<_>) = quantiles.partition(|(_, meter)| meter.is_of_service());
    [response, service].into_iter().filter(|group| !group.is_empty()).collect()
}

fn taken(
    group: &[(f64, &'static Meter)],
    counts: &CountsByRound<'_>,
    resampling: &Resampling,
) -> Vec<(&'static str, Quantile)> {
    group.iter().map(|(q, meter)| (meter.name, Quantile::of(counts, *q, resampling))).collect()
}

/// Counts saturate: a slice with more than four thousand million replies in one bucket counts as that many.
fn counts<'a>(rounds: &[Buckets], upper_ns: &'a [u64]) -> CountsByRound<'a> {
    let round = |buckets: &Buckets| {
        let narrow =
            |(bucket, count): (usize, u64)| (bucket as u32, u32::try_from(count).unwrap_or(u32::MAX));
        buckets.iter().map(narrow).collect()
    };
    CountsByRound { upper_ns, rounds: rounds.iter().map(round).collect() }
}
