//! A policy file as typed: every key with its line; names and paths are not yet looked up.
//!
//! Measured side, pure. Continues after a fault, so that all are reported at once.

use super::Lets;
use super::fault::{Faults, Wrong};
use super::words::{accesses, unknown};
use crate::access::Accesses;
use bakeoff_layers_base::word::{is_name, near_miss};
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A policy's sections.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) types: Vec<Type>,
    pub(super) domains: Vec<Domain>,
    pub(super) nevers: Vec<Never>,
}

/// A type.
#[derive(Debug)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) line: usize,
    /// Paths with values filled in, absolute, each with its line.
    pub(super) paths: Vec<(String, usize)>,
    pub(super) hot: bool,
}

/// A domain.
#[derive(Debug, Default)]
pub(super) struct Domain {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) allow: Vec<Allow>,
    pub(super) listen: Ports,
    pub(super) connect: Ports,
    pub(super) attributes: bool,
}

/// Accesses of a domain to a type.
#[derive(Debug)]
pub(super) struct Allow {
    pub(super) label: String,
    pub(super) accesses: Accesses,
    pub(super) line: usize,
}

/// A list of ports; without a line if it is not written.
#[derive(Debug, Default)]
pub(super) struct Ports {
    pub(super) ports: Vec<u16>,
    pub(super) line: Option<usize>,
}

/// An assertion.
#[derive(Debug)]
pub(super) struct Never {
    pub(super) domain: String,
    pub(super) label: String,
    pub(super) accesses: Accesses,
    pub(super) line: usize,
}

/// Keys with their meaning.
const KEYS: [(&str, &str); 12] = [
    ("types", "a table: write [types], and below it NAME = [\"/path\"]"),
    ("paths", "a list of paths: write [\"/path\"], or { paths = [\"/path\"], hot = true }"),
    ("hot", "true or false"),
    ("domain", "a table: write [domain.NAME]"),
    ("allow", "what may be done to which type: write allow = { TYPE = \"read list\" }"),
    ("listen", "a list of ports: write listen = [8080]"),
    ("connect", "a list of ports: write connect = [5432]"),
    ("attributes", "true or false"),
    ("never", "a list of tables: write [[never]], and below it domain, type and access"),
    ("domain of never", "the name of a domain, or \"*\" for all"),
    ("type", "the name of a type"),
    ("access", "a text: write access = \"read write\", or \"any\""),
];

fn wanted(key: &str) -> &'static str {
    KEYS.iter().find(|(known, _)| *known == key).map_or("something else", |(_, wanted)| wanted)
}

/// Reads a text.
pub(super) fn read(text: &str, lets: &Lets, faults: &mut Faults) -> File {
    let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let mut reader = Reader { starts, lets, faults };
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut lines = BTreeSet::new();
    for error in &errors {
        let line = reader.line(&error.span().unwrap_or_default());
        // The parser's further guesses on a line follow from the first.
        if lines.insert(line) {
            reader.faults.add(line, Wrong::NotToml, error.message().to_owned());
        }
    }
    // After a syntax error missing keys would be reported wrongly.
    if errors.is_empty() { reader.file(table.get_ref()) } else { File::default() }
}

type Value<'t> = Spanned<DeValue<'t>>;

struct Reader<'r> {
    /// Byte offsets of line ends.
    starts: Vec<usize>,
    lets: &'r Lets,
    faults: &'r mut Faults,
}

