//! The denied access named in an audit record.
//!
//! Measured side, pure.

use crate::access::{Access, Accesses};
use std::fmt;
use std::path::PathBuf;

/// An access that is allowed or denied.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LoggedAccess {
    /// One kind of access to a file. Creating, removing and renaming name the directory in which they happen.
    File(Access, PathBuf),
    /// One kind of access to more files than are told apart.
    Files(Access),
    /// Binding a TCP port.
    Bind(u16),
    /// Connecting to a TCP port.
    Connect(u16),
    /// Reaching beyond the domain: `signal`, `abstract_unix_socket`, and names of later kernels.
    Scope(String),
    /// A system call, by its number.
    Call(u32),
}

impl LoggedAccess {
    /// One word for the access, without the path.
    pub fn word(&self) -> &str {
        match self {
            Self::File(access, _) | Self::Files(access) => access.name(),
            Self::Bind(_) => "bind",
            Self::Connect(_) => "connect",
            Self::Scope(what) => what,
            Self::Call(_) => "call",
        }
    }

    /// Name of its counter of refusals.
    pub fn counter(&self) -> String {
        match self {
            Self::File(access, _) | Self::Files(access) => format!("denied.fs.{}", access.name()),
            Self::Bind(_) | Self::Connect(_) => format!("denied.net.{}", self.word()),
            Self::Scope(what) => format!("denied.scope.{what}"),
            Self::Call(_) => "denied.call".to_owned(),
        }
    }
}

impl fmt::Display for LoggedAccess {
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

/// The kinds of access that the kernel's words stand for, and the words that stand for none.
///
/// When a file would be moved or linked to a place with more rights, the kernel names every right that the directory
/// lacks, even for devices, which no domain may create. The missing right is then to move it.
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
