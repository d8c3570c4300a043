//! Counted guests: `run`, `check`, `report` and `plans` where a plan is one, and what runs inside.

use super::plans::text_of;
use super::report::say_where;
use super::run::new_dir;
use crate::Failure;
use crate::args::{OutputArgs, ReportArgs, RunArgs, SetArgs};
use crate::exit::Exit;
use crate::terminal::{self, Console};
use bakeoff_experiment::directory::ResultsDir;
use bakeoff_experiment::environment::{Finding, Level};
use bakeoff_experiment::plan::changed;
use bakeoff_experiment::run::Progress as _;
use bakeoff_guest::directory::{self, Stored};
use bakeoff_guest::plan::GuestPlan;
use bakeoff_guest::{Counting, GuestError, Part, Progress, analyse, needs, shipped};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// What the executable does in a guest.
pub(crate) fn inside(words: impl Iterator<Item = OsString>) -> ExitCode {
    match bakeoff_guest::inside(words, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            terminal::say(&format!("E counted {why}")); // the console is all that leaves a guest
            Exit::Failed.into()
        }
    }
}

/// Whether a plan's text, or the shipped plan of this name, is one.
pub(crate) fn is_plan(name: &str) -> bool {
    text_of(name, shipped_text).ok().flatten().is_some_and(|(_, text)| bakeoff_guest::plan::is_one(&text))
}

/// Whether a directory was written by one.
pub(crate) fn is_directory(path: &Path) -> bool {
    directory::is_one(path)
}

/// For a command that is for experiments; `why` goes on after "a counted guest".
pub(crate) fn refuse_directory(path: &Path, why: &str) -> Result<(), Failure> {
    if !is_directory(path) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: a counted guest {why}; `bakeoff report` makes its figures again",
        path.display()
    )))
}

/// Names of the shipped plans.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    shipped::PLANS.iter().map(|plan| plan.name)
}

/// The text of the shipped plan of this name.
pub(crate) fn shipped_text(name: &str) -> Option<&'static str> {
    shipped::PLANS.iter().find(|plan| plan.name == name).map(|plan| plan.text)
}

/// A line a shipped plan.
pub(crate) fn list(width: usize) -> impl Iterator<Item = String> {
    shipped::PLANS.iter().map(move |plan| format!("{:<width$}{}", plan.name, plan.summary()))
}

fn parse(name: &str, set: &SetArgs, full: bool) -> Result<GuestPlan, Failure> {
    if set.budget.is_some() {
        return Err(Failure::usage(
            "--budget is for experiments; a guest counts until it has ended: fewer `boots` or `parts` make it shorter",
        ));
    }
    if !set.loads().is_empty() {
        return Err(Failure::usage(
            "--loads is for experiments; a guest counts instructions, and nobody loads it",
        ));
    }
    let Some((short, text)) = text_of(name, shipped_text)? else {
        return Err(Failure::usage(format!(
            "{name}: no such plan; `bakeoff plans` lists those that are shipped"
        )));
    };
    let (origin, text) = changed(name, &text, &set.settings()).map_err(Failure::usage)?;
    GuestPlan::parse(&short, &origin, &text, full).map_err(Failure::usage)
}

/// Checks a plan and says what it would do.
pub(crate) fn check(name: &str, set: &SetArgs) -> Result<Exit, Failure> {
    terminal::say(&parse(name, set, false)?.in_words());
    Ok(Exit::Verdicts)
}

/// Runs a plan into a new results directory.
pub(crate) fn run(name: &str, args: &RunArgs, interrupted: &AtomicBool) -> Result<Exit, Failure> {
    if !args.rules.fail_if.is_empty() {
        return Err(Failure::usage(
            "--fail-if is for experiments, which a counted guest is not; take it out",
        ));
    }
    let plan = parse(name, &args.set, args.full)?;
    let dir = new_dir(args.output.out.as_deref(), &plan.name)?;
    let mut watcher = Watcher(Console::new(&plan.name, args.output.quiet));
    let started = jiff::Timestamp::now().to_string();
    let counting = Counting { plan: &plan, started, cache: cache()?, interrupted };
    let result = counting.run(&dir, &mut watcher);
    watcher.0.finish();
    Ok(conclude(&dir, result, &args.output))
}

