//! Contrasts: cost of each factor and interactions of factors, as weighted sums of cells.
//!
//! Owns the cells of each comparison and their weights; the interval is that of [`crate::effect()`] on the values per
//! round. Every round measures every cell, so a contrast is paired like a plain comparison, whatever the number of
//! factors.
//!
//! On the log scale, as costs multiply when they are independent. With y(l, m) the logarithm of a
//! figure at level l of one factor and m of another, and all means over the settings of the
//! remaining factors in which every cell named was measured:
//!
//! - main effect of l: mean of y(l) - y(0);
//! - interaction of l and m: mean of y(l, m) - y(l, 0) - y(0, m) + y(0, 0).
//!
//! Exp of it minus 1 is a fraction: for an interaction, how much more the two cost together than the product of their
//! costs alone.

mod design;
mod together;

use std::collections::BTreeSet;

pub use design::{DesignError, DesignLevel, FactorialDesign};
pub use together::{Square, Together};

/// The quantity that a contrast estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// Cost of one level against its factor's reference.
    Main(DesignLevel),
    /// Cost of two levels of two factors together beyond the product of both.
    Interaction {
        /// The level of the factor named first in the design.
        first: DesignLevel,
        /// The other.
        second: DesignLevel,
    },
}

impl Term {
    /// The levels that the cells of one setting have, each with its sign.
    fn corners(self) -> Vec<(Vec<DesignLevel>, f64)> {
        let off = |at: DesignLevel| DesignLevel { level: 0, ..at };
        match self {
            Term::Main(at) => vec![(vec![at], 1.0), (vec![off(at)], -1.0)],
            Term::Interaction { first: a, second: b } => vec![
                (vec![a, b], 1.0),
                (vec![a, off(b)], -1.0),
                (vec![off(a), b], -1.0),
                (vec![off(a), off(b)], 1.0),
            ],
        }
    }

    fn factors(self) -> Vec<usize> {
        match self {
            Term::Main(at) => vec![at.factor],
            Term::Interaction { first, second } => vec![first.factor, second.factor],
        }
    }
}

/// A weighted sum of the logarithms of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// The quantity that it estimates.
    pub term: Term,
    /// Cell and weight; the weights add up to 0.
    pub weights: Vec<(usize, f64)>,
    /// Settings of the other factors it is the mean of.
    pub settings: usize,
    /// Settings of the other factors there could be; fewer than these were used when cells lack.
    pub settings_in_all: usize,
}

impl Contrast {
    /// The contrast of each round, from `logs[cell][round]`: the logarithms of a figure. As many
    /// as the shortest series it uses; none when a cell has no series.
    pub fn per_round(&self, logs: &[&[f64]]) -> Vec<f64> {
        let series = |cell: usize| logs.get(cell).copied().unwrap_or_default();
        let rounds = self.weights.iter().map(|&(cell, _)| series(cell).len()).min().unwrap_or(0);
        let one = |round| self.weights.iter().map(|&(cell, weight)| weight * series(cell)[round]).sum();
        (0..rounds).map(one).collect()
    }
}

/// A term no setting of which was measured whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEstimable {
    /// The quantity that cannot be estimated.
    pub term: Term,
    /// The empty cells of the setting that lacks the fewest, as levels per factor.
    pub missing: Vec<Vec<usize>>,
}

impl NotEstimable {
    /// The sentence for it. `name` gives a level as people know it, such as `tls = on`.
    pub fn sentence(&self, name: impl Fn(DesignLevel) -> String) -> String {
        let what = match self.term {
            Term::Main(at) => format!("the effect of {}", name(at)),
            Term::Interaction { first, second } => {
                format!("the interaction of {} and {}", name(first), name(second))
            }
        };
        let cell = |setting: &Vec<usize>| {
            let levels = setting.iter().enumerate();
            let names: Vec<String> =
                levels.map(|(factor, &level)| name(DesignLevel { factor, level })).collect();
            format!("({})", names.join(", "))
        };
        let cells: Vec<String> = self.missing.iter().map(cell).collect();
        let (noun, verb) = if cells.len() == 1 { ("cell", "is") } else { ("cells", "are") };
        format!("{what} cannot be told: the {noun} {} {verb} empty", cells.join(" and "))
    }
}

