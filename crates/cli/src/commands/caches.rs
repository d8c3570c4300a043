//! Bake-offs of caches: `run`, `check`, `report` and `plans` where a plan is one.

use super::report::say_where;
use super::run::default_dir;
use crate::Failure;
use crate::args::{CachesArgs, RunArgs};
use crate::exit::Exit;
use crate::terminal::{self, Console};
use bakeoff_caches::directory::{self, Stored};
use bakeoff_caches::plan::{CachePlan, Changes, Entrant};
use bakeoff_caches::{Bakeoff, Progress, analyse, shipped};
use bakeoff_experiment::directory::{DirectoryError, ResultsDir};
use bakeoff_experiment::run::Progress as _;
use bakeoff_report::{caches_html, caches_text};
use bakeoff_robots::console::{Generation, Line};
use bakeoff_robots::ledger::Record;
use bakeoff_subject::ProxyMode;
use bakeoff_units::Nanos;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Whether a plan's text, or the shipped plan of this name, is one.
pub(crate) fn is_plan(name: &str) -> bool {
    text(name).is_some_and(|(_, text)| bakeoff_caches::plan::is_one(&text))
}

/// Whether a directory was written by one.
pub(crate) fn is_directory(path: &Path) -> bool {
    directory::is_one(path)
}

/// Names of the shipped plans.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    shipped::PLANS.iter().map(|plan| plan.name)
}

/// A line a shipped plan.
pub(crate) fn list(width: usize) -> impl Iterator<Item = String> {
    shipped::PLANS.iter().map(move |plan| format!("{:<width$}{}", plan.name, plan.summary()))
}

/// Its name and text; a file wins.
fn text(name: &str) -> Option<(String, String)> {
    let path = Path::new(name);
    if let Ok(text) = std::fs::read_to_string(path) {
        let stem = path.file_stem().map_or(name.to_owned(), |stem| stem.to_string_lossy().into_owned());
        return Some((stem, text));
    }
    shipped::PLANS
        .iter()
        .find(|plan| plan.name == name)
        .map(|plan| (plan.name.to_owned(), plan.text.to_owned()))
}

pub(super) fn parse(name: &str, changes: &Changes) -> Result<CachePlan, Failure> {
    let Some((short, text)) = text(name) else {
        return Err(Failure::usage(format!(
            "{name}: no such plan; `bakeoff plans` lists those that are shipped"
        )));
    };
    CachePlan::parse(&short, name, &text, changes).map_err(Failure::usage)
}

fn changes(args: &CachesArgs) -> Changes {
    let mut entrants = args.products.clone();
    entrants.extend(args.proxies.iter().map(|address| Entrant::running(*address, ProxyMode::Forward)));
    entrants.extend(args.reverse.iter().map(|address| Entrant::running(*address, ProxyMode::Reverse)));
    Changes { entrants, scale: args.scale, rate: args.rate, origin_port: args.origin_port }
}

/// Checks a plan and says what it would do.
pub(crate) fn check(name: &str) -> Result<Exit, Failure> {
    let plan = parse(name, &Changes::default())?;
    terminal::say(&plan.in_words());
    Ok(Exit::Verdicts)
}

/// Runs a plan into a new results directory.
pub(crate) fn run(name: &str, args: &RunArgs, interrupted: &AtomicBool) -> Result<Exit, Failure> {
    let changes = changes(&args.caches);
    let plan = parse(name, &changes)?;
    let path = args.output.out.clone().unwrap_or_else(|| default_dir(&plan.name));
    let dir = ResultsDir::create(&path).map_err(|why| match why {
        DirectoryError::NotEmpty(_) => Failure::usage(why),
        other => Failure::failed(other),
    })?;
    let mut watcher = Watcher {
        console: Console::new(&plan.name, args.output.quiet),
        lines: args.caches.console.as_deref().and_then(generation),
    };
    let bakeoff = Bakeoff { plan: &plan, flags: args.caches.typed(), interrupted };
    let result = bakeoff.run(&dir, &mut watcher);
    watcher.console.finish();
    let shown = if is_directory(&path) { show(&dir, args.output.quiet) } else { Ok(()) };
    say_where(&path);
    shown?;
    match result {
        Ok(()) => Ok(Exit::Verdicts),
        Err(_) if interrupted.load(Ordering::Relaxed) => {
            terminal::note("interrupted; what was measured is kept");
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(Failure::failed(error)),
    }
}

/// Makes every output of a directory again.
pub(crate) fn report(path: &Path) -> Result<Exit, Failure> {
    let dir = ResultsDir::lock(path).map_err(Failure::failed)?;
    show(&dir, false)?;
    say_where(path);
    Ok(Exit::Verdicts)
}

/// Prints the report, then writes its files.
fn show(dir: &ResultsDir, quiet: bool) -> Result<(), Failure> {
    let stored: Stored = directory::load(dir.path()).map_err(Failure::failed)?;
    let results = analyse(&stored).map_err(Failure::failed)?;
    if !quiet {
        terminal::say(&caches_text(&results, terminal::width(), terminal::colour()));
    }
    let mut json = serde_json::to_vec_pretty(&results).map_err(Failure::failed)?;
    json.push(b'\n');
    dir.write("results.json", &json).map_err(Failure::failed)?;
    dir.write("report.html", caches_html(&results, &stored.plan).as_bytes()).map_err(Failure::failed)
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
