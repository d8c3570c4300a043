//! `bakeoff compare-results`: a stored run against a newer one, or against several.

use crate::args::CompareResultsArgs;
use crate::exit::Exit;
use crate::kinds::{self, RunKind};
use crate::{Failure, terminal};
use std::path::Path;

/// Prints what changed. Writes nothing.
pub(crate) fn compare_results(args: &CompareResultsArgs) -> Result<Exit, Failure> {
    if !args.more.is_empty() {
        return many(args);
    }
    let kind = kind_of_both(&args.old, &args.new)?;
    terminal::say(&kind.compare(&args.old, &args.new, args)?);
    Ok(Exit::Verdicts)
}

/// Experiments that are each held against the first.
fn many(args: &CompareResultsArgs) -> Result<Exit, Failure> {
    let mut others = Vec::new();
    for dir in std::iter::once(&args.new).chain(&args.more) {
        let kind = kind_of_both(&args.old, dir)?;
        let found = kind.between(&args.old, dir, args)?.ok_or_else(|| kind.no_arms(dir))?;
        others.push((dir.display().to_string(), found));
    }
    let first = args.old.display().to_string();
    terminal::say(&match args.json {
        true => bakeoff_report::between_many_json(&others),
        false => bakeoff_report::between_many(&first, &others, terminal::width(), terminal::colour()),
    });
    Ok(Exit::Verdicts)
}

fn kind_of_both(old: &Path, new: &Path) -> Result<&'static dyn RunKind, Failure> {
    let kind = kinds::of_directory(new)?;
    if kind.owns_directory(old) { Ok(kind) } else { Err(of_two_kinds(old, new)?) }
}

/// Directories of two kinds have nothing in common; parts of a suite may.
fn of_two_kinds(old: &Path, new: &Path) -> Result<Failure, Failure> {
    let (mut said, mut parts) = (Vec::new(), Vec::new());
    for dir in [old, new] {
        let kind = kinds::of_directory(dir)?;
        said.push(format!("{} is {}", dir.display(), kind.noun()));
        parts.extend(kind.parts(dir)?.into_iter().map(|(name, _)| name));
    }
    let help = match parts.is_empty() {
        true => "give two directories of one kind".to_owned(),
        false => format!("give the directory of one of its parts: {}", parts.join(", ")),
    };
    Ok(Failure::usage(format!("{}; {help}", said.join(", and "))))
}
