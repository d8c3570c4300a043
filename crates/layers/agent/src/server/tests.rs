//! Conversations with an agent, without sockets: who asks what by which key, and what is answered.

use super::*;
use crate::authority::{self, Terms};
use crate::trust;
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::path::Prefix;
use bakeoff_layers_credentials::statement::{Audience, Scope, Wish};
use bakeoff_layers_credentials::{Revoked, verify, verify_node};

const NOW: u64 = 1_764_000_000;
const SERVER: &str = "node:files@home.example";

struct Stage {
    dir: tempfile::TempDir,
    agent: Agent,
    bundles: Bundles,
}

/// Somebody with a key, and an identity over it.
struct Person {
    name: Name,
    key: SecretKey,
    identity: Vec<u8>,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let terms = Terms { agents: &[], until_unix_s: NOW + 999_999, passphrase: None };
        authority::init(&"home.example".parse().unwrap(), &dir.path().join("ca"), terms, NOW).unwrap();
        let bundles = trust::read(&dir.path().join("ca/trust")).unwrap();
        let agent = agent(&dir, &bundles);
        Self { dir, agent, bundles }
    }

    fn person(&self, name: &str) -> Person {
        self.until(name, NOW + 500_000)
    }

    fn until(&self, name: &str, until: u64) -> Person {
        let (name, key) = (name.parse().unwrap(), SecretKey::generate().unwrap());
        let times = (NOW - 60, until);
        let identity =
            authority::certify(&self.dir.path().join("ca"), &name, key.public(), times).unwrap().identity;
        Person { name, key, identity }
    }

    /// What is answered, or the name of the reason why not.
    fn ask(&self, by: &SecretKey, question: Question) -> Result<Answer, &'static str> {
        self.agent.answer(by.public(), &question, NOW).map_err(|no| no.name())
    }

    fn login(&self, by: &SecretKey, identities: &[&Person], seconds: u64) -> Result<Vec<u8>, &'static str> {
        let identities =
            identities.iter().map(|person| (person.name.clone(), person.identity.clone())).collect();
        let shown = Hello { identities, ..Hello::default() };
        self.ask(by, Question::Login { shown, seconds }).map(|answer| match answer {
            Answer::Leaf(leaf) => leaf,
            other => panic!("{other:?}"),
        })
    }

    fn endorse(&self, hello: &Hello) -> Result<Hello, &'static str> {
        self.ask(&SecretKey::generate().unwrap(), Question::Endorse(hello.clone())).map(|answer| match answer
        {
            Answer::Status(status) => {
                let statuses = vec![("home.example".parse().unwrap(), status)];
                Hello { statuses, ..hello.clone() }
            }
            other => panic!("{other:?}"),
        })
    }

    fn revoke(&self, by: &SecretKey, what: What) -> Result<Answer, &'static str> {
        self.ask(by, Question::Revoke(what))
    }
}

fn agent(dir: &tempfile::TempDir, bundles: &Bundles) -> Agent {
    let domain = "home.example".parse().unwrap();
    let ola = dir.path().join("ca/ola");
    let key = crate::read_secret_key(&ola.join("agent.key")).unwrap();
    let groups = Groups::read("group:staff@home.example user:alice@home.example", &domain).unwrap();
    Agent::new(
        bundles.get(&domain).unwrap().clone(),
        key,
        Roll::of(&ola),
        groups,
        Book::open(&ola.join("book"), NOW).unwrap(),
    )
}

/// What alice hands to bob for the file server.
fn given(giver: &Person, receiver: &Person, held: Option<&[u8]>, hops: u8) -> (Serial, Vec<u8>) {
    let scope = Scope { path: Prefix::default(), operations: Operations::ALL, most_bytes: None };
    let wish = Wish {
        receiver: Some(receiver.name.clone()),
        key: receiver.key.public(),
        audience: vec![Audience::parse(SERVER).unwrap()],
        grants: vec![scope],
        from_unix_s: NOW - 1,
        until_unix_s: NOW + 1000,
        hops,
    };
    let serial = Serial::random().unwrap();
    (serial, Transfer::give(&wish, &giver.name, &giver.key, held, serial).unwrap())
}

fn hello(first: &Person, chain: &[(&Person, &[u8])]) -> Hello {
    let chain = chain.iter().map(|(giver, bytes)| (giver.name.clone(), bytes.to_vec())).collect();
    Hello { identities: vec![(first.name.clone(), first.identity.clone())], chain, statuses: Vec::new() }
}

