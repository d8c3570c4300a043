//! Parser for the header fields that the judge needs, in one pass over the lines of a reply's head.
//!
//! Measuring side, hot, reads untrusted input: no allocation, no panic, nothing refused. A malformed line is passed
//! over; an unreadable value counts as absent or as unreadable, as its field says.

use super::claim::CacheClaim;
use super::value::{count, parameter, split};
use bakeoff_wire::http1::{self, ContentCoding, items, parse_http_date};
use bakeoff_wire::stamp::{OriginAction, ReplyStamp, Words};

/// A moment in a header field. Parsed on demand: most are not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderTime<'a>(Option<&'a [u8]>);

impl<'a> HeaderTime<'a> {
    /// Takes a line's value in. Returns whether there was one before.
    fn take(&mut self, value: &'a [u8]) -> bool {
        self.0.replace(value).is_some()
    }

    /// Whether the field is there, whatever its value; `Expires: 0` is common.
    pub const fn is_there(self) -> bool {
        self.0.is_some()
    }

    /// Seconds since 1970, where it is a date.
    pub fn at(self) -> Option<u64> {
        self.0.and_then(parse_http_date)
    }
}

/// The directives of Cache-Control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheControl {
    /// `public`
    pub public: bool,
    /// `private`, of the whole reply or of some fields
    pub private: bool,
    /// `no-cache`
    pub no_cache: bool,
    /// `no-store`
    pub no_store: bool,
    /// `max-age` in seconds.
    pub max_age: Option<u64>,
    /// Whether `max-age` came again with another value, of which recipients may take either.
    pub contradicts: bool,
    /// Any other directive, none of which our origin sends.
    pub other: bool,
    /// Whether there is such a field at all.
    pub is_there: bool,
}

impl CacheControl {
    /// Whether a shared cache must not give the reply to another client without asking.
    pub const fn forbids(self) -> bool {
        self.private || self.no_cache || self.no_store
    }

    fn read(&mut self, value: &[u8]) {
        self.is_there = true;
        for item in items(value) {
            let (name, argument) = parameter(item);
            if name.eq_ignore_ascii_case(b"public") {
                self.public = true;
            } else if name.eq_ignore_ascii_case(b"private") {
                self.private = true;
            } else if name.eq_ignore_ascii_case(b"no-cache") {
                self.no_cache = true;
            } else if name.eq_ignore_ascii_case(b"no-store") {
                self.no_store = true;
            } else if name.eq_ignore_ascii_case(b"max-age") {
                let said = count(argument);
                self.contradicts |= self.max_age.is_some() && self.max_age != said;
                self.max_age = said;
            } else {
                self.other = true;
            }
        }
    }
}

/// `Content-Range: bytes FIRST-LAST/WHOLE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// First byte.
    pub first: u64,
    /// Last byte.
    pub last: u64,
    /// Length of the whole, where it says so.
    pub whole: Option<u64>,
}

impl ContentRange {
    fn read(value: &[u8]) -> Option<Self> {
        let rest = value.strip_prefix(b"bytes")?.trim_ascii_start();
        let (range, whole) = split(rest, b'/')?;
        let (first, last) = split(range, b'-')?;
        Some(Self { first: count(first)?, last: count(last)?, whole: count(whole) })
    }
}

/// The fields of a head that the judge needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The stamp. Where a cache kept several: the first that says `made` for this request, then `valid` for it, then
    /// the first.
    pub stamp: Option<ReplyStamp<'a>>,
    /// `Date`
    pub date: HeaderTime<'a>,
    /// `Last-Modified`
    pub last_modified: HeaderTime<'a>,
    /// `Expires`
    pub expires: HeaderTime<'a>,
    /// `ETag`; empty where there is none.
    pub etag: &'a [u8],
    /// `Content-Type`; empty where there is none.
    pub media_type: &'a [u8],
    /// Whether `Vary` names Accept-Encoding.
    pub varies: bool,
    /// Whether `Vary` names anything else.
    pub varies_more: bool,
    /// Whether a field of which a message has one at most came again.
    pub doubled: bool,
    /// Whether there is a field that neither our origin sends nor a proxy is known to add.
    pub unknown: bool,
    /// Whether there is a field of the family of Cache-Control that is meant for some caches alone.
    pub targeted: bool,
    /// Whether there is a `Set-Cookie`.
    pub cookie: bool,
    /// `Cache-Control`, all lines together.
    pub cache_control: CacheControl,
    /// `Content-Encoding`, all lines together.
    pub coding: ContentCoding,
    /// `Content-Range`
    pub content_range: Option<ContentRange>,
    /// `Age` in seconds.
    pub age: Option<u64>,
    /// Entries in all `Via` lines.
    pub via: u32,
    /// The statement of `Cache-Status`, or else of `X-Cache`, on a hit.
    pub claim: CacheClaim,
}

