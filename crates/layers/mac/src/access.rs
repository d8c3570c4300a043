//! Kinds of access to a file: the words used in policies and logs.
//!
//! Measured side, pure. Each word stands for one or more Landlock rights; `confine` has the table.

use bakeoff_layers_base::named;
use std::fmt;

named! {
    /// One kind of access.
    #[derive(Hash, PartialOrd, Ord)]
    pub enum Access {
        /// A file's bytes are read.
        Read "read",
        /// A directory's names are read.
        List "list",
        /// A file's bytes are written, cut or extended.
        Write "write",
        /// A file, directory, link, FIFO or socket is made.
        Create "create",
        /// A file or directory is removed.
        Delete "delete",
        /// A file is linked or renamed from one directory to another.
        Rename "rename",
        /// A program is executed.
        Exec "exec",
        /// ioctl on a device.
        Ioctl "ioctl",
    }
}

impl Access {
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// A set of kinds of access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Accesses(u16);

impl Accesses {
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// Every kind.
    pub fn any() -> Self {
        Access::ALL.into_iter().collect()
    }

    /// Whether this kind is in it.
    pub const fn has(self, access: Access) -> bool {
        self.0 & access.bit() != 0
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
        Access::ALL.into_iter().filter(move |access| self.has(*access))
    }
}

impl FromIterator<Access> for Accesses {
    fn from_iter<I: IntoIterator<Item = Access>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |all, access| all | access.bit()))
    }
}

impl fmt::Display for Accesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.iter().map(Access::name).collect();
        f.write_str(if words.is_empty() { "nothing" } else { "" })?;
        f.write_str(&words.join(" "))
    }
}
