//! Trend of a cost over the load, in one word.
//!
//! A contrast is the arm's amount at one load minus its amount at the load of the decision, round by round. All
//! contrasts of all arms are one family, tested once, when the rounds are over. Holm's step-down keeps the chance of
//! any false one at the level of the family (Holm, Scandinavian Journal of Statistics 6, 1979); it holds however the
//! contrasts depend on each other, and those of an arm share the load of the decision. Each step takes the intervals
//! of [`effect_of`] at its own level, so no p-value is needed. `tests/calibration/curve.rs` measures the error rates.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::contradict::ROOM;
use crate::{Effect, Level, Scale, effect_of};

/// Loads of a curve. With one there is no contrast, and a ninth would mostly widen the intervals of the others.
const LOADS: std::ops::RangeInclusive<usize> = 2..=8;

/// Share of the family's error that the tests are given. So far out Yuen's intervals of 10 to 20 rounds miss up to 1.55
/// times as often as they say: those of 99.8 % of ten rounds of normal noise in 0.28 % (100,000 simulated).
const GIVEN: f64 = 2.0 / 3.0;

/// Dependence of a cost on the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trend {
    /// No load moves it by more than the margin or a tenth of it, whichever is more.
    Flat,
    /// It differs from the decision's by more than that, and more load costs more.
    Grows,
    /// It differs from the decision's by more than that, and more load costs less.
    Falls,
    /// It differs from the decision's by more than that, in both directions.
    Changes,
    /// It is not known to differ, nor to be flat.
    #[default]
    NotResolved,
}

impl Trend {
    /// All of them, in the order of their declaration.
    pub const ALL: [Trend; 5] = [Trend::Flat, Trend::Grows, Trend::Falls, Trend::Changes, Trend::NotResolved];

    /// The word in results directories and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Trend::Flat => "flat",
            Trend::Grows => "grows",
            Trend::Falls => "falls",
            Trend::Changes => "changes",
            Trend::NotResolved => "not-resolved",
        }
    }
}

impl fmt::Display for Trend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The word is none of the five.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTrend(pub String);

impl fmt::Display for UnknownTrend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Trend::ALL.map(Trend::as_str).join(", ");
        write!(f, "unknown trend '{}': expected one of {words}", self.0)
    }
}

impl Error for UnknownTrend {}

impl FromStr for Trend {
    type Err = UnknownTrend;

    fn from_str(word: &str) -> Result<Trend, UnknownTrend> {
        let known = Trend::ALL.into_iter().find(|trend| trend.as_str() == word);
        known.ok_or_else(|| UnknownTrend(word.to_owned()))
    }
}

/// The amounts of a run at several loads, and the settings of their judgement.
#[derive(Clone, Copy, Debug)]
pub struct CurveQuestion<'a> {
    /// Additional cost of each judged arm against the baseline: `arms[arm][load][round]`, in the unit of the figure.
    /// Loads ascend and are the same for all arms. All loads of a round were measured in that round; rounds beyond the
    /// shortest of two series are not used.
    pub arms: &'a [Vec<Vec<f64>>],
    /// The index of the decision's load.
    pub decision: usize,
    /// The start of the measured processes that each round belongs to, as in [`effect_of`].
    pub starts: &'a [u32],
    /// The smallest difference that matters, in the unit of the figure.
    pub margin: f64,
    /// The level of all contrasts of all arms together: 95 % is a false one in at most 5 % of the runs.
    pub level: Level,
}

/// The cost of one arm over the load.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// In one word.
    pub trend: Trend,
    /// One for each load but the decision's, ascending.
    pub contrasts: Vec<LoadContrast>,
    /// The bounds within which all contrasts had to lie to be flat: the margin, or a tenth of the amount at the
    /// decision's load.
    pub tolerance: f64,
}

/// The amount at one load minus that at the decision's load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadContrast {
    /// The index of the load.
    pub load: usize,
    /// The difference, in the unit of the figure, with an interval at the level that it was judged at. `None` under
    /// three rounds, or where a value is not finite.
    pub change: Option<Effect>,
    /// Whether it was found to be other than 0 among all contrasts. For a flat arm it may be, too: too small to matter.
    pub significant: bool,
}

/// The reason for which there are no curves. Indices count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveRefusal {
    /// Too few loads for a contrast, or too many.
    Loads {
        /// Number of loads.
        have: usize,
    },
    /// An arm has another number of loads than the first.
    Mismatch {
        /// The arm.
        arm: usize,
        /// Number of its loads.
        have: usize,
        /// Number of loads of the first.
        need: usize,
    },
    /// There is no such load.
    Decision {
        /// The index of the decision's load.
        decision: usize,
        /// Number of loads.
        loads: usize,
    },
}

impl fmt::Display for CurveRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CurveRefusal::Loads { have } => {
                write!(f, "a curve has {} to {} loads, not {have}", LOADS.start(), LOADS.end())
            }
            CurveRefusal::Mismatch { arm, have, need } => {
                write!(f, "arm {arm} has {have} loads in place of {need}; give every arm the same loads")
            }
            CurveRefusal::Decision { decision, loads } => {
                write!(f, "the decision's load {decision} is none of {loads} loads, counted from 0")
            }
        }
    }
}

