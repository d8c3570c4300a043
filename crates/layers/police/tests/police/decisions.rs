//! Decisions: rates, buckets for prefixes, classes, queues, swapped rules; and explanations that agree with them.

use crate::{SERVER, police, rules, segment, syn, table};
use bakeoff_layers_police::explain::{connection, request};
use bakeoff_layers_police::reference::{
    Fragment, Load, PacketDecision, PacketKind, PacketOutcome, Police, Reason, Syn,
};
use bakeoff_layers_police::rules::table::{Refuse, RuleId};

const SECOND: u64 = 1_000_000_000;

fn reason(decision: PacketDecision) -> Option<Reason> {
    match decision.outcome {
        PacketOutcome::Pass => None,
        PacketOutcome::Refuse { reason, .. } => Some(reason),
    }
}

fn load(queues: &[u32], bounds: &[u32]) -> Load {
    Load { queues: queues.to_vec(), bounds: bounds.to_vec() }
}

#[test]
fn a_source_has_its_rate_its_class_and_its_way_to_be_refused() {
    let mut police =
        police("[[from]]\nsource = \"10.0.0.0/8\"\nclass = \"high\"\nrate = \"2/s\"\nrefuse = \"reset\"\n");
    let told: Vec<PacketDecision> = (0..3).map(|_| police.syn(0, &syn("10.1.1.1"))).collect();
    assert_eq!(told.iter().map(|told| reason(*told)).collect::<Vec<_>>(), [None, None, Some(Reason::Rate)]);
    assert_eq!(told[2].outcome, PacketOutcome::Refuse { reason: Reason::Rate, how: Refuse::Reset });
    assert_eq!((told[0].rule, told[0].class, told[0].seen), (Some(RuleId(0)), Some(0), PacketKind::Syn));
    assert_eq!(reason(police.syn(SECOND / 2, &syn("10.2.2.2"))), None, "half a second is one more");
    let other = police.syn(0, &syn("11.1.1.1"));
    assert_eq!(
        (other.rule, other.class, reason(other)),
        (None, Some(1), None),
        "the lowest class, at any rate"
    );
    let mut elsewhere = syn("10.1.1.1");
    elsewhere.flow.port = 81;
    assert_eq!(police.syn(0, &elsewhere).seen, PacketKind::Other);
}

#[test]
fn fragments() {
    let mut police = police("");
    let told = |police: &mut Police, fragment| reason(police.syn(0, &Syn { fragment, ..syn("10.1.1.1") }));
    assert_eq!(told(&mut police, Fragment::CutHead), Some(Reason::Fragment));
    assert_eq!(told(&mut police, Fragment::Later), None);
}

#[test]
fn a_syn_brings_nothing_where_requests_have_rules() {
    let brings = |text: &str| reason(police(text).syn(0, &Syn { data: true, ..syn("10.1.1.1") }));
    assert_eq!(brings("[[from]]\nsource = \"10.0.0.0/8\"\n"), None);
    assert_eq!(brings("[[request]]\npath = \"*x*\"\n"), Some(Reason::SynData));
    assert_eq!(brings("[odd]\nrate = \"1/s\"\n"), Some(Reason::SynData));
}

#[test]
fn each_prefix_has_a_bucket_before_that_of_all() {
    let text = "[[from]]\nsource = \"10.0.0.0/8\"\nrate = \"1/s\"\nburst = 3\nper = \"/24\"\neach = \"1/s\"\neach-burst = 2\n";
    let mut police = police(text);
    let mut told = |now, source| reason(police.syn(now, &syn(source)));
    assert_eq!(
        [told(0, "10.0.0.1"), told(0, "10.0.0.2"), told(0, "10.0.0.3")],
        [None, None, Some(Reason::RatePer)]
    );
    assert_eq!(
        told(0, "10.0.1.1"),
        None,
        "its own is fresh, and what another's refused has taken nothing from all"
    );
    assert_eq!(told(0, "10.0.2.1"), Some(Reason::Rate), "of all three");
    // An arrival that its own bucket let pass and the common one refused has taken from its own.
    assert_eq!([told(0, "10.0.2.1"), told(0, "10.0.2.1")], [Some(Reason::Rate), Some(Reason::RatePer)]);
    assert_eq!(told(SECOND, "10.0.2.1"), None);
}

