//! Look that gives an arm its verdict, the check of a duet by rounds in turn, and the cost at full speed.

use super::series::{Series, Table, primary};
use bakeoff_meter::Meter;
use bakeoff_results::directory::StoppedBy;
use bakeoff_results::{Setup, second};
use bakeoff_stats::{
    Contradiction, Cost, Decision, Interval, Judgement, Level, Margin, Question, Rounds, Verdict,
    contradiction, judge, judge_null,
};

/// State of an arm in the primary figure.
pub(super) struct Decided {
    pub(super) judgement: Judgement,
    /// Rounds that the judgement used.
    pub(super) rounds: usize,
    /// Whether more rounds would change nothing.
    pub(super) is_final: bool,
    /// The interval would have given a verdict, had the run reached its next look.
    pub(super) between_looks: bool,
    /// Rounds in turn at the same load that contradict the duet, if they do; the judgement is then theirs.
    pub(super) contradicted: Option<Contradicted>,
    /// The cost at full speed, if that is another load than the decision's.
    pub(super) at_full_speed: Option<Cost>,
}

/// A duet that rounds in turn contradict.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contradicted {
    /// The contradicting result.
    pub(super) by: Contradiction,
    /// The duet's result.
    pub(super) duet: Cost,
}

/// Whether more rounds may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Running,
    /// The rounds that were planned were run, or time was up: the last look is taken where the run is.
    Over,
    /// The run was ended from outside: it gains no look by that.
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
    let (a, a2) = both(series, setup.baseline_of(arm), arm, meter)?;
    let subject = series.figures(arm, meter)?;
    Some(Rounds::of(&subject, &a, &a2))
}

/// The figures of a baseline's two processes in the slices that they shared with this arm.
fn both(series: &Series, baseline: &str, arm: &str, meter: &Meter) -> Option<(Vec<f64>, Vec<f64>)> {
    let figures = |process: &str| series.figures_beside(arm, process, meter);
    Some((figures(baseline)?, figures(&second(baseline))?))
}

/// The two processes of a baseline, round by round.
pub(super) fn null_differences(series: &Series, baseline: &str, meter: &Meter) -> Option<Rounds> {
    null_beside(series, baseline, baseline, meter)
}

/// The same in the slices that they shared with this arm.
pub(super) fn null_beside(series: &Series, baseline: &str, arm: &str, meter: &Meter) -> Option<Rounds> {
    let (a, a2) = both(series, baseline, arm, meter)?;
    Some(Rounds::of_twins(&a2, &a))
}

/// Judges at each planned look; the first final decision whose cost is as sharp as the plan asks stands, and later rounds
/// do not change it. When the run is over, open arms are judged for the last time. If rounds in turn at the same load
/// contradict a duet, the duet is wrong, and the verdict is theirs. Another amount at full speed contradicts nothing: it
/// is another load.
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
    let mut standing = None;
    for &look in table.looks.looks.iter().filter(|&&look| look as usize <= rounds) {
        let decided = at(look as usize, look == last);
        standing = match decided.judgement.decision {
            Decision::Final(_) if look == last || is_sharp(setup, &decided.judgement) => {
                return Decided { is_final: true, ..decided };
            }
            Decision::Final(_) => Some(Decided { is_final: true, ..decided }),
            _ => None,
        };
    }
    match progress {
        Progress::Running => at(rounds, false),
        Progress::Over => at(rounds, true),
        Progress::CutOff => standing.unwrap_or_else(|| without_a_look(at(rounds, true), margin(setup))),
    }
}

