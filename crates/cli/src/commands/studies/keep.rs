//! `bakeoff studies --keep`: what a results directory says of its study goes to `studies/runs` of bakeoff's own source.
//!
//! Glue, cold. Keeps only what `verify` passes, of a plan that comes along, as it stands there or changed by flags that the
//! kept command has: whoever reads the page can run the same. Writes one file, beside its name and then in its place.

use crate::exit::Exit;
use crate::kinds::{self, StudiedRun};
use crate::{Failure, terminal};
use bakeoff_plan::{PlanSource, Setting};
use bakeoff_results::directory::RESULTS;
use bakeoff_results::{KeptRun, digest};
use std::path::{Path, PathBuf};

/// Where they are kept, from the root of the source.
const RUNS: &str = "studies/runs";

/// Keeps a run, or every part of a suite.
pub(super) fn keep(dir: &Path) -> Result<Exit, Failure> {
    let kind = kinds::of_directory(dir)?;
    let dirs = kinds::runs_in(dir)?;
    let found = dirs.iter().map(|dir| studied(dir)).collect::<Result<Vec<_>, _>>()?;
    let exit = kinds::verify(kind, dir)?;
    if exit != Exit::Verdicts {
        return Ok(exit);
    }
    for (dir, found) in dirs.iter().zip(found) {
        let results_sha256 = digest::sha256_of(&dir.join(RESULTS)).map_err(Failure::failed)?;
        let (study, run) = (found.study.clone(), form(found, results_sha256));
        let (plan, rows) = (run.plan.clone(), run.rows.len());
        let file = write(&study, run)?;
        terminal::say(&format!("{}: {plan}, {rows} rows", file.display()));
    }
    Ok(Exit::Verdicts)
}

/// What a directory says of its study, if anybody could measure it again.
fn studied(dir: &Path) -> Result<StudiedRun, Failure> {
    let refused = |why: &str| Failure::usage(format!("{}: is not kept: {why}", dir.display()));
    let found = kinds::of_directory(dir)?.studied(dir)?;
    let mut found = found.ok_or_else(|| refused("its plan names no study"))?;
    let Some(settings) = settings(&found.plan, &found.text) else {
        return Err(refused("its plan is not one that comes along, as it stands there or changed by --set"));
    };
    found.flags.extend(settings.iter().map(|setting| format!("--set '{}'", setting.typed())));
    if let Some(why) = &found.unfit {
        return Err(refused(why));
    }
    if found.rows.iter().all(|row| row.value.is_none()) {
        return Err(refused("it has no figure that the study has"));
    }
    Ok(found)
}

/// The settings with which a plan that comes along is the run's, as its text lists them at its end; `None`: it is not.
fn settings(plan: &str, text: &str) -> Option<Vec<Setting>> {
    let source = PlanSource::shipped(kinds::shipped_plan(plan)?);
    let listed: Vec<&str> = text.lines().rev().map_while(|line| line.strip_prefix("# --set ")).collect();
    let settings = listed.into_iter().rev().map(|typed| typed.parse().ok()).collect::<Option<Vec<_>>>()?;
    (source.with(&settings).ok()?.text == text).then_some(settings)
}

fn form(found: StudiedRun, results_sha256: String) -> KeptRun {
    let mut warnings = found.warnings;
    warnings.sort();
    warnings.dedup();
    KeptRun {
        command: ["bakeoff run", &found.plan]
            .into_iter()
            .chain(found.flags.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" "),
        plan: found.plan,
        day: found.started.chars().take_while(|c| *c != 'T').collect(),
        bakeoff: found.bakeoff,
        machine: found.machine,
        warnings,
        results_sha256,
        rows: found.rows,
    }
}

/// Puts it into the study's list, as that stands in the tree and not in this executable.
fn write(study: &str, run: KeptRun) -> Result<PathBuf, Failure> {
    let file = Path::new(RUNS).join(format!("{study}.json"));
    let at = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("{}: {why}; keep runs at the root of bakeoff's source", file.display()))
    };
    let text = std::fs::read_to_string(&file).map_err(|why| at(&why))?;
    let runs = bakeoff_analysis::join::keep(serde_json::from_str(&text).map_err(|why| at(&why))?, run);
    let text = serde_json::to_string_pretty(&runs).map_err(Failure::failed)? + "\n";
    let beside = file.with_extension("json.new");
    std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, &file)).map_err(|why| at(&why))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_comes_along_is_known_by_what_was_set_in_it() {
        let plan = "cache-bakeoff";
        let shipped = PlanSource::shipped(kinds::shipped_plan(plan).unwrap());
        assert!(settings(plan, &shipped.text).is_some_and(|settings| settings.is_empty()));
        let typed = ["bakeoff.passes=1", "bakeoff.title=a title"];
        let with = shipped.with(&typed.map(|typed| typed.parse().unwrap())).unwrap();
        let found = settings(plan, &with.text).unwrap();
        assert_eq!(found.iter().map(Setting::typed).collect::<Vec<_>>(), typed);
        for other in [with.text.replacen("1/60", "1/61", 1), with.text.replacen("passes=1", "passes=3", 1)] {
            assert!(settings(plan, &other).is_none(), "{other}");
        }
    }
}
