//! Exchange: one request and its reply, its times, and the comparison with what the workload knows to be right.
//!
//! Measuring side, hot. Knows no protocol and no connection; the reader of the reply feeds it.

mod coded;
mod request_text;

pub(crate) use request_text::RequestText;

use crate::flow::Turn;
use crate::job::BodyCheck;
use crate::refusals::Refusals;
use bakeoff_content::{Body, ObjectId};
use bakeoff_meter::{ErrorClass, Recorder, ReplyTimes};
use bakeoff_units::Nanos;
use bakeoff_wire::http1::{self, ContentCoding};
use bakeoff_workload::{Ask, Expect, Method, Statuses};
use coded::Coded;

/// Bytes of a body that [`BodyCheck::Start`] compares.
const START_BYTES: u64 = 64;
/// Bytes of a target that are shown to people.
const MOST_SHOWN: usize = 100;

/// A reply's head, in either protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) content_length: Option<u64>,
    /// The coding of the body.
    pub(crate) coding: ContentCoding,
    /// Whether the connection can carry another request.
    pub(crate) keep_alive: bool,
    /// Bytes of the head.
    pub(crate) bytes: u64,
}

impl From<http1::ReplyHead> for Head {
    fn from(head: http1::ReplyHead) -> Self {
        Self {
            status: head.status,
            content_length: head.content_length,
            coding: head.coding,
            keep_alive: head.keep_alive,
            bytes: head.head_bytes,
        }
    }
}

/// State of a request in flight.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Its place in the flow, which it gives back when it has ended.
    pub(crate) turn: Turn,
    /// The source's mark of it.
    pub(crate) ticket: u32,
    pub(crate) method: Method,
    pub(crate) words: RequestText,
    expect: Expect,
    pub(crate) due: Nanos,
    pub(crate) sent: Nanos,
    pub(crate) first_byte: Option<Nanos>,
    pub(crate) head: Option<Head>,
    body_seen: u64,
    wrong_body: bool,
    /// When it has failed for want of a reply.
    pub(crate) deadline: Nanos,
    /// It was sent before, on a connection that turned out to be closed.
    pub(crate) resent: bool,
    /// Parts that few requests have. Boxed, as an exchange is moved a lot.
    rare: Option<Box<Rare>>,
}

/// Parts that few requests have.
#[derive(Debug)]
struct Rare {
    /// [`Ask::body`].
    sends: Option<Body>,
    /// [`Ask::stop_after`]; the largest number where there is none.
    stop_after: u64,
    /// The body of its reply, where that comes in a coding.
    coded: Option<Coded>,
}

impl Default for Rare {
    fn default() -> Self {
        Self { sends: None, stop_after: u64::MAX, coded: None }
    }
}

impl Rare {
    fn of(ask: &Ask<'_>) -> Option<Box<Self>> {
        let is_there = ask.body.is_some() || ask.stop_after.is_some();
        let of_ask =
            || Self { sends: ask.body, stop_after: ask.stop_after.unwrap_or(u64::MAX), ..Self::default() };
        is_there.then(|| Box::new(of_ask()))
    }
}

impl Exchange {
    pub(crate) fn new(ask: &Ask<'_>, words: RequestText, turn: Turn, due: Nanos, deadline: Nanos) -> Self {
        Self {
            turn,
            ticket: ask.ticket,
            method: ask.method,
            words: words.of(ask),
            expect: ask.expect,
            due,
            sent: due,
            first_byte: None,
            head: None,
            body_seen: 0,
            wrong_body: false,
            deadline,
            resent: false,
            rare: Rare::of(ask),
        }
    }

    /// Whether it may be sent twice though the outcome of the first is unknown: a body might be taken twice.
    pub(crate) const fn is_repeatable(&self) -> bool {
        self.method.is_idempotent()
    }

    /// Makes ready to be sent once more.
    pub(crate) fn anew(mut self) -> Self {
        self.resent = true;
        self.words.forget_reply();
        (self.first_byte, self.head, self.body_seen, self.wrong_body) = (None, None, 0, false);
        if let Some(rare) = &mut self.rare {
            rare.coded = None;
        }
        self
    }

    /// Keeps bytes of an incomplete head.
    pub(crate) fn keep_part(&mut self, bytes: &[u8]) {
        self.words.keep(bytes);
    }

    /// Keeps the rest of a head that took so many bytes in all.
    pub(crate) fn keep_head(&mut self, rest: &[u8], head_bytes: u64) {
        self.words.keep(rest);
        self.words.keep_last(head_bytes as usize);
    }

