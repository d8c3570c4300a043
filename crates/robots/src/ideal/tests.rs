//! Tests of `ideal`: cases whose answer is known.

use super::*;
use bakeoff_content::SplitMix64;

/// One request a second for each letter, 10 bytes, answered at once; capitals may not be cached.
fn letters(text: &str) -> RequestStream {
    RequestStream::new(text.bytes().enumerate().map(|(second, letter)| {
        let start = Nanos::from_secs(second as u64);
        let cachable = letter.is_ascii_lowercase();
        StreamRequest {
            object: u64::from(letter),
            bytes: 10,
            start,
            end: start,
            cachable,
            hit: false,
            counts: true,
        }
    }))
}

fn hits(stream: &RequestStream, policy: ReplacementPolicy, capacity: u64) -> u64 {
    stream.replay(policy, Bytes::new(capacity)).hits
}

/// A skewed choice of objects: the product of two numbers is small more often than large.
fn random(seed: u64, requests: usize, sizes: bool) -> Vec<StreamRequest> {
    let mut random = SplitMix64::new(seed);
    let mut draw = |below: u64| random.next_u64() % below;
    (0..requests as u64)
        .map(|turn| {
            let object = draw(40) * draw(40);
            let start = Nanos::new(turn * 1000);
            let bytes = if sizes { 1 + object * 7919 % 97 } else { 1 };
            let cachable = object % 5 != 0;
            StreamRequest {
                object,
                bytes,
                start,
                end: start + Nanos::new(draw(50_000)),
                cachable,
                hit: false,
                counts: true,
            }
        })
        .collect()
}

#[test]
fn without_bounds_every_repeat_is_a_hit() {
    let stream = letters("abcabcaXX");
    let ideal = stream.known_at_once();
    assert_eq!(ideal, Hits { requests: 9, hits: 4, bytes: 90, hit_bytes: 40 });
    assert_eq!((ideal.document_ratio(), ideal.byte_ratio()), (Some(4.0 / 9.0), Some(4.0 / 9.0)));
    assert_eq!(stream.known_when_fetched(), ideal);
    let empty = letters("");
    assert!(empty.is_empty() && empty.known_at_once().document_ratio().is_none());
    assert_eq!(empty.replay(ReplacementPolicy::Belady, Bytes::new(10)).byte_ratio(), None);
}

#[test]
fn repeats_in_flight_are_misses_until_the_first_fetch_ends() {
    let at = Nanos::from_secs;
    let request = |start, end| StreamRequest {
        object: 1,
        bytes: 10,
        start: at(start),
        end: at(end),
        cachable: true,
        hit: false,
        counts: true,
    };
    // Sorted by start, in whatever order they ended; the second fetch ends before the first.
    let stream =
        RequestStream::new([request(4, 5), request(0, 9), request(1, 4), request(3, 8), request(6, 7)]);
    assert_eq!(stream.known_at_once().hits, 4);
    assert_eq!(stream.known_when_fetched().hits, 2, "those at 4 and 6");
    assert_eq!(stream.len(), 5);
}

#[test]
fn room_for_everything_is_as_good_as_no_bounds() {
    for seed in 0..20 {
        let stream = RequestStream::new(random(seed, 500, true));
        for policy in ReplacementPolicy::ALL {
            assert_eq!(
                stream.replay(policy, Bytes::new(u64::MAX)),
                stream.known_when_fetched(),
                "{policy:?}"
            );
            assert!(stream.known_when_fetched().hits < stream.known_at_once().hits);
        }
    }
}

#[test]
fn no_room_and_objects_that_are_too_large_give_no_hits() {
    for policy in ReplacementPolicy::ALL {
        assert_eq!(hits(&letters("aaaa"), policy, 0), 0);
        assert_eq!(hits(&letters("aaaa"), policy, 9), 0);
        assert_eq!(hits(&letters("aaaa"), policy, 10), 3);
        assert_eq!(hits(&letters("AAAA"), policy, 10), 0);
    }
}

#[test]
fn lru_on_streams_with_known_answers() {
    // A loop one larger than the cache is LRU's worst.
    assert_eq!(hits(&letters("abcabcabc"), ReplacementPolicy::Lru, 20), 0);
    assert_eq!(hits(&letters("abcabcabc"), ReplacementPolicy::Lru, 30), 6);
    // b leaves when c comes, as a was requested in between.
    assert_eq!(hits(&letters("abacab"), ReplacementPolicy::Lru, 20), 2);
}

#[test]
fn belady_on_streams_with_known_answers() {
    // c is bypassed: a and b stay.
    assert_eq!(hits(&letters("abcabcabc"), ReplacementPolicy::Belady, 20), 4);
    assert_eq!(hits(&letters("abacab"), ReplacementPolicy::Belady, 20), 3);
    assert_eq!(hits(&letters("abcdeabcde"), ReplacementPolicy::Belady, 30), 3);
    // An object that is never requested again takes no room.
    assert_eq!(hits(&letters("axyzaxa"), ReplacementPolicy::Belady, 20), 3);
}

#[test]
fn s3fifo_keeps_what_was_asked_for_often_over_a_scan() {
    let scan: String = ('c'..='z').collect();
    let stream = letters(&format!("abababab{scan}ab"));
    assert_eq!(hits(&stream, ReplacementPolicy::S3Fifo, 40), 6 + 2);
    assert_eq!(hits(&stream, ReplacementPolicy::Lru, 40), 6);
}

