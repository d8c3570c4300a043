//! Robots against a proxy with one fault: they must find it, under the right name, as often as it happened. They must
//! find an honest proxy right.

#![allow(clippy::unwrap_used)] // a test that cannot reach its own peer has failed

mod breakage;
mod codings;
mod known;
mod message;
mod proxy;
mod run;

use bakeoff_meter::ErrorClass;
use bakeoff_robots::ideal::RequestStream;
use bakeoff_robots::judge::{Hit, ReplyFault, ReplyJudgement, RequestKind, RequestOutcome, Weight};
use breakage::Breakage;
use proxy::Proxy;
use run::{Seen, address, origin, robots, through};
use std::collections::{BTreeMap, BTreeSet};

/// Objects that outlive the test, some of which have to be validated at each use, and some private.
const WORLD: &str = r#"
    [[content]]
    name = "lasting"
    size = "exp:4KB"
    cachable = "80%"
    life = { length = "const:2year", expires = "nmt+0s" }
    share = "70%"

    [[content]]
    name = "checked"
    size = "exp:2KB"
    cachable = "80%"
    life = { length = "const:2year", expires = "now+0s" }
    share = "30%"
"#;

/// Objects that change every second.
const CHANGING: &str = r#"
    [[content]]
    name = "changing"
    size = "exp:2KB"
    cachable = "80%"
    life = { length = "const:1s", expires = "nmt+0s" }
"#;

/// One robot, one request after the other.
const PLAIN: &str = "[robots]
    recurrence = '60%'
    [[phase]]
    name = 'all'
    goal = { transactions = 400 }";

/// The same with every kind of request that a cache can answer wrong in a way of its own.
const SPECIAL: &str = "[robots]
    recurrence = '60%'
    special = { ims200 = '5%', ims304 = '15%', reload = '15%', range = '15%', head = '3%', post = '3%' }
    post_body = 'exp:2KB'
    [[phase]]
    name = 'all'
    goal = { transactions = 400 }";

/// Requests with entity tags, as many with the right one as with another.
const TAGGED: &str = "[robots]
    recurrence = '60%'
    special = { etag200 = '40%', etag304 = '40%' }
    [[phase]]
    name = 'all'
    goal = { transactions = 400 }";

/// Requests that reached the origin, by the robots' judgement.
fn heard(seen: &Seen) -> u64 {
    let heard = |hit| matches!(hit, Hit::Miss | Hit::Revalidated);
    seen.judged.iter().filter(|(_, judged)| heard(judged.hit)).count() as u64
}

/// The proxy's own faults have this name and no other, each of them.
#[track_caller]
fn assert_named(breakage: Breakage, plan: &str, names: &[&str]) {
    let (seen, account, _) = through(breakage, plan, WORLD);
    let wronged = account.wronged.len() as u64;
    let expected: BTreeMap<_, _> = names.iter().map(|name| ((*name).to_owned(), wronged)).collect();
    assert_eq!(seen.wrong(), expected, "{breakage:?}: {:#?}", seen.sums.examples);
    assert!(wronged > 5, "{breakage:?}: {wronged}");
    assert_eq!(seen.sums.finished, 400);
    // Each of them on the very requests that were wronged.
    let found: BTreeSet<u64> =
        seen.judged.iter().filter(|(_, judged)| !judged.faults.is_empty()).map(|one| one.0).collect();
    assert!(found.iter().all(|stamp| account.wronged.contains(stamp)), "{breakage:?}");
}

#[track_caller]
fn assert_fault(breakage: Breakage, plan: &str, fault: ReplyFault) {
    assert_named(breakage, plan, &[fault.label()]);
}

#[test]
fn an_honest_proxy_is_found_right_and_the_books_of_all_three_agree() {
    for plan in [PLAIN, SPECIAL] {
        let (seen, account, origins) = through(Breakage::Nothing, plan, WORLD);
        assert_eq!(seen.wrong(), BTreeMap::new(), "{:#?}", seen.sums.examples);
        assert_eq!((seen.sums.good, seen.sums.finished), (400, 400));
        assert_eq!((heard(&seen), origins), (account.forwarded, account.forwarded));
        let sums = &seen.sums;
        assert_eq!(sums.from_cache().count(), sums.offered_hit_bytes.count, "every offered hit is one");
        let ideal = RequestStream::new(seen.stream.iter().copied()).known_at_once();
        assert_eq!((ideal.requests, ideal.hits), (sums.basic.count(), sums.from_cache().count()));
        assert!(sums.hits.traffic.count() > 40 && sums.revalidated.traffic.count() > 15);
    }
    let (seen, account, _) = through(Breakage::Nothing, PLAIN, WORLD);
    let (misses, revalidated) = (seen.sums.misses.traffic.count(), seen.sums.revalidated.traffic.count());
    assert_eq!(misses + revalidated, account.forwarded);
}

