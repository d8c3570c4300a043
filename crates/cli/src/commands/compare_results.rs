//! `bakeoff compare-results`: a stored run against a newer one.

use crate::args::CompareResultsArgs;
use crate::exit::Exit;
use crate::{Failure, kinds, terminal};
use std::path::Path;

/// Prints what changed. Writes nothing.
pub(crate) fn compare_results(args: &CompareResultsArgs) -> Result<Exit, Failure> {
    let kind = kinds::of_directory(&args.new)?;
    if !kind.owns_directory(&args.old) {
        return Err(of_two_kinds(&args.old, &args.new)?);
    }
    terminal::say(&kind.compare(&args.old, &args.new, args)?);
    Ok(Exit::Verdicts)
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
