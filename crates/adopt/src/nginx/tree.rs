//! Statements of nginx' configuration, with the files that they include.
//!
//! Measuring side, cold. Reads files and nothing else: nginx is not started. Included statements stand where they are
//! included, as nginx takes them; each knows its file and its bytes there.

use super::lexer::{Lexeme, Token, lexemes};
use crate::error::{AdoptError, Reason, Refused};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Files and nested blocks beyond which a configuration is taken for a circle.
const MOST_FILES: usize = 1_000;
const MOST_DEPTH: usize = 60;

/// A word of a statement.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) span: Range<usize>,
}

/// A directive with its arguments, and its block if it has one.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// Index of its file.
    pub(super) file: usize,
    /// All of it, from its name to its `;`, or to the `{` of its block.
    pub(super) span: Range<usize>,
    /// The name first.
    pub(super) words: Vec<Word>,
    /// Statements within, and the byte of the closing brace.
    pub(super) block: Option<(Vec<Self>, usize)>,
    /// Statements of the files that an `include` brings.
    pub(super) included: Vec<Self>,
}

impl Statement {
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", |word| &word.text)
    }

    pub(super) fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    pub(super) fn argument(&self, at: usize) -> Option<&str> {
        self.words.get(at + 1).map(|word| word.text.as_str())
    }

    /// Statements in its block, those of included files in their places.
    pub(super) fn inner(&self) -> impl Iterator<Item = &Self> {
        flat(self.block.as_ref().map_or(&[][..], |(inner, _)| inner))
    }
}

/// Statements in order, an `include` replaced by what it brings.
pub(super) fn flat(statements: &[Statement]) -> Box<dyn Iterator<Item = &Statement> + '_> {
    Box::new(statements.iter().flat_map(|one| -> Box<dyn Iterator<Item = &Statement> + '_> {
        if one.included.is_empty() { Box::new(std::iter::once(one)) } else { flat(&one.included) }
    }))
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
}

impl Tree {
    /// Reads `main` and all that it includes.
    pub(super) fn read(main: &Path) -> Result<Self, AdoptError> {
        let home = main.parent().unwrap_or(Path::new("/")).to_owned();
        let mut reader = Reader { home, sources: Vec::new() };
        let statements = reader.file(main, 0)?;
        Ok(Self { sources: reader.sources, statements })
    }

    pub(super) fn place(&self, statement: &Statement) -> String {
        let source = &self.sources[statement.file];
        format!("{}:{}", source.path.display(), source.line(statement.span.start))
    }
}

struct Reader {
    /// Directory in which relative includes begin.
    home: PathBuf,
    sources: Vec<Source>,
}

