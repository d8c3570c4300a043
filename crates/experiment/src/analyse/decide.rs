//! Which look gives an arm's verdict, and whether paired rounds contradict it.

use super::series::{Series, Table, primary};
use crate::directory::StoppedBy;
use crate::results::{Setup, second};
use bakeoff_meter::Meter;
use bakeoff_stats::{
    Contradiction, Cost, Decision, Judgement, Level, Margin, Question, Rounds, Verdict, contradiction, judge,
    judge_null,
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
    /// What the paired rounds after a duet say of the same figure, at their own load.
    pub(super) in_pairs: Option<Cost>,
    /// In what they contradict the duet.
    pub(super) contradiction: Option<Contradiction>,
}

/// Whether more rounds may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Running,
    /// The rounds that were planned were run, or time was up: the last look is taken where the run is.
    Over,
    /// Somebody or something ended it: no look is gained by that.
    CutOff,
}

impl Progress {
    pub(super) const fn of(stopped_by: StoppedBy) -> Self {
        match stopped_by {
            StoppedBy::Verdicts | StoppedBy::Rounds | StoppedBy::Budget => Self::Over,
            StoppedBy::Interrupted | StoppedBy::Failed => Self::CutOff,
        }
    }
}

/// The intervals' level; `setup.json` holds it since before the first slice.
pub(super) fn level(setup: &Setup) -> Level {
    Level::new(setup.level).unwrap_or(Level::NULL)
}

/// The margin of the primary figure.
pub(super) fn margin(setup: &Setup) -> Margin {
    setup.margin_amount.map_or(Margin::Share(setup.margin), Margin::Amount)
}

/// An arm against its baseline in a figure whose larger values are worse, round by round.
pub(super) fn differences(series: &Series, setup: &Setup, arm: &str, meter: &Meter) -> Option<Rounds> {
    let (a, a2) = both(series, setup.baseline_of(arm), meter)?;
    let subject = series.figures(arm, meter)?;
    Some(Rounds::of(&subject, &a, &a2))
}

/// The figures of a baseline's two processes.
fn both(series: &Series, baseline: &str, meter: &Meter) -> Option<(Vec<f64>, Vec<f64>)> {
    Some((series.figures(baseline, meter)?, series.figures(&second(baseline), meter)?))
}

/// The two processes of a baseline, round by round.
pub(super) fn null_differences(series: &Series, baseline: &str, meter: &Meter) -> Option<Rounds> {
    let (a, a2) = both(series, baseline, meter)?;
    Some(Rounds::of_twins(&a2, &a))
}

/// Judges at each planned look; the first final decision stands, and later rounds do not change
/// it. When the run is over, what is still open gets its last word. A claim that the paired rounds
/// after a duet contradict is none.
pub(super) fn decide(
    setup: &Setup,
    table: &Table,
    arm: &str,
    invalid: Option<&str>,
    progress: Progress,
) -> Decided {
    let mut decided = at_looks(setup, table, arm, invalid, progress);
    decided.in_pairs = differences(&table.paired, setup, arm, primary(setup))
        .and_then(|rounds| rounds.cost(table.paired.starts(), level(setup)));
    let costs = decided.judgement.cost.as_ref().zip(decided.in_pairs.as_ref());
    decided.contradiction = costs.and_then(|(duet, pairs)| contradiction(&duet.amount, &pairs.amount));
    let claims = matches!(
        decided.judgement.decision,
        Decision::Final(Verdict::Costs | Verdict::Saves | Verdict::NoCost | Verdict::NotWorse)
    );
    if claims && decided.contradiction.is_some() {
        decided.judgement.decision = Decision::Final(Verdict::NotResolved);
    }
    decided
}

fn at_looks(setup: &Setup, table: &Table, arm: &str, invalid: Option<&str>, progress: Progress) -> Decided {
    let series = &table.main;
    let last = table.looks.last();
    let at = |rounds: usize, last_look: bool| Decided {
        judgement: judged_at(setup, series, arm, invalid, rounds, last_look),
        rounds,
        is_final: false,
        between_looks: false,
        in_pairs: None,
        contradiction: None,
    };
    let rounds = series.rounds();
    for &look in table.looks.looks.iter().filter(|&&look| look as usize <= rounds) {
        let decided = at(look as usize, look == last);
        if matches!(decided.judgement.decision, Decision::Final(_)) {
            return Decided { is_final: true, ..decided };
        }
    }
    match progress {
        Progress::Running => at(rounds, false),
        Progress::Over => at(rounds, true),
        Progress::CutOff => without_a_look(at(rounds, true), margin(setup)),
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
    let of_arm = differences(series, setup, arm, meter).unwrap_or_default().first(rounds);
    let null = null_differences(series, setup.baseline_of(arm), meter).unwrap_or_default().first(rounds);
    let noun = meter.noun_in(&setup.workload.kind);
    let missing =
        (series.rounds() > 0 && of_arm.ratios.is_empty()).then(|| format!("{noun} could not be read"));
    judge(&Question {
        margin: margin(setup),
        invalid: invalid.or(missing.as_deref()),
        null: &null,
        arm: &of_arm,
        starts: series.starts(),
        level: level(setup),
        last_look,
    })
}

/// A run that was ended between two looks must not gain one: nothing but what needs no look.
fn without_a_look(mut decided: Decided, margin: Margin) -> Decided {
    if let Decision::Final(Verdict::Costs | Verdict::Saves | Verdict::NoCost) = decided.judgement.decision {
        let cost = decided.judgement.cost.as_ref().map(|cost| cost.on(margin));
        let not_worse = cost.is_some_and(|e| e.interval.high < margin.size());
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
    judge_null(&Question {
        margin: margin(setup),
        invalid,
        null: &null_differences(series, baseline, meter).unwrap_or_default(),
        arm: &Rounds::default(),
        starts: series.starts(),
        level: level(setup),
        last_look: true,
    })
}
