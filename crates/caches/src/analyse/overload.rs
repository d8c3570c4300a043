//! Overload: rates higher than an entrant could answer.
//!
//! Measuring side, cold, pure. Its warnings come before all others: every other figure of such a rate is that of a
//! growing queue.

use super::words::{place, rate};
use crate::chance;
use crate::results::{CutShort, EntrantResults, Point};

/// Share of due requests that must be answered, well or badly; less means overload. Replies come later than requests are due: in a
/// phase of ten times the response time that begins at a lower rate, two or three per cent of them come in the next.
pub(super) const KEEPS_UP: f64 = 0.95;

/// A warning for each overloaded rate.
pub(super) fn warnings(entrants: &[EntrantResults]) -> impl Iterator<Item = String> {
    let points = entrants.iter().flat_map(|entrant| entrant.runs().map(move |point| (entrant, point)));
    points.filter_map(|(entrant, point)| {
        let share = overloaded(point)?;
        Some(format!(
            "{} {}: overloaded: {:.0} % of the requests that were due were answered, {}; the response time is that of a \
             line that grows",
            entrant.name,
            place(entrant, point),
            100.0 * share,
            rate(point.reply_rate_per_s),
        ))
    })
}

/// The first words on an entrant: the lowest rate that was too much for it, whether it could not keep up or broke down.
pub(super) fn first_words(entrant: &EntrantResults) -> Option<String> {
    let too_much = |point: &&Point| overloaded(point).is_some() || broke_down(point);
    let due = |point: &Point| point.asked_rate_per_s.unwrap_or(f64::INFINITY);
    let by_rate = |a: &&Point, b: &&Point| due(a).total_cmp(&due(b));
    let lowest = entrant.runs().filter(too_much).min_by(by_rate)?;
    let place = place(entrant, lowest);
    Some(match overloaded(lowest) {
        Some(share) => {
            format!("overloaded {place}, where {:.0} % of what was due was answered", 100.0 * share)
        }
        None => {
            format!("broke down {place}, where {:.0} % of the requests failed", 100.0 * lowest.error_share)
        }
    })
}

fn broke_down(point: &Point) -> bool {
    point.cut_short == Some(CutShort::TooManyErrors)
}

/// Share of due requests that were answered, if that is too little.
pub(super) fn overloaded(point: &Point) -> Option<f64> {
    if point.cut_short.is_some() {
        return None;
    }
    short_of(point.asked_rate_per_s? * point.seconds, point.answered as f64)
}

/// Share of due requests that were answered, if that is too little.
fn short_of(due: f64, answered: f64) -> Option<f64> {
    (answered < chance::fewest(KEEPS_UP, due)).then_some(answered / due)
}

#[cfg(test)]
mod tests {
    use super::short_of;

    #[test]
    fn who_answers_less_than_is_due_is_overloaded_unless_chance_makes_it_so() {
        assert_eq!(short_of(12_000.0, 11_500.0), None, "95.8 %");
        assert_eq!(short_of(12_000.0, 6_000.0), Some(0.5));
        assert_eq!(short_of(300.0, 260.0), None, "2.3 standard deviations");
        assert_eq!(short_of(0.0, 0.0), None);
    }
}
