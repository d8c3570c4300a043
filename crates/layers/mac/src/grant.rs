//! Grant of a domain: its policy in the form that the kernel gets, with the reason for each decision.
//!
//! Measured side, pure. `policy` makes it, `confine` enforces it, `log` asks it for reasons; everything outside it is
//! refused.

use crate::access::{Access, Accesses};
use std::fmt;
use std::path::{Path, PathBuf};

/// Everything that a domain may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainGrant {
    /// The domain's name.
    pub domain: String,
    /// Files, by subtree, sorted by path and each once: they are searched.
    pub files: Vec<FileGrant>,
    /// TCP ports it may bind.
    pub listen: Vec<u16>,
    /// TCP ports it may connect to.
    pub connect: Vec<u16>,
    /// Whether it may change modes, owners, times and extended attributes, where their owner may.
    pub attributes: bool,
    /// Every path of the policy that has a type, whether or not the domain may do anything there; sorted by path and
    /// each once.
    pub types: Vec<TypePath>,
    /// Lines of the policy that grant it.
    pub lines: GrantLines,
    /// The policy's file, as it was named.
    pub policy: String,
    /// SHA-256 of the policy's text and of the values filled into it, in hex: of the text alone if there are none.
    pub digest: String,
}

/// Accesses granted at and below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileGrant {
    /// A file or a directory, absolute, without symbolic links.
    pub path: PathBuf,
    /// The granted accesses.
    pub accesses: Accesses,
    /// A rule for every directory below it as well: opens in a deep tree cost less, starting costs more.
    pub hot: bool,
    /// The type that this path belongs to.
    pub label: String,
    /// Line of the policy that grants it.
    pub line: usize,
}

/// A path with a type: it holds for everything below without a nearer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypePath {
    /// Absolute, without symbolic links.
    pub path: PathBuf,
    /// The type.
    pub label: String,
    /// Line of the policy that names it.
    pub line: usize,
    /// Whether it existed when the policy was read. A missing path cannot be granted.
    pub there: bool,
}

/// Lines of a domain; a list that is not written has the domain's line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrantLines {
    /// Its name.
    pub domain: usize,
    /// Ports it may bind.
    pub listen: usize,
    /// Ports it may connect to.
    pub connect: usize,
}

/// Use of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortUse {
    /// TCP bind.
    Listen,
    /// TCP connect.
    Connect,
}

/// Decision on an access, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessDecision<'a> {
    /// Whether it is granted, and existed.
    pub granted: bool,
    /// The path's type; `None` for ports, and where no path of the policy covers it.
    pub label: Option<&'a str>,
    /// The rule of this domain that is nearest above the path, with its contents.
    pub rule: Option<&'a FileGrant>,
    /// The reason as a sentence, without a full stop.
    pub reason: String,
}

impl DomainGrant {
    /// The rules at and above a path, the nearest first.
    pub fn rules(&self, path: &Path) -> impl Iterator<Item = &FileGrant> {
        let at = |above| self.files.binary_search_by(|file| file.path.as_path().cmp(above)).ok();
        path.ancestors().filter_map(at).filter_map(|index| self.files.get(index))
    }

    /// Accesses that the kernel grants at a path: it adds up the rules of everything above.
    pub fn effective(&self, path: &Path) -> Accesses {
        self.rules(path).fold(Accesses::NONE, |all, file| all.with(file.accesses))
    }

    /// Whether the domain may change this file, or put another in its place.
    pub fn may_change(&self, file: &Path) -> bool {
        let changing = [Access::Write, Access::Create, Access::Delete, Access::Rename];
        !self.effective(file).common(Accesses::from_iter(changing)).is_none()
    }

    /// The nearest path with a type, at or above a path.
    pub fn typed(&self, path: &Path) -> Option<&TypePath> {
        let at = |above| self.types.binary_search_by(|typed| typed.path.as_path().cmp(above)).ok();
        path.ancestors().find_map(at).and_then(|index| self.types.get(index))
    }

    /// The decision on this access at a path, with its reason.
    ///
    /// The path is absolute, without symbolic links, and the one that the kernel judges by: for [`Access::Create`],
    /// [`Access::Delete`] and [`Access::Rename`] the directory in which they happen.
    pub fn because(&self, path: &Path, access: Access) -> AccessDecision<'_> {
        let (typed, rule) = (self.typed(path), self.rules(path).next());
        let there = |rule: &&FileGrant| self.typed(&rule.path).is_none_or(|typed| typed.there);
        let granted = self.rules(path).filter(there).any(|rule| rule.accesses.has(access));
        let effective = self.effective(path);
        let Self { domain, policy, .. } = self;
        let of_type = match typed {
            Some(TypePath { label, line, .. }) => format!("is of type {label} ({policy}:{line})"),
            None => format!("has no type in {policy}"),
        };
        let not = if effective.has(access) { String::new() } else { format!(", not {}", access.name()) };
        let may = match rule {
            Some(FileGrant { line, .. }) => format!("may {effective} there ({policy}:{line}){not}"),
            None => format!("may do nothing there ({policy}:{})", self.lines.domain),
        };
        let gone = match rule.filter(|rule| !there(rule)) {
            Some(FileGrant { path, .. }) => {
                format!(
                    "; {} was not there when the policy was read, so the kernel was told nothing",
                    Name(path)
                )
            }
            None => String::new(),
        };
        let reason = format!("{} {of_type}; domain {domain} {may}{gone}", Name(path));
        AccessDecision { granted, label: typed.map(|typed| typed.label.as_str()), rule, reason }
    }

    /// The decision on this use of a TCP port, with its reason.
    pub fn because_port(&self, kind: PortUse, port: u16) -> AccessDecision<'_> {
        let (ports, line, verb) = match kind {
            PortUse::Listen => (&self.listen, self.lines.listen, "listen on"),
            PortUse::Connect => (&self.connect, self.lines.connect, "connect to"),
        };
        let granted = ports.contains(&port);
        let said: Vec<String> = ports.iter().map(u16::to_string).collect();
        let said =
            if said.is_empty() { "no TCP port".to_owned() } else { format!("port {}", said.join(" ")) };
        let not = if granted { String::new() } else { format!(", not {port}") };
        let reason = format!("domain {} may {verb} {said} ({}:{line}){not}", self.domain, self.policy);
        AccessDecision { granted, label: None, rule: None, reason }
    }
}

/// A path as printed in sentences: the creator of a file chooses its name, so it is escaped and never begins a new
/// line.
pub(crate) struct Name<'a>(pub(crate) &'a Path);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.to_string_lossy().escape_debug())
    }
}
