//! Escaping of names from the tree for lines that people and programs read.
//!
//! The creator of a file chooses its name: it may hold line ends, control sequences for a terminal, or four kilobytes
//! of text.

/// Longest name, in bytes, that is written out.
const MAX_BYTES: usize = 1000;

/// A name without characters that begin a new line, move a cursor or turn the direction of text; a long one is cut.
pub(crate) fn plain(name: &str) -> String {
    let mut text = String::with_capacity(name.len().min(MAX_BYTES));
    for c in name.chars() {
        if text.len() >= MAX_BYTES {
            text.push('…');
            break;
        }
        match c {
            '\\' => text.push_str("\\\\"),
            _ if c.is_control() || turns(c) => text.extend(c.escape_unicode()),
            _ => text.push(c),
        }
    }
    text
}

/// Whether a character is invisible, a line end of Unicode, or turns the direction of text.
const fn turns(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_line_and_is_told_from_every_other() {
        assert_eq!(plain("a b/ü.html"), "a b/ü.html");
        assert_eq!(plain("x\nover 7\r\u{1b}[2J"), "x\\u{a}over 7\\u{d}\\u{1b}[2J");
        assert_eq!(plain("\\u{a}"), "\\\\u{a}");
        assert_eq!(plain("\u{202e}lmth"), "\\u{202e}lmth");
        let long = plain(&"n".repeat(4096));
        assert!(long.len() < 1010 && long.ends_with('…'), "{}", long.len());
    }
}
