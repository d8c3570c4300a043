//! HTTP/1.1 (RFC 9112): bytes to messages and back, for client and server, without I/O.
//!
//! Both sides of the wall. Hot, reads untrusted input: nothing here panics, allocates without a bound or trusts a
//! length. Owns framing; knows nothing of sockets, workloads or whether a status is welcome.

mod chunked;
mod coding;
mod date;
mod head;
mod reply;
mod request;
mod scan;

use crate::digits::decimal;
pub use chunked::UnreadChunks;
pub use coding::{AcceptEncoding, ContentCoding};
pub use date::{http_date, http_date_bytes, parse_http_date};
pub use head::{Framing, HttpVersion, ReplyError};
pub use reply::{ReplyHead, ReplyReader, ReplyStep};
pub use request::{RequestError, RequestHead, RequestReader, ServerMethod};

/// Longest head (start line and header section) that is read, in bytes.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Most header lines that are read.
pub const MAX_HEADERS: usize = 128;

/// The items of a comma-separated header value that are not empty (RFC 9110 section 5.6.1.2).
pub fn items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|item| !item.is_empty())
}

/// Name and value of each field of a head with its first line. Nothing is refused: a line without a colon is passed over,
/// and text without an end is no line.
pub fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut next = None;
    memchr::memchr_iter(b'\n', head).filter_map(move |end| {
        let line = head.get(next.replace(end + 1)?..end)?; // the first has no name
        let (name, value) = line.split_at_checked(memchr::memchr(b':', line)?)?;
        Some((name, value.get(1..)?.trim_ascii()))
    })
}

/// Whether a comma-separated header value holds this token, in any case.
fn has_token(value: &[u8], token: &[u8]) -> bool {
    items(value).any(|item| item.eq_ignore_ascii_case(token))
}

/// A `Content-Length` value: digits alone, or a list of equal numbers (RFC 9110 section 8.6).
pub(crate) fn content_length(value: &[u8]) -> Option<u64> {
    // Nearly always it is one number.
    if let Some(number) = decimal(value.strip_prefix(b" ").unwrap_or(value)) {
        return Some(number);
    }
    let mut numbers = value.split(|&byte| byte == b',').map(|item| decimal(item.trim_ascii()));
    let first = numbers.next()??;
    numbers.all(|number| number == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_digits_alone() {
        assert_eq!(content_length(b"42"), Some(42));
        assert_eq!(content_length(b"42, 42"), Some(42));
        for wrong in ["", "+1", "-1", "1 2", "42, 43", "0x10", "99999999999999999999", "1,", " "] {
            assert_eq!(content_length(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn tokens_are_whole_and_caseless() {
        assert!(has_token(b"keep-alive, Close", b"close"));
        assert!(!has_token(b"closed", b"close"));
    }
}
