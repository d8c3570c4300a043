//! Check of `baseline`: one arm for all, or levels of factors, which make strata.

use super::super::expand::{Cell, Factor};
use super::super::file::{BaselineEntry, FactorLevel};
use super::super::{Arm, Baselines};
use super::{Checked, Context, names};
use crate::file::Spanned;
use std::ops::Range;

impl Context<'_> {
    pub(super) fn baselines(
        &self,
        entry: &Spanned<BaselineEntry>,
        factors: &[Factor],
        cells: &[Cell],
        arms: &[Arm],
    ) -> Checked<Baselines> {
        let levels = match entry.as_ref() {
            BaselineEntry::Arm(name) => {
                let baseline = self.baseline(name, entry.span(), cells, arms)?;
                return Ok(Baselines::one(baseline, arms.len()));
            }
            BaselineEntry::Levels(levels) => levels,
        };
        let one = |(name, level): (&String, &FactorLevel)| {
            self.fixed(name, &level.to_string(), entry.span(), factors)
        };
        let fixed = levels.iter().map(one).collect::<Checked<Vec<_>>>()?;
        let none = entry.when(fixed.is_empty());
        self.refuse(none, "this names no level", "such as { state = \"off\" }, or the name of an arm")?;
        self.strata(&fixed, entry.span(), factors, cells)
    }

    /// A level that all baselines have: factor and level.
    fn fixed(
        &self,
        name: &str,
        level: &str,
        span: Range<usize>,
        factors: &[Factor],
    ) -> Checked<(usize, usize)> {
        let Some(factor) = factors.iter().position(|factor| factor.name == name) else {
            let known: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
            return self.unknown(span, "factor", name, &known);
        };
        Ok((factor, self.level_at((name, &factors[factor].levels), level, span)?))
    }

    /// Each arm's baseline has the fixed levels, and the arm's own of all other factors.
    fn strata(
        &self,
        fixed: &[(usize, usize)],
        span: Range<usize>,
        factors: &[Factor],
        cells: &[Cell],
    ) -> Checked<Baselines> {
        let mut of = Vec::new();
        for cell in cells {
            let mut wanted = cell.levels.clone();
            fixed.iter().for_each(|(factor, level)| wanted[*factor] = *level);
            let Some(index) = cells.iter().position(|other| other.levels == wanted) else {
                let what = format!(
                    "`{}` has no baseline: no arm differs from it in these levels alone",
                    cell.name.as_ref()
                );
                return self.wrong(span, what, "add the combination as a [[cell]]");
            };
            of.push(index);
        }
        let lonely = (0..of.len()).find(|arm| of.iter().filter(|own| *own == arm).count() == 1);
        if let Some(arm) = lonely {
            let what = format!("nothing is compared with the baseline `{}`", cells[arm].name.as_ref());
            return self.wrong(span, what, "add another combination of its levels as a [[cell]]");
        }
        let is_free = |factor: &usize| fixed.iter().all(|(other, _)| other != factor);
        Ok(Baselines::of_strata(of, (0..factors.len()).filter(is_free).collect()))
    }

    /// An arm's name, or with factors a template's: then its reference cell.
    fn baseline(&self, name: &str, span: Range<usize>, cells: &[Cell], arms: &[Arm]) -> Checked<usize> {
        if let Some(index) = arms.iter().position(|arm| arm.name == name) {
            return Ok(index);
        }
        // All levels 0, but for that of the template itself.
        let reference = |cell: &Cell| {
            cell.template == name && cell.levels.iter().rev().take(cell.values.len()).all(|level| *level == 0)
        };
        if let Some(index) = cells.iter().position(reference) {
            return Ok(index);
        }
        if cells.iter().any(|cell| cell.template == name) {
            let what = format!("`{}` is not run with the first level of every factor", name);
            let first = arms.first().map_or("", |arm| arm.name.as_str());
            return self.wrong(span, what, format!("name one of the arms, such as \"{first}\""));
        }
        self.unknown(span, "arm", name, &names(arms))
    }
}
