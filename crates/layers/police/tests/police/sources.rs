//! Matching of sources, against a comparison bit by bit.

use bakeoff_layers_police::reference::Police;
use bakeoff_layers_police::rules::AddressPrefix;
use bakeoff_layers_police::rules::table::{Refuse, RuleAction, RuleId, RuleTable, StageRule, SynSource};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of few bits, so that prefixes nest and coincide.
fn address(six: bool, bits: u32) -> IpAddr {
    if six { Ipv6Addr::from_bits(u128::from(bits) << 96).into() } else { Ipv4Addr::from_bits(bits).into() }
}

fn bits(address: IpAddr) -> Vec<bool> {
    let bytes = match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect()
}

fn holds(prefix: AddressPrefix, address: IpAddr) -> bool {
    let (prefix_bits, address_bits) = (bits(prefix.address()), bits(address));
    let length = usize::from(prefix.length());
    prefix_bits.len() == address_bits.len() && prefix_bits[..length] == address_bits[..length]
}

/// Whether it is IPv6, bits, length; bits and length of the destination.
type Typed = (bool, u32, u8, Option<(u32, u8)>);

fn table_of(sources: &[Typed]) -> RuleTable {
    let mut table = RuleTable::default();
    for (six, bits, length, to) in sources {
        let prefix = AddressPrefix::of(address(*six, *bits), *length).unwrap();
        let to = to.map(|(bits, length)| AddressPrefix::of(address(*six, bits), length).unwrap());
        if table.sources.iter().any(|other| (other.prefix, other.to) == (prefix, to)) {
            continue;
        }
        let rule = RuleId(table.rules.len() as u16);
        table.sources.push(SynSource { prefix, to, rule });
        let name = format!("from-{rule:?}");
        table.rules.push(StageRule {
            name,
            line: 1,
            action: RuleAction::Pass,
            class: None,
            refuse: Refuse::Drop,
            per: None,
        });
    }
    table
}

/// By lengths from the longest down: the first match.
fn slow(table: &RuleTable, source: IpAddr, destination: IpAddr) -> Option<RuleId> {
    let lengths =
        (0..=32_u8).rev().flat_map(|source| (0..=33_u8).rev().map(move |to| (source, to.checked_sub(1))));
    lengths.into_iter().find_map(|(length, to)| {
        let of =
            |rule: &&SynSource| rule.prefix.length() == length && rule.to.map(AddressPrefix::length) == to;
        let mut found = table.sources.iter().filter(of);
        found
            .find(|rule| holds(rule.prefix, source) && rule.to.is_none_or(|to| holds(to, destination)))
            .map(|rule| rule.rule)
    })
}

/// Like the kernel: the destination's table, then the source in it.
fn by_destination(table: &RuleTable, source: IpAddr, destination: IpAddr) -> Option<RuleId> {
    let tables = table.by_destination();
    let named = tables.iter().filter(|of| of.to.is_none_or(|to| holds(to, destination)));
    let of = named.max_by_key(|of| of.to.map(AddressPrefix::length)).unwrap();
    let held = of.sources.iter().filter(|(prefix, _)| holds(*prefix, source));
    held.max_by_key(|(prefix, _)| prefix.length()).map(|(_, rule)| *rule)
}

/// One bit in each byte, so that three bits make an address.
fn few() -> impl Strategy<Value = u32> {
    (0_u32..8).prop_map(|bits| (bits & 4) << 29 | (bits & 2) << 22 | (bits & 1) << 8)
}

proptest! {
    #[test]
    fn the_longest_source_decides_then_the_longest_destination(
        sources in prop::collection::vec((any::<bool>(), few(), 0_u8..=32, prop::option::of((few(), 0_u8..=32))), 0..24),
        asked in prop::collection::vec((any::<bool>(), few(), few()), 16),
    ) {
        let table = table_of(&sources);
        let police = Police::new(&table);
        for (six, source, destination) in asked {
            let (source, destination) = (address(six, source), address(six, destination));
            let expected = slow(&table, source, destination);
            prop_assert_eq!(police.source(source, destination), expected);
            prop_assert_eq!(by_destination(&table, source, destination), expected);
        }
    }
}
