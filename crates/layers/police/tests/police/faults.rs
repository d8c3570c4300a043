//! Every fault of rules by itself: its line, its name, and its advice.

use crate::{SERVER, faults, rules};
use bakeoff_layers_police::rules::RuleFaultKind;
use std::fmt::Write;

/// Fault, text after the sound part, number of lines below it, message.
const CASES: [(RuleFaultKind, &str, usize, &str); 53] = [
    (RuleFaultKind::NotToml, "[odd", 1, "unclosed table"),
    (RuleFaultKind::Unknown, "[[form]]", 1, "there is no key `form`; did you mean `from`?"),
    (RuleFaultKind::Unknown, "[odd]\nrat = \"1/s\"", 2, "did you mean `rate`?"),
    (RuleFaultKind::Unknown, "[odd]\nper = \"/24\"", 2, "it belongs to [[from]]"),
    (RuleFaultKind::Unknown, "[[request]]\npath = \"/x\"\ncookie = \"a=b\"", 3, "told apart by path alone"),
    (RuleFaultKind::Unknown, "[[from]]\nsource = \"::/0\"\npath = \"/x\"", 3, "judged in [[request]]"),
    (RuleFaultKind::Unknown, "[odd]\nrefuse = \"500\"", 2, "no way to refuse `500`; did you mean `503`?"),
    (
        RuleFaultKind::Unknown,
        "[[request]]\npath = \"/x\"\nclass = \"hihg\"",
        3,
        "no class `hihg`; did you mean `high`?",
    ),
    (RuleFaultKind::Unknown, "[[from]]\nsource = \"::/0\"\nclass = \"gold\"", 3, "known are high, low"),
    (RuleFaultKind::Unknown, "[overload]\ntarget = \"20ms\"\nwhen = \"alway\"", 3, "did you mean `always`?"),
    (
        RuleFaultKind::Unknown,
        "[overload]\ntarget = \"20ms\"\nshares = { high = 1, low = 0.5, lov = 1 }",
        3,
        "`lov`; did you mean `low`?",
    ),
    (RuleFaultKind::OfAnotherType, "[[odd]]\nrate = \"1/s\"", 1, "`odd` is a table: write [odd]"),
    (RuleFaultKind::OfAnotherType, "[from]\nsource = \"::/0\"", 1, "write [[from]]"),
    (RuleFaultKind::OfAnotherType, "[odd]\nrate = 10", 2, "write rate = \"300/s\""),
    (RuleFaultKind::OfAnotherType, "[odd]\nrate = \"1/s\"\nburst = 2.5", 3, "write burst = 300"),
    (RuleFaultKind::OfAnotherType, "[[request]]\npath = [\"/x\"]", 2, "write path = \"/x\""),
    (RuleFaultKind::KeyMissing, "[[from]]\nrate = \"1/s\"", 1, "`source` is missing"),
    (RuleFaultKind::KeyMissing, "[[request]]\nrate = \"1/s\"", 1, "`path` is missing"),
    (RuleFaultKind::KeyMissing, "[overload]\nwhen = \"overload\"", 1, "`target` is missing"),
    (
        RuleFaultKind::KeyMissing,
        "[overload]\ntarget = \"20ms\"\nshares = { high = 1.0 }",
        1,
        "class low has no share",
    ),
    (
        RuleFaultKind::KeyMissing,
        "[[from]]\nsource = \"::/0\"\nrate = \"1/s\"\neach = \"1/s\"",
        4,
        "write per = \"/24\", too",
    ),
    (
        RuleFaultKind::Twice,
        "[[from]]\nsource = \"10.1.0.0/16\"\n[[from]]\nsource = \"10.1.0.0/16\"",
        3,
        "in line 4",
    ),
    (
        RuleFaultKind::Twice,
        "[[request]]\npath = \"/x/*\"\n\n[[request]]\npath = \"/x/*\"",
        4,
        "/x/* has a rule already",
    ),
    (RuleFaultKind::NoPrefix, "[[from]]\nsource = \"10.0.0/8\"", 2, "as 10.0.0.0/8"),
    (RuleFaultKind::NoPrefix, "[[from]]\nsource = \"10.0.0.0/33\"", 2, "is no prefix"),
    (RuleFaultKind::NoPrefix, "[[from]]\nsource = \"10.0.0.0/+8\"", 2, "is no prefix"),
    (RuleFaultKind::NoPrefix, "[[from]]\nsource = \"example.org\"", 2, "is no prefix"),
    (
        RuleFaultKind::HostBits,
        "[[from]]\nsource = \"10.1.2.3/8\"",
        2,
        "write 10.0.0.0/8, or 10.1.2.3 for it alone",
    ),
    (RuleFaultKind::HostBits, "[[from]]\nsource = \"2001:db8::1/64\"", 2, "write 2001:db8::/64"),
    (RuleFaultKind::NoPrefix, "[[from]]\nsource = \"::ffff:10.0.0.0/104\"", 2, "write 10.0.0.0/8"),
    (RuleFaultKind::OtherFamily, "[[from]]\nsource = \"::/0\"\nto = \"10.0.0.1\"", 3, "not of one family"),
    (RuleFaultKind::OutOfRange, "[odd]\nrate = \"0/s\"", 2, "no rate: write one from 1/h"),
    (RuleFaultKind::OutOfRange, "[odd]\nrate = \"2000000/s\"", 2, "out of range"),
    (RuleFaultKind::OutOfRange, "[odd]\nrate = \"0.5/h\"", 2, "out of range"),
    (RuleFaultKind::OutOfRange, "[odd]\nrate = \"fast\"", 2, "such as 300/s or 20/min"),
    (RuleFaultKind::OutOfRange, "[odd]\nrate = \"1/s\"\nburst = 0", 3, "a burst of 0"),
    (RuleFaultKind::OutOfRange, "[odd]\nrate = \"1/s\"\nburst = 1000001", 3, "write 1 to 1000000"),
    (
        RuleFaultKind::OutOfRange,
        "[[from]]\nsource = \"::/0\"\nrate = \"1/s\"\nper = \"/8\"\neach = \"1/h\"",
        4,
        "write \"/16\" to \"/64\"",
    ),
    (
        RuleFaultKind::OutOfRange,
        "[[from]]\nsource = \"10.0.0.0/24\"\nrate = \"1/s\"\nper = \"/24\"",
        4,
        "no part of 10.0.0.0/24",
    ),
    (RuleFaultKind::OutOfRange, "[overload]\ntarget = \"20s\"", 2, "from 1ms to 10s"),
    (
        RuleFaultKind::OutOfRange,
        "[overload]\ntarget = \"20ms\"\nshares = { high = 2.0, low = 0.5 }",
        3,
        "write 0.001 to 1",
    ),
    (
        RuleFaultKind::OutOfRange,
        "[overload]\ntarget = \"20ms\"\nshares = { high = 0.5, low = 1 }",
        3,
        "than the one above",
    ),
    (RuleFaultKind::NoRate, "[odd]\nburst = 5", 2, "write rate, too"),
    (
        RuleFaultKind::NoRate,
        "[[from]]\nsource = \"10.0.0.0/8\"\nper = \"/24\"",
        3,
        "write rate for all together",
    ),
    (
        RuleFaultKind::NoRate,
        "[[from]]\nsource = \"::/0\"\nclass = \"high\"\nrefuse = \"reset\"",
        1,
        "write rate, or [overload]",
    ),
    (RuleFaultKind::NeverMatches, "[[request]]\npath = \"/a%20b\"", 2, "holds `%`, so no plain head matches"),
    (RuleFaultKind::NeverMatches, "[[request]]\npath = \"/a/../b\"", 2, "as a part"),
    (RuleFaultKind::NeverMatches, "[[request]]\npath = \"/a?b\"", 2, "compared without their query"),
    (
        RuleFaultKind::NeverMatches,
        "[[request]]\npath = \"a\"",
        2,
        "does not begin with `/`, so no plain head matches; write /a",
    ),
    (RuleFaultKind::Pattern, "[[request]]\npath = \"/a/*.html\"", 2, "what begins with one /x/*"),
    (RuleFaultKind::Pattern, "[[request]]\npath = \"**\"", 2, "where it cannot stand"),
    (
        RuleFaultKind::OtherStage,
        "[[request]]\npath = \"/x\"\nrefuse = \"drop\"",
        3,
        "comes again and again; write \"503\"",
    ),
    (
        RuleFaultKind::OtherStage,
        "[[from]]\nsource = \"::/0\"\nrefuse = \"503\"",
        3,
        "write \"drop\" or \"reset\"",
    ),
];

