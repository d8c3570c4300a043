//! What came of it, in sentences, and what spoils figures.

use super::point::telling;
use crate::directory::Stored;
use crate::plan::CachePlan;
use crate::records::Purpose;
use crate::results::{CutShort, Downtime, Entrant, Point};
use bakeoff_units::{Nanos, PerSecond};

/// Robots that send this late, or this busy, measure themselves.
const LATE: Nanos = Nanos::from_millis(10);
const BUSY: f64 = 0.9;
/// Clocks further apart spoil judgements about age. A Date has whole seconds.
pub const CLOCKS_AGREE_S: u64 = 1;

/// What the origin's clock does: `is 5 s behind the robots'`. `other` is the clock that it is held against.
pub fn clock_in_words(ahead_s: i64, other: &str) -> String {
    let apart = ahead_s.unsigned_abs();
    match ahead_s {
        _ if apart <= CLOCKS_AGREE_S => format!("agrees with {other} to within {CLOCKS_AGREE_S} s"),
        1.. => format!("is {apart} s ahead of {other}"),
        _ => format!("is {apart} s behind {other}"),
    }
}

/// What came of an entrant.
pub(super) fn sentence(plan: &CachePlan, entrant: &Entrant) -> String {
    if let Some(why) = &entrant.failed {
        return format!("did not finish: {why}");
    }
    let Some(point) = telling(&entrant.points) else {
        return "no rate was measured".to_owned();
    };
    let mut parts = match entrant.downtime.as_slice() {
        [] => at_a_rate(plan, entrant, point),
        outages => outages.iter().map(back).collect(),
    };
    let faults: Vec<&str> =
        entrant.faults.iter().filter(|fault| !fault.only_counted).map(|fault| fault.label.as_str()).collect();
    parts.push(match faults.as_slice() {
        [] => "no faults".to_owned(),
        [one] => format!("one kind of fault, {one}"),
        [worst, ..] => format!("{} kinds of faults, most often {worst}", faults.len()),
    });
    parts.join("; ")
}

/// How it stood, and what it was like at the telling rate.
fn at_a_rate(plan: &CachePlan, entrant: &Entrant, point: &Point) -> Vec<String> {
    let mut parts = vec![standing(entrant)];
    parts.push(format!("at {} the mean response time is {}", at(entrant, point), Nanos::new(point.mean_ns)));
    if let Some(hits) = point.hit_ratio {
        let possible = point.achievable.map(|best| {
            format!(", of {:.1} % that an endless cache would have had", best.when_fetched.0 * 100.0)
        });
        parts.push(format!(
            "{:.1} % of the replies are hits{} ({:.0} % asked)",
            hits * 100.0,
            possible.unwrap_or_default(),
            plan.hit_ratio.get() * 100.0
        ));
    }
    if let Some(cpu) = point.cpu_per_request_ns {
        parts.push(format!("a request costs {} of CPU", Nanos::new(cpu)));
    }
    parts
}

/// When it was back.
fn back(downtime: &Downtime) -> String {
    let after =
        |ns: Option<u64>| ns.map_or_else(|| "never".to_owned(), |ns| format!("after {}", Nanos::new(ns)));
    let Some(away) = downtime.away_ns else { return "away until the run ended".to_owned() };
    let away = Nanos::new(away);
    if downtime.first_good_ns.is_none() {
        return format!("away for {away}, and no good reply since it was started again");
    }
    let survived = downtime.survived().map(|share| {
        let (hits, asked) = (downtime.known_hits, downtime.known_asked);
        format!(
            "; of what it had before {:.0} % were still there ({hits} of {asked} asked for)",
            share * 100.0
        )
    });
    format!(
        "away for {away}; once started again it gave the first good reply {}{}, the first miss {}, the first hit {}; \
         {} requests lost{}",
        after(downtime.first_good_ns),
        downtime.known_to_ns.map_or_else(String::new, |ns| format!(" (known to {})", Nanos::new(ns))),
        after(downtime.first_miss_ns),
        after(downtime.first_hit_ns),
        downtime.lost_in_all(),
        survived.unwrap_or_default()
    )
}

