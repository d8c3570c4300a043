//! `bakeoff run`: a plan of any kind, or the rest of a run.

use crate::args::RunArgs;
use crate::elsewhere::Call;
use crate::exit::Exit;
use crate::kinds::{self, Around, Flags};
use crate::{Failure, signals, terminal};
use bakeoff_experiment::run::Generators;
use bakeoff_plan::PlanSource;
use std::path::Path;

/// Runs a plan, here or on another machine, or resumes a run.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let interrupted = signals::interrupted();
    let lab = args.places.lab().map_err(Failure::usage)?;
    let generators = Generators::of(&lab).map_err(Failure::usage)?;
    let around = Around {
        output: &args.output,
        rules: &args.rules,
        interrupted: &interrupted,
        generators: &generators,
    };
    let flags = Flags { set: &args.set, full: args.full, parts: &args.parts, caches: &args.caches };
    if let Some(dir) = &args.resume {
        flags.demand_none_of_others()?;
        return kinds::resume(kinds::of_directory(dir)?, dir, &around);
    }
    let source = source(args)?;
    let kind = kinds::of_plan(&source);
    let planned = kind.plan(&source, &flags)?;
    let Some(place) = &lab.subject else { return kinds::run(kind, planned.as_ref(), &around) };
    planned.fit(&args.rules)?;
    if args.output.words() {
        terminal::note(&format!("{}: calling {place}", planned.name()));
    }
    let words = |plan| args.words(plan, &generators);
    let call = Call {
        place,
        generators: &generators.places,
        source: &source,
        words: &words,
        interrupted: &interrupted,
    };
    let dir = kinds::new_dir(args.output.out.as_deref(), planned.name(), kind.layout())?;
    call.run(&dir, args.output.json)
}

fn source(args: &RunArgs) -> Result<PlanSource, Failure> {
    let Some(name) = &args.plan else {
        return Err(Failure::usage("give a plan; `bakeoff plans` lists those that are shipped"));
    };
    kinds::source(&if args.here { here(name)? } else { name.clone() })
}

/// `--here`: `NAME-here`, and of a file the one beside it.
fn here(name: &str) -> Result<String, Failure> {
    let here = match name.strip_suffix(".toml") {
        Some(stem) => format!("{stem}-here.toml"),
        None => format!("{name}-here"),
    };
    if Path::new(&here).is_file() || kinds::shipped_plan(&here).is_some() {
        return Ok(here);
    }
    Err(Failure::usage(format!(
        "--here: there is no plan {here}, so nothing says what to measure of {name} on this machine itself; take the flag out"
    )))
}
