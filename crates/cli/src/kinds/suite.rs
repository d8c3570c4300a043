//! Suites: several plans of any other kind, run one after the other into directories inside the suite's.
//!
//! Glue. Owns how flags are shared out among parts, and that one part that fails does not keep the others from being run.

use super::{Around, Checked, Ended, Flags, Outputs, Planned, ReportRequest, RunKind, Size, shell};
use crate::args::{CachesArgs, CompareResultsArgs, OutputArgs, RuleArgs, SetArgs};
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_plan::shipped::{self, ShippedPlan};
use bakeoff_plan::{Need, Only, PlanSource, Setting, suggestion};
use bakeoff_report::{PartBundle, PartOutcome, SuiteBundle, suite_json};
use bakeoff_results::directory::{Layout, RESULTS, ResultsDir};
use bakeoff_results::suite::{BEGUN_SCHEMA, BegunPart, SUITE, Suite, SuitePart, SuiteStart, TEXT};
use bakeoff_units::Nanos;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Suites.
pub(super) struct Suites;

impl RunKind for Suites {
    fn noun(&self) -> &'static str {
        "a suite"
    }

    fn layout(&self) -> &'static Layout {
        &SUITE
    }

    fn shipped(&self) -> &'static [ShippedPlan] {
        shipped::SUITES
    }

    fn extent(&self, plan: ShippedPlan) -> Result<Option<String>, Failure> {
        let (set, caches) = (SetArgs::default(), CachesArgs::default());
        let flags = Flags { set: &set, full: false, parts: &[], caches: &caches };
        Ok(Some(SuitePlan::of(&PlanSource::shipped(plan), &flags)?.takes()))
    }

    fn owns_plan(&self, source: &PlanSource) -> bool {
        Suite::is_one(source)
    }

    fn plan(&self, source: &PlanSource, flags: &Flags<'_>) -> Result<Box<dyn Planned>, Failure> {
        flags.demand_none_of_caches()?;
        Ok(Box::new(SuitePlan::of(source, flags)?))
    }

    fn resume(&self, dir: &ResultsDir, around: &Around<'_>) -> Result<Option<Ended>, Failure> {
        let begun: SuiteStart = SUITE.setup(dir.path()).map_err(Failure::usage)?;
        Ok(Some(each(dir.path(), &begun, around, |part, around| {
            let own = SuiteStart::directory(dir.path(), part);
            match super::of_directory(&own) {
                Ok(kind) => shell::resume(kind, &own, around),
                Err(_) => anew(&begun, part, around),
            }
        })))
    }

    fn outputs(&self, dir: &ResultsDir, _asked: &ReportRequest<'_>) -> Result<Outputs, Failure> {
        let begun: SuiteStart = SUITE.setup(dir.path()).map_err(Failure::usage)?;
        let parts = begun.parts.iter().map(|part| found(dir.path(), part)).collect::<Result<_, _>>()?;
        let (name, summary, bakeoff) = (begun.name, begun.summary, begun.bakeoff);
        let suite = SuiteBundle { name, summary, bakeoff, parts };
        let document = bakeoff_report::suite(&suite);
        Ok(Outputs {
            exit: Exit::Verdicts,
            lines: Vec::new(),
            files: vec![
                (RESULTS, suite_json(&suite).into_bytes()),
                ("report.html", document.html().into_bytes()),
            ],
            document,
        })
    }

    fn verified(&self, dir: &Path) -> Result<Checked, Failure> {
        Err(Failure::usage(format!("{}: no part of this suite has measured anything", dir.display())))
    }

    fn parts(&self, dir: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
        let begun: SuiteStart = SUITE.setup(dir).map_err(Failure::usage)?;
        let parts = begun.parts.iter().map(|part| (part.part.name.clone(), SuiteStart::directory(dir, part)));
        Ok(parts.filter(|(_, own)| super::of_directory(own).is_ok()).collect())
    }

    fn compare(&self, old: &Path, new: &Path, args: &CompareResultsArgs) -> Result<String, Failure> {
        let suite = SUITE.setup::<SuiteStart>(new).map_err(Failure::usage)?.name;
        let theirs = self.parts(old)?;
        let mut all = Vec::new();
        for (name, now) in self.parts(new)? {
            let Some((_, then)) = theirs.iter().find(|(other, _)| *other == name) else { continue };
            let kind = super::of_directory(&now)?;
            if kind.owns_directory(then)
                && let Some(between) =
                    kind.between(then, &now, args).map_err(|why| why.of_part(&suite, &name))?
            {
                all.push((name, between));
            }
        }
        if all.is_empty() {
            return Err(Failure::usage(format!(
                "{} and {} have no part in common of which both measured something",
                old.display(),
                new.display()
            )));
        }
        Ok(match args.json {
            true => bakeoff_report::between_suites_json(&all),
            false => bakeoff_report::between_suites(&all, terminal::width(), terminal::colour()),
        })
    }
}