#[test]
fn an_honest_proxy_that_compares_tags_is_found_right() {
    let (seen, account, origins) = through(Breakage::Nothing, TAGGED, WORLD);
    assert_eq!(seen.wrong(), BTreeMap::new(), "{:#?}", seen.sums.examples);
    assert_eq!((seen.sums.good, origins), (400, account.forwarded));
    let of = |kind: RequestKind| seen.judged.iter().filter(|(_, judged)| judged.kind == kind).count();
    assert!(of(RequestKind::Etag200) > 60 && of(RequestKind::Etag304) > 60);
}

#[test]
fn an_honest_proxy_is_found_right_by_many_robots_that_break_off() {
    let plan = SPECIAL.replace("[robots]", "[robots]\nrobots = 8").replace("reload = '15%'", "abort = '10%'");
    let (seen, _, _) = through(Breakage::Nothing, &plan, WORLD);
    let mut wrong = seen.wrong();
    // Two that ask at once have a miss each.
    let false_misses = wrong.remove(ReplyFault::FalseMiss.label()).unwrap_or(0);
    assert_eq!(wrong, BTreeMap::new(), "{:#?}", seen.sums.examples);
    let offered = seen.sums.offered_hit_bytes.count;
    assert!(seen.sums.aborted > 10 && false_misses < offered / 3, "{} {false_misses}", seen.sums.aborted);
}

/// A later request for a new object can reach the cache before the first, which then is a hit.
#[test]
fn a_first_request_that_is_overtaken_is_no_false_hit() {
    let many = "[robots]\nrobots = 16\npopularity = 'zipf-recency:1'";
    let (seen, account, origins) = through(Breakage::Dawdles, &PLAIN.replace("[robots]", many), WORLD);
    let overtaken = |judged: &&ReplyJudgement| judged.hit.from_cache() && !judged.repeat;
    let overtaken = seen.judged.iter().map(|(_, judged)| judged).filter(overtaken).count();
    assert!(overtaken > 0);
    assert!(seen.wrong().keys().all(|name| name == ReplyFault::FalseMiss.label()), "{:?}", seen.wrong());
    assert_eq!((heard(&seen), origins), (account.forwarded, account.forwarded));
}

#[test]
fn private_replies_that_are_kept_are_named() {
    assert_fault(Breakage::KeepsPrivate, PLAIN, ReplyFault::HitOnUncachable);
}

#[test]
fn reloads_that_are_answered_from_the_cache_are_named() {
    assert_fault(Breakage::IgnoresReload, SPECIAL, ReplyFault::HitOnReload);
}

#[test]
fn a_cache_that_never_keeps_anything_misses_every_offered_hit() {
    assert_fault(Breakage::NeverKeeps, PLAIN, ReplyFault::FalseMiss);
    let (seen, ..) = through(Breakage::NeverKeeps, PLAIN, WORLD);
    assert_eq!(seen.faults(ReplyFault::FalseMiss), seen.sums.offered_hit_bytes.count);
    assert_eq!(
        ReplyFault::FalseMiss.weight(),
        Weight::Counted,
        "no rule says that a cache must keep anything"
    );
}

#[test]
fn a_cache_that_is_gone_round_under_load_is_seen_under_load_alone() {
    let world = format!("{WORLD}\n[origin]\nthink = 'const:2ms'");
    let many = PLAIN.replace("[robots]", "[robots]\nrobots = 8");
    let share = |breakage, plan: &str| {
        let (seen, account, _) = through(breakage, plan, &world);
        assert!(seen.wrong().keys().all(|name| name == ReplyFault::FalseMiss.label()), "{:?}", seen.wrong());
        let missed = seen.faults(ReplyFault::FalseMiss);
        assert!(missed >= account.wronged.len() as u64, "{missed}");
        missed as f64 / seen.sums.offered_hit_bytes.count as f64
    };
    assert_eq!(share(Breakage::BypassesUnderLoad, PLAIN), 0.0);
    let (honest, broken) = (share(Breakage::Nothing, &many), share(Breakage::BypassesUnderLoad, &many));
    assert!(honest < 0.3 && broken > 0.5, "{honest} {broken}");
}

