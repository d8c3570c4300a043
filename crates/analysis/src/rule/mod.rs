//! Rules that end a build: `https: cost > 2%`, `response_p99 > 20ms`.
//!
//! Cold, pure. Owns the meaning of a rule and its four outcomes. A rule is judged by the end of the interval that is
//! nearer to keeping it, so that noise never breaks it: `cost > 2%` is broken when even the low end lies above 2 %. A
//! rule that cannot be judged is reported as such, and is never taken for kept.

mod entrant;
mod parse;

pub use parse::RuleError;

use bakeoff_meter::catalogue;
use bakeoff_results::entrant::EntrantVerdict;
use bakeoff_results::{ArmResult, Comparison, OwnFigure, Results};
use bakeoff_stats::{Amounts, Verdict, per_second};
use std::fmt;

/// Number of arms named in a line; a run may have forty.
const NAMED: usize = 3;
/// Name of full speed in a rule.
const FULL: &str = "full";

/// A condition that must not come true.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// As it was typed.
    text: String,
    /// The arm it is about; all compared arms if it names none.
    arm: Option<String>,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Figure {
        /// Name of a meter; `None`: the primary one of the run.
        meter: Option<&'static str>,
        /// Name of the load, of the primary one; `None`: that of the decision.
        at: Option<String>,
        end: End,
        order: Order,
        bound: Bound,
    },
    Verdict {
        /// `=`, and not `!=`.
        equal: bool,
        verdict: Verdict,
    },
    /// Of an entrant of a bake-off: its verdict.
    Entrant {
        /// `=`, and not `!=`.
        equal: bool,
        verdict: EntrantVerdict,
    },
    /// Of an entrant of a bake-off: the number of its faults and breaches.
    Faults { order: Order, bound: f64 },
}

/// Value that a figure's change is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// Fraction; points for figures that are shares.
    Share(f64),
    /// Points of a figure that is a share, as a fraction.
    Points(f64),
    /// In the unit of a figure that is a time, ns.
    Time(f64),
    /// The figure itself in the unit of its meter, and no change.
    Is(f64),
}

/// Number of an interval that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The end at which the rule breaks last.
    Careful,
    Low,
    High,
    Estimate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// Outcome of a rule, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ruled {
    /// It is not broken, and the whole interval says so.
    Held,
    /// It is not broken beyond doubt, but the interval reaches over the bound.
    Open,
    /// There is no figure, or none that may be used.
    NotJudged,
    /// It is broken.
    Broken,
}

