//! Random rule tables with many overlaps.

use bakeoff_layers_police::rules::AddressPrefix;
use bakeoff_layers_police::rules::table::{
    ConnectionClass, Overload, Per, Rate, Refuse, RuleAction, RuleId, RuleTable, StageRule, SynSource, When,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The public ports.
pub(crate) const PORTS: [u16; 2] = [80, 8_080];
/// Addresses of clients.
pub(crate) const CLIENTS: [&str; 8] = [
    "10.1.2.3",
    "10.1.2.4",
    "10.1.9.9",
    "10.9.9.9",
    "2001:db8::1",
    "2001:db8::2:1",
    "2001:db8:1::1",
    "2002::1",
];
/// Addresses of servers.
pub(crate) const SERVERS: [&str; 4] = ["192.0.2.1", "192.0.2.2", "fd00::1", "fd00:1::1"];
const SOURCES: [&str; 9] = [
    "0.0.0.0/0",
    "10.0.0.0/8",
    "10.1.0.0/16",
    "10.1.2.0/24",
    "10.1.2.3/32",
    "::/0",
    "2001:db8::/32",
    "2001:db8::/64",
    "2001:db8::1/128",
];
const DESTINATIONS: [&str; 5] = ["192.0.2.0/24", "192.0.2.1/32", "fd00::/8", "fd00::/64", "fd00::1/128"];
/// Paths of requests and rules.
pub(crate) const PATHS: [&str; 9] =
    ["/", "/a", "/a/b", "/a/b/", "/cgi-bin/x", "/noaccess", "/a/noaccess/b", "/abcdefg", "/abcdefghijklmno"];
const BEGINNINGS: [&str; 5] = ["/", "/a/", "/a/b/", "/cgi-bin/", "/abcdefgh"];
const PARTS: [&str; 5] = ["noaccess", "a/b", "b", "cdef", "/x"];

/// An address or prefix of the above.
pub(crate) fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn prefix(text: &str) -> AddressPrefix {
    let (begin, length) = text.split_once('/').unwrap();
    AddressPrefix::of(address(begin), length.parse().unwrap()).unwrap()
}

fn rate() -> impl Strategy<Value = Rate> {
    (prop::sample::select(vec![1_000_000, 7_000_000, 100_000_000, 1]), 0..4_u64)
        .prop_map(|(interval_ns, more)| Rate { interval_ns, tolerance_ns: more * interval_ns })
}

fn action() -> impl Strategy<Value = RuleAction> {
    prop_oneof![1 => Just(RuleAction::Pass), 1 => Just(RuleAction::Refuse), 4 => rate().prop_map(RuleAction::Police)]
}

/// Subject of a rule, before it becomes one of a table.
#[derive(Clone, Debug)]
enum About {
    Source(AddressPrefix, Option<AddressPrefix>),
    Exact(&'static str),
    Beginning(&'static str),
    Part(&'static str),
    Odd,
    Unread,
}

fn about() -> impl Strategy<Value = About> {
    let source =
        (prop::sample::select(&SOURCES[..]), prop::option::of(prop::sample::select(&DESTINATIONS[..])));
    let source = source.prop_map(|(source, to)| {
        let source = prefix(source);
        let to = to.map(prefix).filter(|to| to.address().is_ipv4() == source.address().is_ipv4());
        About::Source(source, to)
    });
    prop_oneof![
        4 => source,
        2 => prop::sample::select(&PATHS[..]).prop_map(About::Exact),
        2 => prop::sample::select(&BEGINNINGS[..]).prop_map(About::Beginning),
        1 => prop::sample::select(&PARTS[..]).prop_map(About::Part),
        1 => Just(About::Odd),
        1 => Just(About::Unread),
    ]
}

type Drawn = (About, RuleAction, Option<u8>, bool, Option<(u8, Rate)>);

fn drawn(classes: u8) -> impl Strategy<Value = Drawn> {
    let class = prop::option::of(0..classes.max(1)).prop_map(move |class| class.filter(|_| classes > 0));
    (about(), action(), class, any::<bool>(), prop::option::of((0..3_u8, rate())))
}

/// A table with so many classes, and with overload if there are any.
pub(crate) fn table(classes: u8) -> impl Strategy<Value = RuleTable> {
    let names = (0..classes)
        .map(|class| ConnectionClass { name: format!("class{class}"), port: 8_200 + u16::from(class) });
    let classes: Vec<ConnectionClass> = names.collect();
    let overload = any::<bool>().prop_map(|always| Overload {
        target_ns: 1,
        shares: Vec::new(),
        when: if always { When::Always } else { When::Overload },
    });
    (prop::collection::vec(drawn(classes.len() as u8), 1..14), overload).prop_map(move |(drawn, overload)| {
        let overload = Some(overload).filter(|_| !classes.is_empty());
        let mut table =
            RuleTable { ports: PORTS.to_vec(), classes: classes.clone(), overload, ..RuleTable::default() };
        let mut known = BTreeSet::new();
        for rule in drawn {
            if known.insert(format!("{:?}", rule.0)) {
                add(&mut table, rule);
            }
        }
        table
    })
}

fn add(table: &mut RuleTable, (about, action, class, how, per): Drawn) {
    let id = RuleId(table.rules.len() as u16);
    let of_syn = matches!(about, About::Source(..));
    let refuse = match (of_syn, how) {
        _ if matches!(about, About::Unread) => Refuse::Reset,
        (true, true) => Refuse::Drop,
        (false, true) => Refuse::Status503,
        (true, false) => Refuse::Reset,
        (false, false) => Refuse::Status429,
    };
    let mut per = per.map(|(length, rate)| Per { length: [16, 24, 32][usize::from(length)], rate });
    match about {
        About::Source(prefix, to) => {
            if !prefix.address().is_ipv4() {
                per = per.map(|per| Per { length: per.length * 2, ..per });
            }
            per = per.filter(|_| matches!(action, RuleAction::Police(_)));
            table.sources.push(SynSource { prefix, to, rule: id });
        }
        About::Exact(path) => table.exact.push((path.into(), id)),
        About::Beginning(path) => table.prefixes.push((path.into(), id)),
        About::Part(part) => table.contains.push((part.into(), id)),
        About::Odd => table.odd = Some(id),
        About::Unread => table.unread = Some(id),
    }
    let per = per.filter(|_| of_syn);
    table.rules.push(StageRule { name: format!("rule{}", id.0), line: 1, action, class, refuse, per });
}
