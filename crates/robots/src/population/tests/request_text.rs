//! Tests of request texts.

use super::stage::*;
use crate::judge::RequestKind;
use crate::population::{Population, Setting, TargetForm};
use bakeoff_content::world::ObjectName;
use bakeoff_units::Nanos;
use bakeoff_wire::http1;
use bakeoff_wire::stamp::Words;
use bakeoff_workload::{Expect, Method, Source};
use std::collections::HashSet;

#[test]
fn targets_name_the_object_and_headers_the_stamp() {
    let absolute = Setting { form: TargetForm::Absolute("origin.test:8080".to_owned()), ..setting() };
    for (setting, before) in [(setting(), ""), (absolute, "http://origin.test:8080")] {
        let mut population = population(POLYMIX_4, spec("rate = '100/s'", &lasting(10)), setting);
        let run = run(&mut population, 200, at_once);
        for seen in &run.seen {
            let path = seen.target.strip_prefix(before).unwrap();
            assert_eq!(ObjectName::parse_path(population.model(), path.as_bytes()), Some(seen.flight.name));
            let value = seen.headers.strip_prefix("X-Bakeoff: ").unwrap().strip_suffix("\r\n").unwrap();
            assert_eq!(Words::default().parse_ask(value.as_bytes()), Some(seen.flight.stamp));
        }
    }
}

#[test]
fn special_requests_say_what_they_want() {
    let robots = "rate = '100/s'\nrecurrence = '50%'\n\
        special = { ims200 = '11%', ims304 = '11%', etag200 = '11%', etag304 = '11%', match412 = '10%', hop = '10%', reload = '11%', range = '11%', abort = '11%', head = '15%', post = '15%' }\n\
        post_body = 'const:2KB'";
    let mut population = population(POLYMIX_1, spec(robots, &lasting(20)), setting());
    let mut seen = [0; RequestKind::COUNT];
    let (mut posted, mut posted_again) = (HashSet::new(), 0);
    while let Some(ask) = population.next(0) {
        let (method, expect, ticket) = (ask.method, ask.expect, ask.ticket);
        let (sends, stop) = (ask.body.map(|body| body.len()), ask.stop_after);
        let headers = String::from_utf8(ask.headers.to_vec()).unwrap();
        let further = headers.split_once("\r\n").unwrap().1;
        let flight = population.flight(ticket).unwrap();
        let object = population.object(&flight.name).unwrap();
        seen[flight.kind.index()] += 1;
        let now = population.unix(flight.due).get() / 1_000_000_000;
        let since = |secs| format!("If-Modified-Since: {}\r\n", http1::http_date(secs));
        let matches = |etag: u64| format!("If-None-Match: \"{etag:016x}\"\r\n");
        let changed = object.at(now).last_modified;
        assert_eq!(method == Method::Head, flight.kind == RequestKind::Head);
        assert_eq!(method == Method::Post, flight.kind == RequestKind::Post);
        assert_eq!(sends, (method == Method::Post).then_some(2048));
        assert_eq!(stop.is_some(), flight.kind == RequestKind::Abort);
        assert!(stop.is_none_or(|stop| (1..=object.size).contains(&stop)));
        match flight.kind {
            RequestKind::Basic | RequestKind::Head | RequestKind::Abort => assert_eq!(further, ""),
            RequestKind::Post => {
                assert_eq!(further, "");
                assert!(flight.repeat || posted.insert(flight.name), "a new one has a URL of its own");
                posted_again += u64::from(flight.repeat);
            }
            RequestKind::Ims200 => assert_eq!(further, since(changed.unwrap() - 1)),
            RequestKind::Ims304 => assert_eq!(further, since(changed.unwrap())),
            RequestKind::Etag200 => assert_ne!(further, matches(object.at(now).etag)),
            RequestKind::Etag304 => assert_eq!(further, matches(object.at(now).etag)),
            RequestKind::Match412 => {
                assert!(
                    further.starts_with("If-Match: \"")
                        && !further.contains(&format!("{:016x}", object.at(now).etag))
                );
            }
            RequestKind::Hop => assert_eq!(further, "Connection: X-Bakeoff-Hop\r\nX-Bakeoff-Hop: 1\r\n"),
            RequestKind::Reload => assert_eq!(further, "Cache-Control: no-cache\r\nPragma: no-cache\r\n"),
            RequestKind::Range { first, last } => {
                assert!(first <= last && last < object.size);
                assert_eq!(further, format!("Range: bytes={first}-{last}\r\n"));
            }
        }
        if matches!(flight.kind, RequestKind::Basic | RequestKind::Post) {
            assert_eq!(expect, Expect::Body(object.body(object.at(now).number)));
        }
    }
    assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    assert!(posted.len() > 50 && posted_again > 50, "{} {posted_again}", posted.len());
}

