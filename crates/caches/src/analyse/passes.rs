//! Mean and spread of several passes at one rate.
//!
//! Measuring side, cold, pure. Owns which parts of a pass count. The interval of a mean is that of independent
//! estimates: it covers differences within runs. Differences between runs are reported beside it, as two passes are too
//! few for an interval.

use crate::records::{Achievable, Tls};
use crate::results::{
    Apart, BaselinePair, CutShort, EntrantResults, Gzip, PageResults, PassRule, Point, Spread, Tail,
};

/// Points of runs, merged if of the same phase at the same rate; without passes as they are.
pub(super) fn together(points: Vec<Point>) -> Vec<Point> {
    let mut groups: Vec<Vec<Point>> = Vec::new();
    for point in points {
        let is_same = |group: &&mut Vec<Point>| {
            let first = &group[0];
            point.pass.is_some() && (first.order, &first.phase) == (point.order, &point.phase)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(point),
            None => groups.push(vec![point]),
        }
    }
    let mut points: Vec<Point> = groups.into_iter().map(of_passes).collect();
    // Stable: the phases of a run stay in their order.
    points.sort_by_key(|point| point.order);
    points
}

fn of_passes(mut passes: Vec<Point>) -> Point {
    if passes.len() == 1 && passes[0].pass.is_none() {
        return passes.remove(0);
    }
    let counted: Vec<&Point> = passes.iter().filter(|point| counts(point, &passes)).collect();
    let mean = mean_of(&counted);
    Point { passes, ..mean }
}

/// A broken-off point counts only if none of its group went to its end.
fn counts(point: &Point, all: &[Point]) -> bool {
    let broken_off = |point: &Point| point.cut_short == Some(CutShort::BrokenOff);
    !broken_off(point) || all.iter().all(broken_off)
}

