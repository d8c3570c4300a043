//! The rows of `comparisons`: the primary figure with its verdict, the others marked exploratory.

use super::arm::median;
use super::decide::{self, Decided, Progress, decide, decide_null, differences, level, null_differences};
use super::invalid;
use super::series::{Buckets, Series, primary, second};
use crate::results::{ArmResult, Comparison, Setup};
use bakeoff_meter::catalogue::{self, ELAPSED, PATH_CPU, SUBJECT_CPU};
use bakeoff_meter::{CATALOGUE, Kind, Meter, Unit};
use bakeoff_stats::{
    CountsByRound, Effect, Interval, Proportion, Verdict, Wording, difference_of_proportions, effect,
    proportion_differences, quantile_ratio, ratio_of_sums, sentence, smallest_detectable,
};
use std::collections::{BTreeMap, BTreeSet};

/// Bootstrap samples for intervals of quantiles.
const RESAMPLES: u32 = 1000;
/// Meters that describe the load and the machine, not a cost.
const NOT_COMPARED: [&str; 12] = [
    "subject_busy",
    "generator_busy",
    "host_user",
    "host_system",
    "host_iowait",
    "host_steal",
    "pressure_cpu",
    "pressure_io",
    "pressure_memory",
    "connections",
    "postponed",
    "disk_write",
];

pub(super) fn all(setup: &Setup, series: &Series, arms: &BTreeMap<String, ArmResult>) -> Vec<Comparison> {
    let second = second(&setup.baseline);
    let mut rows = vec![null_row(setup, series, primary(setup), arms, true)];
    rows.extend(decide::judged(setup).map(|arm| primary_row(setup, series, arm, arms)));
    if setup.workload.kind == "command" {
        rows.extend(commands_other(setup, series));
        return rows;
    }
    for arm in decide::judged(setup).chain([second.as_str()]) {
        for meter in CATALOGUE.iter().filter(|meter| meter.name != setup.primary) {
            rows.extend(exploratory(setup, series, arm, meter));
        }
    }
    rows
}

/// User and system CPU of commands.
fn commands_other(setup: &Setup, series: &Series) -> Vec<Comparison> {
    let meters = ["user_cpu", "system_cpu"].into_iter().filter_map(catalogue::find);
    let names: Vec<&str> = decide::judged(setup).collect();
    meters
        .flat_map(|meter| names.iter().filter_map(move |arm| per_slice(setup, series, arm, meter)))
        .collect()
}

fn primary_row(setup: &Setup, series: &Series, arm: &str, arms: &BTreeMap<String, ArmResult>) -> Comparison {
    let meter = primary(setup);
    let why = arms[arm].invalid.clone().or_else(|| times_invalid(setup, series, arm, meter));
    let decided = decide(setup, series, arm, why.as_deref(), Progress::Ended);
    let mut row = row_of(setup, series, arm, meter, &decided);
    if setup.primary == SUBJECT_CPU {
        add_path(setup, series, arm, &decided, &mut row);
    }
    row
}

/// Response times say nothing when the generator was the limit.
fn times_invalid(setup: &Setup, series: &Series, arm: &str, meter: &Meter) -> Option<String> {
    let of_times =
        meter.kind == Kind::Histogram || matches!(meter.unit, Unit::PerSecond | Unit::BytesPerSecond);
    of_times.then(|| invalid::generator_limited(setup, series, arm))?
}

fn row_of(setup: &Setup, series: &Series, arm: &str, meter: &Meter, decided: &Decided) -> Comparison {
    let wording = Wording { figure: meter.noun, seconds_per_round: series.seconds_per_round };
    let mut d = differences(series, setup, arm, meter).unwrap_or_default();
    d.truncate(decided.rounds);
    let mut row = blank(setup, series, arm, meter, decided.rounds);
    row.primary = true;
    row.verdict = decided.judgement.verdict().unwrap_or(Verdict::NotResolved);
    row.sentence = sentence(&decided.judgement, &wording);
    if decided.between_looks {
        let next = setup.looks.iter().find(|look| **look as usize > decided.rounds);
        row.sentence += &next.map_or_else(String::new, |look| {
            format!("; the run ended after {} rounds, and verdicts are given at the planned looks only: the next one was after {look}", decided.rounds)
        });
    }
    if series.rounds() == 0 {
        row.sentence = "not resolved: the run ended before the first round was complete".to_owned();
    }
    fill(&mut row, decided.judgement.effect.as_ref());
    row.ratio_of_sums = sums(setup, series, arm, meter, decided.rounds);
    row.differences = d;
    row
}

