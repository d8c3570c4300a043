//! A cost over the load as a chart: a point with its interval at each load, what two equal servers differ by as a band,
//! and full speed apart at the right.

use super::drawings::named;
use super::{baseline, level};
use crate::document::{Block, Drawing, Section};
use crate::figures;
use crate::plot::chart::{Axis, Dot, Tick, line, linear, round, spanning, ticks};
use crate::reading::Reading;
use crate::words;
use bakeoff_results::{Comparison, CurveLoad};
use bakeoff_stats::per_second;
use serde_json::json;

/// The view box, and the room for the axes in it.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 36.0;
/// Right of it stands full speed.
const APART: f64 = 540.0;
/// Arms stand so far beside each other, that their intervals are told apart.
const BESIDE: f64 = 7.0;

/// The chart and what its colours stand for; nothing where one load was measured, or nothing of it is known.
pub(super) fn section(reading: &Reading<'_>) -> Section {
    let section = Section::on_page("load", "Over the load").nav("Over the load");
    let Some(chart) = chart(reading) else { return section };
    let about = format!(
        "What each arm costs more than {}, at each load, with its interval at {}. The band is what two equal servers differ by. \
         Verdicts stand on the filled points; full speed stands apart and is in no test.",
        baseline(reading),
        level(reading)
    );
    let keys = reading.compared().map(|arm| named(reading, arm)).collect();
    section.about(about).page(Block::Keys(keys)).page(Block::Charts(vec![chart]))
}

/// Where figures lie in the drawing.
struct Axes<'r> {
    reading: &'r Reading<'r>,
    loads: &'r [CurveLoad],
    across: Axis,
    up: Axis,
}

fn chart(reading: &Reading<'_>) -> Option<Drawing> {
    let loads = &reading.bundle.results.curve.as_ref()?.loads;
    let arms: Vec<&str> = reading.compared().collect();
    let twin = reading.judged().find(|arm| reading.is_twin(arm));
    let places = 0..loads.len();
    let at_loads = |arm| places.clone().filter_map(move |place| Spread::at(reading, arm, place));
    let mut spreads: Vec<Spread> = arms.iter().chain(&twin).flat_map(|arm| at_loads(*arm)).collect();
    let is_empty = spreads.is_empty();
    spreads.extend(arms.iter().filter_map(|arm| Spread::of(reading.at_full_speed(arm)?)));
    let low = spreads.iter().flat_map(|s| [s.low, s.high]).fold(0.0_f64, f64::min);
    let high = spreads.iter().flat_map(|s| [s.low, s.high]).fold(0.0_f64, f64::max);
    if is_empty || low >= high {
        return None;
    }
    let most = loads.iter().map(|load| load.rate_per_s).fold(0.0, f64::max);
    let axes = Axes { reading, loads, across: linear(most * 1.05), up: spanning(low, high) };
    let middle = (arms.len() as f64 - 1.0) / 2.0;
    let lines = arms.iter().enumerate().map(|(order, arm)| axes.line(arm, (order as f64 - middle) * BESIDE));
    Some(axes.chart(&lines.collect::<Vec<_>>(), twin))
}

impl Axes<'_> {
    fn x(&self, rate: f64) -> f64 {
        round(LEFT + self.across.share(rate) * (APART - LEFT - 12.0))
    }

    fn y(&self, cost: f64) -> f64 {
        round(HEIGHT - BOTTOM - self.up.share(cost) * (HEIGHT - TOP - BOTTOM))
    }

    /// An arm, so far beside its rates.
    fn line(&self, arm: &str, beside: f64) -> Drawing {
        let dot = |x: f64, s: &Spread, filled: bool, load: &str| Dot {
            x: round(x + beside),
            y: self.y(s.at),
            ends: Some((self.y(s.low), self.y(s.high))),
            filled,
            title: format!("{arm} at {load}: {}", s.said),
        };
        let of = |(place, load): (usize, &CurveLoad)| {
            let spread = Spread::at(self.reading, arm, place)?;
            Some(dot(self.x(load.rate_per_s), &spread, load.decides, &per_second(load.rate_per_s)))
        };
        let mut dots: Vec<Dot> = self.loads.iter().enumerate().filter_map(of).collect();
        let joined = dots.len();
        let full = self.reading.at_full_speed(arm).and_then(Spread::of);
        dots.extend(full.map(|s| dot((APART + WIDTH) / 2.0, &s, false, "full speed")));
        line(&self.reading.key(arm), arm, false, &dots, joined)
    }

    /// Corners of what two equal servers differ by.
    fn floor(&self, twin: &str) -> String {
        let of = |(place, load): (usize, &CurveLoad)| {
            Some((self.x(load.rate_per_s), Spread::at(self.reading, twin, place)?))
        };
        let places: Vec<(f64, Spread)> = self.loads.iter().enumerate().filter_map(of).collect();
        let above = places.iter().map(|(x, s)| format!("{x},{}", self.y(s.high)));
        let below = places.iter().rev().map(|(x, s)| format!("{x},{}", self.y(s.low)));
        above.chain(below).collect::<Vec<_>>().join(" ")
    }

    fn chart(&self, lines: &[Drawing], twin: Option<&str>) -> Drawing {
        let reading = self.reading;
        let unit = reading.unit(reading.primary_meter());
        let noun = words::upper_first(reading.noun(reading.primary_meter()));
        let rates: Vec<f64> = self.loads.iter().map(|load| load.rate_per_s).collect();
        let mut across = ticks(&rates, |rate| self.x(rate), &per_second);
        across.push(Tick { at: (APART + WIDTH) / 2.0, label: "full speed".to_owned() });
        json!({
            "caption": format!("{noun} more than {}, over the load", reading.baselines()),
            "wide": true,
            "width": WIDTH,
            "height": HEIGHT,
            "left": LEFT,
            "right": WIDTH,
            "top": TOP,
            "bottom": HEIGHT - BOTTOM,
            "across": across,
            "up": ticks(&self.up.ticks, |cost| self.y(cost), &|cost| signed(unit, cost)),
            "marks": [],
            "lines": lines,
            "floor": twin.map_or_else(String::new, |twin| self.floor(twin)),
            "zero": self.y(0.0),
            "apart": APART,
        })
    }
}

/// A cost with its interval.
struct Spread {
    at: f64,
    low: f64,
    high: f64,
    said: String,
}

impl Spread {
    fn at(reading: &Reading<'_>, arm: &str, place: usize) -> Option<Self> {
        reading.at_load(arm, place as u32).and_then(Self::of)
    }

    fn of(row: &Comparison) -> Option<Self> {
        let change = figures::Change::amount(row);
        let said = format!("{} ({})", change.effect, change.interval);
        Some(Self { at: row.amount?, low: row.amount_low?, high: row.amount_high?, said })
    }
}

/// `-2.5 us`
fn signed(unit: &str, cost: f64) -> String {
    let sign = if cost < 0.0 { "-" } else { "+" };
    format!("{sign}{}", figures::value(unit, cost.abs()))
}
