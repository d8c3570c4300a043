//! `bakeoff conformance`: the public HTTP cache suite against products as bake-offs have them.

use crate::args::ConformanceArgs;
use crate::exit::Exit;
use crate::kinds::conformance::{alone, exit, gone};
use crate::kinds::{self, Watcher};
use crate::terminal::{self, Console};
use crate::{Failure, signals};
use bakeoff_caches::conformance::{
    self, CONFORMANCE, Conformance, ConformanceError, ConformanceSuite, Examination, FILE, SuiteRecord,
    plan_of, shown,
};
use bakeoff_caches::directory::{self, BAKEOFF, StoredBakeoff};
use bakeoff_caches::plan::{CachePlan, PlanChanges};
use bakeoff_results::directory::ResultsDir;
use std::path::Path;

/// Runs the suite, and writes what came of it into a directory of its own or into that of a bake-off.
pub(crate) fn conformance(args: &ConformanceArgs) -> Result<Exit, Failure> {
    let interrupted = signals::interrupted();
    let plan = match &args.into {
        Some(dir) => plan_of(&stored(dir)?).map_err(Failure::failed)?,
        None => plan(args)?,
    };
    conformance::examinable(&plan).map_err(failed)?;
    let suite = ConformanceSuite::find(&args.suite).map_err(failed)?;
    let dir = match &args.into {
        Some(path) => ResultsDir::reopen(path, &BAKEOFF).map_err(Failure::failed)?,
        None => kinds::new_dir(args.output.out.as_deref(), "conformance", &CONFORMANCE)?,
    };
    let examination =
        Examination { plan: &plan, suite: &suite, time_limit: args.time_limit, interrupted: &interrupted };
    let mut watcher = Watcher { console: Console::new("conformance", args.output.quiet), lines: None };
    let result = examination.run(&dir, &mut watcher);
    watcher.console.finish();
    conclude(&dir, args, result)
}

/// What was written is shown, whatever ended the run.
fn conclude(
    dir: &ResultsDir,
    args: &ConformanceArgs,
    result: Result<SuiteRecord, ConformanceError>,
) -> Result<Exit, Failure> {
    let record = match result {
        Ok(record) => record,
        Err(why) => {
            let failure = failed(why);
            if CONFORMANCE.owns(dir.path()) {
                terminal::note("what the suite said of the products before is kept");
                kinds::say_where(dir.path(), args.output.json);
            }
            return Err(failure);
        }
    };
    if args.output.json {
        let file = dir.path().join(FILE);
        terminal::say(&std::fs::read_to_string(file).map_err(Failure::failed)?);
    } else if args.output.words() {
        let document = bakeoff_report::conformance(&of_directory(dir.path())?);
        terminal::document(&document, args.output.verbose);
    }
    if args.into.is_some() {
        kinds::rewrite(dir)?;
    }
    kinds::say_where(dir.path(), args.output.json);
    let (exit, lines) = exit(&record);
    lines.iter().for_each(|line| terminal::note(line));
    Ok(exit)
}

/// Beside a bake-off it is held against who was measured there.
fn of_directory(path: &Path) -> Result<Conformance, Failure> {
    if !BAKEOFF.owns(path) {
        return Ok(shown(&alone(path)?, None));
    }
    let stored = stored(path)?;
    let measured: Vec<_> = stored.runs.iter().map(|run| &run.entrant).collect();
    let kept = stored.conformance.as_ref().ok_or_else(|| gone(path))?;
    Ok(shown(kept, Some(&measured)))
}

/// A plan whose stores the products have, with those that were named.
fn plan(args: &ConformanceArgs) -> Result<CachePlan, Failure> {
    if let Some(none) = args.products.iter().find(|entrant| !entrant.is_cache()) {
        return Err(Failure::usage(format!("--product {none}: the suite is for caches; take it out")));
    }
    kinds::cache_plan(&args.plan, &PlanChanges { entrants: args.products.clone(), ..PlanChanges::default() })
}

fn stored(path: &Path) -> Result<StoredBakeoff, Failure> {
    if !BAKEOFF.owns(path) {
        return Err(Failure::usage(format!(
            "{}: is no results directory of a bake-off of caches; give one, or --product",
            path.display()
        )));
    }
    directory::load(path).map_err(Failure::failed)
}

/// What was typed cannot be examined, or something failed.
fn failed(why: ConformanceError) -> Failure {
    match why {
        ConformanceError::Interrupted => Failure::interrupted(),
        ConformanceError::NoProduct | ConformanceError::Forward => Failure::usage(why),
        other => Failure::failed(other),
    }
}
