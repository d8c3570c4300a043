//! Request for an object of the world, in the few bytes that have to be kept while its reply waits.
//!
//! Hot, reads untrusted input: no allocation. Owns conditions (RFC 9110 section 13). They are decided when the reply is
//! made and not when the request came, so that a reply is true at its own date.

use crate::range::{Part, Range};
use crate::way::Way;
use bakeoff_content::world::{ObjectName, Version};
use bakeoff_wire::digits::parse_hex16;
use bakeoff_wire::http1::{RequestHead, ServerMethod, fields, items, parse_http_date};
use bakeoff_wire::stamp::{Upload, Words};

/// Most entity tags of a request that are looked at; caches send one for each variant that they hold.
const TAGS: usize = 4;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) name: ObjectName,
    pub(crate) method: ServerMethod,
    /// The stamp, 0 without one.
    pub(crate) ask: u64,
    /// Whether the reply may be in gzip. Not where a range was named: ranges of coded bytes are not sent.
    pub(crate) takes_gzip: bool,
    /// Of a POST, its body as far as it has come.
    pub(crate) upload: Option<Upload>,
    /// Traces of the way that it came.
    pub(crate) way: Way,
    condition: Condition,
    /// `If-Match`
    demand: Option<Condition>,
    range: Option<(Range, Guard)>,
}

/// The kind of reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// 200
    Whole,
    /// 206: `start..end`.
    Part(u64, u64),
    /// 304
    NotModified,
    /// 405
    NotAllowed,
    /// 412
    Failed,
    /// 416
    NotSatisfiable,
}

/// The condition for a 304.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Never,
    /// `If-Modified-Since`, seconds since 1970.
    Since(u64),
    /// `If-None-Match`, beside which a date counts for nothing.
    NoneOf([Option<u64>; TAGS]),
    /// `*`
    Any,
}

/// The condition for a range: `If-Range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    Always,
    Tag(u64),
    Date(u64),
    /// It names a version that this origin never had.
    Never,
}

impl Request {
    /// The request for `name` with this head, in stamps of these words; `host` is the origin's own name, if that is known.
    pub(crate) fn new(name: ObjectName, head: &RequestHead<'_>, words: &Words, host: Option<&[u8]>) -> Self {
        let condition = match (head.if_none_match, head.if_modified_since.and_then(parse_http_date)) {
            (Some(tags), _) => tags_of(tags),
            (None, Some(since)) => Condition::Since(since),
            (None, None) => Condition::Never,
        };
        let demand = head.if_match.map(tags_of);
        let range = head.range.and_then(Range::parse).map(|range| (range, Guard::parse(head.if_range)));
        let (mut ask, mut hop_passed) = (None, false);
        for (name, value) in fields(head.text) {
            if name.eq_ignore_ascii_case(words.field.as_bytes()) {
                ask = words.parse_ask(value);
            }
            hop_passed |= name.eq_ignore_ascii_case(words.hop.as_bytes());
        }
        let takes_gzip = head.accept_encoding.gzip() && head.range.is_none();
        let other_host = host.is_some_and(|host| head.host != Some(host));
        let way = Way { via: head.via, hop_passed, other_host };
        let upload = (head.method == ServerMethod::Post).then(Upload::default);
        Self {
            name,
            method: head.method,
            ask: ask.unwrap_or(0),
            takes_gzip,
            upload,
            way,
            condition,
            demand,
            range,
        }
    }

    /// Whether the method lets a cache keep the reply.
    pub(crate) fn is_safe(&self) -> bool {
        matches!(self.method, ServerMethod::Get | ServerMethod::Head)
    }

    /// Whether it is a POST.
    pub(crate) fn is_post(&self) -> bool {
        self.method == ServerMethod::Post
    }

    /// Whether the reply has a body.
    pub(crate) fn wants_body(&self) -> bool {
        matches!(self.method, ServerMethod::Get | ServerMethod::Post | ServerMethod::Put)
    }

    /// The kind of reply when the object of `length` bytes has this version.
    pub(crate) fn decide(&self, version: &Version, length: u64) -> Verdict {
        match self.method {
            ServerMethod::Other => Verdict::NotAllowed,
            ServerMethod::Post | ServerMethod::Put => Verdict::Whole,
            _ if self.demand.is_some_and(|demand| !demand.holds(version)) => Verdict::Failed,
            ServerMethod::Get | ServerMethod::Head if self.condition.holds(version) => Verdict::NotModified,
            ServerMethod::Head => Verdict::Whole,
            ServerMethod::Get => match self.range.filter(|(_, guard)| guard.holds(version)) {
                None => Verdict::Whole,
                Some((range, _)) => match range.of(length) {
                    Part::Bytes(start, end) => Verdict::Part(start, end),
                    Part::Nothing => Verdict::NotSatisfiable,
                },
            },
        }
    }
}

