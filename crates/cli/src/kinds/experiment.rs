//! Experiments: arms compared in rounds, or searched for their peaks.
//!
//! Glue. Owns what `check` says of a plan and which files a run leaves.

#[cfg(test)]
mod agreement;

use super::{
    Around, Checked, Ended, Flags, Outputs, Planned, ReportRequest, RunKind, Size, StudiedRun, shell,
};
use crate::args::{CompareResultsArgs, RuleArgs};
use crate::exit::Exit;
use crate::terminal::Console;
use crate::{Failure, rules, terminal};
use bakeoff_analysis::between::{Between, RequestedComparison, between};
use bakeoff_analysis::rule::Rule;
use bakeoff_analysis::{analyse, verify};
use bakeoff_experiment::run::{Generators, Run, refusal, roll_call};
use bakeoff_plan::shipped::{self, ShippedPlan};
use bakeoff_plan::{Arm, ExperimentGoal, Extent, PeakPlan, Plan, PlanSource, Work};
use bakeoff_report::ReportInput;
use bakeoff_results::directory::{
    self, EXPERIMENT, Layout, PLAN, RESULTS, ResultsDir, StoppedBy, StoredExperiment,
};
use bakeoff_results::{NOT_MEASURED, PlaceSetup, Results};
use bakeoff_stats::{Margin, Verdict};
use bakeoff_units::{Clock, MonotonicClock, Nanos, Ratio};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The table of slices with types and units.
const SLICES_PARQUET: &str = "slices.parquet";

/// Experiments.
pub(super) struct Experiment;

impl RunKind for Experiment {
    fn noun(&self) -> &'static str {
        "an experiment"
    }

    fn layout(&self) -> &'static Layout {
        &EXPERIMENT
    }

    fn shipped(&self) -> &'static [ShippedPlan] {
        shipped::PLANS
    }

    fn extent(&self, plan: ShippedPlan) -> Result<Option<String>, Failure> {
        let plan = Plan::of(&PlanSource::shipped(plan)).map_err(Failure::usage)?;
        let full = plan.full.as_ref();
        Ok(full.map(|full| format!("sample: {}; --full: {}", extent(&plan), extent(full))))
    }

    fn owns_plan(&self, _source: &PlanSource) -> bool {
        true
    }

    fn plan(&self, source: &PlanSource, flags: &Flags<'_>) -> Result<Box<dyn Planned>, Failure> {
        flags.demand_none_of_others()?;
        let changed = flags.set.applied(source).map_err(Failure::usage)?;
        let plan = Plan::of(&changed).map_err(Failure::usage)?;
        let is_sample = plan.full.is_some();
        let budgets = [plan.budget, plan.full.as_ref().map_or(plan.budget, |full| full.budget)];
        let plan = if flags.full { whole(plan, source.called())? } else { plan };
        let budgets = Some(budgets.map(Nanos::get));
        let size = Size { budgets, is_sample, has_loads: plan.loads.is_some() };
        Ok(Box::new(ExperimentPlan { plan, size }))
    }

    fn resume(&self, dir: &ResultsDir, around: &Around<'_>) -> Result<Option<Ended>, Failure> {
        let clock = MonotonicClock::new();
        let began = clock.now();
        let stored = directory::load(dir.path()).map_err(Failure::usage)?;
        let plan = stored_plan(dir.path(), &stored)?;
        fit(&plan, around.rules)?;
        if matches!(stored.stopped_by, StoppedBy::Verdicts | StoppedBy::Rounds) {
            return Ok(None);
        }
        let generators = Generators::of_setup(&stored.setup).map_err(Failure::usage)?;
        let mut console = Console::new(&plan.name, around.output.quiet);
        let run = Run {
            plan: &plan,
            dir,
            command_line: String::new(),
            began,
            clock,
            interrupted: around.interrupted,
            quantiles: false,
            generators: &generators,
        };
        let result = run.resume(stored, &mut console);
        console.finish();
        Ok(Some(result.map(|_| Exit::Verdicts).map_err(|why| why.to_string())))
    }

    fn outputs(&self, dir: &ResultsDir, asked: &ReportRequest<'_>) -> Result<Outputs, Failure> {
        let mut stored = directory::load(dir.path()).map_err(Failure::usage)?;
        if asked.failed {
            stored.stopped_by = StoppedBy::Failed; // a full disk does not take that either
        }
        let (compared, baselines): (Vec<&str>, Vec<&str>) =
            (stored.setup.judged().collect(), stored.setup.baselines().collect());
        rules::fit(asked.rules, &compared, &baselines)?;
        if asked.parquet && stored.slices.is_empty() {
            return Err(Failure::usage("--parquet is for slices, and this run has none"));
        }
        let results = analyse::analyse(&stored).map_err(Failure::failed)?;
        let (mut lines, exit) = rules::judge(asked.rules, &results, exit(&results));
        lines.splice(..0, invalid_arms(&results));
        if has_no_round(&results) {
            lines.push("bakeoff: the budget ended before the first round was complete: nothing is known; give a larger one".to_owned());
        }
        Ok(Outputs { lines, exit, ..print(stored, results, asked.parquet) })
    }

    fn verified(&self, dir: &Path) -> Result<Checked, Failure> {
        let (verified, again) = verify::experiment(dir).map_err(Failure::usage)?;
        let wrote = again.as_ref().map(|(stored, _)| stored.setup.bakeoff.clone()).unwrap_or_default();
        let parquet = dir.join(SLICES_PARQUET).exists();
        let outputs = again.map(|(stored, results)| print(stored, results, parquet));
        Ok(Checked { verified, wrote, outputs })
    }

    fn between(&self, old: &Path, new: &Path, args: &CompareResultsArgs) -> Result<Option<Between>, Failure> {
        let [old, new] = [old, new].map(|dir| directory::load(dir).map_err(Failure::usage));
        let wanted =
            RequestedComparison { arm: args.arm.clone(), meters: args.meters.clone(), anyway: args.anyway };
        between(&old?, &new?, &wanted).map(Some).map_err(Failure::usage)
    }

    fn bundle(&self, dir: &Path) -> Result<Option<ReportInput>, Failure> {
        let stored = directory::load(dir).map_err(Failure::failed)?;
        let results = analyse::analyse(&stored).map_err(Failure::failed)?;
        Ok(Some(bundle(stored, results)))
    }

    fn studied(&self, dir: &Path) -> Result<Option<StudiedRun>, Failure> {
        Ok(self.bundle(dir)?.and_then(studied))
    }
}

