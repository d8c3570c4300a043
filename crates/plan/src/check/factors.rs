//! Check of `[factors]`, `[level]` and `[[cell]]`, which define the arms.

use super::super::error::suggestion;
use super::super::expand::{self, Cell, Factor};
use super::super::file::{FactorLevel, PlanFile};
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_subject::FURTHER_PORTS;
use std::collections::BTreeMap;

/// More arms than any round can hold.
const MOST_CELLS: usize = 100;
/// Names that already have a meaning in braces.
const TAKEN: [&str; 8] = ["host", "port", "root", "cert", "key", "dir", "pid", "arm"];

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
        if arms > MOST_CELLS {
            let what = format!("{arms} arms are more than {MOST_CELLS}");
            return self.wrong(
                file.experiment.baseline.span(),
                what,
                "list the combinations that matter as [[cell]]",
            );
        }
        let cells = expand::cells(file, &factors, &settings)?;
        Ok((factors, cells))
    }

    fn factor_name(&self, name: &Spanned<String>) -> Checked<()> {
        let text = name.as_ref();
        let fits = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if fits && !TAKEN.contains(&text.as_str()) && !FURTHER_PORTS.contains(&text.as_str()) {
            return Ok(());
        }
        let help = "a letter, then letters, digits and `_`, all small; not one of the names that already mean something in braces";
        self.wrong(name.span(), format!("`{text}` is no name for a factor"), help)
    }

    fn factor_levels(&self, name: &Spanned<String>, levels: &[Spanned<FactorLevel>]) -> Checked<()> {
        if levels.len() < 2 {
            let what = format!("the factor `{}` has no two levels", name.as_ref());
            return self.wrong(name.span(), what, "such as [\"off\", \"on\"]; the first is the reference");
        }
        for (index, level) in levels.iter().enumerate() {
            let text = level.as_ref().to_string();
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if text.is_empty() || !text.chars().all(fits) {
                let what = format!("`{text}` is no level");
                return self.wrong(level.span(), what, "letters, digits, `-`, `_` and `.`");
            }
            if levels[..index].iter().any(|other| other.as_ref().to_string() == text) {
                return self.wrong(
                    level.span(),
                    format!("the level `{text}` is there twice"),
                    "take one out",
                );
            }
        }
        Ok(())
    }

    /// `[level.FACTOR.LEVEL]` must name an existing factor and level.
    fn levels_exist(&self, file: &PlanFile) -> Checked<()> {
        let names: Vec<&str> = file.factors.iter().map(|(name, _)| name.as_ref().as_str()).collect();
        for (factor, levels) in &file.level {
            let found = file.factors.iter().find(|(name, _)| name.as_ref() == factor.as_ref());
            let Some((_, known)) = found else {
                let what = format!("there is no factor `{}`", factor.as_ref());
                return self.wrong(factor.span(), what, suggestion(factor.as_ref(), &names));
            };
            let known: Vec<String> = known.iter().map(|level| level.as_ref().to_string()).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            if let Some(wrong) =
                levels.iter().map(|(level, _)| level).find(|level| !known.contains(&level.as_ref().as_str()))
            {
                let what = format!("the factor `{}` has no level `{}`", factor.as_ref(), wrong.as_ref());
                return self.wrong(wrong.span(), what, suggestion(wrong.as_ref(), &known));
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
            if let Some(wrong) = cell.as_ref().keys().find(|key| !names.contains(&key.as_ref().as_str())) {
                let what = format!("there is no factor `{}`", wrong.as_ref());
                return self.wrong(wrong.span(), what, suggestion(wrong.as_ref(), &names));
            }
            let named =
                factors.iter().map(|factor| self.level_of(cell, factor)).collect::<Checked<Vec<_>>>()?;
            let fits = |setting: &Vec<usize>| {
                named.iter().zip(setting).all(|(named, level)| named.is_none_or(|named| named == *level))
            };
            for setting in expand::crossed(factors).into_iter().filter(fits) {
                if settings.contains(&setting) {
                    let what =
                        format!("the combination {} is there twice", expand::setting_name(factors, &setting));
                    let help = "take one out; a cell stands for all levels of the factors that it leaves out";
                    return self.wrong(cell.span(), what, help);
                }
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
        let text = level.as_ref().to_string();
        match factor.levels.iter().position(|known| *known == text) {
            Some(index) => Ok(Some(index)),
            None => {
                let known: Vec<&str> = factor.levels.iter().map(String::as_str).collect();
                let what = format!("the factor `{}` has no level `{text}`", factor.name);
                self.wrong(level.span(), what, suggestion(&text, &known))
            }
        }
    }
}
