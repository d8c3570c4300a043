//! Numbers for people: one place where values get units and changes get decimals.

use bakeoff_meter::catalogue::SUBJECT_CPU;
use bakeoff_results::{Comparison, DesignSetup};
use bakeoff_results::{Standing, StudyRow};
use bakeoff_stats::{Amounts, Interval, change_in_words, points_in_words};
use bakeoff_units::{Bytes, Nanos, PerSecond, Ratio};

/// Shown where there is no figure.
pub(crate) const NONE: &str = "-";

/// A value in the unit of its meter: `13.2 us`, `17800/s`, `4.1 MB`.
pub(crate) fn value(unit: &str, x: f64) -> String {
    if !x.is_finite() {
        return NONE.to_owned();
    }
    match unit {
        "ns" => Nanos::new(x.round() as u64).to_string(),
        "1/s" => PerSecond::new(x).map_or("0/s".to_owned(), |rate| rate.to_string()),
        "B/s" => format!("{}/s", Bytes::new(x.round() as u64)),
        "B" => Bytes::new(x.round() as u64).to_string(),
        "share" => share(x),
        _ if x.fract() == 0.0 => count(x as u64),
        _ => plain(x),
    }
}

/// Whether an interval is known and clear of no change.
pub(crate) fn is_clear(low: Option<f64>, high: Option<f64>) -> bool {
    low.zip(high).is_some_and(|(low, high)| Interval { low, high }.side().is_ne())
}

/// `97 %`
pub(crate) fn share(fraction: f64) -> String {
    Ratio::new(fraction).map_or(NONE.to_owned(), |ratio| ratio.to_string())
}