#[test]
fn a_class_enters_while_it_and_those_above_wait_below_its_bound() {
    let text = "[overload]\ntarget = \"20ms\"\n[[from]]\nsource = \"10.0.0.0/8\"\nclass = \"high\"\n\
                [[request]]\npath = \"/high\"\nclass = \"high\"\n[[request]]\npath = \"/low\"\nclass = \"low\"\nrefuse = \"429\"\n";
    let mut police = police(text);
    let ask = |police: &mut Police, load: Load| {
        police.load = load;
        let low = police.segment(0, &segment(0, b"GET /low HTTP/1.1\r\n\r\n")).outcome;
        [police.syn(0, &syn("10.1.1.1")), police.syn(0, &syn("11.1.1.1"))]
            .map(reason)
            .map(|reason| reason.is_some())
            .into_iter()
            .chain([low == PacketOutcome::Refuse { reason: Reason::Queue, how: Refuse::Status429 }])
            .collect::<Vec<_>>()
    };
    assert_eq!(ask(&mut police, Load::default()), [false, false, false]);
    assert_eq!(ask(&mut police, load(&[3, 4], &[10, 8])), [false, false, false]);
    assert_eq!(
        ask(&mut police, load(&[4, 4], &[10, 8])),
        [false, true, true],
        "both queues count for the lower class"
    );
    assert_eq!(
        ask(&mut police, load(&[0, 99], &[10, 8])),
        [false, true, true],
        "the lower queue does not for the higher"
    );
    assert_eq!(ask(&mut police, load(&[10, 0], &[10, 8])), [true, true, true]);
    assert_eq!(ask(&mut police, load(&[10, 0], &[0, 0])), [false, false, false], "not yet measured");
    assert_eq!(
        reason(police.segment(0, &segment(0, b"GET /x HTTP/1.1\r\n\r\n"))),
        None,
        "no class, no queue"
    );
    let mut unbounded = Police::new(&table("[[from]]\nsource = \"10.0.0.0/8\"\nclass = \"high\"\n"));
    assert_eq!(ask(&mut unbounded, load(&[10, 0], &[10, 8])), [false, false, false], "without [overload]");
}

#[test]
fn rates_can_hold_under_overload_only() {
    let text = "[overload]\ntarget = \"20ms\"\nwhen = \"overload\"\n[[from]]\nsource = \"10.0.0.0/8\"\nclass = \"high\"\nrate = \"1/s\"\n\
                [[request]]\npath = \"/x\"\nrefuse = \"reset\"\n";
    let mut police = police(text);
    let told = |police: &mut Police| [0; 2].map(|now| reason(police.syn(now, &syn("10.1.1.1"))));
    assert_eq!(told(&mut police), [None, None]);
    police.load = load(&[0, 9], &[20, 9]);
    assert_eq!(told(&mut police), [None, Some(Reason::Rate)], "a fresh bucket: nothing was taken before");
    police.load = Load::default();
    let always = police.segment(0, &segment(0, b"GET /x HTTP/1.1\r\n\r\n"));
    assert_eq!(reason(always), Some(Reason::Refused), "no rate, always");
}

#[test]
fn whole_paths_come_before_beginnings_before_parts() {
    let text = "[[request]]\npath = \"*b*\"\n[[request]]\npath = \"*a*\"\n[[request]]\npath = \"/x/*\"\n[[request]]\npath = \"/x/a/*\"\n\
                [[request]]\npath = \"/x/a/b\"\n";
    let police = police(text);
    let cases = [("/x/a/b", 4), ("/x/a/c", 3), ("/x/a/", 3), ("/x/a", 2), ("/x/", 2), ("/ab", 0), ("/a", 1)];
    for (path, rule) in cases {
        assert_eq!(police.path(path.as_bytes()), Some(RuleId(rule)), "{path}");
    }
    assert_eq!([police.path(b"/x"), police.path(b"/A")], [None, None]);
}

