//! Forged chains and statuses by holders of real keys who break the rules; roles; revoked items.

use super::{Attack, link};
use crate::forger::{Claims, IDENTITY, STATUS, TRANSFER, lie, set};
use crate::world::{DAY, Link, MINUTE, NOW, Person, Shown, World};
use bakeoff_layers_credentials::Item;
use bakeoff_layers_credentials::key::{SecretKey, hash};
use bakeoff_layers_credentials::statement::Transfer;
use ciborium::Value;

const GRANTS: i64 = -70001;
const HOPS: i64 = -70002;
const PARENT: i64 = -70003;
const GIVER_KEY: i64 = -70004;

pub(super) const CHAINS: &[Attack] = &[
    ("a link that somebody else signed", "bad-signature", |world| {
        link(world, |first| lie(first, TRANSFER, &world.mallory.key, |_| {}))
    }),
    ("an identity in a link's place", "bad-signature", |world| {
        link(world, |first| lie(first, IDENTITY, &world.bob.key, |_| {}))
    }),
    ("a giver whom nobody certified", "bad-signature", |world| {
        let forged = Person::new("user:alice@home.example", &world.mallory.key);
        world.handed().with(|shown| shown.hello.identities = vec![forged.shown()])
    }),
    ("a giver whom another domain certified", "bad-signature", |world| {
        let forged = Person::new("user:alice@home.example", &world.partner.ca);
        world.handed().with(|shown| shown.hello.identities = vec![forged.shown()])
    }),
    ("a giver who says to be somebody else", "wrong-holder", |world| {
        let mut shown = world.handed();
        shown.hello.identities[0].1 = world.bob.statement.clone();
        shown
    }),
    ("an identity that says to be another domain's", "not-its-domain", |world| {
        let other =
            lie(&world.alice.statement, IDENTITY, &world.home.ca, |claims| set(claims, 1, "partner.example"));
        world.handed().with(|shown| shown.hello.identities[0].1 = other)
    }),
    ("a link that is over", "expired", |world| bob_lies(world, |claims| set(claims, 4, NOW))),
    ("a link of tomorrow", "not-yet-valid", |world| bob_lies(world, |claims| set(claims, 5, NOW + 1))),
    ("a first link that is over", "expired", |world| {
        let first = world.alice.gives(&world.bob, None, |wish| wish.until_unix_s = NOW);
        world.shows(&world.home, &world.bob, &[&first])
    }),
    ("a giver whose identity is over", "expired", |world| {
        let over = lie(&world.alice.statement, IDENTITY, &world.home.ca, |claims| set(claims, 4, NOW));
        world.handed().with(|shown| shown.hello.identities[0].1 = over)
    }),
    ("another server", "wrong-audience", |world| {
        bob_lies(world, |claims| set(claims, 3, text("node:mail@home.example")))
    }),
    ("another domain", "wrong-audience", |world| {
        bob_lies(world, |claims| set(claims, 3, text("*.partner.example")))
    }),
    ("the domain above", "wrong-audience", |world| {
        bob_lies(world, |claims| set(claims, 3, text("*.example")))
    }),
    ("for all the world", "malformed", |world| bob_lies(world, |claims| set(claims, 3, text("*")))),
    ("a stolen chain", "wrong-holder", |world| {
        world.handed().with(|shown| shown.leaf = world.partner.leaf(&world.mallory, &[]))
    }),
    ("the right key under another name", "wrong-holder", |world| {
        bob_lies(world, |claims| set(claims, 2, "user:dave@partner.example"))
    }),
    ("the right name with another key", "wrong-holder", |world| {
        let carol = world.partner.person("user:carol@partner.example");
        world.handed().with(|shown| shown.leaf = world.partner.leaf(&carol, &[]))
    }),
    ("a first giver without an identity", "spliced", |world| {
        world.handed().with(|shown| shown.hello.identities.clear())
    }),
    ("an unnamed giver without an identity", "spliced", |world| {
        let first = world.alice.gives(&world.bob, None, |wish| wish.receiver = None);
        let second = world.bob.gives(&world.carol, Some(&first), |_| {});
        world.shows(&world.partner, &world.carol, &[&first, &second])
    }),
    ("a giver of another name than the receiver's", "spliced", |world| {
        world.handed().with(|shown| shown.hello.chain[1].0 = world.mallory.name.clone())
    }),
    ("a link that says to be of another giver", "wrong-holder", |world| {
        bob_lies(world, |claims| set(claims, 1, "user:alice@home.example"))
    }),
    ("a link that says to be by another key", "spliced", |world| {
        bob_lies(world, |claims| set(claims, GIVER_KEY, world.alice.key.public().thumbprint().to_vec()))
    }),
    ("a link that hangs on nothing", "spliced", |world| {
        bob_lies(world, |claims| set(claims, PARENT, Value::Null))
    }),
    ("spliced from two chains", "spliced", |world| {
        let [first, other] = [(); 2].map(|()| world.alice.gives(&world.bob, None, |_| {}));
        let second = world.bob.gives(&world.carol, Some(&other), |_| {});
        world.shows(&world.partner, &world.carol, &[&first, &second])
    }),
    ("beheaded", "spliced", |world| {
        world.handed().with(|shown| {
            shown.hello.identities.push(world.bob.shown());
            shown.hello.chain.remove(0);
        })
    }),
    ("in another order", "spliced", |world| {
        world.handed().with(|shown| {
            shown.hello.identities.push(world.bob.shown());
            shown.hello.chain.swap(0, 1);
        })
    }),
    ("the tail cut off, by another than its receiver", "wrong-holder", |world| {
        world.handed().with(|shown| drop(shown.hello.chain.pop()))
    }),
    ("a wider path", "widened", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&[], 7, None)])))
    }),
    ("another path", "widened", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["pp"], 7, None)])))
    }),
    ("another path beside the same", "widened", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"], 7, None), (&["q"], 1, None)])))
    }),
    ("more operations", "widened", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"], 15, None)])))
    }),
    ("a limit on bytes, which is not offered", "malformed", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"], 7, Some(1))])))
    }),
    ("as many hops", "widened", |world| bob_lies(world, |claims| set(claims, HOPS, 8))),
    ("a longer time", "longer-lived", |world| {
        bob_lies(world, |claims| set(claims, 4, NOW + 60 * MINUTE + 1))
    }),
    ("no hop left", "widened", |world| {
        let first = world.alice.gives(&world.bob, None, |wish| wish.hops = 0);
        let second = in_spite(world, &first);
        world.shows(&world.partner, &world.carol, &[&first, &second])
    }),
    ("nine hops", "too-deep", |world| bob_lies(world, |claims| set(claims, HOPS, 9))),
    ("256 hops", "malformed", |world| bob_lies(world, |claims| set(claims, HOPS, 256))),
    ("nine links", "too-deep", |world| world.handed_through(9)),
    ("round to who gave before", "role-loop", |world| {
        let first = world.alice.gives(&world.bob, None, |_| {});
        let second = world.bob.gives(&world.alice, Some(&first), |_| {});
        world.shows(&world.home, &world.alice, &[&first, &second])
    }),
    ("to himself", "role-loop", |world| {
        let first = world.alice.gives(&world.alice, None, |_| {});
        world.shows(&world.home, &world.alice, &[&first])
    }),
    ("17 grants", "too-large", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"][..], 1, None); 17])))
    }),
    ("no grant", "malformed", |world| bob_lies(world, |claims| set(claims, GRANTS, grants(&[])))),
    ("a path that leads up", "malformed", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p", ".."], 1, None)])))
    }),
    ("a path in one piece", "malformed", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p/q"], 1, None)])))
    }),
    ("an operation that there is not", "malformed", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"], 128, None)])))
    }),
    ("a claim that nobody knows", "unknown-claim", |world| {
        bob_lies(world, |claims| claims.push(((-70005).into(), true.into())))
    }),
    ("a claim too few", "malformed", |world| bob_lies(world, |claims| drop(claims.pop()))),
    ("a claim twice", "malformed", |world| bob_lies(world, |claims| claims.push(claims[10].clone()))),
    ("claims in disorder", "malformed", |world| bob_lies(world, |claims| claims.swap(0, 1))),
    ("a time before 1970", "malformed", |world| bob_lies(world, |claims| set(claims, 5, -1))),
    ("a key of more than its three parts", "malformed", |world| {
        bob_lies(world, |claims| {
            let key = claims[6].1.as_map_mut().unwrap()[0].1.as_map_mut().unwrap();
            key.insert(1, (3.into(), (-8).into()));
        })
    }),
    ("no status", "not-endorsed", |world| world.handed().with(|shown| shown.hello.statuses.clear())),
    ("a status of the first link alone", "not-endorsed", |world| {
        world.handed().with(|shown| {
            shown.hello.statuses = vec![world.home.status(&shown.given[..1], |_| {})];
        })
    }),
    ("a status of another transfer", "not-endorsed", |world| {
        let other = world.alice.gives(&world.bob, None, |_| {});
        world.handed().with(|shown| shown.hello.statuses = vec![world.home.status(&[other.hash], |_| {})])
    }),
    ("a status of another transfer with the same number", "not-endorsed", |world| {
        let [given, other] = [&world.bob, &world.carol].map(|to| world.alice.gives(to, None, |_| {}));
        let same = Transfer::give(&given.wish, &given.giver, &world.alice.key, None, other.serial).unwrap();
        let chain = vec![(given.giver.clone(), same)];
        world.shows(&world.home, &world.bob, &[&other]).with(|shown| shown.hello.chain = chain)
    }),
    ("a group by the agent's word alone", "not-member", |world| {
        let leaf = world.home.leaf_over(&world.bob, &world.bob.statement, &["group:staff@home.example"]);
        world.shows(&world.home, &world.bob, &[]).with(|shown| shown.leaf = leaf)
    }),
    ("a status by another domain's agent", "not-endorsed", |world| {
        let first = world.alice.gives(&world.bob, None, |_| {});
        let status = world.partner.status(&[first.hash], |_| {});
        world.shows(&world.home, &world.bob, &[&first]).with(|shown| shown.hello.statuses = vec![status])
    }),
    ("the same under the giver's domain", "bad-signature", |world| {
        status_lies(world, &world.partner.agent, |_| {})
    }),
    ("a status that says to be another domain's", "not-its-domain", |world| {
        status_lies(world, &world.home.agent, |claims| set(claims, 1, "partner.example"))
    }),
    ("a giver of another domain", "not-endorsed", |world| {
        let first = world.carol.gives(&world.bob, None, |_| {});
        world
            .shows(&world.home, &world.bob, &[&first])
            .with(|shown| shown.hello.identities = vec![world.carol.shown()])
    }),
    ("a status of a domain that nobody knows", "unknown-domain", |world| {
        world.handed().with(|shown| shown.hello.statuses[0].0 = "other.example".parse().unwrap())
    }),
    ("a status that is over", "endorsement-stale", |world| {
        status_lies(world, &world.home.agent, |claims| set(claims, 4, NOW))
    }),
    ("a status of a clock that is before", "clock-skew", |world| {
        status_lies(world, &world.home.agent, |claims| set(claims, 6, NOW + 31))
    }),
    ("a status for more than a day", "longer-lived", |world| {
        status_lies(world, &world.home.agent, |claims| set(claims, 4, NOW + DAY + 1))
    }),
    ("65 transfers", "too-large", |world| {
        let many = vec![Value::Bytes(vec![7; 32]); 65];
        status_lies(world, &world.home.agent, |claims| set(claims, -70010, many))
    }),
    ("a link that was taken back", "revoked", |world| {
        world.handed().with(|shown| shown.revoked.add(&world.home.domain, Item::Transfer(shown.given[0])))
    }),
    ("a key on the way that was taken back", "revoked", |world| {
        let key = Item::Key(world.bob.key.public().thumbprint());
        world.handed().with(|shown| shown.revoked.add(&world.home.domain, key))
    }),
    ("an identity that was taken back", "revoked", |world| {
        let identity = Item::Identity(hash(&world.alice.statement));
        world.handed().with(|shown| shown.revoked.add(&world.home.domain, identity))
    }),
    ("the holder's key was taken back", "revoked", |world| {
        let key = Item::Key(world.carol.key.public().thumbprint());
        world.handed().with(|shown| shown.revoked.add(&world.partner.domain, key))
    }),
    ("a role by somebody else's key", "bad-signature", |world| {
        let role = Person::new("role:editor.alice@home.example", &world.bob.key);
        world.shows(&world.home, &role, &[])
    }),
    ("a role by the CA's key", "bad-signature", |world| {
        let role = Person::new("role:editor.alice@home.example", &world.home.ca);
        world.shows(&world.home, &role, &[])
    }),
    ("a role without its owner", "spliced", |world| {
        world.shows(&world.home, &world.editor, &[]).with(|shown| shown.hello.identities.clear())
    }),
    ("a role before its owner", "spliced", |world| {
        world
            .shows(&world.home, &world.editor, &[])
            .with(|shown| shown.hello.identities.insert(0, world.editor.shown()))
    }),
    ("a role whose owner's key was taken back", "revoked", |world| {
        let key = Item::Key(world.alice.key.public().thumbprint());
        world.shows(&world.home, &world.editor, &[]).with(|shown| shown.revoked.add(&world.home.domain, key))
    }),
];

