//! Names of entrants, rates and phases in sentences.
//!
//! Measuring side, cold, pure.

use crate::results::{EntrantResults, Point};
use bakeoff_units::PerSecond;

/// The rate, with the phase if there are several or if there is no rate, and the pass of one: `at 50/s`,
/// `at 400/s in top1`, `in meas`, `at 50/s (pass 2)`.
pub(super) fn place(entrant: &EntrantResults, point: &Point) -> String {
    let at = point.rate_per_s.map(|asked| format!("at {}", rate(asked)));
    let place = match at {
        Some(at) if entrant.has_phases() => format!("{at} in {}", point.phase),
        Some(at) => at,
        None => format!("in {}", point.phase),
    };
    place + &of_pass(point.pass)
}

/// ` (pass 2)`, if there are several.
pub(super) fn of_pass(pass: Option<u32>) -> String {
    pass.map_or_else(String::new, |pass| format!(" (pass {pass})"))
}

pub(super) fn rate(per_second: f64) -> String {
    PerSecond::new(per_second).map_or_else(String::new, |rate| rate.to_string())
}

/// `squid at 50/s`
pub(super) fn named(entrant: &EntrantResults, point: &Point) -> String {
    format!("{} {}", entrant.name, place(entrant, point))
}
