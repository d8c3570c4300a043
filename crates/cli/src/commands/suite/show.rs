//! What a suite found: from its parts' directories, which are read anew each time.

use super::super::report::{self, say_where};
use super::super::{caches, compare_results, verify as one};
use crate::args::{CompareResultsArgs, OutputArgs, ReportArgs, VerifyArgs};
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::analyse;
use bakeoff_experiment::directory::{self, RESULTS, ResultsDir, SETUP};
use bakeoff_experiment::suite::{Begun, BegunPart};
use bakeoff_report::{Bundle, Found, PartBundle, SuiteBundle, suite_json};
use std::path::Path;

/// How a suite in this directory was begun.
pub(super) fn begun(path: &Path) -> Result<Begun, Failure> {
    let none = || Failure::usage(format!("{}: no suite was run into it", path.display()));
    Begun::read(path).map_err(Failure::usage)?.ok_or_else(none)
}

/// Makes every output of the parts and of the whole again.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let begun = begun(&args.dir)?;
    let dir = ResultsDir::lock(&args.dir).map_err(Failure::failed)?;
    let mut worst = Exit::Verdicts;
    for part in &begun.parts {
        let own = Begun::directory(&args.dir, part);
        let again = if own.join(SETUP).is_file() {
            report::again(&ReportArgs { dir: own, ..args.clone() })
        } else if caches::is_directory(&own) {
            caches::again(&own, &OutputArgs { part: true, ..OutputArgs::default() })
        } else {
            continue;
        };
        worst = worst.or_worse(again.map_err(|why| why.of_part(&begun.name, &part.part.name))?);
    }
    show(&dir, &begun, &OutputArgs::default())?;
    say_where(&args.dir, false);
    Ok(worst)
}

/// Prints what a suite found, then writes its files.
pub(super) fn show(dir: &ResultsDir, begun: &Begun, output: &OutputArgs) -> Result<(), Failure> {
    let parts = begun.parts.iter().map(|part| found(dir.path(), part)).collect::<Result<Vec<_>, _>>()?;
    let (name, summary, bakeoff) = (begun.name.clone(), begun.summary.clone(), begun.bakeoff.clone());
    let suite = SuiteBundle { name, summary, bakeoff, parts };
    let document = bakeoff_report::suite(&suite);
    let json = suite_json(&suite);
    if output.json {
        terminal::say(&json);
    } else if output.words() {
        terminal::say(&document.text(terminal::width(), terminal::colour()));
        terminal::note(&format!("report: {}", dir.path().join("report.html").display()));
    }
    for (name, text) in [(RESULTS, json), ("report.html", document.html())] {
        dir.write(name, text.as_bytes()).map_err(Failure::failed)?;
    }
    Ok(())
}

fn found(dir: &Path, part: &BegunPart) -> Result<PartBundle, Failure> {
    let own = Begun::directory(dir, part);
    let found = if own.join(SETUP).is_file() {
        let stored = directory::load(&own).map_err(Failure::failed)?;
        let results = analyse::analyse(&stored).map_err(Failure::failed)?;
        let (setup, slices, plan) = (stored.setup, stored.slices, stored.plan);
        Found::Experiment(Box::new(Bundle { results, setup, slices, plan }))
    } else if caches::is_directory(&own) {
        Found::Elsewhere
    } else {
        Found::Nothing
    };
    Ok(PartBundle { name: part.part.name.clone(), plan: part.part.plan.clone(), found })
}

/// Checks the directory of every part.
pub(crate) fn verify(dir: &Path) -> Result<Exit, Failure> {
    let begun = begun(dir)?;
    let mut worst = Exit::Verdicts;
    for part in &begun.parts {
        let own = Begun::directory(dir, part);
        match own.join(SETUP).is_file() {
            true => worst = worst.or_worse(one::verify(&VerifyArgs { dir: own })?),
            false => terminal::note(&format!(
                "note: {}: no experiment, so it has no chain of checks",
                own.display()
            )),
        }
    }
    Ok(worst)
}

/// Holds two runs of suites against each other, part by part.
pub(crate) fn compare(args: &CompareResultsArgs) -> Result<Exit, Failure> {
    let (old, new) = (begun(&args.old)?, begun(&args.new)?);
    let mut all = Vec::new();
    for part in &new.parts {
        let Some(theirs) = old.parts.iter().find(|theirs| theirs.part.name == part.part.name) else {
            continue;
        };
        let (then, now) = (Begun::directory(&args.old, theirs), Begun::directory(&args.new, part));
        if [&then, &now].iter().all(|dir| dir.join(SETUP).is_file()) {
            let of_part = |why: Failure| why.of_part(&new.name, &part.part.name);
            all.push((part.part.name.clone(), compare_results::found(&then, &now, args).map_err(of_part)?));
        }
    }
    if all.is_empty() {
        return Err(Failure::usage(format!(
            "{} and {} have no part in common of which both measured something",
            args.old.display(),
            args.new.display()
        )));
    }
    terminal::say(&match args.json {
        true => bakeoff_report::between_suites_json(&all),
        false => bakeoff_report::between_suites(&all, terminal::width(), terminal::colour()),
    });
    Ok(Exit::Verdicts)
}
