//! A policy file as typed: every key with its line; names and paths are not yet looked up.
//!
//! Measured side, pure. Continues after a fault, so that all are reported at once.

use super::Lets;
use super::fault::{Faults, PolicyFaultKind};
use super::words::{accesses, unknown};
use crate::access::Accesses;
use bakeoff_layers_base::document::{self, Language, Value};
use bakeoff_layers_base::word::{is_name, near_miss};
use toml::de::DeValue;

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

impl Language for PolicyFaultKind {
    const KEYS: &'static [(&'static str, &'static str)] = &[
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
    const NOT_TOML: Self = Self::NotToml;
    const UNKNOWN: Self = Self::Unknown;
    const OF_ANOTHER_TYPE: Self = Self::OfAnotherType;
    const KEY_MISSING: Self = Self::KeyMissing;
    const ODD_NAME: Self = Self::OddName;

    fn unknown(what: &str, word: &str, known: &[&str]) -> String {
        unknown(what, word, known)
    }
}

/// Reads a text.
pub(super) fn read(text: &str, lets: &Lets, faults: &mut Faults) -> File {
    document::read(text, faults, |form, entries| {
        let mut reader = Reader { form, lets };
        let mut file = File::default();
        for (key, line, value) in entries {
            match key {
                "types" => {
                    let types = reader.form.table("types", value).into_iter();
                    file.types.extend(types.map(|(name, line, value)| reader.a_type(name, line, value)));
                }
                "domain" => {
                    let domains = reader.form.table("domain", value).into_iter();
                    file.domains.extend(domains.map(|(name, line, value)| reader.domain(name, line, value)));
                }
                "never" => {
                    let nevers = reader.form.list("never", value).iter();
                    file.nevers.extend(nevers.filter_map(|value| reader.never(value)));
                }
                other => reader.form.unknown_key(other, line, &["types", "domain", "never"]),
            }
        }
        file
    })
}

struct Reader<'r> {
    form: document::ValueReader<'r, PolicyFaultKind>,
    lets: &'r Lets,
}

impl Reader<'_> {
    fn a_type(&mut self, name: &str, line: usize, value: &Value<'_>) -> Type {
        self.form.name(name, line);
        let mut found = Type { name: name.to_owned(), line, paths: Vec::new(), hot: false };
        if !value.get_ref().is_table() {
            found.paths = self.paths(value);
            return found;
        }
        let mut written = false;
        for (key, line, value) in self.form.table(name, value) {
            match key {
                "paths" => {
                    written = true;
                    found.paths = self.paths(value);
                }
                "hot" => found.hot = self.form.flag("hot", value),
                other => self.form.unknown_key(other, line, &["paths", "hot"]),
            }
        }
        if !written {
            self.form.missing("paths", line);
        }
        found
    }

    fn domain(&mut self, name: &str, line: usize, value: &Value<'_>) -> Domain {
        self.form.name(name, line);
        let mut found = Domain { name: name.to_owned(), line, ..Domain::default() };
        for (key, line, value) in self.form.table("domain", value) {
            match key {
                "allow" => {
                    for (label, line, words) in self.form.table("allow", value) {
                        let accesses = self.accesses("allow", words);
                        found.allow.push(Allow { label: label.to_owned(), accesses, line });
                    }
                }
                "listen" => found.listen = self.ports("listen", line, value),
                "connect" => found.connect = self.ports("connect", line, value),
                "attributes" => found.attributes = self.form.flag("attributes", value),
                other => self.form.unknown_key(other, line, &["allow", "listen", "connect", "attributes"]),
            }
        }
        found
    }

    fn never(&mut self, value: &Value<'_>) -> Option<Never> {
        let line = self.form.line(value);
        let (mut domain, mut label, mut accesses) = (None, None, Accesses::NONE);
        let mut missing = vec![("domain", "domain of never"), ("type", "type"), ("access", "access")];
        for (key, line, value) in self.form.table("never", value) {
            missing.retain(|(known, _)| *known != key);
            match key {
                "domain" => domain = self.form.text("domain of never", value),
                "type" => label = self.form.text("type", value),
                "access" => accesses = self.accesses("access", value),
                other => self.form.unknown_key(other, line, &["domain", "type", "access"]),
            }
        }
        missing.iter().for_each(|(_, long)| self.form.missing(long, line));
        Some(Never { domain: domain?, label: label?, accesses, line })
    }

    fn paths(&mut self, value: &Value<'_>) -> Vec<(String, usize)> {
        let mut paths = Vec::new();
        for value in self.form.list("paths", value) {
            let line = self.form.line(value);
            let text = self.form.text("paths", value);
            paths.extend(text.and_then(|text| self.path(&text, line)).map(|path| (path, line)));
        }
        paths
    }

    fn path(&mut self, text: &str, line: usize) -> Option<String> {
        let glob =
            text.contains(['*', '?', '[']) || text.split('{').skip(1).any(|after| !begins_with_name(after));
        if glob {
            let help = "name the directory, and all below it is meant; a name that really holds such a character can be \
                        given through --let";
            let sentence = format!("`{}` is a pattern, and Landlock has none: {help}", text.escape_debug());
            self.form.fault(line, PolicyFaultKind::Pattern, sentence);
            return None;
        }
        let path = self.fill(text, line)?;
        if !path.starts_with('/') || path.split('/').any(|part| part == "..") || path.contains('\0') {
            let help = "begin with / or with {NAME} that --let NAME=/PATH fills, without `..`";
            let sentence = format!("`{}` is not a whole path: {help}", path.escape_debug());
            self.form.fault(line, PolicyFaultKind::NotAbsolute, sentence);
            return None;
        }
        Some(path)
    }

    fn ports(&mut self, key: &'static str, line: usize, value: &Value<'_>) -> Ports {
        let mut ports = Vec::new();
        for value in self.form.list(key, value) {
            let line = self.form.line(value);
            let text = match value.get_ref() {
                DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
                DeValue::String(text) => self.fill(text, line),
                _ => self.form.odd(key, value, None),
            };
            let Some(text) = text else { continue };
            match text.parse() {
                Ok(port) => ports.push(port),
                Err(_) => {
                    let help = "write 0 to 65535, or \"{NAME}\" that --let NAME=PORT fills";
                    let sentence = format!("`{}` is no TCP port: {help}", text.escape_debug());
                    self.form.fault(line, PolicyFaultKind::NoPort, sentence);
                }
            }
        }
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
                    self.form.fault(line, PolicyFaultKind::Unfilled, sentence);
                }
            }
        }
        whole.then_some(filled)
    }

    fn accesses(&mut self, key: &'static str, value: &Value<'_>) -> Accesses {
        let line = self.form.line(value);
        let Some(text) = self.form.text(key, value) else { return Accesses::NONE };
        let (found, wrong) = accesses(&text);
        wrong.into_iter().for_each(|(wrong, sentence)| self.form.fault(line, wrong, sentence));
        found
    }
}

/// Whether the text behind a brace is a name and the closing brace.
fn begins_with_name(after: &str) -> bool {
    after.split_once('}').is_some_and(|(name, _)| is_name(name))
}
