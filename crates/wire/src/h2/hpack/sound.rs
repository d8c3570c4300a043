//! Character rules for names and values (RFC 9113 section 8.2.1).
//!
//! Both sides. Hot, reads untrusted input. Checked once, when a string comes: an entry of a table knows whether it is
//! sound.

/// Characters that names may have: those of tokens without capitals.
static NAME: [bool; 256] = name_characters();

const fn name_characters() -> [bool; 256] {
    let mut allowed = [false; 256];
    let marks = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
    let mut at = 0;
    while at < marks.len() {
        allowed[marks[at] as usize] = true;
        at += 1;
    }
    allowed
}

/// Whether this can be the name of a field or, with a colon, of a pseudo-header field.
pub(in crate::h2) fn name(name: &[u8]) -> bool {
    let letters = name.strip_prefix(b":").unwrap_or(name);
    !letters.is_empty() && letters.iter().all(|&byte| NAME[usize::from(byte)])
}

/// Whether this can be a value: no line breaks, no zero bytes, no blanks around it.
pub(in crate::h2) fn value(value: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if blank(value.first()) || blank(value.last()) {
        return false;
    }
    // Eight bytes at a time: whether one is below a space. Only then it matters which.
    let (eights, rest) = value.as_chunks::<8>();
    let suspect = eights.iter().any(|eight| {
        let word = u64::from_le_bytes(*eight);
        word.wrapping_sub(0x2020_2020_2020_2020) & !word & 0x8080_8080_8080_8080 != 0
    });
    let bad = |byte: &u8| matches!(byte, 0 | b'\r' | b'\n');
    !(rest.iter().any(bad) || suspect && value.iter().any(bad))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_character_is_found_wherever_it_stands() {
        for length in 1..40 {
            for at in 0..length {
                for (bad, fits) in [(0, false), (b'\r', false), (b'\n', false), (0x1f, true), (0xff, true)] {
                    let mut bytes = vec![b'x'; length];
                    bytes[at] = bad;
                    assert_eq!(value(&bytes), fits, "{bad} at {at} of {length}");
                    assert!(!name(&bytes));
                }
            }
        }
        assert!(value(b"") && value(b"a\tb") && !value(b" a") && !value(b"a\t"));
        assert!(name(b":path") && name(b"x-1") && !name(b"") && !name(b":") && !name(b"a:b") && !name(b"A"));
    }
}
