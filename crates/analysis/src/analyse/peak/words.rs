//! Outcome of a peak search in sentences.

use bakeoff_results::{FractionEstimate, PeakSetup};
use bakeoff_stats::knee::{
    Confirmation, Criterion, LEVEL, SearchFinding, SearchLimit, SearchOutcome, VoidReason,
};
use bakeoff_units::{Nanos, PerSecond, Ratio};

/// The finding, its bottleneck, and how far it can be believed.
pub(super) fn sentence(setup: &PeakSetup, outcome: &SearchOutcome) -> String {
    let mut said = finding(setup, &outcome.finding);
    if let Some(criterion) = outcome.binding {
        said += &format!("; above it {}", breaks(setup, criterion));
    }
    if outcome.bypass && outcome.binding != Some(Criterion::HitRatio) {
        said += "; above it it also goes on answering past its cache";
    }
    said += &confirmation(setup, outcome);
    if !outcome.precise && matches!(outcome.finding, SearchFinding::Knee { .. }) {
        let precision = Ratio::new(setup.precision).unwrap_or_default();
        said += &format!("; the search ended before the interval was narrower than {precision}");
    }
    said
}

fn finding(setup: &PeakSetup, finding: &SearchFinding) -> String {
    match finding {
        SearchFinding::Knee { at, low, high } => {
            format!("sustains {at} ({} % interval {}..{high})", LEVEL * 100.0, plain(*low))
        }
        SearchFinding::AtLeast { rate, limit } => format!("sustains at least {rate}: {}", why(*limit)),
        SearchFinding::NoRatePasses { lowest, by } => {
            let broken: Vec<String> = by.iter().map(|criterion| breaks(setup, *criterion)).collect();
            format!("sustains no rate: already at {lowest} {}", broken.join(", and "))
        }
        SearchFinding::NotMeasured { reason: None } => "nothing was measured".to_owned(),
        SearchFinding::NotMeasured { reason: Some(reason) } => {
            format!("nothing could be measured: {}", void(*reason))
        }
    }
}

/// A rate without its unit, where the unit follows.
fn plain(rate: PerSecond) -> String {
    rate.to_string().trim_end_matches("/s").to_owned()
}

fn why(limit: SearchLimit) -> &'static str {
    match limit {
        SearchLimit::Generator => {
            "beyond it the load generator is too late; give it more cores, or put it on another machine"
        }
        SearchLimit::Asked => "the plan lets no higher rate be tried",
        SearchLimit::Range => "no higher rate was tried",
        SearchLimit::Ended => "the search ended before a higher rate failed",
    }
}

fn void(reason: VoidReason) -> &'static str {
    match reason {
        VoidReason::GeneratorLate => "the load generator was late in every trial",
        VoidReason::MachineBusy => {
            "the machine is too busy: others had the load generator's core; stop other work (`bakeoff doctor` shows \
             what there is) and search again"
        }
        VoidReason::GeneratorFull => "the load generator's core was full in every trial",
        VoidReason::NothingDue => "no request came due",
    }
}

fn breaks(setup: &PeakSetup, criterion: Criterion) -> String {
    match criterion {
        Criterion::Replies => "requests stay without a good reply".to_owned(),
        Criterion::Errors => "requests fail".to_owned(),
        Criterion::Latency => {
            format!("p{} of the response time is over {}", setup.quantile * 100.0, Nanos::new(setup.slo_ns))
        }
        Criterion::HitRatio => "hits get fewer: it answers past its cache".to_owned(),
        Criterion::Queue => "waiting requests pile up".to_owned(),
    }
}

fn confirmation(setup: &PeakSetup, outcome: &SearchOutcome) -> String {
    let time = Nanos::new(setup.confirm_ns);
    match &outcome.confirmation {
        Confirmation::Passed => format!("; 95 % of it held for {time}"),
        Confirmation::Failed { by } => {
            let words: Vec<&str> = by.iter().map(|criterion| criterion.as_str()).collect();
            format!("; not confirmed: 95 % of it did not hold for {time} ({})", words.join(", "))
        }
        Confirmation::Void(VoidReason::MachineBusy) => {
            "; not confirmed: others had the load generator's core".to_owned()
        }
        Confirmation::Void(_) => "; not confirmed: the load generator was late".to_owned(),
        Confirmation::NotTried => match outcome.finding {
            SearchFinding::Knee { .. } | SearchFinding::AtLeast { .. } => "; not confirmed".to_owned(),
            _ => String::new(),
        },
    }
}