/// Robots post to objects that others request, and more than once.
#[test]
fn a_reply_to_a_post_that_is_kept_is_named() {
    let posting = PLAIN.replace("recurrence = '60%'", "recurrence = '90%'\nspecial = { post = '60%' }");
    assert_fault(Breakage::KeepsPosts, &posting, ReplyFault::PostKept);
}

/// No reply shows it: the origin has more of them than robots sent, by as many.
#[test]
fn posts_that_are_sent_twice_are_counted_by_the_origin() {
    for breakage in [Breakage::Nothing, Breakage::RepeatsPosts] {
        let (origin, world) = origin(WORLD);
        let proxy = Proxy::start(address(&origin), breakage);
        let posting = PLAIN.replace("recurrence = '60%'", "recurrence = '60%'\nspecial = { post = '40%' }");
        let seen = robots(&posting, &world, proxy.address);
        let (posts, wronged) =
            (seen.sums.kinds[RequestKind::Post.index()].count(), proxy.account().wronged.len());
        assert!(posts > 100 && (breakage == Breakage::Nothing) == (wronged == 0), "{posts} {wronged}");
        assert_eq!(origin.tally().posts, posts + wronged as u64);
    }
}

#[test]
fn objects_that_are_swapped_are_named() {
    let (seen, account, _) = through(Breakage::SwapsObjects, PLAIN, WORLD);
    let wronged = account.wronged.len() as u64;
    assert_eq!(
        seen.wrong().remove(ReplyFault::WrongObject.label()),
        Some(wronged),
        "{:#?}",
        seen.sums.examples
    );
    // Another object of the same length has other bytes; its length is its own affair.
    let others: Vec<_> = seen.sums.faults.keys().filter(|fault| **fault != ReplyFault::WrongObject).collect();
    assert!(others.iter().all(|fault| **fault == ReplyFault::WrongBytes), "{others:?}");
    assert!(wronged > 5 && seen.sums.failed == wronged);
}

#[test]
fn bodies_that_are_not_the_object_s_are_named() {
    assert_fault(Breakage::ShortensBodies, PLAIN, ReplyFault::WrongLength);
    assert_fault(Breakage::FlipsABit, PLAIN, ReplyFault::WrongBytes);
    assert_named(Breakage::CutsBodies, PLAIN, &[ErrorClass::Truncated.as_str()]);
    assert_named(Breakage::ClosesEarly, PLAIN, &[ErrorClass::ClosedEarly.as_str()]);
}

/// A robot breaks off where it wants to; a reply that ends before that is no break of its own.
#[test]
fn bodies_that_end_before_their_robot_breaks_off_are_named() {
    let plan = "[robots]
        recurrence = '60%'
        special = { abort = '80%' }
        [[phase]]
        name = 'all'
        goal = { transactions = 400 }";
    // Broken off at the first byte or at the second.
    let world = format!("[[content]]{}", WORLD.split("[[content]]").nth(1).unwrap());
    let world = world.replace("exp:4KB", "const:2B").replace("70%", "100%");
    for (breakage, name) in [
        (Breakage::CutsBodies, ErrorClass::Truncated.as_str()),
        (Breakage::ShortensBodies, ReplyFault::WrongLength.label()),
    ] {
        let (seen, account, _) = through(breakage, plan, &world);
        let short = seen.sums.failed;
        assert_eq!(seen.wrong(), BTreeMap::from([(name.to_owned(), short)]), "{:#?}", seen.sums.examples);
        assert_eq!(seen.sums.finished, 400);
        let aborts = seen.judged.iter().filter(|(_, judged)| judged.kind == RequestKind::Abort);
        let (meant, other): (Vec<_>, Vec<_>) =
            aborts.partition(|(_, judged)| judged.outcome == RequestOutcome::Aborted);
        // About a quarter is spoiled, and half of that ends too early.
        assert!(meant.len() > 200 && other.len() > 10, "{} {}", meant.len(), other.len());
        assert!(other.iter().all(|(stamp, _)| account.wronged.contains(stamp)));
    }
}

