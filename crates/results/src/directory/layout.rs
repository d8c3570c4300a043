//! Layout of a kind's results directory: file names, form, and files as they are read by every kind.
//!
//! Cold. Every kind of run has a plan, a setup that is fixed before the first measurement, files that grow, and
//! `end.json`; a kind adds what its records hold.

use super::{DirectoryError, chain};
use crate::digest::sha256_of;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The plan's text.
pub const PLAN: &str = "plan.toml";
/// How the run ended.
pub const END: &str = "end.json";
/// Figures and verdicts.
pub const RESULTS: &str = "results.json";
/// What servers, commands and guests printed.
pub const LOGS: &str = "logs";

/// Files of a kind of run.
#[derive(Debug)]
pub struct Layout {
    /// What is fixed before the first measurement. A directory is of the kind whose setup it has.
    pub setup: &'static str,
    /// Form of the setup.
    pub form: &'static str,
    /// Files that grow by a line at a time, each line with its check.
    pub growing: &'static [&'static str],
}

/// Digests of a results directory's files, by name: the SHA-256 of plan and setup, and of each file that grows the check of
/// its last line. A file that is not there has none.
pub type Digests = BTreeMap<String, String>;

/// `end.json`: how the run ended, and the other files at that moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndRecord<T> {
    /// In the words of the kind.
    #[serde(flatten)]
    pub how: T,
    /// The files.
    pub digests: Digests,
}

/// `ended` of kinds that work through a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListEnd {
    /// How.
    pub ended: End,
}

/// End of a run that works through a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum End {
    /// All was run.
    Complete,
    /// By Ctrl-C.
    Interrupted,
    /// It could not say.
    Killed,
    /// For this reason.
    Failed(String),
}

impl Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Killed => "it was killed",
            Self::Failed(why) => why,
        })
    }
}

impl From<String> for End {
    fn from(words: String) -> Self {
        let known = [Self::Complete, Self::Interrupted, Self::Killed];
        known.into_iter().find(|end| end.to_string() == words).unwrap_or(Self::Failed(words))
    }
}

impl From<End> for String {
    fn from(end: End) -> Self {
        end.to_string()
    }
}

impl Layout {
    /// Whether the directory is of this kind.
    pub fn owns(&self, dir: &Path) -> bool {
        dir.join(self.setup).is_file()
    }

    /// The setup, its form first: another version's may lack what this one needs.
    ///
    /// # Errors
    /// It is not there, damaged, or in another form.
    pub fn setup<T: DeserializeOwned>(&self, dir: &Path) -> Result<T, DirectoryError> {
        /// Numbers are how kinds that began with numbers name their form.
        #[derive(Deserialize)]
        struct Form {
            #[serde(alias = "format")]
            schema: serde_json::Value,
            bakeoff: String,
        }
        if !self.owns(dir) {
            return Err(DirectoryError::NoResults(dir.to_owned()));
        }
        let text = needed(dir, self.setup)?;
        let damaged = |why: serde_json::Error| unreadable(dir, self.setup, why);
        let Form { schema, bakeoff } = serde_json::from_str(&text).map_err(damaged)?;
        let form = schema.as_str().map_or_else(|| schema.to_string(), str::to_owned);
        if form != self.form {
            let (path, reads) = (dir.join(self.setup), self.form);
            return Err(DirectoryError::OtherForm { path, form, reads, bakeoff });
        }
        serde_json::from_str(&text).map_err(damaged)
    }

    /// The files as they are now.
    ///
    /// # Errors
    /// One is there and cannot be read.
    pub fn digests(&self, dir: &Path) -> Result<Digests, DirectoryError> {
        let mut digests = Digests::new();
        for name in [PLAN, self.setup] {
            match sha256_of(&dir.join(name)) {
                Ok(digest) => drop(digests.insert(name.to_owned(), digest)),
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Err(unreadable(dir, name, why)),
            }
        }
        for name in self.growing {
            if let Some(check) = last_check(&dir.join(name)) {
                digests.insert((*name).to_owned(), check);
            }
        }
        Ok(digests)
    }
}

/// How a run ended; `None`: it was killed, or is not over.
///
/// # Errors
/// There is such a file and it cannot be read.
pub fn end<T: DeserializeOwned>(dir: &Path) -> Result<Option<EndRecord<T>>, DirectoryError> {
    let Some(text) = text_of(dir, END)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|why| unreadable(dir, END, why))
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
///
/// # Errors
/// It is there and cannot be read.
pub fn text_of(dir: &Path, name: &str) -> Result<Option<String>, DirectoryError> {
    match fs::read_to_string(dir.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(unreadable(dir, name, why)),
    }
}

/// The text of a file that must be there.
///
/// # Errors
/// It cannot be read.
pub fn needed(dir: &Path, name: &str) -> Result<String, DirectoryError> {
    text_of(dir, name)?.ok_or_else(|| unreadable(dir, name, "it is not there"))
}

/// Why a file of a directory cannot be used.
pub fn unreadable(dir: &Path, name: &str, why: impl Display) -> DirectoryError {
    DirectoryError::Read { path: dir.join(name), why: why.to_string() }
}
