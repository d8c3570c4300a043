//! Changes with their intervals on one scale.
//!
//! Positions are percent of the drawing's width, so that text keeps its size on every screen. When
//! one row costs so much that the margin is a hair's breadth, a second panel shows what lies near
//! zero. Where one costs several times as much as another, steps of the scale are factors.

use super::chart::Tick;
use crate::document::{Cell, Drawing, State};
use crate::figures;
use bakeoff_stats::FACTOR_FROM;
use serde_json::json;

/// A step that ends the scale is inside it.
const ROUNDING: f64 = 1e-9;
/// Below this share of the width the margin is not seen.
const MARGIN_SEEN: f64 = 0.04;
/// From so many times the least on, a scale of equal steps would flatten all but the dearest.
const FACTORS_FROM: f64 = 6.0;
/// Half-width of the second panel, in margins: at least, and the farthest that counts as near.
const NEAR_AT_LEAST: f64 = 3.0;
const NEAR_AT_MOST: f64 = 15.0;

/// Labels of a scale that a phone has room for.
const MOST_TICKS: usize = 6;

/// Characters of a name: the column's least and most.
const MIN_NAME: usize = 14;
const MAX_NAME: usize = 34;

/// A change with its interval, in fractions.
#[derive(Debug)]
pub(crate) struct Spread {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) state: State,
    pub(crate) at: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// In words: the change and its interval.
    pub(crate) said: [String; 2],
    /// Changes that others published of it.
    pub(crate) published: Vec<f64>,
}

/// A scale in fractions; its steps are equal amounts, or equal factors.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    low: f64,
    high: f64,
    factors: bool,
}

impl Scale {
    const fn linear(low: f64, high: f64) -> Self {
        Self { low, high, factors: false }
    }

    /// Percent of the width, cut at the edges.
    fn at(self, x: f64) -> f64 {
        let place = match self.factors {
            true => (x.ln_1p() - self.low.ln_1p()) / (self.high.ln_1p() - self.low.ln_1p()),
            false => (x - self.low) / self.width(),
        };
        ((place * 100.0).clamp(0.0, 100.0) * 100.0).round() / 100.0
    }

    fn width(self) -> f64 {
        self.high - self.low
    }
}

/// All rows on one scale, and what lies near zero on one of its own where it would not be seen. No panel without a row.
pub(crate) fn panels(rows: &[Spread], rows_are: &str, margin: f64, caption: &str) -> Vec<Drawing> {
    let Some(whole) = covering(rows, margin) else { return Vec::new() };
    let mut panels = vec![panel(rows, rows_are, whole, margin, caption)];
    let squeezed = whole.at(margin) - whole.at(-margin) < MARGIN_SEEN * 100.0;
    if let Some(near) = near_zero(rows, margin).filter(|near| squeezed && near.width() < whole.width() / 2.0)
    {
        panels.push(panel(rows, rows_are, near, margin, "The same near zero"));
    }
    panels
}

/// All intervals and published changes, zero and the margin, with room at the ends.
fn covering(rows: &[Spread], margin: f64) -> Option<Scale> {
    if rows.is_empty() {
        return None;
    }
    let published = || rows.iter().flat_map(|row| row.published.iter().copied());
    let low = rows.iter().map(|row| row.low).chain(published()).fold(-1.5 * margin, f64::min);
    let high = rows.iter().map(|row| row.high).chain(published()).fold(1.5 * margin, f64::max);
    // A change of -100 % and below has no logarithm: an amount may be no share.
    if low > -0.99 && (1.0 + high) / (1.0 + low) > FACTORS_FROM {
        let room = ((1.0 + high) / (1.0 + low)).powf(0.04);
        return Some(Scale { low: (1.0 + low) / room - 1.0, high: (1.0 + high) * room - 1.0, factors: true });
    }
    let room = (high - low).max(1e-6) * 0.04;
    Some(Scale::linear(low - room, high + room))
}

/// Symmetric about zero, wide enough for every interval that lies near it.
fn near_zero(rows: &[Spread], margin: f64) -> Option<Scale> {
    let reaches = rows.iter().map(|row| row.low.abs().max(row.high.abs()));
    let widest = reaches
        .filter(|reach| margin > 0.0 && *reach <= NEAR_AT_MOST * margin)
        .fold(None, |most: Option<f64>, reach| Some(most.map_or(reach, |most| most.max(reach))))?;
    let reach = (widest * 1.08).max(NEAR_AT_LEAST * margin);
    Some(Scale::linear(-reach, reach))
}