#[test]
fn odd_heads_pass_until_they_are_limited() {
    let odd = segment(0, b"GET /%41 HTTP/1.1\r\n\r\n");
    let free = police("[[request]]\npath = \"/x\"\n").segment(0, &odd);
    assert_eq!((free.seen, free.rule, free.outcome), (PacketKind::Odd, None, PacketOutcome::Pass));
    let mut limited = police("[odd]\nrate = \"1/s\"\nrefuse = \"429\"\n");
    let told = [limited.segment(0, &odd), limited.segment(0, &odd)];
    assert_eq!((told[0].rule, told[0].outcome), (Some(RuleId(0)), PacketOutcome::Pass));
    assert_eq!(told[1].outcome, PacketOutcome::Refuse { reason: Reason::Rate, how: Refuse::Status429 });
}

#[test]
fn a_swap_keeps_buckets_by_name_and_rate() {
    let rule = |source: &str, rate: &str| {
        format!("[[from]]\nsource = \"{source}\"\nrate = \"{rate}\"\nburst = 1\nper = \"/24\"\n")
    };
    let mut police = police(&rule("10.0.0.0/8", "1/h"));
    let told = |police: &mut Police| reason(police.syn(0, &syn("10.1.1.1")));
    assert_eq!([told(&mut police), told(&mut police)], [None, Some(Reason::RatePer)]);
    police.swap(&table(&(rule("11.0.0.0/8", "1/h") + &rule("10.0.0.0/8", "1/h"))));
    assert_eq!(told(&mut police), Some(Reason::RatePer), "at another place in the file");
    police.swap(&table(&rule("10.0.0.0/8", "2/h")));
    assert_eq!(
        told(&mut police),
        None,
        "another rate begins afresh: what was taken at 1/h would bind for an hour"
    );
}

#[test]
fn what_is_explained_names_rule_line_and_what_is_done_above() {
    let rules = rules(&format!(
        "{SERVER}[[from]]\nsource = \"10.0.0.0/8\"\nrate = \"300/s\"\n[[from]]\nsource = \"10.1.0.0/16\"\nclass = \"high\"\n\n\
         [[request]]\npath = \"/x/*\"\nrate = \"5/s\"\nrefuse = \"429\"\n[[request]]\npath = \"*no*\"\nrefuse = \"reset\"\n"
    ));
    let from = |address: &str, port| connection(&rules, address.parse().unwrap(), None, port).reason;
    assert_eq!(
        from("10.9.1.1", 80),
        "10.9.1.1 is in 10.0.0.0/8 (r.toml:4); class low, the lowest, as none is named, at the server's port 8201; passes up to \
         300/s, 300 at once; above refused in silence (counted as rate)"
    );
    assert_eq!(
        from("10.1.1.1", 80),
        "10.1.1.1 is in 10.1.0.0/16, the longest that holds (r.toml:7); class high, at the server's port 8200; passes at any rate"
    );
    assert!(from("::1", 80).starts_with("no [[from]] holds for ::1; class low"));
    assert_eq!(from("::1", 81), "port 81 is none of [server] listen = 80");
    let head = |text: &str| request(&rules, text);
    assert_eq!(
        head("GET /x/no?a HTTP/1.1").reason,
        "plain, path /x/no; no whole path matches, the longest beginning is /x/* (r.toml:11); passes up to 5/s, 5 at once; above \
         refused with 429 (counted as rate)"
    );
    let never = head("GET /no HTTP/1.1");
    assert!(
        never.refused && never.reason.ends_with("always refused by RST (counted as refused)"),
        "{never:?}"
    );
    assert_eq!(
        head("GET /%6e HTTP/1.1").reason,
        "odd: its path holds `%`; there is no [odd]; passes at any rate, and is counted"
    );
    let said = format!("{SERVER}[[request]]\npath = \"/x\"\n[unread]\nrate = \"5/s\"\n");
    let (unread, upgrade) = (crate::rules(&said), "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n\r\n");
    assert!(
        request(&unread, upgrade).reason.ends_with(
            "; its connection is not read from there on (counted as unread.upgrade); [unread] (r.toml:6); passes up to 5/s, 5 at \
             once; above refused by RST (counted as rate)"
        ),
        "{}",
        request(&unread, upgrade).reason
    );
    assert!(connection(&unread, "10.1.1.1".parse().unwrap(), None, 8200).reason.contains("class-port"));
    assert!(head("GET /n").reason.starts_with("odd: it is not METHOD /PATH HTTP/1.1"));
    assert_eq!(head("GET / HTTP/1.1").reason, "plain, path /; no [[request]] matches; passes at any rate");
}
