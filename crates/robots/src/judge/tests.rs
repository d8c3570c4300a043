//! Tests of `judge`: cases whose answer is known.

mod texts;

use super::*;
use bakeoff_content::SplitMix64;
use bakeoff_content::world::{Model, ObjectName};
use bakeoff_units::Nanos;
use bakeoff_wire::http1::http_date;
use bakeoff_wire::stamp::{Upload, Words};
use std::sync::LazyLock;

const ASK: u64 = 0xabc;
/// When requests are sent, in seconds since 1970.
const NOW: u64 = 1_000_000_000;
const KNOWN: Known =
    Known { version: 5, last_modified: Some(NOW - 500), etag: 0xe, freshness: Freshness::Until(NOW + 500) };
const TRUTH: Truth =
    Truth { body_bytes: 100, cachable: true, gzip: false, at_sent: KNOWN, between: KNOWN, at_done: KNOWN };

static WORDS: LazyLock<Words> = LazyLock::new(Words::default);

fn asked(kind: RequestKind) -> JudgedRequest<'static> {
    JudgedRequest {
        stamp: ASK,
        kind,
        repeat: true,
        accepts: Accepts::Anything,
        upload: Upload::default(),
        words: &WORDS,
        id: b"w1",
        media_type: b"text/plain",
        object: None,
        truth: TRUTH,
        begun_unix: Nanos::from_secs(NOW - 60),
        sent_unix: Nanos::from_secs(NOW),
        done_unix: Nanos::from_millis(NOW * 1000 + 20),
        fetch: None,
    }
}

/// A reply as our origin makes it, changed by the test.
struct Reply {
    status: u16,
    stamp: String,
    fields: String,
    bytes: u64,
}

impl Reply {
    fn new(stamp: &str) -> Self {
        let date = |seconds| http_date(seconds);
        let fields = format!(
            "Date: {}\r\nLast-Modified: {}\r\nExpires: {}\r\nETag: \"000000000000000e\"\r\n\
             Cache-Control: public, max-age=500\r\nContent-Type: text/plain\r\nVary: Accept-Encoding\r\n",
            date(NOW),
            date(NOW - 500),
            date(NOW + 500)
        );
        Self { status: 200, stamp: format!("X-Bakeoff: {stamp}\r\n"), fields, bytes: 100 }
    }

    fn miss() -> Self {
        Self::new("made=0000000000000abc; object=w1; version=5")
    }

    fn hit() -> Self {
        Self::new("made=0000000000000001; object=w1; version=5")
    }

    /// In a content coding, for which our origin has a weak tag.
    fn coded(coding: &str) -> Self {
        let hit = Self::hit().without("ETag").with("ETag: W/\"000000000000000e\"");
        hit.with(&format!("Content-Encoding: {coding}"))
    }

    fn status(self, status: u16) -> Self {
        Self { status, bytes: if status == 304 { 0 } else { self.bytes }, ..self }
    }

    fn bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    fn with(mut self, line: &str) -> Self {
        self.fields.push_str(line);
        self.fields.push_str("\r\n");
        self
    }

    fn without(mut self, name: &str) -> Self {
        let kept = self.fields.split_inclusive("\r\n").filter(|line| !line.starts_with(name));
        self.fields = kept.collect();
        self
    }

    fn unstamped(self) -> Self {
        Self { stamp: String::new(), ..self }
    }

    fn judged(&self, asked: &JudgedRequest<'_>) -> ReplyJudgement {
        let head = format!("HTTP/1.1 {} X\r\n{}{}\r\n", self.status, self.fields, self.stamp);
        let came =
            ReceivedReply { head: head.as_bytes(), body_bytes: self.bytes, ..ReceivedReply::default() };
        judge(asked, &came)
    }

    fn faults(&self, asked: &JudgedRequest<'_>) -> Vec<ReplyFault> {
        self.judged(asked).faults.iter().collect()
    }
}

fn basic() -> JudgedRequest<'static> {
    asked(RequestKind::Basic)
}

fn first() -> JudgedRequest<'static> {
    JudgedRequest { repeat: false, ..basic() }
}