/// A suite whose parts' plans were read.
struct SuitePlan {
    suite: Suite,
    full: bool,
    parts: Vec<PlannedPart>,
}

struct PlannedPart {
    part: SuitePart,
    kind: &'static dyn RunKind,
    source: PlanSource,
    set: SetArgs,
    planned: Box<dyn Planned>,
    /// What this machine lacks for it: then a run leaves it out.
    lacks: Option<Need>,
    /// It states a sample, and the whole is wanted.
    full: bool,
}

impl SuitePlan {
    /// Reads and checks every part's plan before anything is run.
    fn of(source: &PlanSource, flags: &Flags<'_>) -> Result<Self, Failure> {
        let suite = Suite::of(source).map_err(Failure::usage)?;
        let (set, full, only) = (flags.set, flags.full, flags.parts);
        let known = suite.names();
        if let Some(wanted) = only.iter().find(|wanted| !known.contains(&wanted.as_str())) {
            let help = suggestion(wanted, &known);
            return Err(Failure::usage(format!("--part {wanted}: {} has no such part; {help}", suite.name)));
        }
        let all = suite.settings(set.own()).map_err(Failure::usage)?;
        let loads = set.loads().settings();
        let base = source.base_dir.clone().unwrap_or_default();
        let mut parts = Vec::new();
        let mut unused: Vec<&Only> = set.only().iter().collect();
        for (part, mut own) in suite.parts.iter().zip(all) {
            if !only.is_empty() && !only.contains(&part.name) {
                continue;
            }
            let of_part = |why: Failure| why.of_part(&suite.name, &part.name);
            let text = super::source(&part.plan).map_err(of_part)?.text;
            let levels: Vec<Only> = set.only().iter().filter(|only| only.is_about(&text)).cloned().collect();
            unused.retain(|only| !levels.contains(only));
            own.extend(bakeoff_plan::only(&text, &levels).map_err(Failure::usage).map_err(of_part)?);
            let lacks = part.needs.iter().find(|need| !need.is_here(&base)).cloned();
            let planned = PlannedPart::with_loads(part, own, &loads, full).map_err(of_part)?;
            parts.push(PlannedPart { lacks, ..planned });
        }
        let called = source.called();
        if let Some(unused) = unused.first() {
            return Err(Failure::usage(format!("--only {unused}: no part of {called} has such a factor")));
        }
        let planned = Self { suite, full, parts };
        if !loads.is_empty() && !planned.has(|size| size.has_loads) {
            return Err(Failure::usage(format!(
                "--loads: no part of {called} can be measured at several loads; `bakeoff check` of a part's plan with \
                 --loads says why"
            )));
        }
        if full && !planned.has(|size| size.is_sample) {
            return Err(Failure::usage(format!(
                "--full: no part of {called} states a sample, so all are always run whole; take the flag out"
            )));
        }
        match &set.budget {
            Some(budget) => planned.shared(budget),
            None => Ok(planned),
        }
    }

    /// Whether this is so of any part.
    fn has(&self, is_so: impl Fn(&Size) -> bool) -> bool {
        self.parts.iter().any(|part| is_so(&part.planned.size()))
    }