/// Bob's link, made against the rules.
fn bob_lies(world: &World, change: impl FnOnce(&mut Claims)) -> Shown {
    link(world, |second| lie(second, TRANSFER, &world.bob.key, change))
}

fn status_lies(world: &World, agent: &SecretKey, change: impl FnOnce(&mut Claims)) -> Shown {
    world.handed().with(|shown| {
        let status = &mut shown.hello.statuses[0].1;
        *status = lie(status, STATUS, agent, change);
    })
}

/// Bob hands to carol more than he may.
fn in_spite(world: &World, held: &Link) -> Link {
    let honest = world.alice.gives(&world.bob, None, |_| {});
    let mut link = world.bob.gives(&world.carol, Some(&honest), |_| {});
    let parent = hash(&held.statement).to_vec();
    link.statement = lie(&link.statement, TRANSFER, &world.bob.key, |claims| set(claims, PARENT, parent));
    link
}

fn text(audience: &str) -> Vec<Value> {
    vec![audience.into()]
}

/// Grants, each with its path, operations and byte limit.
fn grants(of: &[(&[&str], u8, Option<u64>)]) -> Vec<Value> {
    let grant = |(path, operations, most_bytes): &(&[&str], u8, Option<u64>)| {
        let path = path.iter().map(|name| Value::from(*name)).collect::<Vec<_>>();
        Value::Array(vec![path.into(), (*operations).into(), most_bytes.map_or(Value::Null, Value::from)])
    };
    of.iter().map(grant).collect()
}