fn uncachable() -> JudgedRequest<'static> {
    let known = Known { freshness: Freshness::Unsaid, ..KNOWN };
    let truth = Truth { cachable: false, at_sent: known, between: known, at_done: known, ..TRUTH };
    JudgedRequest { truth, ..basic() }
}

/// About an object that exists in gzip, too.
fn of_two_forms(kind: RequestKind, gzip: bool) -> JudgedRequest<'static> {
    let accepts = if gzip { Accepts::Gzip } else { Accepts::Identity };
    JudgedRequest { accepts, truth: Truth { gzip: true, ..TRUTH }, ..asked(kind) }
}

#[test]
fn a_coding_that_was_not_accepted_is_named_and_one_that_was_is_right() {
    use RequestKind::{Basic, Etag304, Head, Range};
    let coded = |coding: &str| Reply::coded(coding).bytes(40);
    let judged = coded("gzip").judged(&of_two_forms(Basic, true));
    assert_eq!(
        (judged.outcome, judged.faults, judged.in_gzip),
        (RequestOutcome::Good, FaultSet::NONE, InGzip::Came)
    );
    let plain = Reply::hit().judged(&of_two_forms(Basic, true));
    assert_eq!((plain.faults, plain.in_gzip), (FaultSet::NONE, InGzip::Asked));
    let unasked = coded("gzip").judged(&of_two_forms(Basic, false));
    assert_eq!((unasked.outcome, unasked.in_gzip), (RequestOutcome::Wrong, InGzip::NotAsked));
    assert_eq!(unasked.faults, [ReplyFault::UnacceptedCoding].into_iter().collect());
    for (asked, coding) in [
        (of_two_forms(Basic, true), "br"),
        (of_two_forms(Basic, true), "gzip, gzip"),
        (of_two_forms(Basic, false), "deflate"),
    ] {
        assert_eq!(coded(coding).faults(&asked), [ReplyFault::UnacceptedCoding], "{coding}");
    }
    // HEAD says what would come; a 304 brings nothing that could be coded.
    assert_eq!(coded("gzip").bytes(0).faults(&of_two_forms(Head, false)), [ReplyFault::UnacceptedCoding]);
    assert_eq!(coded("gzip").bytes(0).faults(&of_two_forms(Head, true)), []);
    assert_eq!(coded("gzip").status(304).faults(&of_two_forms(Etag304, false)), []);
    let range = of_two_forms(Range { first: 0, last: 39 }, false);
    let part = coded("gzip").status(206).with("Content-Range: bytes 0-39/100");
    assert_eq!(part.faults(&range), [ReplyFault::UnacceptedCoding]);
    // Objects with one form only are not counted among those requested in two.
    let asked = JudgedRequest { accepts: Accepts::Gzip, ..basic() };
    assert_eq!(Reply::hit().judged(&asked).in_gzip, InGzip::NotAsked);
    // A request without Accept-Encoding accepts anything, but the robot cannot read it all.
    assert_eq!(coded("gzip").faults(&basic()), []);
    assert_eq!(coded("br").faults(&basic()), [ReplyFault::UnacceptedCoding]);
}

/// The unpacker knows whether bytes and length are the object's; bytes in another coding were not checked.
#[test]
fn what_a_coded_body_holds_is_said_by_who_unpacked_it() {
    let came = |coding: &str, error| {
        let reply = Reply::coded(coding);
        let head = format!("HTTP/1.1 200 X\r\n{}{}\r\n", reply.fields, reply.stamp);
        let came = ReceivedReply {
            head: head.as_bytes(),
            body_bytes: 0,
            error: Some(error),
            ..ReceivedReply::default()
        };
        judge(&of_two_forms(RequestKind::Basic, true), &came).faults.iter().collect::<Vec<_>>()
    };
    assert_eq!(came("gzip", ErrorClass::WrongBody), [ReplyFault::WrongBytes]);
    assert_eq!(came("gzip", ErrorClass::WrongLength), [ReplyFault::WrongLength]);
    assert_eq!(came("br", ErrorClass::WrongBody), [ReplyFault::WrongBytes, ReplyFault::UnacceptedCoding]);
    assert_eq!(came("deflate", ErrorClass::WrongBody), [ReplyFault::UnacceptedCoding]);
}