    /// Shares a wall time out among the parts, as their plans' own budgets are to each other.
    fn shared(mut self, budget: &str) -> Result<Self, Failure> {
        let whole: Nanos =
            budget.parse().map_err(|why| Failure::usage(format!("--budget {budget}: {why}")))?;
        let own = |part: &PlannedPart| {
            let budgets = part.planned.size().budgets.ok_or_else(|| {
                let (name, noun) = (&part.part.name, part.kind.noun());
                Failure::usage(format!(
                    "--budget is for experiments, and the part {name} is {noun}; leave it out by --part"
                ))
            });
            budgets.map(|[sample, full]| if part.full { full } else { sample })
        };
        let budgets = self.parts.iter().map(own).collect::<Result<Vec<u64>, _>>()?;
        let parts = self.parts.iter().zip(&budgets);
        let all: u64 = parts.filter(|(part, _)| part.lacks.is_none()).map(|(_, own)| own).sum();
        for (part, own) in self.parts.iter_mut().zip(budgets) {
            let share = (u128::from(whole.get()) * u128::from(own) / u128::from(all.max(1))) as u64;
            part.set.budget = Some(format!("{}ms", (share / 1_000_000).max(1)));
            part.planned = super::planned(part.kind, &part.source, &part.set, part.full)?;
        }
        Ok(self)
    }

    /// `a suite: compile, calls; sample: budget 25 min; --full: budget 3 h`
    fn takes(&self) -> String {
        let sizes = || self.parts.iter().filter_map(|part| part.planned.size().budgets);
        let sample = Nanos::new(sizes().map(|[sample, _]| sample).sum());
        let full = Nanos::new(sizes().map(|[_, full]| full).sum());
        let names = self.suite.names().join(", ");
        match sample == full {
            true => format!("a suite: {names}; budget {sample}"),
            false => format!("a suite: {names}; sample: budget {sample}; --full: budget {full}"),
        }
    }

    fn begun(&self) -> SuiteStart {
        let part = |part: &PlannedPart| BegunPart {
            part: part.part.clone(),
            set: part.set.settings().iter().map(|setting| setting.typed().to_owned()).collect(),
        };
        SuiteStart {
            schema: BEGUN_SCHEMA.to_owned(),
            name: self.suite.name.clone(),
            summary: self.suite.summary.clone(),
            bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
            full: self.full,
            parts: self.here_alone().map(part).collect(),
        }
    }

    /// The parts that are run.
    fn here_alone(&self) -> impl Iterator<Item = &PlannedPart> {
        self.parts.iter().filter(|part| part.lacks.is_none())
    }

    /// Names of the parts that are left out, and what this machine lacks.
    fn left_out(&self) -> impl Iterator<Item = (&str, &Need)> {
        self.parts.iter().filter_map(|part| Some((part.part.name.as_str(), part.lacks.as_ref()?)))
    }
}

impl PlannedPart {
    /// A part that has no such loads is run as it is.
    fn with_loads(
        part: &SuitePart,
        own: Vec<Setting>,
        loads: &[Setting],
        full: bool,
    ) -> Result<Self, Failure> {
        let source = super::source(&part.plan)?;
        if !loads.is_empty()
            && let Ok(planned) = Self::of(part, &source, [own.clone(), loads.to_vec()].concat(), full)
        {
            return Ok(planned);
        }
        Self::of(part, &source, own, full)
    }

    fn of(part: &SuitePart, source: &PlanSource, set: Vec<Setting>, full: bool) -> Result<Self, Failure> {
        if Suite::is_one(source) {
            let what = format!("{} is a suite itself", part.plan);
            return Err(Failure::usage(format!("{what}; name its parts in its place")));
        }
        let (kind, set) = (super::of_plan(source), SetArgs::of(set));
        let mut planned = super::planned(kind, source, &set, false)?;
        let full = full && planned.size().is_sample;
        if full {
            planned = super::planned(kind, source, &set, true)?;
        }
        Ok(Self { part: part.clone(), kind, source: source.clone(), set, planned, lacks: None, full })
    }
}

impl Planned for SuitePlan {
    fn name(&self) -> &str {
        &self.suite.name
    }

    fn in_words(&self) -> String {
        let mut said = format!("{}: good\n  {}", self.suite.name, self.takes());
        for part in self.here_alone() {
            said += &format!("\n\n{}, {}", part.part.name, part.planned.in_words());
        }
        for (name, need) in self.left_out() {
            said += &format!("\n\nleft out here: {name}, for {need}");
        }
        said
    }

