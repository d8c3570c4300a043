//! Bake-offs of caches: `run`, `check`, `report` and `plans` where a plan is one.

use super::plans::text_of;
use super::report::say_where;
use super::robots::resolve;
use super::run::new_dir;
use crate::Failure;
use crate::args::{CachesArgs, OutputArgs, ReportArgs, RuleArgs, RunArgs, SetArgs};
use crate::exit::Exit;
use crate::terminal::{self, Console};
use bakeoff_caches::directory::{self, Stored};
use bakeoff_caches::plan::{CachePlan, Changes, Entrant};
use bakeoff_caches::records::End;
use bakeoff_caches::results::{Entrant as Outcome, Results};
use bakeoff_caches::{Bakeoff, CachesError, Progress, Takes, analyse, shipped};
use bakeoff_experiment::directory::ResultsDir;
use bakeoff_experiment::plan::changed;
use bakeoff_experiment::run::Progress as _;
use bakeoff_loadgen::LocalAddresses;
use bakeoff_robots::console::{Generation, Line};
use bakeoff_robots::ledger::Record;
use bakeoff_subject::ProxyMode;
use bakeoff_units::Nanos;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Whether a plan's text, or the shipped plan of this name, is one.
pub(crate) fn is_plan(name: &str) -> bool {
    // What cannot be read is said by whoever reads it next.
    text_of(name, shipped_text).ok().flatten().is_some_and(|(_, text)| bakeoff_caches::plan::is_one(&text))
}

/// Whether a directory was written by one.
pub(crate) fn is_directory(path: &Path) -> bool {
    directory::is_one(path)
}

