//! Price of one unit of a numeric factor.

use super::compare::percent;
use super::decide::level;
use super::factors::{Cells, figures};
use super::median::median;
use super::series::{Series, primary};
use bakeoff_meter::catalogue::{PATH_CPU, SUBJECT_CPU};
use bakeoff_meter::{Meter, catalogue};
use bakeoff_results::{PriceResult, Setup};
use bakeoff_stats::{BENT, DesignLevel, Effect, Interval, LineFit, Price, price};

/// A line for each numeric factor, each setting of the others, and each meter of cost.
pub(super) fn prices(setup: &Setup, series: &Series) -> Vec<PriceResult> {
    let Some(cells) = Cells::of(setup) else { return Vec::new() };
    let mut meters: Vec<&Meter> = vec![primary(setup)];
    meters.extend([SUBJECT_CPU, PATH_CPU].iter().filter_map(|name| catalogue::find(name)));
    meters.dedup_by_key(|meter| meter.name);
    let mut prices = Vec::new();
    for (index, factor) in setup.factors.iter().enumerate() {
        let Some(numbers) = &factor.numbers else { continue };
        for setting in settings(&cells, index) {
            for meter in &meters {
                prices.extend(priced(&cells, series, index, numbers, &setting, meter));
            }
        }
    }
    prices
}

/// The settings of the other factors, with this one at 0.
fn settings(cells: &Cells<'_>, factor: usize) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    for cell in cells.design.cells() {
        let mut setting = cell.clone();
        setting[factor] = 0;
        if !found.contains(&setting) {
            found.push(setting);
        }
    }
    found
}

fn priced(
    cells: &Cells<'_>,
    series: &Series,
    factor: usize,
    numbers: &[f64],
    setting: &[usize],
    meter: &Meter,
) -> Option<PriceResult> {
    let (mut x, mut y, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for (level, number) in numbers.iter().enumerate() {
        let mut at = setting.to_vec();
        at[factor] = level;
        if let Some(cell) = cells.design.cell(&at) {
            x.push(*number);
            sizes.push(cells.setup.workload.slice_of(cells.names[cell]));
            y.push(figures(series, cells.setup, cells.names[cell], meter)?);
        }
    }
    if meter.is_of_whole_slice() && sizes.windows(2).any(|two| two[0] != two[1]) {
        return None;
    }
    let rows: Vec<&[f64]> = y.iter().map(Vec::as_slice).collect();
    let others: Vec<String> = setting
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != factor && cells.setup.factors.len() > 1)
        .map(|(other, level)| cells.name(DesignLevel { factor: other, level: *level }))
        .collect();
    let name = cells.setup.factors[factor].name.clone();
    let unit = meter.unit.as_str();
    // A factor that was listed at one level only has no price, and needs none.
    let found = price(&x, &rows, level(cells.setup)).ok()?;
    let points = x.iter().zip(&y).filter_map(|(x, y)| Some((*x, median(y.clone())?))).collect();
    let ends = |e: &Effect| (e.interval.low, e.interval.high);
    Some(PriceResult {
        setting: others.join(", "),
        meter: meter.name.to_owned(),
        unit: unit.to_owned(),
        slope: found.slope.effect,
        slope_share: share_of_intercept(&found),
        slope_interval: ends(&found.slope),
        intercept: found.intercept.effect,
        intercept_interval: ends(&found.intercept),
        points,
        shape: shape_word(&found.shape).to_owned(),
        sentence: in_words(&name, unit, meter, &found),
        factor: name,
    })
}

/// The price as a share of the figure at 0, if that is known to be above 0.
fn share_of_intercept(found: &Price) -> Option<f64> {
    (found.intercept.interval.low > 0.0).then(|| found.slope.effect / found.intercept.effect)
}

const fn shape_word(shape: &LineFit) -> &'static str {
    match shape {
        LineFit::Line { .. } => "line",
        LineFit::Bent { .. } => "bent",
        LineFit::Unchecked => "unchecked",
    }
}

fn in_words(factor: &str, unit: &str, meter: &Meter, found: &Price) -> String {
    let Interval { low, high } = found.slope.interval;
    let share = share_of_intercept(found).map(|share| format!(", {} of the figure at 0", percent(share)));
    let price = format!(
        "one more of {factor} costs {} {unit} {} (CI {}..{}, {} rounds){}",
        number(found.slope.effect),
        meter.noun,
        number(low),
        number(high),
        found.rounds,
        share.unwrap_or_default()
    );
    match &found.shape {
        LineFit::Line { within } => format!(
            "{price}; a line: no level is off it by more than {}",
            percent(*within).trim_start_matches('+')
        ),
        LineFit::Bent { x, off, .. } => format!(
            "{price}; this is no line: at {x} the figure lies {} off it, more than {}, and one price misleads",
            percent(*off),
            percent(BENT).trim_start_matches('+')
        ),
        LineFit::Unchecked => {
            format!("{price}; two levels always make a line: a third would show whether it is one")
        }
    }
}

/// Three significant digits.
fn number(x: f64) -> String {
    let decimals = if x == 0.0 { 0 } else { (2 - x.abs().log10().floor() as i32).clamp(0, 6) as usize };
    format!("{x:.decimals$}")
}
