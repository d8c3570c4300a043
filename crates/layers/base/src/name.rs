//! Escaped names of vaults, manifests and directories, which are signed, bound to and compared.
//!
//! Cold. One line of printable ASCII, whatever the name itself contains: names are equal exactly when their text is.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;

/// A name, escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscapedName(String);

impl EscapedName {
    /// Escapes the name of a file or directory, or any typed text.
    pub fn of(name: impl AsRef<OsStr>) -> Self {
        Self(name.as_ref().as_bytes().escape_ascii().to_string())
    }

    /// Reads an escaped name; `None` if it is not escaped.
    pub fn read(text: &str) -> Option<Self> {
        let plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        (!text.is_empty() && text.bytes().all(plain)).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for EscapedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_and_no_two_are_the_same() {
        let names = ["a b", "a\nb", "a\\nb", "é", "e"].map(EscapedName::of);
        for (at, name) in names.iter().enumerate() {
            assert_eq!(EscapedName::read(&name.to_string()).as_ref(), Some(name));
            assert!(!names[..at].contains(name), "{name}");
        }
        assert_eq!(EscapedName::read(""), None);
        assert_eq!(EscapedName::read("a\nb"), None);
    }
}