impl Condition {
    fn holds(&self, version: &Version) -> bool {
        match self {
            Self::Never => false,
            Self::Any => true,
            Self::Since(since) => version.last_modified.is_some_and(|modified| modified <= *since),
            Self::NoneOf(tags) => tags.contains(&Some(version.etag)),
        }
    }
}

impl Guard {
    fn parse(value: Option<&[u8]>) -> Self {
        let Some(value) = value.map(<[u8]>::trim_ascii) else { return Self::Always };
        match (tag(value), parse_http_date(value)) {
            (Some(tag), _) => Self::Tag(tag),
            (None, Some(date)) => Self::Date(date),
            (None, None) => Self::Never,
        }
    }

    fn holds(self, version: &Version) -> bool {
        match self {
            Self::Always => true,
            Self::Tag(tag) => tag == version.etag,
            Self::Date(date) => version.last_modified == Some(date),
            Self::Never => false,
        }
    }
}

/// The tags of an `If-None-Match` or `If-Match`. They are compared weakly, as if our weak ones were strong, and those
/// that this origin does not write match nothing.
fn tags_of(value: &[u8]) -> Condition {
    if value.trim_ascii() == b"*" {
        return Condition::Any;
    }
    let mut found = items(value).filter_map(|item| tag(item.strip_prefix(b"W/").unwrap_or(item)));
    Condition::NoneOf([(); TAGS].map(|()| found.next()))
}

/// The number of an entity tag as this origin writes them: `"<16 hex>"`.
fn tag(item: &[u8]) -> Option<u64> {
    parse_hex16(item.strip_prefix(b"\"")?.strip_suffix(b"\"")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_wire::http1::RequestReader;

    const MODIFIED: u64 = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT

    fn verdict(method: &str, lines: &str) -> Verdict {
        let text = format!("{method} / HTTP/1.1\r\n{lines}\r\n");
        let head = RequestReader::head(text.as_bytes()).unwrap().unwrap();
        let name = ObjectName { world: 1, server: 0, kind: 0, number: 1 };
        let version = Version {
            number: 3,
            last_modified: Some(MODIFIED),
            expires: None,
            next_change: u64::MAX,
            etag: 0xabc,
        };
        Request::new(name, &head, &Words::default(), None).decide(&version, 100)
    }

    #[test]
    fn conditions() {
        for (lines, expected) in [
            ("", Verdict::Whole),
            ("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Verdict::NotModified),
            ("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", Verdict::Whole),
            ("If-Modified-Since: yesterday\r\n", Verdict::Whole),
            ("If-None-Match: \"0000000000000abc\"\r\n", Verdict::NotModified),
            ("If-None-Match: \"x\", W/\"0000000000000ABC\"\r\n", Verdict::NotModified),
            ("If-None-Match: *\r\n", Verdict::NotModified),
            ("If-None-Match: \"0000000000000abd\"\r\n", Verdict::Whole),
            // The date counts for nothing beside tags.
            ("If-None-Match: \"0\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Verdict::Whole),
        ] {
            assert_eq!(verdict("GET", lines), expected, "{lines}");
            assert_eq!(verdict("HEAD", lines), expected, "{lines}");
            assert_eq!(verdict("POST", lines), Verdict::Whole, "{lines}");
            assert_eq!(verdict("DELETE", lines), Verdict::NotAllowed, "{lines}");
        }
    }

    #[test]
    fn ranges_count_for_get_alone_and_only_while_the_object_is_the_same() {
        for (lines, expected) in [
            ("Range: bytes=5-9\r\n", Verdict::Part(5, 10)),
            ("Range: bytes=100-\r\n", Verdict::NotSatisfiable),
            ("Range: bytes=5-9\r\nIf-Range: \"0000000000000abc\"\r\n", Verdict::Part(5, 10)),
            ("Range: bytes=5-9\r\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Verdict::Part(5, 10)),
            ("Range: bytes=5-9\r\nIf-Range: Sun, 06 Nov 1994 08:49:38 GMT\r\n", Verdict::Whole),
            ("Range: bytes=5-9\r\nIf-Range: W/\"0000000000000abc\"\r\n", Verdict::Whole),
            ("Range: bytes=500-\r\nIf-Range: \"0\"\r\n", Verdict::Whole),
        ] {
            assert_eq!(verdict("GET", lines), expected, "{lines}");
            assert_eq!(verdict("HEAD", lines), Verdict::Whole, "{lines}");
        }
        let both = "Range: bytes=5-9\r\nIf-None-Match: *\r\n";
        assert_eq!(verdict("GET", both), Verdict::NotModified);
        for (lines, expected) in [
            ("If-Match: \"0000000000000abc\"\r\n", Verdict::Whole),
            ("If-Match: *\r\nRange: bytes=5-9\r\n", Verdict::Part(5, 10)),
            ("If-Match: \"0000000000000abd\"\r\nIf-None-Match: \"0000000000000abc\"\r\n", Verdict::Failed),
        ] {
            assert_eq!(verdict("GET", lines), expected, "{lines}");
        }
    }
}
