//! `bakeoff conformance`: the public HTTP cache suite against products as bake-offs have them.

use super::caches::{self, Watcher};
use super::report::say_where;
use super::run::new_dir;
use crate::args::{ConformanceArgs, OutputArgs, ReportArgs};
use crate::exit::Exit;
use crate::terminal::{self, Console};
use crate::{Failure, signals};
use bakeoff_caches::conformance::{
    self, Came, Conformance, ConformanceError, Examination, Kept, Record, Suite, plan_of, shown,
};
use bakeoff_caches::directory::{self, Stored};
use bakeoff_caches::plan::{CachePlan, Changes};
use bakeoff_experiment::directory::ResultsDir;
use std::path::Path;

/// Runs the suite, and writes what came of it into a directory of its own or into that of a bake-off.
pub(crate) fn conformance(args: &ConformanceArgs) -> Result<Exit, Failure> {
    let interrupted = signals::interrupted();
    let plan = match &args.into {
        Some(dir) => plan_of(&stored(dir)?).map_err(Failure::failed)?,
        None => plan(args)?,
    };
    conformance::examinable(&plan).map_err(failed)?;
    let suite = Suite::find(&args.suite).map_err(failed)?;
    let dir = match &args.into {
        Some(path) => ResultsDir::lock(path).map_err(Failure::failed)?,
        None => new_dir(args.output.out.as_deref(), "conformance")?,
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
    result: Result<Record, ConformanceError>,
) -> Result<Exit, Failure> {
    let record = match result {
        Ok(record) => record,
        Err(why) => {
            let failure = failed(why);
            if conformance::is_one(dir.path()) {
                terminal::note("what the suite said of the products before is kept");
                say_where(dir.path(), args.output.json);
            }
            return Err(failure);
        }
    };
    if args.output.json {
        let file = dir.path().join(conformance::FILE);
        terminal::say(&std::fs::read_to_string(file).map_err(Failure::failed)?);
    } else if args.output.words() {
        say(&of_directory(dir.path())?);
    }
    if args.into.is_some() {
        caches::show(dir, &OutputArgs { quiet: true, ..OutputArgs::default() })?;
    }
    say_where(dir.path(), args.output.json);
    Ok(exit(&record))
}

/// Whether a directory has nothing but what the suite said.
pub(crate) fn is_directory(path: &Path) -> bool {
    conformance::is_one(path) && !caches::is_directory(path)
}

/// Prints what the suite said again.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    caches::demand_plain(args)?;
    let kept = alone(&args.dir)?;
    say(&shown(&kept, None));
    say_where(&args.dir, false);
    Ok(exit(&kept.record))
}

fn say(found: &Conformance) {
    terminal::say(&bakeoff_report::conformance(found).text(terminal::width(), terminal::colour()));
}

/// Beside a bake-off it is held against who was measured there.
fn of_directory(path: &Path) -> Result<Conformance, Failure> {
    if !caches::is_directory(path) {
        return Ok(shown(&alone(path)?, None));
    }
    let stored = stored(path)?;
    let measured: Vec<_> = stored.runs.iter().map(|run| &run.entrant).collect();
    let kept = stored.conformance.as_ref().ok_or_else(|| gone(path))?;
    Ok(shown(kept, Some(&measured)))
}

fn alone(path: &Path) -> Result<Kept, Failure> {
    let kept = conformance::load(path, std::iter::empty()).map_err(Failure::failed)?;
    kept.ok_or_else(|| gone(path))
}

fn gone(path: &Path) -> Failure {
    Failure::failed(format!("{}: {} is gone; run the suite again", path.display(), conformance::FILE))
}

/// A plan whose stores the products have, with those that were named.
fn plan(args: &ConformanceArgs) -> Result<CachePlan, Failure> {
    if let Some(none) = args.products.iter().find(|entrant| !entrant.is_cache()) {
        return Err(Failure::usage(format!("--product {none}: the suite is for caches; take it out")));
    }
    caches::parse(&args.plan, &Changes { entrants: args.products.clone(), ..Changes::default() })
}

fn stored(path: &Path) -> Result<Stored, Failure> {
    if !caches::is_directory(path) {
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

/// That a cache fails tests is no failure of the run; that it could not be examined is.
fn exit(record: &Record) -> Exit {
    let failed = |product: &&conformance::Examined| matches!(product.came_to, Came::Failed(_));
    let (failed, all) = (record.products.iter().filter(failed).count(), record.products.len());
    if failed == 0 {
        return Exit::Verdicts;
    }
    terminal::complain(&format!("the suite did not come to its end with {failed} of {all} products"));
    if failed == all { Exit::Failed } else { Exit::Invalid }
}
