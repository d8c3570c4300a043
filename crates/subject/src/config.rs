//! Substitutions in commands and configuration files.
//!
//! Measuring side, cold path, pure functions on text. `{host}`, `{port}`, `{root}`, `{cert}`, `{key}` and `{dir}` are
//! replaced, and the names a plan adds. A command has no other use for braces, so any other one is an error there (`{{`
//! and `}}` are the characters themselves). Configuration languages do use braces. In a file a brace group therefore
//! counts only if it is a name (lower-case letters, `_` and, after the first, digits: `{2,3}` is a regular
//! expression's) and does not follow `$` or `%`, where nginx and Apache write their own variables.

mod error;

pub use error::ConfigError;

use std::collections::BTreeMap;
use std::path::Path;

/// Values to put in for the names in braces.
#[derive(Clone, Debug, Default)]
pub struct Substitutions {
    /// `{host}`.
    pub host: String,
    /// `{port}`.
    pub port: u16,
    /// `{root}`: the site.
    pub root: String,
    /// `{cert}` and `{key}`, when there are any.
    pub tls: Option<(String, String)>,
    /// `{dir}`: the private directory.
    pub dir: String,
    /// Further names. One of the above in here is never used.
    pub values: BTreeMap<String, String>,
}

impl Substitutions {
    fn value(&self, name: &str) -> Option<Result<String, ConfigError>> {
        let tls = |pick: fn(&(String, String)) -> &String| {
            self.tls
                .as_ref()
                .map(|pair| pick(pair).clone())
                .ok_or_else(|| ConfigError::NoCertificate { name: format!("{{{name}}}") })
        };
        Some(match name {
            "host" => Ok(self.host.clone()),
            "port" => Ok(self.port.to_string()),
            "root" => Ok(self.root.clone()),
            "dir" => Ok(self.dir.clone()),
            "cert" => tls(|pair| &pair.0),
            "key" => tls(|pair| &pair.1),
            other => return self.values.get(other).cloned().map(Ok),
        })
    }

    /// The value for `name`, or the error that lists the names that are allowed.
    fn demand(&self, name: &str, line: Option<usize>) -> Result<String, ConfigError> {
        self.value(name).unwrap_or_else(|| {
            let more = self.values.keys().cloned().collect();
            Err(ConfigError::Unknown { line, name: format!("{{{name}}}"), more })
        })
    }

    /// One argument of a command, with its substitutions made.
    pub fn word(&self, word: &str) -> Result<String, ConfigError> {
        let mut done = String::new();
        let mut rest = word;
        while let Some(at) = rest.find(['{', '}']) {
            done.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                done.push_str(&rest[..1]);
                rest = after;
                continue;
            }
            let inside = rest.strip_prefix('{').and_then(|inside| inside.split_once('}'));
            let Some((name, after)) = inside else {
                return Err(ConfigError::Brace { word: word.to_owned() });
            };
            done.push_str(&self.demand(name, None)?);
            rest = after;
        }
        done.push_str(rest);
        Ok(done)
    }

    /// A configuration file.
    ///
    /// # Errors
    /// A name in braces that is not known.
    pub fn file(&self, text: &str) -> Result<String, ConfigError> {
        self.file_by(text, |name, line| self.demand(name, Some(line)))
    }

    /// A file in a language that has names in braces of its own: names unknown here stay as they are.
    pub(crate) fn file_with_names_of_its_own(&self, text: &str) -> Result<String, ConfigError> {
        self.file_by(text, |name, _| self.value(name).unwrap_or_else(|| Ok(format!("{{{name}}}"))))
    }

    fn file_by(
        &self,
        text: &str,
        put_in: impl Fn(&str, usize) -> Result<String, ConfigError>,
    ) -> Result<String, ConfigError> {
        let mut done = String::with_capacity(text.len());
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let mut rest = line;
            while let Some((before, name, after)) = next_group(rest) {
                done.push_str(before);
                done.push_str(&put_in(name, index + 1)?);
                rest = after;
            }
            done.push_str(rest);
        }
        Ok(done)
    }
}

/// Text before, name and text after the next brace group that counts.
fn next_group(line: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(open) = line[from..].find('{').map(|at| from + at) {
        from = open + 1;
        let inside = &line[from..];
        let in_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let end = inside.find(|c| !in_name(c)).unwrap_or(inside.len());
        let is_name = end > 0 && !inside.starts_with(|c: char| c.is_ascii_digit());
        let foreign = line[..open].ends_with(['$', '%']);
        if is_name && inside[end..].starts_with('}') && !foreign {
            return Some((&line[..open], &inside[..end], &inside[end + 1..]));
        }
    }
    None
}

/// Refuses a configuration without `{port}`, showing its `listen` lines (the directive's name is
/// compared without case) as they should be.
pub(crate) fn demand_port(text: &str, example: &str) -> Result<(), ConfigError> {
    let without_comments = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    if without_comments.clone().any(|line| line.contains("{port}")) {
        return Ok(());
    }
    let listens = without_comments
        .enumerate()
        .filter_map(|(index, line)| Some((index + 1, line.trim().to_owned(), corrected(line)?)))
        .collect();
    Err(ConfigError::NoPort { listens, example: example.to_owned() })
}

