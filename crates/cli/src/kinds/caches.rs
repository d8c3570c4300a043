//! Bake-offs of caches.
//!
//! Glue. Owns the flags that change such a plan, and its exit codes.

use super::{Around, Checked, Ended, Flags, Outputs, Planned, ReportRequest, RunKind, StudiedRun, shell};
use crate::Failure;
use crate::args::{CachesArgs, RuleArgs, SetArgs};
use crate::commands::resolve;
use crate::exit::Exit;
use crate::rules;
use crate::terminal::{self, Console};
use bakeoff_caches::directory::{self, BAKEOFF, StoredBakeoff};
use bakeoff_caches::plan::{CachePlan, Entrant, KEY, PlanChanges};
use bakeoff_caches::records::End;
use bakeoff_caches::results::{BakeoffResults, EntrantResults};
use bakeoff_caches::transactions::Encode;
use bakeoff_caches::{Bakeoff, BakeoffProgress, Takes, analyse, beside, shipped};
use bakeoff_experiment::run::RunProgress as _;
use bakeoff_loadgen::LocalAddresses;
use bakeoff_plan::PlanSource;
use bakeoff_plan::shipped::ShippedPlan;
use bakeoff_results::directory::{Layout, RESULTS, ResultsDir};
use bakeoff_results::entrant::{EntrantFigures, EntrantVerdict};
use bakeoff_robots::console::{ConsoleLine, Generation};
use bakeoff_robots::ledger::{Beat, LedgerRecord, RecordScope};
use bakeoff_subject::ProxyMode;
use bakeoff_units::Nanos;
use clap::Parser;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bake-offs of caches.
pub(super) struct BakeOff;

impl RunKind for BakeOff {
    fn noun(&self) -> &'static str {
        "a bake-off of caches"
    }

    fn layout(&self) -> &'static Layout {
        &BAKEOFF
    }

    fn shipped(&self) -> &'static [ShippedPlan] {
        shipped::PLANS
    }

    fn owns_plan(&self, source: &PlanSource) -> bool {
        source.has(KEY)
    }

    fn plan(&self, source: &PlanSource, flags: &Flags<'_>) -> Result<Box<dyn Planned>, Failure> {
        flags.demand_no_parts()?;
        if flags.full {
            return Err(Failure::usage(format!(
                "--full is for experiments, which {} is not; take it out",
                self.noun()
            )));
        }
        let plan = with(source, &changes(flags.caches)?, flags.set)?;
        let every = flags.caches.console_every;
        let lines = flags.caches.console.as_deref().and_then(|word| lines(word, every));
        let (flags, transactions) = (flags.caches.typed(), flags.caches.encode());
        Ok(Box::new(BakeOffPlan { plan, flags, transactions, lines }))
    }

    fn resume(&self, dir: &ResultsDir, around: &Around<'_>) -> Result<Option<Ended>, Failure> {
        let stored = directory::load(dir.path()).map_err(Failure::failed)?;
        let results = analyse(&stored).map_err(Failure::failed)?;
        rules::fit_entrants(around.rules, &known(&stored, &results))?;
        if stored.ended == Some(End::Complete) {
            return Ok(None);
        }
        let typed = Typed::of(&stored.setup.flags)?;
        let origin = dir.path().join(bakeoff_results::directory::PLAN).display().to_string();
        let plan = CachePlan::parse(&stored.setup.name, &origin, &stored.plan, &changes(&typed)?)
            .map_err(Failure::usage)?;
        if typed.encode().is_some() {
            return Err(Failure::usage(format!(
                "{}: it writes every request down (--transactions), and such a log cannot be gone on with; run it anew",
                dir.path().display()
            )));
        }
        let planned =
            BakeOffPlan { plan, flags: stored.setup.flags.clone(), transactions: None, lines: None };
        Ok(Some(planned.ended(around, |bakeoff, watcher| {
            bakeoff.resume(dir, stored, watcher).map_err(|why| why.to_string())
        })))
    }

    fn outputs(&self, dir: &ResultsDir, asked: &ReportRequest<'_>) -> Result<Outputs, Failure> {
        shell::demand_no_slices(asked, self.noun())?;
        print(&directory::load(dir.path()).map_err(Failure::failed)?, asked.rules)
    }

    fn studied(&self, dir: &Path) -> Result<Option<StudiedRun>, Failure> {
        let stored = directory::load(dir).map_err(Failure::failed)?;
        let results = analyse(&stored).map_err(Failure::failed)?;
        let Some(name) = results.study.clone() else { return Ok(None) };
        let Some(study) = bakeoff_plan::study::find(&name).map_err(Failure::failed)? else { return Ok(None) };
        let ended = results.ended == End::Complete;
        Ok(Some(StudiedRun {
            study: name,
            unfit: (!ended).then(|| format!("it ended early ({})", results.ended)),
            machine: bakeoff_results::machine(&results.facts),
            rows: beside(&results, &study),
            plan: results.name,
            text: stored.plan,
            flags: results.flags,
            started: results.started,
            bakeoff: results.bakeoff,
            warnings: results.warnings,
        }))
    }

    fn verified(&self, dir: &Path) -> Result<Checked, Failure> {
        shell::verified(dir, &BAKEOFF, directory::load(dir), |stored| {
            let read = format!("{} runs, {} intervals", stored.runs.len(), stored.intervals.len());
            Ok((read, stored.setup.bakeoff.clone(), print(&stored, &RuleArgs::default())?))
        })
    }
}

