//! Files that a plan names: what has to go along when it is run on another machine.
//!
//! Cold. Knows no kind of plan: any text in it that is the relative path of a file or a directory beside it is such a
//! name, in the plans of a suite's parts as well. Absolute paths are those of the other machine.

use crate::Failure;
use bakeoff_plan::PlanSource;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use toml::Value;

/// Most files that go along.
const MOST: usize = 990;
/// Most bytes of all of them, as each is held in memory once.
const LARGEST: u64 = 1 << 30;

/// Files that go along.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Where they are, by their paths below the plan's directory.
    files: BTreeMap<String, PathBuf>,
    bytes: u64,
}

/// One of them.
pub(super) struct NamedFile {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_program: bool,
}

impl Named {
    /// Those of a plan.
    pub(super) fn of(source: &PlanSource) -> Result<Self, Failure> {
        let mut named = Self::default();
        if let Some(base) = &source.base_dir {
            named.text(&source.text, base, Path::new(""))?;
        }
        Ok(named)
    }

    /// Reads them, one at a time.
    pub(super) fn read(&self) -> impl Iterator<Item = Result<NamedFile, Failure>> {
        self.files.iter().map(|(path, from)| {
            let failed = |why| Failure::usage(format!("{}: {why}; the plan names it", from.display()));
            let mode = from.metadata().map_err(failed)?.permissions().mode();
            let bytes = fs::read(from).map_err(failed)?;
            Ok(NamedFile { path: path.clone(), bytes, is_program: mode & 0o111 != 0 })
        })
    }

    /// The names in a plan's text that lies in `base`, which is `below` the outermost one's.
    fn text(&mut self, text: &str, base: &Path, below: &Path) -> Result<(), Failure> {
        let table: toml::Table = text.parse().unwrap_or_default(); // whoever reads the plan complains
        table.values().try_for_each(|value| self.value(value, base, below))
    }

    fn value(&mut self, value: &Value, base: &Path, below: &Path) -> Result<(), Failure> {
        match value {
            Value::String(text) => self.name(text, base, below),
            Value::Array(all) => all.iter().try_for_each(|one| self.value(one, base, below)),
            Value::Table(all) => all.values().try_for_each(|one| self.value(one, base, below)),
            _ => Ok(()),
        }
    }

    fn name(&mut self, text: &str, base: &Path, below: &Path) -> Result<(), Failure> {
        let relative: PathBuf =
            Path::new(text).components().filter(|part| *part != Component::CurDir).collect();
        let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || relative.as_os_str().is_empty() || text.contains('\n') {
            return Ok(());
        }
        self.take(&base.join(&relative), &below.join(&relative))
    }

    fn take(&mut self, from: &Path, path: &Path) -> Result<(), Failure> {
        let Ok(metadata) = from.metadata() else { return Ok(()) };
        if metadata.is_dir() {
            let entries = fs::read_dir(from).into_iter().flatten().flatten();
            return entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
                .try_for_each(|entry| self.take(&entry.path(), &path.join(entry.file_name())));
        }
        let Some(shown) = path.to_str().filter(|_| metadata.is_file()) else { return Ok(()) };
        if self.files.insert(shown.to_owned(), from.to_owned()).is_some() {
            return Ok(());
        }
        self.bytes += metadata.len();
        if self.files.len() > MOST || self.bytes > LARGEST {
            return Err(Failure::usage(format!(
                "{}: with it the plan names more than {MOST} files or a GiB, which is more than --at sends; put what is \
                 large on the other machine, and name it there by its whole path",
                from.display()
            )));
        }
        // The plan of a suite's part names files of its own.
        let is_plan = path.extension().is_some_and(|extension| extension == "toml");
        match (is_plan, from.parent(), path.parent()) {
            (true, Some(base), Some(below)) => {
                self.text(&fs::read_to_string(from).unwrap_or_default(), base, below)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_takes_along_what_lies_beside_it_and_is_named_in_it_or_in_a_part_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("nginx.conf", "events {}");
        put("site/a/index.html", "a");
        put("parts/one.toml", "log = 'access.log'\nother = '../secret'\n");
        put("parts/access.log", "GET /");
        put("secret", "no");
        put("unnamed", "no");
        let text = "config = './nginx.conf'\n[arm.a]\nargv = ['serve', 'site', '/etc/passwd', '..', '.', '']\n\
                    [[part]]\nplan = 'parts/one.toml'\n";
        let source = PlanSource::new("mine", "mine.toml", text.to_owned(), Some(dir.path().to_owned()));
        let named = Named::of(&source).unwrap();
        let paths: Vec<&str> = named.files.keys().map(String::as_str).collect();
        assert_eq!(paths, ["nginx.conf", "parts/access.log", "parts/one.toml", "site/a/index.html"]);
        let read: Vec<NamedFile> = named.read().map(Result::unwrap).collect();
        assert_eq!((read[0].bytes.as_slice(), read[0].is_program), (b"events {}".as_slice(), false));
    }
}