/// A plan of an experiment, as much of it as will be run.
struct ExperimentPlan {
    plan: Plan,
    size: Size,
}

impl Planned for ExperimentPlan {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn in_words(&self) -> String {
        in_words(&self.plan)
    }

    fn here(&self) -> Result<(), Failure> {
        let cores = bakeoff_sys::affinity::allowed().map_err(Failure::failed)?;
        self.plan.here(&cores).map_err(Failure::usage)
    }

    fn demand_fit_for(&self, generators: &Generators) -> Result<(), Failure> {
        refusal(&self.plan, generators).map_or(Ok(()), |why| Err(Failure::usage(why)))
    }

    fn roll_call(&self, generators: &Generators, interrupted: &AtomicBool) -> Result<Vec<String>, Failure> {
        let places = roll_call(&self.plan, generators, interrupted).map_err(Failure::failed)?;
        let of: u32 = places.iter().map(|place| place.lanes).sum();
        let line = |(number, place): (usize, &PlaceSetup)| {
            let PlaceSetup { host, place, first_lane, lanes, round_trip_ns, .. } = place;
            let away = round_trip_ns.map_or_else(String::new, |ns| format!(", {} away", Nanos::new(ns)));
            let last = first_lane + lanes - 1;
            format!("  generator {number}: {host}, by {place}{away}, lanes {first_lane} to {last} of {of}")
        };
        Ok((1..).zip(&places).map(line).collect())
    }

    fn fit(&self, rules: &RuleArgs) -> Result<(), Failure> {
        fit(&self.plan, rules)
    }

    fn size(&self) -> Size {
        self.size
    }

    fn run(&self, dir: &ResultsDir, around: &Around<'_>) -> Ended {
        let clock = MonotonicClock::new();
        let mut console = Console::new(&self.plan.name, around.output.quiet);
        let quantiles = around.rules.fail_if.iter().any(Rule::is_about_a_quantile);
        let run = Run {
            plan: &self.plan,
            dir,
            command_line: around.output.far.clone().unwrap_or_else(terminal::command_line),
            began: clock.now(),
            clock,
            interrupted: around.interrupted,
            quantiles,
            generators: around.generators,
        };
        let result = run.start(&mut console);
        console.finish();
        result.map(|_| Exit::Verdicts).map_err(|why| why.to_string())
    }
}

