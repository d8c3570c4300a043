//! Statements of a Caddyfile, with the files and snippets that it imports.
//!
//! Measuring side, cold. Reads files and nothing else: Caddy is not started. What an `import` brings stands where it is
//! imported, as Caddy takes it; each statement knows its file and its bytes there.

use super::lexer::{Word, words};
use crate::error::{AdoptError, Reason, Refused};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Files and nested blocks beyond which a configuration is taken for a circle.
const MOST_FILES: usize = 1_000;
const MOST_DEPTH: usize = 60;

/// Directory in which distributions keep the configuration.
const USUAL_HOME: &str = "/etc/caddy";

/// The block of a statement.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Byte behind its `{`.
    pub(super) open: usize,
    pub(super) inner: Vec<Statement>,
    /// Byte of its `}`; of a site without braces, the end of its file.
    pub(super) close: usize,
    pub(super) has_braces: bool,
}

/// A line of words, and its block if it has one.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// Index of its file.
    pub(super) file: usize,
    /// Its words, without a `{`.
    pub(super) span: Range<usize>,
    /// The name first; the addresses of a site; none for global options.
    pub(super) words: Vec<Word>,
    pub(super) block: Option<Block>,
}

impl Statement {
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", |word| &word.text)
    }

    pub(super) fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    pub(super) fn inner(&self) -> &[Self] {
        self.block.as_ref().map_or(&[], |block| &block.inner)
    }

    /// Its words and its block.
    pub(super) fn whole(&self) -> Range<usize> {
        self.span.start..self.block.as_ref().map_or(self.span.end, |block| block.close + 1)
    }

    /// Name of the snippet that it defines.
    fn snippet(&self) -> Option<&str> {
        let name = self.name().strip_prefix('(')?.strip_suffix(')')?;
        (self.words.len() == 1 && self.block.is_some()).then_some(name)
    }
}

/// A file as it was read.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
    statements: Vec<Statement>,
}

impl Source {
    /// Line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.text[..at.min(self.text.len())].matches('\n').count() + 1
    }
}

/// An `import` of files: where its pattern stands, what it means, and the files.
#[derive(Clone, Debug)]
pub(super) struct Import {
    pub(super) pattern: PathBuf,
    pub(super) span: Range<usize>,
    files: Vec<usize>,
}

/// A statement where it is imported, with the arguments of the imports around it.
#[derive(Clone, Debug)]
pub(super) struct Placed<'t> {
    pub(super) one: &'t Statement,
    pub(super) arguments: Vec<String>,
}

/// All files, the first being the one that was named.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) sources: Vec<Source>,
    /// By file and first byte.
    pub(super) imports: BTreeMap<(usize, usize), Import>,
    snippets: BTreeMap<String, Vec<Statement>>,
    /// Files whose imports are being read.
    reading: Vec<usize>,
}

impl Tree {
    /// Reads `main` and all that it imports.
    pub(super) fn read(main: &Path) -> Result<Self, AdoptError> {
        let mut tree = Self::default();
        tree.file(main)?;
        Ok(tree)
    }

