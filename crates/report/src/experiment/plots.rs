//! The data of the interactive plots, as JSON inside the page.
//!
//! Thinned so that a page stays small whatever the run: curves have a fixed number of points, the
//! machine's bars are grouped, changes per round keep four digits.

use super::curves::Curves;
use crate::document::Drawing;
use crate::plot::chart::{self, Series};
use crate::reading::Reading;
use crate::slices::complete_rounds;
use crate::words;
use bakeoff_meter::catalogue;
use bakeoff_results::{Comparison, SliceRecord, second};
use bakeoff_stats::{Level, QuantileEffect, shift_function};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Bars that a screen can show side by side.
const BARS: usize = 360;
/// Replies that must lie beyond a quantile before it is believed (as in `stats`).
const REPLIES_BEYOND: f64 = 50.0;

/// All plots, each as the script reads it; figures are percent.
#[derive(Default, Serialize)]
pub(super) struct Data {
    noun: String,
    margin: f64,
    /// Change per round, arm by arm.
    differences: Vec<Value>,
    /// Quantile curves.
    curves: Option<Value>,
    /// Ratios of quantiles against the baseline, arm by arm.
    shift: Vec<Value>,
    /// us, sy, wa and st of vmstat, by slice or group of slices.
    machine: Option<Value>,
}

impl Data {
    pub(super) fn of(reading: &Reading<'_>, curves: &Curves) -> Self {
        let usable = reading.compared().filter(|arm| reading.invalid(arm).is_none());
        Self {
            noun: reading.noun(reading.primary_meter()).to_owned(),
            margin: percent(reading.bundle.results.margin),
            differences: reading.judged().filter_map(|arm| differences(reading, arm)).collect(),
            curves: times(reading, curves),
            shift: usable.filter_map(|arm| shift(reading, curves, arm)).collect(),
            machine: machine(&reading.bundle.slices),
        }
    }

    pub(super) fn has_differences(&self) -> bool {
        !self.differences.is_empty()
    }

    pub(super) fn has_curves(&self) -> bool {
        self.curves.is_some()
    }

    pub(super) fn has_shift(&self) -> bool {
        !self.shift.is_empty()
    }

    pub(super) fn has_machine(&self) -> bool {
        self.machine.is_some()
    }

    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).expect("writing into memory cannot fail, and all keys are strings")
    }
}

/// The primary figure of every arm, slice by slice, against when it was measured: in the rounds that the verdict stands on.
pub(super) fn over_time(reading: &Reading<'_>) -> Option<Drawing> {
    let meter = catalogue::find(reading.primary_meter())?;
    let points = |arm: &str| {
        let of_arm = reading.decisive().filter(|slice| slice.arm == arm);
        let point = |slice: &SliceRecord| {
            Some((slice.ended_ns as f64 / 1e9, (meter.of_slice)(&slice.counters)?, true))
        };
        of_arm.filter_map(point).collect()
    };
    let line = |arm: &str| Series {
        key: reading.key(arm),
        label: arm.to_owned(),
        dashed: reading.is_twin(arm),
        name: None,
        points: points(arm),
    };
    let caption = format!(
        "{}, slice by slice, against the time since the run began",
        words::upper_first(reading.noun(meter.name))
    );
    chart::over_time(&caption, reading.unit(meter.name), reading.arms().map(line).collect())
}

/// `used`: rounds that the verdict stands on; the rest came after it.
fn differences(reading: &Reading<'_>, arm: &str) -> Option<Value> {
    let c: &Comparison = reading.primary(arm).filter(|c| !c.differences.is_empty())?;
    let changes =
        c.differences.iter().chain(&later(reading, c)).map(|d| percent(d.exp_m1())).collect::<Vec<_>>();
    let [effect, low, high] = [c.effect, c.low, c.high].map(|x| x.map(percent));
    let (key, used) = (reading.key(arm), c.differences.len());
    Some(
        json!({ "arm": arm, "key": key, "effect": effect, "low": low, "high": high, "used": used, "changes": changes }),
    )
}

