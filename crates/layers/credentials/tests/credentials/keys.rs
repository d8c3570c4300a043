//! Stolen keys, of which one alone is not enough; and bundles, which pin keys.

use crate::forger;
use crate::world::{DAY, House, NOW, Person, Shown, World, key};
use bakeoff_layers_base::key as minisign;
use bakeoff_layers_base::manifest::load::TrustConditions;
use bakeoff_layers_base::manifest::signature::{self, AdminPublicKey};
use bakeoff_layers_credentials::bundle::{Bundles, DomainBundle, Draft};
use bakeoff_layers_credentials::key::PublicKey;
use std::slice::from_ref;

fn refused(shown: &Shown) -> &'static str {
    shown.verify().unwrap_err().name()
}

#[test]
fn the_ca_s_key_alone_lets_nobody_in() {
    let world = World::new();
    // A new alice, under the right CA, and an agent that the bundle does not pin.
    let thief = Person::new("user:alice@home.example", &world.home.ca);
    let agent = House::new("home.example");
    let logs_in =
        world.shows(&world.home, &world.alice, &[]).with(|shown| shown.leaf = agent.leaf(&thief, &[]));
    assert_eq!(refused(&logs_in), "bad-signature");
    // Or the thief hands on to somebody with a leaf; but no agent endorses it.
    let given = thief.gives(&world.mallory, None, |_| {});
    let hands = world.shows(&world.partner, &world.mallory, &[&given]).with(|shown| {
        shown.hello.identities = vec![thief.shown()];
        shown.hello.statuses = vec![agent.status(&[given.hash], |_| {})];
    });
    assert_eq!(refused(&hands), "bad-signature");
    assert_eq!(refused(&hands.with(|shown| shown.hello.statuses.clear())), "not-endorsed");
}

#[test]
fn the_agent_s_key_alone_lets_nobody_in() {
    let world = World::new();
    let key = key();
    let thief = Person::new("user:alice@home.example", &key);
    for (statement, name) in [(&world.alice.statement, "wrong-holder"), (&thief.statement, "bad-signature")] {
        let leaf = world.home.leaf_over(&thief, statement, &[]);
        let shown = world.shows(&world.home, &world.alice, &[]).with(|shown| shown.leaf = leaf);
        assert_eq!(refused(&shown), name);
    }
    // It can make any status; but giving takes alice's key.
    let given = thief.gives(&world.mallory, None, |_| {});
    assert_eq!(refused(&world.shows(&world.partner, &world.mallory, &[&given])), "bad-signature");
}

#[test]
fn an_ancestor_does_not_speak_for_a_descendant() {
    let world = World::new();
    let above = House::new("example");
    let forged = Person::new("user:alice@home.example", &above.ca);
    let bundles: Bundles =
        [above.bundle(), world.home.bundle(), world.partner.bundle()].into_iter().collect();
    let given = forged.gives(&world.mallory, None, |_| {});
    let shown = world.shows(&world.partner, &world.mallory, &[&given]).with(|shown| {
        shown.hello.identities = vec![forged.shown()];
        shown.bundles = bundles;
    });
    assert_eq!(refused(&shown), "bad-signature");
    // Nor does a leaf of another domain's agent count, whatever it says.
    let beside = House::new("some.example");
    let leaf = beside.leaf(&beside.person("user:alice@some.example"), &[]);
    let leaf = forger::leaf(&leaf, &beside.agent, b"//some.example/", b"//home.example/");
    let shown = world.shows(&world.home, &world.alice, &[]).with(|shown| {
        shown.leaf = leaf;
        shown.bundles = [beside.bundle(), world.home.bundle()].into_iter().collect();
    });
    assert_eq!(refused(&shown), "not-its-domain");
}