/// A rule, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The worst outcome of any of its arms.
    pub ruled: Ruled,
    /// One line for people: the rule, its outcome, and the figures.
    pub line: String,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Rule {
    /// Whether it names one, which needs more rounds than other figures.
    pub fn is_about_a_quantile(&self) -> bool {
        let Test::Figure { meter: Some(meter), .. } = self.test else { return false };
        catalogue::find(meter).is_some_and(|meter| meter.quantile.is_some())
    }

    /// Whether it is about figures themselves, so that a baseline has them, too.
    fn is_absolute(&self) -> bool {
        matches!(self.test, Test::Figure { bound: Bound::Is(_), .. })
    }

    /// Checks that the rule has an arm to judge: of all that are compared, and of baselines too if it is about figures
    /// themselves.
    ///
    /// # Errors
    /// There is none; with the near miss.
    pub fn fits(&self, compared: &[&str], baselines: &[&str]) -> Result<(), RuleError> {
        if self.is_of_entrants() {
            return Err(RuleError::only_for(
                &self.text,
                "bake-offs of caches; write for example `cost > 2%`",
            ));
        }
        let baselines: &[&str] = if self.is_absolute() { baselines } else { &[] };
        let known = [compared, baselines].concat();
        match &self.arm {
            Some(arm) if !known.contains(&arm.as_str()) => {
                Err(RuleError::no_arm(&self.text, arm, &known, self.is_absolute()))
            }
            _ => Ok(()),
        }
    }

    /// Judges every arm that the rule is about by the figures of a run.
    pub fn judge(&self, results: &Results) -> Ruling {
        let judged = match self.test {
            Test::Figure { meter: Some(meter), end, order, bound: Bound::Is(bound), .. } => {
                let arms = results.order.iter().filter_map(|name| results.arms.get_key_value(name));
                // Seconds of baselines have no estimates of their own.
                let is_meant = |name: &str| self.is_meant(name) && !name.ends_with('\'');
                arms.filter(|(name, _)| is_meant(name))
                    .map(|(name, arm)| (name.as_str(), by_value(arm, meter, end, order, bound)))
                    .collect()
            }
            _ => self.judge_changes(results),
        };
        self.ruling(&judged, "no arm was compared")
    }

    /// The worst of all arms, and its line.
    fn ruling(&self, judged: &[(&str, (Ruled, String))], nobody: &str) -> Ruling {
        let ruled = judged.iter().map(|(_, (ruled, _))| *ruled).max().unwrap_or(Ruled::NotJudged);
        let mut of_it = judged.iter().filter(|(_, (other, _))| *other == ruled);
        let mut named: Vec<String> =
            of_it.by_ref().take(NAMED).map(|(arm, (_, figures))| format!("{arm} {figures}")).collect();
        let more = of_it.count();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        if named.is_empty() {
            named.push(nobody.to_owned());
        }
        Ruling { ruled, line: format!("{}: {}: {}", self.text, ruled.as_str(), named.join("; ")) }
    }

    fn is_meant(&self, arm: &str) -> bool {
        self.arm.as_ref().is_none_or(|meant| meant == arm)
    }

    /// Judges the compared arms by their differences.
    fn judge_changes<'a>(&self, results: &'a Results) -> Vec<(&'a str, (Ruled, String))> {
        let is_meant = |row: &&Comparison| {
            let is_noise_floor = row.arm.strip_suffix('\'') == Some(row.baseline.as_str());
            row.primary && !is_noise_floor && self.is_meant(&row.arm)
        };
        let meant = results.comparisons.iter().filter(is_meant);
        meant.map(|primary| (primary.arm.as_str(), self.judge_arm(primary, results))).collect()
    }

    fn judge_arm(&self, primary: &Comparison, results: &Results) -> (Ruled, String) {
        match &self.test {
            Test::Verdict { equal, verdict } => by_verdict(primary, *equal, *verdict),
            Test::Entrant { .. } | Test::Faults { .. } => {
                (Ruled::NotJudged, "has no faults that could be counted".to_owned())
            }
            Test::Figure { at: Some(at), end, order, bound, .. } => match at_load(results, primary, at) {
                Some(row) => {
                    let (ruled, said) = by_figure(row, *end, *order, *bound);
                    (ruled, format!("{said} at {}", row.at))
                }
                None => (Ruled::NotJudged, format!("was not measured at `{at}`; {}", known_loads(results))),
            },
            Test::Figure { meter, end, order, bound, at: None } => {
                let (end, order, bound) = (*end, *order, *bound);
                let meter = meter.unwrap_or(&primary.meter);
                let row = results.comparisons.iter().find(|row| row.arm == primary.arm && row.meter == meter);
                let Some(row) = row else {
                    return (Ruled::NotJudged, format!("has no {meter} that could be compared"));
                };
                by_figure(row, end, order, bound)
            }
        }
    }
}

/// The primary figure of an arm at a load, by the name that it has in the plan, by its rate, or `full`.
fn at_load<'r>(results: &'r Results, primary: &'r Comparison, at: &str) -> Option<&'r Comparison> {
    let design = &results.design;
    let load = design.loads.iter().position(|load| load.name == at || per_second(load.rate_per_s) == at);
    let is_full_speed = at == FULL && !design.loads.is_empty();
    let wanted = load.map(|load| load as u32);
    let rows = results.comparisons.iter();
    let mut own = rows.filter(|row| row.arm == primary.arm && row.meter == primary.meter);
    match wanted {
        Some(_) => own.find(|row| row.load == wanted && (row.primary || row.design == design.design)),
        None => own.find(|row| is_full_speed && row.load.is_none()),
    }
}

fn known_loads(results: &Results) -> String {
    let names: Vec<&str> = results.design.loads.iter().map(|load| load.name.as_str()).collect();
    match names.is_empty() {
        true => "the run has one load: take `@` and what is behind it out".to_owned(),
        false => format!("its loads are {}, and `{FULL}` for full speed", names.join(", ")),
    }
}

fn by_verdict(row: &Comparison, equal: bool, verdict: Verdict) -> (Ruled, String) {
    let ruled = match (equal, row.verdict == verdict, row.verdict) {
        (true, true, _) => Ruled::Broken,
        (false, true, _) => Ruled::Held,
        (_, false, Verdict::Invalid) => Ruled::NotJudged,
        (true, false, Verdict::NotResolved | Verdict::NoVerdict) => Ruled::Open,
        (true, false, _) => Ruled::Held,
        (false, false, _) => Ruled::Broken,
    };
    (ruled, row.sentence.clone())
}

