//! `bakeoff plans` and `bakeoff check`.

use crate::args::{CheckArgs, PlansArgs};
use crate::exit::Exit;
use crate::{Failure, kinds, terminal};

/// Lists the shipped plans, or prints one.
pub(crate) fn plans(args: &PlansArgs) -> Result<Exit, Failure> {
    let Some(name) = &args.name else { return list() };
    let plan = kinds::shipped_plan(name).ok_or_else(|| {
        kinds::no_such_plan(name, "no such plan is shipped", "`bakeoff plans` lists those that are")
    })?;
    terminal::say(plan.text);
    Ok(Exit::Verdicts)
}

fn list() -> Result<Exit, Failure> {
    let width = kinds::shipped().map(|(_, plan)| plan.name.len() + 2).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (kind, plan) in kinds::shipped() {
        lines.push(format!("{:<width$}{}", plan.name, plan.summary()));
        lines.extend(kind.extent(plan)?.map(|extent| format!("{:<width$}{extent}", "")));
    }
    terminal::say(&lines.join("\n"));
    Ok(Exit::Verdicts)
}

/// Checks a plan and says what it would do.
pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    terminal::say(&kinds::checked(&args.plan, &args.set, &args.generators.all())?);
    Ok(Exit::Verdicts)
}
