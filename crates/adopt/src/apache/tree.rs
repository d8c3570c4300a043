//! Statements of Apache's configuration, with the files that they include.
//!
//! Measuring side, cold. Reads files and nothing else: Apache is not started. Included statements stand where they are
//! included; each knows its file and its bytes there. Words keep their text in the file and have variables resolved.

use super::variables::Variables;
use super::words::{Word, lines, words};
use crate::error::{AdoptError, Reason, Refused};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Files and nested sections beyond which a configuration is taken for a circle.
const MOST_FILES: usize = 1_000;
const MOST_DEPTH: usize = 60;

/// Directories in which distributions keep the configuration.
const USUAL_HOMES: [&str; 2] = ["/etc/apache2", "/etc/httpd"];

/// Sections whose directives stand for themselves.
const TRANSPARENT: [&str; 6] = ["ifmodule", "ifdefine", "ifversion", "iffile", "ifdirective", "ifsection"];

/// Sections that hold a program.
const PROGRAMS: [&str; 1] = ["perl"];

/// A directive with its arguments, or a section.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// Index of its file.
    pub(super) file: usize,
    /// From its name to its last argument; of a section, from `<` to `>`.
    pub(super) span: Range<usize>,
    /// As it is written.
    pub(super) name: String,
    /// In small letters: Apache ignores the case.
    pub(super) key: String,
    /// Its arguments.
    pub(super) words: Vec<Word>,
    /// Statements within, and the byte behind the closing line.
    pub(super) block: Option<(Vec<Self>, usize)>,
    /// Path or pattern that an `Include` means.
    pub(super) target: Option<PathBuf>,
    /// Statements of the files that it brings.
    pub(super) included: Vec<Self>,
}

impl Statement {
    /// An argument, resolved.
    pub(super) fn argument(&self, at: usize) -> Option<&str> {
        self.words.get(at).map(|word| word.text.as_str())
    }

    /// Statements in its section, those of included files and of conditions in their places.
    pub(super) fn inner(&self) -> impl Iterator<Item = &Self> {
        flat(self.block.as_ref().map_or(&[][..], |(inner, _)| inner))
    }

    /// Whether this is an `IfDefine` that does not hold.
    pub(super) fn is_undefined(&self, variables: &Variables) -> bool {
        self.key == "ifdefine" && !variables.allow(self.argument(0).unwrap_or_default())
    }

    fn is_condition(&self) -> bool {
        TRANSPARENT.contains(&self.key.as_str())
    }

    /// What stands in its place for whoever reads on: the statements of an include or a condition.
    pub(super) fn transparent(&self) -> Option<&[Self]> {
        match &self.block {
            Some((inner, _)) if self.is_condition() => Some(inner),
            None if !self.included.is_empty() => Some(&self.included),
            _ => None,
        }
    }
}

/// Statements in order, includes and conditions replaced by what they hold.
pub(super) fn flat(statements: &[Statement]) -> Box<dyn Iterator<Item = &Statement> + '_> {
    Box::new(statements.iter().flat_map(|one| -> Box<dyn Iterator<Item = &Statement> + '_> {
        match one.transparent() {
            Some(inner) => flat(inner),
            None => Box::new(std::iter::once(one)),
        }
    }))
}

/// Every statement, at any depth, with the names and arguments of the sections around it.
pub(super) fn each<'t>(
    statements: &'t [Statement],
    around: &mut Vec<&'t Statement>,
    visit: &mut impl FnMut(&'t Statement, &[&'t Statement]),
) {
    for one in statements {
        visit(one, around);
        each(&one.included, around, visit);
        if let Some((inner, _)) = &one.block {
            around.push(one);
            each(inner, around, visit);
            around.pop();
        }
    }
}

/// A file as it was read.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Source {
    /// Line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.text[..at.min(self.text.len())].matches('\n').count() + 1
    }
}

/// All files, and the statements of the first.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) sources: Vec<Source>,
    pub(super) statements: Vec<Statement>,
    pub(super) homes: Homes,
    pub(super) variables: Variables,
}

