//! From what was typed to what will be done. Every key is either used or refused with a reason.

mod arm;
#[cfg(test)]
mod tests;
mod workload;

use super::error::suggestion;
use super::file::PlanFile;
use super::{Arm, Plan, PlanError, Work};
use bakeoff_units::Ratio;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use toml::Spanned;

struct Context<'a> {
    origin: &'a str,
    text: &'a str,
    base: &'a Path,
}

type Checked<T> = Result<T, PlanError>;

pub(super) fn check(name: &str, origin: &str, text: &str, base: &Path, file: PlanFile) -> Checked<Plan> {
    let cx = Context { origin, text, base };
    let e = &file.experiment;
    let work = cx.work(&file.workload, e.slice_requests.as_ref())?;
    let is_command = matches!(work, Work::Command(_));
    let mut arms = Vec::new();
    for (name, section) in &file.arm {
        arms.push(cx.arm(name, section, &file.workload, is_command)?);
    }
    let baseline = cx.baseline(&e.baseline, &arms)?;
    cx.enough_arms(&e.baseline, &arms, &file, e.allow_equal_arms.unwrap_or(false))?;
    Ok(Plan {
        name: name.to_owned(),
        text: text.to_owned(),
        base_dir: base.to_owned(),
        seed: e.seed.unwrap_or(1),
        baseline,
        margin: cx.positive(e.margin.as_ref(), "1%", Ratio::get)?,
        budget: cx.quantity(e.budget.as_ref(), "5min")?,
        max_rounds: cx.at_least(e.max_rounds.as_ref(), 80, 3)?,
        max_errors: cx.quantity(e.max_errors.as_ref(), "0.1%")?,
        generator_cores: cx.cores(e.generator_cores.as_ref())?,
        subject_cores: cx.cores(e.subject_cores.as_ref())?,
        work,
        arms,
    })
}

impl Context<'_> {
    fn wrong<T>(&self, span: Range<usize>, what: impl AsRef<str>, help: impl AsRef<str>) -> Checked<T> {
        Err(PlanError::at(self.origin, self.text, span, what.as_ref(), Some(help.as_ref())))
    }

    /// A quantity with its unit, or the default.
    fn quantity<T: FromStr<Err: std::fmt::Display>>(
        &self,
        value: Option<&Spanned<String>>,
        default: &str,
    ) -> Checked<T> {
        let text = value.map_or(default, |value| value.as_ref());
        text.parse().or_else(|why: T::Err| {
            self.wrong(
                value.map_or(0..0, Spanned::span),
                why.to_string(),
                format!("the default is \"{default}\""),
            )
        })
    }

    fn positive<T: FromStr<Err: std::fmt::Display> + Copy>(
        &self,
        value: Option<&Spanned<String>>,
        default: &str,
        number: fn(T) -> f64,
    ) -> Checked<T> {
        let quantity: T = self.quantity(value, default)?;
        if number(quantity) > 0.0 {
            return Ok(quantity);
        }
        self.wrong(
            value.map_or(0..0, Spanned::span),
            "this must be above zero",
            format!("the default is \"{default}\""),
        )
    }

    fn at_least<T: Copy + PartialOrd + std::fmt::Display>(
        &self,
        value: Option<&Spanned<T>>,
        default: T,
        least: T,
    ) -> Checked<T> {
        match value {
            None => Ok(default),
            Some(value) if *value.as_ref() >= least => Ok(*value.as_ref()),
            Some(value) => self.wrong(
                value.span(),
                format!("this must be {least} or more"),
                format!("the default is {default}"),
            ),
        }
    }

    fn cores(&self, cores: Option<&Spanned<Vec<usize>>>) -> Checked<Option<Vec<usize>>> {
        match cores {
            Some(list) if list.as_ref().is_empty() => {
                self.wrong(list.span(), "there must be at least one core", "such as [0]")
            }
            Some(list) => Ok(Some(list.as_ref().clone())),
            None => Ok(None),
        }
    }

    fn baseline(&self, name: &Spanned<String>, arms: &[Arm]) -> Checked<usize> {
        match arms.iter().position(|arm| &arm.name == name.as_ref()) {
            Some(index) => Ok(index),
            None => {
                let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
                self.wrong(
                    name.span(),
                    format!("there is no arm `{}`", name.as_ref()),
                    suggestion(name.as_ref(), &known),
                )
            }
        }
    }

    fn enough_arms(
        &self,
        baseline: &Spanned<String>,
        arms: &[Arm],
        file: &PlanFile,
        equal_allowed: bool,
    ) -> Checked<()> {
        if arms.len() < 2 {
            return self.wrong(
                baseline.span(),
                "there is nothing to compare the baseline with",
                "add another [arm.NAME]; the baseline itself runs twice anyway",
            );
        }
        for (index, arm) in arms.iter().enumerate() {
            let twin = arms[..index].iter().find(|other| other.what == arm.what && other.trust == arm.trust);
            if let Some(twin) = twin.filter(|_| !equal_allowed) {
                return self.wrong(
                    file.arm[index].0.span(),
                    format!("the arms `{}` and `{}` are equal", twin.name, arm.name),
                    "take one out: the baseline runs twice anyway; for calibration set allow_equal_arms = true",
                );
            }
        }
        Ok(())
    }
}