/// Whether a cost is known as sharply as the plan asks.
fn is_sharp(setup: &Setup, judgement: &Judgement) -> bool {
    let Decision::Final(Verdict::Costs | Verdict::Saves) = judgement.decision else { return true };
    setup.precision.zip(judgement.cost.as_ref()).is_none_or(|(precision, cost)| {
        let Interval { low, high } = cost.amount.interval;
        (high - low) / 2.0 <= precision * cost.amount.effect.abs()
    })
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
    let null = null_beside(series, setup.baseline_of(arm), arm, meter).unwrap_or_default().first(rounds);
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

/// A run that was ended between two looks must not gain one: it keeps only results that need no look.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::analyse;
    use bakeoff_meter::catalogue::SUBJECT_CPU;
    use bakeoff_meter::{SliceCounters, Times};
    use bakeoff_plan::RoundDesign;
    use bakeoff_results::directory::StoredExperiment;
    use bakeoff_results::{Comparison, DesignSetup, LoadSetup, Results, SliceRecord, WorkloadSetup};

    const ARMS: [&str; 3] = ["a", "a'", "b"];

    /// A slice of 100 requests of `us` each.
    fn slice(round: u32, arm: &str, (design, load): (RoundDesign, Option<u32>), us: f64) -> SliceRecord {
        let counters = SliceCounters {
            requests: 100,
            replies: 100,
            wall_ns: 1_000_000,
            subject_cpu_ns: Some((us * 100_000.0) as u64),
            ..SliceCounters::default()
        };
        SliceRecord {
            round,
            arm: arm.to_owned(),
            design,
            load,
            started_ns: u64::from(round) * 1_000_000,
            ended_ns: u64::from(round + 1) * 1_000_000,
            counters,
            times: Times::default().encode(),
            ..SliceRecord::default()
        }
    }

    /// Rounds of a kind, from round `first` on: a and a' need 100 us a request, and b `more` on top, a little less in
    /// every second round.
    fn rounds(first: u32, count: u32, kind: (RoundDesign, Option<u32>), more: f64) -> Vec<SliceRecord> {
        let of_round = |round: u32| {
            let wobble = if round.is_multiple_of(2) { 0.99 } else { 1.01 };
            [("a", 100.0), ("a'", 100.0 * wobble), ("b", 100.0 + more * wobble)]
                .map(|(arm, us)| slice(round, arm, kind, us))
        };
        (first..first + count).flat_map(of_round).collect()
    }

    fn load(rate: f64) -> LoadSetup {
        LoadSetup { name: format!("{rate}/s"), rate_per_s: rate, slice_requests: 100, ..LoadSetup::default() }
    }

    fn results(loads: &[f64], decide_at: u32, slices: Vec<SliceRecord>) -> Results {
        let design = DesignSetup {
            design: RoundDesign::Duet,
            loads: loads.iter().map(|rate| load(*rate)).collect(),
            decide_at,
            ..DesignSetup::default()
        };
        let setup = Setup {
            arms: ARMS.map(str::to_owned).to_vec(),
            baseline: "a".to_owned(),
            primary: SUBJECT_CPU.to_owned(),
            margin: 0.01,
            level: 0.9875,
            looks: vec![10],
            max_rounds: 10,
            max_errors: 0.001,
            rounds_budget_ns: u64::MAX / 4,
            workload: WorkloadSetup {
                kind: "get".to_owned(),
                slice_requests: 100,
                ..WorkloadSetup::default()
            },
            design,
            ..Setup::default()
        };
        let stored = StoredExperiment {
            plan: String::new(),
            setup,
            slices,
            trials: Vec::new(),
            stopped_by: StoppedBy::Rounds,
            digests: Default::default(),
        };
        analyse(&stored).unwrap()
    }

    const DUET: (RoundDesign, Option<u32>) = (RoundDesign::Duet, Some(0));
    const IN_TURN: (RoundDesign, Option<u32>) = (RoundDesign::Pairs, Some(0));
    const FULL_SPEED: (RoundDesign, Option<u32>) = (RoundDesign::Pairs, None);

    fn primary(results: &Results) -> &Comparison {
        results.comparisons.iter().find(|row| row.arm == "b" && row.primary).unwrap()
    }

    #[test]
    fn another_amount_at_full_speed_is_said_and_takes_no_verdict_back() {
        let slices =
            [rounds(0, 10, DUET, 40.0), rounds(10, 10, IN_TURN, 41.0), rounds(20, 10, FULL_SPEED, 80.0)]
                .concat();
        let found = results(&[2500.0], 0, slices);
        let row = primary(&found);
        assert_eq!((row.verdict, row.at.as_str(), row.rounds), (Verdict::Costs, "2500/s", 10));
        assert_eq!(row.contradiction, None);
        let depends = row.depends_on_load.as_ref().unwrap();
        assert!(depends.starts_with("+80") && depends.contains("us at full speed (+79"), "{depends}");
        assert!(
            row.sentence.contains("at 2500/s") && row.sentence.contains("depends on the load"),
            "{}",
            row.sentence
        );
        let full = found.comparisons.iter().find(|row| row.arm == "b" && row.at == "full speed").unwrap();
        assert_eq!((full.design, full.load, full.rounds), (RoundDesign::Pairs, None, 10));
    }

    #[test]
    fn one_amount_is_said_where_the_loads_agree() {
        let slices =
            [rounds(0, 10, DUET, 40.0), rounds(10, 10, IN_TURN, 41.0), rounds(20, 10, FULL_SPEED, 42.0)]
                .concat();
        let found = results(&[2500.0], 0, slices);
        assert_eq!(primary(&found).depends_on_load, None);
        assert!(!primary(&found).sentence.contains("full speed"), "{}", primary(&found).sentence);
    }

    #[test]
    fn a_duet_that_rounds_in_turn_contradict_is_wrong_and_the_verdict_is_theirs() {
        let slices = |in_turn| [rounds(0, 10, DUET, 40.0), rounds(10, 20, IN_TURN, in_turn)].concat();
        let found = results(&[2500.0], 0, slices(20.0));
        let row = primary(&found);
        assert_eq!((row.verdict, row.design, row.load), (Verdict::Costs, RoundDesign::Pairs, Some(0)));
        assert!((row.amount.unwrap() / 1e3 - 20.0).abs() < 0.5, "{:?}", row.amount);
        assert!(row.contradiction.as_ref().unwrap().contains("in slots of one slice it was +39"), "{row:?}");
        assert!(row.sentence.contains("the verdict does not stand on those"), "{}", row.sentence);
        // Also if they show no cost, or less.
        assert_eq!(primary(&results(&[2500.0], 0, slices(0.0))).verdict, Verdict::NoCost);
        assert_eq!(primary(&results(&[2500.0], 0, slices(-20.0))).verdict, Verdict::Saves);
        assert_eq!(primary(&results(&[2500.0], 0, slices(38.0))).contradiction, None);
    }

    #[test]
    fn a_curve_has_a_row_for_each_load_and_a_word() {
        let at = |load: u32, more: f64| rounds(0, 10, (RoundDesign::Duet, Some(load)), more);
        let growing = results(&[500.0, 2500.0, 4500.0], 1, [at(0, 2.0), at(1, 10.0), at(2, 30.0)].concat());
        let curve = growing.curve.as_ref().unwrap();
        assert_eq!(curve.arms[0].trend, "grows", "{curve:?}");
        assert!(curve.arms[0].sentence.starts_with("grows with the load: +2"), "{}", curve.arms[0].sentence);
        assert_eq!(primary(&growing).at, "2500/s");
        let rows = growing.comparisons.iter().filter(|row| row.arm == "b" && row.meter == SUBJECT_CPU);
        let mut at_loads: Vec<(Option<u32>, &str)> = rows.map(|row| (row.load, row.at.as_str())).collect();
        at_loads.sort_unstable();
        assert_eq!(at_loads, [(Some(0), "500/s"), (Some(1), "2500/s"), (Some(2), "4500/s")]);
        let word = |costs: [f64; 3]| {
            let [low, middle, high] = costs;
            let found =
                results(&[500.0, 2500.0, 4500.0], 1, [at(0, low), at(1, middle), at(2, high)].concat());
            found.curve.unwrap().arms[0].trend.clone()
        };
        assert_eq!(word([30.0, 10.0, 2.0]), "falls");
        assert_eq!(word([30.0, 10.0, 30.0]), "changes");
        assert_eq!(word([10.0, 10.0, 10.0]), "flat");
    }

    #[test]
    fn a_round_that_lacks_a_load_is_in_no_contrast() {
        let at = |load: u32, count, more| rounds(0, count, (RoundDesign::Duet, Some(load)), more);
        let found = results(&[500.0, 2500.0], 1, [at(0, 9, 10.0), at(1, 10, 10.0)].concat());
        let curve = found.curve.unwrap();
        assert_eq!((curve.loads[0].rounds, curve.loads[1].rounds), (9, 10));
        assert_eq!(curve.arms[0].trend, "flat", "{curve:?}");
    }
}
