//! Check of `[factors]`, `[level]` and `[[cell]]`, which define the arms.

use super::super::error::suggestion;
use super::super::expand::{self, Cell, Factor};
use super::super::file::{FactorLevel, PlanFile};
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_subject::FURTHER_PORTS;
use std::collections::BTreeMap;
use std::ops::Range;

/// More arms than any round can hold.
const MOST_CELLS: usize = 100;
/// Names that already have a meaning in braces.
const TAKEN: [&str; 9] = ["host", "port", "root", "cert", "key", "client_ca", "dir", "pid", "arm"];

impl Context<'_> {
    pub(super) fn expand(&self, file: &PlanFile) -> Checked<(Vec<Factor>, Vec<Cell>)> {
        for (name, levels) in &file.factors {
            self.factor_name(name)?;
            self.factor_levels(name, levels)?;
        }
        self.levels_exist(file)?;
        let factors = expand::factors(file);
        let typed = &factors[factors.len() - file.factors.len()..];
        let settings = if file.cell.is_empty() { expand::crossed(typed) } else { self.listed(file, typed)? };
        let arms = settings.len().saturating_mul(file.arm.len());
        let many = file.experiment.baseline.when(arms > MOST_CELLS);
        let what = format!("{arms} arms are more than {MOST_CELLS}");
        self.refuse(many, what, "list the combinations that matter as [[cell]]")?;
        let cells = expand::cells(file, &factors, &settings)?;
        Ok((factors, cells))
    }

    fn factor_name(&self, name: &Spanned<String>) -> Checked<()> {
        let text = name.as_ref();
        let fits = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        let is_free = !TAKEN.contains(&text.as_str()) && !FURTHER_PORTS.contains(&text.as_str());
        let help = "a letter, then letters, digits and `_`, all small; not one of the names that already mean something in braces";
        self.refuse(name.when(!(fits && is_free)), format!("`{text}` is no name for a factor"), help)
    }

    fn factor_levels(&self, name: &Spanned<String>, levels: &[Spanned<FactorLevel>]) -> Checked<()> {
        let few = name.when(levels.len() < 2);
        let what = format!("the factor `{}` has no two levels", name.as_ref());
        self.refuse(few, what, "such as [\"off\", \"on\"]; the first is the reference")?;
        for (index, level) in levels.iter().enumerate() {
            let text = level.as_ref().to_string();
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let bad = level.when(text.is_empty() || !text.chars().all(fits));
            self.refuse(bad, format!("`{text}` is no level"), "letters, digits, `-`, `_` and `.`")?;
            let has_twin = levels[..index].iter().any(|other| other.as_ref().to_string() == text);
            self.refuse(level.when(has_twin), format!("the level `{text}` is there twice"), "take one out")?;
        }
        Ok(())
    }

    /// `[level.FACTOR.LEVEL]` must name an existing factor and level.
    fn levels_exist(&self, file: &PlanFile) -> Checked<()> {
        let names: Vec<&str> = file.factors.iter().map(|(name, _)| name.as_ref().as_str()).collect();
        for (factor, levels) in &file.level {
            let found = file.factors.iter().find(|(name, _)| name.as_ref() == factor.as_ref());
            let Some((_, known)) = found else {
                return self.unknown(factor.span(), "factor", factor.as_ref(), &names);
            };
            let known: Vec<String> = known.iter().map(|level| level.as_ref().to_string()).collect();
            for (level, _) in levels {
                self.level_at((factor.as_ref(), &known), level.as_ref(), level.span())?;
            }
        }
        Ok(())
    }

    /// `[[cell]]`: each names levels of factors, and stands for all levels of the factors that it leaves
    /// out.
    fn listed(&self, file: &PlanFile, factors: &[Factor]) -> Checked<Vec<Vec<usize>>> {
        let mut settings = Vec::new();
        for cell in &file.cell {
            let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
            for factor in cell.as_ref().keys() {
                self.one_of(factor, "factor", &names, |known| known)?;
            }
            let named =
                factors.iter().map(|factor| self.level_of(cell, factor)).collect::<Checked<Vec<_>>>()?;
            let fits = |setting: &Vec<usize>| {
                named.iter().zip(setting).all(|(named, level)| named.is_none_or(|named| named == *level))
            };
            for setting in expand::crossed(factors).into_iter().filter(fits) {
                let what =
                    format!("the combination {} is there twice", expand::setting_name(factors, &setting));
                let help = "take one out; a cell stands for all levels of the factors that it leaves out";
                self.refuse(cell.when(settings.contains(&setting)), what, help)?;
                settings.push(setting);
            }
        }
        Ok(settings)
    }

    /// `None`: this cell leaves the factor out.
    fn level_of(
        &self,
        cell: &Spanned<BTreeMap<Spanned<String>, Spanned<FactorLevel>>>,
        factor: &Factor,
    ) -> Checked<Option<usize>> {
        let Some((_, level)) = cell.as_ref().iter().find(|(name, _)| name.as_ref() == &factor.name) else {
            return Ok(None);
        };
        let level_at =
            self.level_at((&factor.name, &factor.levels), &level.as_ref().to_string(), level.span());
        level_at.map(Some)
    }

    /// Index of a level of a factor.
    pub(super) fn level_at(
        &self,
        (factor, known): (&str, &[String]),
        level: &str,
        span: Range<usize>,
    ) -> Checked<usize> {
        known.iter().position(|known| known == level).map_or_else(
            || {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let what = format!("the factor `{factor}` has no level `{level}`");
                self.wrong(span, what, suggestion(level, &known))
            },
            Ok,
        )
    }
}
