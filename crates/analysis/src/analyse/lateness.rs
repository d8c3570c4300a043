//! Lateness of the generator, which spoils response times before it spoils rates and costs.
//!
//! Pure, cold. A request that is sent late is answered late, so its time says nothing about the server. What a server
//! makes in a second is another matter: it is what it made of the load that was asked for, as long as it had that. So is
//! the CPU that a request takes, if none had the load in another shape than its baseline.

use super::series::Series;
use bakeoff_meter::{Aggregation, Meter, SliceCounters};
use bakeoff_plan::LoadClock;
use bakeoff_results::{Setup, second};
use bakeoff_units::{Nanos, PerSecond, Ratio};

/// How far an arm's rate may be from the one asked for: what of a cost depends on the load (wake-ups, batches) is then
/// wrong by no more than this share of it.
const RATE_WITHIN: f64 = 0.02;

/// Standard deviations by which the number of requests that come by chance may be off.
const BY_CHANCE: f64 = 3.0;

/// How an arm was asked.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    arm: String,
    /// 99th percentile of the time from due to sent.
    lateness: Nanos,
    /// Requests per second while it was loaded.
    rate_per_s: f64,
    /// The rate asked for; `None` where there is none, as in bursts or a log's own gaps.
    wanted_per_s: Option<f64>,
    /// How far the two may be apart, as a share.
    within: f64,
}

/// Why the arm's times say nothing: the generator was late for it or its baseline.
pub(super) fn spoils_times(setup: &Setup, series: &Series, arm: &str) -> Option<String> {
    let bound = bound(setup, series)?;
    latest(&with_baseline(setup, series, arm), bound).map(|of| of.in_words(bound, arm))
}

/// Why its rates say nothing either.
pub(super) fn spoils_rates(setup: &Setup, series: &Series, arm: &str) -> Option<String> {
    off(bound(setup, series)?, &with_baseline(setup, series, arm), arm)
}

/// Why its rates, compared with nobody's, say nothing either.
pub(super) fn spoils_own_rates(setup: &Setup, series: &Series, arm: &str) -> Option<String> {
    off(bound(setup, series)?, &[asked(setup, series, arm)], arm)
}

/// Why its cost says nothing either; `share`: the part of the rate asked for that these rounds are of.
pub(super) fn spoils_cost(setup: &Setup, series: &Series, arm: &str, share: f64) -> Option<String> {
    let bound = bound(setup, series)?;
    reason(bound, &with_baseline(setup, series, arm).map(|of| of.of_share(share)), arm)
}

/// Whether a figure is one of times, or of what a server does per unit of time.
pub(super) fn is_of_times(meter: &Meter) -> bool {
    meter.kind == Aggregation::Histogram || meter.is_speed()
}

/// Allowed lateness of the generator in these rounds; `None` in a closed loop.
pub(super) fn bound(setup: &Setup, series: &Series) -> Option<Nanos> {
    let load = series.load.and_then(|load| setup.design.loads.get(load as usize));
    match load {
        Some(load) => LoadClock::Poisson(PerSecond::new(load.rate_per_s)?).max_lateness(),
        None => setup.max_lateness_ns.map(Nanos::new),
    }
}

fn rate(setup: &Setup, series: &Series, arm: &str) -> Option<f64> {
    let load = series.load.and_then(|load| setup.design.loads.get(load as usize));
    let own = || setup.subjects.get(arm).and_then(|subject| subject.rate_per_s);
    load.map(|load| load.rate_per_s).or(setup.rate_per_s).or_else(own)
}

/// The arm, then both processes of its baseline.
fn with_baseline(setup: &Setup, series: &Series, arm: &str) -> [Asked; 3] {
    let baseline = setup.baseline_of(arm);
    [arm, baseline, &second(baseline)].map(|arm| asked(setup, series, arm))
}

fn asked(setup: &Setup, series: &Series, arm: &str) -> Asked {
    let column = series.column(arm);
    let all = SliceCounters::sum(&column.counters);
    let lateness = column.merged.lateness.quantile(0.99);
    let rate_per_s = all.requests as f64 * 1e9 / all.wall_ns.max(1) as f64;
    let by_chance = setup.load.contains("poisson") || series.load.is_some();
    let chance = if by_chance { BY_CHANCE / (all.requests.max(1) as f64).sqrt() } else { 0.0 };
    let wanted_per_s = rate(setup, series, arm);
    Asked { arm: arm.to_owned(), lateness, rate_per_s, wanted_per_s, within: RATE_WITHIN.max(chance) }
}

impl Asked {
    fn of_share(self, share: f64) -> Self {
        Self { wanted_per_s: self.wanted_per_s.map(|rate| rate * share), ..self }
    }

    fn in_words(&self, bound: Nanos, arm: &str) -> String {
        let whose = if self.arm == arm { String::new() } else { format!(" of the baseline {}", self.arm) };
        late(&whose, self.lateness, bound)
    }
}