/// The paper's rules by hand: room for ten of 10 bytes, so that the small queue's share is one.
#[test]
fn s3fifo_takes_ghosts_back_into_the_main_queue() {
    // a..j fill the room; k drives a out, to the ghosts; a comes back to the main queue, driving b out.
    // Nine more (l..t) drive all of the small queue out, and a stays.
    assert_eq!(hits(&letters("abcdefghijkalmnopqrsta"), ReplacementPolicy::S3Fifo, 100), 1);
    assert_eq!(hits(&letters("abcdefghijkalmnopqrsta"), ReplacementPolicy::Lru, 100), 1);
    assert_eq!(hits(&letters("abcdefghijkalmnopqrstuvwxyza"), ReplacementPolicy::S3Fifo, 100), 1);
    assert_eq!(hits(&letters("abcdefghijkalmnopqrstuvwxyza"), ReplacementPolicy::Lru, 100), 0);
}

/// The most hits there can be with objects of one size, by trying all ways to run a small cache.
fn best(requests: &[u32], room: usize, held: &mut Vec<u32>) -> u64 {
    let Some((first, rest)) = requests.split_first() else { return 0 };
    if held.contains(first) {
        return 1 + best(rest, room, held);
    }
    let mut most = best(rest, room, held);
    if held.len() < room {
        held.push(*first);
        most = most.max(best(rest, room, held));
        held.pop();
        return most;
    }
    for place in 0..held.len() {
        let out = std::mem::replace(&mut held[place], *first);
        most = most.max(best(rest, room, held));
        held[place] = out;
    }
    most
}

#[test]
fn belady_is_the_best_there_is_for_objects_of_one_size() {
    for seed in 0..40 {
        let mut draw = SplitMix64::new(seed);
        let objects: Vec<u32> = (0..11).map(|_| (draw.next_u64() % 5) as u32).collect();
        let text: String = objects.iter().map(|object| char::from(b'a' + *object as u8)).collect();
        for room in 1..=2 {
            let most = best(&objects, room, &mut Vec::new());
            assert_eq!(
                hits(&letters(&text), ReplacementPolicy::Belady, 10 * room as u64),
                most,
                "{text} {room}"
            );
        }
    }
    // The textbooks' example has 9 faults in 20 where no object may be bypassed.
    let textbook = letters("habcadaecdadcbcabhab");
    assert!(hits(&textbook, ReplacementPolicy::Belady, 30) >= 11);
}

#[test]
fn belady_is_never_below_the_others() {
    for seed in 0..60 {
        for sizes in [false, true] {
            let stream = RequestStream::new(random(seed, 2000, sizes));
            for share in [2, 5, 20] {
                let capacity = if sizes { 48 * 600 / share } else { 600 / share };
                let belady = hits(&stream, ReplacementPolicy::Belady, capacity);
                for policy in [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo] {
                    let other = hits(&stream, policy, capacity);
                    assert!(belady >= other, "seed {seed}: {belady} < {other} of {policy:?}");
                }
                assert!(belady <= stream.known_when_fetched().hits);
            }
        }
    }
}

#[test]
fn objects_without_bytes_take_no_room_and_block_nothing() {
    let requests = |bytes: fn(u64) -> u64| {
        RequestStream::new((0..300).map(|turn| {
            let (object, start) = (turn % 30, Nanos::new(turn));
            StreamRequest {
                object,
                bytes: bytes(object),
                start,
                end: start,
                cachable: true,
                hit: false,
                counts: true,
            }
        }))
    };
    for policy in ReplacementPolicy::ALL {
        assert_eq!(hits(&requests(|_| 0), policy, 0), 270, "{policy:?}");
        let some = hits(&requests(|object| object % 2), policy, 10);
        assert!(some < 270, "{policy:?} has no room for all: {some}");
    }
}

/// A million requests, so that a complexity above n log n would be felt.
#[test]
fn a_million_requests_pass() {
    let mut requests = random(3, 1_000_000, true);
    for (turn, request) in requests.iter_mut().enumerate() {
        request.object = request.object * 131 + turn as u64 % 131;
    }
    let stream = RequestStream::new(requests);
    for policy in ReplacementPolicy::ALL {
        let ratio = stream.replay(policy, Bytes::new(300_000)).document_ratio().unwrap();
        assert!(ratio > 0.05 && ratio < stream.known_at_once().document_ratio().unwrap(), "{policy:?}");
    }
}

#[test]
fn what_was_sent_before_is_known_and_not_counted() {
    let request = |object, start| StreamRequest {
        object,
        bytes: 10,
        start: Nanos::new(start),
        end: Nanos::new(start + 1),
        cachable: true,
        hit: false,
        counts: true,
    };
    let stream = RequestStream::new([request(1, 0), request(2, 5), request(1, 10), request(3, 11)]);
    let all = stream.known_at_once();
    assert_eq!((all.requests, all.hits), (4, 1));
    let late = stream.counting_from(Nanos::new(10)).known_when_fetched();
    assert_eq!((late.requests, late.hits, late.hit_bytes), (2, 1, 10));
}

#[test]
fn what_is_in_no_ratio_brings_its_object_and_takes_room() {
    let request = |object, start, counts| StreamRequest {
        object,
        bytes: 10,
        start: Nanos::new(start),
        end: Nanos::new(start + 1),
        cachable: true,
        hit: false,
        counts,
    };
    let stream = RequestStream::new([
        request(1, 0, false),
        request(1, 5, true),
        request(2, 10, false),
        request(1, 15, true),
    ]);
    for hits in [stream.known_at_once(), stream.known_when_fetched()] {
        assert_eq!((hits.requests, hits.hits, hits.bytes, hits.hit_bytes), (2, 2, 20, 20));
    }
    assert_eq!(
        stream.replay(ReplacementPolicy::Lru, Bytes::new(10)).hits,
        1,
        "the second object took its place"
    );
}
