//! `bakeoff run`: an experiment from its plan, or the rest of one.

use super::{caches, guest, plans, report, suite};
use crate::args::{OutputArgs, RuleArgs, RunArgs};
use crate::exit::Exit;
use crate::terminal::{self, Console};
use crate::{Failure, rules, signals};
use bakeoff_experiment::directory::{self, DirectoryError, ResultsDir, StoppedBy, Stored};
use bakeoff_experiment::plan::{Arm, Extent, Plan};
use bakeoff_experiment::rule::Rule;
use bakeoff_experiment::run::{Run, RunError};
use bakeoff_units::{Clock, MonotonicClock};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where results lie that nobody asked to lie elsewhere.
const RESULTS: &str = "bakeoff-results";
/// Directories tried for runs of one name that begin in the same second.
const SAME_SECOND: u32 = 100;

/// Runs a plan or a suite, or resumes either.
pub(crate) fn run(mut args: RunArgs) -> Result<Exit, Failure> {
    if args.here {
        args.plan = args.plan.as_deref().map(here).transpose()?;
    }
    of_any(&args, &signals::interrupted())
}

fn of_any(args: &RunArgs, interrupted: &AtomicBool) -> Result<Exit, Failure> {
    match (&args.resume, &args.plan) {
        (Some(dir), _) if suite::is_directory(dir) => {
            suite::resume(dir, &args.output, &args.rules, interrupted)
        }
        (None, Some(name)) if suite::is_suite(name) => {
            refuse_of_caches(args)?;
            suite::run(name, args, interrupted)
        }
        _ if !args.parts.is_empty() => {
            Err(Failure::usage("--part is for suites, and this is one plan; take it out"))
        }
        _ => part(args, interrupted),
    }
}

/// Runs a plan or resumes its run: anything but a suite.
pub(crate) fn part(args: &RunArgs, interrupted: &AtomicBool) -> Result<Exit, Failure> {
    let of_caches = args.plan.as_deref().is_some_and(caches::is_plan);
    if !of_caches {
        refuse_of_caches(args)?;
    }
    match (&args.resume, &args.plan) {
        (None, Some(name)) if of_caches => caches::run(name, args, interrupted),
        (None, Some(name)) if guest::is_plan(name) => guest::run(name, args, interrupted),
        (Some(dir), _) => resume(dir, &args.output, &args.rules, interrupted),
        (None, Some(name)) => experiment(&chosen(name, args)?, &args.output, &args.rules, interrupted),
        (None, None) => Err(Failure::usage("give a plan; `bakeoff plans` lists those that are shipped")),
    }
}

fn refuse_of_caches(args: &RunArgs) -> Result<(), Failure> {
    match args.caches.typed().first() {
        Some(flag) => {
            Err(Failure::usage(format!("{flag} is for bake-offs of caches, which this is not; take it out")))
        }
        None => Ok(()),
    }
}

/// `--here`: `NAME-here`, and of a file the one beside it.
fn here(name: &str) -> Result<String, Failure> {
    let here = match name.strip_suffix(".toml") {
        Some(stem) => format!("{stem}-here.toml"),
        None => format!("{name}-here"),
    };
    if Path::new(&here).is_file() || plans::is_shipped(&here) {
        return Ok(here);
    }
    Err(Failure::usage(format!(
        "--here: there is no plan {here}, so nothing says what to measure of {name} on this machine itself; take the flag out"
    )))
}

/// The plan of this name, or the whole of it where it is a sample.
fn chosen(name: &str, args: &RunArgs) -> Result<Plan, Failure> {
    let plan = plans::find(name, &args.set)?;
    if !args.full {
        return Ok(plan);
    }
    plan.of_extent(Some(Extent::Full)).ok_or_else(|| {
        Failure::usage(format!(
            "--full: the plan {name} states no sample, so it is always run whole; take the flag out, or give `budget`, \
             `max_rounds` or `slice_requests` two values: {{ sample = X, full = Y }}"
        ))
    })
}

/// Runs a plan into a new results directory.
pub(crate) fn experiment(
    plan: &Plan,
    output: &OutputArgs,
    rules: &RuleArgs,
    interrupted: &AtomicBool,
) -> Result<Exit, Failure> {
    fit(plan, rules)?;
    plan.here().map_err(Failure::usage)?;
    let clock = MonotonicClock::new();
    let began = clock.now();
    let dir = new_dir(output.out.as_deref(), &plan.name)?;
    let mut console = Console::new(&plan.name, output.quiet);
    let quantiles = rules.fail_if.iter().any(Rule::is_about_a_quantile);
    let run = Run { plan, dir: &dir, began, clock, interrupted, quantiles };
    let result = run.start(&mut console);
    console.finish();
    conclude(&dir, result, output, rules, interrupted)
}

/// Goes on with a run.
pub(crate) fn resume(
    path: &Path,
    output: &OutputArgs,
    rules: &RuleArgs,
    interrupted: &AtomicBool,
) -> Result<Exit, Failure> {
    guest::refuse_directory(path, "cannot be gone on with: run it anew")?;
    caches::refuse_directory(path, "cannot be gone on with: run it anew")?;
    let clock = MonotonicClock::new();
    let began = clock.now();
    let dir = report::reopen(path)?;
    let stored = directory::load(path).map_err(Failure::usage)?;
    let plan = stored_plan(path, &stored)?;
    fit(&plan, rules)?;
    if matches!(stored.stopped_by, StoppedBy::Verdicts | StoppedBy::Rounds) {
        terminal::note("the run is complete; nothing is measured");
        return conclude(&dir, Ok(stored.stopped_by), output, rules, interrupted);
    }
    let mut console = Console::new(&plan.name, output.quiet);
    let run = Run { plan: &plan, dir: &dir, began, clock, interrupted, quantiles: false };
    let result = run.resume(stored, &mut console);
    console.finish();
    conclude(&dir, result, output, rules, interrupted)
}

