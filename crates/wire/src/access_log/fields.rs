//! Fields of a log line: tokens, numbers, quoted text and its escapes.
//!
//! Shared by the formats, hot. Owns no format; each function takes the rest of a line and gives a field and the new
//! rest.

use super::LineError;
use crate::digits::decimal;
use memchr::{memchr, memchr2, memrchr};

/// The token before the next space, and the text behind the spaces that follow.
#[inline]
pub(super) fn token(rest: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b' ', rest) {
        Some(end) => (&rest[..end], skip_spaces(&rest[end + 1..])),
        None => (rest, &[]),
    }
}

/// The text behind leading spaces.
#[inline]
pub(super) fn skip_spaces(rest: &[u8]) -> &[u8] {
    let start = rest.iter().position(|&b| b != b' ').unwrap_or(rest.len());
    &rest[start..]
}

/// A quoted field whose opening quote is already consumed.
pub(super) struct Quoted<'a> {
    /// Text between the quotes.
    pub(super) text: &'a [u8],
    /// Whether a backslash is in it.
    pub(super) escaped: bool,
    /// Text behind the closing quote.
    pub(super) rest: &'a [u8],
}

/// Finds the closing quote that no backslash escapes.
#[inline]
pub(super) fn quoted(rest: &[u8]) -> Result<Quoted<'_>, LineError> {
    let mut at = 0;
    let mut escaped = false;
    loop {
        let found = memchr2(b'"', b'\\', rest.get(at..).unwrap_or(&[])).ok_or(LineError::OpenQuote)?;
        at += found;
        if rest[at] == b'"' {
            return Ok(Quoted { text: &rest[..at], escaped, rest: &rest[at + 1..] });
        }
        escaped = true;
        at += 2;
    }
}

/// Method and target of a request line; an empty method when it is none. The target is the text between the method and
/// the last field that says HTTP, with any spaces in it.
#[inline]
pub(super) fn request_line(text: &[u8]) -> (&[u8], &[u8]) {
    let Some(space) = memchr(b' ', text) else { return (&[], text) };
    let (method, rest) = (&text[..space], &text[space + 1..]);
    let target = match memrchr(b' ', rest) {
        Some(last) if rest[last + 1..].starts_with(b"HTTP/") => &rest[..last],
        _ => rest,
    };
    if is_method(method) && !target.is_empty() { (method, target) } else { (&[], text) }
}

/// Letters, `-` and `_`, at most 32 of them: every registered method, and no junk.
#[inline]
pub(super) fn is_method(text: &[u8]) -> bool {
    (1..=32).contains(&text.len()) && text.iter().all(|&b| b.is_ascii_alphabetic() || b == b'-' || b == b'_')
}

/// Exactly three digits.
#[inline]
pub(super) fn status(text: &[u8]) -> Result<u16, LineError> {
    match text {
        &[a, b, c] if a.is_ascii_digit() && b.is_ascii_digit() && c.is_ascii_digit() => {
            Ok(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
        }
        _ => Err(LineError::Status),
    }
}

/// A number of bytes, `None` for `-`.
#[inline]
pub(super) fn size(text: &[u8]) -> Result<Option<u64>, LineError> {
    if text == b"-" {
        return Ok(None);
    }
    decimal(text).map(Some).ok_or(LineError::Size)
}

/// Takes the escapes of a log out of `text` and appends the plain bytes to `plain`: `\"`, `\\`, `\/`, `\n`, `\t`, `\r`,
/// `\b`, `\f`, `\v`, `\xHH` (Apache, nginx) and `\uHHHH` (JSON, also in pairs). A backslash before anything else stands
/// for itself.
pub fn unescape(text: &[u8], plain: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        plain.extend_from_slice(&rest[..at]);
        rest = escape(&rest[at..], plain);
    }
    plain.extend_from_slice(rest);
}

/// One escape at the start of `rest`; returns the text behind it.
fn escape<'a>(rest: &'a [u8], plain: &mut Vec<u8>) -> &'a [u8] {
    let simple = match rest.get(1) {
        Some(&b @ (b'"' | b'\\' | b'/')) => Some(b),
        Some(b'n') => Some(b'\n'),
        Some(b't') => Some(b'\t'),
        Some(b'r') => Some(b'\r'),
        Some(b'b') => Some(0x08),
        Some(b'f') => Some(0x0c),
        Some(b'v') => Some(0x0b),
        _ => None,
    };
    if let Some(byte) = simple {
        plain.push(byte);
        return &rest[2..];
    }
    if let (Some(b'x'), Some(value)) = (rest.get(1), hex(rest, 2, 2)) {
        plain.push(value as u8);
        return &rest[4..];
    }
    if let Some((letter, used)) = unicode(rest) {
        plain.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        return &rest[used..];
    }
    plain.push(b'\\');
    &rest[1..]
}

/// `\uHHHH`, or two of them that make one letter outside the basic plane; and its length.
fn unicode(rest: &[u8]) -> Option<(char, usize)> {
    let high = (rest.get(1) == Some(&b'u')).then(|| hex(rest, 2, 4))??;
    if !(0xD800..0xDC00).contains(&high) {
        return Some((char::from_u32(high)?, 6));
    }
    let low = (rest.get(6..8) == Some(b"\\u")).then(|| hex(rest, 8, 4))??;
    let low = low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
    Some((char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + low)?, 12))
}

fn hex(rest: &[u8], start: usize, digits: usize) -> Option<u32> {
    let text = rest.get(start..start + digits)?;
    text.iter().try_fold(0, |value, &b| Some(value * 16 + char::from(b).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        unescape(text, &mut plain);
        plain
    }

    #[test]
    fn escapes_of_apache_nginx_and_json() {
        assert_eq!(plain(br#"/a\"b\\c\x22\xfF\n"#), b"/a\"b\\c\"\xff\n");
        assert_eq!(plain(br"/\u0041\u00e9\ud83d\ude00\/"), "/A\u{e9}\u{1f600}/".as_bytes());
        assert_eq!(plain(br"\q\x4\u12\ud83d\u0041\"), b"\\q\\x4\\u12\\ud83dA\\");
    }

    #[test]
    fn a_quote_ends_a_field_unless_it_is_escaped() {
        let field = quoted(br#"a\"b\\" rest"#).unwrap();
        assert_eq!((field.text, field.escaped, field.rest), (&br#"a\"b\\"#[..], true, &b" rest"[..]));
        assert_eq!(quoted(br#"a\""#).err(), Some(LineError::OpenQuote));
        assert_eq!(quoted(br"a\").err(), Some(LineError::OpenQuote));
    }

    #[test]
    fn request_lines_and_what_is_none() {
        assert_eq!(request_line(b"GET /a HTTP/1.1"), (&b"GET"[..], &b"/a"[..]));
        assert_eq!(request_line(b"GET /a b HTTP/1.1"), (&b"GET"[..], &b"/a b"[..]));
        assert_eq!(request_line(b"GET /a"), (&b"GET"[..], &b"/a"[..]));
        for junk in [&b"-"[..], b"\x16\x03\x01 \x02", b"GET ", b"", b"{} {}"] {
            assert_eq!(request_line(junk), (&b""[..], junk));
        }
    }
}
