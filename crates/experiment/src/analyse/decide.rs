//! Look that gives an arm its verdict, the check of a duet by rounds in turn, and the cost at full speed.

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
    /// What rounds in turn at the same load contradict, where they do; the judgement is then theirs.
    pub(super) contradicted: Option<Contradicted>,
    /// The cost at full speed, where it is another than at the decision's load.
    pub(super) at_full_speed: Option<Cost>,
}

/// A duet that rounds in turn contradict.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contradicted {
    /// By what.
    pub(super) by: Contradiction,
    /// What it said.
    pub(super) duet: Cost,
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
/// it. When the run is over, what is still open gets its last word. Where rounds in turn at the same load contradict a
/// duet, the duet is wrong, and the verdict is theirs. Another amount at full speed contradicts nothing: it is another
/// load.
pub(super) fn decide(
    setup: &Setup,
    table: &Table,
    arm: &str,
    invalid: Option<&str>,
    progress: Progress,
) -> Decided {
    let mut decided = at_looks(setup, table, arm, invalid, progress);
    let of = |series: &Series| {
        differences(series, setup, arm, primary(setup))?.cost(series.starts(), level(setup))
    };
    let duet = decided.judgement.cost.clone();
    if let (Some(duet), Some(in_turn)) = (duet, of(&table.in_turn))
        && invalid.is_none()
        && let Some(by) = contradiction(&duet.amount, &in_turn.amount)
    {
        let rounds = table.in_turn.rounds();
        decided.judgement = judged_at(setup, &table.in_turn, arm, invalid, rounds, true);
        decided.rounds = rounds;
        decided.contradicted = Some(Contradicted { by, duet });
    }
    let decisions = decided.judgement.cost.as_ref();
    decided.at_full_speed = of(&table.full_speed)
        .filter(|full| decisions.is_some_and(|at| contradiction(&at.amount, &full.amount).is_some()));
    decided
}

fn at_looks(setup: &Setup, table: &Table, arm: &str, invalid: Option<&str>, progress: Progress) -> Decided {
    let series = table.main();
    let last = table.looks.last();
    let at = |rounds: usize, last_look: bool| Decided {
        judgement: judged_at(setup, series, arm, invalid, rounds, last_look),
        rounds,
        is_final: false,
        between_looks: false,
        contradicted: None,
        at_full_speed: None,
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
