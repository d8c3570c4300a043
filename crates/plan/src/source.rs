//! Text of a plan, opened once: a file, a pipe, standard input, or shipped with the program.
//!
//! Cold. Owns where a text comes from and what messages call it. Every kind of run reads its plan from here, and the kind
//! is found by the text's outermost keys, so that nothing is opened twice: a pipe could not be.

use super::{PlanError, Setting, changed};
use crate::shipped::{ShippedPlan, summary};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The name that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// A plan's text.
#[derive(Clone, Debug)]
pub struct PlanSource {
    /// The file's stem or the shipped plan's name; `plan` where there is no file.
    pub name: String,
    /// What messages call it.
    pub origin: String,
    /// The text.
    pub text: String,
    /// Directory that relative paths start from; `None`: it is shipped and names no files.
    pub base_dir: Option<PathBuf>,
    keys: BTreeSet<String>,
}

impl PlanSource {
    /// Reads a file or a pipe to its end, or standard input where the path is `-`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<Self, PlanError> {
        let here = || std::path::absolute(".").unwrap_or_default();
        let shown = path.display().to_string();
        let failed = |why| PlanError::Unreadable { path: shown.clone(), why };
        if path == Path::new(STANDARD_INPUT) {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(failed)?;
            return Ok(Self::new("plan", "standard input", text, Some(here())));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        if !path.is_file() {
            return Ok(Self::new("plan", &shown, text, Some(here())));
        }
        let stem = path.file_stem().map_or_else(|| "plan".into(), |stem| stem.to_string_lossy());
        let base = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let base = std::path::absolute(base).unwrap_or_else(|_| base.to_owned());
        Ok(Self::new(&stem, &shown, text, Some(base)))
    }

    /// A plan that comes with the program.
    pub fn shipped(plan: ShippedPlan) -> Self {
        Self::new(plan.name, &format!("{}.toml (shipped)", plan.name), plan.text.to_owned(), None)
    }

    /// A text that is in hand already.
    pub fn new(name: &str, origin: &str, text: String, base_dir: Option<PathBuf>) -> Self {
        let keys = text.parse::<toml::Table>().unwrap_or_default().keys().cloned().collect();
        Self { name: name.to_owned(), origin: origin.to_owned(), text, base_dir, keys }
    }

    /// The word by which a user names it: the path, or the shipped plan's name.
    pub fn called(&self) -> &str {
        if self.base_dir.is_some() { &self.origin } else { &self.name }
    }

    /// Whether it has this outermost key. A text that is no TOML has none: its error is told by the kind that reads it.
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// The same with these values in place of its own.
    ///
    /// # Errors
    /// A value has no place in the text.
    pub fn with(&self, settings: &[Setting]) -> Result<Self, PlanError> {
        let (origin, text) = changed(&self.origin, &self.text, settings)?;
        Ok(Self { origin, text, ..self.clone() })
    }

    /// What the plan is about: the comment on its first line.
    pub fn summary(&self) -> &str {
        summary(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_pipe_is_read_once_and_has_no_stem() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"# About\n[guest]\n").unwrap();
        drop(writer);
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let source = PlanSource::open(Path::new(&path)).unwrap();
        assert_eq!((source.name.as_str(), source.summary()), ("plan", "About"));
        assert!(source.has("guest") && !source.has("part"));
        assert_eq!(source.base_dir, std::path::absolute(".").ok());
    }

    #[test]
    fn keys_are_outermost_tables_and_comments_are_none() {
        let of = |text: &str| PlanSource::new("p", "p.toml", text.to_owned(), None);
        for line in ["[bakeoff]", "  [bakeoff] # caches", "[bakeoff]#", "[ bakeoff ]"] {
            assert!(of(&format!("# mine\n{line}\n")).has("bakeoff"), "{line}");
        }
        for text in ["[bakeoffs]\n", "# [bakeoff]\n", "[bakeoff] x"] {
            assert!(!of(text).has("bakeoff"), "{text}");
        }
    }

    #[test]
    fn a_file_gives_its_stem_and_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine.toml");
        std::fs::write(&path, "[experiment]\nseed = 1\n").unwrap();
        let source = PlanSource::open(&path).unwrap();
        assert_eq!((source.name.as_str(), source.base_dir.as_deref()), ("mine", Some(dir.path())));
        let set = source.with(&["experiment.seed=2".parse().unwrap()]).unwrap();
        assert!(set.text.contains("seed = 2") && set.origin.ends_with(", with --set"), "{set:?}");
        assert!(PlanSource::open(&dir.path().join("none.toml")).is_err());
    }
}
