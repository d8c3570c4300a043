//! Main effects and interactions of the primary figure.
//!
//! Every round measures every cell, so each contrast has a value per round, and its interval is
//! that of any effect. The level is shared among all rows (Bonferroni), so that they hold together.

use super::compare::{change, percent, points, range};
use super::decide::level;
use super::series::{Series, primary};
use bakeoff_meter::Meter;
use bakeoff_results::{
    AmountEstimate, FactorsResult, FractionEstimate, Interaction, MainEffect, Setup, second,
};
use bakeoff_stats::{
    Amounts, Contrast, DesignLevel, Effect, FactorialDesign, Level, Scale, Term, contrasts, effect_of,
};

/// Rounding error allowed in a contrast that is zero.
const SAME_SIZE: f64 = 1e-9;

/// The cells in the order of the set-up, without the second processes of baselines.
pub(super) struct Cells<'a> {
    pub(super) setup: &'a Setup,
    pub(super) design: FactorialDesign,
    pub(super) names: Vec<&'a str>,
}

impl<'a> Cells<'a> {
    /// `None` where the plan has no factors.
    pub(super) fn of(setup: &'a Setup) -> Option<Self> {
        let levels: Vec<usize> = setup.factors.iter().map(|factor| factor.levels.len()).collect();
        let names: Vec<&str> = setup.baselines().chain(setup.judged()).collect();
        let cells = names
            .iter()
            .map(|name| setup.subjects.get(*name).map(|s| s.levels.clone()))
            .collect::<Option<_>>()?;
        Some(Self { setup, design: FactorialDesign::listed(levels, cells).ok()?, names })
    }

    /// The logarithm of each cell's requests a slice if the meter grows with it, else zeros: a contrast that these show
    /// is not one of the figures.
    fn sizes(&self, meter: &Meter) -> Vec<f64> {
        let of = |name: &&str| match meter.is_of_whole_slice() {
            true => (self.setup.workload.slice_of(name).max(1) as f64).ln(),
            false => 0.0,
        };
        self.names.iter().map(of).collect()
    }

    pub(super) fn name(&self, at: DesignLevel) -> String {
        let factor = &self.setup.factors[at.factor];
        format!("{} = {}", factor.name, factor.levels[at.level])
    }

    fn pair(&self, at: DesignLevel) -> (String, String) {
        let factor = &self.setup.factors[at.factor];
        (factor.name.clone(), factor.levels[at.level].clone())
    }
}

/// The figures of a baseline are the geometric mean of its two processes.
pub(super) fn figures(series: &Series, setup: &Setup, arm: &str, meter: &Meter) -> Option<Vec<f64>> {
    let own = series.figures(arm, meter)?;
    if !setup.is_baseline(arm) {
        return Some(own);
    }
    let other = series.figures(&second(arm), meter)?;
    Some(own.iter().zip(&other).map(|(a, b)| (a * b).sqrt()).collect())
}

