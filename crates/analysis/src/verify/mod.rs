//! Verification of a results directory: that its files are as written, and that its results follow from its slices.
//!
//! Cold, writes nothing. Owns the order of the checks: the digests at the run's end, the lines of growing files, the
//! rounds, and at last every figure and verdict of `results.json` against the same analysis of the slices now. The
//! printed report is checked by the callers that can print one. No signature: a user who may write a directory may
//! write another one.

mod json;
mod lines;
mod parts;

use crate::analyse::analyse;
use bakeoff_results::directory::{
    self, Digests, DirectoryError, END, EXPERIMENT, EndRecord, Layout, PLAN, RESULTS, StopReason,
    StoredExperiment,
};
use bakeoff_results::{Results, Setup};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

/// A difference from what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// File, with line or key if that is known.
    pub place: String,
    /// The difference.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Outcome of a verification.
#[derive(Debug, Default)]
pub struct Verified {
    /// All differences; empty when all is well.
    pub findings: Vec<Finding>,
    /// Checks that were not possible, with the reason; no fault.
    pub notes: Vec<String>,
    /// Records read, in words: `40 slices`.
    pub read: String,
    /// Values of `results.json` compared.
    pub values: usize,
}

/// The files of an experiment and what follows from them.
pub type Again = (StoredExperiment, Results);

impl Verified {
    /// Checks one more file against its present form; a missing file is no fault.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn printed(&mut self, dir: &Path, name: &str, now: &[u8]) -> Result<(), DirectoryError> {
        let Some(there) = bytes_of(dir, name)? else { return Ok(()) };
        if there != now {
            let line = match (std::str::from_utf8(&there), std::str::from_utf8(now)) {
                (Ok(there), Ok(now)) => {
                    format!(
                        " line {}",
                        there.lines().zip(now.lines()).take_while(|(a, b)| a == b).count() + 1
                    )
                }
                _ => String::new(),
            };
            self.find(format!("{name}{line}"), "is not what `bakeoff report` would print");
        }
        Ok(())
    }

    /// Asks whether every value of `results.json` is what the records give now.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn results(&mut self, dir: &Path, now: &impl Serialize) -> Result<(), DirectoryError> {
        let fresh = serde_json::to_value(now).unwrap_or(Value::Null);
        match lossy(dir, RESULTS)?.as_deref().map(serde_json::from_str::<Value>) {
            None => self.notes.push(format!("there is no {RESULTS}; `bakeoff report` makes it")),
            Some(Err(why)) => self.find(RESULTS, format!("cannot be read: {why}")),
            Some(Ok(there)) => compare(&there, &fresh, self),
        }
        Ok(())
    }

    /// Notes that figures were not computed again.
    pub fn not_again(&mut self, why: impl fmt::Display) {
        self.notes.push(format!("figures and verdicts were not computed again: {why}"));
    }

    fn find(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.findings.push(Finding { place: place.into(), what: what.into() });
    }
}

/// Asks the questions that are the same for every kind: whether plan, setup and growing files are as they were when the
/// run ended, and each line as it was written. `E` is how the kind says how a run ended.
///
/// # Errors
/// A file is there and cannot be read.
pub fn files<E: DeserializeOwned>(dir: &Path, layout: &Layout) -> Result<Verified, DirectoryError> {
    let mut verified = Verified::default();
    let end = end::<E>(dir, &mut verified)?;
    let now = layout.digests(dir)?;
    if let Some(end) = &end {
        ended(&end.digests, &now, layout, &mut verified);
    }
    let setup = end.as_ref().and_then(|end| end.digests.get(layout.setup)).or_else(|| now.get(layout.setup));
    lines::check_chains(dir, layout, setup.map_or("", String::as_str), end.is_some(), &mut verified)?;
    Ok(verified)
}

/// Asks all questions that an experiment's own files can answer. Where all slices can be read, also gives what follows
/// from them.
///
/// # Errors
/// There is no run in it, or it is in another version's form.
pub fn experiment(dir: &Path) -> Result<(Verified, Option<Again>), DirectoryError> {
    let setup: Setup = EXPERIMENT.setup(dir)?;
    let mut verified = files::<StopReason>(dir, &EXPERIMENT)?;
    if EXPERIMENT.digests(dir)?.get(PLAN) != Some(&setup.plan_sha256) {
        let what = format!("is not the plan that {} was made from", EXPERIMENT.setup);
        verified.findings.insert(0, Finding { place: PLAN.to_owned(), what });
    }
    let stored = match directory::load(dir) {
        Ok(stored) => stored,
        Err(why) => {
            verified.not_again(why);
            return Ok((verified, None));
        }
    };
    lines::check_rounds(&stored, &mut verified);
    parts::check(&stored, &mut verified);
    verified.read = match (stored.slices.len(), stored.trials.len()) {
        (0, trials) if trials > 0 => format!("{trials} trials"),
        (slices, _) => format!("{slices} slices"),
    };
    let again = match analyse(&stored) {
        Ok(results) => results,
        Err(why) => {
            verified.find(directory::SLICES, why.to_string());
            return Ok((verified, None));
        }
    };
    verified.results(dir, &again)?;
    Ok((verified, Some((stored, again))))
}

/// A file's text, `None` when it is not there. A byte that is no text is a difference, not an error.
fn lossy(dir: &Path, name: &str) -> Result<Option<String>, DirectoryError> {
    Ok(bytes_of(dir, name)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn bytes_of(dir: &Path, name: &str) -> Result<Option<Vec<u8>>, DirectoryError> {
    match fs::read(dir.join(name)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(DirectoryError::Read { path: dir.join(name), why: why.to_string() }),
    }
}

fn end<E: DeserializeOwned>(
    dir: &Path,
    verified: &mut Verified,
) -> Result<Option<EndRecord<E>>, DirectoryError> {
    let Some(text) = lossy(dir, END)? else {
        verified.notes.push(format!(
            "there is no {END}: the run was killed or is not over, and whether lines are missing at the end is not known"
        ));
        return Ok(None);
    };
    let end = serde_json::from_str(&text);
    Ok(end.inspect_err(|why| verified.find(END, format!("cannot be read: {why}"))).ok())
}

/// The files as they were when the run ended.
fn ended(then: &Digests, now: &Digests, layout: &Layout, verified: &mut Verified) {
    for (name, then) in then {
        let what = match now.get(name) {
            Some(digest) if digest == then => continue,
            Some(_) if layout.growing.contains(&name.as_str()) => {
                "does not end with the line that it ended with when the run did: lines are missing, were added, or the last was changed"
            }
            Some(_) => "changed since the run ended",
            None => "is not there, or holds nothing whole, and did when the run ended",
        };
        verified.find(name.as_str(), what);
    }
    for name in now.keys().filter(|name| !then.contains_key(*name)) {
        verified.find(name.as_str(), "was not there when the run ended");
    }
}

fn compare(there: &Value, fresh: &Value, verified: &mut Verified) {
    let compared = json::compare(there, fresh);
    verified.values = compared.values;
    for (path, what) in compared.differences {
        verified.find(RESULTS, format!("{path} {what}"));
    }
    if compared.last_digits > 0 {
        verified.notes.push(format!(
            "{} values of {RESULTS} differ in their last digits only (less than one part in 10^9): it was made by another machine's logarithm",
            compared.last_digits
        ));
    }
}
