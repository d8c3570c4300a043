//! `bakeoff verify`: is a results directory as it was written, and does it say what its slices give?

use super::report::{self, Files};
use crate::args::VerifyArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::directory::{DirectoryError, RESULTS, ResultsDir};
use bakeoff_experiment::verify::{Finding, Verified, verify as ask};
use std::path::Path;

/// Findings of a file that are printed; one changed slice can change hundreds of figures.
const SHOWN: usize = 20;

/// Prints what is not as it was written, a line each. Writes nothing.
pub(crate) fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    super::guest::refuse_directory(&args.dir, "has no chain of checks")?;
    if super::suite::is_directory(&args.dir) {
        return super::suite::verify(&args.dir);
    }
    super::caches::refuse_directory(&args.dir, "has no chain of checks")?;
    // Held while reading: a run may be writing. A copy that cannot be written needs no lock.
    let _lock = match ResultsDir::reopen(&args.dir) {
        Err(why @ DirectoryError::InUse(_)) => return Err(Failure::failed(why)),
        other => other.ok(),
    };
    let mut verified = ask(&args.dir).map_err(Failure::usage)?;
    let printed = printed(&args.dir, &mut verified)?;
    verified.notes.iter().for_each(|note| terminal::note(&format!("note: {note}")));
    let file = |finding: &Finding| finding.place.split([' ', ':']).next().unwrap_or_default().to_owned();
    for of_file in verified.findings.chunk_by(|a, b| file(a) == file(b)) {
        of_file.iter().take(SHOWN).for_each(|finding| terminal::say(&finding.to_string()));
        if let Some(more) = of_file.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            terminal::say(&format!("... and {more} more of {}", file(&of_file[0])));
        }
    }
    let dir = args.dir.display();
    if !verified.findings.is_empty() {
        terminal::say(&format!("{dir}: not as it was written"));
        return Ok(Exit::Altered);
    }
    let values = verified.values;
    let read = match (verified.slices, verified.trials) {
        (0, trials) if trials > 0 => format!("{trials} trials"),
        (slices, _) => format!("{slices} slices"),
    };
    terminal::say(&format!("{dir}: as it was written: {read}, {values} values of {RESULTS}{printed}"));
    Ok(Exit::Verdicts)
}

/// The files that another version prints in its own way. Gives their names, to go on a sentence with.
fn printed(dir: &Path, verified: &mut Verified) -> Result<String, Failure> {
    let Some((stored, results)) = verified.again.take() else { return Ok(String::new()) };
    let (wrote, own) = (stored.setup.bakeoff.clone(), env!("CARGO_PKG_VERSION"));
    if wrote != own {
        verified.notes.push(format!(
            "bakeoff {wrote} wrote it, this is {own}: what reports look like was not compared, and words of {RESULTS} may differ"
        ));
        return Ok(String::new());
    }
    let outputs = report::print(stored, results, Files::there(dir));
    let mut names = String::new();
    for (name, bytes) in outputs.files.iter().filter(|(name, _)| *name != RESULTS) {
        if dir.join(name).exists() {
            verified.printed(dir, name, bytes).map_err(Failure::usage)?;
            names += &format!(", {name}");
        } else {
            verified.notes.push(format!("there is no {name}; `bakeoff report` makes it"));
        }
    }
    Ok(names)
}
