//! What a run writes, and reading it again.
//!
//! Measuring side, cold. A line a boot, synced when it has ended: a run that is broken off keeps what it has.

use crate::records::{BootRecord, FORMAT, Setup};
use bakeoff_experiment::directory::{DirectoryError, ResultsDir};
use serde::Deserialize;
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The plan's text.
pub const PLAN: &str = "plan.toml";
/// What was fixed before the first boot.
pub const SETUP: &str = "guest.json";
/// A line a boot.
pub const BOOTS: &str = "boots.jsonl";

/// A directory that was read.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its plan.
    pub plan: String,
    /// What was fixed before the first boot.
    pub setup: Setup,
    /// The boots that ended, in the order in which they did.
    pub boots: Vec<BootRecord>,
}

/// Whether a directory is one of a guest.
pub fn is_one(path: &Path) -> bool {
    path.join(SETUP).is_file()
}

/// Begins to write an empty directory.
///
/// # Errors
/// It cannot be written.
pub(crate) fn begin(dir: &ResultsDir, plan: &str, setup: &Setup) -> Result<(), DirectoryError> {
    dir.write(PLAN, plan.as_bytes())?;
    let mut text = serde_json::to_vec_pretty(setup).unwrap_or_default();
    text.push(b'\n');
    dir.write(BOOTS, b"")?;
    dir.write(SETUP, &text)
}

/// A boot has ended.
///
/// # Errors
/// The disk is full: what stood there before still stands there.
pub(crate) fn append(dir: &ResultsDir, record: &BootRecord) -> Result<(), DirectoryError> {
    let path = dir.path().join(BOOTS);
    let mut line = serde_json::to_vec(record).unwrap_or_default();
    line.push(b'\n');
    let write = || {
        let mut file = OpenOptions::new().append(true).open(&path)?;
        let before = file.metadata()?.len();
        file.write_all(&line).and_then(|()| file.sync_data()).inspect_err(|_| {
            let _ = file.set_len(before); // half a line is none
        })
    };
    write().map_err(|why| DirectoryError::Write { path: path.clone(), why })
}

/// Reads a directory. Half a line at its end is what a killed run leaves, and is not read.
///
/// # Errors
/// It is none, it is in another version's form, or what stands in it cannot be read.
pub fn load(path: &Path) -> Result<Stored, DirectoryError> {
    #[derive(Deserialize)]
    struct Form {
        format: u32,
        bakeoff: String,
    }
    let text = |name: &str| fs::read_to_string(path.join(name)).map_err(|why| unreadable(path, name, why));
    let (plan, setup) = (text(PLAN)?, text(SETUP)?);
    let damaged = |why: serde_json::Error| unreadable(path, SETUP, why);
    let Form { format, bakeoff } = serde_json::from_str(&setup).map_err(damaged)?;
    if format != FORMAT {
        let form = format.to_string();
        return Err(DirectoryError::OtherForm { path: path.join(SETUP), form, bakeoff });
    }
    let setup = serde_json::from_str(&setup).map_err(damaged)?;
    let lines = match fs::read(path.join(BOOTS)) {
        Err(why) if why.kind() == ErrorKind::NotFound => Vec::new(),
        other => other.map_err(|why| unreadable(path, BOOTS, why))?,
    };
    let mut boots = Vec::new();
    for (number, line) in (1..).zip(lines.split_inclusive(|byte| *byte == b'\n')) {
        let Some(whole) = line.strip_suffix(b"\n") else { break };
        let wrong = |why| unreadable(path, BOOTS, format!("line {number}: {why}"));
        boots.push(serde_json::from_slice(whole).map_err(wrong)?);
    }
    Ok(Stored { plan, setup, boots })
}

fn unreadable(dir: &Path, name: &str, why: impl Display) -> DirectoryError {
    DirectoryError::Read { path: dir.join(name), why: why.to_string() }
}