#[test]
fn stamps_tell_hits_from_misses_and_from_revalidated_ones() {
    let hit = Reply::hit().judged(&basic());
    assert_eq!((hit.hit, hit.outcome, hit.faults), (Hit::Hit, RequestOutcome::Good, FaultSet::NONE));
    assert!(hit.basic() && hit.offered && !hit.fill());
    let miss = Reply::miss().judged(&first());
    assert_eq!((miss.hit, miss.faults), (Hit::Miss, FaultSet::NONE));
    assert!(miss.fill() && !miss.offered);
    let valid = Reply::new("valid=0000000000000abc; object=w1; version=5").judged(&basic());
    assert_eq!((valid.hit, valid.faults), (Hit::Revalidated, FaultSet::NONE));
    let later = Reply::new("valid=0000000000000001; object=w1; version=5").judged(&basic());
    assert_eq!(later.hit, Hit::Hit);
}

#[test]
fn a_miss_of_an_offered_hit_is_counted_and_no_error() {
    let judged = Reply::miss().judged(&basic());
    assert_eq!(judged.faults.iter().collect::<Vec<_>>(), [ReplyFault::FalseMiss]);
    assert_eq!((judged.outcome, judged.faults.weight()), (RequestOutcome::Good, Weight::Counted));
}

#[test]
fn a_hit_on_an_object_nobody_asked_for_is_false() {
    assert_eq!(Reply::hit().faults(&first()), [ReplyFault::FalseHit]);
}

#[test]
fn a_private_object_from_the_cache_is_a_fault_but_an_answer() {
    let private = |reply: Reply| reply.without("Cache-Control").with("Cache-Control: private, no-cache");
    let judged = private(Reply::hit()).judged(&uncachable());
    assert_eq!(judged.faults.iter().collect::<Vec<_>>(), [ReplyFault::HitOnUncachable]);
    assert_eq!(judged.outcome, RequestOutcome::Good);
    assert!(!judged.offered);
    assert_eq!(private(Reply::miss()).faults(&uncachable()), []);
}

#[test]
fn an_old_version_is_stale_unless_it_changed_under_way() {
    let old = || Reply::new("made=0000000000000001; object=w1; version=4");
    assert_eq!(old().faults(&basic()), [ReplyFault::StaleHit]);
    let mut changed = basic();
    changed.truth.at_sent.version = 4;
    assert_eq!(old().faults(&changed), []);
    let validated = Reply::new("valid=0000000000000abc; object=w1; version=4");
    assert_eq!(validated.faults(&basic()), [], "the origin has just said that it is right");
}

#[test]
fn a_reload_must_reach_the_origin() {
    let reload = asked(RequestKind::Reload);
    assert_eq!(Reply::hit().faults(&reload), [ReplyFault::HitOnReload]);
    assert_eq!(Reply::miss().faults(&reload), []);
    assert_eq!(Reply::new("valid=0000000000000abc; object=w1; version=5").faults(&reload), []);
}

#[test]
fn other_objects_bytes_and_lengths_fail_the_request() {
    let other = Reply::new("made=0000000000000001; object=w2; version=0").judged(&basic());
    assert_eq!(other.faults.iter().collect::<Vec<_>>(), [ReplyFault::WrongObject]);
    assert_eq!(other.outcome, RequestOutcome::Wrong);
    assert_eq!(Reply::hit().bytes(99).faults(&basic()), [ReplyFault::WrongLength]);
    let head = b"HTTP/1.1 200 OK\r\nX-Bakeoff: made=0000000000000001; object=w1; version=5\r\n";
    let came = ReceivedReply { status: Some(200), head, body_bytes: 100, error: Some(ErrorClass::WrongBody) };
    let judged = judge(&basic(), &came);
    assert!(judged.faults.has(ReplyFault::WrongBytes) && judged.outcome == RequestOutcome::Wrong);
}