/// A plan of a bake-off, and how it is shown and written down.
struct BakeOffPlan {
    plan: CachePlan,
    /// As they were typed.
    flags: Vec<String>,
    transactions: Option<Encode>,
    lines: Option<ConsoleLines>,
}

impl BakeOffPlan {
    fn ended(
        &self,
        around: &Around<'_>,
        measure: impl FnOnce(&Bakeoff<'_>, &mut Watcher) -> Result<(), String>,
    ) -> Ended {
        let console = Console::new(&self.plan.name, around.output.quiet);
        let mut watcher = Watcher { console, lines: self.lines };
        let (flags, transactions) = (self.flags.clone(), self.transactions);
        let bakeoff = Bakeoff { plan: &self.plan, flags, transactions, interrupted: around.interrupted };
        let result = measure(&bakeoff, &mut watcher);
        watcher.console.finish();
        result.map(|()| Exit::Verdicts)
    }
}

impl Planned for BakeOffPlan {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn in_words(&self) -> String {
        let takes = Takes::of(&self.plan).map(|takes| format!("\n  takes {takes}"));
        self.plan.in_words() + &takes.unwrap_or_default()
    }

    fn fit(&self, rules: &RuleArgs) -> Result<(), Failure> {
        rules::fit_entrants(rules, &names(&self.plan))
    }

    fn run(&self, dir: &ResultsDir, around: &Around<'_>) -> Ended {
        self.ended(around, |bakeoff, watcher| bakeoff.run(dir, watcher).map_err(|why| why.to_string()))
    }
}

/// Flags of a bake-off, read again as a directory keeps them.
#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    caches: CachesArgs,
    /// One of those excludes it, and must have it to exclude.
    #[arg(long)]
    json: bool,
}

impl Typed {
    fn of(flags: &[String]) -> Result<CachesArgs, Failure> {
        let words = flags.iter().flat_map(|flag| flag.splitn(2, ' '));
        let typed = Self::try_parse_from(std::iter::once("bakeoff").chain(words));
        typed.map(|typed| typed.caches).map_err(Failure::usage)
    }
}

/// The plan of a bake-off that other commands use.
pub(crate) fn parse(name: &str, changes: &PlanChanges) -> Result<CachePlan, Failure> {
    with(&super::source(name)?, changes, &SetArgs::default())
}

/// A plan with what was set in it.
fn with(source: &PlanSource, changes: &PlanChanges, set: &SetArgs) -> Result<CachePlan, Failure> {
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
    let source = set.applied(source).map_err(Failure::usage)?;
    CachePlan::parse(&source.name, &source.origin, &source.text, changes).map_err(Failure::usage)
}

fn changes(args: &CachesArgs) -> Result<PlanChanges, Failure> {
    let mut entrants = args.products.clone();
    for (addresses, mode) in [(&args.proxies, ProxyMode::Forward), (&args.reverse, ProxyMode::Reverse)] {
        for address in addresses {
            entrants.push(Entrant::running(resolve(address)?, mode));
        }
    }
    Ok(PlanChanges {
        entrants,
        scale: args.scale,
        rate: args.rate,
        origin_port: args.origin_port,
        ports: args.source.ports,
        from: LocalAddresses::of(&args.source.from),
    })
}

/// Names of those that take part, as rules know them.
fn names(plan: &CachePlan) -> Vec<&str> {
    plan.entrants.iter().map(|entrant| entrant.name.as_str()).collect()
}

/// Names of those that took part or were to, as rules know them.
fn known<'s>(stored: &'s StoredBakeoff, results: &'s BakeoffResults) -> Vec<&'s str> {
    let measured = results.entrants.iter().map(|entrant| entrant.name.as_str());
    measured.chain(stored.setup.entrants.iter().map(String::as_str)).collect()
}

