//! Kinds of runs: everything that `run`, `check`, `plans`, `report`, `verify` and `--resume` can be about.
//!
//! Glue. Owns the registry: no command names a kind. A kind knows its plans and its directories; [`shell`] runs, shows and
//! ends all of them alike. A suite is a kind whose parts are of any other.

mod caches;
pub(crate) mod conformance;
mod experiment;
pub(crate) mod guest;
mod shell;
mod suite;

pub(crate) use caches::{Watcher, lines, parse as cache_plan};
pub(crate) use experiment::run as run_experiment;
pub(crate) use shell::{
    checked_directory, new_dir, remake, resume, rewrite, run, say_where, take_back, verify,
};

use crate::args::{CachesArgs, CompareResultsArgs, OutputArgs, ReportArgs, RuleArgs, SetArgs};
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_analysis::between::Between;
use bakeoff_analysis::verify::Verified;
use bakeoff_experiment::run::Generators;
use bakeoff_plan::shipped::ShippedPlan;
use bakeoff_plan::{Extent, PlanSource, STANDARD_INPUT, near_miss};
use bakeoff_report::{Document, ReportInput};
use bakeoff_results::StudyRow;
use bakeoff_results::directory::{Layout, ResultsDir};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The kinds, in the order in which plans are listed. A plan that no other owns is an experiment's.
const KINDS: [&dyn RunKind; 5] =
    [&experiment::Experiment, &caches::BakeOff, &guest::Guest, &suite::Suites, &conformance::Conformance];

/// A kind of run.
pub(crate) trait RunKind: Sync {
    /// With its article: `a bake-off of caches`.
    fn noun(&self) -> &'static str;

    /// Files of its results directories.
    fn layout(&self) -> &'static Layout;

    /// Plans that come with the program.
    fn shipped(&self) -> &'static [ShippedPlan] {
        &[]
    }

    /// How much of a shipped plan is run, for the list of them.
    fn extent(&self, _plan: ShippedPlan) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// Whether a plan is of this kind.
    fn owns_plan(&self, source: &PlanSource) -> bool;

    /// Reads a plan, with what flags say of it.
    fn plan(&self, source: &PlanSource, flags: &Flags<'_>) -> Result<Box<dyn Planned>, Failure>;

    /// Goes on with the run in a directory that is locked. `None`: it is complete.
    fn resume(&self, dir: &ResultsDir, around: &Around<'_>) -> Result<Option<Ended>, Failure>;

    /// All outputs of a directory that is locked.
    fn outputs(&self, dir: &ResultsDir, asked: &ReportRequest<'_>) -> Result<Outputs, Failure>;

    /// Whether a directory is as it was written.
    fn verified(&self, dir: &Path) -> Result<Checked, Failure>;

    /// Names and directories of the parts that a directory is made of, as far as they have begun. They are shown again
    /// and verified with it.
    fn parts(&self, _dir: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
        Ok(Vec::new())
    }

    /// Two directories of this kind held against each other. `None`: they have no arms to compare.
    fn between(&self, _: &Path, _: &Path, _: &CompareResultsArgs) -> Result<Option<Between>, Failure> {
        Ok(None)
    }

    /// Complaint about a directory of this kind that has no arms, or whose parts have them.
    fn no_arms(&self, dir: &Path) -> Failure {
        Failure::usage(format!(
            "{}: {} is not an experiment, and has no arms to compare; `bakeoff report` makes its figures again",
            dir.display(),
            self.noun()
        ))
    }

    /// The same in words or JSON.
    fn compare(&self, old: &Path, new: &Path, args: &CompareResultsArgs) -> Result<String, Failure> {
        let found = self.between(old, new, args)?.ok_or_else(|| self.no_arms(old))?;
        Ok(match args.json {
            true => bakeoff_report::between_json(&found),
            false => bakeoff_report::between(&found, terminal::width(), terminal::colour()),
        })
    }

    /// An experiment's results, for the report of a suite that it is part of. `None`: its own report says what it found.
    fn bundle(&self, _dir: &Path) -> Result<Option<ReportInput>, Failure> {
        Ok(None)
    }

    /// What a directory says of the study that its plan names. `None`: it stands beside none.
    fn studied(&self, _dir: &Path) -> Result<Option<StudiedRun>, Failure> {
        Ok(None)
    }

    /// Whether a directory was written by a run of this kind.
    fn owns_directory(&self, dir: &Path) -> bool {
        self.layout().owns(dir)
    }
}

/// A plan that was read, and can be run.
pub(crate) trait Planned {
    /// Name of its results directory.
    fn name(&self) -> &str;

    /// That it is good, and what it would do.
    fn in_words(&self) -> String;

    /// Whether all that it names is on this machine.
    fn here(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Refuses generators on other hosts where they cannot send its load.
    fn demand_fit_for(&self, generators: &Generators) -> Result<(), Failure> {
        match generators.places.is_empty() && generators.address.is_none() {
            true => Ok(()),
            false => Err(Failure::usage(
                "--generator and --address are for experiments, and this is none; take them out",
            )),
        }
    }

    /// Calls generators on other hosts, and gives a line about each.
    fn roll_call(&self, _: &Generators, _interrupted: &AtomicBool) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// Whether rules are about arms that it has.
    fn fit(&self, rules: &RuleArgs) -> Result<(), Failure>;

    /// Size of it, for a suite that it is part of.
    fn size(&self) -> Size {
        Size::default()
    }

    /// Measures into a directory that is empty and locked.
    fn run(&self, dir: &ResultsDir, around: &Around<'_>) -> Ended;
}

/// Size of a plan, as far as it states one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    /// Wall times of the sample and of the whole, in ns; equal where it states no sample.
    pub(crate) budgets: Option<[u64; 2]>,
    /// It states a sample.
    pub(crate) is_sample: bool,
    /// It measures at several loads.
    pub(crate) has_loads: bool,
}

/// Flags that change a plan.
#[derive(Clone, Copy)]
pub(crate) struct Flags<'a> {
    pub(crate) set: &'a SetArgs,
    pub(crate) full: bool,
    pub(crate) parts: &'a [String],
    pub(crate) caches: &'a CachesArgs,
}

impl Flags<'_> {
    /// Refuses flags that only bake-offs of caches and suites have.
    pub(crate) fn demand_none_of_others(&self) -> Result<(), Failure> {
        self.demand_no_parts()?;
        self.demand_none_of_caches()
    }

    fn demand_no_parts(&self) -> Result<(), Failure> {
        match self.parts.is_empty() {
            true => Ok(()),
            false => Err(Failure::usage("--part is for suites, and this is one plan; take it out")),
        }
    }

    fn demand_none_of_caches(&self) -> Result<(), Failure> {
        match self.caches.typed().first() {
            Some(flag) => Err(Failure::usage(format!(
                "{flag} is for bake-offs of caches, which this is not; take it out"
            ))),
            None => Ok(()),
        }
    }
}

/// A run's surroundings.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) output: &'a OutputArgs,
    pub(crate) rules: &'a RuleArgs,
    pub(crate) interrupted: &'a AtomicBool,
    /// Generators on other hosts; those of a run that goes on are in its directory.
    pub(crate) generators: &'a Generators,
}

