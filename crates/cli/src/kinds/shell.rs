//! Shell of every kind: a directory is taken, something is measured, what was measured is shown, whatever ended the run.
//!
//! Glue. Owns results directories that nobody named, the order of what is said, and the exit code. Printed first, written
//! afterwards: a full disk takes nothing from the reader.

use super::{Around, Checked, Ended, Outputs, Planned, ReportRequest, RunKind};
use crate::args::{OutputArgs, RuleArgs};
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_analysis::verify::{self, Finding};
use bakeoff_results::directory::{DirectoryError, Layout, ListEnd, PLAN, RESULTS, ResultsDir};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Folder of results directories that nobody named.
const RESULTS_FOLDER: &str = "bakeoff-results";
/// Directories tried for runs of one name that begin in the same second.
const SAME_SECOND: u32 = 100;
/// Findings of a file that are printed; one changed slice can change hundreds of figures.
const SHOWN: usize = 20;

/// Runs a plan into a new results directory.
pub(crate) fn run(kind: &dyn RunKind, plan: &dyn Planned, around: &Around<'_>) -> Result<Exit, Failure> {
    plan.fit(around.rules)?;
    plan.demand_fit_for(around.generators)?;
    plan.here()?;
    let dir = new_dir(around.output.out.as_deref(), plan.name(), kind.layout())?;
    let ended = plan.run(&dir, around);
    Ok(conclude(kind, &dir, ended, around))
}

/// Goes on with a run.
pub(crate) fn resume(kind: &dyn RunKind, path: &Path, around: &Around<'_>) -> Result<Exit, Failure> {
    let dir = locked(kind, path)?;
    let ended = kind.resume(&dir, around)?.unwrap_or_else(|| {
        terminal::note("the run is complete; nothing is measured");
        Ok(Exit::Verdicts)
    });
    Ok(conclude(kind, &dir, ended, around))
}

/// Makes every output of a directory and of its parts again, and prints the report of the whole.
pub(crate) fn remake(kind: &dyn RunKind, path: &Path, asked: &ReportRequest<'_>) -> Result<Exit, Failure> {
    let mut worst = Exit::Verdicts;
    for (name, own) in kind.parts(path)? {
        let part = super::of_directory(&own)?;
        let outputs =
            again(part, &own, asked).map_err(|why| why.of_part(&path.display().to_string(), &name))?;
        complain_of(&outputs);
        worst = worst.or_worse(outputs.exit);
    }
    let outputs = again(kind, path, asked)?;
    terminal::document(&outputs.document, asked.verbose);
    complain_of(&outputs);
    note_more(path, &outputs, asked);
    say_where(path, false);
    Ok(worst.or_worse(outputs.exit))
}

fn again(kind: &dyn RunKind, path: &Path, asked: &ReportRequest<'_>) -> Result<Outputs, Failure> {
    let dir = locked(kind, path)?;
    let outputs = kind.outputs(&dir, asked)?;
    written(&dir, &outputs)?;
    Ok(outputs)
}

/// A directory that a run was written to. That somebody else has it is no wrong command line.
fn locked(kind: &dyn RunKind, path: &Path) -> Result<ResultsDir, Failure> {
    ResultsDir::reopen(path, kind.layout()).map_err(|why| match why {
        DirectoryError::InUse(_) | DirectoryError::Write { .. } => Failure::failed(why),
        other => Failure::usage(other),
    })
}

/// Whatever ended the run: shows what was measured, then says what went wrong, the run's own error first.
fn conclude(kind: &dyn RunKind, dir: &ResultsDir, ended: Ended, around: &Around<'_>) -> Exit {
    let interrupted = around.interrupted.load(Ordering::Relaxed);
    let asked = ReportRequest {
        failed: ended.is_err() && !interrupted,
        verbose: around.output.verbose,
        ..ReportRequest::of(around.rules)
    };
    let shown = if dir.has_begun() { show(kind, dir, &asked, around.output) } else { Ok(Exit::Verdicts) };
    let mut ending = match &shown {
        Ok(exit) => *exit,
        Err(failure) => failure.exit,
    };
    match ended {
        _ if interrupted && around.output.part => ending = Exit::Interrupted,
        _ if interrupted => {
            terminal::note(&match dir.has_begun() {
                true if around.output.far.is_some() => "interrupted; what was measured is kept".to_owned(),
                true => format!(
                    "interrupted; what was measured is kept and can be gone on with: {} run --resume {}",
                    program(),
                    dir.path().display()
                ),
                false => "interrupted; nothing was measured".to_owned(),
            });
            ending = Exit::Interrupted;
        }
        Err(error) => {
            terminal::complain(&error);
            ending = Exit::Failed;
        }
        Ok(parts) => ending = ending.or_worse(parts),
    }
    if let Err(failure) = shown {
        terminal::complain(&failure.message);
    }
    // A user who presses Ctrl-C does not ask what servers had printed.
    if dir.has_begun() || (dir.has_logs() && !interrupted) {
        if !around.output.part {
            say_where(dir.path(), around.output.json);
        }
    } else {
        take_back(dir);
    }
    ending
}