/// The rate, with the phase where there are several.
fn at(entrant: &Entrant, point: &Point) -> String {
    match entrant.has_phases() {
        true => format!("{} in {}", rate(point.rate_per_s), point.phase),
        false => rate(point.rate_per_s),
    }
}

fn standing(entrant: &Entrant) -> String {
    match (entrant.passed_up_to_per_s, entrant.failed_from_per_s) {
        (Some(passed), None) => format!("passes at every rate, up to {}", rate(passed)),
        (Some(passed), Some(failed)) if failed > passed => {
            format!("passes up to {}, fails from {} on", rate(passed), rate(failed))
        }
        (Some(passed), Some(failed)) => {
            format!("passes at {} and fails at the lower {}", rate(passed), rate(failed))
        }
        (None, Some(_)) => "passes at no rate by the rule of 1999".to_owned(),
        (None, None) => "no rate was measured to its end".to_owned(),
    }
}

fn rate(per_second: f64) -> String {
    PerSecond::new(per_second).map_or_else(String::new, |rate| rate.to_string())
}

/// What spoils figures.
pub(super) fn warnings(plan: &CachePlan, stored: &Stored, entrants: &[Entrant]) -> Vec<String> {
    let mut warnings = Vec::new();
    for run in &stored.runs {
        let Purpose::Rate { rate_per_s, .. } = run.purpose else { continue };
        let whose = format!("{} at {}", run.entrant.name, rate(rate_per_s));
        let late = Nanos::new(run.lateness_p99_ns);
        if late > LATE || run.robots_busy > BUSY {
            warnings.push(format!(
                "{whose}: the robots were the limit: 1 % of the requests were sent {late} late or later, and their thread \
                 was busy for {:.0} % of its time; the rate is not the cache's",
                run.robots_busy * 100.0
            ));
        }
        if let Some(ahead) = run.clock_ahead_s.filter(|ahead| ahead.unsigned_abs() > CLOCKS_AGREE_S) {
            let clock = clock_in_words(ahead, "the robots'");
            warnings.push(format!("{whose}: the origin's clock {clock}: ages are not to be trusted"));
        }
    }
    for entrant in entrants {
        warnings.extend(entrant.points.iter().filter_map(|point| cut_short(entrant, point)));
        if let Some(fill) =
            entrant.fill.as_ref().filter(|fill| fill.stored_bytes < fill.capacity_bytes.map(|c| c / 2))
        {
            warnings.push(format!(
                "{}: its store was not half full when it was measured ({})",
                entrant.name, fill.ended
            ));
        }
    }
    if plan.scale.get() < 1.0 && plan.think_mean > Nanos::ZERO {
        warnings.push(format!(
            "scale {}: hit ratios are lower than at full scale; see what the scale leaves as it is",
            plan.scale
        ));
    }
    warnings
}

/// Of a phase that did not go to its end.
fn cut_short(entrant: &Entrant, point: &Point) -> Option<String> {
    let counts = match point.cut_short? {
        CutShort::BrokenOff => "it neither passed nor failed",
        CutShort::TooManyErrors => "it did not pass",
    };
    Some(format!(
        "{} at {}: cut short after {} ({}); its figures are those of a part, and {counts}",
        entrant.name,
        at(entrant, point),
        Nanos::from_secs_f64(point.seconds),
        point.cut_short?.in_words()
    ))
}

#[cfg(test)]
mod tests {
    use super::clock_in_words;

    #[test]
    fn a_clock_is_ahead_or_behind_and_never_less_than_nothing_ahead() {
        for (ahead_s, words) in [
            (0, "agrees with ours to within 1 s"),
            (-1, "agrees with ours to within 1 s"),
            (2, "is 2 s ahead of ours"),
            (-5, "is 5 s behind ours"),
        ] {
            assert_eq!(clock_in_words(ahead_s, "ours"), words);
        }
    }
}