/// The terms that a design can estimate, and those that it cannot.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrasts {
    /// Main effects in the order of the factors, then interactions.
    pub estimable: Vec<Contrast>,
    /// In the same order.
    pub not_estimable: Vec<NotEstimable>,
}

/// Every main effect and every interaction of two factors.
pub fn contrasts(design: &FactorialDesign) -> Contrasts {
    let mut found = Contrasts { estimable: Vec::new(), not_estimable: Vec::new() };
    for term in terms(design.levels()) {
        match contrast(design, term) {
            Ok(contrast) => found.estimable.push(contrast),
            Err(lacking) => found.not_estimable.push(lacking),
        }
    }
    found
}

fn terms(levels: &[usize]) -> Vec<Term> {
    let treatments: Vec<DesignLevel> = levels
        .iter()
        .enumerate()
        .flat_map(|(factor, &n)| (1..n).map(move |level| DesignLevel { factor, level }))
        .collect();
    let mut terms: Vec<Term> = treatments.iter().copied().map(Term::Main).collect();
    for (i, &first) in treatments.iter().enumerate() {
        let others = treatments[i + 1..].iter().filter(|second| second.factor != first.factor);
        terms.extend(others.map(|&second| Term::Interaction { first, second }));
    }
    terms
}

fn contrast(design: &FactorialDesign, term: Term) -> Result<Contrast, NotEstimable> {
    let corners = term.corners();
    let mut weights = Vec::new();
    let mut fewest: Option<Vec<Vec<usize>>> = None;
    for rest in rests(design, term) {
        match whole_setting(design, &rest, &corners) {
            Ok(cells) => weights.extend(cells),
            Err(missing) if fewest.as_ref().is_none_or(|f| missing.len() < f.len()) => fewest = Some(missing),
            Err(_) => {}
        }
    }
    let settings = weights.len() / corners.len();
    if settings == 0 {
        return Err(NotEstimable { term, missing: fewest.unwrap_or_default() });
    }
    for (_, weight) in &mut weights {
        *weight /= settings as f64;
    }
    Ok(Contrast { term, weights, settings, settings_in_all: settings_in_all(design, term) })
}

/// The settings of the other factors that any cell has, each as a cell with the term's own
/// factors at 0. Never empty, because a design has a cell.
fn rests(design: &FactorialDesign, term: Term) -> BTreeSet<Vec<usize>> {
    let own = term.factors();
    let without = |cell: &Vec<usize>| {
        let level = |(factor, &level): (usize, &usize)| if own.contains(&factor) { 0 } else { level };
        cell.iter().enumerate().map(level).collect()
    };
    design.cells().iter().map(without).collect()
}

/// The cells of one setting with their signs, or the ones it lacks.
fn whole_setting(
    design: &FactorialDesign,
    rest: &[usize],
    corners: &[(Vec<DesignLevel>, f64)],
) -> Result<Vec<(usize, f64)>, Vec<Vec<usize>>> {
    let (mut cells, mut missing) = (Vec::new(), Vec::new());
    for (levels, sign) in corners {
        let mut setting = rest.to_vec();
        for at in levels {
            setting[at.factor] = at.level;
        }
        match design.cell(&setting) {
            Some(cell) => cells.push((cell, *sign)),
            None => missing.push(setting),
        }
    }
    if missing.is_empty() { Ok(cells) } else { Err(missing) }
}

/// Saturates: a listed design may have more settings than could ever be measured.
fn settings_in_all(design: &FactorialDesign, term: Term) -> usize {
    let own = term.factors();
    let others = design.levels().iter().enumerate().filter(|(factor, _)| !own.contains(factor));
    others.fold(1, |count: usize, (_, &n)| count.saturating_mul(n))
}
