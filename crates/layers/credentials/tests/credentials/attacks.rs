//! Attacks on a chain, on what envelopes it and on the leaf beside it, each refused by its own name.

use crate::forger::{self, Claims, HEADER, IDENTITY, Parts, STATUS, TRANSFER, lie, set};
use crate::world::{DAY, House, Link, MINUTE, NOW, Person, Shown, World, scope};
use bakeoff_layers_credentials::bundle::Bundle;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{SecretKey, Serial, hash};
use bakeoff_layers_credentials::statement::{Transfer, Wish};
use bakeoff_layers_credentials::{Item, Refusal};
use ciborium::Value;

const GRANTS: i64 = -70001;
const HOPS: i64 = -70002;
const PARENT: i64 = -70003;
const GIVER_KEY: i64 = -70004;

/// What is done, what it is refused as, how.
type Attack = (&'static str, &'static str, fn(&World) -> Shown);

const CHAINS: &[Attack] = &[
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
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&[], 7, Some(1000))])))
    }),
    ("another path", "widened", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["pp"], 7, Some(1000))])))
    }),
    ("another path beside the same", "widened", |world| {
        bob_lies(world, |claims| {
            set(claims, GRANTS, grants(&[(&["p"], 7, Some(1000)), (&["q"], 1, Some(1))]))
        })
    }),
    ("more operations", "widened", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"], 15, Some(1000))])))
    }),
    ("more bytes", "widened", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"], 7, Some(1001))])))
    }),
    ("bytes without a limit", "widened", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"], 7, None)])))
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
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"][..], 1, Some(1)); 17])))
    }),
    ("no grant", "malformed", |world| bob_lies(world, |claims| set(claims, GRANTS, grants(&[])))),
    ("a path that leads up", "malformed", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p", ".."], 1, Some(1))])))
    }),
    ("a path in one piece", "malformed", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p/q"], 1, Some(1))])))
    }),
    ("an operation that there is not", "malformed", |world| {
        bob_lies(world, |claims| set(claims, GRANTS, grants(&[(&["p"], 128, Some(1))])))
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
            shown.hello.statuses = vec![world.home.status(&shown.serials[..1], |_| {})];
        })
    }),
    ("a status of another serial", "not-endorsed", |world| {
        let other = world.alice.gives(&world.bob, None, |_| {});
        world.handed().with(|shown| shown.hello.statuses = vec![world.home.status(&[other.serial], |_| {})])
    }),
    ("a status by another domain's agent", "not-endorsed", |world| {
        let first = world.alice.gives(&world.bob, None, |_| {});
        let status = world.partner.status(&[first.serial], |_| {});
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
    ("65 serials", "too-large", |world| {
        let many = vec![Value::Bytes(vec![7; 16]); 65];
        status_lies(world, &world.home.agent, |claims| set(claims, -70010, many))
    }),
    ("a link that was taken back", "revoked", |world| {
        world.handed().with(|shown| shown.revoked.add(&world.home.domain, Item::Serial(shown.serials[0])))
    }),
    ("a key on the way that was taken back", "revoked", |world| {
        let key = Item::Key(world.bob.key.public().thumbprint());
        world.handed().with(|shown| shown.revoked.add(&world.home.domain, key))
    }),
    ("an identity that was taken back", "revoked", |world| {
        let identity = Item::Serial(world.alice.identity.serial);
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

const LEAFS: &[Attack] = &[
    ("over", "expired", |world| world.handed().with(|shown| shown.now_unix_s = NOW + 15 * MINUTE)),
    ("of tomorrow", "not-yet-valid", |world| {
        world.handed().with(|shown| shown.now_unix_s = NOW - MINUTE - 1)
    }),
    ("for a second more than a day", "longer-lived", |world| leaf(world, b"260921142820Z", b"260922141221Z")),
    ("without the identity", "malformed", |world| {
        leaf(world, &[0x69, 0x82, 0xf4, 0xe9], &[0x69, 0x82, 0xf4, 0xe8])
    }),
    ("of another name", "wrong-holder", |world| leaf(world, b"/user/carol", b"/user/karol")),
    ("of another kind", "wrong-holder", |world| leaf(world, b"/user/carol", b"/node/carol")),
    ("of a group", "malformed", |world| leaf(world, b"/user/carol", b"/group/caro")),
    ("of a domain that nobody knows", "unknown-domain", |world| leaf(world, b"//partner.", b"//partnes.")),
    ("changed after it was signed", "bad-signature", |world| {
        world.handed().with(|shown| {
            shown.leaf = forger::leaf(&shown.leaf, &world.mallory.key, b"/user/carol", b"/user/carol")
        })
    }),
    ("with somebody else's identity", "bad-signature", |world| {
        let leaf = world.partner.leaf_over(&world.carol, &world.alice.statement, &[]);
        world.handed().with(|shown| shown.leaf = leaf)
    }),
    ("with the identity of an earlier key", "wrong-holder", |world| {
        let before = world.partner.person("user:carol@partner.example");
        let leaf = world.partner.leaf_over(&world.carol, &before.statement, &[]);
        world.handed().with(|shown| shown.leaf = leaf)
    }),
    ("with something behind the identity", "trailing-data", |world| {
        let more = [world.carol.statement.as_slice(), &[0]].concat();
        world.handed().with(|shown| shown.leaf = world.partner.leaf_over(&world.carol, &more, &[]))
    }),
    ("with something behind it", "malformed", |world| world.handed().with(|shown| shown.leaf.push(0))),
    ("of 16 KiB and more", "too-large", |world| {
        world.handed().with(|shown| shown.leaf.resize(16 * 1024 + 1, 0))
    }),
    ("nothing", "malformed", |world| world.handed().with(|shown| shown.leaf.clear())),
    ("the agent's own certificate", "malformed", |world| {
        world.handed().with(|shown| shown.leaf.clone_from(&world.partner.root))
    }),
    ("by a stranger with the agent's name", "bad-signature", |world| {
        let stranger = House::new("partner.example");
        world.handed().with(|shown| shown.leaf = stranger.leaf(&world.carol, &[]))
    }),
    ("under a bundle that is over", "expired", |world| {
        let text =
            world.partner.bundle_text(1).replace(&(NOW + 30 * DAY).to_string(), &(NOW - 1).to_string());
        let over = Bundle::read_unverified(text.as_bytes()).unwrap();
        world.handed().with(|shown| shown.bundles = [world.home.bundle(), over].into_iter().collect())
    }),
    ("under no bundle", "unknown-domain", |world| {
        world.handed().with(|shown| shown.bundles = [world.home.bundle()].into_iter().collect())
    }),
];

/// What is done to bob's link, which his key signs again if it is to be.
type Wrapping = (&'static str, &'static str, fn(Parts, &SecretKey) -> Vec<u8>);

const ENVELOPES: &[Wrapping] = &[
    ("as it was", "good", |parts, key| parts.signed(TRANSFER, key)),
    ("a second protected header", "odd-header", |parts, key| {
        header(parts, key, &[0xa2, 0x01, 0x27, 0x04, 0x41, 0x61])
    }),
    ("a critical header", "odd-header", |parts, key| {
        header(parts, key, &[0xa2, 0x01, 0x27, 0x02, 0x81, 0x04])
    }),
    ("an unprotected header", "odd-header", |mut parts, key| {
        parts.unprotected = Value::Map(vec![(4.into(), Value::Bytes(vec![0x61]))]);
        parts.signed(TRANSFER, key)
    }),
    ("ES256", "unknown-algorithm", |parts, key| header(parts, key, &[0xa1, 0x01, 0x26])),
    ("HMAC", "unknown-algorithm", |parts, key| header(parts, key, &[0xa1, 0x01, 0x05])),
    ("algorithm none", "unknown-algorithm", |parts, key| header(parts, key, &[0xa1, 0x01, 0xf6])),
    ("no algorithm", "odd-header", |parts, key| header(parts, key, &[])),
    ("an empty header", "odd-header", |parts, key| header(parts, key, &[0xa0])),
    ("no signature", "bad-signature", |mut parts, _| {
        parts.signature.clear();
        parts.statement()
    }),
    ("signed without its kind", "bad-signature", |parts, key| parts.signed("", key)),
    ("something behind it", "trailing-data", |parts, key| [parts.signed(TRANSFER, key), vec![0]].concat()),
    ("something behind its claims", "trailing-data", |parts, key| {
        payload(parts, key, |claims| claims.push(0))
    }),
    ("claims without a length", "malformed", |parts, key| {
        payload(parts, key, |claims| {
            claims[0] = 0xbf;
            claims.push(0xff);
        })
    }),
    ("parts without a length", "malformed", |parts, key| {
        let mut statement = parts.signed(TRANSFER, key);
        statement[1] = 0x9f;
        [statement, vec![0xff]].concat()
    }),
    ("a number longer than it need be", "malformed", |parts, key| {
        payload(parts, key, |claims| {
            let at = claims.windows(2).position(|two| two == [0x04, 0x1a]).unwrap();
            claims.splice(at..at + 2, [0x04, 0x1b, 0, 0, 0, 0]);
        })
    }),
    ("claims that are a list", "malformed", |parts, key| payload(parts, key, |claims| *claims = vec![0x80])),
    ("claims that nest", "malformed", |parts, key| payload(parts, key, |claims| *claims = vec![0x81; 4000])),
    ("4 KiB that nest", "malformed", |_, _| vec![0x81; 4096]),
    ("1 MiB that nests", "too-large", |_, _| vec![0x81; 1 << 20]),
    ("no tag", "malformed", |parts, key| parts.signed(TRANSFER, key).split_off(1)),
    ("two tags", "malformed", |parts, key| [vec![0xd2], parts.signed(TRANSFER, key)].concat()),
    ("another tag", "malformed", |parts, key| {
        [vec![0xd1], parts.signed(TRANSFER, key).split_off(1)].concat()
    }),
    ("nothing", "malformed", |_, _| Vec::new()),
];

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

/// The same of bytes: what says more than may be is refused before anything is verified.
#[test]
fn a_hello_is_three_lists_of_so_many() {
    let world = World::new();
    let hello = world.handed().hello;
    let good = hello.write();
    assert_eq!(Hello::read(&good), Ok(hello.clone()));
    let many = |change: &dyn Fn(&mut Hello)| {
        let mut hello = hello.clone();
        change(&mut hello);
        hello.write()
    };
    let odd = |from: &[u8], to: &[u8]| {
        let at = good.windows(from.len()).position(|window| window == from).unwrap();
        [&good[..at], to, &good[at + from.len()..]].concat()
    };
    for (what, name, bytes) in [
        ("1 MiB that nests", "too-large", vec![0x81; 1 << 20]),
        ("4 KiB that nest", "malformed", vec![0x81; 4096]),
        ("something behind it", "trailing-data", [good.as_slice(), &[0]].concat()),
        ("cut short", "malformed", good[..good.len() - 1].to_vec()),
        ("two lists", "malformed", vec![0x82, 0x80, 0x80]),
        ("four lists", "malformed", vec![0x84, 0x80, 0x80, 0x80, 0x80]),
        ("a list without a length", "malformed", vec![0x83, 0x80, 0x80, 0x9f, 0xff]),
        ("no name", "malformed", odd(b"user:alice@home", b"user:Alice@home")),
        ("nine links", "too-deep", many(&|hello| hello.chain = vec![hello.chain[0].clone(); 9])),
        ("11 identities", "too-large", many(&|hello| hello.identities = vec![world.alice.shown(); 11])),
        ("11 statuses", "too-large", many(&|hello| hello.statuses = vec![hello.statuses[0].clone(); 11])),
    ] {
        assert_eq!(Hello::read(&bytes).map_err(|refusal| refusal.name()), Err(name), "{what}");
    }
}

#[test]
fn nobody_makes_what_everybody_would_refuse() {
    let world = World::new();
    let first = world.alice.gives(&world.bob, None, |_| {});
    let wishes: [(&str, fn(&mut Wish)); 5] = [
        ("widened", |wish| wish.grants = vec![scope("/", "read", None)]),
        ("widened", |wish| wish.hops = 8),
        ("longer-lived", |wish| wish.until_unix_s += 1),
        ("too-large", |wish| wish.grants = vec![scope("/p", "read", Some(1)); 17]),
        ("malformed", |wish| wish.audience.clear()),
    ];
    for (name, change) in wishes {
        let mut wish = Wish { hops: 7, key: world.carol.key.public(), ..first.wish.clone() };
        change(&mut wish);
        let refused = give(&world.bob, &wish, Some(&first.statement)).unwrap_err();
        assert_eq!(refused.name(), name, "{refused}");
    }
    let not_his = give(&world.carol, &first.wish, Some(&first.statement)).unwrap_err();
    assert_eq!(not_his.name(), "wrong-holder");
}

fn give(giver: &Person, wish: &Wish, held: Option<&[u8]>) -> Result<Vec<u8>, Refusal> {
    Transfer::give(wish, &giver.name, &giver.key, held, Serial([1; 16]))
}

/// What is wrong with the answer, if it is.
fn differs(what: &str, expected: &str, shown: &Shown) -> Option<String> {
    let (name, sentence) = match shown.verify() {
        Ok(grant) => ("good", format!("{} as {}", grant.acts_as, grant.subject)),
        Err(refusal) => (refusal.name(), refusal.to_string()),
    };
    (name != expected).then(|| format!("{what}: {name} and not {expected}: {sentence}"))
}

/// Bob's link as he should not have made it.
fn bob_lies(world: &World, change: impl FnOnce(&mut Claims)) -> Shown {
    link(world, |second| lie(second, TRANSFER, &world.bob.key, change))
}

fn link(world: &World, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Shown {
    world.handed().with(|shown| shown.hello.chain[1].1 = change(&shown.hello.chain[1].1))
}

fn status_lies(world: &World, agent: &SecretKey, change: impl FnOnce(&mut Claims)) -> Shown {
    world.handed().with(|shown| {
        let status = &mut shown.hello.statuses[0].1;
        *status = lie(status, STATUS, agent, change);
    })
}

/// Bob hands to carol what he may not.
fn in_spite(world: &World, held: &Link) -> Link {
    let honest = world.alice.gives(&world.bob, None, |_| {});
    let mut link = world.bob.gives(&world.carol, Some(&honest), |_| {});
    let parent = hash(&held.statement).to_vec();
    link.statement = lie(&link.statement, TRANSFER, &world.bob.key, |claims| set(claims, PARENT, parent));
    link
}

/// Carol's leaf, in which something became something else, signed by her agent.
fn leaf(world: &World, from: &[u8], to: &[u8]) -> Shown {
    world.handed().with(|shown| shown.leaf = forger::leaf(&shown.leaf, &world.partner.agent, from, to))
}

fn header(mut parts: Parts, key: &SecretKey, header: &[u8]) -> Vec<u8> {
    assert_eq!(parts.header, HEADER);
    parts.header = header.to_vec();
    parts.signed(TRANSFER, key)
}

fn payload(mut parts: Parts, key: &SecretKey, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut parts.payload);
    parts.signed(TRANSFER, key)
}

fn text(audience: &str) -> Vec<Value> {
    vec![audience.into()]
}

/// Of each its path, operations and most bytes.
fn grants(of: &[(&[&str], u8, Option<u64>)]) -> Vec<Value> {
    let grant = |(path, operations, most_bytes): &(&[&str], u8, Option<u64>)| {
        let path = path.iter().map(|name| Value::from(*name)).collect::<Vec<_>>();
        Value::Array(vec![path.into(), (*operations).into(), most_bytes.map_or(Value::Null, Value::from)])
    };
    of.iter().map(grant).collect()
}