/// `listen 443 ssl;` becomes `listen {host}:{port} ssl;`.
fn corrected(line: &str) -> Option<String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace)?;
    if !word.eq_ignore_ascii_case("listen") {
        return None;
    }
    let rest = rest.trim_start();
    let end = rest.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(rest.len());
    Some(format!("{word} {{host}}:{{port}}{}", &rest[end..]))
}

/// Whether the configuration sets this directive itself. Comments do not count.
pub(crate) fn sets(text: &str, directive: &str) -> bool {
    statements(text).any(|words| words.first().is_some_and(|word| word.eq_ignore_ascii_case(directive)))
}

/// Words of each statement that stands in one line, without comments.
pub(crate) fn statements(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.flat_map(|line| line.split(['{', '}', ';'])).map(|statement| statement.split_whitespace().collect())
}

/// A path as a configuration file takes it: both languages accept double quotes.
pub(crate) fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Substitutions {
        Substitutions {
            host: "127.0.0.1".into(),
            port: 81,
            root: "/site".into(),
            tls: Some(("/c".into(), "/k".into())),
            dir: "/d".into(),
            values: [("rules".to_owned(), "1000".to_owned()), ("h2".into(), "on".into())].into(),
        }
    }

    #[test]
    fn words_take_every_substitution_and_doubled_braces() {
        let word = values().word("{host}:{port} {root} {cert} {key} {dir} {{x}}").unwrap();
        assert_eq!(word, "127.0.0.1:81 /site /c /k /d {x}");
    }

    #[test]
    fn any_other_brace_in_a_word_is_an_error() {
        for (word, expected) in
            [("{prot}", "`{prot}` is none of"), ("a{b", "single brace"), ("a}b", "single brace")]
        {
            let message = values().word(word).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let none = Substitutions { tls: None, ..values() };
        assert!(none.word("{key}").unwrap_err().to_string().contains("tls = true"));
    }

    #[test]
    fn a_file_keeps_its_own_braces() {
        let text =
            "http { server { listen {host}:{port}; }\n}\nset $a ${host}x; %{cookie}i {2,3} {} {Upper}\n";
        let expected =
            "http { server { listen 127.0.0.1:81; }\n}\nset $a ${host}x; %{cookie}i {2,3} {} {Upper}\n";
        assert_eq!(values().file(text).unwrap(), expected);
    }

    #[test]
    fn an_unknown_name_in_a_file_says_its_line() {
        let message = values().file("a\nb {prot}\n").unwrap_err().to_string();
        assert!(message.starts_with("line 2: `{prot}`") && message.contains("{port}"), "{message}");
        assert!(message.ends_with("{dir}, {h2}, {rules}"), "{message}");
    }

    #[test]
    fn names_of_another_language_stay_where_it_has_its_own() {
        let text = "http://{host}:{port} {\n\ttry_files {path} {uri}\n\trespond {rules}\n}\n";
        let expected = "http://127.0.0.1:81 {\n\ttry_files {path} {uri}\n\trespond 1000\n}\n";
        assert_eq!(values().file_with_names_of_its_own(text).unwrap(), expected);
    }

    #[test]
    fn names_of_a_plan_are_put_in_and_regular_expressions_stay() {
        assert_eq!(values().word("{rules}:{h2}").unwrap(), "1000:on");
        let text = "http2 {h2}; # {rules}\nif ($uri ~ \"x{2}|y{2,3}|z{4,}\") {return 204;}\n";
        let expected = "http2 on; # 1000\nif ($uri ~ \"x{2}|y{2,3}|z{4,}\") {return 204;}\n";
        assert_eq!(values().file(text).unwrap(), expected);
    }

    #[test]
    fn a_built_in_name_is_never_replaced_by_another() {
        let clash = Substitutions { values: [("port".to_owned(), "1".to_owned())].into(), ..values() };
        assert_eq!(clash.word("{port}").unwrap(), "81");
    }

    #[test]
    fn a_file_without_port_shows_the_corrected_lines() {
        let text = "# {port}\nserver {\n  listen 443 ssl;\n  Listen 80\n}\n";
        let message = demand_port(text, "listen {host}:{port};").unwrap_err().to_string();
        assert!(message.contains("line 3: `listen 443 ssl;` as `listen {host}:{port} ssl;`"), "{message}");
        assert!(message.contains("line 4: `Listen 80` as `Listen {host}:{port}`"), "{message}");
        assert!(demand_port("x", "listen {host}:{port};").unwrap_err().to_string().contains("add `listen"));
        assert_eq!(demand_port("listen {port};", ""), Ok(()));
    }

    #[test]
    fn a_directive_counts_where_it_stands_first() {
        assert!(sets("events {} daemon off;", "daemon"));
        assert!(sets("  PIDFILE x", "PidFile"));
        assert!(!sets("# pid x;\nerror_log pid;", "pid"));
    }
}
