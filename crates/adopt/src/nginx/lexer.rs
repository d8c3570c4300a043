//! Words of nginx' configuration language, with their places in the text.
//!
//! Measuring side, cold, pure. The rules are those of `ngx_conf_read_token`: words end at white space, `;` and `{`;
//! `#` opens a comment only where a word could begin; quotes may hold anything; a backslash keeps the next character;
//! `${` is part of a word.

use std::ops::Range;

/// A word, or a mark between words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word without its quotes.
    Word(String),
    /// `;`
    End,
    /// `{`
    Open,
    /// `}`
    Close,
}

/// A token and its bytes in the text, quotes included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) span: Range<usize>,
}

/// A quoted word that never ends begins at this byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed(pub(super) usize);

/// All tokens of a text.
pub(super) fn lexemes(text: &str) -> Result<Vec<Lexeme>, Unclosed> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let (token, end) = match next {
            c if c.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            '#' => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
                continue;
            }
            ';' => (Token::End, at + 1),
            '{' => (Token::Open, at + 1),
            '}' => (Token::Close, at + 1),
            '"' | '\'' => quoted(text, at, next)?,
            _ => bare(text, at),
        };
        all.push(Lexeme { token, span: at..end });
        at = end;
    }
    Ok(all)
}

/// A word in quotes, and its end.
fn quoted(text: &str, from: usize, quote: char) -> Result<(Token, usize), Unclosed> {
    let mut word = String::new();
    let mut chars = text[from + 1..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => chars.next().into_iter().for_each(|(_, kept)| unescape(&mut word, kept)),
            c if c == quote => return Ok((Token::Word(word), from + 1 + at + 1)),
            c => word.push(c),
        }
    }
    Err(Unclosed(from))
}

fn bare(text: &str, from: usize) -> (Token, usize) {
    let mut word = String::new();
    let mut chars = text[from..].char_indices();
    let mut last = ' ';
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => chars.next().into_iter().for_each(|(_, kept)| unescape(&mut word, kept)),
            '{' if last == '$' => word.push(c),
            c if c.is_ascii_whitespace() || c == ';' || c == '{' => return (Token::Word(word), from + at),
            c => word.push(c),
        }
        last = c;
    }
    (Token::Word(word), text.len())
}

/// A backslash goes before quotes, itself and the letters of white space; elsewhere it is a regular expression's.
fn unescape(word: &mut String, kept: char) {
    match kept {
        '"' | '\'' | '\\' => word.push(kept),
        't' => word.push('\t'),
        'r' => word.push('\r'),
        'n' => word.push('\n'),
        other => word.extend(['\\', other]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let shown = |lexeme: Lexeme| match lexeme.token {
            Token::Word(word) => word,
            Token::End => ";".into(),
            Token::Open => "{".into(),
            Token::Close => "}".into(),
        };
        lexemes(text).unwrap().into_iter().map(shown).collect()
    }

    #[test]
    fn words_end_where_nginx_ends_them() {
        assert_eq!(words("a b;c{d;}"), ["a", "b", ";", "c", "{", "d", ";", "}"]);
        assert_eq!(words("set $a ${host}x; # no {"), ["set", "$a", "${host}x", ";"]);
        assert_eq!(words("a#b c;"), ["a#b", "c", ";"], "no comment within a word");
        assert_eq!(words("x 'a b;{' \"\\\"\";"), ["x", "a b;{", "\"", ";"]);
        assert_eq!(
            words("location ~ \\.php$ {}"),
            ["location", "~", "\\.php$", "{", "}"],
            "an expression keeps its backslash"
        );
        assert_eq!(lexemes("a \"b"), Err(Unclosed(2)));
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "root '/a b';";
        let found = lexemes(text).unwrap();
        assert_eq!(&text[found[1].span.clone()], "'/a b'");
    }

    #[test]
    fn no_text_makes_it_panic() {
        let pieces = ["\\", "\"", "'", "{", "}", ";", "#", "$", "é", "\n", "a", " "];
        for n in 0..12usize.pow(4) {
            let text: String = (0..4).map(|at| pieces[n / 12usize.pow(at) % 12]).collect();
            if let Ok(found) = lexemes(&text) {
                assert!(found.iter().all(|one| text.get(one.span.clone()).is_some()), "{text:?}");
            }
        }
    }
}
