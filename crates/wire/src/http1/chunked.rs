//! The chunked transfer coding (RFC 9112 section 7.1), byte by byte so that any split works.

use super::RequestError;

/// Longest chunk-size line with its extensions, and longest trailer section, in bytes.
const MAX_LINE_BYTES: u32 = 16 * 1024;

/// Position of the next byte in the coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Size { digits: u8 },
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
}

/// Decoder state of one body.
#[derive(Clone, Debug)]
pub(super) struct Chunked {
    at: At,
    left: u64,
    line_bytes: u32,
}

/// A chunked body that is skipped, of which the end has to be found.
#[derive(Clone, Debug)]
pub struct UnreadChunks(Chunked);

impl UnreadChunks {
    /// From the body's first byte on.
    pub const fn new() -> Self {
        Self(Chunked::new())
    }

    /// Number of these bytes that belong to the body, and whether it ends with them; `content` gets its bytes without the
    /// framing.
    ///
    /// # Errors
    ///
    /// When they are no chunked coding.
    pub fn pass_over(
        &mut self,
        bytes: &[u8],
        content: impl FnMut(&[u8]),
    ) -> Result<(usize, bool), RequestError> {
        self.0.pass_over(bytes, content).ok_or(RequestError::Bad)
    }
}

impl Default for UnreadChunks {
    fn default() -> Self {
        Self::new()
    }
}

/// The item at the start of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A number of bytes of framing.
    Framing(usize),
    /// A number of bytes of body.
    Body(usize),
    /// A number of bytes, behind which the coding ends.
    End(usize),
    /// No chunked coding.
    Broken,
}

impl Chunked {
    pub(super) const fn new() -> Self {
        Self { at: At::Size { digits: 0 }, left: 0, line_bytes: 0 }
    }

    /// Looks at a non-empty input.
    pub(super) fn next(&mut self, input: &[u8]) -> Found {
        if self.at == At::Data && self.left > 0 {
            let n = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
            self.left -= n as u64;
            return Found::Body(n);
        }
        for (index, &byte) in input.iter().enumerate() {
            match self.step(byte) {
                Some(At::Data) if self.left > 0 => return Found::Framing(index + 1),
                Some(At::EndLf) if byte == b'\n' => return Found::End(index + 1),
                Some(_) => {}
                None => return Found::Broken,
            }
        }
        Found::Framing(input.len())
    }

    /// Takes one byte of framing; the new place, `EndLf` again after the last byte.
    fn step(&mut self, byte: u8) -> Option<At> {
        self.line_bytes += 1;
        if self.line_bytes > MAX_LINE_BYTES {
            return None;
        }
        if self.at == At::Data {
            self.at = At::DataCr; // all data seen
        }
        self.at = match (self.at, byte) {
            (At::Size { digits }, _) if byte.is_ascii_hexdigit() => self.digit(digits, byte)?,
            (At::Size { digits: 1.. }, b';' | b' ' | b'\t') => At::Extension,
            (At::Size { digits: 1.. } | At::Extension, b'\r') => At::SizeLf,
            (At::Extension, 0x20..=0x7e | 0x80..=0xff | b'\t') => At::Extension,
            (At::SizeLf, b'\n') => self.end_of_line(if self.left == 0 { At::TrailerStart } else { At::Data }),
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => self.end_of_line(At::Size { digits: 0 }),
            (At::TrailerStart, b'\r') => At::EndLf,
            (At::TrailerStart | At::Trailer, 0x20..=0x7e | 0x80..=0xff | b'\t') => At::Trailer,
            (At::Trailer, b'\r') => At::TrailerLf,
            (At::TrailerLf, b'\n') => At::TrailerStart,
            (At::EndLf, b'\n') => At::EndLf,
            _ => return None,
        };
        Some(self.at)
    }

    fn digit(&mut self, digits: u8, byte: u8) -> Option<At> {
        let value = (byte as char).to_digit(16)?;
        self.left = if digits == 0 { 0 } else { self.left };
        self.left = self.left.checked_mul(16)?.checked_add(u64::from(value))?;
        Some(At::Size { digits: digits.checked_add(1)? })
    }

    /// Number of `bytes` that belong to the body, and whether it ends with them; `None` when they are no chunked
    /// coding.
    fn pass_over(&mut self, bytes: &[u8], mut content: impl FnMut(&[u8])) -> Option<(usize, bool)> {
        let mut used = 0;
        while used < bytes.len() {
            match self.next(&bytes[used..]) {
                Found::Framing(n) => used += n,
                Found::Body(n) => {
                    content(&bytes[used..used + n]);
                    used += n;
                }
                Found::End(n) => return Some((used + n, true)),
                Found::Broken => return None,
            }
        }
        Some((used, false))
    }

    const fn end_of_line(&mut self, next: At) -> At {
        self.line_bytes = 0;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_nobody_reads_ends_where_its_coding_ends_in_any_pieces() {
        let body = b"3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n";
        let all = [body, &b"GET / HTTP/1.1\r\n"[..]].concat();
        let passed = |chunks: &mut UnreadChunks, bytes: &[u8]| {
            let mut content = Vec::new();
            let passed = chunks.pass_over(bytes, |more| content.extend_from_slice(more));
            passed.map(|(bytes, is_over)| (bytes, is_over, content))
        };
        let whole = b"abc0123456789";
        assert_eq!(passed(&mut UnreadChunks::new(), &all), Ok((body.len(), true, whole.to_vec())));
        for split in 0..body.len() {
            let mut chunks = UnreadChunks::new();
            let (first, is_over, begin) = passed(&mut chunks, &all[..split]).unwrap();
            assert_eq!((first, is_over), (split, false));
            let (rest, is_over, end) = passed(&mut chunks, &all[split..]).unwrap();
            assert_eq!((rest, is_over), (body.len() - split, true), "{split}");
            assert_eq!([begin, end].concat(), whole, "{split}");
        }
        for wrong in [b"3\r\nabcd\r\n".as_slice(), b"xyz\r\n"] {
            assert_eq!(passed(&mut UnreadChunks::new(), wrong), Err(RequestError::Bad));
        }
    }
}
