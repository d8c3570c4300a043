//! Counted guests, and the command that runs inside of one.
//!
//! Glue. Owns where kernels and policies are kept, and what `doctor` says of guests.

use super::{
    Around, Checked, Ended, Flags, Outputs, Planned, ReportRequest, RunKind, Size, StudiedRun, shell,
};
use crate::Failure;
use crate::args::RuleArgs;
use crate::exit::Exit;
use crate::terminal::{self, Console};
use bakeoff_experiment::environment::{Finding, Level};
use bakeoff_experiment::run::RunProgress as _;
use bakeoff_guest::directory::{self, GUEST, StoredGuest};
use bakeoff_guest::plan::{GuestPlan, KEY};
use bakeoff_guest::{Counting, GuestPart, GuestProgress, analyse, beside, needs, shipped};
use bakeoff_plan::shipped::ShippedPlan;
use bakeoff_plan::{Extent, PlanSource};
use bakeoff_results::directory::{Layout, PLAN, RESULTS, ResultsDir};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The executable's work in a guest.
pub(crate) fn inside(words: impl Iterator<Item = OsString>) -> ExitCode {
    match bakeoff_guest::inside(words, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            terminal::say(&format!("E counted {why}")); // the console is all that leaves a guest
            Exit::Failed.into()
        }
    }
}

/// Counted guests.
pub(super) struct Guest;

impl RunKind for Guest {
    fn noun(&self) -> &'static str {
        "a counted guest"
    }

    fn layout(&self) -> &'static Layout {
        &GUEST
    }

    fn shipped(&self) -> &'static [ShippedPlan] {
        shipped::PLANS
    }

    fn owns_plan(&self, source: &PlanSource) -> bool {
        source.has(KEY)
    }

    fn plan(&self, source: &PlanSource, flags: &Flags<'_>) -> Result<Box<dyn Planned>, Failure> {
        flags.demand_none_of_others()?;
        if flags.set.budget.is_some() {
            return Err(Failure::usage(
                "--budget is for experiments; a guest counts until it has ended: fewer `boots` or `parts` make it shorter",
            ));
        }
        if !flags.set.loads().is_empty() {
            return Err(Failure::usage(
                "--loads is for experiments; a guest counts instructions, and nobody loads it",
            ));
        }
        let source = flags.set.applied(source).map_err(Failure::usage)?;
        let plan = GuestPlan::parse(&source.name, &source.origin, &source.text, flags.full);
        Ok(Box::new(plan.map_err(Failure::usage)?))
    }

    fn resume(&self, dir: &ResultsDir, around: &Around<'_>) -> Result<Option<Ended>, Failure> {
        shell::demand_no_rules(around.rules, self.noun())?;
        let stored = directory::load(dir.path()).map_err(Failure::failed)?;
        let setup = &stored.setup;
        if stored.boots.len() >= setup.boots.len() {
            return Ok(None);
        }
        let origin = dir.path().join(PLAN).display().to_string();
        let full = setup.extent == Some(Extent::Full);
        let plan = GuestPlan::parse(&setup.name, &origin, &stored.plan, full).map_err(Failure::usage)?;
        let started = setup.started.clone();
        Ok(Some(counted(&plan, started, around, |counting, watcher| {
            counting.resume(dir, &stored, watcher).map_err(|why| why.to_string())
        })))
    }

    fn outputs(&self, dir: &ResultsDir, asked: &ReportRequest<'_>) -> Result<Outputs, Failure> {
        shell::demand_plain(asked, self.noun())?;
        print(&directory::load(dir.path()).map_err(Failure::failed)?)
    }

    fn studied(&self, dir: &Path) -> Result<Option<StudiedRun>, Failure> {
        let stored = directory::load(dir).map_err(Failure::failed)?;
        let (results, setup) = (analyse(&stored), stored.setup);
        let Some(study) = setup.study else { return Ok(None) };
        let early = || (results.ended < results.planned).then(|| "not all boots are there".to_owned());
        let kernel = setup.packages.first().map_or("a kernel", |package| package.version.as_str());
        Ok(Some(StudiedRun {
            study,
            unfit: results.invalid.clone().or_else(early),
            machine: format!("{}, guest kernel {kernel}", setup.qemu),
            rows: beside(&results),
            plan: setup.name,
            text: stored.plan,
            flags: super::whole(setup.extent),
            started: setup.started,
            bakeoff: setup.bakeoff,
            warnings: Vec::new(),
        }))
    }

    fn verified(&self, dir: &Path) -> Result<Checked, Failure> {
        shell::verified(dir, &GUEST, directory::load(dir), |stored| {
            let read = format!("{} boots", stored.boots.len());
            Ok((read, stored.setup.bakeoff.clone(), print(&stored)?))
        })
    }
}

impl Planned for GuestPlan {
    fn name(&self) -> &str {
        &self.name
    }

    fn in_words(&self) -> String {
        Self::in_words(self)
    }

    fn fit(&self, rules: &RuleArgs) -> Result<(), Failure> {
        shell::demand_no_rules(rules, Guest.noun())
    }

    fn size(&self) -> Size {
        Size { is_sample: self.extent.is_some(), ..Size::default() }
    }

    fn run(&self, dir: &ResultsDir, around: &Around<'_>) -> Ended {
        let started = jiff::Timestamp::now().to_string();
        counted(self, started, around, |counting, watcher| {
            counting.run(dir, watcher).map_err(|why| why.to_string())
        })
    }
}

fn counted(
    plan: &GuestPlan,
    started: String,
    around: &Around<'_>,
    count: impl FnOnce(&Counting<'_>, &mut Watcher) -> Result<(), String>,
) -> Ended {
    let cache = cache().map_err(|failure| failure.message)?;
    let mut watcher = Watcher(Console::new(&plan.name, around.output.quiet));
    let counting = Counting { plan, started, cache, interrupted: around.interrupted };
    let result = count(&counting, &mut watcher);
    watcher.0.finish();
    result.map(|()| Exit::Verdicts)
}

fn print(stored: &StoredGuest) -> Result<Outputs, Failure> {
    let results = analyse(stored);
    let json = serde_json::to_string_pretty(&results).map_err(Failure::failed)? + "\n";
    let document = bakeoff_report::guest(&results, &stored.plan);
    Ok(Outputs {
        exit: if results.invalid.is_some() { Exit::Invalid } else { Exit::Verdicts },
        lines: Vec::new(),
        files: vec![(RESULTS, json.into_bytes()), ("report.html", document.html().into_bytes())],
        document,
    })
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

/// What `doctor` says of guests: nothing here spoils a count, but it may not be had.
pub(crate) fn finding() -> Finding {
    let needs = needs(&GuestPart::ALL);
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

impl GuestProgress for Watcher {
    fn stage(&mut self, words: &str) {
        self.0.stage(words);
    }
}