/// The A/A' pair.
fn null_row(
    setup: &Setup,
    series: &Series,
    meter: &Meter,
    arms: &BTreeMap<String, ArmResult>,
    is_primary: bool,
) -> Comparison {
    let arm = second(&setup.baseline);
    let judgement = decide_null(setup, series, meter, arms[&arm].invalid.as_deref());
    let mut row = blank(setup, series, &arm, meter, series.rounds());
    row.primary = is_primary;
    row.verdict = judgement.verdict().unwrap_or(Verdict::NotResolved);
    let floor = judgement_effect(setup, series, meter);
    fill(&mut row, floor.as_ref());
    row.sentence = match (&judgement.invalid, &floor) {
        (Some(why), _) => format!("invalid: {why}"),
        (None, Some(e)) => format!(
            "the noise floor: {} by {} (CI {}, {} rounds)",
            if is_one_process(setup) {
                "one server, measured as two, differs from itself"
            } else {
                "two equal servers differ"
            },
            percent(e.effect),
            range(&e.interval),
            e.n
        ),
        (None, None) => "the noise floor is not known: too few complete rounds".to_owned(),
    };
    row.differences = null_differences(series, setup, meter).unwrap_or_default();
    row
}

/// A running server has one process, whatever we call it.
fn is_one_process(setup: &Setup) -> bool {
    setup.subjects.get(&setup.baseline).is_some_and(|subject| subject.server == "url")
}

fn judgement_effect(setup: &Setup, series: &Series, meter: &Meter) -> Option<Effect> {
    effect(&null_differences(series, setup, meter)?, level(setup))
}

/// If subject and path disagree by more than both intervals allow, the sentence gives both.
fn add_path(setup: &Setup, series: &Series, arm: &str, decided: &Decided, row: &mut Comparison) {
    let Some(path) = catalogue::find(PATH_CPU) else { return };
    let Some(mut d) = differences(series, setup, arm, path) else { return };
    d.truncate(decided.rounds);
    let (Some(of_path), Some(own)) = (effect(&d, level(setup)), decided.judgement.effect.as_ref()) else {
        return;
    };
    let apart = (of_path.effect - own.effect).abs();
    if apart > of_path.interval.half_width() + own.interval.half_width() && row.verdict != Verdict::Invalid {
        row.sentence += &format!(
            "; the whole path (subject, generator, soft interrupts): {} (CI {})",
            percent(of_path.effect),
            range(&of_path.interval)
        );
    }
}

fn exploratory(setup: &Setup, series: &Series, arm: &str, meter: &Meter) -> Option<Comparison> {
    if NOT_COMPARED.contains(&meter.name) || meter.name == ELAPSED {
        return None;
    }
    if meter.name == "errors" {
        return errors_row(setup, series, arm);
    }
    match meter.quantile {
        Some(q) => quantile_row(setup, series, arm, meter, q),
        None => per_slice(setup, series, arm, meter),
    }
}

fn per_slice(setup: &Setup, series: &Series, arm: &str, meter: &Meter) -> Option<Comparison> {
    let d = if arm == second(&setup.baseline) {
        null_differences(series, setup, meter)?
    } else {
        differences(series, setup, arm, meter)?
    };
    let found = effect(&d, level(setup))?;
    let mut row = blank(setup, series, arm, meter, series.rounds());
    fill(&mut row, Some(&found));
    row.ratio_of_sums = sums(setup, series, arm, meter, series.rounds());
    row.differences = d;
    finish_exploratory(setup, series, arm, meter, row)
}

fn errors_row(setup: &Setup, series: &Series, arm: &str) -> Option<Comparison> {
    let meter = catalogue::find("errors")?;
    let parts = |name: &str| -> Vec<Proportion> {
        let of = |c: &bakeoff_meter::Counters| Proportion { part: c.error_count(), of: c.requests };
        series.column(name).counters.iter().map(of).collect()
    };
    let (a, a2, s) = (parts(&setup.baseline), parts(&second(&setup.baseline)), parts(arm));
    let found = difference_of_proportions(&s, &a, &a2, level(setup))?;
    let mut row = blank(setup, series, arm, meter, series.rounds());
    fill(&mut row, Some(&found));
    row.differences = proportion_differences(&s, &a, &a2);
    finish_exploratory(setup, series, arm, meter, row)
}

fn quantile_row(setup: &Setup, series: &Series, arm: &str, meter: &Meter, q: f64) -> Option<Comparison> {
    let other = second(&setup.baseline);
    let names = [setup.baseline.as_str(), other.as_str(), arm];
    let counts = counts_by_round(series, &names, meter);
    let [a, a2, subject] = counts.as_slice() else { return None };
    let reference = if arm == other { a.clone() } else { a.merged(a2).ok()? };
    let found = quantile_ratio(subject, &reference, q, level(setup), RESAMPLES, setup.seed).ok()?;
    let mut row = blank(setup, series, arm, meter, series.rounds());
    (row.value, row.baseline_value) = (found.subject_ns as f64, found.reference_ns as f64);
    (row.effect, row.low, row.high) =
        (Some(found.effect), Some(found.interval.low), Some(found.interval.high));
    finish_exploratory(setup, series, arm, meter, row)
}

