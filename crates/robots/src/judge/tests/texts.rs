//! Replies that an RFC clears, and those next to them that it does not. Each test quotes its section.

use super::*;
use bakeoff_content::Distribution;

/// Kinds of objects, of which ours has no think time of its own.
fn model() -> Model {
    Model::from_toml("[[content]]\nname = \"any\"\nsize = \"const:1KB\"\n").unwrap()
}

fn aged(reply: Reply, date_ago: u64, age: u64) -> Reply {
    reply.without("Date").with(&format!("Date: {}\r\nAge: {age}", http_date(NOW - date_ago)))
}

/// RFC 9111 section 4.2.3: "response_delay = response_time - request_time; corrected_age_value = age_value +
/// response_delay; [...] corrected_initial_age = max(apparent_age, corrected_age_value)". The origin's Date is that of
/// the reply's making, so that Age is more than the time since Date by what the origin thought before.
#[test]
fn an_age_has_the_time_of_its_own_fetch_in_it() {
    let (model, think) = (model(), Distribution::parse_seconds("const:6s").unwrap());
    let of = |path| {
        let fetch = FetchTime { model: &model, think: Some(&think), kind: 0, path };
        JudgedRequest { fetch: Some(fetch), begun_unix: Nanos::from_secs(NOW - 600), ..basic() }
    };
    let faults = |age, path| aged(Reply::hit(), 40, age).faults(&of(path));
    let wrong = [ReplyFault::AgeWrong];
    // 40 s since Date, 6 s of the fetch, 3 s of whole seconds and clocks; and what the way took.
    assert_eq!((faults(46, Nanos::ZERO), faults(49, Nanos::ZERO)), (vec![], vec![]));
    assert_eq!(faults(50, Nanos::ZERO), wrong, "it is not the time-out that is allowed");
    assert_eq!(
        (faults(52, Nanos::from_millis(2_100)), faults(53, Nanos::from_millis(2_100))),
        (vec![], wrong.to_vec())
    );
    assert_eq!(faults(36, Nanos::ZERO), wrong, "no fetch makes it less");
    // Each fetch by its own stamp.
    let think = Distribution::parse_seconds("norm:3s,1.5s").unwrap();
    for stamp in 1..200_u64 {
        let fetch = FetchTime { model: &model, think: Some(&think), kind: 0, path: Nanos::ZERO };
        let asked = JudgedRequest { fetch: Some(fetch), begun_unix: Nanos::from_secs(NOW - 600), ..basic() };
        let most = fetch.longest(stamp).get().div_ceil(1_000_000_000) + 43;
        let reply = |age| aged(Reply::new(&format!("made={stamp:016x}; object=w1; version=5")), 40, age);
        assert_eq!(
            (reply(most).faults(&asked), reply(most + 1).faults(&asked)),
            (vec![], wrong.to_vec()),
            "{stamp}"
        );
    }
}

/// The same section: nothing that was fetched in a run is older than the run, whatever its fetch took.
#[test]
fn no_age_reaches_back_before_the_run() {
    let (model, think) = (model(), Distribution::parse_seconds("const:600s").unwrap());
    let fetch = FetchTime { model: &model, think: Some(&think), kind: 0, path: Nanos::ZERO };
    let asked = JudgedRequest { fetch: Some(fetch), ..basic() };
    assert_eq!(aged(Reply::hit(), 40, 63).faults(&asked), []);
    assert_eq!(aged(Reply::hit(), 40, 64).faults(&asked), [ReplyFault::AgeWrong]);
    // Confirmed for another request, it may have the Date of its making: which fetch that was is not known.
    let confirmed = Reply::new("valid=0000000000000001; object=w1; version=5");
    assert_eq!(aged(confirmed, 40, 63).faults(&basic()), []);
}