/// For a command that is for experiments; `why` goes on after "a bake-off of caches".
pub(crate) fn refuse_directory(path: &Path, why: &str) -> Result<(), Failure> {
    if !is_directory(path) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: a bake-off of caches {why}; `bakeoff report` makes its figures again, `bakeoff extract` prints them",
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

pub(super) fn parse(name: &str, changes: &Changes) -> Result<CachePlan, Failure> {
    with(name, changes, &SetArgs::default())
}

/// Whether a plan is good with what was set in it.
pub(super) fn with_settings(name: &str, set: &SetArgs) -> Result<(), Failure> {
    with(name, &Changes::default(), set).map(|_| ())
}

/// The same with what was set in it.
fn with(name: &str, changes: &Changes, set: &SetArgs) -> Result<CachePlan, Failure> {
    if set.budget.is_some() {
        return Err(Failure::usage(
            "--budget is for experiments; a bake-off of caches takes as long as its phases: --scale 1/60 makes them shorter",
        ));
    }
    if !set.loads().is_empty() {
        return Err(Failure::usage(
            "--loads is for experiments; the phases of a bake-off of caches say at which rates it measures",
        ));
    }
    let Some((short, text)) = text_of(name, shipped_text)? else {
        return Err(Failure::usage(format!(
            "{name}: no such plan; `bakeoff plans` lists those that are shipped"
        )));
    };
    let (origin, text) = changed(name, &text, &set.settings()).map_err(Failure::usage)?;
    CachePlan::parse(&short, &origin, &text, changes).map_err(Failure::usage)
}

fn changes(args: &CachesArgs) -> Result<Changes, Failure> {
    let mut entrants = args.products.clone();
    for (addresses, mode) in [(&args.proxies, ProxyMode::Forward), (&args.reverse, ProxyMode::Reverse)] {
        for address in addresses {
            entrants.push(Entrant::running(resolve(address)?, mode));
        }
    }
    Ok(Changes {
        entrants,
        scale: args.scale,
        rate: args.rate,
        origin_port: args.origin_port,
        ports: args.source.ports,
        from: LocalAddresses::of(&args.source.from),
    })
}

/// Flags that only experiments have: none is taken and then not looked at.
fn refuse(rules: &RuleArgs, others: &[(bool, &str)]) -> Result<(), Failure> {
    let rule = (!rules.fail_if.is_empty(), "--fail-if");
    match std::iter::once(&rule).chain(others).find(|(given, _)| *given) {
        Some((_, flag)) => Err(Failure::usage(format!(
            "{flag} is for experiments, which a bake-off of caches is not; take it out"
        ))),
        None => Ok(()),
    }
}

/// Checks a plan and says what it would do.
pub(crate) fn check(name: &str, set: &SetArgs) -> Result<Exit, Failure> {
    let plan = with(name, &Changes::default(), set)?;
    let takes = Takes::of(&plan).map(|takes| format!("\n  takes {takes}"));
    terminal::say(&(plan.in_words() + &takes.unwrap_or_default()));
    Ok(Exit::Verdicts)
}

/// Runs a plan into a new results directory.
pub(crate) fn run(name: &str, args: &RunArgs, interrupted: &AtomicBool) -> Result<Exit, Failure> {
    refuse(&args.rules, &[(args.full, "--full")])?;
    let changes = changes(&args.caches)?;
    let plan = with(name, &changes, &args.set)?;
    let dir = new_dir(args.output.out.as_deref(), &plan.name)?;
    let mut watcher = Watcher {
        console: Console::new(&plan.name, args.output.quiet),
        lines: args.caches.console.as_deref().and_then(generation),
    };
    let (flags, transactions) = (args.caches.typed(), args.caches.encode());
    let bakeoff = Bakeoff { plan: &plan, flags, transactions, interrupted };
    let result = bakeoff.run(&dir, &mut watcher);
    watcher.console.finish();
    Ok(conclude(&dir, result, &args.output, interrupted))
}

/// Whatever ended the run: reports what was measured, then says what went wrong, the run's own error first.
fn conclude(
    dir: &ResultsDir,
    result: Result<(), CachesError>,
    output: &OutputArgs,
    interrupted: &AtomicBool,
) -> Exit {
    let shown = if is_directory(dir.path()) { show(dir, output) } else { Ok(Exit::Verdicts) };
    let mut ending = match &shown {
        Ok(exit) => *exit,
        Err(failure) => failure.exit,
    };
    match result {
        Ok(()) => (),
        Err(_) if interrupted.load(Ordering::Relaxed) => {
            terminal::note("interrupted; what was measured is kept");
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
    if !output.part {
        say_where(dir.path(), output.json);
    }
    ending
}

/// `report` without the flags that only experiments have.
pub(super) fn demand_plain(args: &ReportArgs) -> Result<(), Failure> {
    #[cfg(feature = "parquet")]
    let others = [(args.parquet, "--parquet")];
    #[cfg(not(feature = "parquet"))]
    let others = [];
    refuse(&args.rules, &others)
}

/// Makes every output of a directory again.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    demand_plain(args)?;
    let exit = again(&args.dir, &OutputArgs::default())?;
    say_where(&args.dir, false);
    Ok(exit)
}

/// The same of a part of a suite, which says at its end where all is.
pub(super) fn again(dir: &Path, output: &OutputArgs) -> Result<Exit, Failure> {
    show(&ResultsDir::lock(dir).map_err(Failure::failed)?, output)
}

/// What a part of a suite came to that was begun before: one that was broken off is not gone on with.
pub(super) fn begun(dir: &Path, output: &OutputArgs) -> Result<Exit, Failure> {
    let locked = ResultsDir::lock(dir).map_err(Failure::failed)?;
    let stored = directory::load(dir).map_err(Failure::failed)?;
    match stored.ended {
        Some(End::Complete) => shown(&locked, &stored, output),
        other => Err(Failure::failed(format!(
            "{}: a bake-off of caches that was broken off ({}) is not gone on with; without this directory it is run anew",
            dir.display(),
            other.unwrap_or(End::Killed)
        ))),
    }
}

/// Prints the report, then writes its files.
pub(super) fn show(dir: &ResultsDir, output: &OutputArgs) -> Result<Exit, Failure> {
    shown(dir, &directory::load(dir.path()).map_err(Failure::failed)?, output)
}

fn shown(dir: &ResultsDir, stored: &Stored, output: &OutputArgs) -> Result<Exit, Failure> {
    let results = analyse(stored).map_err(Failure::failed)?;
    let document = bakeoff_report::caches(&results, &stored.plan, &stored.runs, &stored.intervals);
    let json = serde_json::to_string_pretty(&results).map_err(Failure::failed)? + "\n";
    if output.json {
        terminal::say(&json);
    } else if output.words() {
        terminal::say(&document.text(terminal::width(), terminal::colour()));
    }
    dir.write("results.json", json.as_bytes()).map_err(Failure::failed)?;
    dir.write("report.html", document.html().as_bytes()).map_err(Failure::failed)?;
    Ok(exit(&results))
}

/// That somebody gave no figure, or nobody did, is said by the exit code too. What was broken off ends as it
/// was broken off.
fn exit(results: &Results) -> Exit {
    if results.ended != End::Complete {
        return Exit::Verdicts;
    }
    let all = results.entrants.len();
    let nothing = results.entrants.iter().filter(|entrant| entrant.points.is_empty()).count();
    let unfinished = |entrant: &&Outcome| entrant.failed.is_some() || entrant.points.is_empty();
    let unfinished = results.entrants.iter().filter(unfinished).count();
    if nothing == all {
        terminal::complain("no rate was measured: none of those that took part went so far");
        Exit::Failed
    } else if unfinished > 0 {
        terminal::complain(&format!("{unfinished} of {all} that took part did not finish"));
        Exit::Invalid
    } else {
        Exit::Verdicts
    }
}

/// Which columns a word means.
pub(super) fn generation(word: &str) -> Option<Generation> {
    match word {
        "polygraph" => Some(Generation::Polygraph4),
        "polygraph-1" => Some(Generation::Polygraph1),
        _ => None,
    }
}

/// Shows how it goes.
pub(super) struct Watcher {
    pub(super) console: Console,
    pub(super) lines: Option<Generation>,
}

impl Progress for Watcher {
    fn stage(&mut self, words: &str) {
        self.console.stage(words);
    }

    fn record(&mut self, record: &Record) {
        // What is still under way after the last phase is in none.
        let Some(generation) = self.lines.filter(|_| !record.phase.is_empty()) else { return };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began = Nanos::from_duration(now).since(Nanos::new(record.ended_ns));
        let open = record.sums.in_flight.last.max(0) as u64;
        terminal::say(&Line::of(record, Nanos::new(began.get()), open).text(generation));
    }
}
