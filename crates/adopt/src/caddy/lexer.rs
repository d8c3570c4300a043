//! Words of a Caddyfile, with their places in the text.
//!
//! Measuring side, cold, pure. The rules are those of Caddy's lexer: words end at white space alone, so that a brace
//! counts only where it stands alone; `#` opens a comment only where a word could begin; quotes and heredocs may hold
//! anything; a backslash at the end of a line continues it.

use std::ops::Range;

/// A word without its quotes, and its bytes in the text with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) span: Range<usize>,
    /// The first of its line.
    pub(super) begins_line: bool,
    /// A brace in quotes opens nothing.
    pub(super) is_quoted: bool,
}

impl Word {
    pub(super) fn is_mark(&self, mark: &str) -> bool {
        !self.is_quoted && self.text == mark
    }
}

/// A quoted word that never ends begins at this byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed(pub(super) usize);

/// All words of a text.
pub(super) fn words(text: &str) -> Result<Vec<Word>, Unclosed> {
    let mut all = Vec::new();
    let (mut at, mut begins_line) = (0, true);
    while let Some(next) = text[at..].chars().next() {
        let continued = continuation(&text[at..]);
        let (word, end) = match next {
            c if c.is_whitespace() => {
                begins_line |= c == '\n';
                at += c.len_utf8();
                continue;
            }
            '\\' if continued > 0 => {
                at += continued;
                continue;
            }
            '#' => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
                continue;
            }
            '"' | '`' => quoted(text, at, next)?,
            _ => heredoc(text, at).unwrap_or_else(|| bare(text, at)),
        };
        let is_quoted = next == '"' || next == '`';
        all.push(Word { text: word, span: at..end, begins_line, is_quoted });
        (at, begins_line) = (end, false);
    }
    Ok(all)
}

/// Bytes of a backslash and the end of line behind it.
fn continuation(text: &str) -> usize {
    ["\\\n", "\\\r\n"].into_iter().find(|mark| text.starts_with(mark)).map_or(0, str::len)
}

/// A word in quotes, and its end. A backslash keeps a double quote, and nothing else.
fn quoted(text: &str, from: usize, quote: char) -> Result<(String, usize), Unclosed> {
    let mut word = String::new();
    let mut escaped = false;
    for (at, c) in text[from + 1..].char_indices() {
        match c {
            '\\' if quote == '"' && !escaped => {
                escaped = true;
                continue;
            }
            c if c == quote && !escaped => return Ok((with_defaults(&word), from + 1 + at + 1)),
            '"' => {}
            _ if escaped => word.push('\\'),
            _ => {}
        }
        escaped = false;
        word.push(c);
    }
    Err(Unclosed(from))
}

/// `<<NAME` and the lines up to NAME. None: it is no heredoc.
fn heredoc(text: &str, from: usize) -> Option<(String, usize)> {
    let (name, body) = text[from..].strip_prefix("<<")?.split_once('\n')?;
    let name = name.trim_end_matches('\r');
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    let mut end = text.len() - body.len();
    for line in body.split_inclusive('\n').filter(|_| is_name) {
        let behind = line.trim_start().strip_prefix(name);
        if behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(char::is_whitespace)) {
            let close = end + (line.len() - line.trim_start().len()) + name.len();
            return Some((text[text.len() - body.len()..end].to_owned(), close));
        }
        end += line.len();
    }
    None
}

/// A word without quotes; a variable in it may hold white space.
fn bare(text: &str, from: usize) -> (String, usize) {
    let mut end = from;
    while let Some(c) = text[end..].chars().next() {
        if c.is_whitespace() || continuation(&text[end..]) > 0 {
            break;
        }
        let variable = text[end..].strip_prefix("{$").and_then(|rest| rest.find(['}', '\n']));
        end += variable.map_or(c.len_utf8(), |length| 2 + length);
    }
    (with_defaults(&text[from..end]), end)
}

/// The word with each `{$NAME:default}` as its default: a private copy has none of the user's variables. One without a
/// default stays.
fn with_defaults(word: &str) -> String {
    let (mut done, mut rest) = (String::new(), word);
    while let Some((before, behind)) = rest.split_once("{$") {
        done += before;
        match behind.split_once('}') {
            Some((inner, after)) => {
                match inner.split_once(':') {
                    Some((_, default)) => done += default,
                    None => done += &format!("{{${inner}}}"),
                }
                rest = after;
            }
            None => {
                done += "{$";
                rest = behind;
            }
        }
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        words(text).unwrap().into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_end_where_caddy_ends_them() {
        assert_eq!(texts("a.com, b.com {\n}\n"), ["a.com,", "b.com", "{", "}"]);
        assert_eq!(texts("redir https://{host}{uri} # x {"), ["redir", "https://{host}{uri}"]);
        assert_eq!(texts("respond \"a \\\"b\\n {\" `c \"d`"), ["respond", "a \"b\\n {", "c \"d"]);
        assert_eq!(texts("a#b \"c\"d"), ["a#b", "c", "d"]);
        assert_eq!(
            texts("respond <<END\n  a {\n  END 200\nx"),
            ["respond", "  a {\n", "200", "x"],
            "a heredoc ends at its name"
        );
        assert_eq!(texts("a <<b c\n"), ["a", "<<b", "c"]);
        assert_eq!(texts("{$SITE:a.com b.com}:{$PORT:81} {$NONE}"), ["a.com b.com:81", "{$NONE}"]);
        assert_eq!(words("a \"b"), Err(Unclosed(2)));
    }

    #[test]
    fn a_line_goes_on_behind_a_backslash() {
        let begin = |text| words(text).unwrap().iter().map(|word| word.begins_line).collect::<Vec<_>>();
        assert_eq!(begin("a b\\\n c\nd"), [true, false, false, true]);
        assert_eq!(texts("a\\\nb"), ["a", "b"]);
        let text = "root `/a b`";
        assert_eq!(&text[words(text).unwrap()[1].span.clone()], "`/a b`");
    }

    #[test]
    fn no_text_makes_it_panic() {
        let pieces = ["\\", "\"", "`", "{", "}", "<<", "#", "$", "é", "\n", "a", " "];
        for n in 0..12usize.pow(4) {
            let text: String = (0..4).map(|at| pieces[n / 12usize.pow(at) % 12]).collect();
            if let Ok(found) = words(&text) {
                assert!(found.iter().all(|one| text.get(one.span.clone()).is_some()), "{text:?}");
            }
        }
    }
}