    /// Statements of the first file, with all that it imports; snippets are left out.
    pub(super) fn statements(&self) -> Vec<Placed<'_>> {
        let all = self.sources.first().map_or(&[][..], |main| &main.statements);
        self.flat(all, &[])
    }

    /// Statements with what they import in its place.
    pub(super) fn flat<'t>(&'t self, statements: &'t [Statement], arguments: &[String]) -> Vec<Placed<'t>> {
        let mut all = Vec::new();
        self.flatten(statements, arguments, &mut Vec::new(), &mut all);
        all
    }

    fn flatten<'t>(
        &'t self,
        statements: &'t [Statement],
        arguments: &[String],
        around: &mut Vec<&'t str>,
        all: &mut Vec<Placed<'t>>,
    ) {
        for one in statements.iter().filter(|one| one.snippet().is_none()) {
            if one.name() != "import" {
                all.push(Placed { one, arguments: arguments.to_vec() });
                continue;
            }
            let Some(name) = one.arguments().first().map(|word| word.text.as_str()) else { continue };
            let own: Vec<String> =
                one.arguments()[1..].iter().map(|word| with_arguments(&word.text, arguments)).collect();
            match (self.snippets.get(name), self.imports.get(&(one.file, one.span.start))) {
                (Some(inner), _) if !around.contains(&name) => {
                    around.push(name);
                    self.flatten(inner, &own, around, all);
                    around.pop();
                }
                (None, Some(import)) => {
                    for file in &import.files {
                        self.flatten(&self.sources[*file].statements, &own, around, all);
                    }
                }
                _ => {} // Caddy refuses a snippet that imports itself
            }
            // What a snippet gets for its `{block}`.
            self.flatten(one.inner(), arguments, around, all);
        }
    }

    pub(super) fn place(&self, statement: &Statement) -> String {
        let source = &self.sources[statement.file];
        format!("{}:{}", source.path.display(), source.line(statement.span.start))
    }

    pub(super) fn refused(&self, file: usize, at: usize, reason: Reason) -> Refused {
        let source = &self.sources[file];
        Refused { path: source.path.clone(), line: source.line(at), reason }
    }

    fn file(&mut self, path: &Path) -> Result<usize, AdoptError> {
        if let Some(known) = self.sources.iter().position(|source| source.path == path) {
            let is_circle = self.reading.contains(&known);
            return if is_circle { Err(one(self.refused(known, 0, Reason::Circle))) } else { Ok(known) };
        }
        let text = std::fs::read_to_string(path)
            .map_err(|source| AdoptError::Read { path: path.to_owned(), source })?;
        let file = self.sources.len();
        self.sources.push(Source { path: path.to_owned(), text: text.clone(), statements: Vec::new() });
        if file > MOST_FILES {
            return Err(one(self.refused(file, 0, Reason::Circle)));
        }
        let statements =
            parse(&text, file).map_err(|(at, reason)| self.refused(file, at, reason)).map_err(one)?;
        let snippets = statements.iter().filter_map(|one| Some((one.snippet()?.to_owned(), one)));
        self.snippets.extend(snippets.map(|(name, one)| (name, one.inner().to_vec())));
        self.reading.push(file);
        self.import_all(&statements)?;
        self.reading.pop();
        self.sources[file].statements = statements;
        Ok(file)
    }

    fn import_all(&mut self, statements: &[Statement]) -> Result<(), AdoptError> {
        for statement in statements {
            self.import_all(statement.inner())?;
            let Some(word) = statement.arguments().first().filter(|_| statement.name() == "import") else {
                continue;
            };
            if self.snippets.contains_key(&word.text) || word.text.contains("{args") {
                continue;
            }
            let found = self.imported(statement.file, &word.text).ok_or_else(|| {
                let reason = Reason::NoInclude { path: word.text.clone() };
                one(self.refused(statement.file, statement.span.start, reason))
            })?;
            let files = found.1.iter().map(|path| self.file(path)).collect::<Result<_, _>>()?;
            let import = Import { pattern: found.0, span: word.span.clone(), files };
            self.imports.insert((statement.file, statement.span.start), import);
        }
        Ok(())
    }

    /// The path or pattern that an `import` means, and its files; a pattern may have none. None: the one file is not
    /// there. What should be below the usual directory and is not is looked for below the configuration's own.
    fn imported(&self, file: usize, pattern: &str) -> Option<(PathBuf, Vec<PathBuf>)> {
        let home = |file: usize| self.sources[file].path.parent().unwrap_or(Path::new("/"));
        let moved = Path::new(pattern).strip_prefix(USUAL_HOME).ok().map(|rest| home(0).join(rest));
        let mut places = [Some(home(file).join(pattern)), moved].into_iter().flatten();
        if !pattern.contains(['*', '?', '[']) {
            return places.find(|path| path.is_file()).map(|path| (path.clone(), vec![path]));
        }
        let all: Vec<(PathBuf, Vec<PathBuf>)> = places.map(|path| (path.clone(), matching(&path))).collect();
        all.iter().find(|(_, files)| !files.is_empty()).or(all.first()).cloned()
    }
}

