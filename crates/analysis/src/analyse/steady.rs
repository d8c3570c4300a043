//! Stationarity of an arm's primary figure over the run, and the cause of a shift.

use super::series::{Series, primary};
use bakeoff_meter::SliceCounters;
use bakeoff_results::{Setup, SteadyResult};
use bakeoff_stats::{SMALLEST_SHIFT, Shift, Steadiness, steady};

/// Steal around a shift that explains it if exceeded.
const STEAL: f64 = 0.05;
/// Memory pressure that explains a shift if exceeded.
const PRESSURE: f64 = 0.05;
/// Share by which the server's memory must grow or shrink to explain a shift.
const MEMORY: f64 = 0.2;

pub(super) fn result(setup: &Setup, series: &Series, arm: &str) -> Option<SteadyResult> {
    let meter = primary(setup);
    let figures = series.figures(arm, meter)?;
    let seconds =
        |window: usize| series.column(arm).started_ns.get(window).map_or(0.0, |ns| *ns as f64 / 1e9);
    let counters = &series.column(arm).counters;
    let said = |state: &str, cut: usize, sentence: String| SteadyResult {
        state: state.to_owned(),
        cut: cut as u32,
        shifts: Vec::new(),
        sentence,
    };
    Some(match steady(&figures, SMALLEST_SHIFT) {
        Steadiness::TooShort { have, need } => {
            said("too-short", 0, format!("{have} slices; {need} are needed to tell whether it stood still"))
        }
        Steadiness::Steady { cut, .. } => said("steady", cut, "steady".to_owned()),
        Steadiness::NeverSettled { cut, .. } => said(
            "never-settled",
            cut,
            format!("not steady: the warm-up had not ended at {:.0} s", seconds(cut)),
        ),
        Steadiness::NotSteady { cut, shifts, .. } if shifts.is_empty() => {
            said("not-steady", cut, "not steady: it drifts".to_owned())
        }
        Steadiness::NotSteady { cut, shifts, .. } => {
            let words: Vec<String> = shifts
                .iter()
                .map(|shift| {
                    let at = seconds(shift.at);
                    format!("shift of {:+.0} % at {at:.0} s{}", shift.change * 100.0, cause(counters, shift))
                })
                .collect();
            SteadyResult {
                shifts: shifts.iter().map(|shift| (seconds(shift.at), shift.change)).collect(),
                ..said("not-steady", cut, format!("not steady ({})", words.join("; ")))
            }
        }
        Steadiness::NotMeasured { .. } => return None,
    })
}

/// Another change at that time.
fn cause(counters: &[SliceCounters], shift: &Shift) -> String {
    let (before, after) = counters.split_at(shift.at.min(counters.len()));
    let near_before = &before[before.len().saturating_sub(5)..];
    let near_after = &after[..after.len().min(5)];
    let mean = |slices: &[SliceCounters], pick: fn(&SliceCounters) -> f64| {
        slices.iter().map(pick).sum::<f64>() / slices.len().max(1) as f64
    };
    let jump = |pick: fn(&SliceCounters) -> f64| mean(near_after, pick) - mean(near_before, pick);
    let steal = jump(|c| c.host.steal);
    if steal.abs() > STEAL {
        return format!(", as steal went {} by {:.0} points", up(steal), steal.abs() * 100.0);
    }
    let pressure = jump(|c| c.host.pressure_memory.unwrap_or(0.0));
    if pressure.abs() > PRESSURE {
        return format!(", as pressure on memory went {}", up(pressure));
    }
    let memory = |c: &SliceCounters| c.usage.rss_bytes.unwrap_or(0) as f64;
    let (old, new) = (mean(near_before, memory), mean(near_after, memory));
    if old > 0.0 && (new / old - 1.0).abs() > MEMORY {
        return format!(
            ", as the server's memory went {} by {:.0} %",
            up(new - old),
            (new / old - 1.0).abs() * 100.0
        );
    }
    String::new()
}

const fn up(change: f64) -> &'static str {
    if change > 0.0 { "up" } else { "down" }
}
