//! Reasons that make an arm's figures worthless, whatever they are.

use super::series::{GeneratorTable, Series, Table, primary};
use super::{handshakes, lateness};
use bakeoff_loadgen::GENERATOR_LIMIT;
use bakeoff_meter::catalogue::SUBJECT_CPU_PER_REPLY;
use bakeoff_meter::{ErrorClass, HitCounts, Meter, SliceCounters};
use bakeoff_results::{PopulationSetup, Setup, WRONG_BYTES, second};
use bakeoff_units::{Nanos, Ratio};
use std::collections::BTreeMap;

/// Generators may begin so small a part of a slice apart: 1/20.
const MOST_APART: u64 = 20;

/// The reason why the arm is invalid; an invalid baseline makes every arm of its stratum so.
///
/// `off`: arms whose layer was not on at some start, with their proof's output.
pub(super) fn reason(
    setup: &Setup,
    table: &Table,
    off: &BTreeMap<String, String>,
    arm: &str,
) -> Option<String> {
    if let Some(said) = off.get(arm) {
        return Some(format!("its layer was not on at every start ({said}): a cost of what is off is none"));
    }
    let own = own_reason(setup, table, arm);
    let of_baseline = || {
        let baseline = setup.baseline_of(arm);
        [baseline.to_owned(), second(baseline)]
            .into_iter()
            .find_map(|name| own_reason(setup, table, &name).map(|why| format!("the baseline {name}: {why}")))
    };
    own.or_else(of_baseline)
        .or_else(|| late(setup, table.main(), arm, 1.0))
        .or_else(|| of_generators(setup, table, arm))
}

/// The reason why its rates, compared with nobody's, are no figures either.
pub(super) fn reason_of_rates(
    setup: &Setup,
    table: &Table,
    off: &BTreeMap<String, String>,
    arm: &str,
) -> Option<String> {
    let off = off.get(arm).map(|said| format!("its layer was not on at every start ({said})"));
    off.or_else(|| own_reason(setup, table, arm))
        .or_else(|| lateness::spoils_own_rates(setup, table.main(), arm))
}

/// The fault of one generator among several; all together may hide it.
fn of_generators(setup: &Setup, table: &Table, arm: &str) -> Option<String> {
    let of_one = |GeneratorTable { name, share, alone }: &GeneratorTable| {
        let all = SliceCounters::sum(alone.all().flat_map(|series| &series.column(arm).counters));
        let why =
            failing(&all, setup.max_errors, "requests").or_else(|| late(setup, alone.main(), arm, *share))?;
        Some(format!("{name}: {why}"))
    };
    table.generators.iter().find_map(of_one).or_else(|| apart(setup, table, arm))
}

/// A clock whose due times hang together, as equal gaps do: generators began a slice too far apart.
fn apart(setup: &Setup, table: &Table, arm: &str) -> Option<String> {
    let hangs_together = setup.max_lateness_ns.is_some() && setup.design.loads.is_empty();
    if !hangs_together || setup.load.contains("poisson") {
        return None;
    }
    let begun: Vec<&Vec<u64>> =
        table.generators.iter().map(|of| &of.alone.main().column(arm).started_ns).collect();
    let counters = table.main().column(arm).counters.iter().enumerate();
    counters.into_iter().find_map(|(slice, SliceCounters { wall_ns, .. })| {
        let began = || begun.iter().filter_map(|of| of.get(slice));
        let spread = began().max()? - began().min()?;
        (spread > wall_ns / MOST_APART).then(|| {
            let (spread, wall) = (Nanos::new(spread), Nanos::new(*wall_ns));
            format!("its generators began a slice of {wall} {spread} apart, more than 1/{MOST_APART} of it: their requests did not come at the moments that the clock has")
        })
    })
}

/// Open loop: the generator was late, and the figure that is judged suffers from it. In a duet times are not judged.
/// `share`: its part of the rate.
fn late(setup: &Setup, series: &Series, arm: &str, share: f64) -> Option<String> {
    match () {
        () if setup.design.is_duet() => None,
        () if lateness::is_of_times(primary(setup)) => lateness::spoils_times(setup, series, arm),
        () => lateness::spoils_cost(setup, series, arm, share),
    }
}

