//! Verification of a results directory: that its files are as written, and that its results follow from its slices.
//!
//! Cold, writes nothing. Owns the order of the checks: the digests at the run's end, the lines of growing files, the
//! rounds, and at last every figure and verdict of `results.json` against the same analysis of the slices now. The
//! printed report is checked by the callers that can print one. No signature: a user who may write a directory may
//! write another one.

mod json;
mod slices;

use crate::analyse::analyse;
use crate::directory::{self, Digests, DirectoryError, END, End, PLAN, RESULTS, SETUP, Stored};
use crate::results::Results;
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
    /// Slices read.
    pub slices: usize,
    /// Trials of a search for peaks, read.
    pub trials: usize,
    /// Values of `results.json` compared.
    pub values: usize,
    /// The contents of the files and the results that follow from them, if all slices can be read.
    pub again: Option<(Stored, Results)>,
}

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

    fn find(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.findings.push(Finding { place: place.into(), what: what.into() });
    }
}

/// Makes all checks that a directory's own files allow.
///
/// # Errors
/// There is no run in it, or it is in another version's form.
pub fn verify(dir: &Path) -> Result<Verified, DirectoryError> {
    let setup = directory::setup(dir)?;
    let mut verified = Verified::default();
    let end = end(dir, &mut verified)?;
    let now = directory::digests(dir)?;
    if now.get(PLAN) != Some(&setup.plan_sha256) {
        verified.find(PLAN, format!("is not the plan that {SETUP} was made from"));
    }
    if let Some(end) = &end {
        ended(end, &now, &mut verified);
    }
    let first = end.as_ref().and_then(|end| end.digests.get(SETUP)).or_else(|| now.get(SETUP));
    slices::check_chains(dir, first.map_or("", String::as_str), end.is_some(), &mut verified)?;
    match directory::load(dir) {
        Ok(stored) => {
            slices::check_rounds(&stored, &mut verified);
            results(dir, stored, &mut verified)?;
        }
        Err(why) => verified.notes.push(format!("figures and verdicts were not computed again: {why}")),
    }
    Ok(verified)
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

fn end(dir: &Path, verified: &mut Verified) -> Result<Option<End>, DirectoryError> {
    let Some(text) = lossy(dir, END)? else {
        verified.notes.push(format!(
            "there is no {END}: the run was killed or is not over, and whether lines are missing at the end is not known"
        ));
        return Ok(None);
    };
    let end = serde_json::from_str(&text);
    Ok(end.inspect_err(|why| verified.find(END, format!("cannot be read: {why}"))).ok())
}

/// Checks the digests at the run's end. The plan is also checked against `setup.json`.
fn ended(end: &End, now: &Digests, verified: &mut Verified) {
    for (name, then) in &end.digests {
        let what = match now.get(name) {
            Some(digest) if digest == then => continue,
            Some(_) if directory::GROWING.contains(&name.as_str()) => {
                "does not end with the line that it ended with when the run did: lines are missing, were added, or the last was changed"
            }
            Some(_) => "changed since the run ended",
            None => "is not there, or holds nothing whole, and did when the run ended",
        };
        verified.find(name.as_str(), what);
    }
    for name in now.keys().filter(|name| !end.digests.contains_key(*name)) {
        verified.find(name.as_str(), "was not there when the run ended");
    }
}

/// Compares every value of `results.json` with the result of the slices now.
fn results(dir: &Path, stored: Stored, verified: &mut Verified) -> Result<(), DirectoryError> {
    let again = match analyse(&stored) {
        Ok(results) => results,
        Err(why) => {
            verified.find("slices.jsonl", why.to_string());
            return Ok(());
        }
    };
    let text = lossy(dir, RESULTS)?;
    let fresh = serde_json::to_value(&again).unwrap_or(Value::Null);
    match text.as_deref().map(serde_json::from_str::<Value>) {
        None => verified.notes.push(format!("there is no {RESULTS}; `bakeoff report` makes it")),
        Some(Err(why)) => verified.find(RESULTS, format!("cannot be read: {why}")),
        Some(Ok(there)) => compare(&there, &fresh, verified),
    }
    verified.again = Some((stored, again));
    Ok(())
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