fn mean_of(points: &[&Point]) -> Point {
    let mean_times = |of: fn(&Point) -> (Option<u64>, Option<u64>)| {
        let of_all: Vec<_> = points.iter().map(|point| of(point)).collect();
        Time::mean(&of_all)
    };
    let response = mean_times(|point| (Some(point.mean_ns), point.mean_high_ns));
    let hit = mean_times(|point| (point.hit_mean_ns, point.hit_mean_high_ns));
    let miss = mean_times(|point| (point.miss_mean_ns, point.miss_mean_high_ns));
    let number = |of: fn(&Point) -> f64| mean(points.iter().map(|point| of(point))).unwrap_or(0.0);
    let share = |of: fn(&Point) -> Option<f64>| mean(points.iter().filter_map(|point| of(point)));
    let nanos = |of: fn(&Point) -> Option<u64>| {
        whole(mean(points.iter().filter_map(|point| of(point)).map(|ns| ns as f64)))
    };
    let (hit_ratio, half) = ratio(points);
    let first = points[0];
    Point {
        order: first.order,
        pass: None,
        rate_per_s: first.rate_per_s,
        asked_rate_per_s: share(|point| point.asked_rate_per_s),
        phase: first.phase.clone(),
        cut_short: points.iter().find_map(|point| point.cut_short),
        seconds: points.iter().map(|point| point.seconds).sum(),
        request_rate_per_s: number(|point| point.request_rate_per_s),
        reply_rate_per_s: number(|point| point.reply_rate_per_s),
        replies: points.iter().map(|point| point.replies).sum(),
        answered: points.iter().map(|point| point.answered).sum(),
        error_share: number(|point| point.error_share),
        mean_ns: response.mean_ns.unwrap_or(0),
        mean_low_ns: response.low_ns,
        mean_high_ns: response.high_ns,
        p50_ns: nanos(|point| Some(point.p50_ns)).unwrap_or(0),
        p95_ns: nanos(|point| Some(point.p95_ns)).unwrap_or(0),
        p99_ns: nanos(|point| Some(point.p99_ns)).unwrap_or(0),
        hit_mean_ns: hit.mean_ns,
        hit_mean_low_ns: hit.low_ns,
        hit_mean_high_ns: hit.high_ns,
        miss_mean_ns: miss.mean_ns,
        miss_mean_low_ns: miss.low_ns,
        miss_mean_high_ns: miss.high_ns,
        hit_tail: tail(points.iter().filter_map(|point| point.hit_tail)),
        miss_tail: tail(points.iter().filter_map(|point| point.miss_tail)),
        pages: pages(points),
        hit_ratio,
        hit_ratio_low: hit_ratio.zip(half).map(|(ratio, half)| (ratio - half).max(0.0)),
        hit_ratio_high: hit_ratio.zip(half).map(|(ratio, half)| (ratio + half).min(1.0)),
        byte_hit_ratio: share(|point| point.byte_hit_ratio),
        offered_hit_ratio: share(|point| point.offered_hit_ratio),
        offered_byte_hit_ratio: share(|point| point.offered_byte_hit_ratio),
        two_sided_hit_ratio: share(|point| point.two_sided_hit_ratio),
        achievable: achievable(points),
        gzip: gzip(points),
        fault_share: number(|point| point.fault_share),
        in_flight_mean: number(|point| point.in_flight_mean),
        cpu_per_request_ns: nanos(|point| point.cpu_per_request_ns),
        origin_cpu_per_request_ns: nanos(|point| point.origin_cpu_per_request_ns),
        robots_cpu_per_request_ns: nanos(|point| Some(point.robots_cpu_per_request_ns)).unwrap_or(0),
        lateness_p99_ns: nanos(|point| Some(point.lateness_p99_ns)).unwrap_or(0),
        tls: tls(points),
        rule: rule(points),
        passes: Vec::new(),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

fn whole(ns: Option<f64>) -> Option<u64> {
    ns.map(|ns| ns.round() as u64)
}

/// A mean time and its interval.
struct Time {
    mean_ns: Option<u64>,
    low_ns: Option<u64>,
    high_ns: Option<u64>,
}

impl Time {
    /// From means and the upper ends of their intervals, which give the widths: lower ends are cut off at 0.
    fn mean(of_all: &[(Option<u64>, Option<u64>)]) -> Self {
        let middle = mean(of_all.iter().filter_map(|(ns, _)| *ns).map(|ns| ns as f64));
        let halves = of_all.iter().filter(|(ns, _)| ns.is_some());
        let halves = halves.map(|(ns, high)| Some((*high)?.saturating_sub((*ns)?) as f64));
        let half = half_of_mean(halves);
        let (low_ns, high_ns) = middle
            .zip(half)
            .map(|(middle, half)| ((middle - half).max(0.0) as u64, (middle + half) as u64))
            .unzip();
        Self { mean_ns: whole(middle), low_ns, high_ns }
    }
}

/// Half the width of the interval of the mean of independent figures; `None` if one of them has none.
fn half_of_mean(halves: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let halves: Vec<f64> = halves.collect::<Option<_>>()?;
    let squares: f64 = halves.iter().map(|half| half * half).sum();
    (!halves.is_empty()).then(|| squares.sqrt() / halves.len() as f64)
}

/// The hit ratio, and half the width of its interval.
fn ratio(points: &[&Point]) -> (Option<f64>, Option<f64>) {
    let ratio = mean(points.iter().filter_map(|point| point.hit_ratio));
    let half = |point: &&Point| Some((point.hit_ratio_high? - point.hit_ratio_low?) / 2.0);
    (ratio, half_of_mean(points.iter().map(half)))
}

fn pages(points: &[&Point]) -> Option<PageResults> {
    let all: Vec<&PageResults> = points.iter().filter_map(|point| point.pages.as_ref()).collect();
    let of_all: Vec<_> = all.iter().map(|pages| (Some(pages.mean_ns), pages.mean_high_ns)).collect();
    let time = Time::mean(&of_all);
    let nanos = |of: fn(&PageResults) -> u64| whole(mean(all.iter().map(|pages| of(pages) as f64)));
    Some(PageResults {
        good: all.iter().map(|pages| pages.good).sum(),
        failed: all.iter().map(|pages| pages.failed).sum(),
        objects_mean: mean(all.iter().map(|pages| pages.objects_mean))?,
        mean_ns: time.mean_ns?,
        mean_low_ns: time.low_ns,
        mean_high_ns: time.high_ns,
        p50_ns: nanos(|pages| pages.p50_ns)?,
        p95_ns: nanos(|pages| pages.p95_ns)?,
        p99_ns: nanos(|pages| pages.p99_ns)?,
    })
}

fn tail(tails: impl Iterator<Item = Tail> + Clone) -> Option<Tail> {
    let nanos = |of: fn(&Tail) -> u64| whole(mean(tails.clone().map(|tail| of(&tail) as f64)));
    Some(Tail {
        replies: tails.clone().map(|tail| tail.replies).sum(),
        p50_ns: nanos(|tail| tail.p50_ns)?,
        p99_ns: nanos(|tail| tail.p99_ns)?,
        p999_ns: nanos(|tail| tail.p999_ns)?,
    })
}

fn achievable(points: &[&Point]) -> Option<Achievable> {
    let all: Vec<&Achievable> = points.iter().filter_map(|point| point.achievable.as_ref()).collect();
    let both = |of: fn(&Achievable) -> Option<(f64, f64)>| {
        let found = || all.iter().filter_map(|caches| of(caches));
        Some((mean(found().map(|(documents, _)| documents))?, mean(found().map(|(_, bytes)| bytes))?))
    };
    Some(Achievable {
        at_once: both(|caches| Some(caches.at_once))?,
        when_fetched: both(|caches| Some(caches.when_fetched))?,
        capacity_bytes: all.first()?.capacity_bytes,
        lru: both(|caches| caches.lru),
        s3_fifo: both(|caches| caches.s3_fifo),
        belady: both(|caches| caches.belady),
    })
}

fn gzip(points: &[&Point]) -> Option<Gzip> {
    let all = points.iter().filter_map(|point| point.gzip);
    all.reduce(|a, b| Gzip { asked: a.asked + b.asked, came: a.came + b.came })
}

fn tls(points: &[&Point]) -> Option<Tls> {
    let all: Vec<&Tls> = points.iter().filter_map(|point| point.tls.as_ref()).collect();
    let sum = |of: fn(&Tls) -> u64| all.iter().map(|tls| of(tls)).sum();
    let nanos = |of: fn(&Tls) -> u64| whole(mean(all.iter().map(|tls| of(tls) as f64)));
    Some(Tls {
        agreed: all.iter().find_map(|tls| tls.agreed.clone()),
        full: sum(|tls| tls.full),
        resumed: sum(|tls| tls.resumed),
        failed: sum(|tls| tls.failed),
        stands_p50_ns: nanos(|tls| tls.stands_p50_ns)?,
        handshake_p50_ns: nanos(|tls| tls.handshake_p50_ns)?,
    })
}

/// A condition that failed in one of them fails.
fn rule(points: &[&Point]) -> Option<PassRule> {
    let all = points.iter().filter_map(|point| point.rule);
    all.reduce(|a, b| PassRule {
        whole: a.whole && b.whole,
        mean: a.mean && b.mean,
        hit_ratio: a.hit_ratio.zip(b.hit_ratio).map(|(a, b)| a && b),
        request_rate: a.request_rate && b.request_rate,
        reply_rate: a.reply_rate && b.reply_rate,
        content: a.content && b.content,
        books: a.books && b.books,
    })
}

/// Spread of the passes of an entrant; `None` if no rate has two that count.
pub(super) fn spread(points: &[Point]) -> Option<Spread> {
    let counted = points.iter().map(|point| -> Vec<&Point> {
        point.passes.iter().filter(|pass| counts(pass, &point.passes)).collect()
    });
    spread_of(&counted.collect::<Vec<_>>())
}

/// Spread of the two starts of the baseline.
pub(super) fn baselines(entrants: &[EntrantResults]) -> Option<BaselinePair> {
    let second = entrants.iter().find(|entrant| entrant.second_of.is_some())?;
    let first = entrants.iter().find(|entrant| Some(&entrant.name) == second.second_of.as_ref())?;
    let pairs = first.points.iter().filter_map(|point| Some(vec![point, point.like(&second.points)?]));
    Some(BaselinePair {
        first: first.name.clone(),
        second: second.name.clone(),
        spread: spread_of(&pairs.collect::<Vec<_>>())?,
    })
}

/// Spread of figures that should be equal in each of these groups.
fn spread_of(groups: &[Vec<&Point>]) -> Option<Spread> {
    let groups: Vec<&Vec<&Point>> = groups.iter().filter(|group| group.len() > 1).collect();
    let apart = |of: fn(&Point) -> Option<f64>, is_share: bool| {
        let distance = |group: &&Vec<&Point>| {
            let values: Vec<f64> = group.iter().map(|point| of(point)).collect::<Option<_>>()?;
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let by = if is_share { mean(values.iter().copied())? } else { 1.0 };
            (by > 0.0).then(|| (most - least) / by)
        };
        Apart::of(groups.iter().filter_map(distance).collect())
    };
    (!groups.is_empty()).then(|| Spread {
        points: groups.len(),
        mean: apart(|point| Some(point.mean_ns as f64), true),
        hit_ratio: apart(|point| point.hit_ratio, false),
        cpu: apart(|point| point.cpu_per_request_ns.map(|ns| ns as f64), true),
    })
}

impl Apart {
    fn of(mut distances: Vec<f64>) -> Option<Self> {
        distances.sort_by(f64::total_cmp);
        let (low, high) =
            (distances.get(distances.len().checked_sub(1)? / 2)?, distances.get(distances.len() / 2)?);
        Some(Self { median: (low + high) / 2.0, most: *distances.last()? })
    }
}
