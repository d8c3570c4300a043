//! `bakeoff plans` and `bakeoff check`.

use crate::args::{CheckArgs, PlansArgs};
use crate::elsewhere::Call;
use crate::exit::Exit;
use crate::{Failure, kinds, signals, terminal};
use bakeoff_experiment::run::Generators;
use bakeoff_plan::PlanSource;
use bakeoff_plan::shipped::{RECIPES, ShippedPlan};
use bakeoff_results::suite::Suite;
use std::fs::{File, create_dir_all};
use std::io::Write;
use std::path::Path;

const RECIPES_TITLE: &str =
    "# Recipes, at most 10 minutes a part; `bakeoff prices DIR...` makes a list of their runs";

/// Lists the shipped plans, prints one, or writes it with all that belongs to it.
pub(crate) fn plans(args: &PlansArgs) -> Result<Exit, Failure> {
    let Some(name) = &args.name else { return list() };
    let plan = kinds::shipped_plan(name).ok_or_else(|| {
        kinds::no_such_plan(name, "no such plan is shipped", "`bakeoff plans` lists those that are")
    })?;
    match &args.out {
        Some(dir) => write(plan, dir)?,
        None => terminal::say(plan.text),
    }
    Ok(Exit::Verdicts)
}

/// Recipes first: they answer a question within minutes.
fn list() -> Result<Exit, Failure> {
    let width = kinds::shipped().map(|(_, plan)| plan.name.len() + 2).max().unwrap_or(0);
    let is_recipe = |plan: &ShippedPlan| RECIPES.contains(&plan.name);
    let (recipes, others): (Vec<_>, Vec<_>) = kinds::shipped().partition(|(_, plan)| is_recipe(plan));
    let mut lines = Vec::new();
    for (title, plans) in [(RECIPES_TITLE, recipes), ("\n# Other plans", others)] {
        lines.push(title.to_owned());
        for (kind, plan) in plans {
            lines.push(format!("{:<width$}{}", plan.name, plan.summary()));
            lines.extend(kind.extent(plan)?.map(|extent| format!("{:<width$}{extent}", "")));
        }
    }
    terminal::say(&lines.join("\n"));
    Ok(Exit::Verdicts)
}

/// Writes a plan, and with a suite the plans of its parts, over nothing that is there.
fn write(plan: ShippedPlan, dir: &Path) -> Result<(), Failure> {
    let source = PlanSource::shipped(plan);
    let parts = match Suite::is_one(&source) {
        true => Suite::of(&source).map_err(Failure::usage)?.parts,
        false => Vec::new(),
    };
    let all: Vec<ShippedPlan> =
        [plan].into_iter().chain(parts.iter().filter_map(|part| kinds::shipped_plan(&part.plan))).collect();
    let file = |plan: &ShippedPlan| dir.join(plan.name).with_extension("toml");
    if let Some(there) = all.iter().map(file).find(|file| file.exists()) {
        return Err(Failure::usage(format!("{}: is there already; give a new directory", there.display())));
    }
    let at = |path: &Path, why: std::io::Error| Failure::usage(format!("{}: {why}", path.display()));
    create_dir_all(dir).map_err(|why| at(dir, why))?;
    for plan in &all {
        let path = file(plan);
        let done = File::create_new(&path).and_then(|mut file| file.write_all(plan.text.as_bytes()));
        done.map_err(|why| at(&path, why))?;
        terminal::say(&path.display().to_string());
    }
    terminal::note(&format!("edit it, then `bakeoff run {}`", file(&plan).display()));
    Ok(())
}

/// Checks a plan and says what it would do.
pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let (lab, interrupted) = (args.places.lab().map_err(Failure::usage)?, signals::interrupted());
    let generators = Generators::of(&lab).map_err(Failure::usage)?;
    if let Some(place) = &lab.subject {
        let (source, words) = (kinds::source(&args.plan)?, |plan| args.words(plan, &generators));
        let (called, interrupted) = (&generators.places, &interrupted);
        return Call { place, generators: called, source: &source, words: &words, interrupted }.check();
    }
    terminal::say(&kinds::checked(&args.plan, &args.set, &generators, &interrupted)?);
    Ok(Exit::Verdicts)
}
