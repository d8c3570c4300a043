//! CPU cost of a hit and of a miss.
//!
//! A run of PolyMix has the same mix of hits and misses at every rate, so that the two cannot be told apart from rates
//! alone. The fill has hardly any hits: its CPU per request is that of a miss (without think time, but waiting costs no
//! CPU). The CPU of a rate beyond that of its misses is that of its hits. The busiest rate is taken: a fill keeps a
//! cache busy, and at a low rate waking up for each request costs more than the request.
//!
//! Intervals are by batch means, as those of response times: CPU and requests of each interval of the phase. The
//! interval of a hit has both errors in it, of the rate and of the miss that is taken off; they are independent, and
//! add as squares do.

use super::point::telling;
use crate::directory::StoredBakeoff;
use crate::records::{PhaseLine, RunPurpose, RunRecord};
use crate::results::{CacheCost, Point};
use bakeoff_robots::ledger::{RecordScope, Sums};
use bakeoff_stats::{Level, of_batches};

/// Share of hits above which a fill does not show the cost of a miss.
const FEW_HITS: f64 = 0.05;

/// A cost, and half the width of its interval if there is one.
#[derive(Clone, Copy)]
struct Known {
    ns: f64,
    half: Option<f64>,
}

impl Known {
    fn ends(self) -> (Option<f64>, Option<f64>) {
        self.half.map(|half| ((self.ns - half).max(0.0), self.ns + half)).unzip()
    }
}

/// `None` if CPU cannot be read.
pub(super) fn of(
    stored: &StoredBakeoff,
    runs: &[(usize, &RunRecord)],
    points: &[Point],
) -> Option<CacheCost> {
    let point = busiest(points)?;
    let per_request = point.cpu_per_request_ns? as f64;
    let is_of_rate = |run: &RunRecord| run.purpose.measured().is_some_and(|(order, _)| order == point.order);
    let of_rate = runs.iter().filter(|(_, run)| is_of_rate(run));
    let batches = cpu(stored, of_rate.map(|(number, _)| (*number, point.phase.as_str())));
    let at = point.rate_per_s.map_or("robots without a rate".to_owned(), |rate| format!("{rate:.0}/s"));
    let Some(miss) = miss(stored, runs) else {
        let all = Known { ns: per_request, half: half_width(&batches, of_all) };
        let how = format!("hits and misses of {at} together: there was no fill before to tell them apart");
        return Some(cost(None, all, how));
    };
    let hits = point.hit_ratio?;
    // A negative cost is no cost: the two were not told apart.
    let hit = (hits > FEW_HITS).then(|| hit(hits, per_request, miss, &batches)).filter(|hit| hit.ns > 0.0);
    let how = format!(
        "a miss from the fill, which has hardly any hits; a hit from what {at} used beyond its misses"
    );
    Some(cost(hit, miss, how))
}

/// The highest rate that went to its end.
fn busiest(points: &[Point]) -> Option<&Point> {
    let rate = |point: &Point| point.rate_per_s.unwrap_or(point.reply_rate_per_s);
    let whole = points.iter().filter(|point| point.cut_short.is_none());
    whole.max_by(|a, b| rate(a).total_cmp(&rate(b))).or_else(|| telling(points))
}

fn cost(hit: Option<Known>, miss: Known, how: String) -> CacheCost {
    let (hit_low_ns, hit_high_ns) = hit.map_or((None, None), Known::ends);
    let (miss_low_ns, miss_high_ns) = miss.ends();
    let hit_ns = hit.map(|hit| hit.ns);
    CacheCost { hit_ns, hit_low_ns, hit_high_ns, miss_ns: miss.ns, miss_low_ns, miss_high_ns, how }
}

/// The rest of a rate's CPU, for its hits.
fn hit(hits: f64, per_request: f64, miss: Known, batches: &[(f64, &Sums)]) -> Known {
    let of_hits = |cpu_ns: f64, sums: &Sums| {
        let share = sums.document_hit_ratio().unwrap_or(0.0);
        let finished = sums.finished as f64;
        (cpu_ns - (1.0 - share) * finished * miss.ns, share * finished)
    };
    let of_rate = half_width(batches, of_hits);
    let of_miss = miss.half.map(|half| (1.0 - hits) / hits * half);
    Known {
        ns: (per_request - (1.0 - hits) * miss.ns) / hits,
        half: of_rate.zip(of_miss).map(|(rate, miss)| rate.hypot(miss)),
    }
}

/// CPU per request of all fills.
fn miss(stored: &StoredBakeoff, runs: &[(usize, &RunRecord)]) -> Option<Known> {
    let fills = runs.iter().filter(|(_, run)| run.purpose == RunPurpose::Fill);
    let fills: Vec<(usize, &PhaseLine)> =
        fills.filter_map(|(number, run)| Some((*number, run.last_phase()?))).collect();
    let (mut cpu_ns, mut finished) = (0, 0);
    for (_, line) in &fills {
        let sums = &line.phase.sums;
        if sums.document_hit_ratio()? >= FEW_HITS {
            return None;
        }
        cpu_ns += line.used.cache_cpu_ns?;
        finished += sums.finished;
    }
    let batches = cpu(stored, fills.iter().map(|(number, line)| (*number, line.phase.phase.as_str())));
    (finished > 0).then(|| Known { ns: cpu_ns as f64 / finished as f64, half: half_width(&batches, of_all) })
}

/// CPU and sums of each interval of these phases of runs; none if one of them has no CPU.
fn cpu<'s, 'p>(
    stored: &'s StoredBakeoff,
    of: impl Iterator<Item = (usize, &'p str)>,
) -> Vec<(f64, &'s Sums)> {
    let mut batches = Vec::new();
    for (number, phase) in of {
        let of_run = stored.intervals.iter().filter(|line| line.run as usize == number);
        let of_phase = of_run
            .filter(|line| line.interval.scope == RecordScope::Interval && line.interval.phase == phase);
        let read = of_phase.map(|line| Some((line.cache_cpu_ns? as f64, &line.interval.sums)));
        batches.extend(read);
    }
    batches.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn of_all(cpu_ns: f64, sums: &Sums) -> (f64, f64) {
    (cpu_ns, sums.finished as f64)
}

fn half_width(batches: &[(f64, &Sums)], of: impl Fn(f64, &Sums) -> (f64, f64)) -> Option<f64> {
    let batches: Vec<(f64, f64)> = batches.iter().map(|(cpu_ns, sums)| of(*cpu_ns, sums)).collect();
    Some(of_batches(&batches, Level::ONCE)?.interval?.half_width())
}
