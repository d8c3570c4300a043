//! A cost over the load as a chart: a point with its interval at each load, what two equal servers differ by as a band,
//! and full speed apart at the right.

use super::chart::{linear, spanning};
use super::page::key;
use crate::figures;
use crate::reading::Reading;
use crate::words;
use bakeoff_results::Comparison;
use bakeoff_stats::per_second;
use serde::Serialize;

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

/// Ready to be put down.
#[derive(Debug, Serialize)]
pub(super) struct LoadChart {
    caption: String,
    width: f64,
    height: f64,
    left: f64,
    apart: f64,
    right: f64,
    top: f64,
    bottom: f64,
    zero: f64,
    across: Vec<Tick>,
    up: Vec<Tick>,
    /// Corners of the noise floor.
    band: String,
    arms: Vec<Arm>,
}

#[derive(Debug, Serialize)]
struct Tick {
    at: f64,
    label: String,
}

#[derive(Debug, Serialize)]
struct Arm {
    name: String,
    key: String,
    path: String,
    points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Point {
    x: f64,
    y: f64,
    low: f64,
    high: f64,
    decides: bool,
    title: String,
}

/// `None` where one load was measured, or nothing of it is known.
pub(super) fn chart(reading: &Reading<'_>) -> Option<LoadChart> {
    let curve = reading.bundle.results.curve.as_ref()?;
    let unit = reading.unit(reading.primary_meter());
    let rates: Vec<f64> = curve.loads.iter().map(|load| load.rate_per_s).collect();
    let at = |arm: &str, place: usize| reading.at_load(arm, place as u32).and_then(Spread::of);
    let arms: Vec<&str> = reading.compared().collect();
    let twins: Vec<&str> = reading.judged().filter(|arm| reading.is_twin(arm)).take(1).collect();
    let all = || arms.iter().chain(&twins);
    let spreads = || all().flat_map(|arm| (0..rates.len()).filter_map(|place| at(arm, place)));
    let full = |arm: &str| reading.at_full_speed(arm).and_then(Spread::of);
    let ends = || spreads().chain(arms.iter().filter_map(|arm| full(arm))).flat_map(|s| [s.low, s.high]);
    let (low, high) = (ends().fold(0.0_f64, f64::min), ends().fold(0.0_f64, f64::max));
    if spreads().next().is_none() || low >= high {
        return None;
    }
    let (across, up) = (linear(rates.iter().copied().fold(0.0, f64::max) * 1.05), spanning(low, high));
    let x = |rate: f64| round(LEFT + across.share(rate) * (APART - LEFT - 12.0));
    let y = |cost: f64| round(HEIGHT - BOTTOM - up.share(cost) * (HEIGHT - TOP - BOTTOM));
    let band = |twin: &&str| {
        let of = |place: usize| Some((x(rates[place]), at(twin, place)?));
        let places: Vec<(f64, Spread)> = (0..rates.len()).filter_map(of).collect();
        let above = places.iter().map(|(x, s)| format!("{x},{}", y(s.high)));
        let below = places.iter().rev().map(|(x, s)| format!("{x},{}", y(s.low)));
        above.chain(below).collect::<Vec<_>>().join(" ")
    };
    let drawn = |(order, arm): (usize, &&str)| {
        let beside = (order as f64 - (arms.len() as f64 - 1.0) / 2.0) * BESIDE;
        let point = |x: f64, s: &Spread, decides: bool, load: &str| Point {
            x: round(x + beside),
            y: y(s.at),
            low: y(s.low),
            high: y(s.high),
            decides,
            title: format!("{arm} at {load}: {}", s.said),
        };
        let of = |place: usize| {
            let load = &curve.loads[place];
            Some(point(x(rates[place]), &at(arm, place)?, load.decides, &per_second(load.rate_per_s)))
        };
        let mut points: Vec<Point> = (0..rates.len()).filter_map(of).collect();
        let path = points.iter().map(|p| format!("{},{}", p.x, p.y)).collect::<Vec<_>>().join(" ");
        points.extend(full(arm).map(|s| point((APART + WIDTH) / 2.0, &s, false, "full speed")));
        Arm { name: (*arm).to_owned(), key: key(reading, arm), path, points }
    };
    let label = |cost: f64| if cost == 0.0 { "0".to_owned() } else { signed(unit, cost) };
    Some(LoadChart {
        caption: format!(
            "{} more than {}, over the load",
            words::upper_first(reading.noun(reading.primary_meter())),
            reading.baselines()
        ),
        width: WIDTH,
        height: HEIGHT,
        left: LEFT,
        apart: APART,
        right: WIDTH,
        top: TOP,
        bottom: HEIGHT - BOTTOM,
        zero: y(0.0),
        across: rates.iter().map(|rate| Tick { at: x(*rate), label: per_second(*rate) }).collect(),
        up: up.ticks.iter().map(|cost| Tick { at: y(*cost), label: label(*cost) }).collect(),
        band: twins.first().map_or_else(String::new, band),
        arms: arms.iter().enumerate().map(drawn).collect(),
    })
}

/// A cost with its interval.
struct Spread {
    at: f64,
    low: f64,
    high: f64,
    said: String,
}

impl Spread {
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

fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}
