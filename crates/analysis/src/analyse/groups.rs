//! Groups of arms that are shown to be equal, for a page of many arms; and the restarts of arms with their meaning.

use super::decide::level;
use super::factors::figures;
use super::series::{Series, Table, primary};
use bakeoff_results::{Setup, StartsResult};
use bakeoff_stats::{Level, STARTS_FOR_LUCK, Scale, effect_of, groups, log_ratios};
use std::collections::BTreeSet;

/// Groups of arms that are equal within the margin in the primary figure, pairwise within a stratum.
/// The level is shared among all pairs.
pub(super) fn equal(setup: &Setup, series: &Series) -> Vec<Vec<String>> {
    let strata = setup.stratum_arms();
    let pairs = strata.iter().map(|names| names.len() * (names.len() - 1) / 2).sum();
    strata.iter().flat_map(|names| equal_in(setup, series, names, pairs)).collect()
}

/// `pairs`: number of pairs that share the level.
fn equal_in(setup: &Setup, series: &Series, names: &[&str], pairs: usize) -> Vec<Vec<String>> {
    let meter = primary(setup);
    let columns: Option<Vec<Vec<f64>>> =
        names.iter().map(|name| figures(series, setup, name, meter)).collect();
    let Some(columns) = columns.filter(|columns| names.len() > 2 && columns.iter().all(|c| !c.is_empty()))
    else {
        return Vec::new();
    };
    let level = Level::new(1.0 - (1.0 - level(setup).get()) / pairs as f64).unwrap_or(Level::NULL);
    let mean_log = |column: &Vec<f64>| column.iter().map(|x| x.ln()).sum::<f64>() / column.len() as f64;
    let estimates: Vec<f64> = columns.iter().map(mean_log).collect();
    if estimates.iter().any(|estimate| !estimate.is_finite()) {
        return Vec::new();
    }
    let slice_of = |i: usize| setup.workload.slice_of(names[i]);
    let pairwise = |i: usize, j: usize| {
        if meter.is_of_whole_slice() && slice_of(i) != slice_of(j) {
            return None;
        }
        let d = log_ratios(&columns[i], &columns[j], &columns[j]);
        Some(effect_of(&d, series.starts(), level, Scale::LogRatio)?.interval)
    };
    groups(&estimates, &pairwise, setup.margin)
        .into_iter()
        .map(|group| group.into_iter().map(|arm| names[arm].to_owned()).collect())
        .collect()
}

/// Number of starts of the arms, and what follows from it.
pub(super) fn starts(setup: &Setup, table: &Table) -> StartsResult {
    let all: BTreeSet<u32> = table.all().flat_map(Series::starts).copied().collect();
    let starts = all.len() as u32;
    let sentence = match (setup.workload.kind.as_str(), starts) {
        ("command", _) => "every run started its processes anew".to_owned(),
        (_, 0) => "no round is complete".to_owned(),
        (_, 1) => format!("one start of each: process luck not sampled ({})", setup.restarts.reason),
        (_, n) if (n as usize) < STARTS_FOR_LUCK => {
            format!(
                "{n} starts of each: process luck not sampled; {STARTS_FOR_LUCK} starts are needed for that"
            )
        }
        (_, n) => format!("{n} starts of each, in random order and with environments of random size"),
    };
    StartsResult { starts, sentence }
}