/// A confidence level as it was set: `98.75 %`
pub(crate) fn level(fraction: f64) -> String {
    let text = format!("{:.2}", fraction * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `12,345,678`
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `32 s`, `1 min 32 s`, `2 h 05 min`
pub(crate) fn span(ns: u64) -> String {
    match ns / 1_000_000_000 {
        0..=9 => Nanos::new(ns).to_string(),
        seconds @ 10..=59 => format!("{seconds} s"),
        seconds @ 60..=3599 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Significant figures for plain counts and multiples: `0.31`, `4.2`, `41`.
pub(crate) fn plain(x: f64) -> String {
    match x.abs() {
        _ if !x.is_finite() => NONE.to_owned(),
        a if a >= 9.95 => format!("{x:.0}"),
        a if a >= 0.995 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

/// How many times its noise an effect is; quantiles have no stored figure, but an interval.
pub(crate) fn times_noise(c: &Comparison) -> Option<f64> {
    let half_width = (c.high? - c.low?) / 2.0;
    let times = c.times_noise.or(Some(c.effect?.abs() / half_width))?;
    times.is_finite().then_some(times)
}

/// The same as text; beyond a thousand nobody cares.
pub(crate) fn times_noise_text(c: &Comparison) -> String {
    let text = |x: f64| if x > 999.0 { ">999".to_owned() } else { plain(x) };
    times_noise(c).map_or(NONE.to_owned(), text)
}

/// A comparison's numbers as text, all with the decimals that its interval deserves.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// `+1.4 %`
    pub(crate) effect: String,
    /// `+0.9..+1.9 %`
    pub(crate) interval: String,
}

impl Change {
    const NONE: fn() -> Self = || Self { effect: NONE.to_owned(), interval: NONE.to_owned() };

    /// The relative change: percent, from twice as much on a factor; shares in points.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        let ends = finite(comparison.low).zip(finite(comparison.high));
        let Some((effect, (low, high))) = finite(comparison.effect).zip(ends) else { return Self::NONE() };
        let words = match comparison.unit.as_str() {
            "share" => points_in_words(effect, low, high),
            _ => change_in_words(effect, low, high),
        };
        Self { effect: words.effect, interval: words.interval }
    }

    /// Effect and interval of an arm in a meter, where the two were compared.
    pub(crate) fn cells(comparisons: &[Comparison], arm: &str, meter: &str) -> [String; 2] {
        let found = comparisons.iter().find(|c| c.arm == arm && c.meter == meter).map(Self::of);
        found.map_or_else(Default::default, |Self { effect, interval }| [effect, interval])
    }

    /// The change in the figure's own unit: `+2.6 us`, `+2.3..+2.9 us`.
    pub(crate) fn amount(comparison: &Comparison) -> Self {
        let ends = finite(comparison.amount_low).zip(finite(comparison.amount_high));
        let Some((at, (low, high))) = finite(comparison.amount).zip(ends) else { return Self::NONE() };
        let amounts = Amounts::between(at, low, high, comparison.baseline_value, &comparison.unit);
        let unit = amounts.unit();
        Self {
            effect: format!("{}{unit}", amounts.signed(at)),
            interval: format!("{}{unit}", amounts.range(low, high)),
        }
    }
}

fn finite(x: Option<f64>) -> Option<f64> {
    x.filter(|x| x.is_finite())
}

/// A quantile of so many times, in ns; of none there is none.
pub(crate) fn time_of(count: u64, ns: u64) -> String {
    if count == 0 { NONE.to_owned() } else { value("ns", ns as f64) }
}

/// A fraction as percent with its sign; zero has none.
pub(crate) fn signed(fraction: f64, digits: usize) -> String {
    bakeoff_stats::signed(fraction * 100.0, digits)
}

/// This run's figure beside a published one, and its interval: three digits, the study's unit.
pub(crate) fn beside(row: &StudyRow) -> (String, String) {
    let number = |x: f64| match x.abs() {
        a if a >= 99.95 => format!("{x:.0}"),
        a if a >= 9.995 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    };
    let (value, low, high) = (finite(row.value), finite(row.low), finite(row.high));
    let unit = &row.unit;
    (
        value.map_or(NONE.to_owned(), |x| format!("{} {unit}", number(x))),
        low.zip(high)
            .map_or(NONE.to_owned(), |(low, high)| format!("{}..{} {unit}", number(low), number(high))),
    )
}

/// How a run's figure lies to a published one, in a word or two. An interval that holds no cost as well tells too little:
/// `inside or none (12 x)` has how many times as long a run would tell the two apart.
pub(crate) fn standing(row: &StudyRow) -> String {
    let word = match row.standing {
        Standing::Inside => "inside",
        Standing::Higher => "higher",
        Standing::Lower => "lower",
        Standing::NotComparable => "not comparable",
    };
    let open = (row.standing == Standing::Inside).then(|| times_longer(row)).flatten();
    open.map_or(word.to_owned(), |times| format!("{word} or none ({times:.0} x)"))
}

/// Rounds to measure in place of one, until an interval that holds the published figure and no cost has room for one of
/// them: its width falls with the square root of their number. Two digits, rounded up; `None`: it is narrow enough, or nothing was
/// published.
fn times_longer(row: &StudyRow) -> Option<f64> {
    let none = if row.unit == "x" { 1.0 } else { 0.0 };
    let (low, high) = finite(row.low).zip(finite(row.high))?;
    let distance = (row.published_value - none).abs();
    if !(low..=high).contains(&none) || distance <= 0.0 {
        return None;
    }
    let times = ((high - low) / distance).powi(2);
    let step = 10_f64.powf(times.log10().floor() - 1.0).max(1.0);
    Some((times / step).ceil() * step)
}

/// A fraction as signed percent with its unit, for axes and notes.
pub(crate) fn percent(fraction: f64) -> String {
    let digits = match fraction.abs() * 100.0 {
        a if a >= 10.0 || (a - a.round()).abs() < 1e-6 => 0,
        a if a >= 0.1 => 1,
        _ => 2,
    };
    format!("{} %", signed(fraction, digits))
}

/// In what a figure's rounds differ from those that the verdict stands on; `None` where they are those, or where there are
/// no others of the figure.
pub(crate) fn how(c: &Comparison, design: &DesignSetup) -> Option<String> {
    design.decision()?;
    match (c.load, c.design == design.design) {
        (None, _) => Some(c.at.clone()),
        (Some(load), true) => (load != design.decide_at).then(|| format!("at {}", c.at)),
        (Some(_), false) => (c.meter == SUBJECT_CPU).then(|| "in turn".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_carry_their_unit_and_no_false_digits() {
        for (unit, x, text) in [
            ("ns", 13_213.4, "13.2 us"),
            ("1/s", 17_812.3, "17812/s"),
            ("1/s", 0.0, "0/s"),
            ("B/s", 5e8, "500 MB/s"),
            ("share", 0.973, "97.3 %"),
            ("count", 1234.0, "1,234"),
            ("count", 0.314, "0.31"),
            ("ns", f64::NAN, "-"),
        ] {
            assert_eq!(value(unit, x), text);
        }
    }

    #[test]
    fn signs_never_stand_before_zero() {
        assert_eq!(signed(-0.0001, 1), "0.0");
        assert_eq!(signed(-0.01, 1), "-1.0");
        assert_eq!(signed(1.52, 0), "+152");
        assert_eq!(percent(0.005), "+0.5 %");
        assert_eq!(percent(0.0), "0 %");
    }

    #[test]
    fn spans_and_counts_read_aloud() {
        assert_eq!(span(92_000_000_000), "1 min 32 s");
        assert_eq!(span(7_500_000_000_000), "2 h 05 min");
        assert_eq!(span(250_000_000), "250 ms");
        assert_eq!(
            (count(999), count(1_000), count(12_345_678)),
            ("999".into(), "1,000".into(), "12,345,678".into())
        );
    }
}