    /// All that is missing is told at once.
    fn here(&self) -> Result<(), Failure> {
        let missing = |part: &PlannedPart| {
            let why = part.planned.here().err()?;
            Some(format!("part {}: {}", part.part.name, why.message))
        };
        if let (None, Some((name, need))) = (self.here_alone().next(), self.left_out().next()) {
            return Err(Failure::usage(format!(
                "{}: nothing is left to run; for {name} {need}",
                self.suite.name
            )));
        }
        let missing: Vec<String> = self.here_alone().filter_map(missing).collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Failure::usage(missing.join("\n\n"))),
        }
    }

    fn fit(&self, rules: &RuleArgs) -> Result<(), Failure> {
        self.parts.iter().try_for_each(|part| {
            part.planned.fit(rules).map_err(|why| why.of_part(&self.suite.name, &part.part.name))
        })
    }

    fn run(&self, dir: &ResultsDir, around: &Around<'_>) -> Ended {
        let (path, begun) = (dir.path(), self.begun());
        dir.write(TEXT, self.suite.text.as_bytes()).map_err(|why| why.to_string())?;
        dir.write_json(SUITE.setup, &begun).map_err(|why| why.to_string())?;
        for (name, need) in self.left_out() {
            terminal::note(&format!("{}: {name} is left out: {need}", begun.name));
        }
        let mut parts = self.here_alone();
        let ended = each(path, &begun, around, |_, around| {
            let next = parts.next();
            next.map_or(Ok(Exit::Verdicts), |part| shell::run(part.kind, part.planned.as_ref(), around))
        });
        if !begun.parts.iter().any(|part| SuiteStart::directory(path, part).is_dir()) {
            for name in [TEXT, SUITE.setup] {
                let _ = std::fs::remove_file(path.join(name)); // nothing was measured that it would belong to
            }
        }
        ended
    }
}

/// Parts, one after the other; ends as the worst of them.
fn each(
    dir: &Path,
    begun: &SuiteStart,
    around: &Around<'_>,
    mut run: impl FnMut(&BegunPart, &Around<'_>) -> Result<Exit, Failure>,
) -> Ended {
    let mut worst = Exit::Verdicts;
    for (place, part) in begun.parts.iter().enumerate() {
        let name = &part.part.name;
        if !around.output.quiet {
            terminal::note(&format!("{}: part {} of {}, {name}", begun.name, place + 1, begun.parts.len()));
        }
        let out = Some(SuiteStart::directory(dir, part));
        let (quiet, far) = (around.output.quiet, around.output.far.clone());
        let output = OutputArgs { out, quiet, json: false, verbose: false, far, part: true };
        let ended = run(part, &Around { output: &output, ..*around }).unwrap_or_else(|failure| {
            let failure = failure.of_part(&begun.name, name);
            terminal::complain(&failure.message);
            failure.exit
        });
        worst = worst.or_worse(ended);
        if around.interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(worst)
}

/// Runs a part that has not begun.
fn anew(begun: &SuiteStart, part: &BegunPart, around: &Around<'_>) -> Result<Exit, Failure> {
    let set = part.set.iter().map(|typed| typed.parse::<Setting>().map_err(Failure::usage));
    let set = set.collect::<Result<_, _>>()?;
    let part = PlannedPart::of(&part.part, &super::source(&part.part.plan)?, set, begun.full)?;
    shell::run(part.kind, part.planned.as_ref(), around)
}

/// What came of a part.
fn found(dir: &Path, part: &BegunPart) -> Result<PartBundle, Failure> {
    let own = SuiteStart::directory(dir, part);
    let found = match super::of_directory(&own) {
        Ok(kind) => kind
            .bundle(&own)?
            .map_or(PartOutcome::Elsewhere, |bundle| PartOutcome::Experiment(Box::new(bundle))),
        Err(_) => PartOutcome::Nothing,
    };
    Ok(PartBundle { name: part.part.name.clone(), plan: part.part.plan.clone(), found })
}