/// Runs a plan that was made from a command line.
pub(crate) fn run(plan: Plan, around: &Around<'_>) -> Result<Exit, Failure> {
    let plan = ExperimentPlan { plan, size: Size::default() };
    shell::run(&Experiment, &plan, around)
}

/// The whole of a plan that states a sample.
fn whole(plan: Plan, called: &str) -> Result<Plan, Failure> {
    plan.of_extent(Some(Extent::Full)).ok_or_else(|| {
        Failure::usage(format!(
            "--full: the plan {called} states no sample, so it is always run whole; take the flag out, or give \
             `budget`, `max_rounds` or `slice_requests` two values: {{ sample = X, full = Y }}"
        ))
    })
}

/// The plan of a stored run, with its paths where they were, and as much of it as was begun.
fn stored_plan(path: &Path, stored: &StoredExperiment) -> Result<Plan, Failure> {
    let origin = path.join(PLAN).display().to_string();
    let base = Path::new(&stored.setup.base_dir);
    let plan = Plan::parse(&stored.setup.name, &origin, &stored.plan, base).map_err(Failure::usage)?;
    plan.of_extent(stored.setup.extent).ok_or_else(|| {
        Failure::usage(format!(
            "{origin}: this is not the plan that the run began with: how much of it was run?"
        ))
    })
}

