//! Which look gives an arm's verdict.

use super::series::{Series, Table, primary};
use crate::results::{Setup, second};
use bakeoff_meter::Meter;
use bakeoff_stats::{
    Decision, Judgement, Level, Question, Verdict, judge, judge_null, log_ratio, log_ratios,
};

/// An arm's state of affairs in the primary figure.
pub(super) struct Decided {
    pub(super) judgement: Judgement,
    /// Rounds that the judgement used.
    pub(super) rounds: usize,
    /// Whether more rounds would change nothing.
    pub(super) is_final: bool,
    /// The interval would have given a verdict, had the run reached its next look.
    pub(super) between_looks: bool,
    /// Whether paired rounds decide in place of the duet.
    pub(super) confirm: Confirm,
}

/// A duet's large effect is decided by paired rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confirm {
    /// Small, or no duet.
    NotNeeded,
    /// There are too few of them yet.
    Wanted,
    /// They have decided.
    Done,
}

/// Whether more rounds may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Running,
    Ended,
}

/// The intervals' level; `setup.json` holds it since before the first slice.
pub(super) fn level(setup: &Setup) -> Level {
    Level::new(setup.level).unwrap_or(Level::NULL)
}

/// Log ratios of an arm in a figure whose larger values are worse, round by round.
pub(super) fn differences(series: &Series, setup: &Setup, arm: &str, meter: &Meter) -> Option<Vec<f64>> {
    let (a, a2) = both(series, setup.baseline_of(arm), meter)?;
    let subject = series.figures(arm, meter)?;
    Some(log_ratios(&subject, &a, &a2))
}

/// The figures of a baseline's two processes.
fn both(series: &Series, baseline: &str, meter: &Meter) -> Option<(Vec<f64>, Vec<f64>)> {
    Some((series.figures(baseline, meter)?, series.figures(&second(baseline), meter)?))
}

/// Log ratios of the two processes of a baseline.
pub(super) fn null_differences(series: &Series, baseline: &str, meter: &Meter) -> Option<Vec<f64>> {
    let (a, a2) = both(series, baseline, meter)?;
    Some(a2.iter().zip(&a).map(|(x, y)| log_ratio(*x, *y)).collect())
}

/// Judges at each planned look; the first final decision stands, and later rounds do not change
/// it. When the run is over, what is still open gets its last word. A large effect of a duet is
/// judged once more, from the paired rounds alone.
pub(super) fn decide(
    setup: &Setup,
    table: &Table,
    arm: &str,
    invalid: Option<&str>,
    progress: Progress,
) -> Decided {
    let main = at_looks(setup, &table.main, arm, invalid, progress);
    if !wants_confirmation(setup, &main) {
        return main;
    }
    let rounds = confirm_rounds(setup);
    if table.confirming.rounds() >= rounds {
        let judgement = judged_at(setup, &table.confirming, arm, invalid, rounds, true);
        return Decided { judgement, rounds, is_final: true, between_looks: false, confirm: Confirm::Done };
    }
    let mut waiting = Decided { is_final: false, confirm: Confirm::Wanted, ..main };
    if progress == Progress::Ended {
        waiting.judgement.decision = Decision::Final(Verdict::NotResolved);
    }
    waiting
}

fn wants_confirmation(setup: &Setup, main: &Decided) -> bool {
    let Some(above) = setup.design.confirm_above else { return false };
    let claims = matches!(main.judgement.decision, Decision::Final(Verdict::Costs | Verdict::Saves));
    claims && main.judgement.effect.as_ref().is_some_and(|e| e.effect.abs() > above)
}

/// Paired rounds that confirm a duet; none in other designs.
pub(super) fn confirm_rounds(setup: &Setup) -> usize {
    setup.design.confirm_rounds.unwrap_or(0) as usize
}

fn at_looks(setup: &Setup, series: &Series, arm: &str, invalid: Option<&str>, progress: Progress) -> Decided {
    let last = setup.looks.last().copied().unwrap_or(0);
    let at = |rounds: usize, last_look: bool| Decided {
        judgement: judged_at(setup, series, arm, invalid, rounds, last_look),
        rounds,
        is_final: false,
        between_looks: false,
        confirm: Confirm::NotNeeded,
    };
    let rounds = series.rounds();
    for &look in setup.looks.iter().filter(|&&look| look as usize <= rounds) {
        let decided = at(look as usize, look == last);
        if matches!(decided.judgement.decision, Decision::Final(_)) {
            return Decided { is_final: true, ..decided };
        }
    }
    match progress {
        Progress::Running => at(rounds, false),
        Progress::Ended => without_a_look(at(rounds, true), setup.margin),
    }
}

fn judged_at(
    setup: &Setup,
    series: &Series,
    arm: &str,
    invalid: Option<&str>,
    rounds: usize,
    last_look: bool,
) -> Judgement {
    let meter = primary(setup);
    let d = differences(series, setup, arm, meter).unwrap_or_default();
    let null_d = null_differences(series, setup.baseline_of(arm), meter).unwrap_or_default();
    let noun = meter.noun_in(&setup.workload.kind);
    let missing = (series.rounds() > 0 && d.is_empty()).then(|| format!("{noun} could not be read"));
    judge(&Question {
        margin: setup.margin,
        invalid: invalid.or(missing.as_deref()),
        null_d: &null_d[..rounds.min(null_d.len())],
        d: &d[..rounds.min(d.len())],
        starts: series.starts(),
        level: level(setup),
        last_look,
    })
}

/// A run that ended between two looks must not gain one: nothing but what needs no look.
fn without_a_look(mut decided: Decided, margin: f64) -> Decided {
    if let Decision::Final(Verdict::Costs | Verdict::Saves | Verdict::NoCost) = decided.judgement.decision {
        let not_worse = decided.judgement.effect.as_ref().is_some_and(|e| e.interval.high < margin);
        let verdict = if not_worse { Verdict::NotWorse } else { Verdict::NotResolved };
        decided.judgement.decision = Decision::Final(verdict);
        decided.between_looks = true;
    }
    decided
}

/// The two processes of a baseline against each other.
pub(super) fn decide_null(
    setup: &Setup,
    series: &Series,
    baseline: &str,
    meter: &Meter,
    invalid: Option<&str>,
) -> Judgement {
    let null_d = null_differences(series, baseline, meter).unwrap_or_default();
    judge_null(&Question {
        margin: setup.margin,
        invalid,
        null_d: &null_d,
        d: &[],
        starts: series.starts(),
        level: level(setup),
        last_look: true,
    })
}
