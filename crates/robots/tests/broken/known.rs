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
/// The machine of the test may be busy with other things for a while: a wrong answer stays wrong.
const ATTEMPTS: usize = 4;

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

/// Tries until a run is right, and shows all that were not.
fn attempt(run: impl Fn() -> Result<(), String>) {
    let mut wrong = Vec::new();
    for _ in 0..ATTEMPTS {
        match run() {
            Ok(()) => return,
            Err(why) => wrong.push(why),
        }
    }
    panic!("{wrong:#?}");
}

#[test]
fn polymix_1_without_a_proxy_takes_as_long_as_its_origin_thinks() {
    assert!((THINK_MEAN_MS - 30.127).abs() < 0.001, "3.01 s in hundredths");
    attempt(|| {
        let (overhead, seen) = (mean_ms(&ask("", false)), ask(THINK, false));
        let wrong: BTreeMap<_, _> =
            seen.wrong().into_iter().filter(|(name, _)| name != "false-miss").collect();
        assert_eq!(wrong, BTreeMap::new());
        let (mean, expected) = (mean_ms(&seen), THINK_MEAN_MS + overhead);
        let allowed = three_errors_ms(&seen).max(0.01 * expected);
        let right = (mean - expected).abs() <= allowed;
        right.then_some(()).ok_or(format!("{mean} ms, {expected} ms +- {allowed} expected"))
    });
}

#[test]
fn an_ideal_cache_takes_as_long_as_the_origin_thinks_of_its_misses() {
    attempt(|| {
        let (overhead, seen) = (mean_ms(&ask("", true)), ask(THINK, true));
        let ideal =
            RequestStream::new(seen.stream.iter().copied()).known_when_fetched().document_ratio().unwrap();
        let ratio = seen.sums.document_hit_ratio().unwrap();
        assert!(seen.sums.failed == 0 && ratio > 0.4, "{:?} {ratio}", seen.wrong());
        let (mean, expected) = (mean_ms(&seen), (1.0 - ratio) * THINK_MEAN_MS + overhead);
        let allowed = three_errors_ms(&seen);
        let right = (mean - expected).abs() <= allowed && (ratio - ideal).abs() <= 0.005;
        let why = || format!("{mean} ms, {expected} ms +- {allowed}; {ratio} hits, {ideal} expected");
        right.then_some(()).ok_or_else(why)
    });
}