/// That the generator was late; `whose` the requests were is empty or begins with a space.
pub(super) fn late(whose: &str, lateness: Nanos, bound: Nanos) -> String {
    format!(
        "the generator was late: 1 % of the requests{whose} were sent {lateness} or more after they were due (bound {bound})"
    )
}

/// The latest of them, if it is later than it may be.
fn latest(all: &[Asked], bound: Nanos) -> Option<&Asked> {
    all.iter().filter(|of| of.lateness > bound).max_by_key(|of| of.lateness)
}

/// Late, and an arm had another rate than was asked for.
fn off(bound: Nanos, all: &[Asked], arm: &str) -> Option<String> {
    let late = latest(all, bound)?.in_words(bound, arm);
    all.iter().find_map(|of| {
        let Some(wanted) = of.wanted_per_s else { return Some(late.clone()) };
        ((of.rate_per_s - wanted).abs() > of.within * wanted).then(|| {
            let rate = PerSecond::new(of.rate_per_s).unwrap_or(PerSecond::ONE);
            let within = Ratio::new(of.within).unwrap_or_default();
            format!("{late}, and {} got {rate}, not within {within} of {wanted}/s", of.arm)
        })
    })
}

/// The same, or late in another way than its baseline.
fn reason(bound: Nanos, all: &[Asked; 3], arm: &str) -> Option<String> {
    let late = latest(all, bound)?.in_words(bound, arm);
    if let Some(off) = off(bound, all, arm) {
        return Some(off);
    }
    let [own, a, a2] = all.each_ref().map(|of| of.lateness.get() as f64);
    let middle = f64::midpoint(a, a2);
    ((own - middle).abs() > (a - a2).abs() && arm != all[1].arm && arm != all[2].arm).then(|| {
        let middle = Nanos::new(middle as u64);
        format!(
            "{late}, and not for all alike: {arm} {}, its baseline {middle}, whose two processes differ by less",
            all[0].lateness
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Nanos = Nanos::from_millis(1);

    /// The reason for b, from what was sent to b, a and a': lateness in us, and requests a second.
    fn of_b(asked: Option<f64>, sent: [(u64, f64); 3]) -> Option<String> {
        let of = |(arm, (us, rate_per_s)): (&str, (u64, f64))| Asked {
            arm: arm.to_owned(),
            lateness: Nanos::from_micros(us),
            rate_per_s,
            wanted_per_s: asked,
            within: RATE_WITHIN,
        };
        let [b, a, a2] = sent;
        let all = [of(("b", b)), of(("a", a)), of(("a'", a2))];
        let (rates, cost) = (off(BOUND, &all, "b"), reason(BOUND, &all, "b"));
        assert!(rates.is_none() || rates == cost, "what spoils a rate spoils a cost");
        cost
    }

    #[test]
    fn who_is_in_time_has_no_reason_whatever_the_rate() {
        assert_eq!(of_b(Some(1000.0), [(900, 500.0), (100, 1000.0), (1000, 1000.0)]), None);
    }

    #[test]
    fn a_cost_stands_where_all_were_late_alike_and_had_the_rate() {
        assert_eq!(of_b(Some(1000.0), [(3000, 985.0), (2500, 1000.0), (3200, 1019.0)]), None);
        // As late as either of two that differ.
        assert_eq!(of_b(Some(1000.0), [(3000, 1000.0), (3000, 1000.0), (3400, 1000.0)]), None);
    }

    #[test]
    fn a_cost_falls_where_any_of_the_three_had_another_rate() {
        for at in 0..3 {
            for rate in [979.0, 1021.0] {
                let mut sent = [(3000, 1000.0), (3000, 1000.0), (3400, 1000.0)];
                sent[at].1 = rate;
                let why = of_b(Some(1000.0), sent).unwrap();
                let name = ["b", "a", "a'"][at];
                assert!(why.contains(&format!("and {name} got {rate}/s, not within 2 % of 1000/s")), "{why}");
            }
        }
    }

    #[test]
    fn a_cost_falls_where_the_arm_was_late_and_its_baseline_less() {
        for (own, why) in [(4200, "b 4.2 ms, its baseline 3.2 ms"), (2500, "b 2.5 ms, its baseline 3.2 ms")] {
            let said = of_b(Some(1000.0), [(own, 1000.0), (3000, 1000.0), (3400, 1000.0)]).unwrap();
            assert!(said.starts_with("the generator was late") && said.contains(why), "{said}");
        }
        // Equal processes that are equally late leave no room.
        assert!(of_b(Some(1000.0), [(3001, 1000.0), (3000, 1000.0), (3000, 1000.0)]).is_some());
        assert_eq!(of_b(Some(1000.0), [(3000, 1000.0), (3000, 1000.0), (3000, 1000.0)]), None);
    }

    #[test]
    fn without_a_rate_lateness_spoils_all() {
        let why = of_b(None, [(100, 1000.0), (3000, 1000.0), (3000, 1000.0)]).unwrap();
        assert!(why.contains("of the baseline a'") || why.contains("of the baseline a "), "{why}");
        assert!(why.ends_with("(bound 1 ms)"), "{why}");
    }
}