fn own_reason(setup: &Setup, table: &Table, arm: &str) -> Option<String> {
    let slices: Vec<&SliceCounters> = table.all().flat_map(|series| &series.column(arm).counters).collect();
    let all = SliceCounters::sum(slices.iter().copied());
    if all.requests == 0 {
        return None;
    }
    let of_class = |class: &str| all.errors.get(class).copied().unwrap_or(0);
    let wrong = of_class(ErrorClass::WrongBody.as_str());
    if wrong > 0 {
        return Some(format!("{wrong} replies had bytes of something else (wrong-body)"));
    }
    let other = of_class(WRONG_BYTES);
    if other > 0 {
        return Some(format!("{other} files held other bytes than were written ({WRONG_BYTES})"));
    }
    if let Some(why) = by_itself(setup, &all).or_else(|| served_nothing(setup, &slices)) {
        return Some(why);
    }
    let noun = if setup.workload.makes_operations() { "operations" } else { "requests" };
    // Populations have limits of their own.
    let failed = if table.populations.is_empty() { failing(&all, setup.max_errors, noun) } else { None };
    failed
        .or_else(|| handshakes::off(setup, arm, slices.iter().copied()))
        .or_else(|| wrong_populations(&table.populations, arm))
}

/// More failures than allowed: the share, and the class with most failures.
fn failing(all: &SliceCounters, max_errors: f64, noun: &str) -> Option<String> {
    let share = all.error_count() as f64 / all.requests.max(1) as f64;
    if share <= max_errors {
        return None;
    }
    Some(format!("{} of its {noun} failed, most by {}", Ratio::new(share)?, all.most_failures()?))
}

/// An arm that served nothing has no cost of serving.
fn served_nothing(setup: &Setup, slices: &[&SliceCounters]) -> Option<String> {
    let empty = |c: &&SliceCounters| c.replies == 0 && c.requests > 0 && c.refused_count() == c.requests;
    let slice = slices.iter().copied().find(empty).filter(|_| setup.primary == SUBJECT_CPU_PER_REPLY)?;
    let some = if slices.iter().all(|c| c.replies == 0) { "" } else { " in some slices" };
    Some(format!(
        "it served nothing{some} ({} requests of a slice, all refused): there is no CPU of a served request",
        slice.requests
    ))
}

/// Our servers number each of their replies: a reply without a number came from something else.
fn by_itself(setup: &Setup, all: &SliceCounters) -> Option<String> {
    let HitCounts { replies, unnumbered, .. } = all.hits?;
    let share = Ratio::new(unnumbered as f64 / replies.max(1) as f64)?;
    (share.get() > setup.max_errors).then(|| {
        format!("{share} of its replies ({unnumbered}) were not made by the server behind: what stands before it answers by itself")
    })
}

fn later_than(series: &Series, arm: &str, bound: Nanos) -> Option<String> {
    let lateness = series.column(arm).merged.lateness.quantile(0.99);
    (lateness > bound).then(|| lateness::late("", lateness, bound))
}

/// The fault of one of them; it spoils the whole arm, whose figures come from all.
pub(super) fn wrong_populations(populations: &[(PopulationSetup, Table)], arm: &str) -> Option<String> {
    populations.iter().find_map(|of| spoiled_by(of, populations, arm))
}

/// The fault of this population.
pub(super) fn spoiled_by(
    (known, alone): &(PopulationSetup, Table),
    populations: &[(PopulationSetup, Table)],
    arm: &str,
) -> Option<String> {
    let name = &known.population;
    let all = SliceCounters::sum(&alone.main().column(arm).counters);
    if let Some(why) = failing(&all, known.max_errors, "requests") {
        return Some(format!("the population {name}: {why}"));
    }
    let late = later_than(alone.main(), arm, Nanos::new(known.max_lateness_ns?))?;
    Some(format!("the population {name} was starved: {late}{}", by_whom(populations, name, arm)))
}

/// The other population that had most of the generator.
fn by_whom(populations: &[(PopulationSetup, Table)], name: &str, arm: &str) -> String {
    let cpu = |table: &Table| SliceCounters::sum(&table.main().column(arm).counters).generator_cpu_ns;
    let all: u64 = populations.iter().map(|(_, table)| cpu(table)).sum();
    let others = populations.iter().filter(|(known, _)| known.population != name);
    let Some((most, table)) = others.max_by_key(|(_, table)| cpu(table)) else { return String::new() };
    let share = Ratio::new(cpu(table) as f64 / all.max(1) as f64);
    share.map_or_else(String::new, |share| {
        format!("; {share} of the generator's CPU went to the population {}", most.population)
    })
}