/// Takes back a directory into which nothing was measured.
pub(crate) fn take_back(dir: &ResultsDir) {
    if dir.take_back() {
        let _ = std::fs::remove_dir(RESULTS_FOLDER); // if it is empty now
    }
}

/// Prints the report and writes its files.
fn show(
    kind: &dyn RunKind,
    dir: &ResultsDir,
    asked: &ReportRequest<'_>,
    output: &OutputArgs,
) -> Result<Exit, Failure> {
    let outputs = kind.outputs(dir, asked)?;
    if output.json {
        terminal::say(&outputs.json());
    } else if output.words() {
        terminal::document(&outputs.document, asked.verbose);
    }
    written(dir, &outputs)?;
    if output.words() {
        let of = |name: &str| dir.path().join(name);
        let plan = Some(of(PLAN)).filter(|plan| plan.is_file());
        let plan = plan.map_or_else(String::new, |plan| format!(", of the plan {}", plan.display()));
        terminal::note(&format!("report: {}{plan}", of("report.html").display()));
        note_more(dir.path(), &outputs, asked);
    }
    complain_of(&outputs);
    Ok(outputs.exit)
}

/// This program as it was called: a command to copy runs also where no `bakeoff` is installed.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "bakeoff".to_owned())
}

/// The command that prints what the brief report left out, where it left out anything.
fn note_more(dir: &Path, outputs: &Outputs, asked: &ReportRequest<'_>) {
    if !asked.verbose && outputs.document.has_more() {
        terminal::note(&format!("more: {} report {} --verbose", program(), dir.display()));
    }
}

/// Writes every output of a directory that is locked again, and says nothing.
pub(crate) fn rewrite(dir: &ResultsDir) -> Result<(), Failure> {
    let rules = RuleArgs::default();
    written(dir, &super::of_directory(dir.path())?.outputs(dir, &ReportRequest::of(&rules))?)
}

/// Writes the files.
fn written(dir: &ResultsDir, outputs: &Outputs) -> Result<(), Failure> {
    outputs.files.iter().try_for_each(|(name, bytes)| dir.write(name, bytes).map_err(Failure::failed))
}

/// On standard error: `--quiet` promises that nothing else is on the other.
fn complain_of(outputs: &Outputs) {
    outputs.lines.iter().for_each(|line| terminal::note(line));
}

/// The last line of standard output; of standard error where the other has JSON.
pub(crate) fn say_where(dir: &Path, json: bool) {
    let line = format!("results: {}", dir.display());
    if json { terminal::note(&line) } else { terminal::say(&line) }
}

/// Checks a directory and prints what is not as it was written, a line each. Writes nothing.
pub(crate) fn verify(kind: &dyn RunKind, dir: &Path) -> Result<Exit, Failure> {
    let parts = kind.parts(dir)?;
    if !parts.is_empty() {
        return parts.iter().try_fold(Exit::Verdicts, |worst, (_, own)| {
            Ok(worst.or_worse(verify(super::of_directory(own)?, own)?))
        });
    }
    let mut checked = checked_directory(kind, dir)?;
    let printed = printed(dir, &mut checked)?;
    let verified = checked.verified;
    verified.notes.iter().for_each(|note| terminal::note(&format!("note: {note}")));
    let file = |finding: &Finding| finding.place.split([' ', ':']).next().unwrap_or_default().to_owned();
    for of_file in verified.findings.chunk_by(|a, b| file(a) == file(b)) {
        of_file.iter().take(SHOWN).for_each(|finding| terminal::say(&finding.to_string()));
        if let Some(more) = of_file.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            terminal::say(&format!("... and {more} more of {}", file(&of_file[0])));
        }
    }
    let shown = dir.display();
    if !verified.findings.is_empty() {
        terminal::say(&format!("{shown}: not as it was written"));
        return Ok(Exit::Altered);
    }
    let (read, values) = (verified.read, verified.values);
    terminal::say(&format!("{shown}: as it was written: {read}, {values} values of {RESULTS}{printed}"));
    Ok(Exit::Verdicts)
}

/// A directory without parts, checked and held while it is read: a run may be writing. A copy that cannot be written needs
/// no lock.
pub(crate) fn checked_directory(kind: &dyn RunKind, dir: &Path) -> Result<Checked, Failure> {
    let _lock = match ResultsDir::reopen(dir, kind.layout()) {
        Err(why @ DirectoryError::InUse(_)) => return Err(Failure::failed(why)),
        other => other.ok(),
    };
    kind.verified(dir)
}

