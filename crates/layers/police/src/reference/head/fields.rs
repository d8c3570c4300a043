//! Fields of a head, byte by byte: where they end, and what they say of a body and of another protocol.
//!
//! Measured side, pure, fed by strangers. The kernel reads the same in windows of [`READ`] bytes.

use crate::rules::table::READ;

/// Digits of a Content-Length: lengths stay below 2^30, as sequence numbers are compared within 2^31.
const DIGITS_MAX: usize = 9;
/// The longest name that says something of a body.
const LENGTH_NAME_MAX: usize = b"transfer-encoding".len();

/// A head that goes on in the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenHead {
    /// Its last byte.
    pub at: Broken,
    /// Whether it has asked for another protocol.
    pub upgrade: bool,
}

/// Place in a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Within a line.
    InLine,
    /// Behind the CR of a line.
    AfterCr,
    /// Behind a line's end.
    LineBegins,
    /// Behind the CR of the empty line.
    LineCr,
}

/// Body according to the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Unsaid,
    Length(u32),
    Unclear,
}

/// End of the fields.
pub(super) enum FieldsEnd {
    /// The offset behind the empty line.
    Whole(usize),
    /// The segment ends before.
    Broken(Broken),
    Odd,
}

/// Fields of a head that were read so far.
pub(super) struct Fields {
    at: usize,
    place: Broken,
    /// Beginning of the line, if it is in this segment.
    line: Option<usize>,
    /// The head began in another segment.
    pub(super) of_broken: bool,
    pub(super) body: Body,
    pub(super) upgrade: bool,
}

impl Fields {
    /// From the beginning of a line on.
    pub(super) const fn at(at: usize) -> Self {
        let (body, upgrade) = (Body::Unsaid, false);
        Self { at, place: Broken::LineBegins, line: Some(at), of_broken: false, body, upgrade }
    }

    /// From within a line on.
    pub(super) const fn within_a_line(at: usize) -> Self {
        Self { place: Broken::InLine, line: None, ..Self::at(at) }
    }

    /// From the beginning of the next segment on.
    pub(super) fn behind(broken: BrokenHead) -> Self {
        let line = (broken.at == Broken::LineBegins).then_some(0);
        Self { place: broken.at, line, of_broken: true, upgrade: broken.upgrade, ..Self::at(0) }
    }

    /// Reads a segment to the end of the fields or its own.
    pub(super) fn read(&mut self, payload: &[u8]) -> FieldsEnd {
        for (at, byte) in payload.iter().enumerate().skip(self.at) {
            self.place = match (self.place, byte) {
                (Broken::LineCr, b'\n') => return FieldsEnd::Whole(at + 1),
                (Broken::AfterCr, b'\n') => {
                    let line = self.line.and_then(|begin| payload.get(begin..at - 1));
                    if line.is_some_and(|line| !self.field(line)) {
                        return FieldsEnd::Odd;
                    }
                    self.line = Some(at + 1);
                    Broken::LineBegins
                }
                (Broken::AfterCr | Broken::LineCr, _) | (_, b'\n') => return FieldsEnd::Odd,
                (Broken::LineBegins, b'\r') => Broken::LineCr,
                (Broken::InLine, b'\r') => Broken::AfterCr,
                _ => Broken::InLine,
            };
        }
        if matches!(self.place, Broken::InLine | Broken::AfterCr) {
            self.broken_name(self.line.and_then(|begin| payload.get(begin..)).unwrap_or_default());
        }
        FieldsEnd::Broken(self.place)
    }

    /// Takes up a field; false if it is the fold of another.
    fn field(&mut self, line: &[u8]) -> bool {
        // One that is longer than all that is read at once has a name only.
        let is_read = line.len() + 2 <= READ;
        let begins =
            |name: &[u8]| line.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
        let name = b"content-length";
        if begins(b"transfer-encoding") {
            self.body = Body::Unclear;
        } else if begins(b"upgrade:") {
            self.upgrade = true;
        } else if begins(name) {
            let length = line.get(name.len()..).filter(|_| is_read).and_then(length);
            self.body = match (self.body, length) {
                (Body::Unsaid, Some(length)) => Body::Length(length),
                _ => Body::Unclear,
            };
        }
        !(is_read && (line.starts_with(b" ") || line.starts_with(b"\t")))
    }

    /// The begin of a field that the segment breaks off: its name may be that of a length.
    fn broken_name(&mut self, begin: &[u8]) {
        let lower: Vec<u8> = begin.iter().take(LENGTH_NAME_MAX).map(|byte| byte | 0x20).collect();
        let is_length = match lower.as_slice() {
            [] => false,
            _ if lower.len() < LENGTH_NAME_MAX => {
                let known = lower.get(..8).unwrap_or(&lower);
                [b"content-", b"transfer"].iter().any(|name| name.starts_with(known))
            }
            _ => lower.starts_with(b"content-length") || lower == b"transfer-encoding",
        };
        if is_length {
            self.body = Body::Unclear;
        }
        self.upgrade |= begin.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case(b"upgrade:"));
    }
}

/// The length behind the name.
fn length(value: &[u8]) -> Option<u32> {
    let value = std::str::from_utf8(value.strip_prefix(b":")?).ok()?.trim_matches([' ', '\t']);
    let digits = value.len() <= DIGITS_MAX && value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| digits)
}