/// What a report is to have.
#[derive(Clone, Copy)]
pub(crate) struct ReportRequest<'a> {
    pub(crate) rules: &'a RuleArgs,
    /// Slices as Parquet, too.
    pub(crate) parquet: bool,
    /// Everything in the terminal, not the answers alone.
    pub(crate) verbose: bool,
    /// The run failed, and a full disk may have kept that from being written.
    pub(crate) failed: bool,
}

impl<'a> ReportRequest<'a> {
    pub(crate) const fn of(rules: &'a RuleArgs) -> Self {
        Self { rules, parquet: false, verbose: false, failed: false }
    }

    pub(crate) fn of_args(args: &'a ReportArgs) -> Self {
        #[cfg(feature = "parquet")]
        let parquet = args.parquet;
        #[cfg(not(feature = "parquet"))]
        let parquet = false;
        Self { parquet, verbose: args.verbose, ..Self::of(&args.rules) }
    }
}

/// Outputs of a directory, before any of them is on disk.
pub(crate) struct Outputs {
    /// For the terminal.
    pub(crate) document: Document,
    pub(crate) exit: Exit,
    /// What each rule came to, and what there is to complain of.
    pub(crate) lines: Vec<String>,
    /// By name, `results.json` the first.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

/// A run beside a study.
pub(crate) struct StudiedRun {
    /// Name of the study.
    pub(crate) study: String,
    /// Name of the plan.
    pub(crate) plan: String,
    /// The plan as it was run.
    pub(crate) text: String,
    /// Flags that changed the plan, as they are typed.
    pub(crate) flags: Vec<String>,
    /// Why it is not to be kept.
    pub(crate) unfit: Option<String>,
    /// When it began, RFC 3339.
    pub(crate) started: String,
    /// The version that measured it.
    pub(crate) bakeoff: String,
    /// The machine, in words.
    pub(crate) machine: String,
    /// Labels of its warnings.
    pub(crate) warnings: Vec<String>,
    /// A row a published figure.
    pub(crate) rows: Vec<StudyRow>,
}

/// The flag of a run that was made whole.
fn whole(extent: Option<Extent>) -> Vec<String> {
    (extent == Some(Extent::Full)).then(|| "--full".to_owned()).into_iter().collect()
}

/// How a run ended: what went wrong, in words; else what its parts came to.
pub(crate) type Ended = Result<Exit, String>;

/// A directory that was checked.
pub(crate) struct Checked {
    pub(crate) verified: Verified,
    /// The version that wrote it.
    pub(crate) wrote: String,
    /// What would be printed now, where its records can be read.
    pub(crate) outputs: Option<Outputs>,
}

/// The kind of a plan.
pub(crate) fn of_plan(source: &PlanSource) -> &'static dyn RunKind {
    KINDS.into_iter().skip(1).find(|kind| kind.owns_plan(source)).unwrap_or(KINDS[0])
}