#[test]
fn header_fields_that_are_lost_or_changed_are_named() {
    assert_fault(Breakage::LosesLastModified, PLAIN, ReplyFault::LostValidators);
    assert_fault(Breakage::LosesEtag, PLAIN, ReplyFault::LostValidators);
    assert_fault(Breakage::ChangesCacheControl, PLAIN, ReplyFault::CachabilityChanged);
    assert_fault(Breakage::ChangesMaxAge, PLAIN, ReplyFault::CachabilityChanged);
    assert_fault(Breakage::ChangesEtag, PLAIN, ReplyFault::ValidatorsChanged);
    assert_fault(Breakage::ChangesLastModified, PLAIN, ReplyFault::ValidatorsChanged);
    assert_fault(Breakage::ChangesContentType, PLAIN, ReplyFault::ContentTypeChanged);
    assert_fault(Breakage::AddsCookies, PLAIN, ReplyFault::CookieAdded);
    assert_fault(Breakage::AddsToAge, PLAIN, ReplyFault::AgeWrong);
    assert_fault(Breakage::DropsDates, PLAIN, ReplyFault::DateMissing);
    assert_fault(Breakage::DatesAhead, PLAIN, ReplyFault::DateOff);
    assert_fault(Breakage::ClaimsHits, PLAIN, ReplyFault::ProductDisagrees);
}

/// Each by its own label, and by no other.
#[test]
fn what_the_origin_never_said_is_named() {
    assert_fault(Breakage::DoublesEtags, PLAIN, ReplyFault::FieldDoubled);
    assert_fault(Breakage::ContradictsMaxAge, PLAIN, ReplyFault::CachabilityChanged);
    assert_fault(Breakage::AddsDirectives, PLAIN, ReplyFault::DirectiveAdded);
    assert_fault(Breakage::AddsVary, PLAIN, ReplyFault::VaryAdded);
    assert_fault(Breakage::AddsFields, PLAIN, ReplyFault::FieldAdded);
    assert_fault(Breakage::DatesBeforeTheRun, PLAIN, ReplyFault::DateOff);
}

/// Each by its own label, and by no other.
#[test]
fn what_a_portal_or_an_optimizer_does_is_named() {
    assert_fault(Breakage::SuffixesTags, PLAIN, ReplyFault::ValidatorsChanged);
    assert_fault(Breakage::OverflowsAge, PLAIN, ReplyFault::AgeWrong);
    assert_fault(Breakage::ZeroesExpires, PLAIN, ReplyFault::CachabilityChanged);
    assert_fault(Breakage::RefusesRanges, SPECIAL, ReplyFault::RangeWrong);
    assert_fault(Breakage::StartsRangesAtZero, SPECIAL, ReplyFault::WrongBytes);
    assert_fault(Breakage::AddsScripts, PLAIN, ReplyFault::WrongLength);
    assert_fault(Breakage::MakesPages, PLAIN, ReplyFault::ForeignReply);
    assert_fault(Breakage::Redirects, PLAIN, ReplyFault::UnexpectedStatus);
    assert_fault(Breakage::MarksImmutable, PLAIN, ReplyFault::DirectiveAdded);
    assert_fault(Breakage::LosesPrivate, PLAIN, ReplyFault::CachabilityChanged);
}

/// The origin says in its reply what it got.
#[test]
fn uploads_that_do_not_come_as_they_were_sent_are_named() {
    let posting = PLAIN.replace(
        "recurrence = '60%'",
        "recurrence = '60%'\nspecial = { post = '40%' }\npost_body = 'exp:2KB'",
    );
    for breakage in [Breakage::CutsUploads, Breakage::ChangesUploads, Breakage::GetsUploads] {
        let (seen, account, _) = through(breakage, &posting, WORLD);
        let wronged = account.wronged.len() as u64;
        let mut wrong = seen.wrong();
        wrong.remove(ReplyFault::FalseMiss.label()); // a POST throws its object out
        assert_eq!(
            wrong,
            BTreeMap::from([(ReplyFault::UploadChanged.label().to_owned(), wronged)]),
            "{breakage:?}"
        );
        assert!(wronged > 20 && seen.sums.failed == wronged, "{breakage:?}: {wronged}");
    }
}