/// RFC 9111 section 4.3.1: a cache "can use the conditional request mechanism", and need not. One that has fetched the
/// whole object may answer the client's condition itself (section 4.3.2: it "SHOULD evaluate any applicable conditional
/// header field"), by a 304 that has none of the origin's own fields: from its store or not, nobody can tell.
#[test]
fn a_304_without_our_stamp_is_neither_a_hit_nor_a_fault() {
    for kind in [RequestKind::Ims304, RequestKind::Etag304] {
        for request in [asked(kind), JudgedRequest { repeat: false, ..asked(kind) }] {
            let own = Reply::hit().status(304).unstamped().judged(&request);
            assert_eq!(
                (own.hit, own.outcome, own.faults),
                (Hit::Unknown, RequestOutcome::Good, FaultSet::NONE)
            );
        }
    }
    let unasked = Reply::hit().status(304).unstamped().judged(&basic());
    assert!(unasked.faults.has(ReplyFault::Wrong304) && unasked.faults.has(ReplyFault::ForeignReply));
}

/// RFC 9111 section 5.2.1: request directives "are advisory; caches MAY implement them, but are not required to".
/// Section 4.3.2: the cache "SHOULD evaluate" the client's conditions; RFC 9110 section 13.1.3, of If-Modified-Since: a
/// server "SHOULD generate a 304". RFC 9110 section 14.2: "A server MAY ignore the Range header field".
#[test]
fn what_a_cache_should_or_may_do_is_counted_and_no_fault() {
    for fault in [ReplyFault::HitOnReload, ReplyFault::Wrong200, ReplyFault::RangeIgnored] {
        assert_eq!((fault.row().class, fault.weight()), (Class::Counted, Weight::Counted));
    }
}

/// RFC 9110 section 8.8.3.3: "a strong entity tag for a content-encoded representation has to be distinct from the
/// entity tag of an unencoded representation".
#[test]
fn one_strong_tag_for_two_codings_is_a_fault_and_another_strong_one_is_counted() {
    let two_forms = of_two_forms(RequestKind::Basic, true);
    let packed = |tag: &str| Reply::coded("gzip").without("ETag").with(&format!("ETag: {tag}"));
    assert_eq!(packed("W/\"000000000000000e\"").faults(&two_forms), []);
    assert_eq!(packed("\"000000000000000e\"").faults(&two_forms), [ReplyFault::TagOfTwoCodings]);
    assert_eq!(
        packed("\"000000000000000e\"").faults(&basic()),
        [ReplyFault::TagOfTwoCodings],
        "it packs itself"
    );
    assert_eq!(packed("\"000000000000000e;gz\"").faults(&two_forms), [ReplyFault::TagMadeStrong]);
    assert_eq!(ReplyFault::TagMadeStrong.row().class, Class::Counted);
}

/// RFC 9111 section 3.2: "the cache MUST add each header field in the provided response to the stored response, replacing
/// field values that are already present": what a 304 says, others keep.
#[test]
fn what_a_304_says_is_held_against_its_version_and_what_it_leaves_out_is_not() {
    let etag304 = asked(RequestKind::Etag304);
    let says = |name: &str, line: &str| Reply::hit().status(304).without(name).with(line);
    let modified = format!("Last-Modified: {}", http_date(NOW - 499));
    for (reply, fault) in [
        (says("Cache-Control", "Cache-Control: public, max-age=31536000"), ReplyFault::CachabilityChanged),
        (says("Cache-Control", "Cache-Control: private"), ReplyFault::CachabilityChanged),
        (says("ETag", "ETag: \"000000000000000f\""), ReplyFault::ValidatorsChanged),
        (says("Last", &modified), ReplyFault::ValidatorsChanged),
    ] {
        assert_eq!(reply.faults(&etag304), [fault], "{}", reply.fields);
        assert_eq!(reply.unstamped().faults(&etag304), [fault], "the cache's own");
    }
    for name in ["Cache-Control", "ETag", "Last", "Expires", "Content-Type", "Vary"] {
        assert_eq!(says(name, "Server: a").faults(&etag304), [], "{name}");
    }
}