/// Whether the rules are about arms of the plan, before anything is measured.
fn fit<'p>(plan: &'p Plan, rules: &RuleArgs) -> Result<(), Failure> {
    let arms = plan.arms.iter().enumerate();
    let (baselines, compared): (Vec<_>, Vec<_>) = arms.partition(|(index, _)| plan.baselines.is(*index));
    let names =
        |arms: Vec<(usize, &'p Arm)>| arms.into_iter().map(|(_, arm)| arm.name.as_str()).collect::<Vec<_>>();
    rules::fit(rules, &names(compared), &names(baselines))
}

fn bundle(stored: StoredExperiment, results: Results) -> ReportInput {
    ReportInput { results, setup: stored.setup, slices: stored.slices, plan: stored.plan }
}

/// A run beside its study, as far as it has one.
fn studied(bundle: ReportInput) -> Option<StudiedRun> {
    let results = bundle.results;
    let study = results.study?;
    let ended =
        [StoppedBy::Interrupted, StoppedBy::Failed].iter().all(|why| results.stopped_by != why.as_str());
    Some(StudiedRun {
        study: study.name,
        plan: results.name,
        text: bundle.plan,
        flags: super::whole(results.extent),
        unfit: (!ended || results.rounds == 0).then(|| format!("it ended early ({})", results.stopped_by)),
        started: results.started,
        bakeoff: results.bakeoff,
        machine: results.environment.machine(),
        warnings: results.warnings.into_iter().map(|warning| warning.label).collect(),
        rows: study.rows,
    })
}

fn print(stored: StoredExperiment, results: Results, parquet: bool) -> Outputs {
    let exit = exit(&results);
    let bundle = bundle(stored, results);
    let table = match &bundle.results.peak {
        Some(peak) => ("trials.csv", bakeoff_report::trials_csv(peak).into_bytes()),
        None => ("slices.csv", bakeoff_report::csv(&bundle).into_bytes()),
    };
    let document = bakeoff_report::experiment(&bundle);
    let mut files = vec![
        (RESULTS, bakeoff_report::json(&bundle.results).into_bytes()),
        table,
        ("report.html", document.html().into_bytes()),
    ];
    #[cfg(feature = "parquet")]
    files.extend(parquet.then(|| (SLICES_PARQUET, bakeoff_report::parquet(&bundle))));
    #[cfg(not(feature = "parquet"))]
    let _ = parquet; // the flag is not there either
    Outputs { document, exit, lines: Vec::new(), files }
}

/// A line for each arm whose figures are worth nothing, with its reason: the rest may be in no terminal.
fn invalid_arms(results: &Results) -> Vec<String> {
    let reason = |(name, arm): (&String, &bakeoff_results::ArmResult)| {
        arm.invalid.as_ref().map(|why| format!("bakeoff: {name} is invalid: {why}"))
    };
    results.arms.iter().filter_map(reason).collect()
}

fn exit(results: &Results) -> Exit {
    let invalid = |row: &&bakeoff_results::Comparison| row.primary && row.verdict == Verdict::Invalid;
    let peaks = results.peak.iter().flat_map(|peak| peak.arms.values());
    let not_measured = peaks.into_iter().any(|arm| arm.finding == NOT_MEASURED);
    if not_measured || has_no_round(results) || results.comparisons.iter().any(|row| invalid(&row)) {
        Exit::Invalid
    } else {
        Exit::Verdicts
    }
}

/// Whether the budget was too small for a single round.
fn has_no_round(results: &Results) -> bool {
    results.peak.is_none() && results.rounds == 0 && results.stopped_by == StoppedBy::Budget.as_str()
}

/// That it is good, and what it would do.
fn in_words(plan: &Plan) -> String {
    let said = match &plan.kind {
        ExperimentGoal::Compare => comparison(plan),
        ExperimentGoal::Peak(peak) => search(plan, peak),
    };
    let mut said = format!("{}: good\n{said}, seed {}", plan.name, plan.seed);
    if let Some(full) = &plan.full {
        said += &format!("\n  a sample: {}\n  with --full: {}", extent(plan), extent(full));
    }
    for (arm, need) in &plan.left_out {
        said += &format!("\n  left out here: {arm}, for {need}");
    }
    said
}

fn comparison(plan: &Plan) -> String {
    let load = match &plan.work {
        Work::Requests(work) => format!("{}, {}", work.kind(), plan.load_in_words()),
        Work::Command(_) => "command".to_owned(),
        Work::Calls(work) => {
            format!("calls, {} operations, batches of {}", work.operations.len(), work.batch)
        }
        Work::Files(work) => {
            let operations: Vec<&str> = work.operations.iter().map(|operation| operation.as_str()).collect();
            format!("files, {}, {}", operations.join(", "), work.cache.as_str())
        }
    };
    format!(
        "  workload: {load}\n  arms: {} ({})\n  margin {}, budget {}, at most {} rounds",
        arms(plan),
        baselines(plan),
        margin(plan.margin),
        plan.budget,
        plan.max_rounds
    )
}

fn search(plan: &Plan, peak: &PeakPlan) -> String {
    let kind = match &plan.work {
        Work::Requests(work) => work.kind(),
        Work::Command(_) => "command",
        Work::Files(_) => "files",
        Work::Calls(_) => "calls",
    };
    let slo = match peak.slo {
        Some(slo) => slo.to_string(),
        None => format!("5 times that of {} at low load, at least 50 ms", plan.baseline_name()),
    };
    format!(
        "  workload: {kind}, rates chosen by the search\n  arms: {}\n  highest rate: p{} of the response time at most \
         {slo}\n  precision {}, confirmed for {}, budget {}",
        arms(plan),
        peak.quantile * 100.0,
        peak.precision,
        peak.confirm,
        plan.budget
    )
}

/// What a sample and the whole differ in.
fn extent(plan: &Plan) -> String {
    let mut words = format!("budget {}", plan.budget);
    if plan.kind == ExperimentGoal::Compare {
        words += &format!(", at most {} rounds", plan.max_rounds);
    }
    let counts = || plan.arms.iter().filter_map(|arm| plan.slice_requests(arm));
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least == most => words += &format!(", {least} requests a slice"),
        (Some(least), Some(most)) => words += &format!(", {least} to {most} requests a slice"),
        _ => {}
    }
    words
}

/// Which arms run twice.
fn baselines(plan: &Plan) -> String {
    let names: Vec<&str> = plan.baselines.all().map(|index| plan.arms[index].name.as_str()).collect();
    match names.as_slice() {
        [one] => format!("baseline {one}, runs twice"),
        several => format!("baselines {}, each runs twice", several.join(", ")),
    }
}

fn arms(plan: &Plan) -> String {
    plan.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// `1 %`, `500 ns`
fn margin(margin: Margin) -> String {
    match margin {
        Margin::Share(share) => Ratio::new(share).unwrap_or_default().to_string(),
        Margin::Amount(ns) => Nanos::new(ns as u64).to_string(),
    }
}