impl Tree {
    /// Reads `main` and all that it includes.
    pub(super) fn read(main: &Path) -> Result<Self, AdoptError> {
        let home = main.parent().unwrap_or(Path::new("/")).to_owned();
        let variables = Variables::of_environment(&home);
        let mut reader =
            Reader { homes: Homes { root: None, home, is_whole: false }, variables, sources: Vec::new() };
        let statements = reader.file(main, 0)?;
        let Reader { homes, variables, sources } = reader;
        Ok(Self { sources, statements, homes, variables })
    }

    pub(super) fn place(&self, statement: &Statement) -> String {
        let source = &self.sources[statement.file];
        format!("{}:{}", source.path.display(), source.line(statement.span.start))
    }
}

/// Directories in which relative paths begin.
#[derive(Debug)]
pub(super) struct Homes {
    /// As `ServerRoot` says.
    pub(super) root: Option<PathBuf>,
    /// The main file's.
    home: PathBuf,
    /// Files that it includes are there, so nothing is looked for in the usual ones.
    is_whole: bool,
}

impl Homes {
    /// Paths that a written one may mean, the likeliest first. What should be below the usual directory and is not, as
    /// in a configuration that was copied from its machine, is looked for below the configuration's own.
    fn places(&self, path: &str) -> Vec<PathBuf> {
        let moved = |usual: &&str| Path::new(path).strip_prefix(usual).ok().map(|rest| self.home.join(rest));
        if path.starts_with('/') {
            return [PathBuf::from(path)].into_iter().chain(USUAL_HOMES.iter().find_map(moved)).collect();
        }
        let homes = self.root.iter().map(PathBuf::as_path).chain([self.home.as_path()]);
        let usual = USUAL_HOMES.iter().filter(|_| !self.is_whole).map(Path::new);
        homes.chain(usual).map(|home| home.join(path)).collect()
    }

    /// The file or directory that is meant, where it is there.
    pub(super) fn find(&self, path: &str) -> Option<PathBuf> {
        self.places(path).into_iter().find(|path| path.exists())
    }

    /// Path or pattern that an include means, and its files. `None`: the one file is not there.
    fn included(&self, pattern: &str) -> Option<(PathBuf, Vec<PathBuf>)> {
        if !pattern.contains(['*', '?', '[']) {
            return self.find(pattern).map(|path| (path.clone(), files_of(path)));
        }
        let all = self.places(pattern).into_iter().map(|path| (path.clone(), matching(&path)));
        let all: Vec<(PathBuf, Vec<PathBuf>)> = all.collect();
        all.iter().find(|(_, files)| !files.is_empty()).or(all.first()).cloned()
    }
}

/// Files of a pattern, in the order of their names.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let found = pattern.to_str().and_then(|pattern| glob::glob_with(pattern, options).ok());
    found.into_iter().flatten().flatten().filter(|path| path.exists()).flat_map(files_of).collect()
}

/// The file, or all files of the directory.
fn files_of(path: PathBuf) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path];
    }
    let mut inner: Vec<PathBuf> =
        std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    inner.sort();
    inner.into_iter().filter(|path| path.exists()).flat_map(files_of).collect()
}

struct Reader {
    homes: Homes,
    variables: Variables,
    sources: Vec<Source>,
}

impl Reader {
    fn file(&mut self, path: &Path, depth: usize) -> Result<Vec<Statement>, AdoptError> {
        let file = match self.sources.iter().position(|source| source.path == path) {
            Some(file) => file,
            None => {
                let bytes = std::fs::read(path)
                    .map_err(|source| AdoptError::Read { path: path.to_owned(), source })?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                self.sources.push(Source { path: path.to_owned(), text });
                self.sources.len() - 1
            }
        };
        if depth > MOST_DEPTH || self.sources.len() > MOST_FILES {
            return Err(self.refused(file, 0, Reason::Circle));
        }
        let text = self.sources[file].text.clone();
        let mut lines = lines(&text).into_iter();
        let within =
            Within { file, text: &text, depth, open: None, is_conditional: false, is_undefined: false };
        Ok(self.statements(&within, &mut lines)?.0)
    }