#[test]
fn rewritten_directives_and_lost_validators_are_seen() {
    let kept = |reply: Reply| reply.without("Cache-Control").with("Cache-Control: public");
    assert_eq!(kept(Reply::miss()).faults(&uncachable()), [ReplyFault::CachabilityChanged]);
    for changed in [
        Reply::hit().with("Cache-Control: no-store"),
        Reply::hit().without("Cache-Control"),
        Reply::hit().without("Expires"),
        Reply::hit().without("Expires").with("Expires: 0"),
    ] {
        assert_eq!(changed.faults(&basic()), [ReplyFault::CachabilityChanged]);
    }
    let other_version = Reply::new("made=0000000000000001; object=w1; version=6").without("Expires");
    assert_eq!(other_version.faults(&basic()), [], "of that version nothing is known");
    assert_eq!(Reply::hit().without("ETag").faults(&basic()), [ReplyFault::LostValidators]);
    assert_eq!(Reply::hit().without("Last").faults(&basic()), [ReplyFault::LostValidators]);
}

/// It is what was left when the reply was made: for a hit at any time since the run began, for a miss just now.
#[test]
fn another_max_age_beside_the_same_expires_is_seen() {
    let says = |reply: Reply, secs: u64| {
        reply.without("Cache-Control").with(&format!("Cache-Control: public, max-age={secs}"))
    };
    for right in [498, 500, 562] {
        assert_eq!(says(Reply::hit(), right).faults(&basic()), [], "{right}");
    }
    for (changed, asked) in [
        (says(Reply::hit(), 497), basic()),
        (says(Reply::hit(), 563), basic()),
        (says(Reply::miss(), 503), first()),
        (Reply::hit().without("Cache-Control").with("Cache-Control: public"), basic()),
    ] {
        assert_eq!(changed.faults(&asked), [ReplyFault::CachabilityChanged], "{}", changed.fields);
    }
    assert_eq!(says(Reply::miss(), 502).faults(&first()), [], "a clock may be behind");
    for (clock, left) in [(NOW - 9, 509), (NOW + 9, 491)] {
        let dated =
            |left| says(Reply::miss(), left).without("Date").with(&format!("Date: {}", http_date(clock)));
        assert_eq!(dated(left).faults(&first()), [], "or further off: its Date says so");
        assert_ne!(dated(530).faults(&first()), []);
    }
    let of = |freshness| {
        let known = Known { freshness, ..KNOWN };
        JudgedRequest { truth: Truth { at_sent: known, between: known, at_done: known, ..TRUTH }, ..basic() }
    };
    let until = |left, expires: &str| {
        says(Reply::hit(), left)
            .without("Expires")
            .with(&format!("Expires: {expires}"))
            .faults(&of(Freshness::For(9)))
    };
    for made in [NOW - 30, NOW, NOW + 2] {
        assert_eq!(until(9, &http_date(made + 9)), [], "it moves with the clock");
    }
    for (left, expires) in [(10, http_date(NOW + 9)), (9, http_date(NOW + 500)), (9, "0".to_owned())] {
        assert_eq!(until(left, &expires), [ReplyFault::CachabilityChanged], "{left} {expires}");
    }
    assert_eq!(says(Reply::hit(), 9).faults(&of(Freshness::Unsaid)), [ReplyFault::CachabilityChanged]);
}

