//! Text with the signs that paper has, in place of those that a terminal has.

/// `-0.3..+1.2 %` becomes `−0.3 to +1.2 %`, `13 us` becomes `13 µs`. Names, paths and hyphens stay as they are: a
/// sign stands before a digit and behind no word, a unit behind a digit, a range between two numbers.
pub(super) fn typeset(text: &str) -> String {
    let mut set = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let digit_before = set.ends_with(|c: char| c.is_ascii_digit());
        let (from, to) = match c {
            '-' if starts_a_number(&set) && is_number(&rest[1..]) => ("-", "\u{2212}"),
            '.' if digit_before
                && rest.starts_with("..")
                && is_number(rest[2..].trim_start_matches(['+', '-'])) =>
            {
                ("..", " to ")
            }
            ' ' if digit_before && is_unit(rest) => (" us", " \u{b5}s"),
            _ => ("", ""),
        };
        let taken = if from.is_empty() { c.len_utf8() } else { from.len() };
        set.push_str(if from.is_empty() { &rest[..taken] } else { to });
        rest = &rest[taken..];
    }
    set
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

fn starts_a_number(before: &str) -> bool {
    before.is_empty() || before.ends_with([' ', '(', '\u{a0}'])
}

fn is_unit(text: &str) -> bool {
    text.strip_prefix(" us").is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_typeset_and_all_else_is_kept() {
        for (typed, set) in [
            ("-0.3..+1.2 %", "\u{2212}0.3 to +1.2 %"),
            ("(-89..-2)", "(\u{2212}89 to \u{2212}2)"),
            ("costs 82 us CPU (55..110 us)", "costs 82 \u{b5}s CPU (55 to 110 \u{b5}s)"),
            ("13 us", "13 \u{b5}s"),
        ] {
            assert_eq!(typeset(typed), set);
        }
        for kept in [
            "-",
            "x-forwarded",
            "2026-11-23",
            "cores 0-1",
            "../site/1.conf",
            "a/../b",
            "it tells us 3 used",
            "12 users",
            "--scale 1/60",
            "http-1",
        ] {
            assert_eq!(typeset(kept), kept);
        }
    }
}
