//! What came of it, in sentences, and what spoils figures.

use crate::directory::Stored;
use crate::plan::CachePlan;
use crate::records::Purpose;
use crate::results::{Entrant, Point};
use bakeoff_units::{Nanos, PerSecond};

/// Robots that send this late, or this busy, measure themselves.
const LATE: Nanos = Nanos::from_millis(10);
const BUSY: f64 = 0.9;
/// Clocks further apart spoil judgements about age.
const CLOCKS_APART_S: i64 = 1;

/// What came of an entrant.
pub(super) fn sentence(plan: &CachePlan, entrant: &Entrant) -> String {
    if let Some(why) = &entrant.failed {
        return format!("did not finish: {why}");
    }
    let Some(point) = telling(entrant) else {
        return "no rate was measured".to_owned();
    };
    let mut parts = vec![standing(entrant)];
    parts.push(format!(
        "at {} the mean response time is {}",
        rate(point.rate_per_s),
        Nanos::new(point.mean_ns)
    ));
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
    let faults: Vec<&str> =
        entrant.faults.iter().filter(|fault| !fault.only_counted).map(|fault| fault.label.as_str()).collect();
    parts.push(match faults.as_slice() {
        [] => "no faults".to_owned(),
        [one] => format!("one kind of fault, {one}"),
        [worst, ..] => format!("{} kinds of faults, most often {worst}", faults.len()),
    });
    parts.join("; ")
}

/// The highest rate that passed; else the lowest.
fn telling(entrant: &Entrant) -> Option<&Point> {
    let by_rate = |a: &&Point, b: &&Point| a.rate_per_s.total_cmp(&b.rate_per_s);
    let passed = entrant.points.iter().filter(|point| point.rule.passed()).max_by(by_rate);
    passed.or_else(|| entrant.points.iter().min_by(by_rate))
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
        (None, _) => "passes at no rate by the rule of 1999".to_owned(),
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
        if let Some(apart) = run.clock_ahead_s.filter(|apart| apart.abs() > CLOCKS_APART_S) {
            warnings.push(format!(
                "{whose}: the origin's clock is {apart} s ahead of the robots': ages are not to be trusted"
            ));
        }
    }
    for entrant in entrants {
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