#[test]
fn other_values_of_fields_that_a_cache_must_leave_alone_are_seen() {
    let other = |name: &str, line: &str| Reply::hit().without(name).with(line);
    let modified = format!("Last-Modified: {}", http_date(NOW - 499));
    for (changed, fault) in [
        (other("ETag", "ETag: \"000000000000000f\""), ReplyFault::ValidatorsChanged),
        (other("ETag", "ETag: \"000000000000000e-gzip\""), ReplyFault::ValidatorsChanged),
        (other("ETag", "ETag: e"), ReplyFault::ValidatorsChanged),
        (other("Last", &modified), ReplyFault::ValidatorsChanged),
        (other("Content-Type", "Content-Type: text/html"), ReplyFault::ContentTypeChanged),
        (other("Content-Type", ""), ReplyFault::ContentTypeChanged),
        (other("x", "Set-Cookie: id=7"), ReplyFault::CookieAdded),
    ] {
        assert_eq!(changed.faults(&basic()), [fault], "{}", changed.fields);
    }
    for same in
        [other("ETag", "ETag: W/\"000000000000000E\""), other("Content-Type", "content-type: Text/Plain")]
    {
        assert_eq!(same.faults(&basic()), []);
    }
    let two_forms = of_two_forms(RequestKind::Basic, true);
    assert_eq!(other("Vary", "").faults(&basic()), [], "it has one form");
    assert_eq!(
        other("Vary", "Vary: Origin").faults(&two_forms),
        [ReplyFault::VaryLost, ReplyFault::VaryAdded]
    );
    assert_eq!(other("Vary", "Vary: *").faults(&two_forms), [ReplyFault::VaryAdded]);
    let packed = |tag: &str| other("ETag", &format!("ETag: {tag}")).with("Content-Encoding: gzip");
    assert_eq!(packed("\"000000000000000e-gzip\"").faults(&basic()), [], "who packs may say so");
    assert_eq!(packed("\"000000000000000e-gzip\"").faults(&two_forms), [ReplyFault::TagMadeStrong]);
    assert_eq!(packed("\"000000000000000f-gzip\"").faults(&two_forms), [ReplyFault::ValidatorsChanged]);
}

#[test]
fn an_age_is_what_it_can_be_and_a_hit_that_is_old_has_one() {
    let aged = |reply: Reply, made: u64, age: &str| {
        reply.without("Date").with(&format!("Date: {}\r\nAge: {age}", http_date(NOW - made)))
    };
    let wrong = [ReplyFault::AgeWrong];
    for (reply, expected) in [
        (aged(Reply::hit(), 40, "40"), &[][..]),
        (aged(Reply::hit(), 40, "37"), &[]),
        (aged(Reply::hit(), 40, "43"), &[]),
        (aged(Reply::hit(), 40, "36"), &wrong),
        (aged(Reply::hit(), 40, "44"), &wrong),
        (aged(Reply::hit(), 40, "soon"), &wrong),
        (aged(Reply::hit(), 3, ""), &[]),
        // A rewritten Date, and an Age from before.
        (aged(Reply::hit(), 0, "63"), &[]),
        (aged(Reply::hit(), 0, "64"), &wrong),
        (aged(Reply::new("valid=0000000000000001; object=w1; version=5"), 40, "0"), &[]),
        (aged(Reply::new("valid=0000000000000abc; object=w1; version=5"), 40, "0"), &[]),
    ] {
        assert_eq!(reply.faults(&basic()), expected, "{}", reply.fields);
    }
    assert_eq!(aged(Reply::miss(), 0, "3").faults(&first()), [ReplyFault::ProductDisagrees]);
    assert_eq!(
        aged(Reply::miss(), 0, "4").faults(&first()),
        [ReplyFault::AgeWrong, ReplyFault::ProductDisagrees]
    );
}

#[test]
fn replies_of_others_are_foreign() {
    let judged = Reply::hit().unstamped().judged(&basic());
    assert_eq!(judged.faults.iter().collect::<Vec<_>>(), [ReplyFault::ForeignReply]);
    assert_eq!((judged.hit, judged.outcome), (Hit::Unknown, RequestOutcome::Wrong));
}

#[test]
fn a_date_must_be_there_and_near_for_what_was_made_now() {
    let dated = |reply: Reply, seconds| reply.without("Date").with(&format!("Date: {}", http_date(seconds)));
    assert_eq!(Reply::hit().without("Date").faults(&basic()), [ReplyFault::DateMissing]);
    assert_eq!(dated(Reply::miss(), NOW - 60).faults(&first()), []);
    assert_eq!(dated(Reply::miss(), NOW - 61).faults(&first()), [ReplyFault::DateOff]);
    let early = JudgedRequest { begun_unix: Nanos::from_secs(NOW - 10_000), ..basic() };
    let old = || dated(Reply::hit().with("Age: 9999"), NOW - 9999);
    assert_eq!(old().faults(&early), [], "it was stored then");
    let asked_for = JudgedRequest { begun_unix: early.begun_unix, ..asked(RequestKind::Ims304) };
    assert_eq!(old().unstamped().status(304).faults(&asked_for), [], "a 304 of the cache's own");
    assert_eq!(old().faults(&basic()), [ReplyFault::DateOff], "before the run began");
    assert_eq!(dated(Reply::hit(), NOW + 61).faults(&basic()), [ReplyFault::DateOff]);
    let slow = JudgedRequest { done_unix: Nanos::from_secs(NOW + 30), ..first() };
    assert_eq!(dated(Reply::miss(), NOW - 61).faults(&slow), []);
}

