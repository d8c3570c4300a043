//! What somebody wanted to do, as the kernel tells it.
//!
//! Measured side, pure.

use crate::access::{Access, Accesses};
use std::fmt;
use std::path::PathBuf;

/// Something that is allowed or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wanted {
    /// One kind of access to a file. What is made, removed or renamed is told of the directory it lies in.
    File(Access, PathBuf),
    /// One kind of access to more files than are told apart.
    Files(Access),
    /// A TCP port of its own.
    Bind(u16),
    /// Somebody's TCP port.
    Connect(u16),
    /// To reach beyond the domain: `signal`, `abstract_unix_socket`, and what later kernels name.
    Scope(String),
    /// A system call, by its number.
    Call(u32),
}

impl Wanted {
    /// One word for what was wanted, with no place.
    pub fn word(&self) -> &str {
        match self {
            Self::File(access, _) | Self::Files(access) => access.name(),
            Self::Bind(_) => "bind",
            Self::Connect(_) => "connect",
            Self::Scope(what) => what,
            Self::Call(_) => "call",
        }
    }

    /// Its counter of refusals.
    pub fn counter(&self) -> String {
        match self {
            Self::File(access, _) | Self::Files(access) => format!("denied.fs.{}", access.name()),
            Self::Bind(_) | Self::Connect(_) => format!("denied.net.{}", self.word()),
            Self::Scope(what) => format!("denied.scope.{what}"),
            Self::Call(_) => "denied.call".to_owned(),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(access, path) => {
                write!(f, "{} {}", access.name(), path.display().to_string().escape_debug())
            }
            Self::Bind(port) | Self::Connect(port) => write!(f, "{} {port}", self.word()),
            Self::Call(number) => write!(f, "call {number}"),
            Self::Files(_) | Self::Scope(_) => f.write_str(self.word()),
        }
    }
}

/// The kinds of access that the kernel's words stand for, and the words that are none.
///
/// It names all that a directory lacks, devices too, which nobody may make, when something would be moved or linked to
/// where more may be done with it: what is missing there is the right to move it.
pub(super) fn accesses<'a>(words: impl Iterator<Item = &'a str> + Clone) -> (Accesses, Vec<&'a str>) {
    let has = |word: &str| words.clone().any(|other| other == word);
    if has("fs.make_char") && has("fs.make_block") {
        return ([Access::Rename].into_iter().collect(), Vec::new());
    }
    let known: Accesses = words.clone().filter_map(access).collect();
    (known, words.filter(|word| access(word).is_none()).collect())
}

fn access(word: &str) -> Option<Access> {
    Some(match word.strip_prefix("fs.")? {
        "read_file" => Access::Read,
        "read_dir" => Access::List,
        "write_file" | "truncate" => Access::Write,
        "remove_file" | "remove_dir" => Access::Delete,
        "refer" => Access::Rename,
        "execute" => Access::Exec,
        "ioctl_dev" => Access::Ioctl,
        other if other.starts_with("make_") => Access::Create,
        _ => return None,
    })
}