fn print(stored: &StoredBakeoff, asked: &RuleArgs) -> Result<Outputs, Failure> {
    let results = analyse(stored).map_err(Failure::failed)?;
    rules::fit_entrants(asked, &known(stored, &results))?;
    let json = serde_json::to_string_pretty(&results).map_err(Failure::failed)? + "\n";
    let document = bakeoff_report::caches(&results, &stored.plan, &stored.runs, &stored.intervals);
    let (exit, mut lines) = exit(&results);
    let figures: Vec<EntrantFigures> = results.entrants.iter().map(figures).collect();
    let (rulings, exit) = rules::judge_entrants(asked, &figures, exit);
    lines.extend(rulings);
    Ok(Outputs {
        exit,
        lines,
        files: vec![(RESULTS, json.into_bytes()), ("report.html", document.html().into_bytes())],
        document,
    })
}

fn figures(entrant: &EntrantResults) -> EntrantFigures {
    EntrantFigures {
        name: entrant.name.clone(),
        verdict: entrant.verdict,
        faults: entrant.accusations(),
        sentence: entrant.sentence.clone(),
    }
}

/// Exit 8 if an entrant cheated, 9 if it gave what it must not at any count, with a line that says which. Else as far as
/// they came.
fn exit(results: &BakeoffResults) -> (Exit, Vec<String>) {
    let (mut ended, mut lines) = finished(results);
    for (verdict, what) in [
        (EntrantVerdict::Cheat, "cheated"),
        (EntrantVerdict::Leak, "gave what was private to others"),
        (EntrantVerdict::WrongContent, "gave other bytes or objects than were asked for"),
    ] {
        let of_it = results.entrants.iter().filter(|entrant| entrant.verdict == verdict);
        let names: Vec<&str> = of_it.map(|entrant| entrant.name.as_str()).collect();
        if !names.is_empty() {
            lines.push(format!("bakeoff: {what}: {}", names.join(", ")));
            ended = Exit::of_entrant(verdict).map_or(ended, |exit| ended.or_worse(exit));
        }
    }
    (ended, lines)
}

/// Exit 4 if an entrant has no result, 3 if none has, with a line that says so. A bake-off that was broken off ends as it
/// was broken off.
fn finished(results: &BakeoffResults) -> (Exit, Vec<String>) {
    if results.ended != End::Complete {
        return (Exit::Verdicts, Vec::new());
    }
    let all = results.entrants.len();
    let nothing = results.entrants.iter().filter(|entrant| entrant.points.is_empty()).count();
    let unfinished = |entrant: &&EntrantResults| entrant.failed.is_some() || entrant.points.is_empty();
    let unfinished = results.entrants.iter().filter(unfinished).count();
    if nothing == all {
        let line = "bakeoff: no rate was measured: none of those that took part went so far";
        (Exit::Failed, vec![line.to_owned()])
    } else if unfinished > 0 {
        let line = format!("bakeoff: {unfinished} of {all} that took part did not finish");
        (Exit::Invalid, vec![line])
    } else {
        (Exit::Verdicts, Vec::new())
    }
}

/// The console's lines: their columns, and how often there is one.
#[derive(Clone, Copy)]
pub(crate) struct ConsoleLines {
    generation: Generation,
    /// `None`: each interval.
    every: Option<Beat>,
}

/// The lines that a word means.
pub(crate) fn lines(word: &str, every: Option<Beat>) -> Option<ConsoleLines> {
    let generation = match word {
        "polygraph" => Generation::Polygraph4,
        "polygraph-1" => Generation::Polygraph1,
        _ => return None,
    };
    Some(ConsoleLines { generation, every })
}

/// Shows how it goes.
pub(crate) struct Watcher {
    pub(crate) console: Console,
    pub(crate) lines: Option<ConsoleLines>,
}

impl BakeoffProgress for Watcher {
    fn stage(&mut self, words: &str) {
        self.console.stage(words);
    }

    fn record(&mut self, record: &LedgerRecord) {
        let Some(ConsoleLines { generation, every }) = self.lines else { return };
        let other = if every.is_some() { RecordScope::Interval } else { RecordScope::Beat };
        // What is still under way after the last phase is in none.
        if record.phase.is_empty() || record.scope == other {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began = Nanos::from_duration(now).since(Nanos::new(record.ended_ns));
        let open = record.sums.in_flight.last.max(0) as u64;
        terminal::say(&ConsoleLine::of(record, Nanos::new(began.get()), open).text(generation));
    }

    fn beat(&self) -> Option<Beat> {
        self.lines?.every
    }
}

#[cfg(test)]
mod tests;