#[test]
fn conditions_get_the_status_that_is_true() {
    let (ims200, ims304) = (asked(RequestKind::Ims200), asked(RequestKind::Ims304));
    assert_eq!(Reply::hit().faults(&ims200), []);
    assert_eq!(Reply::hit().status(304).faults(&ims200), [ReplyFault::Wrong304]);
    assert_eq!(Reply::hit().status(304).faults(&ims304), []);
    assert_eq!(Reply::hit().faults(&ims304), [ReplyFault::Wrong200]);
    let mut changed = ims304;
    changed.truth.at_sent.version = 4;
    assert_eq!(Reply::hit().faults(&changed), []);
    assert_eq!(Reply::hit().status(304).faults(&basic()), [ReplyFault::Wrong304]);
    let passed_on = Reply::new("valid=0000000000000abc; object=w1; version=5").status(304);
    let first = passed_on.judged(&JudgedRequest { repeat: false, ..ims304 });
    assert_eq!((first.hit, first.faults), (Hit::Miss, FaultSet::NONE), "the origin's own answer");
    let unasked = passed_on.judged(&basic());
    assert_eq!((unasked.hit, unasked.offered), (Hit::Revalidated, true), "the cache's own condition");
    assert_eq!(unasked.faults.iter().collect::<Vec<_>>(), [ReplyFault::Wrong304]);
    let changed_ims200 = JudgedRequest { truth: changed.truth, ..ims200 };
    assert_eq!(
        Reply::hit().status(304).faults(&changed_ims200),
        [],
        "the old one had not changed since then"
    );
    let (etag200, etag304) = (asked(RequestKind::Etag200), asked(RequestKind::Etag304));
    let changed_etag200 = JudgedRequest { truth: changed.truth, ..etag200 };
    assert_eq!(
        Reply::hit().status(304).faults(&changed_etag200),
        [ReplyFault::Wrong304],
        "no version has that tag"
    );
    assert_eq!((Reply::hit().faults(&etag200), Reply::hit().status(304).faults(&etag304)), (vec![], vec![]));
    assert_eq!(Reply::hit().status(304).faults(&etag200), [ReplyFault::Wrong304]);
    assert_eq!(Reply::hit().faults(&etag304), [ReplyFault::Wrong200]);
    assert_eq!(passed_on.judged(&JudgedRequest { repeat: false, ..etag304 }).hit, Hit::Miss);
    let own = Reply::hit().status(304).unstamped().judged(&ims304);
    assert_eq!((own.hit, own.faults), (Hit::Unknown, FaultSet::NONE), "it may have asked before");
}

#[test]
fn a_part_is_the_part_asked_for() {
    let range = asked(RequestKind::Range { first: 90, last: 120 });
    let part = |says: &str| Reply::hit().status(206).with(&format!("Content-Range: {says}"));
    assert_eq!(part("bytes 90-99/100").bytes(10).faults(&range), []);
    assert_eq!(part("bytes 90-99/*").bytes(10).faults(&range), []);
    assert_eq!(part("bytes 80-89/100").bytes(10).faults(&range), [ReplyFault::RangeWrong]);
    assert_eq!(part("bytes 90-99/100").bytes(9).faults(&range), [ReplyFault::WrongLength]);
    assert_eq!(Reply::hit().faults(&range), [ReplyFault::RangeIgnored]);
    assert_eq!(Reply::hit().status(416).unstamped().faults(&range), [ReplyFault::RangeWrong]);
    let beyond = asked(RequestKind::Range { first: 100, last: 120 });
    assert_eq!(Reply::hit().status(416).unstamped().faults(&beyond), []);
}

