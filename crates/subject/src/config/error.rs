//! Errors in commands and configuration files, and how to correct them.

use std::fmt;

/// The names that errors list as allowed.
const KNOWN: &str = "{host}, {port}, {root}, {cert}, {key}, {dir}";

/// Reasons why a text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A name we do not replace.
    Unknown {
        /// Counted from 1; none in a command.
        line: Option<usize>,
        /// With its braces.
        name: String,
        /// The names that the plan added to the allowed ones, without braces.
        more: Vec<String>,
    },
    /// A single brace in a command.
    Brace {
        /// The argument.
        word: String,
    },
    /// `{cert}` or `{key}` is used, but the run made no certificate.
    NoCertificate {
        /// With its braces.
        name: String,
    },
    /// The server would not listen on the port that bakeoff expects.
    NoPort {
        /// Line number, the line, and its correction.
        listens: Vec<(usize, String, String)>,
        /// A line to write if there is no such line.
        example: String,
    },
    /// A front's configuration does not name its upstream.
    NoUpstream,
    /// An empty command.
    Empty,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { line: Some(line), name, more } => {
                write!(f, "line {line}: `{name}` is none of the substitutions {}", known(more))
            }
            Self::Unknown { line: None, name, more } => write!(
                f,
                "`{name}` is none of the substitutions {}; a brace itself is written {{{{ or }}}}",
                known(more)
            ),
            Self::Brace { word } => write!(
                f,
                "a single brace in `{word}`; the substitutions are {KNOWN}, a brace itself is written {{{{ or }}}}"
            ),
            Self::NoCertificate { name } => {
                write!(f, "`{name}` needs a certificate, which is made only for arms with `tls = true`")
            }
            Self::NoPort { listens, example } => no_port(f, listens, example),
            Self::NoUpstream => f.write_str(
                "it never says {upstream}, so that it would not ask the server behind it; write {upstream} for its address \
                 and port, or {upstream_host} and {upstream_port}",
            ),
            Self::Empty => f.write_str("the command is empty"),
        }
    }
}

impl std::error::Error for ConfigError {}

fn known(more: &[String]) -> String {
    more.iter().fold(KNOWN.to_owned(), |all, name| format!("{all}, {{{name}}}"))
}

fn no_port(f: &mut fmt::Formatter<'_>, listens: &[(usize, String, String)], example: &str) -> fmt::Result {
    f.write_str("it never says {port}, so the server would not listen where bakeoff looks for it")?;
    if listens.is_empty() {
        return write!(f, "; add `{example}`");
    }
    f.write_str("; write instead")?;
    listens.iter().try_for_each(|(line, is, should)| write!(f, "\n    line {line}: `{is}` as `{should}`"))
}
