//! Changes and shares in words.
//!
//! Measuring side, cold, pure.

use bakeoff_stats::{Effect, InWords, Interval, change_in_words};

/// OwnFigure and interval in one form for their size.
pub(in super::super) fn change(e: &Effect) -> InWords {
    change_in_words(e.effect, e.interval.low, e.interval.high)
}

pub(in super::super) fn percent(fraction: f64) -> String {
    format!("{} %", points(fraction))
}

pub(in super::super) fn points(fraction: f64) -> String {
    let x = fraction * 100.0;
    if x.abs() >= 9.95 { format!("{x:+.0}") } else { format!("{x:+.2}") }
}

pub(in super::super) fn range(interval: &Interval) -> String {
    format!("{}..{} %", points(interval.low), points(interval.high))
}