fn by_figure(row: &Comparison, end: End, order: Order, bound: Bound) -> (Ruled, String) {
    let is_time = matches!(bound, Bound::Time(_));
    let (change, bound) = match bound {
        Bound::Share(share) => ((row.effect, row.low, row.high), share),
        Bound::Points(_) if row.unit != "share" => {
            return (
                Ruled::NotJudged,
                format!("has no points in {}, which is no share: give the bound in percent", row.meter),
            );
        }
        Bound::Points(points) => ((row.effect, row.low, row.high), points),
        Bound::Time(_) if row.unit != "ns" => {
            return (Ruled::NotJudged, format!("has no time in {}: give the bound in percent", row.meter));
        }
        Bound::Time(ns) | Bound::Is(ns) => ((row.amount, row.amount_low, row.amount_high), ns),
    };
    let (Some(effect), Some(low), Some(high)) = change else {
        return (Ruled::NotJudged, format!("has too few rounds for an interval ({})", row.rounds));
    };
    if matches!(row.verdict, Verdict::Invalid | Verdict::NoVerdict) {
        return (Ruled::NotJudged, format!("has a figure that must not be used: {}", row.sentence));
    }
    (ruled(end, order, bound, [effect, low, high]), told(row, is_time, effect, low, high))
}

/// Judges the figure of an arm by itself. A count of events also holds for an invalid arm: they may be the reason.
fn by_value(arm: &ArmResult, meter: &str, end: End, order: Order, bound: f64) -> (Ruled, String) {
    let is_count = catalogue::find(meter).is_some_and(|meter| meter.part_of.is_some());
    if let Some(why) = arm.invalid.as_ref().filter(|_| !is_count) {
        return (Ruled::NotJudged, format!("has a figure that must not be used: invalid: {why}"));
    }
    let Some(OwnFigure { value, low, high }) = arm.estimates.get(meter).copied() else {
        return (Ruled::NotJudged, format!("has no {meter} with an interval: give it more rounds"));
    };
    let unit = catalogue::find(meter).map_or("", |meter| meter.unit.as_str());
    let figure = match unit {
        "share" => {
            let [value, low, high] = [value, low, high].map(|share| signed(share).replace('+', ""));
            format!("{value} % (CI {low}..{high} %)")
        }
        _ => {
            let amounts = Amounts::between(value, low, high, value, unit);
            let [at, from, to] = [value, low, high].map(|x| amounts.plain(x));
            format!("{at}{unit} (CI {from}..{to}{unit})", unit = amounts.unit())
        }
    };
    (ruled(end, order, bound, [value, low, high]), figure)
}

/// Picks estimate, low end or high end to judge a bound, and judges it.
fn ruled(end: End, order: Order, bound: f64, [at, low, high]: [f64; 3]) -> Ruled {
    let (near, far) = match order {
        Order::Above | Order::AtLeast => (low, high),
        Order::Below | Order::AtMost => (high, low),
    };
    match end {
        End::Careful if order.holds(near, bound) => Ruled::Broken,
        End::Careful if order.holds(far, bound) => Ruled::Open,
        End::Low if order.holds(low, bound) => Ruled::Broken,
        End::High if order.holds(high, bound) => Ruled::Broken,
        End::Estimate if order.holds(at, bound) => Ruled::Broken,
        _ => Ruled::Held,
    }
}

/// `+2.60 % (CI +2.30..+2.90 %)`, `+2.6 us (CI +2.3..+2.9 us)`
fn told(row: &Comparison, is_time: bool, effect: f64, low: f64, high: f64) -> String {
    if is_time {
        let amounts = Amounts::between(effect, low, high, row.baseline_value, &row.unit);
        let unit = amounts.unit();
        let [at, from, to] = [effect, low, high].map(|x| amounts.signed(x));
        return format!("{at}{unit} (CI {from}..{to}{unit})");
    }
    let unit = if row.unit == "share" { "points" } else { "%" };
    format!("{} {unit} (CI {}..{} {unit})", signed(effect), signed(low), signed(high))
}

impl Order {
    fn holds(self, x: f64, bound: f64) -> bool {
        match self {
            Self::Above => x > bound,
            Self::AtLeast => x >= bound,
            Self::Below => x < bound,
            Self::AtMost => x <= bound,
        }
    }
}

impl Ruled {
    /// Word in a line.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Open => "held, but not ruled out",
            Self::NotJudged => "cannot be judged",
            Self::Broken => "BROKEN",
        }
    }
}

/// A fraction as percent with its sign, to three digits.
fn signed(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.abs() {
        a if a >= 99.95 => format!("{percent:+.0}"),
        a if a >= 9.995 => format!("{percent:+.1}"),
        _ => format!("{percent:+.2}"),
    }
}

#[cfg(test)]
mod tests;