/// `name_width`: characters of the longest name, which are not to be cut where there is room.
fn panel(rows: &[Spread], rows_are: &str, scale: Scale, margin: f64, caption: &str) -> Drawing {
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    json!({
        "caption": caption,
        "rows_are": rows_are,
        "name_width": longest.clamp(MIN_NAME, MAX_NAME),
        "zero": scale.at(0.0),
        "band_from": scale.at(-margin),
        "band_width": scale.at(margin) - scale.at(-margin),
        "ticks": ticks(scale),
        "factors": scale.factors,
        "rows": rows.iter().map(|row| placed(row, scale)).collect::<Vec<_>>(),
    })
}

/// Ends beyond the scale are cut and say so.
fn placed(row: &Spread, scale: Scale) -> Drawing {
    let [effect, interval] = &row.said;
    let struck = row.state == State::Invalid;
    let is_inside = |x: &&f64| (scale.low..=scale.high).contains(*x);
    json!({
        "name": row.name,
        "key": row.key,
        "state": row.state,
        "title": format!("{}: {effect}, interval {interval}", row.name),
        "from": scale.at(row.low),
        "to": scale.at(row.high),
        "at": scale.at(row.at),
        "shown": is_inside(&&row.at),
        "beyond_low": row.low < scale.low,
        "beyond_high": row.high > scale.high,
        "effect": Cell::struck(effect.as_str(), struck),
        "interval": Cell::struck(interval.as_str(), struck),
        "published": row.published.iter().filter(is_inside).map(|x| scale.at(*x)).collect::<Vec<_>>(),
    })
}

/// Some five round numbers inside the scale.
fn ticks(scale: Scale) -> Vec<Tick> {
    if scale.factors {
        return factors(scale);
    }
    let step = round_step(scale.width() / 5.0);
    let (first, last) =
        ((scale.low / step - ROUNDING).ceil() as i64, (scale.high / step + ROUNDING).floor() as i64);
    // Labels of one axis are of one kind, that of its far end.
    let far = last as f64 * step;
    let tick = |n: i64| {
        let x = n as f64 * step;
        let label = if far < FACTOR_FROM { figures::percent(x) } else { times(1.0 + x) };
        Tick { at: scale.at(x), label }
    };
    (first..=last).map(tick).collect()
}

/// Round factors inside the scale, thinned until they have room; no change stays.
fn factors(scale: Scale) -> Vec<Tick> {
    let (low, high) = ((1.0 + scale.low).log10().floor() as i32, (1.0 + scale.high).log10().ceil() as i32);
    let all = (low..=high).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10_f64.powi(power)));
    let inside: Vec<f64> = all.filter(|x| (scale.low..=scale.high).contains(&(x - 1.0))).collect();
    let is_tenfold = |x: f64| (x.log10() - x.log10().round()).abs() < 1e-9;
    let kept = inside.iter().filter(|x| inside.len() <= MOST_TICKS || is_tenfold(**x));
    kept.map(|x| Tick { at: scale.at(x - 1.0), label: times(*x) }).collect()
}

/// `2 x`, `1.5 x`, of a grid's round numbers.
fn times(factor: f64) -> String {
    format!("{} x", (factor * 1e3).round() / 1e3)
}

/// 1, 2 or 5 times a power of ten, at least `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.max(1e-9).log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_inside_the_scale() {
        let labels: Vec<String> =
            ticks(Scale::linear(-0.06, 1.6)).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["1 x", "1.5 x", "2 x", "2.5 x"]);
        let labels: Vec<String> =
            ticks(Scale::linear(-0.06, 0.6)).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0 %", "+20 %", "+40 %", "+60 %"]);
        assert_eq!(round_step(0.004), 0.005);
    }

    #[test]
    fn places_beyond_the_scale_are_cut_at_its_edge() {
        let scale = Scale::linear(-1.0, 1.0);
        assert_eq!((scale.at(0.0), scale.at(5.0), scale.at(-5.0)), (50.0, 100.0, 0.0));
    }

    #[test]
    fn one_dear_arm_does_not_flatten_the_others() {
        let scale = Scale { low: -0.9, high: 440.0, factors: true };
        let labels: Vec<String> = ticks(scale).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0.1 x", "1 x", "10 x", "100 x"]);
        assert!(scale.at(0.5) - scale.at(0.0) > 4.0, "half as much again is seen");
        assert!(Scale::linear(-0.9, 440.0).at(0.5) - Scale::linear(-0.9, 440.0).at(0.0) < 0.2);
    }
}