/// Counts of several arms over one common set of bucket edges.
fn counts_by_round(series: &Series, arms: &[&str], meter: &Meter) -> Vec<CountsByRound> {
    let buckets: Vec<&[Buckets]> = arms.iter().map(|arm| series.column(arm).histogram(meter).1).collect();
    let edges: BTreeSet<u64> = buckets.iter().copied().flatten().flatten().map(|(edge, _)| *edge).collect();
    let upper_ns: Vec<u64> = edges.into_iter().collect();
    let row = |round: &Buckets| {
        let mut counts = vec![0; upper_ns.len()];
        for (edge, count) in round {
            if let Ok(index) = upper_ns.binary_search(edge) {
                counts[index] += count;
            }
        }
        counts
    };
    buckets
        .iter()
        .map(|rounds| CountsByRound { upper_ns: upper_ns.clone(), rounds: rounds.iter().map(row).collect() })
        .collect()
}

/// Verdict and words of a figure that was not named beforehand.
fn finish_exploratory(
    setup: &Setup,
    series: &Series,
    arm: &str,
    meter: &Meter,
    mut row: Comparison,
) -> Option<Comparison> {
    let (effect, low, high) = (row.effect?, row.low?, row.high?);
    let why = invalid::reason(setup, series, arm).or_else(|| times_invalid(setup, series, arm, meter));
    let interval = Interval { low, high };
    let more = if meter.more_is_worse { Verdict::Costs } else { Verdict::Saves };
    let less = if meter.more_is_worse { Verdict::Saves } else { Verdict::Costs };
    let sharp = interval.half_width() <= setup.margin.max(effect.abs() / 2.0);
    let is_null = arm == second(&setup.baseline);
    row.verdict = match why {
        Some(_) => Verdict::Invalid,
        None if low > -setup.margin && high < setup.margin => Verdict::NoCost,
        None if is_null => Verdict::NotResolved,
        None if low > 0.0 && sharp => more,
        None if high < 0.0 && sharp => less,
        None => Verdict::NotResolved,
    };
    row.sentence = match why {
        Some(why) => format!("invalid: {why}"),
        None if meter.unit == Unit::Share => {
            format!(
                "{} points {} (CI {}, exploratory)",
                points(effect),
                meter.noun,
                range(&interval).replace(" %", "")
            )
        }
        None => format!("{} {} (CI {}, exploratory)", percent(effect), meter.noun, range(&interval)),
    };
    Some(row)
}

fn blank(setup: &Setup, series: &Series, arm: &str, meter: &Meter, rounds: usize) -> Comparison {
    let middle = |names: &[String]| {
        let figures = names.iter().filter_map(|name| series.figures(name, meter));
        median(
            figures
                .flat_map(|mut f| {
                    f.truncate(rounds);
                    f
                })
                .collect(),
        )
        .unwrap_or(0.0)
    };
    let is_null = arm == second(&setup.baseline);
    let reference = if is_null {
        vec![setup.baseline.clone()]
    } else {
        vec![setup.baseline.clone(), second(&setup.baseline)]
    };
    Comparison {
        arm: arm.to_owned(),
        baseline: setup.baseline.clone(),
        meter: meter.name.to_owned(),
        primary: false,
        unit: meter.unit.as_str().to_owned(),
        value: middle(&[arm.to_owned()]),
        baseline_value: middle(&reference),
        effect: None,
        low: None,
        high: None,
        level: setup.level,
        rounds: rounds as u32,
        verdict: Verdict::NotResolved,
        sentence: String::new(),
        paired_sd: None,
        times_noise: None,
        smallest_detectable: None,
        ratio_of_sums: None,
        heavy_tails: false,
        levels: None,
        confirmed: false,
        differences: Vec::new(),
    }
}

fn fill(row: &mut Comparison, found: Option<&Effect>) {
    let Some(e) = found else { return };
    (row.effect, row.low, row.high) = (Some(e.effect), Some(e.interval.low), Some(e.interval.high));
    row.paired_sd = Some(e.paired_sd);
    row.times_noise = Some(e.times_the_noise()).filter(|noise| noise.is_finite());
    row.smallest_detectable = Some(smallest_detectable(e.paired_sd, e.n));
    row.heavy_tails = e.heavy_tails;
}

fn sums(setup: &Setup, series: &Series, arm: &str, meter: &Meter, rounds: usize) -> Option<f64> {
    let first = |name: &str| {
        series.figures(name, meter).map(|mut figures| {
            figures.truncate(rounds);
            figures
        })
    };
    let a = first(&setup.baseline)?;
    let other = if arm == second(&setup.baseline) { a.clone() } else { first(&second(&setup.baseline))? };
    ratio_of_sums(&first(arm)?, &a, &other)
}

fn percent(fraction: f64) -> String {
    format!("{} %", points(fraction))
}

fn points(fraction: f64) -> String {
    let x = fraction * 100.0;
    if x.abs() >= 9.95 { format!("{x:+.0}") } else { format!("{x:+.2}") }
}

fn range(interval: &Interval) -> String {
    format!("{}..{} %", points(interval.low), points(interval.high))
}