impl Reader<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        self.starts.partition_point(|end| *end < span.start) + 1
    }

    fn file(&mut self, table: &DeTable<'_>) -> File {
        let mut file = File::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "types" => self.table("types", value, |reader, name, line, value| {
                    let found = reader.a_type(name, line, value);
                    file.types.push(found);
                }),
                "domain" => self.table("domain", value, |reader, name, line, value| {
                    let found = reader.domain(name, line, value);
                    file.domains.push(found);
                }),
                "never" => self.list("never", value, |reader, value| {
                    let found = reader.never(value);
                    file.nevers.extend(found);
                }),
                other => self.unknown_key(other, self.line(&key.span()), &["types", "domain", "never"]),
            }
        }
        file
    }

    fn a_type(&mut self, name: &str, line: usize, value: &Value<'_>) -> Type {
        self.name(name, line);
        let mut found = Type { name: name.to_owned(), line, paths: Vec::new(), hot: false };
        if !value.get_ref().is_table() {
            found.paths = self.paths(value);
            return found;
        }
        let mut written = false;
        self.table(name, value, |reader, key, line, value| match key {
            "paths" => {
                written = true;
                found.paths = reader.paths(value);
            }
            "hot" => found.hot = reader.flag("hot", value),
            other => reader.unknown_key(other, line, &["paths", "hot"]),
        });
        if !written {
            self.missing("paths", "paths", line);
        }
        found
    }

    fn domain(&mut self, name: &str, line: usize, value: &Value<'_>) -> Domain {
        self.name(name, line);
        let mut found = Domain { name: name.to_owned(), line, ..Domain::default() };
        self.table("domain", value, |reader, key, line, value| match key {
            "allow" => reader.table("allow", value, |reader, label, line, words| {
                let accesses = reader.accesses("allow", words);
                found.allow.push(Allow { label: label.to_owned(), accesses, line });
            }),
            "listen" => found.listen = reader.ports("listen", line, value),
            "connect" => found.connect = reader.ports("connect", line, value),
            "attributes" => found.attributes = reader.flag("attributes", value),
            other => reader.unknown_key(other, line, &["allow", "listen", "connect", "attributes"]),
        });
        found
    }

    fn never(&mut self, value: &Value<'_>) -> Option<Never> {
        let line = self.line(&value.span());
        let (mut domain, mut label, mut accesses) = (None, None, Accesses::NONE);
        let mut missing = vec![("domain", "domain of never"), ("type", "type"), ("access", "access")];
        self.table("never", value, |reader, key, line, value| {
            missing.retain(|(known, _)| *known != key);
            match key {
                "domain" => domain = reader.text("domain of never", value),
                "type" => label = reader.text("type", value),
                "access" => accesses = reader.accesses("access", value),
                other => reader.unknown_key(other, line, &["domain", "type", "access"]),
            }
        });
        missing.iter().for_each(|(key, long)| self.missing(key, long, line));
        Some(Never { domain: domain?, label: label?, accesses, line })
    }

    fn paths(&mut self, value: &Value<'_>) -> Vec<(String, usize)> {
        let mut paths = Vec::new();
        self.list("paths", value, |reader, value| {
            let line = reader.line(&value.span());
            let Some(text) = value.get_ref().as_str() else { return reader.odd("paths", value) };
            paths.extend(reader.path(text, line).map(|path| (path, line)));
        });
        paths
    }

    fn path(&mut self, text: &str, line: usize) -> Option<String> {
        let glob =
            text.contains(['*', '?', '[']) || text.split('{').skip(1).any(|after| !begins_with_name(after));
        if glob {
            let help = "name the directory, and all below it is meant; a name that really holds such a character can be \
                        given through --let";
            let sentence = format!("`{}` is a pattern, and Landlock has none: {help}", text.escape_debug());
            self.faults.add(line, Wrong::Pattern, sentence);
            return None;
        }
        let path = self.fill(text, line)?;
        if !path.starts_with('/') || path.split('/').any(|part| part == "..") || path.contains('\0') {
            let help = "begin with / or with {NAME} that --let NAME=/PATH fills, without `..`";
            let sentence = format!("`{}` is not a whole path: {help}", path.escape_debug());
            self.faults.add(line, Wrong::NotAbsolute, sentence);
            return None;
        }
        Some(path)
    }

    fn ports(&mut self, key: &'static str, line: usize, value: &Value<'_>) -> Ports {
        let mut ports = Vec::new();
        self.list(key, value, |reader, value| {
            let line = reader.line(&value.span());
            let text = match value.get_ref() {
                DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
                DeValue::String(text) => reader.fill(text, line),
                _ => return reader.odd(key, value),
            };
            let Some(text) = text else { return };
            match text.parse() {
                Ok(port) => ports.push(port),
                Err(_) => {
                    let help = "write 0 to 65535, or \"{NAME}\" that --let NAME=PORT fills";
                    let sentence = format!("`{}` is no TCP port: {help}", text.escape_debug());
                    reader.faults.add(line, Wrong::NoPort, sentence);
                }
            }
        });
        Ports { ports, line: Some(line) }
    }

    /// The text with its `{NAME}`s filled in.
    fn fill(&mut self, text: &str, line: usize) -> Option<String> {
        let mut parts = text.split('{');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        let mut whole = true;
        for part in parts {
            let Some((name, after)) = part.split_once('}') else {
                filled.push('{');
                filled.push_str(part);
                continue;
            };
            match self.lets.value(name) {
                Some(value) => filled.extend([value, after]),
                None => {
                    whole = false;
                    let given: Vec<&str> = self.lets.pairs().map(|(name, _)| name).collect();
                    let help = near_miss(name, &given).unwrap_or_else(|| format!("give --let {name}=VALUE"));
                    let sentence = format!("{{{}}} has no value; {help}", name.escape_debug());
                    self.faults.add(line, Wrong::Unfilled, sentence);
                }
            }
        }
        whole.then_some(filled)
    }

    fn accesses(&mut self, key: &'static str, value: &Value<'_>) -> Accesses {
        let line = self.line(&value.span());
        let Some(text) = value.get_ref().as_str() else {
            self.odd(key, value);
            return Accesses::NONE;
        };
        let (found, wrong) = accesses(text);
        wrong.into_iter().for_each(|(wrong, sentence)| self.faults.add(line, wrong, sentence));
        found
    }

    fn text(&mut self, key: &'static str, value: &Value<'_>) -> Option<String> {
        let text = value.get_ref().as_str().map(ToOwned::to_owned);
        if text.is_none() {
            self.odd(key, value);
        }
        text
    }

    fn flag(&mut self, key: &'static str, value: &Value<'_>) -> bool {
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.odd(key, value);
            false
        })
    }

    fn table(
        &mut self,
        key: &str,
        value: &Value<'_>,
        mut each: impl FnMut(&mut Self, &str, usize, &Value<'_>),
    ) {
        let Some(table) = value.get_ref().as_table() else { return self.odd(key, value) };
        for (name, value) in table {
            let line = self.line(&name.span());
            each(self, name.get_ref(), line, value);
        }
    }

    fn list(&mut self, key: &str, value: &Value<'_>, mut each: impl FnMut(&mut Self, &Value<'_>)) {
        let Some(list) = value.get_ref().as_array() else { return self.odd(key, value) };
        list.iter().for_each(|value| each(self, value));
    }

    fn name(&mut self, name: &str, line: usize) {
        if !is_name(name) {
            let sentence = format!("`{}` is no name: letters, digits, - and _ make one", name.escape_debug());
            self.faults.add(line, Wrong::OddName, sentence);
        }
    }

    fn odd(&mut self, key: &str, value: &Value<'_>) {
        let line = self.line(&value.span());
        let plain = key.split(' ').next().unwrap_or(key);
        self.faults.add(line, Wrong::OfAnotherType, format!("`{plain}` is {}", wanted(key)));
    }

    fn missing(&mut self, key: &str, long: &str, line: usize) {
        self.faults.add(line, Wrong::KeyMissing, format!("`{key}` is missing: it is {}", wanted(long)));
    }

    fn unknown_key(&mut self, key: &str, line: usize, known: &[&str]) {
        self.faults.add(line, Wrong::Unknown, unknown("key", key, known));
    }
}

/// Whether the text behind a brace is a name and the closing brace.
fn begins_with_name(after: &str) -> bool {
    after.split_once('}').is_some_and(|(name, _)| is_name(name))
}