#[test]
fn a_robot_accepts_gzip_in_all_that_it_asks_or_in_nothing() {
    let robots = "robots = 10\nrate = '200/s'\naccept_gzip = '60%'\n\
        special = { ims304 = '10%', reload = '10%', range = '20%', head = '10%', post = '10%' }";
    let mut population = population(POLYMIX_4, spec(robots, &lasting(20)), setting());
    let run = run(&mut population, 4_000, at_once);
    let says = |seen: &Seen| seen.headers.contains("\r\nAccept-Encoding: gzip\r\n");
    let (coded, never): (Vec<_>, Vec<_>) = run
        .seen
        .iter()
        .partition(|seen| !matches!(seen.flight.kind, RequestKind::Range { .. } | RequestKind::Post));
    assert!(never.len() > 200 && !never.iter().any(|seen| says(seen)));
    let of = |says_so: bool| coded.iter().filter(move |seen| says(seen) == says_so).map(|seen| seen.robot);
    let (accept, refuse): (HashSet<_>, HashSet<_>) = (of(true).collect(), of(false).collect());
    assert!(accept.is_disjoint(&refuse), "{accept:?} {refuse:?}");
    assert!((5..=7).contains(&accept.len()) && refuse.len() == 10 - accept.len(), "{accept:?} of ten");
    let refuses = |seen: &Seen| seen.headers.contains("\r\nAccept-Encoding: identity\r\n");
    assert!(run.seen.iter().all(|seen| says(seen) != refuses(seen)), "who says nothing accepts anything");
    assert!(coded.iter().any(|seen| seen.flight.embedded && says(seen)), "what a page embeds is its robot's");
}

/// An object may change between the moment at which a request was due and that at which it is sent.
#[test]
fn conditions_are_about_the_moment_at_which_a_request_is_sent() {
    let robots = "rate = '100/s'\nspecial = { ims304 = '50%', etag304 = '50%' }";
    let changing = POLYMIX_1.replace("const:2year", "const:3s");
    assert_ne!(changing, POLYMIX_1);
    let mut population = population(&changing, spec(robots, &lasting(20)), setting());
    let since = |population: &Population, ticket: u32, moment: Nanos| {
        let flight = *population.flight(ticket).unwrap();
        let version = population.object(&flight.name).unwrap().at(population.unix(moment).whole_secs());
        match (flight.kind, version.last_modified) {
            (RequestKind::Ims304, Some(modified)) => Some(http1::http_date(modified)),
            (RequestKind::Etag304, _) => Some(format!("{:016x}", version.etag)),
            _ => None,
        }
    };
    let (mut late, mut waited) = (0, 0);
    while let Some(ask) = population.next(0) {
        let (ticket, headers) = (ask.ticket, String::from_utf8(ask.headers.to_vec()).unwrap());
        let flight = *population.flight(ticket).unwrap();
        if let Some(says) = since(&population, ticket, flight.written) {
            assert!(headers.contains(&says), "{headers} {says}");
            late += u32::from(since(&population, ticket, flight.due) != Some(says));
        }
        // It waits for a connection, and is sent later still.
        let sent = flight.written + Nanos::from_secs(2);
        let anew = String::from_utf8(population.rewrite(ticket, sent).unwrap().to_vec()).unwrap();
        if let Some(says) = since(&population, ticket, sent) {
            assert!(anew.contains(&says), "{anew} {says}");
            waited += u32::from(anew != headers);
        }
        assert_eq!((anew.len(), population.flight(ticket).unwrap().written), (headers.len(), sent));
        // The robots are late by two seconds.
        population.see(flight.due + Nanos::from_secs(2));
    }
    assert!(late > 100 && waited > 100, "{late} {waited}");
}
