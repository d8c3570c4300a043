//! First use against steady use of the same thing, within the same rounds.

use super::compare::percent;
use super::decide::level;
use super::factors::figures;
use super::series::{Series, primary};
use bakeoff_meter::Unit;
use bakeoff_results::{FirstUseResult, Setup};
use bakeoff_stats::{Crossing, Effect, SessionCosts, Which, break_even, first_use};
use bakeoff_units::Nanos;

/// A pair of arms with their figures.
struct Pair<'a> {
    first: &'a str,
    steady: &'a str,
    first_figures: Vec<f64>,
    steady_figures: Vec<f64>,
}

impl Pair<'_> {
    fn costs(&self) -> SessionCosts<'_> {
        SessionCosts { first: &self.first_figures, steady: &self.steady_figures }
    }
}

pub(super) fn results(setup: &Setup, series: &Series) -> Vec<FirstUseResult> {
    let meter = primary(setup);
    let pairs: Vec<Pair<'_>> = setup
        .first_uses
        .iter()
        .filter_map(|(first, steady)| {
            let figures = |arm: &str| figures(series, setup, arm, meter);
            let (first_figures, steady_figures) = (figures(first)?, figures(steady)?);
            Some(Pair { first, steady, first_figures, steady_figures })
        })
        .collect();
    let reference =
        |pair: &Pair<'_>| pairs.iter().find(|other| other.steady == setup.baseline_of(pair.steady));
    pairs.iter().filter_map(|pair| result(setup, pair, reference(pair))).collect()
}

fn result(setup: &Setup, pair: &Pair<'_>, reference: Option<&Pair<'_>>) -> Option<FirstUseResult> {
    let meter = primary(setup);
    let found = first_use(&pair.first_figures, &pair.steady_figures, level(setup))?;
    let requests = found.requests_until(setup.margin);
    let mut sentence = format!(
        "a first use ({}) takes {} as much {} as a steady one ({}): {} more (CI {}..{})",
        pair.first,
        times(found.ratio.effect),
        meter.noun,
        pair.steady,
        value(meter.unit, found.extra.effect),
        value(meter.unit, found.extra.interval.low),
        value(meter.unit, found.extra.interval.high),
    );
    if let Some(requests) = requests.as_ref().filter(|requests| requests.at > 0.0) {
        sentence += &format!(
            "; it is less than {} of a session of {:.0} requests or more (CI {:.0}..{:.0})",
            percent(setup.margin).trim_start_matches('+'),
            requests.at.ceil(),
            requests.interval.low.ceil(),
            requests.interval.high.ceil()
        );
    }
    if let Some(other) = reference.filter(|other| other.first != pair.first) {
        sentence += &against(setup, pair, other);
    }
    let ends = |e: &Effect| (e.interval.low, e.interval.high);
    Some(FirstUseResult {
        first: pair.first.to_owned(),
        steady: pair.steady.to_owned(),
        meter: meter.name.to_owned(),
        unit: meter.unit.as_str().to_owned(),
        extra: found.extra.effect,
        extra_interval: ends(&found.extra),
        requests: requests.map(|requests| requests.at),
        sentence,
    })
}

/// Sentence for two subjects whose sessions cost the same.
fn against(setup: &Setup, pair: &Pair<'_>, other: &Pair<'_>) -> String {
    let Some(found) = break_even(pair.costs(), other.costs(), level(setup)) else { return String::new() };
    let name = |which: Which| match which {
        Which::A => pair.steady,
        Which::B => other.steady,
    };
    match found.crossing {
        Crossing::Always { cheaper } => {
            format!("; sessions of any length are cheaper with {}", name(cheaper))
        }
        Crossing::At { requests, longer } => format!(
            "; sessions of more than {:.0} requests are cheaper with {} (CI {:.0}..{:.0})",
            requests.at.floor(),
            name(longer),
            requests.interval.low.floor(),
            requests.interval.high.floor()
        ),
        Crossing::NotResolved => {
            format!(
                "; which sessions are cheaper with {} than with {} is not resolved",
                pair.steady, other.steady
            )
        }
    }
}

/// 1.5 more is 2.5 times.
fn times(effect: f64) -> String {
    format!("{:.2} x", effect + 1.0)
}

fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Nanoseconds => {
            let size = Nanos::new(value.abs() as u64);
            if value < 0.0 { format!("-{size}") } else { size.to_string() }
        }
        other => format!("{value:.3} {}", other.as_str()),
    }
}