    /// The head as it came, if all of it did and it was kept.
    pub(crate) fn kept_head(&self) -> &[u8] {
        if self.head.is_some() { self.words.reply_head() } else { &[] }
    }

    /// The body must have the bytes of this object, and not those that were expected.
    pub(crate) const fn expect_bytes_of(&mut self, id: ObjectId) {
        if let Some(body) = self.expect.object_mut() {
            *body = body.of(id);
        }
    }

    /// The body that is sent with it.
    pub(crate) fn sends(&self) -> Option<Body> {
        self.rare.as_ref().and_then(|rare| rare.sends)
    }

    /// Whether it is aborted here on purpose.
    pub(crate) fn is_enough(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| self.body_seen >= rare.stop_after)
    }

    /// Body bytes so far, as they came.
    pub(crate) const fn body_seen(&self) -> u64 {
        self.body_seen
    }

    /// Takes body bytes as they come.
    pub(crate) fn body(&mut self, bytes: &[u8], check: BodyCheck) {
        let offset = self.body_seen;
        self.body_seen += bytes.len() as u64;
        if self.wrong_body {
            return;
        }
        if self.is_coded() {
            return self.coded_body(bytes);
        }
        let looked_at = match check {
            BodyCheck::Full => bytes,
            BodyCheck::Start if offset >= START_BYTES => return,
            BodyCheck::Start => &bytes[..bytes.len().min((START_BYTES - offset) as usize)],
        };
        let Some((expected, from)) = self.expected() else { return };
        let offset = from + offset;
        // Longer than the object: its length is wrong, which `judge` sees.
        if offset + looked_at.len() as u64 <= expected.len() {
            self.wrong_body = !expected.matches(offset, looked_at);
        }
    }

    /// The body that must come with this status, and its first byte.
    fn expected(&self) -> Option<(Body, u64)> {
        match (self.expect, self.head?.status) {
            (Expect::Body(body) | Expect::BodyOrRedirect(body), 200) => Some((body, 0)),
            (Expect::Selected { body, .. }, 200) => Some((body, 0)),
            (Expect::FirstBytes { body, .. }, 206) => Some((body, 0)),
            (Expect::Selected { body, first, .. }, 206) => Some((body, first)),
            _ => None,
        }
    }

    fn is_coded(&self) -> bool {
        self.head.is_some_and(|head| head.coding != ContentCoding::Identity)
    }

    /// The same for a reply in a content coding, where the end says whether it is right: whatever the check, all of it
    /// is looked at. A part of coded bytes is no part of the object, and the contents of other codings are not known.
    #[cold]
    fn coded_body(&mut self, bytes: &[u8]) {
        let Some((expected, _)) = self.expected() else { return };
        let Some(Head { status: 200, coding, .. }) = self.head else {
            self.wrong_body = true;
            return;
        };
        let rare = self.rare.get_or_insert_default();
        if rare.coded.is_none() {
            rare.coded = Coded::new(coding, expected);
        }
        match &mut rare.coded {
            Some(coded) => coded.take(bytes),
            None => self.wrong_body = true,
        }
    }

    /// The same for a reply in a content coding that must hold the object. The length that HEAD tells is that of the
    /// coded form, which is not known.
    #[cold]
    fn judge_coded(&self) -> Result<(), ErrorClass> {
        if self.method == Method::Head {
            return Ok(());
        }
        // Without a byte there is not even the end of the coding.
        let coded = self.rare.as_ref().and_then(|rare| rare.coded.as_ref());
        coded.map_or(Err(ErrorClass::WrongBody), Coded::judge)
    }

    /// The status, where it is one that counts as refused. A planted violation is judged by its own rule, and a status
    /// that the workload knows to be right is no refusal.
    pub(crate) fn refused_with(&self, refusals: &Refusals) -> Option<u16> {
        if refusals.is_empty() || self.expect == Expect::Refusal {
            return None;
        }
        let is_right = |status: u16| self.expect == Expect::Status(status);
        self.head.map(|head| head.status).filter(|&status| refusals.has_status(status) && !is_right(status))
    }

    /// Request and reply, for people: `GET /a: 301 where 200 was expected`.
    #[cold]
    pub(crate) fn in_words(&self) -> String {
        let target = String::from_utf8_lossy(self.words.target());
        let shown: String = target.chars().take(MOST_SHOWN).collect();
        let asked = format!(
            "{} {shown}{}",
            self.method.as_str(),
            if shown.len() < target.len() { "..." } else { "" }
        );
        match (self.head.map(|head| head.status), self.expect.statuses()) {
            (Some(came), Some(right)) if !right.contains(&came) => {
                let right: Vec<String> = right.iter().map(u16::to_string).collect();
                format!("{asked}: {came} where {} was expected", right.join(" or "))
            }
            (Some(came), _) if self.head.is_some_and(|head| head.coding == ContentCoding::Other) => {
                format!("{asked}: {came} in a coding that is not unpacked here; gzip, br and zstd are")
            }
            (Some(came), _) => format!("{asked}: {came}"),
            (None, _) => asked,
        }
    }

    /// The reply is complete: counts it as good, or under the class of its fault, which is returned.
    pub(crate) fn finish(
        &self,
        done: Nanos,
        refused: &Statuses,
        recorder: &mut Recorder,
    ) -> Result<(), ErrorClass> {
        let Some(head) = self.head else {
            recorder.error(ErrorClass::Malformed);
            return Err(ErrorClass::Malformed);
        };
        if self.expect == Expect::Refusal {
            recorder.violation(head.status, head.bytes + self.body_seen, refused.contains(head.status));
            return Ok(());
        }
        let judged = self.judge(&head);
        match judged {
            Ok(()) => {
                let times = ReplyTimes {
                    due: self.due,
                    sent: self.sent,
                    first_byte: self.first_byte.unwrap_or(done),
                    done,
                };
                recorder.reply(head.status, head.bytes + self.body_seen, times);
            }
            Err(class) => {
                recorder.status(head.status);
                recorder.error(class);
                if refused.contains(head.status) {
                    recorder.false_alarm();
                }
            }
        }
        judged
    }

    fn judge(&self, head: &Head) -> Result<(), ErrorClass> {
        let status = head.status;
        if status >= 500 {
            return Err(ErrorClass::ServerError);
        }
        let length = match self.expect {
            Expect::Anything => None,
            Expect::Good if status < 400 => None,
            Expect::Good => return Err(ErrorClass::ClientError),
            Expect::Status(wanted) if status == wanted => None,
            Expect::Body(body) | Expect::BodyOrRedirect(body) if status == 200 => Some(body.len()),
            Expect::BodyOrRedirect(_) if matches!(status, 301 | 302 | 307 | 308) => None,
            Expect::Selected { body, .. } if status == 200 => Some(body.len()),
            Expect::FirstBytes { len, .. } | Expect::Selected { len, .. } if status == 206 => Some(len),
            Expect::Selected { .. } if status == 304 => None,
            _ => return Err(ErrorClass::WrongStatus),
        };
        let Some(length) = length else { return Ok(()) };
        if self.is_coded() {
            return self.judge_coded();
        }
        let seen =
            if self.method == Method::Head { head.content_length.unwrap_or(length) } else { self.body_seen };
        match (seen == length, self.wrong_body) {
            (false, _) => Err(ErrorClass::WrongLength),
            (true, true) => Err(ErrorClass::WrongBody),
            (true, false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::{Body, GzipPacker, ObjectId};

    fn outcome(expect: Expect, status: u16, body: &[u8], check: BodyCheck) -> String {
        let ask = Ask { target: b"/", expect, ..Ask::default() };
        outcome_of(&ask, (status, ContentCoding::Identity), body, check)
    }

    fn outcome_of(
        ask: &Ask<'_>,
        (status, coding): (u16, ContentCoding),
        body: &[u8],
        check: BodyCheck,
    ) -> String {
        let mut exchange =
            Exchange::new(ask, RequestText::default(), Turn { seat: 0, robot: 0 }, Nanos::ZERO, Nanos::MAX);
        let content_length = Some(body.len() as u64);
        exchange.head = Some(Head { status, content_length, coding, keep_alive: true, bytes: 10 });
        body.chunks(7).for_each(|piece| exchange.body(piece, check));
        let mut recorder = Recorder::new();
        let judged = exchange.finish(Nanos::new(5), &Statuses::of(&[403, 503]), &mut recorder);
        let (times, counters) = recorder.finish();
        if let Some(seen) = counters.violations {
            return format!("{}/{}/{}", seen.detected, seen.missed, seen.false_alarms);
        }
        assert_eq!(times.response.count(), counters.replies);
        let counted = counters.errors.keys().next().cloned();
        assert_eq!(counted.as_deref(), judged.err().map(ErrorClass::as_str));
        counted.unwrap_or_else(|| "good".to_owned())
    }

    #[test]
    fn what_failed_is_told_with_what_came_and_what_should_have() {
        let body = Expect::Body(Body::new(ObjectId::of_name(b"/a"), 5));
        let told = |target: &[u8], expect, status: Option<u16>| {
            let ask = Ask { target, expect, ..Ask::default() };
            let turn = Turn { seat: 0, robot: 0 };
            let mut exchange = Exchange::new(&ask, RequestText::default(), turn, Nanos::ZERO, Nanos::MAX);
            let coding = ContentCoding::Identity;
            let head = |status| Head { status, content_length: None, coding, keep_alive: true, bytes: 10 };
            exchange.head = status.map(head);
            exchange.in_words()
        };
        assert_eq!(told(b"/a", body, Some(301)), "GET /a: 301 where 200 was expected");
        assert_eq!(told(b"/a", body, Some(200)), "GET /a: 200");
        assert_eq!(told(b"/a", Expect::Anything, Some(502)), "GET /a: 502");
        assert_eq!(told(b"/a", Expect::Status(404), None), "GET /a");
        assert!(told(&[b'/'; 200], body, None).ends_with("//..."));
    }

    #[test]
    fn the_head_of_the_final_reply_is_kept_whatever_its_pieces_were() {
        let ask = Ask { target: b"/a", headers: b"X: y\r\n", ..Ask::default() };
        let turn = Turn { seat: 0, robot: 0 };
        let mut exchange = Exchange::new(&ask, RequestText::default(), turn, Nanos::ZERO, Nanos::MAX);
        exchange.keep_part(b"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 2");
        exchange.keep_head(b"00 OK\r\n\r\n", 19);
        assert_eq!(exchange.kept_head(), b"", "it has not been judged whole");
        let coding = ContentCoding::Identity;
        exchange.head = Some(Head { status: 200, content_length: None, coding, keep_alive: true, bytes: 19 });
        assert_eq!(exchange.kept_head(), b"HTTP/1.1 200 OK\r\n\r\n");
        assert_eq!((exchange.words.target(), exchange.words.headers()), (&b"/a"[..], &b"X: y\r\n"[..]));
        for _ in 0..10_000 {
            exchange.keep_part(b"HTTP/1.1 100 Go on\r\n\r\n");
        }
        assert!(exchange.kept_head().len() <= 2 * http1::MAX_HEAD_BYTES);
        let again = exchange.anew();
        assert_eq!((again.kept_head(), again.words.headers()), (&b""[..], &b"X: y\r\n"[..]));
    }

    #[test]
    fn a_coded_reply_is_judged_by_what_it_holds() {
        let body = Body::compressible(ObjectId::of_name(b"/a"), 2_000, 60);
        let packed = GzipPacker::default().pack(&body).unwrap();
        let zstd = zstd::encode_all(body.from(0), 3).unwrap();
        let (gzip, other) = (ContentCoding::Gzip, ContentCoding::Other);
        let (plain, right) = (body.from(0), Expect::Body(body));
        let selected = Expect::Selected { body, first: 50, len: 10 };
        for (expect, status, coding, sent, expected) in [
            (right, 200, gzip, &packed[..], "good"),
            (selected, 200, gzip, &packed, "good"),
            (right, 200, gzip, plain, "wrong-body"),
            (right, 200, gzip, b"", "wrong-body"),
            (right, 200, ContentCoding::Zstd, &zstd[..], "good"),
            (right, 200, ContentCoding::Zstd, &packed, "wrong-body"),
            (right, 200, ContentCoding::Brotli, &zstd[..], "wrong-body"),
            (right, 200, ContentCoding::Identity, &packed, "wrong-length"),
            (right, 200, other, &packed, "wrong-body"),
            (right, 200, other, plain, "wrong-body"),
            (selected, 206, gzip, &packed[50..60], "wrong-body"),
            (selected, 304, gzip, b"", "good"),
            (right, 404, gzip, b"no", "wrong-status"),
            (Expect::Anything, 200, gzip, b"whatever", "good"),
            (Expect::Status(404), 404, other, b"nope", "good"),
            (Expect::Refusal, 403, other, b"no", "1/0/0"),
        ] {
            for check in [BodyCheck::Start, BodyCheck::Full] {
                let ask = Ask { target: b"/", expect, ..Ask::default() };
                let outcome = outcome_of(&ask, (status, coding), sent, check);
                assert_eq!(outcome, expected, "{expect:?} {status} {coding:?} {check:?}");
            }
        }
        // For HEAD the head is all there is, with the length of what would come.
        let head = Ask { target: b"/", method: Method::Head, expect: right, ..Ask::default() };
        assert_eq!(outcome_of(&head, (200, gzip), b"", BodyCheck::Full), "good");
        assert_eq!(outcome_of(&head, (200, ContentCoding::Identity), b"", BodyCheck::Full), "wrong-length");
    }

    #[test]
    fn what_came_of_a_coded_reply_before_it_was_asked_again_counts_for_nothing() {
        let body = Body::compressible(ObjectId::of_name(b"/a"), 2_000, 60);
        let packed = GzipPacker::default().pack(&body).unwrap();
        let ask = Ask { target: b"/", expect: Expect::Body(body), ..Ask::default() };
        let turn = Turn { seat: 0, robot: 0 };
        let mut exchange = Exchange::new(&ask, RequestText::default(), turn, Nanos::ZERO, Nanos::MAX);
        let coding = ContentCoding::Gzip;
        let head = Head { status: 200, content_length: None, coding, keep_alive: true, bytes: 10 };
        exchange.head = Some(head);
        exchange.body(&packed[..100], BodyCheck::Full);
        let mut exchange = exchange.anew();
        exchange.head = Some(head);
        exchange.body(&packed, BodyCheck::Full);
        assert_eq!(exchange.judge(&head), Ok(()));
        assert_eq!(exchange.body_seen(), packed.len() as u64, "traffic is what came");
    }

    #[test]
    fn each_wrong_reply_has_its_class() {
        let body = Body::new(ObjectId::of_name(b"/a"), 200);
        let bytes = body.from(0).to_vec();
        let mut early = bytes.clone();
        early[3] ^= 1;
        let mut late = bytes.clone();
        late[150] ^= 1;
        let right = Expect::Body(body);
        let selected = Expect::Selected { body, first: 50, len: 10 };
        for (expect, status, sent, check, expected) in [
            (right, 200, &bytes[..], BodyCheck::Start, "good"),
            (right, 200, &early[..], BodyCheck::Start, "wrong-body"),
            (right, 200, &late[..], BodyCheck::Start, "good"),
            (right, 200, &late[..], BodyCheck::Full, "wrong-body"),
            (right, 200, &bytes[..199], BodyCheck::Start, "wrong-length"),
            (right, 404, b"", BodyCheck::Start, "wrong-status"),
            (right, 502, b"", BodyCheck::Start, "server-error"),
            (right, 403, b"", BodyCheck::Start, "0/0/1"),
            (Expect::Refusal, 403, b"no", BodyCheck::Start, "1/0/0"),
            (Expect::Refusal, 200, &bytes[..], BodyCheck::Start, "0/1/0"),
            (Expect::Refusal, 404, b"", BodyCheck::Start, "0/1/0"),
            (Expect::Status(404), 404, b"nope", BodyCheck::Full, "good"),
            (Expect::Status(404), 200, b"found", BodyCheck::Full, "wrong-status"),
            (Expect::BodyOrRedirect(body), 301, b"there", BodyCheck::Full, "good"),
            (Expect::FirstBytes { body, len: 9 }, 206, &bytes[..9], BodyCheck::Full, "good"),
            (Expect::FirstBytes { body, len: 9 }, 206, &bytes[..10], BodyCheck::Full, "wrong-length"),
            (selected, 200, &bytes[..], BodyCheck::Full, "good"),
            (selected, 206, &bytes[50..60], BodyCheck::Full, "good"),
            (selected, 206, &bytes[51..61], BodyCheck::Start, "wrong-body"),
            (selected, 206, &bytes[50..61], BodyCheck::Full, "wrong-length"),
            (selected, 304, b"", BodyCheck::Full, "good"),
            (selected, 416, b"", BodyCheck::Full, "wrong-status"),
            (Expect::Anything, 404, b"", BodyCheck::Full, "good"),
            (Expect::Good, 302, b"", BodyCheck::Full, "good"),
            (Expect::Good, 404, b"", BodyCheck::Full, "client-error"),
            (Expect::Good, 502, b"", BodyCheck::Full, "server-error"),
        ] {
            assert_eq!(outcome(expect, status, sent, check), expected, "{expect:?} {status}");
        }
    }
}