#[test]
fn loops_and_strange_statuses_fail() {
    let way = |hops: usize| Reply::hit().with(&format!("Via: {}", vec!["1.1 a"; hops].join(", ")));
    assert_eq!(way(7).faults(&basic()), []);
    assert_eq!(way(8).faults(&basic()), [ReplyFault::Loop]);
    assert_eq!(Reply::hit().status(508).unstamped().faults(&basic()), [ReplyFault::Loop]);
    assert_eq!(Reply::hit().status(503).unstamped().faults(&basic()), [ReplyFault::UnexpectedStatus]);
    assert_eq!(
        judge(&basic(), &ReceivedReply::default()).faults.iter().collect::<Vec<_>>(),
        [ReplyFault::UnexpectedStatus]
    );
}

#[test]
fn a_product_that_says_otherwise_is_counted_apart() {
    let claims = |reply: Reply, line: &str| reply.with(line).faults(&basic());
    assert_eq!(claims(Reply::hit(), "X-Cache: MISS"), [ReplyFault::ProductDisagrees]);
    assert_eq!(claims(Reply::hit(), "X-Cache: HIT"), []);
    assert_eq!(claims(Reply::miss(), "Age: 3"), [ReplyFault::FalseMiss, ReplyFault::ProductDisagrees]);
    assert_eq!(ReplyFault::ProductDisagrees.weight(), Weight::Counted);
    assert_eq!(claims(Reply::hit(), "Cache-Status: c; fwd=miss; collapsed"), []);
}

#[test]
fn failures_of_the_connection_are_no_faults_of_the_cache() {
    let came = ReceivedReply { error: Some(ErrorClass::Reset), ..ReceivedReply::default() };
    let judged = judge(&basic(), &came);
    assert_eq!((judged.outcome, judged.faults), (RequestOutcome::Failed(ErrorClass::Reset), FaultSet::NONE));
    let abort = asked(RequestKind::Abort);
    let cut = ReceivedReply { error: Some(ErrorClass::CutOff), ..ReceivedReply::default() };
    assert_eq!(judge(&abort, &cut).outcome, RequestOutcome::Aborted);
    let short = ReceivedReply { error: Some(ErrorClass::Truncated), ..ReceivedReply::default() };
    assert_eq!(
        judge(&abort, &short).outcome,
        RequestOutcome::Failed(ErrorClass::Truncated),
        "nobody wanted that"
    );
    assert_eq!(
        Reply::hit().bytes(99).faults(&abort),
        [ReplyFault::WrongLength],
        "it ended before the robot did"
    );
    assert_eq!(Reply::hit().judged(&abort).outcome, RequestOutcome::Aborted);
    assert_eq!(judge(&abort, &came).outcome, RequestOutcome::Failed(ErrorClass::Reset));
    assert_eq!(Reply::hit().status(503).judged(&abort).outcome, RequestOutcome::Wrong);
}

#[test]
fn a_stored_answer_to_post_is_named_whoever_gets_it() {
    let post = asked(RequestKind::Post);
    assert_eq!(Reply::hit().faults(&post), [ReplyFault::PostKept]);
    let came = |upload: &str| Reply::new(&format!("made=0000000000000abc; object=w1; version=5{upload}"));
    let right = || came("; post=0.0000000000000000");
    assert_eq!(right().bytes(7).faults(&post), [ReplyFault::WrongLength], "the origin sends the object");
    for changed in ["", "; post=1.0000000000000000", "; post=0.0000000000000001", "; post=x"] {
        assert_eq!(came(changed).faults(&post), [ReplyFault::UploadChanged], "{changed}");
    }
    let posted = Reply::new("made=0000000000000001; object=w1; version=5; post=0.0000000000000000");
    assert_eq!(posted.faults(&basic()), [ReplyFault::PostKept]);
    assert_eq!(posted.faults(&first()), [ReplyFault::PostKept]);
    assert_eq!(right().faults(&post), []);
    assert_eq!(Reply::miss().bytes(0).faults(&asked(RequestKind::Head)), []);
}