fn one(refused: Refused) -> AdoptError {
    AdoptError::Refused(vec![refused])
}

/// Files of a pattern, in the order of their names, without hidden ones.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let found = pattern.to_str().and_then(|pattern| glob::glob_with(pattern, options).ok());
    found.into_iter().flatten().flatten().filter(|path| path.is_file()).collect()
}

/// The text with `{args[N]}` and `{args.N}` as the import gives them.
pub(super) fn with_arguments(text: &str, arguments: &[String]) -> String {
    arguments.iter().enumerate().fold(text.to_owned(), |text, (at, argument)| {
        text.replace(&format!("{{args[{at}]}}"), argument).replace(&format!("{{args.{at}}}"), argument)
    })
}

/// Statements of a text, or what is wrong and at which byte.
pub(super) fn parse(text: &str, file: usize) -> Result<Vec<Statement>, (usize, Reason)> {
    let all = words(text).map_err(|at| (at.0, Reason::Unclosed))?;
    let mut parser = Parser { words: all.into_iter().peekable(), file };
    let (mut statements, closed) = parser.statements(0)?;
    match closed {
        Some(at) => Err((at, Reason::Brace)),
        None => {
            if file == 0 {
                without_braces(&mut statements, text.len());
            }
            Ok(statements)
        }
    }
}

/// Takes what stands behind the addresses of a site without braces for its block.
fn without_braces(statements: &mut Vec<Statement>, end: usize) {
    let is_other = |one: &Statement| {
        one.snippet().is_some()
            || one.words.is_empty()
            || one.name() == "import"
            || one.name().starts_with('&')
    };
    let first = statements.iter().position(|one| !is_other(one));
    let Some(at) = first.filter(|at| statements[*at].block.is_none()) else { return };
    let inner = statements.split_off(at + 1);
    let site = &mut statements[at];
    site.block = Some(Block { open: site.span.end, inner, close: end, has_braces: false });
}

struct Parser {
    words: std::iter::Peekable<std::vec::IntoIter<Word>>,
    file: usize,
}

impl Parser {
    /// Statements up to a closing brace, and its byte; up to the end, and none.
    fn statements(&mut self, depth: usize) -> Result<(Vec<Statement>, Option<usize>), (usize, Reason)> {
        let mut all = Vec::new();
        while let Some(word) = self.words.next() {
            if word.is_mark("}") {
                return Ok((all, Some(word.span.start)));
            }
            if depth > MOST_DEPTH {
                return Err((word.span.start, Reason::Circle));
            }
            all.push(self.statement(word, depth)?);
        }
        Ok((all, None))
    }

    fn statement(&mut self, first: Word, depth: usize) -> Result<Statement, (usize, Reason)> {
        let begin = first.span.start;
        let mut one = Statement { file: self.file, span: begin..begin, words: Vec::new(), block: None };
        let mut next = Some(first);
        while let Some(word) = next {
            if word.is_mark("{") {
                let (inner, close) = self.statements(depth + 1)?;
                let close = close.ok_or((begin, Reason::Open))?;
                one.block = Some(Block { open: word.span.end, inner, close, has_braces: true });
                break;
            }
            one.span.end = word.span.end;
            // Addresses of a site go on behind a comma.
            let goes_on = depth == 0 && word.text.ends_with(',');
            one.words.push(word);
            next = self.words.next_if(|next| (!next.begins_line || goes_on) && !next.is_mark("}"));
        }
        Ok(one)
    }
}