/// Kernels and policies are kept where the user's other caches are.
fn cache() -> Result<PathBuf, Failure> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    let base = base.ok_or_else(|| {
        Failure::failed("a guest's kernel and policy are kept in a cache, and neither XDG_CACHE_HOME nor HOME says where; set one")
    })?;
    Ok(base.join("bakeoff").join("guest"))
}

/// Whatever ended the run: reports what was counted, then says what went wrong.
fn conclude(dir: &ResultsDir, result: Result<(), GuestError>, output: &OutputArgs) -> Exit {
    let begun = is_directory(dir.path());
    let shown = if begun { show(dir, output) } else { Ok(Exit::Verdicts) };
    let mut ending = match &shown {
        Ok(exit) => *exit,
        Err(failure) => failure.exit,
    };
    match result {
        Ok(()) => {}
        Err(GuestError::Interrupted) => {
            terminal::note("interrupted; boots that had ended are kept");
            ending = Exit::Interrupted;
        }
        Err(error) => {
            terminal::complain(&error.to_string());
            ending = Exit::Failed;
        }
    }
    if let Err(failure) = shown {
        terminal::complain(&failure.message);
    }
    if begun {
        say_where(dir.path(), output.json);
    } else {
        dir.take_back();
    }
    ending
}

/// Makes every output of a directory again.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    if !args.rules.fail_if.is_empty() {
        return Err(Failure::usage(
            "--fail-if is for experiments, which a counted guest is not; take it out",
        ));
    }
    #[cfg(feature = "parquet")]
    if args.parquet {
        return Err(Failure::usage("--parquet is for slices, and a counted guest has none"));
    }
    let dir = ResultsDir::lock(&args.dir).map_err(Failure::failed)?;
    let exit = show(&dir, &OutputArgs::default())?;
    say_where(&args.dir, false);
    Ok(exit)
}

/// Prints the report, then writes its files.
fn show(dir: &ResultsDir, output: &OutputArgs) -> Result<Exit, Failure> {
    let stored: Stored = directory::load(dir.path()).map_err(Failure::failed)?;
    let results = analyse(&stored);
    let document = bakeoff_report::guest(&results, &stored.plan);
    let json = serde_json::to_string_pretty(&results).map_err(Failure::failed)? + "\n";
    if output.json {
        terminal::say(&json);
    } else if output.words() {
        terminal::say(&document.text(terminal::width(), terminal::colour()));
    }
    dir.write("results.json", json.as_bytes()).map_err(Failure::failed)?;
    dir.write("report.html", document.html().as_bytes()).map_err(Failure::failed)?;
    Ok(if results.invalid.is_some() { Exit::Invalid } else { Exit::Verdicts })
}

/// What `doctor` says of guests: nothing here spoils a count, but it may not be had.
pub(crate) fn finding() -> Finding {
    let needs = needs(&Part::ALL);
    let missing: Vec<_> = needs.iter().filter(|(_, found)| found.is_none()).map(|(need, _)| *need).collect();
    let programs: Vec<&str> = missing.iter().map(|need| need.program).collect();
    let here = cfg!(target_arch = "x86_64");
    let (level, found) = match (here, &programs[..]) {
        (false, _) => (Level::Note, format!("this is {}", std::env::consts::ARCH)),
        (true, []) => (Level::Ok, "everything that `run selinux` needs".to_owned()),
        (true, programs) => (Level::Note, format!("no {}", programs.join(", no "))),
    };
    if level == Level::Ok {
        let none = String::new;
        return Finding { name: "guest", level, found, wanted: none(), why: none(), how: none() };
    }
    let how = if here { bakeoff_guest::remedy(&missing) } else { "run it on an x86-64 machine".to_owned() };
    Finding {
        name: "guest",
        level,
        found,
        wanted: "QEMU and what builds a guest".to_owned(),
        why: "`bakeoff run selinux` boots a Debian kernel and counts its instructions".to_owned(),
        how,
    }
}

/// Shows how it goes.
struct Watcher(Console);

impl Progress for Watcher {
    fn stage(&mut self, words: &str) {
        self.0.stage(words);
    }
}
