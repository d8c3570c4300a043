//! Text form of the numbers of one effect, with as many decimals as its interval deserves.

use crate::Effect;

/// From this effect on (twice as much) a factor reads better than a percentage, everywhere.
pub const FACTOR_FROM: f64 = 1.0;

/// A relative change in words: the estimate, and both ends of its interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InWords {
    /// `+1.4 %`, `3.4 x`
    pub effect: String,
    /// `+0.9..+1.9 %`, `3.2..3.6 x`
    pub interval: String,
}

/// A relative change (0.014 is 1.4 % more) in one form for its size: percent with a sign, and from twice as much on
/// a factor.
pub fn change_in_words(effect: f64, low: f64, high: f64) -> InWords {
    if effect < FACTOR_FROM {
        return in_unit(effect, low, high, "%");
    }
    let digits = if effect >= 99.0 || (high - low) / 2.0 >= 5.0 { 0 } else { 1 };
    let times = |x: f64| format!("{:.digits$}", 1.0 + x);
    InWords { effect: format!("{} x", times(effect)), interval: format!("{}..{} x", times(low), times(high)) }
}

/// A difference of shares in points.
pub fn points_in_words(effect: f64, low: f64, high: f64) -> InWords {
    in_unit(effect, low, high, "points")
}

/// A rate as sentences have it: `980/s`, `6400/s`, `12,500/s`.
pub fn per_second(rate: f64) -> String {
    match rate.max(0.0).round() as u64 {
        whole @ 0..10_000 => format!("{whole}/s"),
        whole @ 10_000..1_000_000 => format!("{},{:03}/s", whole / 1000, whole % 1000),
        whole => format!("{},{:03},{:03}/s", whole / 1_000_000, whole / 1000 % 1000, whole % 1000),
    }
}

fn in_unit(effect: f64, low: f64, high: f64, unit: &str) -> InWords {
    let digits = decimals(effect, low, high);
    let [at, from, to] = [effect, low, high].map(|x| signed(x * 100.0, digits));
    InWords { effect: format!("{at} {unit}"), interval: format!("{from}..{to} {unit}") }
}

/// Decimals of a percentage: one; none for wide intervals, two for narrow ones; more where an end that is clear of 0
/// would be printed as 0.
pub fn decimals(effect: f64, low: f64, high: f64) -> usize {
    let half_width = (high - low) * 50.0;
    let enough = match half_width {
        w if w >= 9.5 || effect.abs() >= 1.0 => 0,
        w if w >= 0.095 || w == 0.0 => 1,
        _ => 2,
    };
    clear_of_zero(low * 100.0, high * 100.0, enough)
}

/// An amount in the unit of its figure, with the numbers of one comparison in one unit and with the same decimals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amounts {
    divisor: f64,
    label: &'static str,
    digits: usize,
}

impl Amounts {
    /// For a figure by itself: three digits.
    pub fn of_figure(figure: f64, unit: &str) -> Self {
        let (divisor, label) = scaled(figure.abs(), unit);
        Self { divisor, label, digits: by_width(0.0, figure / divisor) }
    }

    /// For an amount that is printed beside a figure of the size of `figure`. `unit` is that of the catalogue: `ns`,
    /// `B`, ...
    pub fn of(effect: &Effect, figure: f64, unit: &str) -> Self {
        Self::between(effect.effect, effect.interval.low, effect.interval.high, figure, unit)
    }

    /// The same for an estimate and the ends of its interval.
    pub fn between(at: f64, low: f64, high: f64, figure: f64, unit: &str) -> Self {
        let (divisor, label) = scaled(figure.abs().max(at.abs()), unit);
        let (low, high) = (low / divisor, high / divisor);
        let digits = clear_of_zero(low, high, by_width((high - low) / 2.0, at / divisor));
        Self { divisor, label, digits }
    }

    /// `2.6`
    pub fn plain(&self, x: f64) -> String {
        format!("{:.*}", self.digits, x.abs() / self.divisor)
    }

    /// `+2.6`; 0 has no sign.
    pub fn signed(&self, x: f64) -> String {
        signed(x / self.divisor, self.digits)
    }

    /// `+2.3..+2.9`
    pub fn range(&self, low: f64, high: f64) -> String {
        format!("{}..{}", self.signed(low), self.signed(high))
    }

    /// `us`, with a space before it; empty where the figure has no unit.
    pub fn unit(&self) -> String {
        if self.label.is_empty() { String::new() } else { format!(" {}", self.label) }
    }
}

/// The divisor of a figure, and the unit it then has.
fn scaled(x: f64, unit: &str) -> (f64, &'static str) {
    let steps: &[(f64, &'static str)] = match unit {
        "ns" => &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
        "B" => &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")],
        "B/s" => &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "KB/s"), (1.0, "B/s")],
        "1/s" => &[(1.0, "/s")],
        "share" => &[(0.01, "points")],
        _ => &[(1.0, "")],
    };
    let last = steps[steps.len() - 1];
    steps.iter().copied().find(|(divisor, _)| x >= *divisor).unwrap_or(last)
}

/// The half-width gets one significant digit, two where the first is 1 or 2; without a width the value gets three.
fn by_width(half_width: f64, at: f64) -> usize {
    let places = |x: f64, significant: i32| (significant - 1 - x.log10().floor() as i32).clamp(0, 6) as usize;
    match half_width {
        w if w > 0.0 && w.is_finite() => {
            let first = w / 10_f64.powf(w.log10().floor());
            places(w, if first < 2.95 { 2 } else { 1 })
        }
        _ if at == 0.0 => 1,
        _ => places(at.abs(), 3),
    }
}

/// More decimals where an end of an interval that is clear of 0 would be printed as 0.
fn clear_of_zero(low: f64, high: f64, enough: usize) -> usize {
    let hidden = |x: f64, digits: usize| x != 0.0 && x.abs() < 0.5 * 0.1_f64.powi(digits as i32);
    if low * high <= 0.0 {
        return enough;
    }
    (enough..6).find(|digits| !hidden(low, *digits) && !hidden(high, *digits)).unwrap_or(6)
}

/// With its sign; zero has none.
pub fn signed(x: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", x.abs());
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    match x {
        _ if is_zero => text,
        x if x < 0.0 => format!("-{text}"),
        _ => format!("+{text}"),
    }
}
