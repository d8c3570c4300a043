//! Runs whose answer is known by arithmetic: PolyMix-1 a hundred times quicker, without a proxy and with an ideal one.

use crate::breakage::Breakage;
use crate::proxy::Proxy;
use crate::run::{Seen, address, origin, robots};
use bakeoff_robots::ideal::RequestStream;
use std::collections::BTreeMap;

/// PolyMix-1's objects and robots, with its think time in hundredths.
const WORLD: &str = r#"
    [[content]]
    name = "any"
    size = "exp:13KB"
    cachable = "80%"
    life = { length = "const:2year", expires = "nmt+0s" }
"#;
const THINK: &str = "[origin]\nthink = 'norm:30ms,15ms'";
/// The same, cut off at 0, not taken from the code under test: 30 Phi(2) + 15 phi(2).
const THINK_MEAN_MS: f64 = 30.0 * 0.977_249_868 + 15.0 * 0.053_990_967;
const PLAN: &str = "[robots]
    rate = '400/s'
    recurrence = '68.75%'
    requests_per_connection = 'const:1'
    [[phase]]
    name = 'all'
    goal = { transactions = 1200 }";
/// One of the two kinds of path.
fn ask(think: &str, through_a_proxy: bool) -> Seen {
    let (origin, world) = origin(&format!("{WORLD}\n{think}"));
    let direct = address(&origin);
    let proxy = through_a_proxy.then(|| Proxy::start(direct, Breakage::Nothing));
    robots(PLAN, &world, proxy.map_or(direct, |proxy| proxy.address))
}

fn mean_ms(seen: &Seen) -> f64 {
    seen.sums.replies.traffic.response_ns.mean().unwrap() / 1e6
}

/// Three standard errors of the mean.
fn three_errors_ms(seen: &Seen) -> f64 {
    let response = seen.sums.replies.traffic.response_ns;
    3.0 * response.deviation().unwrap() / (response.count as f64).sqrt() / 1e6
}

/// A run whose mean response time is known, in ms.
struct Known {
    mean: f64,
    /// What the origin's think time alone makes it.
    thought: f64,
    allowed: f64,
}

impl Known {
    fn of(seen: &Seen, misses: f64) -> Self {
        Self { mean: mean_ms(seen), thought: misses * THINK_MEAN_MS, allowed: three_errors_ms(seen) }
    }

    /// A busy machine adds to a response time, and takes nothing away.
    fn is_not_shorter(&self) {
        assert!(self.mean >= self.thought - self.allowed, "{} ms of {}", self.mean, self.thought);
    }

    /// With what a run without think time takes: on a quiet machine that is all.
    fn is_all(&self, overhead: f64) {
        let expected = self.thought + overhead;
        let allowed = self.allowed.max(0.01 * expected);
        assert!((self.mean - expected).abs() <= allowed, "{} ms of {expected} +- {allowed}", self.mean);
    }
}

fn without_a_proxy() -> Known {
    let seen = ask(THINK, false);
    let wrong: BTreeMap<_, _> = seen.wrong().into_iter().filter(|(name, _)| name != "false-miss").collect();
    assert_eq!(wrong, BTreeMap::new());
    Known::of(&seen, 1.0)
}

fn with_an_ideal_cache() -> Known {
    let seen = ask(THINK, true);
    let ideal =
        RequestStream::new(seen.stream.iter().copied()).known_when_fetched().document_ratio().unwrap();
    let ratio = seen.sums.document_hit_ratio().unwrap();
    assert!(seen.sums.failed == 0 && ratio > 0.0, "{:?} {ratio}", seen.wrong());
    assert!(ratio <= ideal + 0.005, "{ratio} hits, {ideal} can be had");
    Known::of(&seen, 1.0 - ratio)
}

#[test]
fn polymix_1_takes_no_less_than_its_origin_thinks() {
    assert!((THINK_MEAN_MS - 30.127).abs() < 0.001, "3.01 s in hundredths");
    without_a_proxy().is_not_shorter();
    with_an_ideal_cache().is_not_shorter();
}

#[test]
#[ignore = "times on the real clock: make calibrate"]
fn polymix_1_takes_as_long_as_its_origin_thinks() {
    without_a_proxy().is_all(mean_ms(&ask("", false)));
    with_an_ideal_cache().is_all(mean_ms(&ask("", true)));
}