/// RFC 9110 section 5.3: "a sender MUST NOT generate multiple field lines with the same name [...] unless that field's
/// definition allows". RFC 9111 section 4.2.1, of several max-age: "either the first occurrence should be used or the
/// response should be considered stale".
#[test]
fn a_field_that_comes_twice_is_named_and_a_second_max_age_too() {
    let first = |line: &str| {
        let reply = Reply::hit();
        Reply { fields: format!("{line}\r\n{}", reply.fields), ..reply }
    };
    for line in
        ["ETag: \"000000000000000f\"", "Content-Type: text/html", "Date: Sun, 06 Nov 1994 08:49:37 GMT"]
    {
        assert_eq!(first(line).faults(&basic()), [ReplyFault::FieldDoubled], "{line}");
    }
    assert_eq!(first("Cache-Control: max-age=31536000").faults(&basic()), [ReplyFault::CachabilityChanged]);
    assert_eq!(first("Cache-Control: max-age=500").faults(&basic()), []);
}

/// RFC 9110 section 7.7: a proxy "SHOULD NOT modify header fields that provide information about [...] the resource
/// state". A directive that the origin did not send makes its word untrue; other fields are counted.
#[test]
fn directives_and_fields_that_the_origin_did_not_send_are_named() {
    for line in [
        "Cache-Control: s-maxage=99",
        "Cache-Control: stale-while-revalidate=9",
        "CDN-Cache-Control: max-age=99",
        "Surrogate-Control: max-age=99",
    ] {
        assert_eq!(Reply::hit().with(line).faults(&basic()), [ReplyFault::DirectiveAdded], "{line}");
    }
    assert_eq!(Reply::hit().with("X-Client: 127.0.0.1").faults(&basic()), [ReplyFault::FieldAdded]);
    assert_eq!(Reply::hit().with("Vary: Cookie, User-Agent").faults(&basic()), [ReplyFault::VaryAdded]);
    assert_eq!(Reply::hit().with("Server: a\r\nX-Varnish: 7 5\r\nConnection: close").faults(&basic()), []);
}

/// RFC 9111 section 4.3.2: a cache evaluates conditions "with respect to the corresponding validators contained within
/// the stored response". A stored reply that is too old is stale; that it had not changed since the date is true.
#[test]
fn a_304_by_an_old_version_is_stale_and_answers_the_date() {
    let old = || Reply::new("made=0000000000000001; object=w1; version=4").status(304);
    let judged = old().judged(&asked(RequestKind::Ims200));
    assert_eq!(judged.faults.iter().collect::<Vec<_>>(), [ReplyFault::StaleHit]);
    assert_eq!(judged.outcome, RequestOutcome::Good);
    // No version ever had the tag of this one.
    let tagged = old().faults(&asked(RequestKind::Etag200));
    assert_eq!(tagged, [ReplyFault::StaleHit, ReplyFault::Wrong304]);
}

/// RFC 5861 section 3 lets a cache give a reply whose lifetime is over "while attempting to revalidate it without
/// blocking"; without such a word RFC 9111 section 4.2.4 wants a configuration that was agreed on.
#[test]
fn a_hit_whose_lifetime_is_over_may_be_fetched_in_the_background() {
    let hit = |max_age: u64, ago: u64| {
        let dated = Reply::hit().without("Date").without("Cache-Control");
        dated.with(&format!("Date: {}\r\nCache-Control: public, max-age={max_age}", http_date(NOW - ago)))
    };
    assert!(hit(40, 50).judged(&basic()).is_due && hit(40, 38).judged(&basic()).is_due);
    assert!(!hit(40, 30).judged(&basic()).is_due);
    let judged = Reply::hit().judged(&basic());
    assert_eq!((judged.fetched_for, judged.is_due), (Some(1), false));
    let miss = Reply::miss().judged(&basic());
    assert_eq!((miss.fetched_for, miss.is_due), (None, false));
}