pub(super) fn factors(setup: &Setup, series: &Series) -> Option<FactorsResult> {
    let cells = Cells::of(setup)?;
    let meter = primary(setup);
    let raw: Option<Vec<Vec<f64>>> =
        cells.names.iter().map(|name| figures(series, setup, name, meter)).collect();
    let raw = raw?;
    let logs: Vec<Vec<f64>> = raw.iter().map(|cell| cell.iter().map(|x| x.ln()).collect()).collect();
    let raw: Vec<&[f64]> = raw.iter().map(Vec::as_slice).collect();
    let logs: Vec<&[f64]> = logs.iter().map(Vec::as_slice).collect();
    let found = contrasts(&cells.design);
    let alpha = (1.0 - level(setup).get()) / found.estimable.len().max(1) as f64;
    let level = Level::new(1.0 - alpha).unwrap_or(Level::NULL);
    let sizes = cells.sizes(meter);
    let sizes: Vec<&[f64]> = sizes.iter().map(std::slice::from_ref).collect();
    let one_size = sizes.windows(2).all(|two| two[0] == two[1]);
    let mut result = FactorsResult { level: level.get(), ..FactorsResult::default() };
    for contrast in &found.estimable {
        if contrast.per_round(&sizes).iter().any(|change| change.abs() > SAME_SIZE) {
            result.missing.push(unequal(&cells, contrast.term, meter));
            continue;
        }
        let effect = effect_of(&contrast.per_round(&logs), series.starts(), level, Scale::LogRatio);
        match contrast.term {
            Term::Main(at) => {
                let amount = effect_of(&contrast.per_round(&raw), series.starts(), level, Scale::Difference);
                let effects = effect.as_ref().zip(amount.as_ref());
                result.main.push(main_effect(&cells, contrast, at, effects, meter));
            }
            Term::Interaction { first, second } => {
                let square = cells.design.square(first, second).filter(|_| one_size);
                let together = square.and_then(|square| square.together(&logs, level));
                let mut row = Interaction {
                    first: cells.pair(first),
                    second: cells.pair(second),
                    estimate: effect.as_ref().map(estimate),
                    expected: None,
                    measured: None,
                    sentence: String::new(),
                };
                row.sentence = interaction_in_words(&cells, (first, second), effect.as_ref());
                if let Some(t) = together {
                    (row.expected, row.measured) = (Some(t.expected.effect), Some(t.measured.effect));
                    row.sentence += &format!(
                        "; with everything else off {} together, {} expected of independent costs: {} points apart (CI {})",
                        percent(t.measured.effect),
                        percent(t.expected.effect),
                        points(t.difference.effect),
                        range(&t.difference.interval).replace(" %", ""),
                    );
                }
                result.interactions.push(row);
            }
        }
    }
    result.missing.extend(found.not_estimable.iter().map(|term| term.sentence(|at| cells.name(at))));
    Some(result)
}

/// Reason why a contrast of slices of unequal size is left out.
fn unequal(cells: &Cells<'_>, term: Term, meter: &Meter) -> String {
    let what = match term {
        Term::Main(at) => format!("the effect of {}", cells.name(at)),
        Term::Interaction { first, second } => {
            format!("the interaction of {} and {}", cells.name(first), cells.name(second))
        }
    };
    format!("{what} on {} cannot be told: the slices have not the same number of requests", meter.noun)
}

fn main_effect(
    cells: &Cells<'_>,
    contrast: &Contrast,
    at: DesignLevel,
    effects: Option<(&Effect, &Effect)>,
    meter: &Meter,
) -> MainEffect {
    let (factor, level) = cells.pair(at);
    let reference = cells.setup.factors[at.factor].levels[0].clone();
    let over = match contrast.settings {
        1 => String::new(),
        settings => format!("; mean of {settings} settings of the other factors"),
    };
    let unit = meter.unit.as_str();
    let sentence = effects.map_or_else(
        || format!("{factor} = {level}: too few rounds"),
        |(share, amount)| {
            let (words, amounts) = (change(share), Amounts::of(amount, 0.0, unit));
            format!(
                "{factor} = {level} against {reference}: {}{} {} ({}), {} ({}){over}",
                amounts.signed(amount.effect),
                amounts.unit(),
                meter.noun,
                amounts.range(amount.interval.low, amount.interval.high),
                words.effect,
                words.interval
            )
        },
    );
    let (estimate, amount) = (effects.map(|(share, _)| estimate(share)), effects.map(|(_, amount)| amount));
    let amount = amount.map(|e| AmountEstimate {
        amount: e.effect,
        low: e.interval.low,
        high: e.interval.high,
        unit: unit.to_owned(),
    });
    MainEffect { factor, level, reference, estimate, amount, sentence }
}

fn interaction_in_words(
    cells: &Cells<'_>,
    at: (DesignLevel, DesignLevel),
    effect: Option<&Effect>,
) -> String {
    let both = format!("{} and {}", cells.name(at.0), cells.name(at.1));
    let Some(e) = effect else { return format!("{both}: too few rounds") };
    let range = range(&e.interval);
    if e.interval.low > 0.0 {
        format!(
            "{both}: together they cost {} more than the product of the two (CI {range})",
            percent(e.effect).trim_start_matches('+')
        )
    } else if e.interval.high < 0.0 {
        format!(
            "{both}: together they cost {} less than the product of the two (CI {range})",
            percent(-e.effect).trim_start_matches('+')
        )
    } else {
        format!("{both}: no interaction is seen (CI {range})")
    }
}

fn estimate(e: &Effect) -> FractionEstimate {
    FractionEstimate { effect: e.effect, low: e.interval.low, high: e.interval.high }
}
