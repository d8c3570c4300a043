//! Prefixes of paths, as lists of names: there is no `..`, `//` or `%2e` to argue about.
//!
//! Measured side, pure. Names are compared by their bytes; an object's path may have names that are not UTF-8, a
//! prefix may not.

use std::fmt;

/// Longest name, in bytes: Linux's `NAME_MAX`.
const MOST_NAME: usize = 255;
/// Most names: lists of rules nest as deeply.
const MOST_NAMES: usize = 256;

/// A directory or file and everything below it: the names from the root down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathPrefix(Vec<String>);

impl PathPrefix {
    /// From names, if all are valid.
    pub fn of(names: Vec<String>) -> Option<Self> {
        (names.len() <= MOST_NAMES && names.iter().all(|name| is_name(name))).then_some(Self(names))
    }

    /// From a text that begins with `/`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix('/')? {
            "" => Some(Self::default()),
            names => Self::of(names.split('/').map(str::to_owned).collect()),
        }
    }

    /// Its names.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Whether a path is this one or below it.
    pub fn covers(&self, path: &[impl AsRef<[u8]>]) -> bool {
        let start = path.get(..self.0.len());
        start
            .is_some_and(|start| start.iter().zip(&self.0).all(|(name, own)| name.as_ref() == own.as_bytes()))
    }
}

impl fmt::Display for PathPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0.join("/"))
    }
}

fn is_name(name: &str) -> bool {
    let odd = |c: char| c == '/' || c.is_control();
    !name.is_empty() && name.len() <= MOST_NAME && name != "." && name != ".." && !name.contains(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_covers_whole_names_only() {
        let covers = |prefix: &str, path: &[&str]| PathPrefix::parse(prefix).unwrap().covers(path);
        assert!(covers("/", &[]) && covers("/", &["a"]) && covers("/a", &["a"]) && covers("/a", &["a", "b"]));
        assert!(
            !covers("/a", &[]) && !covers("/a", &["ab"]) && !covers("/a/b", &["a"]) && !covers("/a", &["A"])
        );
        assert!(covers("/%2e%2e", &["%2e%2e"]) && !covers("/caf\u{e9}", &["cafe\u{301}"]));
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_prefix() {
        let long = format!("/{}", "x".repeat(MOST_NAME + 1));
        for bad in ["", "a", "//", "/a/", "/a//b", "/.", "/..", "/a/../b", "/a/./b", "/a\0b", "/a\nb", &long]
        {
            assert_eq!(PathPrefix::parse(bad), None, "{bad:?}");
        }
        for good in ["/", "/a", "/a b/...", "/..a", "/%2e%2e"] {
            assert_eq!(PathPrefix::parse(good).unwrap().to_string(), good);
        }
        assert_eq!(PathPrefix::of(vec!["a/b".to_owned()]), None);
        assert_eq!(PathPrefix::parse(&"/a".repeat(MOST_NAMES + 1)), None);
    }
}
