//! Effective rights and assertions of random policies against an oracle that follows only Landlock's documentation:
//! walk from the path to the root, and add up.

use crate::policy;
use bakeoff_layers_mac::access::{Access, Accesses};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

const KINDS: [Access; 3] = [Access::Read, Access::Write, Access::Create];

/// A policy before it is text: paths are short lists of letters.
#[derive(Clone, Debug)]
struct Made {
    /// Paths of each type.
    types: Vec<Vec<Vec<char>>>,
    /// For each domain and type, bits into `KINDS`; 0 is not written.
    domains: Vec<Vec<u8>>,
    /// Domain (or all), type, bits.
    nevers: Vec<(Option<usize>, usize, u8)>,
}

fn path() -> impl Strategy<Value = Vec<char>> {
    prop::collection::vec(prop::sample::select(vec!['a', 'b']), 1..4)
}

fn made() -> impl Strategy<Value = Made> {
    let types = prop::collection::vec(prop::collection::vec(path(), 1..3), 1..4);
    let bits = prop_oneof![Just(0u8), Just(1), Just(3), 1u8..8];
    let domains = prop::collection::vec(prop::collection::vec(bits, 3), 1..3);
    let nevers = prop::collection::vec((prop::option::of(any::<usize>()), any::<usize>(), 1u8..8), 0..2);
    (types, domains, nevers).prop_map(|(types, domains, nevers): (Vec<_>, Vec<_>, Vec<_>)| {
        let there = |(domain, label, bits): (Option<usize>, usize, u8)| {
            (domain.map(|domain| domain % domains.len()), label % types.len(), bits)
        };
        let nevers = nevers.into_iter().map(there).collect();
        Made { types, domains, nevers }
    })
}

fn text_of(path: &[char]) -> String {
    path.iter().map(|c| format!("/{c}")).collect()
}

fn accesses(bits: u8) -> Accesses {
    KINDS.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1).map(|(_, kind)| *kind).collect()
}

fn toml(made: &Made) -> String {
    let mut text = "[types]\n".to_owned();
    for (index, paths) in made.types.iter().enumerate() {
        let paths: Vec<String> = paths.iter().map(|path| format!("{:?}", text_of(path))).collect();
        text += &format!("t{index} = [{}]\n", paths.join(", "));
    }
    for (index, allow) in made.domains.iter().enumerate() {
        text += &format!("[domain.d{index}.allow]\n");
        for (label, bits) in
            allow.iter().enumerate().filter(|(label, bits)| *label < made.types.len() && **bits != 0)
        {
            text += &format!("t{label} = \"{}\"\n", accesses(*bits));
        }
    }
    for (domain, label, bits) in &made.nevers {
        let domain = domain.map_or("*".to_owned(), |index| format!("d{index}"));
        text += &format!(
            "[[never]]\ndomain = \"{domain}\"\ntype = \"t{label}\"\naccess = \"{}\"\n",
            accesses(*bits)
        );
    }
    text
}

/// Every path of one to four letters.
fn universe() -> Vec<Vec<char>> {
    let mut all: Vec<Vec<char>> = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..4 {
        last = last.iter().flat_map(|path| ['a', 'b'].map(|c| [path.as_slice(), &[c]].concat())).collect();
        all.extend(last.clone());
    }
    all.split_off(1)
}

/// Result of walking up: the nearest type, and everything granted on the way.
fn walk(types: &BTreeMap<Vec<char>, usize>, allow: &[u8], path: &[char]) -> (Option<usize>, u8) {
    let (mut label, mut bits) = (None, 0);
    for length in (1..=path.len()).rev() {
        if let Some(found) = types.get(&path[..length]) {
            label = label.or(Some(*found));
            bits |= allow[*found];
        }
    }
    (label, bits)
}

/// The types by path; none where two claim one.
fn by_path(made: &Made) -> Option<BTreeMap<Vec<char>, usize>> {
    let mut types = BTreeMap::new();
    for (label, path) in
        made.types.iter().enumerate().flat_map(|(label, paths)| paths.iter().map(move |p| (label, p)))
    {
        if *types.entry(path.clone()).or_insert(label) != label {
            return None;
        }
    }
    Some(types)
}

/// Whether there is no fault: everywhere the granted is what is written, and no assertion is broken.
fn is_right(made: &Made, types: &BTreeMap<Vec<char>, usize>) -> bool {
    universe().iter().all(|path| {
        made.domains.iter().enumerate().all(|(index, allow)| {
            let (label, bits) = walk(types, allow, path);
            let broken = made.nevers.iter().any(|(domain, of, never)| {
                domain.is_none_or(|domain| domain == index) && Some(*of) == label && never & bits != 0
            });
            bits == label.map_or(0, |label| allow[label]) && !broken
        })
    })
}

#[test]
fn what_is_accepted_and_granted_is_what_walking_up_the_path_comes_to() {
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Config { cases: 2_000, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&made(), |made| {
        let text = toml(&made);
        let types = by_path(&made);
        let right = types.as_ref().is_some_and(|types| is_right(&made, types));
        let policy = policy(&text, &[]);
        prop_assert_eq!(policy.is_ok(), right, "{}\n{:?}", text, policy.map(|_| ()));
        let (Some(types), Ok(policy)) = (types, policy) else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        accepted.set(accepted.get() + 1);
        for (index, allow) in made.domains.iter().enumerate() {
            let grant = policy.grant(&format!("d{index}")).unwrap();
            for path in universe() {
                let (label, bits) = walk(&types, allow, &path);
                let name = text_of(&path);
                for access in Access::ALL {
                    let because = grant.because(Path::new(&name), access);
                    prop_assert_eq!(
                        because.granted,
                        accesses(bits).has(access),
                        "{}: {}",
                        name,
                        because.reason
                    );
                    let label = label.map(|label| format!("t{label}"));
                    prop_assert_eq!(because.label, label.as_deref());
                    prop_assert_eq!(because.rule.is_some(), bits != 0);
                }
            }
        }
        Ok(())
    });
    outcome.unwrap();
    let (accepted, refused) = (accepted.get(), refused.get());
    assert!(accepted > 300 && refused > 300, "{accepted} accepted, {refused} refused: it decided too little");
}