impl Reader {
    fn file(&mut self, path: &Path, depth: usize) -> Result<Vec<Statement>, AdoptError> {
        let known = self.sources.iter().position(|source| source.path == path);
        let file = match known {
            Some(file) => file,
            None => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| AdoptError::Read { path: path.to_owned(), source })?;
                self.sources.push(Source { path: path.to_owned(), text });
                self.sources.len() - 1
            }
        };
        let text = self.sources[file].text.clone();
        if depth > MOST_DEPTH || self.sources.len() > MOST_FILES {
            return Err(self.refused(file, 0, Reason::Circle));
        }
        let found = lexemes(&text).map_err(|at| self.refused(file, at.0, Reason::Unclosed))?;
        let mut tokens = found.into_iter();
        let (statements, closed) = self.statements(file, &mut tokens, depth)?;
        match closed {
            Some(at) => Err(self.refused(file, at, Reason::Brace)),
            None => Ok(statements),
        }
    }

    /// Statements up to a closing brace, and its byte; up to the end, and none.
    fn statements(
        &mut self,
        file: usize,
        tokens: &mut impl Iterator<Item = Lexeme>,
        depth: usize,
    ) -> Result<(Vec<Statement>, Option<usize>), AdoptError> {
        if depth > MOST_DEPTH {
            return Err(self.refused(file, 0, Reason::Circle));
        }
        let mut all = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        while let Some(Lexeme { token, span }) = tokens.next() {
            let begin = words.first().map_or(span.start, |word| word.span.start);
            let statement =
                |words| Statement { file, span: begin..span.end, words, block: None, included: Vec::new() };
            match token {
                Token::Word(text) => {
                    if words.is_empty() && is_script(&text) {
                        return Err(self.refused(file, span.start, Reason::Script { directive: text }));
                    }
                    words.push(Word { text, span });
                }
                Token::End if words.is_empty() => {
                    return Err(self.refused(file, begin, Reason::Stray { mark: ";" }));
                }
                Token::End => {
                    let mut one = statement(std::mem::take(&mut words));
                    if one.name() == "include" {
                        one.included = self.include(&one, depth)?;
                    }
                    all.push(one);
                }
                Token::Open => {
                    let mut one = statement(std::mem::take(&mut words));
                    let (inner, closed) = self.statements(file, tokens, depth + 1)?;
                    let end = closed.ok_or_else(|| self.refused(file, begin, Reason::Open))?;
                    one.block = Some((inner, end));
                    all.push(one);
                }
                Token::Close if words.is_empty() => return Ok((all, Some(span.start))),
                Token::Close => return Err(self.refused(file, begin, Reason::Stray { mark: "}" })),
            }
        }
        match words.first() {
            Some(word) => Err(self.refused(file, word.span.start, Reason::Unended)),
            None => Ok((all, None)),
        }
    }

    /// Statements of the files that an `include` means, in the order of their names.
    fn include(&mut self, one: &Statement, depth: usize) -> Result<Vec<Statement>, AdoptError> {
        let Some(pattern) = one.argument(0) else { return Ok(Vec::new()) };
        let missing = |this: &Self| {
            this.refused(one.file, one.span.start, Reason::NoInclude { path: pattern.to_owned() })
        };
        let mut all = Vec::new();
        for path in included(&self.home, pattern).ok_or_else(|| missing(self))?.1 {
            all.extend(self.file(&path, depth + 1)?);
        }
        Ok(all)
    }

    fn refused(&self, file: usize, at: usize, reason: Reason) -> AdoptError {
        let source = &self.sources[file];
        AdoptError::Refused(vec![Refused { path: source.path.clone(), line: source.line(at), reason }])
    }
}

/// Directory in which distributions keep the configuration.
const USUAL_HOME: &str = "/etc/nginx";

/// Path or pattern that an `include` means, and its files, which may be none for a pattern. `None`: the one file is not
/// there.
///
/// A configuration that lies elsewhere than in the usual directory is one that was copied from there, or will go there: so
/// what it names below that directory is looked for below its own first, and what it lacks in the usual one.
pub(super) fn included(home: &Path, pattern: &str) -> Option<(PathBuf, Vec<PathBuf>)> {
    let usual = Path::new(USUAL_HOME);
    let below = Path::new(pattern).strip_prefix(usual).unwrap_or(Path::new(pattern));
    let mut places = [home.join(below), usual.join(below)].into_iter();
    if !pattern.contains(['*', '?', '[']) {
        return places.find(|path| path.is_file()).map(|path| (path.clone(), vec![path]));
    }
    // A pattern counts by its directory: an empty one is meant to be empty.
    let is_there = |path: &PathBuf| path.parent().is_some_and(Path::is_dir);
    let path = places.clone().find(is_there).or_else(|| places.next())?;
    let files = matching(&path);
    Some((path, files))
}

/// Files of a pattern, in the order of their names; names that begin with a dot are matched by a dot alone, as by
/// `glob(3)`.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let found = pattern.to_str().and_then(|pattern| glob::glob_with(pattern, options).ok());
    found.into_iter().flatten().flatten().filter(|path| path.is_file()).collect()
}

/// Whether a directive runs programs of the user's, whose connections no rewriting can hold.
fn is_script(directive: &str) -> bool {
    directive.contains("_by_lua")
        || ["js_", "perl", "lua_", "passenger", "njs_", "wasm"].iter().any(|one| directive.starts_with(one))
}