/// RFC 9110 section 7.6.1. A proxy of its own fetches says nothing of who was before it: no Via here.
#[test]
fn a_field_for_the_cache_alone_that_comes_to_the_origin_is_counted_there() {
    let plan = PLAIN.replace("recurrence = '60%'", "recurrence = '60%'\nspecial = { hop = '40%' }");
    for breakage in [Breakage::Nothing, Breakage::PassesHop] {
        let (origin, world) = origin(WORLD);
        let proxy = Proxy::start(address(&origin), breakage);
        let seen = robots(&plan, &world, proxy.address);
        assert_eq!(seen.wrong(), BTreeMap::new());
        let (account, tally) = (proxy.account(), origin.tally());
        assert!(seen.sums.kinds[RequestKind::Hop.index()].count() > 100);
        assert_eq!(tally.hop_passed, account.wronged.len() as u64);
        assert_eq!((breakage == Breakage::PassesHop), tally.hop_passed > 20, "{}", tally.hop_passed);
        assert_eq!((tally.without_via, tally.other_host), (account.forwarded, 0));
    }
}

/// RFC 9110 section 13.1.1: a cache may leave If-Match to the origin, which answers 412, or ignore it.
#[test]
fn both_answers_to_if_match_are_right() {
    let plan = PLAIN.replace("recurrence = '60%'", "recurrence = '60%'\nspecial = { match412 = '40%' }");
    let (origin, world) = origin(WORLD);
    let direct = robots(&plan, &world, address(&origin));
    let of = |seen: &Seen, status| seen.sums.statuses.get(&status).map_or(0, |traffic| traffic.count());
    assert!(direct.sums.failed == 0 && of(&direct, 412) > 100, "{:?}", direct.wrong());
    let (seen, ..) = through(Breakage::Nothing, &plan, WORLD);
    assert_eq!((seen.wrong(), of(&seen, 412)), (BTreeMap::new(), 0));
}

/// Those who get a 304 put what it says into the reply that they keep.
#[test]
fn what_a_304_says_of_another_version_is_named() {
    assert_fault(Breakage::LengthensNotModified, TAGGED, ReplyFault::CachabilityChanged);
    assert_fault(Breakage::RetagsNotModified, TAGGED, ReplyFault::ValidatorsChanged);
}

#[test]
fn replies_to_posts_and_lengths_for_head_are_looked_at() {
    let posting = PLAIN.replace("recurrence = '60%'", "recurrence = '60%'\nspecial = { post = '40%' }");
    let (seen, account, _) = through(Breakage::ChangesPosts, &posting, WORLD);
    let wronged = account.wronged.len() as u64;
    // A POST throws the object out of this cache.
    assert!(seen.wrong().keys().all(|name| ["wrong-bytes", "false-miss"].contains(&name.as_str())));
    assert!(wronged > 5 && seen.faults(ReplyFault::WrongBytes) == wronged, "{:?} {wronged}", seen.wrong());
    let heading = PLAIN.replace("recurrence = '60%'", "recurrence = '60%'\nspecial = { head = '40%' }");
    assert_fault(Breakage::ChangesHeadLength, &heading, ReplyFault::HeadLength);
}

#[test]
fn another_expires_is_named_where_it_does_not_move_with_the_clock() {
    let lasting = WORLD.split("[[content]]").nth(1).unwrap();
    let world = format!("[[content]]{}", lasting.replace("share = \"70%\"", ""));
    let (seen, account, _) = through(Breakage::ChangesExpires, PLAIN, &world);
    let wronged = account.wronged.len() as u64;
    assert_eq!(seen.wrong(), BTreeMap::from([(ReplyFault::CachabilityChanged.label().to_owned(), wronged)]));
}

#[test]
fn statuses_that_do_not_answer_the_request_are_named() {
    assert_fault(Breakage::Sends304Unasked, PLAIN, ReplyFault::Wrong304);
    assert_fault(Breakage::Sends304Unasked, SPECIAL, ReplyFault::Wrong304);
    assert_fault(Breakage::MatchesAnyTag, TAGGED, ReplyFault::Wrong304);
    assert_fault(Breakage::IgnoresConditions, TAGGED, ReplyFault::Wrong200);
    assert_fault(Breakage::IgnoresConditions, SPECIAL, ReplyFault::Wrong200);
    assert_fault(Breakage::IgnoresRanges, SPECIAL, ReplyFault::RangeIgnored);
    assert_fault(Breakage::ShiftsRanges, SPECIAL, ReplyFault::RangeWrong);
    assert_fault(Breakage::Refuses, PLAIN, ReplyFault::UnexpectedStatus);
}

