//! Effects with their intervals on one scale: positions for the template, which draws them.
//!
//! Positions are percent of the drawing's width, so that text keeps its size on every screen. When
//! one arm costs so much that the margin is a hair's breadth, a second panel shows what lies near
//! zero.

use super::page::{key, state, typeset};
use crate::figures::{self, Change};
use crate::reading::Reading;
use bakeoff_experiment::results::{Comparison, StratumSetup};
use bakeoff_stats::Verdict;
use serde::Serialize;

/// Below this share of the width the margin is not seen.
const MARGIN_SEEN: f64 = 0.04;
/// Half-width of the second panel, in margins: at least, and the farthest that counts as near.
const NEAR_AT_LEAST: f64 = 3.0;
const NEAR_AT_MOST: f64 = 15.0;

/// Characters of a name: the column's least and most.
const MIN_NAME: usize = 14;
const MAX_NAME: usize = 34;

/// One scale with arms on it.
#[derive(Debug, Serialize)]
pub(super) struct Panel {
    caption: String,
    /// Characters of the longest name, which are not to be cut where there is room.
    name_width: usize,
    zero: f64,
    band_from: f64,
    band_width: f64,
    ticks: Vec<Tick>,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Tick {
    at: f64,
    label: String,
}

/// One arm. Ends beyond the scale are cut and say so.
#[derive(Debug, Serialize)]
struct Row {
    arm: String,
    key: String,
    state: &'static str,
    twin: bool,
    from: f64,
    to: f64,
    at: f64,
    shown: bool,
    beyond_low: bool,
    beyond_high: bool,
    effect: String,
    interval: String,
    struck: bool,
}

/// A scale in fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Percent of the width, cut at the edges.
    fn at(self, x: f64) -> f64 {
        let place = (x - self.low) / (self.high - self.low) * 100.0;
        (place.clamp(0.0, 100.0) * 100.0).round() / 100.0
    }

    fn width(self) -> f64 {
        self.high - self.low
    }
}

/// No panel when nothing has an interval. Strata have scales of their own.
pub(super) fn panels(reading: &Reading<'_>) -> Vec<Panel> {
    let rows: Vec<&Comparison> =
        reading.judged().filter_map(|arm| reading.primary(arm)).filter(|c| span(c).is_some()).collect();
    let strata = &reading.bundle.setup.strata;
    if strata.is_empty() {
        return panels_of(reading, &rows, "All arms");
    }
    let of = |stratum: &StratumSetup| {
        let own: Vec<&Comparison> = rows.iter().copied().filter(|c| stratum.arms.contains(&c.arm)).collect();
        panels_of(reading, &own, &stratum.name)
    };
    strata.iter().flat_map(of).collect()
}

fn panels_of(reading: &Reading<'_>, rows: &[&Comparison], caption: &str) -> Vec<Panel> {
    let margin = reading.bundle.results.margin.abs();
    let Some(whole) = covering(rows, margin) else { return Vec::new() };
    let mut panels = vec![panel(reading, rows, whole, margin, caption)];
    let squeezed = 2.0 * margin < MARGIN_SEEN * whole.width();
    if let Some(near) = near_zero(rows, margin).filter(|near| squeezed && near.width() < whole.width() / 2.0)
    {
        panels.push(panel(reading, rows, near, margin, "The same near zero"));
    }
    panels
}

fn span(c: &Comparison) -> Option<(f64, f64)> {
    let (low, high) = (c.low?, c.high?);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// All intervals, zero and the margin, with room at the ends.
fn covering(rows: &[&Comparison], margin: f64) -> Option<Scale> {
    let spans: Vec<(f64, f64)> = rows.iter().filter_map(|c| span(c)).collect();
    if spans.is_empty() {
        return None;
    }
    let low = spans.iter().map(|s| s.0).fold(-1.5 * margin, f64::min);
    let high = spans.iter().map(|s| s.1).fold(1.5 * margin, f64::max);
    let room = (high - low).max(1e-6) * 0.04;
    Some(Scale { low: low - room, high: high + room })
}

/// Symmetric about zero, wide enough for every interval that lies near it.
fn near_zero(rows: &[&Comparison], margin: f64) -> Option<Scale> {
    let reaches = rows.iter().filter_map(|c| span(c)).map(|(low, high)| low.abs().max(high.abs()));
    let widest = reaches
        .filter(|reach| *reach <= NEAR_AT_MOST * margin)
        .fold(None, |most: Option<f64>, reach| Some(most.map_or(reach, |most| most.max(reach))))?;
    let reach = (widest * 1.08).max(NEAR_AT_LEAST * margin);
    Some(Scale { low: -reach, high: reach })
}

fn panel(reading: &Reading<'_>, rows: &[&Comparison], scale: Scale, margin: f64, caption: &str) -> Panel {
    Panel {
        caption: caption.to_owned(),
        name_width: rows.iter().map(|c| c.arm.chars().count()).max().unwrap_or(0).clamp(MIN_NAME, MAX_NAME),
        zero: scale.at(0.0),
        band_from: scale.at(-margin),
        band_width: scale.at(margin) - scale.at(-margin),
        ticks: ticks(scale),
        rows: rows.iter().filter_map(|c| row(reading, c, scale)).collect(),
    }
}

fn row(reading: &Reading<'_>, c: &Comparison, scale: Scale) -> Option<Row> {
    let (low, high) = span(c)?;
    let effect = c.effect.unwrap_or((low + high) / 2.0);
    let change = Change::of(c);
    let twin = reading.is_twin(&c.arm);
    Some(Row {
        arm: c.arm.clone(),
        key: key(reading, &c.arm),
        state: if twin { "floor" } else { state(c.verdict) },
        twin,
        from: scale.at(low),
        to: scale.at(high),
        at: scale.at(effect),
        shown: (scale.low..=scale.high).contains(&effect),
        beyond_low: low < scale.low,
        beyond_high: high > scale.high,
        effect: typeset(&change.effect),
        interval: typeset(&change.interval),
        struck: c.verdict == Verdict::Invalid,
    })
}

/// Some five round numbers inside the scale.
fn ticks(scale: Scale) -> Vec<Tick> {
    let step = round_step(scale.width() / 5.0);
    let (first, last) = ((scale.low / step).ceil() as i64, (scale.high / step).floor() as i64);
    let tick = |n: i64| {
        let x = n as f64 * step;
        Tick { at: scale.at(x), label: typeset(&figures::percent(x)) }
    };
    (first..=last).map(tick).collect()
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
            ticks(Scale { low: -0.06, high: 1.6 }).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0 %", "+50 %", "+100 %", "+150 %"]);
        assert_eq!(round_step(0.004), 0.005);
    }

    #[test]
    fn places_beyond_the_scale_are_cut_at_its_edge() {
        let scale = Scale { low: -1.0, high: 1.0 };
        assert_eq!((scale.at(0.0), scale.at(5.0), scale.at(-5.0)), (50.0, 100.0, 0.0));
    }
}
