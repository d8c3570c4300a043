//! Parts of a run that meet at the origin, and malformed words to it.

use super::{PAGE, name, path, world};
use crate::support::{Reply, ask, ended, get, of_world, within_patience};
use bakeoff_origin::Origin;
use bakeoff_wire::parts::{PATH, PartRefusal, PartReply, PartSet, PartStep, Word};

fn word(part: &str, who: u64, step: PartStep) -> String {
    let mut target = Vec::new();
    Word { plan: 7, part: part.parse().unwrap(), who, step }.write(&mut target);
    String::from_utf8(target).unwrap()
}

/// The one reply to this word.
fn told(origin: &Origin, target: &str) -> Reply {
    let mut replies = ask(origin, format!("PUT {target} HTTP/1.1\r\nContent-Length: 0\r\n\r\n"));
    assert_eq!(replies.len(), 1);
    replies.remove(0)
}

fn heard(origin: &Origin, target: &str) -> PartReply {
    let reply = told(origin, target);
    assert_eq!((reply.status, reply.line("cache-control")), (200, Some("no-store")));
    PartReply::parse(&reply.body).unwrap()
}

fn refused(origin: &Origin, target: &str) -> Option<PartRefusal> {
    let reply = told(origin, target);
    assert_eq!((reply.status, reply.line("connection")), (409, Some("close")));
    PartRefusal::parse(&reply.body)
}

#[test]
fn parts_meet_whichever_thread_they_are_heard_by() {
    within_patience(|| {
        let origin = of_world(world(""), 4);
        let (one, two) = (word("1/2", 11, PartStep::Reached(0)), word("2/2", 22, PartStep::Reached(0)));
        assert_eq!(heard(&origin, &one).run, None);
        let run = heard(&origin, &two).run;
        assert!(run.is_some() && heard(&origin, &one).run == run);
        assert_eq!(heard(&origin, &word("1/2", 11, PartStep::Reached(1))).here.to_string(), "1");
        assert_eq!(heard(&origin, &word("2/2", 22, PartStep::Reached(1))).here, PartSet::all(2));
        assert_eq!(heard(&origin, &word("2/2", 22, PartStep::Gone)).gone.to_string(), "2");
        // None of that is a request for what is served, nor in its way.
        assert_eq!(origin.tally().requests, 0);
        assert_eq!(get(&origin, &path(&name(PAGE)), "").status, 200);
    });
}

#[test]
fn who_does_not_belong_hears_why_and_is_counted_by_that_name() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        heard(&origin, &word("1/2", 11, PartStep::Reached(0)));
        for (part, step, refusal) in [
            ("1/3", PartStep::Reached(0), PartRefusal::OtherNumber),
            ("1/2", PartStep::Reached(0), PartRefusal::Taken),
            ("2/2", PartStep::Reached(1), PartRefusal::Unknown),
        ] {
            assert_eq!(refused(&origin, &word(part, 99, step)), Some(refusal));
            assert_eq!(ended(&origin, &format!("part refused: {}", refusal.label())), 1);
        }
        assert!(heard(&origin, &word("2/2", 22, PartStep::Reached(0))).run.is_some());
    });
}

#[test]
fn garbage_is_answered_by_400_and_counted_and_parts_meet_all_the_same() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        heard(&origin, &word("1/2", 11, PartStep::Reached(0)));
        let good = word("2/2", 22, PartStep::Reached(0));
        let garbage = [
            PATH.to_owned(),
            format!("{PATH}?"),
            format!("{PATH}/2/2"),
            good.replace("2/2", "3/2"),
            good.replace("2/2", "2/65"),
            good.replace("2/2", "2/18446744073709551618"),
            good.replace("step=0", "step=-1"),
            good.replace("step=0", "step=100001"),
            good.replace("who=", "who=g"),
            format!("{good}&more"),
            format!("{good}{}", "9".repeat(5_000)),
        ];
        for target in &garbage {
            let reply = told(&origin, target);
            assert_eq!((reply.status, reply.line("connection")), (400, Some("close")), "{target}");
        }
        // Only a PUT is a part's word.
        assert_eq!(get(&origin, &good, "").status, 400);
        let all = garbage.len() as u64 + 1;
        while ended(&origin, "malformed word of a part") < all {
            std::thread::yield_now();
        }
        assert_eq!(ended(&origin, "malformed word of a part"), all);
        assert!(heard(&origin, &good).run.is_some());
    });
}

/// A site has no parts: there nothing is at that path.
#[test]
fn without_a_world_nobody_meets() {
    within_patience(|| {
        let origin = crate::support::origin();
        assert_eq!(get(&origin, PATH, "").status, 404);
    });
}
