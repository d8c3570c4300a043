//! Rows of a price list, read from one run.

use super::{Estimate, PriceRow, day, figures, words};
use crate::reading::Reading;
use bakeoff_results::{Comparison, PriceResult, Results};
use bakeoff_stats::{Effect, Interval, Outlook, Verdict, outlook};

/// A row for each arm that is compared, then one for the unit of each factor that has numbers.
pub(super) fn rows(reading: &Reading<'_>) -> Vec<PriceRow> {
    let arms = reading.compared().filter_map(|arm| reading.primary(arm));
    let meter = reading.primary_meter();
    let units = reading.bundle.results.prices.iter().filter(|price| price.meter == meter);
    arms.map(|found| of_arm(reading, found)).chain(units.map(|price| of_unit(reading, price))).collect()
}

/// What has no row or none that may be used, and why.
pub(super) fn notes(reading: &Reading<'_>) -> Vec<String> {
    let results = &reading.bundle.results;
    let day = day(results);
    let left_out = results.warnings.iter().filter(|warning| warning.label == "left-out");
    let invalid = reading.arms().filter_map(|arm| Some((arm, invalid(reading, arm)?)));
    let partial = words::is_partial(results).then(|| words::stopped_by(results).to_owned());
    let said = left_out.map(|warning| warning.sentence.clone());
    said.chain(invalid.map(|(arm, why)| format!("{arm} is invalid: {why}")))
        .chain(partial)
        .map(|said| format!("{day}: {said}"))
        .collect()
}

/// Why an arm has no price. Other figures than that of the list are for the run's own report.
fn invalid<'r>(reading: &'r Reading<'_>, arm: &str) -> Option<&'r str> {
    let of_row = || reading.primary(arm).filter(|found| found.verdict == Verdict::Invalid);
    reading.invalid(arm).or_else(|| Some(of_row()?.sentence.trim_start_matches("invalid: ")))
}

impl PriceRow {
    /// What it is about, whatever the day.
    pub(super) fn place(&self) -> (String, String) {
        (self.layer.clone(), self.figure.clone())
    }
}

fn of_arm(reading: &Reading<'_>, found: &Comparison) -> PriceRow {
    let results = &reading.bundle.results;
    let is_used = !matches!(found.verdict, Verdict::Invalid | Verdict::NoVerdict);
    let amount = Estimate::of(found.amount, found.amount_low, found.amount_high).filter(|_| is_used);
    let share = Estimate::of(found.effect, found.low, found.high).filter(|_| is_used);
    let figure = reading.noun(&found.meter).to_owned();
    let own = match found.rounds {
        0 => figure.clone(),
        _ => format!("{} {figure}", figures::value(&found.unit, found.baseline_value)),
    };
    PriceRow {
        layer: layer(reading, &found.arm),
        over: format!("{}: {own}", says(reading, &found.baseline)),
        day: day(results),
        figure,
        unit: found.unit.clone(),
        amount,
        share,
        at: found.at.clone(),
        verdict: found.verdict.as_str().to_owned(),
        needs_s: (found.verdict == Verdict::NotResolved)
            .then(|| needs(results, found, amount?, share?))
            .flatten(),
    }
}

fn of_unit(reading: &Reading<'_>, price: &PriceResult) -> PriceRow {
    let (low, high) = price.slope_interval;
    let (factor, figure) = (&price.factor, reading.noun(&price.meter));
    PriceRow {
        layer: match price.setting.as_str() {
            "" => format!("one more of {factor}: {figure}"),
            setting => format!("{setting}: one more of {factor}: {figure}"),
        },
        over: String::new(),
        day: day(&reading.bundle.results),
        figure: figure.to_owned(),
        unit: price.unit.clone(),
        amount: Estimate::of(Some(price.slope), Some(low), Some(high)),
        share: None,
        at: String::new(),
        verdict: match price.shape.as_str() {
            "bent" => "no line: one price misleads".to_owned(),
            "unchecked" => "two levels only".to_owned(),
            _ => "a line".to_owned(),
        },
        needs_s: None,
    }
}

/// What the plan says of an arm, behind the levels that it shares with its baseline; else its name, which has both.
fn layer(reading: &Reading<'_>, arm: &str) -> String {
    let setup = &reading.bundle.setup;
    let said = says(reading, arm);
    let stratum = setup.strata.iter().find(|stratum| stratum.arms.iter().any(|other| other == arm));
    match stratum.filter(|stratum| said != arm && !stratum.name.is_empty()) {
        Some(stratum) => format!("{}: {said}", stratum.name),
        None => said,
    }
}

/// What the plan says of an arm, else its name.
fn says(reading: &Reading<'_>, arm: &str) -> String {
    let subject = reading.bundle.setup.subjects.get(arm);
    subject.and_then(|subject| subject.says.clone()).unwrap_or_else(|| arm.to_owned())
}

/// Seconds of further rounds that would settle the margin; where that is settled, the side on which the amount lies.
fn needs(
    results: &Results,
    found: &Comparison,
    amount: Estimate,
    share: Estimate,
) -> Option<(f64, Option<f64>)> {
    let effect = |of: Estimate| Effect {
        effect: of.value,
        interval: Interval { low: of.low, high: of.high },
        n: found.rounds as usize,
        paired_sd: 0.0,
        robust_sd: 0.0,
        hodges_lehmann: of.value,
        hl_interval: Interval { low: of.low, high: of.high },
        heavy_tails: false,
        level: found.level,
    };
    let (judged, margin) = match results.margin_amount {
        Some(margin) => (effect(amount), margin),
        None => (effect(share), results.margin),
    };
    let of_amount = effect(amount);
    let is_side_open = judged.interval.side().is_ne() && of_amount.interval.side().is_eq();
    let Outlook { least, most } = match is_side_open {
        true => outlook(&of_amount, of_amount.effect.abs())?,
        false => outlook(&judged, margin)?,
    };
    let each = results.duration_ns as f64 / 1e9 / f64::from(results.rounds.max(1));
    Some((f64::from(least) * each, most.map(|most| f64::from(most) * each)))
}
