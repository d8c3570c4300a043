//! Text of copies: quoted paths, names of hosts, edits that keep the number of lines.
//!
//! Measuring side, cold, pure. Knows no language.

use std::ops::Range;
use std::path::Path;

/// A path as nginx and Apache take it.
pub(crate) fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

/// The text with single spaces in place of all white space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The source with its edits made, in the order of their places. A shorter edit is filled up with lines.
pub(crate) fn edited<'e>(source: &str, edits: impl Iterator<Item = &'e (Range<usize>, String)>) -> String {
    let (mut text, mut from) = (String::with_capacity(source.len() + 256), 0);
    for (span, now) in edits {
        text += &source[from..span.start];
        text += now;
        let lines = |text: &str| text.matches('\n').count();
        text += &"\n".repeat(lines(&source[span.clone()]).saturating_sub(lines(now)));
        from = span.end;
    }
    text + &source[from..]
}

/// A `Host` that the name of a server stands for.
pub(crate) fn usable_host(name: &str) -> Option<String> {
    let plain = |name: &str| {
        let is_plain =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c));
        (is_plain && name != "localhost").then(|| name.to_owned())
    };
    match name.strip_prefix("*.") {
        Some(rest) => plain(rest).map(|rest| format!("www.{rest}")),
        None => plain(name.strip_prefix('.').unwrap_or(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_hosts() {
        for (name, host) in [
            ("example.com", Some("example.com")),
            ("*.example.com", Some("www.example.com")),
            (".example.com", Some("example.com")),
            ("_", None),
            ("~^(.+)$", None),
            ("localhost", None),
            ("", None),
        ] {
            assert_eq!(usable_host(name).as_deref(), host, "{name}");
        }
    }
}
