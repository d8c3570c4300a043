//! Lines and words of Apache's configuration language, with their places in the text.
//!
//! Measuring side, cold, pure. The rules are those of `ap_cfg_getline` and `ap_getword_conf`: a backslash at the end
//! continues a line, comments too; a word may be in either quotes, in which a backslash keeps the quote.

use std::ops::Range;

/// A word of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Without its quotes.
    pub(super) text: String,
    /// With them.
    pub(super) span: Range<usize>,
}

/// Lines that say something, continued ones as one, without the white space around them.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let mut end = at;
        loop {
            end += text[end..].find('\n').unwrap_or(text.len() - end);
            let is_continued = text[at..end].trim_end_matches('\r').ends_with('\\') && end < text.len();
            if !is_continued {
                break;
            }
            end += 1;
        }
        let line = &text[at..end];
        let start = at + (line.len() - line.trim_start().len());
        let line = start..(at + line.trim_end().len()).max(start);
        if !line.is_empty() && !text[line.clone()].starts_with('#') {
            all.push(line);
        }
        at = end + 1;
    }
    all
}

/// Words between two bytes.
pub(super) fn words(text: &str, range: Range<usize>) -> Vec<Word> {
    let (mut all, mut at) = (Vec::new(), range.start);
    loop {
        at = behind_space(text, at..range.end);
        let Some(first) = text[at..range.end].chars().next() else { return all };
        let start = at;
        let mut word = String::new();
        let quote = ['"', '\''].contains(&first).then_some(first);
        at += quote.map_or(0, char::len_utf8);
        while let Some(next) = text[at..range.end].chars().next() {
            let rest = &text[at..range.end];
            if let Some(length) = continuation(rest) {
                at += length;
                continue;
            }
            at += next.len_utf8();
            match quote {
                Some(quote) if next == quote => break,
                Some(quote) if next == '\\' && rest[1..].starts_with([quote, '\\']) => {
                    word.extend(rest[1..].chars().next());
                    at += 1;
                }
                None if next.is_ascii_whitespace() => {
                    at -= 1;
                    break;
                }
                _ => word.push(next),
            }
        }
        all.push(Word { text: word, span: start..at });
    }
}

/// Length of a backslash at the end of a line, with that end.
fn continuation(rest: &str) -> Option<usize> {
    ["\\\n", "\\\r\n"].into_iter().find(|mark| rest.starts_with(mark)).map(str::len)
}

fn behind_space(text: &str, range: Range<usize>) -> usize {
    let mut at = range.start;
    while let Some(next) = text[at..range.end].chars().next() {
        match continuation(&text[at..range.end]) {
            Some(length) => at += length,
            None if next.is_ascii_whitespace() => at += 1,
            None => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_continued_and_comments_are_none() {
        let text = "# a \\\n still a comment\n  Listen \\\n 80 \n\n</x>\nEnd";
        let found: Vec<&str> = lines(text).into_iter().map(|line| &text[line]).collect();
        assert_eq!(found, ["Listen \\\n 80", "</x>", "End"]);
    }

    #[test]
    fn words_are_those_that_apache_reads() {
        for (text, expected) in [
            ("Listen 80", &["Listen", "80"][..]),
            ("A \"b c\" 'd \"e'", &["A", "b c", "d \"e"]),
            (r#"LogFormat "%h \"%r\" \\d" x"#, &["LogFormat", r#"%h "%r" \d"#, "x"]),
            ("A b\\\nc \\\n  d", &["A", "bc", "d"]),
            (r"RewriteRule ^/(.*)\.x$ /$1", &["RewriteRule", r"^/(.*)\.x$", "/$1"]),
            ("A \"open", &["A", "open"]),
        ] {
            let found: Vec<String> = words(text, 0..text.len()).into_iter().map(|word| word.text).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
    #[test]
    fn no_text_makes_it_panic() {
        let pieces = ["\\", "\n", "\r\n", "\"", "'", "<", "</", ">", "#", " ", "\u{e4}", "a"];
        for number in 0..pieces.len().pow(4) {
            let piece = |place: u32| pieces[number / pieces.len().pow(place) % pieces.len()];
            let text: String = (0..4).map(piece).collect();
            for line in lines(&text) {
                words(&text, line);
            }
        }
    }
}