#[test]
fn a_leaf_is_given_to_the_key_of_an_identity_with_its_groups_and_for_a_day_at_most() {
    let stage = Stage::new();
    let (alice, bob) = (stage.person("user:alice@home.example"), stage.person("user:bob@home.example"));
    let leaf = stage.login(&alice.key, &[&alice], 900).unwrap();
    let until = |leaf: &[u8], name: &Name| verify_node(leaf, &stage.bundles, name, NOW);
    assert_eq!(until(&leaf, &alice.name), Ok(NOW + 900));
    assert_eq!(until(&leaf, &bob.name).unwrap_err().name(), "wrong-holder");
    let server = SERVER.parse().unwrap();
    let grant = |leaf: &[u8]| {
        verify(leaf, &Hello::default(), &stage.bundles, &Revoked::default(), &server, NOW).unwrap()
    };
    assert_eq!(grant(&leaf).groups, ["group:staff@home.example".parse().unwrap()]);
    assert!(grant(&stage.login(&bob.key, &[&bob], 1).unwrap()).groups.is_empty());
    let day = stage.login(&alice.key, &[&alice], 86_400).unwrap();
    assert_eq!(until(&day, &alice.name), Ok(NOW + 86_400));
    let short = stage.until("user:carol@home.example", NOW + 50);
    let leaf = stage.login(&short.key, &[&short], 900).unwrap();
    assert_eq!(until(&leaf, &short.name), Ok(NOW + 50), "no longer than its identity");
    for (who, identities, seconds, why) in [
        (&bob, &[&alice][..], 900, "wrong-holder"),
        (&bob, &[&bob, &alice], 900, "wrong-holder"),
        (&alice, &[], 900, "malformed"),
        (&alice, &[&alice], 0, "too-long"),
        (&alice, &[&alice], 86_401, "too-long"),
        (&alice, &[&stage.until("user:dan@home.example", NOW)], 900, "expired"),
    ] {
        assert_eq!(stage.login(&who.key, identities, seconds).unwrap_err(), why);
    }
}

/// Whoever has the CA's key certifies what he likes; the agent's roll is elsewhere, and says nothing of it.
#[test]
fn a_thief_of_the_cas_key_alone_gets_neither_leaf_nor_status() {
    let stage = Stage::new();
    let ca = crate::read_secret_key(&stage.dir.path().join("ca/ca.key")).unwrap();
    let forged = |name: &str| {
        let (name, key): (Name, _) = (name.parse().unwrap(), SecretKey::generate().unwrap());
        let identity = Identity {
            name: name.clone(),
            key: key.public(),
            serial: Serial::random().unwrap(),
            from_unix_s: NOW - 60,
            until_unix_s: NOW + 500_000,
        };
        Person { name, key, identity: identity.seal(&ca).unwrap() }
    };
    let alice = stage.person("user:alice@home.example");
    assert!(stage.login(&alice.key, &[&alice], 900).is_ok());
    for name in ["user:alice@home.example", "user:eve@home.example", "node:files@home.example"] {
        let thief = forged(name);
        assert_eq!(stage.login(&thief.key, &[&thief], 900).unwrap_err(), "not-enrolled", "{name}");
        let (_, transfer) = given(&thief, &alice, None, 0);
        let refused = stage.endorse(&hello(&thief, &[(&thief, &transfer)])).unwrap_err();
        assert_eq!(refused, "not-enrolled", "{name}");
    }
}

#[test]
fn nobody_of_another_domain_is_counter_signed() {
    let (stage, site) = (Stage::new(), tempfile::tempdir().unwrap());
    let ca = site.path().join("ca");
    let terms = Terms { agents: &[], until_unix_s: NOW + 999_999, passphrase: None };
    authority::init(&"site.example".parse().unwrap(), &ca, terms, NOW).unwrap();
    let name: Name = "user:eve@site.example".parse().unwrap();
    let key = SecretKey::generate().unwrap();
    let identity = authority::certify(&ca, &name, key.public(), (NOW, NOW + 900)).unwrap().identity;
    let eve = Person { name, key, identity };
    assert_eq!(stage.login(&eve.key, &[&eve], 900).unwrap_err(), "not-its-domain");
    let alice = stage.person("user:alice@home.example");
    assert_eq!(stage.login(&eve.key, &[&alice, &eve], 900).unwrap_err(), "not-its-domain");
    let renamed = Person { name: "user:eve@home.example".parse().unwrap(), ..eve };
    assert_eq!(stage.login(&renamed.key, &[&renamed], 900).unwrap_err(), "bad-signature");
}