/// Log ratios of the complete rounds after the look that gave the verdict.
fn later(reading: &Reading<'_>, c: &Comparison) -> Vec<f64> {
    let Some(meter) = catalogue::find(&c.meter) else { return Vec::new() };
    let rest: Vec<u32> =
        complete_rounds(reading.bundle, reading.decisive()).into_iter().skip(c.differences.len()).collect();
    let mut rounds: BTreeMap<u32, [Option<f64>; 3]> = rest.iter().map(|round| (*round, [None; 3])).collect();
    let baseline = reading.baseline_of(&c.arm);
    let twin = second(baseline);
    let names = [c.arm.as_str(), baseline, twin.as_str()];
    let block = reading.bundle.setup.design.blocks_of(&c.arm).next();
    for slice in reading.decisive() {
        let wanted = names.contains(&slice.arm.as_str()) && Some(slice.block) == block;
        let Some(figures) = rounds.get_mut(&slice.round).filter(|_| wanted) else { continue };
        let Some(figure) = (meter.of_slice)(&slice.counters) else { continue };
        for (name, own) in names.iter().zip(figures) {
            *own = if *name == slice.arm { Some(figure.ln()) } else { *own };
        }
    }
    let ratio = |figures: &[Option<f64>; 3]| {
        let [own, first, second] = *figures;
        let reference = if reading.is_twin(&c.arm) { first? } else { (first? + second?) / 2.0 };
        Some(own? - reference).filter(|ratio| ratio.is_finite())
    };
    rounds.values().filter_map(ratio).collect()
}

/// `axis`: x = -log10(1 - q); beyond `believed` some arm has fewer replies than it takes.
fn times(reading: &Reading<'_>, curves: &Curves) -> Option<Value> {
    let axis = curves.axis();
    let shown: Vec<&str> = reading.arms().filter(|arm| curves.replies(arm) > 1).collect();
    let fewest = shown.iter().map(|arm| curves.replies(arm)).min()?;
    let line = |arm: &&str| {
        let (response, service) = (curves.response(arm, &axis), curves.service(arm, &axis));
        json!({ "arm": arm, "key": reading.key(arm), "response": response, "service": service })
    };
    Some(json!({
        "believed": (fewest as f64 / REPLIES_BEYOND).log10().max(0.0),
        "arms": shown.iter().map(line).collect::<Vec<_>>(),
        "axis": axis.iter().map(|x| (x * 100.0).round() / 100.0).collect::<Vec<_>>(),
    }))
}

/// Against both processes of its baseline together.
fn shift(reading: &Reading<'_>, curves: &Curves, arm: &str) -> Option<Value> {
    let level = Level::new(reading.bundle.setup.level)?;
    let (own, baseline) = curves.quantiles(arm, reading.baseline_of(arm))?;
    let found = shift_function(own, baseline, level);
    let of =
        |pick: fn(&QuantileEffect) -> f64| found.iter().map(|(_, e)| percent(pick(e))).collect::<Vec<_>>();
    (!found.is_empty()).then(|| {
        json!({
            "arm": arm,
            "key": reading.key(arm),
            "quantile": found.iter().map(|(q, _)| *q).collect::<Vec<_>>(),
            "effect": of(|e| e.effect),
            "low": of(|e| e.interval.low),
            "high": of(|e| e.interval.high),
        })
    })
}

fn machine(slices: &[SliceRecord]) -> Option<Value> {
    let group = slices.len().div_ceil(BARS).max(1);
    let mean = |share: fn(&SliceRecord) -> f64| -> Vec<f64> {
        let of =
            |slices: &[SliceRecord]| percent(slices.iter().map(share).sum::<f64>() / slices.len() as f64);
        slices.chunks(group).map(of).collect()
    };
    let arms: Vec<&str> = slices.iter().filter(|_| group == 1).map(|slice| slice.arm.as_str()).collect();
    let any = slices.iter().any(|slice| slice.counters.host.user + slice.counters.host.system > 0.0);
    any.then(|| {
        json!({
            "group": group,
            "arms": arms,
            "user": mean(|slice| slice.counters.host.user),
            "system": mean(|slice| slice.counters.host.system),
            "iowait": mean(|slice| slice.counters.host.iowait),
            "steal": mean(|slice| slice.counters.host.steal),
        })
    })
}

/// Percent with four decimals: what a plot can show.
fn percent(fraction: f64) -> f64 {
    (fraction * 1e6).round() / 1e4
}