#[test]
fn replies_of_nobody_and_loops_are_named() {
    assert_fault(Breakage::DropsStamps, PLAIN, ReplyFault::ForeignReply);
    assert_fault(Breakage::FindsALoop, PLAIN, ReplyFault::Loop);
    assert_fault(Breakage::GoesRound, PLAIN, ReplyFault::Loop);
}

/// Nobody knows better than the robots when an object changed: within the seconds that dates and clocks cannot tell
/// apart they keep quiet.
#[test]
fn old_versions_are_named_and_an_honest_proxy_has_none() {
    let plan = "[robots]
        rate = '300/s'
        recurrence = '60%'
        connections = '1'
        [[phase]]
        name = 'all'
        goal = { transactions = 2000 }";
    let (seen, ..) = through(Breakage::Nothing, plan, CHANGING);
    let notes = |seen: &Seen| seen.wrong().keys().all(|name| name == ReplyFault::FalseMiss.label());
    assert!(notes(&seen), "{:?} {:#?}", seen.wrong(), seen.sums.examples);
    let (seen, account, _) = through(Breakage::ServesStale, plan, CHANGING);
    let stale = seen.faults(ReplyFault::StaleHit);
    assert_eq!(seen.wrong(), BTreeMap::from([(ReplyFault::StaleHit.label().to_owned(), stale)]));
    assert!(stale > 50 && stale <= account.wronged.len() as u64, "{stale} {}", account.wronged.len());
}

/// Each version has bytes of its own, and its head says which it is.
#[test]
fn bytes_of_an_older_version_under_a_newer_head_are_wrong_bytes() {
    let plan = "[robots]
        rate = '300/s'
        recurrence = '80%'
        connections = '1'
        special = { range = '30%' }
        [[phase]]
        name = 'all'
        goal = { transactions = 1500 }";
    let world = CHANGING.replace("exp:2KB", "const:2KB");
    for breakage in
        [Breakage::Nothing, Breakage::KeepsOldBodies, Breakage::JoinsVersions, Breakage::KeepsOldParts]
    {
        let (seen, account, _) = through(breakage, plan, &world);
        let (mut wrong, wronged) = (seen.wrong(), account.wronged.len() as u64);
        wrong.remove(ReplyFault::FalseMiss.label());
        let named = (wronged > 0).then(|| (ReplyFault::WrongBytes.label().to_owned(), wronged));
        assert_eq!(wrong, BTreeMap::from_iter(named), "{breakage:?}: {:#?}", seen.sums.examples);
        assert_eq!(wronged > 10, breakage != Breakage::Nothing, "{breakage:?}: {wronged}");
    }
}

/// A proxy that behaves before bakeoff alone behaves where names are the known ones, and cannot where they are drawn.
#[test]
fn a_proxy_does_not_know_a_run_by_names_that_are_drawn() {
    for (names, is_known) in [("", true), ("names = 7", false)] {
        let (seen, account, _) = through(Breakage::SparesBakeoff, PLAIN, &format!("{names}\n{WORLD}"));
        let wronged = account.wronged.len() as u64;
        let named = (!is_known).then(|| (ReplyFault::WrongBytes.label().to_owned(), wronged));
        assert_eq!(seen.wrong(), BTreeMap::from_iter(named), "{:#?}", seen.sums.examples);
        assert_eq!((seen.sums.finished, wronged > 20), (400, !is_known), "{wronged}");
    }
}

/// A cache that was not emptied, and a world that was used before. An object that it has validated first is not named.
#[test]
fn what_another_run_left_in_the_cache_is_named() {
    let (origin, world) = origin(WORLD);
    let proxy = Proxy::start(address(&origin), Breakage::Nothing);
    assert_eq!(robots(PLAIN, &world, proxy.address).wrong(), BTreeMap::new());
    let seen = robots(PLAIN, &world, proxy.address);
    let new_hits = seen.judged.iter().filter(|(_, judged)| judged.hit == Hit::Hit && !judged.repeat).count();
    assert!(new_hits > 50, "{new_hits}");
    assert_eq!(seen.wrong(), BTreeMap::from([(ReplyFault::FalseHit.label().to_owned(), new_hits as u64)]));
}
