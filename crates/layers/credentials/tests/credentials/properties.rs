//! Properties of any chain, list and flipped byte, against models that are independent of the code.

use crate::world::{Link, Person, World, scope};
use bakeoff_layers_credentials::acl::Acl;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::operation::{Operation, Operations};
use bakeoff_layers_credentials::statement::DelegationScope;
use proptest::prelude::*;
use std::sync::LazyLock;

static WORLD: LazyLock<World> = LazyLock::new(World::new);
/// Names by which lists know people here.
const WHO: [&str; 4] =
    ["user:alice@home.example", "group:staff@home.example", "any@home.example", "user:bob@home.example"];

/// Letters of a path.
type Letters = Vec<&'static str>;

fn letters(most: usize) -> impl Strategy<Value = Letters> {
    prop::collection::vec(prop::sample::select(vec!["a", "b"]), 0..=most)
}

fn text_of(path: &[&str]) -> String {
    format!("/{}", path.join("/"))
}

/// Every path of up to four letters.
fn universe() -> Vec<Letters> {
    let mut all = vec![vec![]];
    for length in 0..4 {
        let longest: Vec<Letters> =
            all.iter().filter(|path: &&Letters| path.len() == length).cloned().collect();
        all.extend(
            longest.iter().flat_map(|path| ["a", "b"].map(|name| [path.as_slice(), &[name]].concat())),
        );
    }
    all
}

/// A random grant: path, bits.
type Drawn = (Letters, u8);

fn made((path, bits): &Drawn) -> DelegationScope {
    let operations = Operations::of_bits((*bits).into()).unwrap();
    DelegationScope { operations, ..scope(&text_of(path), "all") }
}

/// A random narrowing: which of the held grants, further down, with fewer operations.
type Narrowing = (prop::sample::Index, Letters, u8);

fn narrowed(held: &[Drawn], (which, below, bits): &Narrowing) -> Drawn {
    let (path, own_bits) = which.get(held);
    ([path.as_slice(), below].concat(), own_bits & bits)
}

/// Each link's grants.
fn chain() -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    let first = prop::collection::vec((letters(2), 0..0x80_u8), 1..4);
    let narrowing = (any::<prop::sample::Index>(), letters(1), 0..0x80_u8);
    let further = prop::collection::vec(prop::collection::vec(narrowing, 1..4), 0..4);
    (first, further).prop_map(|(first, further)| {
        let mut chain = vec![first];
        for narrowings in further {
            let held = &chain[chain.len() - 1];
            let next = narrowings.iter().map(|narrowing| narrowed(held, narrowing)).collect();
            chain.push(next);
        }
        chain
    })
}

/// Whether one link grants an operation at a path.
fn lets(link: &[Drawn], path: &[&str], operation: Operation) -> bool {
    link.iter().any(|(own, bits)| path.starts_with(own) && bits & operation.bit() != 0)
}

/// A random rule: path, whether it is `only`, for which name, bits.
type Rule = (Letters, bool, usize, u8);

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let rule = (letters(3), prop::bool::weighted(0.2), 0..WHO.len(), 1..0x80_u8);
    prop::collection::vec(rule, 0..12).prop_map(|mut rules: Vec<Rule>| {
        rules.sort_by_key(|(path, _, who, _)| (path.clone(), *who));
        rules.dedup_by_key(|(path, _, who, _)| (path.clone(), *who));
        rules
    })
}

fn compiled(rules: &[Rule]) -> Acl {
    let line = |(path, only, who, bits): &Rule| {
        let verb = if *only { "only" } else { "allow" };
        let operations = Operations::of_bits((*bits).into()).unwrap();
        format!("{} {verb} {} {operations}\n", text_of(path), WHO[*who])
    };
    Acl::of_text(&rules.iter().map(line).collect::<String>(), "acl").unwrap()
}

/// Rights from the rules at the object and upwards, until an `only` cuts off the ones above.
fn decided(rules: &[Rule], path: &[&str], who: &[usize]) -> u8 {
    let mut bits = 0;
    for length in (0..=path.len()).rev() {
        let here = || rules.iter().filter(|(own, ..)| own[..] == path[..length]);
        bits |= here().filter(|rule| who.contains(&rule.2)).fold(0, |all, rule| all | rule.3);
        if here().any(|rule| rule.1) {
            break;
        }
    }
    bits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_narrowing_chain_is_what_all_its_links_and_the_list_let(chain in chain(), rules in rules()) {
        let world = &*WORLD;
        let people: Vec<Person> =
            (0..chain.len()).map(|number| world.home.person(&format!("user:u{number}@home.example"))).collect();
        let mut links: Vec<Link> = Vec::new();
        for (number, grants) in chain.iter().enumerate() {
            let giver = number.checked_sub(1).map_or(&world.alice, |before| &people[before]);
            let grants: Vec<DelegationScope> = grants.iter().map(made).collect();
            links.push(giver.gives(&people[number], links.last(), |wish| wish.grants = grants));
        }
        let holder = &people[people.len() - 1];
        let grant = world.shows(&world.home, holder, &links.iter().collect::<Vec<_>>()).verify().unwrap();
        let acl = compiled(&rules);
        for path in universe() {
            let rights = grant.rights(&acl, &path);
            // Alice's own name and her domain; nobody here is in a group.
            let listed = decided(&rules, &path, &[0, 2]);
            for operation in Operation::ALL {
                let all = chain.iter().all(|link| lets(link, &path, operation));
                let expected = all && listed & operation.bit() != 0;
                prop_assert_eq!(rights.has(operation), expected, "{:?} {:?}", path, operation);
                prop_assert_eq!(grant.because(&acl, &path, operation).granted, expected);
            }
        }
    }

    #[test]
    fn a_list_decides_as_who_goes_up_from_the_object_does(rules in rules(), who in prop::sample::subsequence(vec![0, 1, 2, 3], 0..=4)) {
        let acl = compiled(&rules);
        let names: Vec<String> = who.iter().map(|index| WHO[*index].to_owned()).collect();
        for path in universe() {
            let decision = acl.decide(&names, &path);
            prop_assert_eq!(decision.operations.bits(), decided(&rules, &path, &who), "{:?}", path);
            for operation in Operation::ALL {
                let line = decision.line(operation);
                prop_assert_eq!(line.is_some(), decision.operations.has(operation));
                // The named line grants it, and no nearer line does.
                let Some(named) = line.map(|line| &rules[line - 1]) else { continue };
                let good = |rule: &&Rule| {
                    path.starts_with(&rule.0) && who.contains(&rule.2) && rule.3 & operation.bit() != 0
                };
                let nearest = rules.iter().filter(good).map(|rule| rule.0.len()).max();
                prop_assert!(good(&named) && nearest == Some(named.0.len()), "{:?} by {:?}", operation, named);
            }
        }
    }
}

/// Every byte counts.
#[test]
fn no_byte_of_what_is_shown_can_be_another() {
    let shown = WORLD.handed();
    shown.verify().unwrap();
    let hello = shown.hello.write();
    let other = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1 << (at % 8);
        bytes
    };
    for at in 0..hello.len() {
        let hello = Hello::read(&other(&hello, at));
        let answer = hello.and_then(|hello| shown.clone().with(|shown| shown.hello = hello).verify());
        assert!(answer.is_err(), "byte {at} of HELLO: {answer:?}");
    }
    for at in 0..shown.leaf.len() {
        let answer = shown.clone().with(|shown| shown.leaf = other(&shown.leaf, at)).verify();
        assert!(answer.is_err(), "byte {at} of the leaf: {answer:?}");
    }
}