/// An arm's peak against the baseline's.
pub(super) fn ratio(estimate: &FractionEstimate, level: f64, baseline: &str) -> String {
    let interval = format!(
        "{:.0} % interval {:+.1}..{:+.1} %",
        level * 100.0,
        estimate.low * 100.0,
        estimate.high * 100.0
    );
    let size = estimate.effect.abs() * 100.0;
    match (estimate.low > 0.0, estimate.high < 0.0) {
        (true, _) => format!("sustains {size:.1} % more than {baseline} ({interval})"),
        (_, true) => format!("sustains {size:.1} % less than {baseline} ({interval})"),
        _ => format!("cannot be told from {baseline} ({interval})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_second: f64) -> PerSecond {
        PerSecond::new(per_second).unwrap()
    }

    fn outcome(finding: SearchFinding) -> SearchOutcome {
        SearchOutcome {
            finding,
            precise: true,
            passed: None,
            confirmation: Confirmation::NotTried,
            binding: None,
            bypass: false,
            trials: 20,
            voids: 0,
        }
    }

    fn setup() -> PeakSetup {
        PeakSetup {
            quantile: 0.99,
            slo_ns: 50_000_000,
            precision: 0.03,
            confirm_ns: 60_000_000_000,
            ..PeakSetup::default()
        }
    }

    #[test]
    fn every_finding_has_its_sentence() {
        let knee = SearchFinding::Knee { at: rate(5210.0), low: rate(5150.0), high: rate(5280.0) };
        let confirmed = SearchOutcome {
            binding: Some(Criterion::Latency),
            confirmation: Confirmation::Passed,
            ..outcome(knee)
        };
        let rough = SearchOutcome {
            precise: false,
            confirmation: Confirmation::Failed { by: vec![Criterion::Queue] },
            ..confirmed.clone()
        };
        let least = SearchFinding::AtLeast { rate: rate(8000.0), limit: SearchLimit::Asked };
        let none = SearchFinding::NoRatePasses {
            lowest: rate(120.0),
            by: vec![Criterion::Errors, Criterion::Queue],
        };
        let nothing = SearchFinding::NotMeasured { reason: Some(VoidReason::GeneratorLate) };
        let busy = SearchFinding::NotMeasured { reason: Some(VoidReason::MachineBusy) };
        for (outcome, said) in [
            (
                confirmed,
                "sustains 5210/s (90 % interval 5150..5280/s); above it p99 of the response time is over 50 ms; 95 % of \
                 it held for 60 s",
            ),
            (
                rough,
                "sustains 5210/s (90 % interval 5150..5280/s); above it p99 of the response time is over 50 ms; not \
                 confirmed: 95 % of it did not hold for 60 s (queue); the search ended before the interval was \
                 narrower than 3 %",
            ),
            (
                outcome(least),
                "sustains at least 8000/s: the plan lets no higher rate be tried; not confirmed",
            ),
            (outcome(none), "sustains no rate: already at 120/s requests fail, and waiting requests pile up"),
            (outcome(nothing), "nothing could be measured: the load generator was late in every trial"),
            (
                outcome(busy),
                "nothing could be measured: the machine is too busy: others had the load generator's core; stop other \
                 work (`bakeoff doctor` shows what there is) and search again",
            ),
        ] {
            assert_eq!(sentence(&setup(), &outcome), said);
        }
    }

    #[test]
    fn a_ratio_is_claimed_only_clear_of_none() {
        let told = |effect, low, high| ratio(&FractionEstimate { effect, low, high }, 0.9, "plain");
        assert_eq!(
            told(-0.31, -0.35, -0.27),
            "sustains 31.0 % less than plain (90 % interval -35.0..-27.0 %)"
        );
        assert_eq!(told(0.12, 0.1, 0.14), "sustains 12.0 % more than plain (90 % interval +10.0..+14.0 %)");
        assert_eq!(told(0.01, -0.01, 0.03), "cannot be told from plain (90 % interval -1.0..+3.0 %)");
    }
}