#[test]
fn the_status_is_read_from_the_first_line_alone() {
    assert_eq!(status_of(b"HTTP/1.1 204 No\r\n"), Some(204));
    for none in [&b""[..], b"HTTP/1.1", b"HTTP/1.1 20", b"HTTP/1.1 2x4 ", b"HTTP/1.1 +20 "] {
        assert_eq!(status_of(none), None);
    }
}

/// The origin's truth follows from the world alone.
#[test]
fn truth_is_what_the_origin_says_at_these_times() {
    let world = |expires: &str| {
        let text = format!(
            "[[content]]\nname = \"any\"\nsize = \"const:5KB\"\ncachable = \"100%\"\nshare = \"100%\"\n\
             life = {{ length = \"const:1000s\", variance = \"0%\", last_modified = \"100%\", expires = \"{expires}\" }}\n"
        );
        Model::from_toml(&text)
            .unwrap()
            .object(&ObjectName { world: 1, server: 2, kind: 0, number: 3 })
            .unwrap()
    };
    let object = world("nmt+0s");
    let change = object.at(NOW).next_change;
    let (sent, done) = (Nanos::from_secs(change + 1), Nanos::from_secs(change + 2));
    let truth = Truth::of(&object, sent, done);
    assert_eq!((truth.body_bytes, truth.cachable), (5120, true));
    assert_eq!(truth.at_done.version, truth.at_sent.version + 1, "two seconds of grace");
    assert_eq!(truth.at_done.last_modified, Some(change));
    let later = Truth::of(&object, Nanos::from_secs(change + 2), Nanos::from_secs(change + 3));
    let until = Freshness::Until(change + 1000);
    assert_eq!((later.at_sent.version, later.at_sent.freshness), (truth.at_done.version, until));
    let before = Truth::of(&object, Nanos::from_secs(change - 3), Nanos::from_secs(change - 2));
    assert_eq!((before.at_done, before.between), (later.at_sent, before.at_sent), "and here, too");
    let moving = Truth::of(&world("now+9s"), Nanos::from_secs(change + 1), Nanos::from_secs(change + 2));
    assert_eq!(moving.at_sent.freshness, Freshness::For(9), "Expires may be another one in each reply");
}

/// Any head is judged, and failures have a reason.
#[test]
fn any_head_at_all_is_judged() {
    let mut random = SplitMix64::new(11);
    let mut draw = |below: usize| (random.next_u64() % below as u64) as usize;
    let head = "HTTP/1.1 200 X\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nAge: 99\r\nVia: a, b, c\r\n\
        Content-Range: bytes 0-99/100\r\nX-Bakeoff: made=0000000000000abc; object=w1; version=5\r\n\r\n";
    let kinds = [
        RequestKind::Basic,
        RequestKind::Ims304,
        RequestKind::Etag200,
        RequestKind::Etag304,
        RequestKind::Reload,
        RequestKind::Range { first: u64::MAX, last: 0 },
        RequestKind::Range { first: 0, last: u64::MAX },
        RequestKind::Head,
        RequestKind::Post,
        RequestKind::Abort,
    ];
    for turn in 0..20_000 {
        let mut bytes = head.as_bytes().to_vec();
        for _ in 0..draw(8) {
            let place = draw(bytes.len());
            bytes[place] = b"0123459,;:=-/ \n\xff"[draw(16)];
        }
        bytes.truncate(draw(2 * bytes.len()));
        let mut asked = asked(kinds[turn % kinds.len()]);
        asked.truth.body_bytes = [0, 100, u64::MAX][draw(3)];
        asked.sent_unix = [Nanos::ZERO, asked.sent_unix, Nanos::MAX][draw(3)];
        let came = ReceivedReply { head: &bytes, body_bytes: 100, ..ReceivedReply::default() };
        let judged = judge(&asked, &came);
        assert_eq!(judged.outcome == RequestOutcome::Wrong, judged.faults.weight() == Weight::Fails);
    }
}
