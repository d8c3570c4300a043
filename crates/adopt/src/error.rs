//! Reasons why a configuration cannot be adopted, each with its place.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A configuration that cannot be adopted.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error from the kernel.
        source: io::Error,
    },
    /// A copy cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The copy.
        path: PathBuf,
        /// Error from the kernel.
        source: io::Error,
    },
    /// Statements that stand against it.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Refused>),
}

/// A statement that stands against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its file.
    pub path: PathBuf,
    /// Its line, from 1.
    pub line: usize,
    /// What stands against it.
    pub reason: Reason,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.reason)
    }
}

/// What stands against a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Files include each other.
    Circle,
    /// A quote is not closed.
    Unclosed,
    /// A closing brace too many.
    Brace,
    /// A block is not closed.
    Open,
    /// A mark where a directive should begin or end.
    Stray {
        /// The mark.
        mark: &'static str,
    },
    /// The file ends within a directive.
    Unended,
    /// An included file is not there.
    NoInclude {
        /// As it is written.
        path: String,
    },
    /// A script may talk to anybody.
    Script {
        /// Its directive.
        directive: String,
    },
    /// Something behind the server that no stand-in plays.
    Upstream {
        /// Its directive.
        directive: String,
        /// Its address as it is written.
        address: String,
    },
    /// A directive that would write into the site.
    Writes {
        /// The directive.
        directive: String,
    },
    /// A directive that asks another machine.
    Leaves {
        /// The directive.
        directive: String,
    },
    /// A directive whose meaning is known to the running server alone.
    Unread {
        /// The directive.
        directive: String,
    },
    /// A plugin's directive that runs programs or asks other machines.
    Plugin {
        /// The directive.
        directive: String,
    },
    /// An address of a site whose port only the server's start knows.
    Address {
        /// As it is written.
        address: String,
    },
    /// There is no site in it.
    NoSite,
    /// It listens on more ports than there are for it.
    Ports,
    /// There is no server for HTTP in it.
    NoServer,
    /// No server listens as the arm is asked.
    NoListen {
        /// Over TLS.
        tls: bool,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Circle => f.write_str("files include each other without an end"),
            Self::Unclosed => f.write_str("a quote is not closed"),
            Self::Brace => f.write_str("a closing brace without an opening one"),
            Self::Open => f.write_str("this block is not closed"),
            Self::Stray { mark } => write!(f, "unexpected `{mark}`"),
            Self::Unended => f.write_str("this directive has no `;`"),
            Self::NoInclude { path } => write!(f, "there is no file {path}"),
            Self::Script { directive } => write!(
                f,
                "`{directive}` runs a program that may ask any machine; take it out, or let it listen on {{host}}:{{port}}, in these \
                 words, to run the configuration as it stands"
            ),
            Self::Upstream { directive, address } => write!(
                f,
                "`{directive} {address}`: no stand-in speaks this; if it may be asked itself, say --allow-upstream {address}"
            ),
            Self::Writes { directive } => write!(f, "`{directive}` would write into the site; take it out"),
            Self::Leaves { directive } => write!(f, "`{directive}` asks another machine; take it out"),
            Self::Unread { directive } => {
                write!(
                    f,
                    "`{directive}`: its meaning cannot be read here; write in its place what it stands for"
                )
            }
            Self::Plugin { directive } => write!(
                f,
                "`{directive}` may run programs or ask any machine; take it out, or write a site `http://:{{port}} {{` with \
                 `bind {{host}}` to run the configuration as it stands"
            ),
            Self::Address { address } => write!(
                f,
                "the address `{address}` is known only where it runs; write it out, or a default as in `{{$NAME:default}}`"
            ),
            Self::NoSite => f.write_str("no site in it: there is nothing to ask"),
            Self::Ports => f.write_str("it listens on more than nine ports"),
            Self::NoServer => f.write_str("no server for HTTP listens: there is nothing to ask"),
            Self::NoListen { tls: true } => {
                f.write_str("no server speaks TLS, and this arm is asked over TLS")
            }
            Self::NoListen { tls: false } => {
                f.write_str("every server speaks TLS; say `tls = true` for this arm")
            }
        }
    }
}