#[test]
fn each_fault_is_told_by_itself_with_its_line_and_what_to_do() {
    let before = SERVER.lines().count();
    assert_eq!(faults(SERVER), []);
    for (wrong, text, line, said) in CASES {
        let found = faults(&format!("{SERVER}{text}\n"));
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
        let line = before + line;
        assert_eq!((found[0].wrong, found[0].line), (wrong, line), "{text}: {}", found[0]);
        assert!(found[0].sentence.contains(said), "{text}: {}", found[0]);
        assert_eq!(found[0].to_string(), format!("r.toml:{line}: {}", found[0].sentence));
    }
}

#[test]
fn faults_of_the_server() {
    let cases = [
        ("", RuleFaultKind::KeyMissing, 1, "there is no [server]"),
        ("[server]\n", RuleFaultKind::KeyMissing, 1, "`listen` is missing"),
        ("[server]\nlisten = []\n", RuleFaultKind::KeyMissing, 1, "`listen` is missing"),
        ("[server]\nlisten = 65536\n", RuleFaultKind::OutOfRange, 2, "65536 is no TCP port"),
        ("[server]\nlisten = [80,\n80]\n", RuleFaultKind::Twice, 3, "listed twice"),
        (
            "[server]\nlisten = 80\nclasses = { high = 80 }\n",
            RuleFaultKind::PublicPort,
            3,
            "which clients connect to",
        ),
        (
            "[server]\nlisten = 80\nclasses = { a = 81, b = 81 }\n",
            RuleFaultKind::Twice,
            3,
            "class b has port 81",
        ),
        (
            "[server]\nlisten = 80\nclasses = { \"a b\" = 81 }\n",
            RuleFaultKind::OddName,
            3,
            "`a b` is no name",
        ),
        (
            "[server]\nlisten = 80\n[overload]\ntarget = \"1s\"\n",
            RuleFaultKind::KeyMissing,
            3,
            "write classes in [server]",
        ),
        (
            "[server]\nlisten = 80\n[[request]]\npath = \"/x\"\nclass = \"a\"\n",
            RuleFaultKind::Unknown,
            5,
            "none is written",
        ),
    ];
    for (text, wrong, line, said) in cases {
        let found = faults(text);
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
        assert_eq!((found[0].wrong, found[0].line), (wrong, line), "{text}: {}", found[0]);
        assert!(found[0].sentence.contains(said), "{text}: {}", found[0]);
    }
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_lines() {
    let text = "[server]\nlisten = 0\n[[request]]\npath = \"/%41\"\nclass = \"x\"\nburst = 0\n[[from]]\nsource = \"10.0.0.1/8\"\n\
                to = \"::1\"\n[odd]\nrate = \"x\"\nburst = 2\n";
    let found: Vec<(usize, RuleFaultKind)> =
        faults(text).iter().map(|fault| (fault.line, fault.wrong)).collect();
    let expected = [
        (2, RuleFaultKind::OutOfRange),
        (4, RuleFaultKind::NeverMatches),
        (5, RuleFaultKind::Unknown),
        (6, RuleFaultKind::OutOfRange),
        (8, RuleFaultKind::HostBits),
        (11, RuleFaultKind::OutOfRange),
    ];
    assert_eq!(found, expected, "nothing is told that follows from another fault");
}

#[test]
fn more_than_the_maps_hold_is_told_where_it_begins() {
    let many = |count: usize, rule: &dyn Fn(usize) -> String| {
        (0..count).fold(SERVER.to_owned(), |mut text, index| {
            let _ = writeln!(text, "{}", rule(index));
            text
        })
    };
    let exact = |index: usize| format!("[[request]]\npath = \"/{index}\"");
    assert_eq!(faults(&many(16_384, &exact)), []);
    let found = faults(&many(16_385, &exact));
    assert_eq!((found.len(), found[0].wrong, found[0].line), (1, RuleFaultKind::TooMany, 3 + 2 * 16_384 + 1));
    let part = |index: usize| format!("[[request]]\npath = \"*{index:0100}*\"");
    assert_eq!(faults(&many(40, &part)), []);
    assert_eq!(faults(&many(41, &part))[0].line, 3 + 2 * 40 + 1);
    let to = |index: usize| format!("[[from]]\nsource = \"10.0.0.0/8\"\nto = \"192.0.2.{index}\"");
    assert_eq!(faults(&many(64, &to)), []);
    assert_eq!(faults(&many(65, &to))[0].line, 3 + 3 * 64 + 1);
    let source = |index: usize| {
        let to = if index < 8 { format!("\nto = \"192.0.2.{index}\"") } else { "\n".to_owned() };
        format!("[[from]]\nsource = \"10.0.{}.{}\"{to}", index / 256, index % 256)
    };
    assert!(faults(&many(8_000, &source))[0].sentence.contains("the maps hold 65536"));
    assert_eq!(faults(&many(7_000, &source)), []);
}

#[test]
fn buckets_that_bound_nothing_are_a_warning() {
    let text = "[[from]]\nsource = \"10.0.0.0/8\"\nrate = \"5/s\"\nper = \"/24\"\n";
    let warned = rules(&format!("{SERVER}{text}")).warnings;
    assert_eq!((warned.len(), warned[0].wrong, warned[0].line), (1, RuleFaultKind::EachIsAll, 7));
    assert_eq!(rules(&format!("{SERVER}{text}each = \"1/s\"\n")).warnings, []);
}
