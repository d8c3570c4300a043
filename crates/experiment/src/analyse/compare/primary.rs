//! The rows that verdicts stand on.

use super::super::decide::{
    Confirm, Decided, Progress, decide, decide_null, differences, level, null_differences,
};
use super::super::series::{Series, Table, primary};
use super::{blank, fill, percent, range, sums, times_invalid};
use crate::results::{ArmResult, Comparison, LevelsResult, Setup, second};
use bakeoff_meter::Meter;
use bakeoff_meter::catalogue::{self, PATH_CPU, SUBJECT_CPU};
use bakeoff_stats::{Effect, Scale, Verdict, Wording, effect_of, levels, sentence};
use std::collections::BTreeMap;

pub(super) fn primary_row(
    setup: &Setup,
    table: &Table,
    arm: &str,
    arms: &BTreeMap<String, ArmResult>,
) -> Comparison {
    let meter = primary(setup);
    let why = arms[arm].invalid.clone().or_else(|| times_invalid(setup, &table.main, arm, meter));
    let decided = decide(setup, table, arm, why.as_deref(), Progress::Ended);
    let series = if decided.confirm == Confirm::Done { &table.confirming } else { &table.main };
    let mut row = row_of(setup, series, arm, meter, &decided);
    if setup.primary == SUBJECT_CPU {
        add_path(setup, series, arm, &decided, &mut row);
    }
    row
}

fn row_of(setup: &Setup, series: &Series, arm: &str, meter: &Meter, decided: &Decided) -> Comparison {
    let wording =
        Wording { figure: meter.noun_in(&setup.workload.kind), seconds_per_round: series.seconds_per_round };
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
    match decided.confirm {
        Confirm::Done => row.sentence += "; the duet showed more than 5 %, so these paired rounds decide",
        Confirm::Wanted => {
            row.sentence += "; the duet shows more than 5 %, which only paired rounds can confirm, and the run ended before them";
        }
        Confirm::NotNeeded => {}
    }
    row.confirmed = decided.confirm == Confirm::Done;
    row.levels = spread(&d, series);
    if series.rounds() == 0 {
        row.sentence = "not resolved: the run ended before the first round was complete".to_owned();
    }
    fill(&mut row, decided.judgement.effect.as_ref());
    row.ratio_of_sums = sums(setup, series, arm, meter, decided.rounds);
    row.differences = d;
    row
}

/// The A/A' pair of a stratum.
pub(super) fn null_row(
    setup: &Setup,
    series: &Series,
    baseline: &str,
    meter: &Meter,
    arms: &BTreeMap<String, ArmResult>,
) -> Comparison {
    let arm = second(baseline);
    let judgement = decide_null(setup, series, baseline, meter, arms[&arm].invalid.as_deref());
    let mut row = blank(setup, series, &arm, meter, series.rounds());
    row.primary = true;
    row.verdict = judgement.verdict().unwrap_or(Verdict::NotResolved);
    let floor = judgement_effect(setup, series, baseline, meter);
    fill(&mut row, floor.as_ref());
    row.sentence = match (&judgement.invalid, &floor) {
        (Some(why), _) => format!("invalid: {why}"),
        (None, Some(e)) => format!(
            "the noise floor: {} by {} (CI {}, {} rounds)",
            match setup.workload.kind.as_str() {
                "files" => "two equal directories differ",
                _ if is_one_process(setup, baseline) => "one server, measured as two, differs from itself",
                _ => "two equal servers differ",
            },
            percent(e.effect),
            range(&e.interval),
            e.n
        ),
        (None, None) => "the noise floor is not known: too few complete rounds".to_owned(),
    };
    row.differences = null_differences(series, baseline, meter).unwrap_or_default();
    row.levels = spread(&row.differences, series);
    row
}

/// From start to start, and within one.
fn spread(d: &[f64], series: &Series) -> Option<LevelsResult> {
    let found = levels(d, series.starts())?;
    Some(LevelsResult { starts: found.starts as u32, between_sd: found.between, within_sd: found.within })
}

/// A running server has one process, whatever we call it.
fn is_one_process(setup: &Setup, baseline: &str) -> bool {
    setup.subjects.get(baseline).is_some_and(|subject| subject.server == "url")
}

fn judgement_effect(setup: &Setup, series: &Series, baseline: &str, meter: &Meter) -> Option<Effect> {
    effect_of(&null_differences(series, baseline, meter)?, series.starts(), level(setup), Scale::LogRatio)
}

/// If subject and path disagree by more than both intervals allow, the sentence gives both.
fn add_path(setup: &Setup, series: &Series, arm: &str, decided: &Decided, row: &mut Comparison) {
    let Some(path) = catalogue::find(PATH_CPU) else { return };
    let Some(mut d) = differences(series, setup, arm, path) else { return };
    d.truncate(decided.rounds);
    let (Some(of_path), Some(own)) =
        (effect_of(&d, series.starts(), level(setup), Scale::LogRatio), decided.judgement.effect.as_ref())
    else {
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
