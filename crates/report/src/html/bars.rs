//! What each arm used and did, as bars from 0 on one scale: the figures themselves, beside which changes stand.

use super::page::key;
use crate::reading::Reading;
use crate::{figures, words};
use serde::Serialize;

/// Figures that are told in parts, where those were measured.
const PARTS: [(&str, &str); 2] =
    [("user_cpu", "system_cpu"), ("server_cpu_per_request", "front_cpu_per_request")];

/// One figure of all arms.
#[derive(Debug, Serialize)]
pub(super) struct Bars {
    caption: String,
    rows: Vec<Bar>,
}

#[derive(Debug, Serialize)]
struct Bar {
    arm: String,
    key: String,
    invalid: bool,
    value: String,
    parts: Vec<Part>,
}

/// Positions are percent of the drawing's width.
#[derive(Debug, Serialize)]
struct Part {
    from: f64,
    width: f64,
    title: String,
}

/// The primary figure, CPU in its parts, and replies a second; none of what no arm has.
pub(super) fn of(reading: &Reading<'_>) -> Vec<Bars> {
    let primary = reading.primary_meter();
    let both = PARTS.iter().map(|(first, second)| vec![*first, *second]);
    let wanted = both.chain([vec![primary], vec!["replies_per_second"]]);
    let has = |meters: &Vec<&str>| {
        meters.iter().all(|meter| reading.arms().any(|arm| reading.figure(arm, meter).is_some()))
    };
    let mut found: Vec<Vec<&str>> = wanted.filter(has).collect();
    // The parts of CPU per request tell the whole.
    let told = |meters: &Vec<&str>| meters[0] == PARTS[1].0;
    if primary == "subject_cpu_per_request" && found.iter().any(told) {
        found.retain(|meters| meters[0] != primary);
    }
    found.dedup();
    found.iter().map(|meters| bars(reading, meters)).collect()
}

fn bars(reading: &Reading<'_>, meters: &[&str]) -> Bars {
    let sum = |arm: &str| -> f64 { meters.iter().filter_map(|meter| reading.figure(arm, meter)).sum() };
    let most = reading.arms().map(sum).fold(f64::MIN_POSITIVE, f64::max);
    let unit = reading.unit(meters[0]);
    let noun = |meter: &str| words::noun(reading.kind(), meter).to_owned();
    let row = |arm: &str| {
        let mut from = 0.0;
        let part = |meter: &&str| {
            let share = reading.figure(arm, meter)? / most * 100.0;
            let title = format!("{arm}: {} {}", figures::value(unit, share * most / 100.0), noun(meter));
            let part = Part { from: round(from), width: round(share), title };
            from += share;
            Some(part)
        };
        Bar {
            arm: arm.to_owned(),
            key: key(reading, arm),
            invalid: reading.is_invalid(arm, meters[0]),
            parts: meters.iter().filter_map(part).collect(),
            value: figures::value(unit, sum(arm)),
        }
    };
    let nouns: Vec<String> = meters.iter().map(|meter| noun(meter)).collect();
    Bars { caption: words::upper_first(&nouns.join(", then ")), rows: reading.arms().map(row).collect() }
}

fn round(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}