impl<'a> Fields<'a> {
    /// Reads a head with its first line, for the request with the stamp `ask`.
    pub fn read(head: &'a [u8], ask: u64, words: &Words) -> Self {
        let mut fields = Self::default();
        let mut x_cache = CacheClaim::Nothing;
        for (name, value) in http1::fields(head) {
            if name.eq_ignore_ascii_case(words.field.as_bytes()) {
                take_stamp(&mut fields.stamp, value, ask, words);
            } else {
                fields.take(name, value, &mut x_cache);
            }
        }
        fields.claim = fields.claim.or(x_cache); // the standard field knows best
        fields
    }

    fn take(&mut self, name: &[u8], value: &'a [u8], x_cache: &mut CacheClaim) {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match name.len() {
            0 => {} // no field
            3 if is("age") => {
                self.doubled |= self.age.is_some();
                self.age = count(value).or(self.age);
            }
            3 if is("via") => self.via = self.via.saturating_add(items(value).count() as u32),
            4 if is("date") => self.doubled |= self.date.take(value),
            4 if is("etag") => {
                self.doubled |= !self.etag.is_empty();
                self.etag = value;
            }
            4 if is("vary") => self.take_vary(value),
            7 if is("expires") => self.doubled |= self.expires.take(value),
            7 if is("x-cache") => *x_cache = x_cache.or(CacheClaim::of_x_cache(value)),
            10 if is("set-cookie") => self.cookie = true,
            12 if is("content-type") => {
                self.doubled |= !self.media_type.is_empty();
                self.media_type = value;
            }
            12 if is("cache-status") => self.claim = self.claim.or(CacheClaim::of_cache_status(value)),
            13 if is("last-modified") => self.doubled |= self.last_modified.take(value),
            13 if is("cache-control") => self.cache_control.read(value),
            16 if is("content-encoding") => self.coding.read(value),
            13 if is("content-range") => {
                self.doubled |= self.content_range.is_some();
                self.content_range = ContentRange::read(value);
            }
            17 if is("cdn-cache-control") || is("surrogate-control") => self.targeted = true,
            _ => self.unknown |= !KNOWN_FIELDS.iter().any(|known| is(known)),
        }
    }

    fn take_vary(&mut self, value: &[u8]) {
        for name in items(value) {
            let is_coding = name.eq_ignore_ascii_case(b"accept-encoding");
            self.varies |= is_coding || name == b"*";
            self.varies_more |= !is_coding;
        }
    }
}

/// The stamp of a head, as [`Fields::read`] has it, and nothing else of it.
pub fn stamp_of<'a>(head: &'a [u8], ask: u64, words: &Words) -> Option<ReplyStamp<'a>> {
    let mut stamp = None;
    for (name, value) in http1::fields(head) {
        if name.eq_ignore_ascii_case(words.field.as_bytes()) {
            take_stamp(&mut stamp, value, ask, words);
        }
    }
    stamp
}

fn take_stamp<'a>(stamp: &mut Option<ReplyStamp<'a>>, value: &'a [u8], ask: u64, words: &Words) {
    let Some(next) = ReplyStamp::parse(words, value) else { return };
    let nearness = |stamp: &ReplyStamp<'_>| match stamp.told {
        OriginAction::Made(made) if made == ask => 2,
        OriginAction::Valid(valid) if valid == ask => 1,
        _ => 0,
    };
    if stamp.is_none_or(|known| nearness(&next) > nearness(&known)) {
        *stamp = Some(next);
    }
}

