//! Scanner of one JSON object, without allocation.
//!
//! Own code and not a full parser for two reasons: logs carry bytes that are not UTF-8 and escapes that are not JSON
//! (`\x22`), which full parsers refuse; and a line that was cut off still gives the keys before the cut. Nested values
//! are stepped over by their brackets; a caller that needs their contents scans them again.

use super::fields::quoted;

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A string, escapes still in it.
    Text {
        /// Between the quotes.
        text: &'a [u8],
        /// Whether a backslash is in it.
        escaped: bool,
    },
    /// A number, `true`, `false` or `null`, as it is written.
    Bare(&'a [u8]),
    /// An object or a list, from its bracket to its bracket.
    Nested(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The text of a string, number or name.
    pub(super) const fn text(self) -> Option<&'a [u8]> {
        match self {
            Self::Text { text, .. } | Self::Bare(text) => Some(text),
            Self::Nested(_) => None,
        }
    }
}

/// The keys and values of the object in `line`, up to its end or the first syntax error.
pub(super) struct Members<'a> {
    rest: &'a [u8],
}

/// `None` unless the line begins as an object does.
pub(super) fn members(line: &[u8]) -> Option<Members<'_>> {
    let rest = line.trim_ascii_start().strip_prefix(b"{")?;
    Some(Members { rest })
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_ascii_start();
        let rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
        self.rest = &[];
        let key = quoted(rest.strip_prefix(b"\"")?).ok()?;
        let rest = key.rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let (value, rest) = value(rest)?;
        self.rest = rest;
        Some((key.text, value))
    }
}

fn value(rest: &[u8]) -> Option<(Value<'_>, &[u8])> {
    match rest.split_first()? {
        (b'"', text) => {
            let field = quoted(text).ok()?;
            Some((Value::Text { text: field.text, escaped: field.escaped }, field.rest))
        }
        (b'{' | b'[', _) => {
            let after = step_over(rest)?;
            Some((Value::Nested(&rest[..rest.len() - after.len()]), after))
        }
        _ => {
            let end = rest.iter().position(|b| b",}] \t\n".contains(b))?;
            Some((Value::Bare(&rest[..end]), &rest[end..]))
        }
    }
}

/// The text behind the nested value that `rest` begins with.
fn step_over(mut rest: &[u8]) -> Option<&[u8]> {
    let mut depth = 0_usize;
    loop {
        let at = rest.iter().position(|b| b"{}[]\"".contains(b))?;
        let found = rest[at];
        rest = &rest[at + 1..];
        match found {
            b'"' => rest = quoted(rest).ok()?.rest,
            b'{' | b'[' => depth += 1,
            _ => depth -= 1,
        }
        if depth == 0 {
            return Some(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_a_flat_object_and_over_nested_ones() {
        let line = br#" {"a":"x\"y", "b" : 12.5 ,"c":{"d":["}",{}]},"e":null}"#;
        let all: Vec<_> = members(line).unwrap().collect();
        assert_eq!(all.len(), 4);
        assert_eq!(all[0], (&b"a"[..], Value::Text { text: br#"x\"y"#, escaped: true }));
        assert_eq!(all[1], (&b"b"[..], Value::Bare(b"12.5")));
        assert_eq!(all[2].1, Value::Nested(br#"{"d":["}",{}]}"#));
        assert_eq!(all[3].1.text(), Some(&b"null"[..]));
    }

    #[test]
    fn a_cut_object_gives_what_came_before_the_cut() {
        let keys = |line: &'static [u8]| members(line).unwrap().count();
        assert_eq!(keys(br#"{"a":1,"b":"xy"#), 1);
        assert_eq!(keys(br#"{"a":1,"b":2"#), 1, "the number may go on");
        assert_eq!(keys(br#"{"a":[[]"#), 0);
        assert!(members(b"[]").is_none());
    }
}
