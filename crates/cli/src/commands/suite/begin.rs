//! Running a suite, or the rest of one: part by part, each by the command that runs it alone.

use super::super::{caches, report::say_where, run as one};
use super::show::show;
use super::{Checked, CheckedPart, checked};
use crate::args::{OutputArgs, RuleArgs, RunArgs, SetArgs};
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::directory::{DirectoryError, ResultsDir, SETUP};
use bakeoff_experiment::plan::Setting;
use bakeoff_experiment::suite::{BEGUN, BEGUN_SCHEMA, Begun, BegunPart, TEXT};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a suite into a new directory.
pub(crate) fn run(name: &str, args: &RunArgs, interrupted: &AtomicBool) -> Result<Exit, Failure> {
    let checked = checked(name, &args.set, args.full, &args.parts)?;
    for part in &checked.parts {
        let of_part = |why: Failure| why.of_part(&checked.suite.name, &part.part.name);
        part.plan.as_ref().map_or(Ok(()), |plan| one::fit(plan, &args.rules)).map_err(of_part)?;
    }
    checked.here()?;
    let dir = one::new_dir(args.output.out.as_deref(), &checked.suite.name)?;
    let begun = begun(&checked, args.full);
    dir.write(TEXT, checked.suite.text.as_bytes()).map_err(Failure::failed)?;
    let json = serde_json::to_string_pretty(&begun).map_err(Failure::failed)? + "\n";
    dir.write(BEGUN, json.as_bytes()).map_err(Failure::failed)?;
    all(&dir, &begun, &args.output, &args.rules, interrupted)
}

/// Goes on with the parts that have not ended, and begins those that have not begun.
pub(crate) fn resume(
    path: &Path,
    output: &OutputArgs,
    rules: &RuleArgs,
    interrupted: &AtomicBool,
) -> Result<Exit, Failure> {
    let begun = super::show::begun(path)?;
    let dir = ResultsDir::lock(path).map_err(|why| match why {
        DirectoryError::InUse(_) => Failure::failed(why),
        other => Failure::usage(other),
    })?;
    all(&dir, &begun, output, rules, interrupted)
}

fn begun(checked: &Checked, full: bool) -> Begun {
    let part = |checked: &CheckedPart| BegunPart {
        part: checked.part.clone(),
        set: checked.set.settings().iter().map(|setting| setting.typed().to_owned()).collect(),
    };
    Begun {
        schema: BEGUN_SCHEMA.to_owned(),
        name: checked.suite.name.clone(),
        summary: checked.suite.summary.clone(),
        bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
        full,
        parts: checked.parts.iter().map(part).collect(),
    }
}

/// One after the other; one that fails does not keep the others from being run. Ends as the worst of them.
fn all(
    dir: &ResultsDir,
    begun: &Begun,
    output: &OutputArgs,
    rules: &RuleArgs,
    interrupted: &AtomicBool,
) -> Result<Exit, Failure> {
    let mut worst = Exit::Verdicts;
    for (place, part) in begun.parts.iter().enumerate() {
        let name = &part.part.name;
        if !output.quiet {
            terminal::note(&format!("{}: part {} of {}, {name}", begun.name, place + 1, begun.parts.len()));
        }
        let ended = ran(dir.path(), begun, part, output, rules, interrupted).unwrap_or_else(|failure| {
            let failure = failure.of_part(&begun.name, name);
            terminal::complain(&failure.message);
            failure.exit
        });
        worst = worst.or_worse(ended);
        if interrupted.load(Ordering::Relaxed) {
            worst = Exit::Interrupted;
            break;
        }
    }
    conclude(dir, begun, output, worst)
}

/// A part, from its beginning or from where it was.
fn ran(
    dir: &Path,
    begun: &Begun,
    part: &BegunPart,
    output: &OutputArgs,
    rules: &RuleArgs,
    interrupted: &AtomicBool,
) -> Result<Exit, Failure> {
    let own = Begun::directory(dir, part);
    let quietly = |out: Option<PathBuf>| OutputArgs { out, quiet: output.quiet, json: false, part: true };
    if caches::is_directory(&own) {
        return caches::begun(&own, &quietly(None));
    }
    if own.join(SETUP).is_file() {
        return one::resume(&own, &quietly(None), rules, interrupted);
    }
    let set = part.set.iter().map(|typed| typed.parse::<Setting>().map_err(Failure::usage));
    let set = SetArgs::of(set.collect::<Result<_, _>>()?);
    let full = CheckedPart::of(&part.part, set.clone(), begun.full)?.full;
    let plan = Some(part.part.plan.clone());
    let args =
        RunArgs { plan, output: quietly(Some(own)), set, rules: rules.clone(), full, ..RunArgs::default() };
    one::part(&args, interrupted)
}

/// Whatever ended it: says what was found.
fn conclude(dir: &ResultsDir, begun: &Begun, output: &OutputArgs, worst: Exit) -> Result<Exit, Failure> {
    let path = dir.path();
    let is_there = |part: &BegunPart| Begun::directory(path, part).is_dir();
    if !begun.parts.iter().any(is_there) {
        for name in [TEXT, BEGUN] {
            let _ = std::fs::remove_file(path.join(name)); // nothing was measured that it would belong to
        }
        one::take_back(dir);
        return Ok(worst);
    }
    let shown = show(dir, begun, output);
    if worst == Exit::Interrupted {
        terminal::note(&format!("the suite can be gone on with: bakeoff run --resume {}", path.display()));
    }
    say_where(path, output.json);
    shown.map(|()| worst)
}