#[test]
fn a_bundle_is_signed_good_and_not_older_than_one_seen_before() {
    let dir = tempfile::tempdir().unwrap();
    let keys = |name: &str| {
        let (secret, public) = (dir.path().join(name), dir.path().join(format!("{name}.pub")));
        minisign::generate(&secret, &public, None).unwrap();
        (minisign::read_secret(&secret, None).unwrap(), AdminPublicKey::read(&public).unwrap())
    };
    let ((secret, public), (_, other)) = (keys("admin"), keys("other"));
    let text = House::new("home.example").bundle_text(5);
    let signed = signature::sign(text.as_bytes(), &secret, "home.example.trust").unwrap();
    let read = |text: &str, key, now_unix_s, seen_version| {
        let trust = TrustConditions { key, now_unix_s, seen_version };
        DomainBundle::read(text.as_bytes(), &signed, &trust).map_err(|refusal| refusal.name())
    };
    let bundle = read(&text, &public, NOW + 30 * DAY, 5).unwrap();
    assert_eq!((bundle.domain.as_str(), bundle.version, bundle.roots().len()), ("home.example", 5, 1));
    assert_eq!(read(&text, &public, NOW, 6).err(), Some("rolled-back"));
    assert_eq!(read(&text, &public, NOW + 30 * DAY + 1, 5).err(), Some("expired"));
    assert_eq!(read(&text, &other, NOW, 5).err(), Some("wrong-key"));
    assert_eq!(read(&text.replace("version 5", "version 6"), &public, NOW, 5).err(), Some("bad-signature"));
}

#[test]
fn of_two_bundles_of_a_domain_the_newer_counts() {
    let house = House::new("home.example");
    let [old, new] =
        [1, 2].map(|version| DomainBundle::read_unverified(house.bundle_text(version).as_bytes()).unwrap());
    for both in [[old.clone(), new.clone()], [new, old]] {
        let bundles: Bundles = both.into_iter().collect();
        assert_eq!(bundles.get(&house.domain).map(|bundle| bundle.version), Some(2));
        assert_eq!(bundles.each().count(), 1);
    }
}

#[test]
fn a_bundle_names_agents_of_its_own_domain_whose_keys_are_no_ca_s() {
    let (home, partner) = (House::new("home.example"), House::new("partner.example"));
    let refused = |ca: &[PublicKey], roots: &[Vec<u8>]| {
        let draft = Draft {
            domain: &home.domain,
            version: 1,
            not_after_unix_s: NOW,
            ca,
            roots,
            addresses: &["agent.home.example:7440".to_owned()],
        };
        draft.text().err().map(|refusal| refusal.to_string())
    };
    let (ca, agent) = (home.ca.public(), home.agent.public());
    let root = "`ola-root` and a certificate of this domain's agent, with an Ed25519 key of its own, in base64 expected";
    assert_eq!(refused(&[ca], from_ref(&home.root)), None);
    assert_eq!(refused(&[ca], from_ref(&partner.root)), Some(format!("line 6: {root}")), "a foreign agent");
    assert_eq!(
        refused(&[ca, agent], from_ref(&home.root)),
        Some(format!("line 7: {root}")),
        "one key for both"
    );
    assert_eq!(
        refused(&[ca], &[home.leaf(&home.person("user:a@home.example"), &[])]),
        Some(format!("line 6: {root}"))
    );
    assert_eq!(refused(&[ca], &[]), Some(format!("line 6: {root}")));
    assert_eq!(refused(&[ca; 3], from_ref(&home.root)), Some(format!("line 7: {root}")), "a key too many");
    assert_eq!(
        refused(&[], from_ref(&home.root)),
        Some("line 5: `ca` and 32 bytes in base64 expected".to_owned())
    );
}

#[test]
fn each_fault_of_a_bundle_has_its_line() {
    let text = House::new("home.example").bundle_text(1);
    let too_many = format!(":7440\n{}", "ola b:1\n".repeat(4));
    for (what, from, to, line) in [
        ("another format", "bakeoff-trust 1", "bakeoff-trust 2", 1),
        ("no domain", "domain home.example", "domain Home.example", 2),
        ("no number", "version 1", "version -1", 3),
        ("no time", "not-after ", "not-after x", 4),
        ("no key", "\nca ", "\nca AAAA", 5),
        ("no certificate", "ola-root ", "ola-root AAAA", 6),
        ("no port", ":7440", ":http", 7),
        ("something behind it", ":7440\n", ":7440\nmore\n", 8),
        ("an address too many", ":7440\n", too_many.as_str(), 11),
        ("cut short", ":7440\n", ":7440", 7),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        let refusal = DomainBundle::read_unverified(changed.as_bytes()).unwrap_err();
        assert!(refusal.to_string().starts_with(&format!("line {line}: ")), "{what}: {refusal}");
    }
    assert_eq!(DomainBundle::read_unverified(&[b'\n'; 64 * 1024 + 1]).unwrap_err().name(), "malformed");
    assert_eq!(DomainBundle::read_unverified(b"\xff\n").unwrap_err().name(), "malformed");
}
