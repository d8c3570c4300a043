//! Reader of a results directory.

use super::{
    Digests, DirectoryError, END, End, GROWING, PLAN, SETUP, SLICES, StoppedBy, Stored, TRIALS, chain,
};
use crate::digest::sha256_of;
use crate::results::{SETUP_SCHEMA, Setup};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Reads a results directory. It does not check that the files are as written; `verify` does.
///
/// # Errors
/// A file is missing, damaged, or of another version; the error says which and where.
pub fn load(path: &Path) -> Result<Stored, DirectoryError> {
    let end = text_of(path, END)?.and_then(|text| serde_json::from_str::<End>(&text).ok());
    let mut setup = setup(path)?;
    let warnings = &mut setup.environment.warnings;
    let mut others = end.as_ref().map_or(Vec::new(), |end| end.others.clone());
    others.retain(|other| !warnings.contains(other));
    warnings.splice(0..0, others);
    Ok(Stored {
        plan: needed(path, PLAN)?,
        setup,
        slices: records(path, SLICES)?,
        trials: records(path, TRIALS)?,
        stopped_by: end.map_or(StoppedBy::Interrupted, |end| end.stopped_by),
        digests: digests(path)?,
    })
}

/// `setup.json`, its form first: a file of another version may lack keys that this one needs.
pub(crate) fn setup(dir: &Path) -> Result<Setup, DirectoryError> {
    #[derive(Deserialize)]
    struct Form {
        schema: String,
        bakeoff: String,
    }
    if !dir.join(SETUP).exists() {
        return Err(DirectoryError::NoResults(dir.to_owned()));
    }
    let text = needed(dir, SETUP)?;
    let damaged = |why: serde_json::Error| unreadable(dir, SETUP, why.to_string());
    let form: Form = serde_json::from_str(&text).map_err(damaged)?;
    if form.schema != SETUP_SCHEMA {
        let path = dir.join(SETUP);
        return Err(DirectoryError::OtherForm { path, form: form.schema, bakeoff: form.bakeoff });
    }
    serde_json::from_str(&text).map_err(damaged)
}

/// The whole lines of a file that grows; none when it is not there. Parsed one line at a time: the file may be larger
/// than its records.
fn records<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<Vec<T>, DirectoryError> {
    let damaged = |why: io::Error| unreadable(dir, name, why.to_string());
    let mut file = match File::open(dir.join(name)) {
        Ok(file) => BufReader::new(file),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(damaged(why)),
    };
    let (mut line, mut records) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        file.read_until(b'\n', &mut line).map_err(damaged)?;
        let Some(whole) = line.strip_suffix(b"\n") else { return Ok(records) };
        let wrong = |why| unreadable(dir, name, format!("line {}: {why}", records.len() + 1));
        records.push(serde_json::from_slice(whole).map_err(wrong)?);
    }
}

/// Digests of the files as they are now.
pub(crate) fn digests(dir: &Path) -> Result<Digests, DirectoryError> {
    let mut digests = Digests::new();
    for name in [PLAN, SETUP] {
        match sha256_of(&dir.join(name)) {
            Ok(digest) => drop(digests.insert(name.to_owned(), digest)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(unreadable(dir, name, why.to_string())),
        }
    }
    for name in GROWING {
        if let Some(check) = last_check(&dir.join(name)) {
            digests.insert(name.to_owned(), check);
        }
    }
    Ok(digests)
}

/// The check of the last whole line, if there is one. Only a killed run leaves half a line behind it.
fn last_check(path: &Path) -> Option<String> {
    let check = match chain::last(&File::open(path).ok()?) {
        Ok(check) => check,
        Err(_) => chain::last_whole(&fs::read_to_string(path).ok()?),
    };
    check.map(|check| check.as_str().to_owned())
}

/// A file's text; `None` when it is not there.
fn text_of(dir: &Path, name: &str) -> Result<Option<String>, DirectoryError> {
    match fs::read_to_string(dir.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(unreadable(dir, name, why.to_string())),
    }
}

fn needed(dir: &Path, name: &str) -> Result<String, DirectoryError> {
    text_of(dir, name)?.ok_or_else(|| unreadable(dir, name, "it is not there".to_owned()))
}

fn unreadable(dir: &Path, name: &str, why: String) -> DirectoryError {
    DirectoryError::Read { path: dir.join(name), why }
}