/// Fields that nothing is read of, and that our origin sends or a proxy may add: of the connection, on itself, on the
/// way.
const KNOWN_FIELDS: [&str; 24] = [
    "server",
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "content-length",
    "accept-ranges",
    "trailer",
    "te",
    "upgrade",
    "allow",
    "warning",
    "alt-svc",
    "proxy-status",
    "proxy-authenticate",
    "strict-transport-security",
    "x-varnish",
    "x-cache-lookup",
    "x-cache-status",
    "x-cache-hits",
    "x-cache-key",
    "x-served-by",
    "x-timer",
    "x-squid-error",
];

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::SplitMix64;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nAGE: 12\r\n\
        Expires: Sun, 06 Nov 1994 08:49:39 GMT\r\nLast-Modified: 0\r\nEtag: W/\"a\"\r\n\
        Cache-Control: public, max-age=30\r\nCache-Control: S-MaxAge=\"40\" , private=\"x\"\r\n\
        Content-Range: bytes 2-5/10\r\nContent-encoding: GZIP\r\nVia: 1.1 a, 1.0 b\r\nVia: 1.1 c\r\n\
        Vary: origin, Accept-encoding\r\nset-cookie: a=b\r\nContent-type: Text/plain\r\n\
        X-Cache: HIT\r\nCache-Status: a; fwd=miss\r\n\
        X-Bakeoff: made=00000000000000fe; object=w1; version=3\r\nno line\r\n\r\n";

    #[test]
    fn every_field_is_read_in_any_case() {
        let fields = Fields::read(HEAD, 1, &Words::default());
        assert_eq!(fields.date.at(), Some(784_111_777));
        assert_eq!((fields.expires.at(), fields.last_modified.at()), (Some(784_111_779), None));
        assert!(fields.last_modified.is_there());
        assert_eq!((fields.age, fields.via, fields.etag), (Some(12), 3, &b"W/\"a\""[..]));
        let control = fields.cache_control;
        assert!(control.public && control.private && !control.no_store);
        assert_eq!((control.max_age, fields.media_type), (Some(30), &b"Text/plain"[..]));
        assert!(fields.varies && fields.varies_more && fields.cookie);
        assert!(
            control.other && !control.contradicts && !fields.doubled && !fields.unknown && !fields.targeted
        );
        assert_eq!(fields.content_range, Some(ContentRange { first: 2, last: 5, whole: Some(10) }));
        assert_eq!(
            fields.stamp.map(|stamp| (stamp.told, stamp.version)),
            Some((OriginAction::Made(0xfe), 3))
        );
        assert_eq!((fields.claim, fields.coding), (CacheClaim::Miss, ContentCoding::Gzip));
    }

    #[test]
    fn of_several_stamps_the_one_for_this_request_counts() {
        let head = b"HTTP/1.1 200 OK\nX-Bakeoff: made=0000000000000001; object=a; version=1\n\
            x-bakeoff: valid=0000000000000002; object=a; version=1\n\
            x-bakeoff: made=0000000000000003; object=a; version=1\n";
        let words = Words::default();
        let told = |ask| {
            let stamp = stamp_of(head, ask, &words);
            assert_eq!(Fields::read(head, ask, &words).stamp, stamp);
            stamp.map(|stamp| stamp.told)
        };
        assert_eq!(told(2), Some(OriginAction::Valid(2)));
        assert_eq!(told(3), Some(OriginAction::Made(3)));
        assert_eq!(told(9), Some(OriginAction::Made(1)));
    }

    #[test]
    fn what_comes_twice_and_what_nobody_knows_is_seen() {
        let has = |lines: &str, seen: fn(&Fields<'_>) -> bool| {
            seen(&Fields::read(
                format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n").as_bytes(),
                1,
                &Words::default(),
            ))
        };
        for line in ["ETag: \"a\"", "Date: x", "Content-Type: a/b", "Expires: 0", "Last-Modified: 0"] {
            assert!(!has(line, |fields| fields.doubled), "{line}");
            assert!(has(&format!("{line}\r\n{line}"), |fields| fields.doubled), "{line}");
        }
        let two = |second: &str| format!("Cache-Control: max-age=9\r\nCache-Control: {second}");
        assert!(has(&two("max-age=8"), |fields| fields.cache_control.contradicts));
        assert!(!has(&two("max-age=9"), |fields| fields.cache_control.contradicts));
        assert!(has("Cache-Control: public, stale-if-error=9", |fields| fields.cache_control.other));
        assert!(!has("Cache-Control: public, no-store", |fields| fields.cache_control.other));
        assert!(has("Surrogate-Control: a", |fields| fields.targeted));
        assert!(has("CDN-Cache-Control: a", |fields| fields.targeted));
        assert!(has("X-Client: 127.0.0.1", |fields| fields.unknown));
        assert!(!has("server: a\r\nKeep-Alive: b", |fields| fields.unknown));
    }

    #[test]
    fn what_is_no_head_is_read_as_nothing() {
        for nothing in [&b""[..], b"\n", b"\n:\n::\n=", b"x\nDate\nAge: \nAge: -1\nX-Bakeoff: made\nAge: 5"] {
            assert_eq!(Fields::read(nothing, 1, &Words::default()), Fields::default());
        }
        let date = Fields::read(b"\nDate: soon\nExpires:\n", 1, &Words::default());
        assert!(date.date.is_there() && date.expires.is_there() && !date.last_modified.is_there());
        assert_eq!((date.date.at(), date.expires.at()), (None, None));
    }

    /// No input may make it panic: a right head, with bytes changed, cut and doubled.
    #[test]
    fn broken_heads_do_no_harm() {
        let mut random = SplitMix64::new(7);
        let mut draw = |below: usize| (random.next_u64() % below as u64) as usize;
        for _ in 0..20_000 {
            let mut head = HEAD.to_vec();
            for _ in 0..draw(12) {
                let (place, byte) = (draw(head.len()), b",;:=\"/-\n\r 09a\0\xff"[draw(15)]);
                head[place] = byte;
            }
            head.truncate(draw(head.len() + 1));
            let _ = Fields::read(&head, draw(3) as u64, &Words::default());
        }
    }
}
