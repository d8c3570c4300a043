//! Attacks on a chain, on its envelopes and on the leaf beside it, each refused by its own name.

mod chains;
mod envelopes;
mod leafs;

use crate::forger::Parts;
use crate::world::{Person, Shown, World, scope};
use bakeoff_layers_credentials::CredentialRefusal;
use bakeoff_layers_credentials::key::Serial;
use bakeoff_layers_credentials::statement::{Transfer, TransferRequest};
use chains::CHAINS;
use envelopes::ENVELOPES;
use leafs::LEAFS;

/// Attack, name of its refusal, and the forged credentials.
type Attack = (&'static str, &'static str, fn(&World) -> Shown);

#[test]
fn every_attack_is_refused_by_its_name() {
    let world = World::new();
    world.handed().verify().unwrap();
    let attacks = CHAINS.iter().chain(LEAFS).map(|(what, name, attack)| (*what, *name, attack(&world)));
    let envelopes = ENVELOPES.iter().map(|(what, name, attack)| {
        let shown = link(&world, |link| attack(Parts::of(link), &world.bob.key));
        (*what, *name, shown)
    });
    let wrong: Vec<String> =
        attacks.chain(envelopes).filter_map(|(what, name, shown)| differs(what, name, &shown)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Name of the refusal, and the giver's wish.
type Wished = (&'static str, fn(&mut TransferRequest));

#[test]
fn nobody_makes_what_everybody_would_refuse() {
    let world = World::new();
    let first = world.alice.gives(&world.bob, None, |_| {});
    let wishes: [Wished; 5] = [
        ("widened", |wish| wish.grants = vec![scope("/", "read")]),
        ("widened", |wish| wish.hops = 8),
        ("longer-lived", |wish| wish.until_unix_s += 1),
        ("too-large", |wish| wish.grants = vec![scope("/p", "read"); 17]),
        ("malformed", |wish| wish.audience.clear()),
    ];
    for (name, change) in wishes {
        let mut wish = TransferRequest { hops: 7, key: world.carol.key.public(), ..first.wish.clone() };
        change(&mut wish);
        let refused = give(&world.bob, &wish, Some(&first.statement)).unwrap_err();
        assert_eq!(refused.name(), name, "{refused}");
    }
    let not_his = give(&world.carol, &first.wish, Some(&first.statement)).unwrap_err();
    assert_eq!(not_his.name(), "wrong-holder");
}

fn give(giver: &Person, wish: &TransferRequest, held: Option<&[u8]>) -> Result<Vec<u8>, CredentialRefusal> {
    Transfer::give(wish, &giver.name, &giver.key, held, Serial([1; 16]))
}

/// Difference of the answer from the expected one, if any.
fn differs(what: &str, expected: &str, shown: &Shown) -> Option<String> {
    let (name, sentence) = match shown.verify() {
        Ok(grant) => ("good", format!("{} as {}", grant.acts_as, grant.subject)),
        Err(refusal) => (refusal.name(), refusal.to_string()),
    };
    (name != expected).then(|| format!("{what}: {name} and not {expected}: {sentence}"))
}

fn link(world: &World, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Shown {
    world.handed().with(|shown| shown.hello.chain[1].1 = change(&shown.hello.chain[1].1))
}
