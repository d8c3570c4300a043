//! Kinds of access to a file: the words used in policies and logs.
//!
//! Measured side, pure. Each word stands for one or more Landlock rights; `confine` has the table.

use std::fmt;

/// One kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Access {
    /// A file's bytes are read.
    Read = 1,
    /// A directory's names are read.
    List = 1 << 1,
    /// A file's bytes are written, cut or extended.
    Write = 1 << 2,
    /// A file, directory, link, FIFO or socket is made.
    Create = 1 << 3,
    /// A file or directory is removed.
    Delete = 1 << 4,
    /// A file is linked or renamed from one directory to another.
    Rename = 1 << 5,
    /// A program is executed.
    Exec = 1 << 6,
    /// ioctl on a device.
    Ioctl = 1 << 7,
}

/// Every kind with its word, in the order in which they are printed.
const WORDS: [(Access, &str); 8] = [
    (Access::Read, "read"),
    (Access::List, "list"),
    (Access::Write, "write"),
    (Access::Create, "create"),
    (Access::Delete, "delete"),
    (Access::Rename, "rename"),
    (Access::Exec, "exec"),
    (Access::Ioctl, "ioctl"),
];

impl Access {
    /// All kinds, in the order in which they are printed.
    pub fn all() -> impl Iterator<Item = Self> {
        WORDS.iter().map(|(access, _)| *access)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(other, _)| *other == self).map_or("", |(_, word)| word)
    }

    /// The kind for this word.
    pub fn of_word(word: &str) -> Option<Self> {
        WORDS.iter().find(|(_, other)| *other == word).map(|(access, _)| *access)
    }
}

/// A set of kinds of access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Accesses(u16);

impl Accesses {
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// Every kind.
    pub fn any() -> Self {
        Access::all().collect()
    }

    /// Whether this kind is in it.
    pub const fn has(self, access: Access) -> bool {
        self.0 & access as u16 != 0
    }

    /// The union of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection of both.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The kinds in this set but not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether it is empty.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Its kinds, in the order in which they are printed.
    pub fn iter(self) -> impl Iterator<Item = Access> {
        Access::all().filter(move |access| self.has(*access))
    }
}

impl FromIterator<Access> for Accesses {
    fn from_iter<I: IntoIterator<Item = Access>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |all, access| all | access as u16))
    }
}

impl fmt::Display for Accesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.iter().map(Access::word).collect();
        f.write_str(if words.is_empty() { "nothing" } else { "" })?;
        f.write_str(&words.join(" "))
    }
}
