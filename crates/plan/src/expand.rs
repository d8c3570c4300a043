//! Expansion of factors: from arms and levels to one arm for each combination.
//!
//! An arm is a template. For each cell the keys of its levels are put over the template's, and `{factor}` in every text
//! of the arm becomes the level. The result is read as if the arms had been typed one by one.

use super::PlanError;
use super::file::{ArmSection, FactorLevel, PlanFile, Spanned, TableKeys};
use std::collections::BTreeMap;

/// A factor, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels, the reference first.
    pub levels: Vec<String>,
    /// The levels as numbers, if all are.
    pub numbers: Option<Vec<f64>>,
}

/// One arm of the expanded plan.
#[derive(Clone)]
pub(super) struct Cell {
    pub(super) name: Spanned<String>,
    pub(super) template: String,
    /// Level of each factor.
    pub(super) levels: Vec<usize>,
    pub(super) values: BTreeMap<String, String>,
    pub(super) section: ArmSection,
}

/// The factors of a plan. More than one template makes `arm` a factor as well, the first one.
pub(super) fn factors(file: &PlanFile<'_>) -> Vec<Factor> {
    let typed = file.factors.iter().map(|(name, levels)| Factor {
        name: name.as_ref().clone(),
        levels: levels.iter().map(|level| level.as_ref().to_string()).collect(),
        numbers: levels
            .iter()
            .map(|level| match level.as_ref() {
                FactorLevel::Count(count) => Some(*count as f64),
                _ => None,
            })
            .collect(),
    });
    let templates = Factor {
        name: "arm".to_owned(),
        levels: file.arm.iter().map(|(name, _)| name.as_ref().clone()).collect(),
        numbers: None,
    };
    let several = !file.factors.is_empty() && file.arm.len() > 1;
    several.then_some(templates).into_iter().chain(typed).collect()
}

/// All arms: one for each template and setting. `settings`: level indices of the typed factors.
pub(super) fn cells(
    file: &PlanFile<'_>,
    factors: &[Factor],
    settings: &[Vec<usize>],
) -> Result<Vec<Cell>, PlanError> {
    let typed = &factors[factors.len() - file.factors.len()..];
    let has_templates = factors.len() > typed.len();
    let mut cells = Vec::new();
    for (index, (name, template)) in file.arm.iter().enumerate() {
        for setting in settings {
            let mut keys = template.clone();
            let mut values = BTreeMap::new();
            for (factor, &level) in typed.iter().zip(setting) {
                let level = &factor.levels[level];
                if let Some(over) = level_keys(file, &factor.name, level) {
                    keys = keys.at_level(over);
                }
                values.insert(factor.name.clone(), level.clone());
            }
            keys.fill(&values);
            let named = has_templates || typed.is_empty();
            let own = cell_name(named.then_some(name.as_ref()), typed, setting);
            let own = Spanned::new(name.span(), own);
            cells.push(Cell {
                section: ArmSection::read(&own, keys, &file.workload)?,
                name: own,
                template: name.as_ref().clone(),
                levels: has_templates.then_some(index).into_iter().chain(setting.iter().copied()).collect(),
                values,
            });
        }
    }
    Ok(cells)
}

fn level_keys<'a, 't>(file: &'a PlanFile<'t>, factor: &str, level: &str) -> Option<&'a TableKeys<'t>> {
    let (_, levels) = file.level.iter().find(|(name, _)| name.as_ref() == factor)?;
    levels.iter().find(|(name, _)| name.as_ref() == level).map(|(_, keys)| keys)
}

/// The name of an arm: its template's, where there are several, and its levels'.
fn cell_name(template: Option<&String>, factors: &[Factor], setting: &[usize]) -> String {
    let levels = (!factors.is_empty()).then(|| setting_name(factors, setting));
    template.into_iter().chain(&levels).cloned().collect::<Vec<_>>().join(".")
}

/// `http.active`; numbers and switches say whose they are: `http.rules-10`.
pub(super) fn setting_name(factors: &[Factor], setting: &[usize]) -> String {
    let part = |(factor, &level): (&Factor, &usize)| {
        let text = &factor.levels[level];
        let bare = factor.numbers.is_none() && !matches!(text.as_str(), "true" | "false");
        if bare { text.clone() } else { format!("{}-{text}", factor.name) }
    };
    factors.iter().zip(setting).map(part).collect::<Vec<_>>().join(".")
}

/// Every combination of levels, the reference cell first.
pub(super) fn crossed(factors: &[Factor]) -> Vec<Vec<usize>> {
    factors.iter().fold(vec![Vec::new()], |settings, factor| {
        let longer = |setting: Vec<usize>| {
            (0..factor.levels.len()).map(move |level| setting.iter().copied().chain([level]).collect())
        };
        settings.into_iter().flat_map(longer).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossing_takes_the_reference_first_and_every_combination_once() {
        let factor = |levels: &[&str]| Factor {
            name: "f".to_owned(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            numbers: None,
        };
        let all = crossed(&[factor(&["a", "b"]), factor(&["x", "y", "z"])]);
        assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!(crossed(&[]), [[0; 0]]);
    }
}