/// What there is to check of a kind that works through a list: its files, then `results.json` against what its records
/// give. `print` gives the records in words, the version that wrote them, and the outputs.
pub(super) fn verified<S>(
    dir: &Path,
    layout: &Layout,
    stored: Result<S, DirectoryError>,
    print: impl FnOnce(S) -> Result<(String, String, Outputs), Failure>,
) -> Result<Checked, Failure> {
    let mut verified = verify::files::<ListEnd>(dir, layout).map_err(Failure::usage)?;
    let stored = match stored {
        Ok(stored) => stored,
        Err(why) => {
            verified.not_again(why);
            return Ok(Checked { verified, wrote: String::new(), outputs: None });
        }
    };
    let (read, wrote, outputs) = print(stored)?;
    let results: serde_json::Value = serde_json::from_str(&outputs.json()).map_err(Failure::failed)?;
    verified.results(dir, &results).map_err(Failure::usage)?;
    verified.read = read;
    Ok(Checked { verified, wrote, outputs: Some(outputs) })
}

/// The files that another version prints in its own way. Gives their names, to go on a sentence with.
fn printed(dir: &Path, checked: &mut Checked) -> Result<String, Failure> {
    let Some(outputs) = checked.outputs.take() else { return Ok(String::new()) };
    let (wrote, own, verified) = (&checked.wrote, env!("CARGO_PKG_VERSION"), &mut checked.verified);
    if wrote != own {
        verified.notes.push(format!(
            "bakeoff {wrote} wrote it, this is {own}: what reports look like was not compared, and words of {RESULTS} may differ"
        ));
        return Ok(String::new());
    }
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

impl Outputs {
    /// `results.json`.
    fn json(&self) -> String {
        let bytes = self.files.iter().find(|(name, _)| *name == RESULTS).map(|(_, bytes)| bytes.as_slice());
        String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
    }
}

/// The directory that was asked for, or `bakeoff-results/NAME-TIME` in the current one. Of runs that begin in
/// the same second, which nobody asked to share a directory, the later have a number behind the time.
pub(crate) fn new_dir(
    asked: Option<&Path>,
    name: &str,
    layout: &'static Layout,
) -> Result<ResultsDir, Failure> {
    let made = match asked {
        Some(path) => ResultsDir::create(path, layout),
        None => {
            let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
            first_free(&Path::new(RESULTS_FOLDER).join(format!("{name}-{now}")), layout)
        }
    };
    made.map_err(|why| match why {
        DirectoryError::NotEmpty(_) => Failure::usage(why),
        other => Failure::failed(other),
    })
}

/// `PATH`, else `PATH-2` and so on.
fn first_free(path: &Path, layout: &'static Layout) -> Result<ResultsDir, DirectoryError> {
    let mut made = ResultsDir::create(path, layout);
    for number in 2..=SAME_SECOND {
        let Err(DirectoryError::NotEmpty(_) | DirectoryError::InUse(_)) = &made else { break };
        made = ResultsDir::create(&PathBuf::from(format!("{}-{number}", path.display())), layout);
    }
    made
}

/// Refuses `--fail-if` and `--strict` where there are no verdicts of arms.
pub(super) fn demand_no_rules(rules: &RuleArgs, noun: &str) -> Result<(), Failure> {
    match rules.fail_if.is_empty() {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "--fail-if is for experiments and bake-offs, and this is {noun}; take it out"
        ))),
    }
}

/// Refuses what of a report only experiments have.
pub(super) fn demand_plain(asked: &ReportRequest<'_>, noun: &str) -> Result<(), Failure> {
    demand_no_rules(asked.rules, noun)?;
    demand_no_slices(asked, noun)
}

/// Refuses slices as Parquet where there are none.
pub(super) fn demand_no_slices(asked: &ReportRequest<'_>, noun: &str) -> Result<(), Failure> {
    match asked.parquet {
        false => Ok(()),
        true => {
            Err(Failure::usage(format!("--parquet is for experiments, which {noun} is not; take it out")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_results::directory::EXPERIMENT;

    #[test]
    fn runs_that_begin_in_the_same_second_have_a_directory_each() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("quickstart-20261123-010203");
        let taken: Vec<ResultsDir> = (0..3).map(|_| first_free(&path, &EXPERIMENT).unwrap()).collect();
        let names: Vec<&std::ffi::OsStr> = taken.iter().filter_map(|one| one.path().file_name()).collect();
        let numbered = ["", "-2", "-3"].map(|number| format!("quickstart-20261123-010203{number}"));
        assert_eq!(names, numbered.each_ref().map(std::ffi::OsStr::new));
    }
}