/// Whether the rules are about arms of the plan, before anything is measured.
pub(crate) fn fit<'p>(plan: &'p Plan, rules: &RuleArgs) -> Result<(), Failure> {
    let arms = plan.arms.iter().enumerate();
    let (baselines, compared): (Vec<_>, Vec<_>) = arms.partition(|(index, _)| plan.baselines.is(*index));
    let names =
        |arms: Vec<(usize, &'p Arm)>| arms.into_iter().map(|(_, arm)| arm.name.as_str()).collect::<Vec<_>>();
    rules::fit(rules, &names(compared), &names(baselines))
}

/// The plan of a stored run, with its paths where they were, and as much of it as was begun.
fn stored_plan(path: &Path, stored: &Stored) -> Result<Plan, Failure> {
    let origin = path.join(directory::PLAN).display().to_string();
    let base = Path::new(&stored.setup.base_dir);
    let plan = Plan::parse(&stored.setup.name, &origin, &stored.plan, base).map_err(Failure::usage)?;
    plan.of_extent(stored.setup.extent).ok_or_else(|| {
        Failure::usage(format!(
            "{origin}: this is not the plan that the run began with: how much of it was run?"
        ))
    })
}

/// Whatever ended the run: reports what was measured, then says what went wrong.
fn conclude(
    dir: &ResultsDir,
    result: Result<StoppedBy, RunError>,
    output: &OutputArgs,
    rules: &RuleArgs,
    interrupted: &AtomicBool,
) -> Result<Exit, Failure> {
    let interrupted = interrupted.load(Ordering::Relaxed);
    let failed = result.is_err() && !interrupted;
    let reported = show(dir, output, rules, failed);
    let mut ending = match &reported {
        Ok(exit) => *exit,
        Err(failure) => failure.exit,
    };
    if interrupted {
        terminal::note(match dir.has_begun() {
            true => "interrupted; what was measured is kept and can be gone on with by --resume",
            false => "interrupted before the first slice; nothing was measured",
        });
        ending = Exit::Interrupted;
    } else if let Err(error) = result {
        terminal::complain(&error.to_string());
        ending = Exit::Failed;
    }
    if let Err(failure) = reported {
        terminal::complain(&failure.message);
    }
    // Who presses Ctrl-C does not ask what servers had printed.
    if dir.has_begun() || (dir.has_logs() && !interrupted) {
        if !output.part {
            report::say_where(dir.path(), output.json);
        }
    } else {
        take_back(dir);
    }
    Ok(ending)
}

/// A directory into which nothing was measured.
pub(crate) fn take_back(dir: &ResultsDir) {
    if dir.take_back() {
        let _ = std::fs::remove_dir(RESULTS); // if it is empty now
    }
}

/// Prints the report and writes its files. Printed first: a full disk takes nothing from the reader.
fn show(dir: &ResultsDir, output: &OutputArgs, rules: &RuleArgs, failed: bool) -> Result<Exit, Failure> {
    if !dir.has_begun() {
        return Ok(Exit::Verdicts);
    }
    let mut stored = directory::load(dir.path()).map_err(Failure::failed)?;
    if failed {
        stored.stopped_by = StoppedBy::Failed; // a full disk does not take that either
    }
    let outputs = report::make(stored, rules, report::Files::Usual)?;
    if output.json {
        terminal::say(&outputs.json());
    } else if output.words() {
        terminal::say(&outputs.text);
    }
    outputs.write(dir)?;
    if output.words() {
        let of = |name: &str| dir.path().join(name).display().to_string();
        terminal::note(&format!("report: {}, of the plan {}", of("report.html"), of(directory::PLAN)));
    }
    outputs.say_lines();
    Ok(outputs.exit)
}

/// The directory that was asked for, or `bakeoff-results/NAME-TIME` in the current one. Of runs that begin in
/// the same second, which nobody asked to share a directory, the later have a number behind the time.
pub(crate) fn new_dir(asked: Option<&Path>, name: &str) -> Result<ResultsDir, Failure> {
    let made = match asked {
        Some(path) => ResultsDir::create(path),
        None => {
            let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
            first_free(&Path::new(RESULTS).join(format!("{name}-{now}")))
        }
    };
    made.map_err(|why| match why {
        DirectoryError::NotEmpty(_) => Failure::usage(why),
        other => Failure::failed(other),
    })
}

/// `PATH`, else `PATH-2` and so on.
fn first_free(path: &Path) -> Result<ResultsDir, DirectoryError> {
    let mut made = ResultsDir::create(path);
    for number in 2..=SAME_SECOND {
        let Err(DirectoryError::NotEmpty(_) | DirectoryError::InUse(_)) = &made else { break };
        made = ResultsDir::create(&PathBuf::from(format!("{}-{number}", path.display())));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_begin_in_the_same_second_have_a_directory_each() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("quickstart-20261123-010203");
        let taken: Vec<ResultsDir> = (0..3).map(|_| first_free(&path).unwrap()).collect();
        let names: Vec<&std::ffi::OsStr> = taken.iter().filter_map(|one| one.path().file_name()).collect();
        let numbered = ["", "-2", "-3"].map(|number| format!("quickstart-20261123-010203{number}"));
        assert_eq!(names, numbered.each_ref().map(std::ffi::OsStr::new));
    }
}