/// Reason why this figure of the arm, its throughput or a time, says nothing in these rounds, though its cost per request
/// may.
pub(super) fn generator_limited(setup: &Setup, series: &Series, arm: &str, meter: &Meter) -> Option<String> {
    if setup.workload.kind == "command" || setup.workload.makes_operations() {
        return None;
    }
    if lateness::bound(setup, series).is_some() {
        return match meter.is_speed() {
            true => lateness::spoils_rates(setup, series, arm),
            false => lateness::spoils_times(setup, series, arm),
        };
    }
    let baseline = setup.baseline_of(arm);
    [arm.to_owned(), baseline.to_owned(), second(baseline)].into_iter().find_map(|name| {
        let busy = busy(series, &name);
        let share = Ratio::new(busy.min(1.0))?;
        (busy >= GENERATOR_LIMIT)
            .then(|| format!("the generator was the limit for {name}: its core was {share} busy"))
    })
}

/// Whether the generator was the limit of an arm's rates, compared with nobody's.
pub(super) fn limits_own_rates(setup: &Setup, series: &Series, arm: &str) -> bool {
    match lateness::bound(setup, series) {
        Some(_) => lateness::spoils_own_rates(setup, series, arm).is_some(),
        None => busy(series, arm) >= GENERATOR_LIMIT,
    }
}

/// Mean share of its core that the generator's busiest thread used.
fn busy(series: &Series, arm: &str) -> f64 {
    let counters = &series.column(arm).counters;
    counters.iter().map(|c| c.generator_busy).sum::<f64>() / counters.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::series::Depth;
    use bakeoff_meter::{Histogram, Times};
    use bakeoff_results::{PartRecord, PlaceSetup, SliceRecord};

    /// The reason against b when the second of two generators has these failures, is so late, and begins so late.
    fn said(failures: u64, late: Nanos, begins: Nanos) -> Option<String> {
        let place = |host: &str, first_lane| PlaceSetup {
            host: host.to_owned(),
            first_lane,
            lanes: 1,
            ..PlaceSetup::default()
        };
        let setup = Setup {
            arms: ["a", "a'", "b"].map(str::to_owned).to_vec(),
            baseline: "a".to_owned(),
            primary: "response_p50".to_owned(),
            load: "open loop, constant 1000/s".to_owned(),
            max_errors: 0.1,
            max_lateness_ns: Some(1_000_000),
            places: vec![place("x", 1), place("y", 2)],
            ..Setup::default()
        };
        let part = |generator, errors: u64, late, begins: Nanos| {
            let mut lateness = Histogram::new();
            (0..100).for_each(|_| lateness.record(late));
            let heard_ns = begins.get();
            let counters = SliceCounters {
                requests: 100,
                replies: 100 - errors,
                errors: BTreeMap::from([("reset".to_owned(), errors)]),
                wall_ns: 1_000_000_000,
                ..SliceCounters::default()
            };
            PartRecord { generator, heard_ns, ..PartRecord::default() }.of(counters, &lateness)
        };
        let slice = |arm: &str| {
            let is_b = arm == "b";
            let (failures, late, begins) = if is_b { (failures, late, begins) } else { Default::default() };
            let parts = vec![part(1, 0, Nanos::ZERO, Nanos::ZERO), part(2, failures, late, begins)];
            let mut counters = parts[0].counters();
            counters.add_beside(&parts[1].counters());
            let times = Times { lateness: parts[0].lateness(), ..Times::default() };
            SliceRecord {
                arm: arm.to_owned(),
                ended_ns: 1,
                counters,
                times: times.encode(),
                parts,
                ..SliceRecord::default()
            }
        };
        let slices: Vec<SliceRecord> = setup.arms.iter().map(|arm| slice(arm)).collect();
        let table = Table::read(&setup, &slices, Depth::Histograms).unwrap();
        reason(&setup, &table, &BTreeMap::new(), "b")
    }

    #[test]
    fn one_generator_s_fault_is_its_own_though_all_together_hide_it() {
        let ms = Nanos::from_millis;
        assert_eq!(said(10, Nanos::from_micros(500), ms(50)), None, "all within their bounds");
        let failed = said(20, ms(0), ms(0)).unwrap();
        assert!(
            failed.starts_with("generator 2 (y): 20 % of its requests failed, most by reset"),
            "{failed}"
        );
        let late = said(0, ms(3), ms(0)).unwrap();
        assert!(late.starts_with("generator 2 (y): the generator was late"), "{late}");
        let apart = said(0, ms(0), ms(51)).unwrap();
        assert!(apart.contains("began a slice of 1 s 51 ms apart, more than 1/20"), "{apart}");
    }
}