/// A plan of this kind with what is set in it, as `check` and suites read it: without flags of its own.
fn planned(
    kind: &dyn RunKind,
    source: &PlanSource,
    set: &SetArgs,
    full: bool,
) -> Result<Box<dyn Planned>, Failure> {
    kind.plan(source, &Flags { set, full, parts: &[], caches: &CachesArgs::default() })
}

/// Checks a plan of any kind, also whether all that it names is here, and gives what it would do.
pub(crate) fn checked(
    name: &str,
    set: &SetArgs,
    generators: &Generators,
    interrupted: &AtomicBool,
) -> Result<String, Failure> {
    let source = source(name)?;
    let planned = planned(of_plan(&source), &source, set, false)?;
    planned.demand_fit_for(generators)?;
    planned.here()?;
    let called = planned.roll_call(generators, interrupted)?;
    Ok([planned.in_words()].into_iter().chain(called).collect::<Vec<_>>().join("\n"))
}

/// The kind of a directory. A bake-off's may hold what the HTTP cache suite said, too: the first that owns it has it.
pub(crate) fn of_directory(dir: &Path) -> Result<&'static dyn RunKind, Failure> {
    KINDS
        .into_iter()
        .find(|kind| kind.owns_directory(dir))
        .ok_or_else(|| Failure::usage(bakeoff_results::directory::DirectoryError::NoResults(dir.to_owned())))
}

/// A directory, or those of the parts of a suite.
pub(crate) fn runs_in(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let parts: Vec<PathBuf> = of_directory(dir)?.parts(dir)?.into_iter().map(|(_, own)| own).collect();
    Ok(if parts.is_empty() { vec![dir.to_owned()] } else { parts })
}

/// All shipped plans with their kinds, in the order in which they are listed.
pub(crate) fn shipped() -> impl Iterator<Item = (&'static dyn RunKind, ShippedPlan)> {
    KINDS.into_iter().flat_map(|kind| kind.shipped().iter().map(move |plan| (kind, *plan)))
}

/// The shipped plan of this name.
pub(crate) fn shipped_plan(name: &str) -> Option<ShippedPlan> {
    shipped().map(|(_, plan)| plan).find(|plan| plan.name == name)
}

/// The text of a plan: that of a file, of standard input for `-`, or that of a shipped plan; a file wins. A directory may
/// have the name of a shipped plan.
pub(crate) fn source(name: &str) -> Result<PlanSource, Failure> {
    let path = Path::new(name);
    let is_readable = name == STANDARD_INPUT || (path.exists() && !path.is_dir());
    match shipped_plan(name) {
        Some(plan) if !is_readable => Ok(PlanSource::shipped(plan)),
        None if !path.exists() && name != STANDARD_INPUT && path.components().count() == 1 => {
            let help = "give a plan file, or a name that `bakeoff plans` lists";
            Err(no_such_plan(name, "there is no such plan, shipped or here", help))
        }
        _ => PlanSource::open(path).map_err(Failure::usage),
    }
}

/// With its near miss, or else with this help.
pub(crate) fn no_such_plan(name: &str, what: &str, help: &str) -> Failure {
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    let names: Vec<&str> = shipped().map(|(_, plan)| plan.name).collect();
    let help = near_miss(stem, &names).unwrap_or_else(|| help.to_owned());
    Failure::usage(format!("{name}: {what}; {help}"))
}