    /// Statements up to the end of the section, and the byte behind its closing line; up to the end, and none.
    fn statements(
        &mut self,
        within: &Within<'_>,
        lines: &mut impl Iterator<Item = Range<usize>>,
    ) -> Result<(Vec<Statement>, Option<usize>), AdoptError> {
        let (file, text) = (within.file, within.text);
        let mut all = Vec::new();
        while let Some(line) = lines.next() {
            if text[line.clone()].starts_with("</") {
                let name = text[line.start + 2..line.end].trim_end_matches('>').trim().to_ascii_lowercase();
                if within.open.as_deref() != Some(&name) {
                    return Err(self.refused(file, line.start, Reason::Stray { mark: "</" }));
                }
                return Ok((all, Some(line.end)));
            }
            let mut one = self.statement(within, &line);
            if text[line.clone()].starts_with('<') {
                self.section(&mut one, within, lines)?;
            } else {
                self.obey(&mut one, within)?;
            }
            all.push(one);
        }
        Ok((all, None))
    }

    fn statement(&self, within: &Within<'_>, line: &Range<usize>) -> Statement {
        let text = within.text;
        let is_section = text[line.clone()].starts_with('<');
        let (from, to) = if is_section {
            let end = text[line.clone()].rfind('>').map_or(line.end, |at| line.start + at);
            (line.start + 1, end)
        } else {
            (line.start, line.end)
        };
        let mut found = words(text, from..to).into_iter();
        let name = found.next().map(|word| word.text).unwrap_or_default();
        let resolved = |word: Word| Word { text: self.variables.resolved(&word.text), ..word };
        Statement {
            file: within.file,
            span: line.clone(),
            key: name.to_ascii_lowercase(),
            name,
            words: found.map(resolved).collect(),
            block: None,
            target: None,
            included: Vec::new(),
        }
    }

    fn section(
        &mut self,
        one: &mut Statement,
        within: &Within<'_>,
        lines: &mut impl Iterator<Item = Range<usize>>,
    ) -> Result<(), AdoptError> {
        let (file, at) = (one.file, one.span.start);
        if PROGRAMS.contains(&one.key.as_str()) {
            let directive = format!("<{}>", one.name);
            return Err(self.refused(file, at, Reason::Script { directive }));
        }
        if within.depth >= MOST_DEPTH {
            return Err(self.refused(file, at, Reason::Circle));
        }
        let inside = Within {
            depth: within.depth + 1,
            open: Some(one.key.clone()),
            is_conditional: within.is_conditional || one.is_condition(),
            is_undefined: within.is_undefined || one.is_undefined(&self.variables),
            ..*within
        };
        let (inner, end) = self.statements(&inside, lines)?;
        let end = end.ok_or_else(|| self.refused(file, at, Reason::Open))?;
        one.block = Some((inner, end));
        Ok(())
    }

    /// Directives that change what is read.
    fn obey(&mut self, one: &mut Statement, within: &Within<'_>) -> Result<(), AdoptError> {
        match (one.key.as_str(), one.argument(0).map(str::to_owned)) {
            ("define" | "undefine", _) if within.is_undefined => {}
            ("define", Some(name)) => self.variables.define(&name, one.argument(1)),
            ("undefine", Some(name)) => self.variables.undefine(&name),
            ("serverroot", Some(path)) => self.homes.root = Some(PathBuf::from(path)),
            ("include" | "includeoptional", Some(pattern)) => {
                let Some((target, files)) = self.homes.included(&pattern) else {
                    if within.is_conditional || one.key == "includeoptional" {
                        return Ok(());
                    }
                    return Err(self.refused(one.file, one.span.start, Reason::NoInclude { path: pattern }));
                };
                self.homes.is_whole |= !files.is_empty() && target.starts_with(&self.homes.home);
                one.target = Some(target);
                for path in files {
                    one.included.extend(self.file(&path, within.depth + 1)?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn refused(&self, file: usize, at: usize, reason: Reason) -> AdoptError {
        let source = &self.sources[file];
        AdoptError::Refused(vec![Refused { path: source.path.clone(), line: source.line(at), reason }])
    }
}

/// Position of the reader: its file, and the section that is open.
#[derive(Clone)]
struct Within<'t> {
    file: usize,
    text: &'t str,
    depth: usize,
    open: Option<String>,
    is_conditional: bool,
    /// It is in a condition for a name that is not defined.
    is_undefined: bool,
}