#[test]
fn a_chain_is_endorsed_link_by_link_and_what_was_taken_back_no_more() {
    let stage = Stage::new();
    let [alice, bob, carol] =
        ["alice", "bob", "carol"].map(|name| stage.person(&format!("user:{name}@home.example")));
    let (first, to_bob) = given(&alice, &bob, None, 1);
    let (second, to_carol) = given(&bob, &carol, Some(&to_bob), 0);
    let shown = hello(&alice, &[(&alice, &to_bob), (&bob, &to_carol)]);
    let endorsed = stage.endorse(&shown).unwrap();
    let leaf = stage.login(&carol.key, &[&carol], 900).unwrap();
    let server = SERVER.parse().unwrap();
    let grant = verify(&leaf, &endorsed, &stage.bundles, &Revoked::default(), &server, NOW).unwrap();
    assert_eq!((&grant.subject, &grant.acts_as), (&alice.name, &carol.name));
    let beheaded = hello(&bob, &[(&bob, &to_carol)]);
    assert_eq!(stage.endorse(&beheaded).unwrap_err(), "spliced");
    assert_eq!(
        stage.endorse(&hello(&bob, &[(&alice, &to_bob)])).unwrap_err(),
        "spliced",
        "no identity of the giver"
    );
    assert_eq!(stage.endorse(&hello(&alice, &[])).unwrap_err(), "no-link");
    let (_, forged) = given(
        &Person { name: alice.name.clone(), ..stage.person("user:mallory@home.example") },
        &bob,
        None,
        0,
    );
    assert_eq!(stage.endorse(&hello(&alice, &[(&alice, &forged)])).unwrap_err(), "bad-signature");
    // Bob takes back his own, which is not what alice gave.
    let serial = |serial| What::Item(Item::Serial(serial));
    assert_eq!(stage.revoke(&bob.key, serial(first)).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&carol.key, serial(second)).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&bob.key, serial(second)), Ok(Answer::Done(1)));
    assert_eq!(stage.endorse(&shown).unwrap_err(), "revoked");
    assert!(
        stage.endorse(&hello(&alice, &[(&alice, &to_bob)])).is_ok(),
        "what stands before it is good still"
    );
}

#[test]
fn things_are_taken_back_by_their_owners_and_by_who_has_the_agents_key() {
    let stage = Stage::new();
    let [alice, bob] = ["alice", "bob"].map(|name| stage.person(&format!("user:{name}@home.example")));
    let admin = crate::read_secret_key(&stage.dir.path().join("ca/ola/agent.key")).unwrap();
    let (serial, unseen) = given(&alice, &bob, None, 0);
    // Nobody has asked for a status of it yet: the number alone says nothing, what alice signed does.
    assert_eq!(stage.revoke(&alice.key, What::Item(Item::Serial(serial))).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&bob.key, What::Transfer(unseen.clone())).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&alice.key, What::Transfer(unseen.clone())), Ok(Answer::Done(1)));
    assert_eq!(stage.endorse(&hello(&alice, &[(&alice, &unseen)])).unwrap_err(), "revoked");
    stage.login(&bob.key, &[&bob], 900).unwrap();
    assert_eq!(stage.revoke(&alice.key, What::Name(bob.name.clone())).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&admin, What::Name(alice.name.clone())).unwrap_err(), "never-seen");
    assert_eq!(stage.revoke(&admin, What::Name(bob.name.clone())), Ok(Answer::Done(2)));
    assert_eq!(stage.login(&bob.key, &[&bob], 900).unwrap_err(), "revoked");
    let key = Item::Key(alice.key.public().thumbprint());
    assert_eq!(stage.revoke(&bob.key, What::Item(key)).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&alice.key, What::Item(key)), Ok(Answer::Done(3)));
    assert_eq!(stage.login(&alice.key, &[&alice], 900).unwrap_err(), "revoked");
    // The same after a start.
    let again = agent(&stage.dir, &stage.bundles);
    assert_eq!(again.epoch(), stage.agent.epoch());
    assert!(matches!(again.epoch(), Answer::Epoch(3, items) if items.len() == 3));
    assert_eq!(stage.agent.wait(2, Duration::from_secs(9)), 3, "there is more already");
    assert_eq!(stage.agent.wait(3, Duration::ZERO), 3);
    // Who waits is woken, and not by the end of his time.
    let begun = std::time::Instant::now();
    let woken = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| stage.agent.wait(3, Duration::from_secs(120)));
        stage.revoke(&admin, What::Item(Item::Key([7; 32]))).unwrap();
        waiting.join().unwrap()
    });
    assert!(woken == 4 && begun.elapsed() < Duration::from_secs(60), "{woken}");
}