impl Error for CurveRefusal {}

/// Judges the dependence of each arm's cost on the load.
///
/// 1. `flat` if the intervals of all contrasts of the arm lie within the tolerance. Their level is that of the family
///    shared among all contrasts (Bonferroni).
/// 2. Otherwise by what Holm's step-down finds to differ from 0 and what is larger than the tolerance: `grows` or
///    `falls` if all of it agrees, `changes` if it does not, `not-resolved` if there is nothing.
pub fn curves(q: &CurveQuestion<'_>) -> Result<Vec<Curve>, CurveRefusal> {
    let loads = check(q)?;
    let strict: Vec<Test> = q.arms.iter().flat_map(|arm| tests(arm, q)).collect();
    let stepped = step_down(strict.clone(), q);
    let each = loads.saturating_sub(1).max(1);
    let found = strict.chunks(each).zip(stepped.chunks(each)).zip(q.arms);
    Ok(found.map(|((strict, stepped), arm)| judged(arm, strict, stepped, q)).collect())
}

/// Number of loads; 0 without an arm.
fn check(q: &CurveQuestion<'_>) -> Result<usize, CurveRefusal> {
    let Some(loads) = q.arms.first().map(Vec::len) else { return Ok(0) };
    if !LOADS.contains(&loads) {
        return Err(CurveRefusal::Loads { have: loads });
    }
    if let Some((arm, other)) = q.arms.iter().enumerate().find(|(_, arm)| arm.len() != loads) {
        return Err(CurveRefusal::Mismatch { arm, have: other.len(), need: loads });
    }
    if q.decision >= loads {
        return Err(CurveRefusal::Decision { decision: q.decision, loads });
    }
    Ok(loads)
}

/// One contrast while it is tested.
#[derive(Clone, Debug)]
struct Test {
    load: usize,
    differences: Vec<f64>,
    change: Option<Effect>,
    significant: bool,
}

impl Test {
    /// As one of `family` tests.
    fn take(&mut self, family: usize, q: &CurveQuestion<'_>) {
        self.change = effect_of(&self.differences, q.starts, shared(q.level, family), Scale::Difference);
        self.significant = self.change.as_ref().is_some_and(|change| !change.interval.contains(0.0));
    }

    /// Whether it says that more load costs more; `None` if it says nothing that matters.
    fn says_grows(&self, decision: usize, tolerance: f64) -> Option<bool> {
        let change =
            self.change.as_ref().filter(|change| self.significant && change.effect.abs() >= tolerance)?;
        Some((self.load > decision) == (change.interval.low > 0.0))
    }
}

/// The contrasts of one arm, taken as tests of the whole family.
fn tests(arm: &[Vec<f64>], q: &CurveQuestion<'_>) -> Vec<Test> {
    let family = q.arms.len() * (arm.len() - 1);
    let at_decision = &arm[q.decision];
    let others = arm.iter().enumerate().filter(|(load, _)| *load != q.decision);
    let taken = others.map(|(load, amounts)| {
        let differences = amounts.iter().zip(at_decision).map(|(at, decision)| at - decision).collect();
        let mut test = Test { load, differences, change: None, significant: false };
        test.take(family, q);
        test
    });
    taken.collect()
}

/// Holm's step-down: what is left after each step is tested as a family of its own, until a step finds nothing.
fn step_down(mut tests: Vec<Test>, q: &CurveQuestion<'_>) -> Vec<Test> {
    let mut family = tests.len();
    loop {
        let left = tests.iter().filter(|test| !test.significant).count();
        if left == family || left == 0 {
            return tests;
        }
        family = left;
        tests.iter_mut().filter(|test| !test.significant).for_each(|test| test.take(family, q));
    }
}

/// The level of each of `family` tests.
fn shared(level: Level, family: usize) -> Level {
    Level::new(1.0 - GIVEN * level.alpha() / family.max(1) as f64).unwrap_or(Level::NULL)
}

fn judged(arm: &[Vec<f64>], strict: &[Test], stepped: &[Test], q: &CurveQuestion<'_>) -> Curve {
    let amount = effect_of(&arm[q.decision], q.starts, q.level, Scale::Difference);
    let tolerance = amount.map_or(q.margin, |amount| q.margin.max(ROOM * amount.effect.abs()));
    let inside = |test: &Test| test.change.as_ref().is_some_and(|change| change.interval.inside(tolerance));
    let flat = strict.iter().all(inside);
    let (trend, shown) =
        if flat { (Trend::Flat, strict) } else { (direction(stepped, q.decision, tolerance), stepped) };
    let contrast = |(shown, stepped): (&Test, &Test)| LoadContrast {
        load: shown.load,
        change: shown.change.clone(),
        significant: stepped.significant,
    };
    Curve { trend, contrasts: shown.iter().zip(stepped).map(contrast).collect(), tolerance }
}

fn direction(tests: &[Test], decision: usize, tolerance: f64) -> Trend {
    let said = |grows: bool| tests.iter().any(|test| test.says_grows(decision, tolerance) == Some(grows));
    match (said(true), said(false)) {
        (true, true) => Trend::Changes,
        (true, false) => Trend::Grows,
        (false, true) => Trend::Falls,
        (false, false) => Trend::NotResolved,
    }
}
