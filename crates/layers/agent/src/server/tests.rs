//! Conversations with an agent, without sockets: questions with the asker's key, and the expected answers.

use super::super::book::Limits;
use super::*;
use crate::authority::{self, Terms};
use crate::trust;
use bakeoff_layers_credentials::audit::{Checkpoint, LogEnd};
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::key::Serial;
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::path::PathPrefix;
use bakeoff_layers_credentials::statement::{Audience, DelegationScope, TransferRequest};
use bakeoff_layers_credentials::{Revoked, verify, verify_node};

const NOW: u64 = 1_764_000_000;
const SERVER: &str = "node:files@home.example";

struct Stage {
    dir: tempfile::TempDir,
    agent: Agent,
    bundles: Bundles,
    /// Groups that the CA puts everybody into.
    groups: Vec<PrincipalName>,
}

/// A person with a key, and an identity over it.
struct Person {
    name: PrincipalName,
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
        let groups = vec!["group:staff@home.example".parse().unwrap()];
        Self { dir, agent, bundles, groups }
    }

    fn person(&self, name: &str) -> Person {
        self.until(name, NOW + 500_000)
    }

    fn until(&self, name: &str, until: u64) -> Person {
        let (name, key) = (name.parse().unwrap(), SecretKey::generate().unwrap());
        let times = (NOW - 60, until);
        let identity =
            authority::certify(&self.dir.path().join("ca"), (&name, &self.groups), key.public(), times)
                .unwrap()
                .identity;
        Person { name, key, identity }
    }

    /// The answer, or the name of the refusal.
    fn ask(&self, by: &SecretKey, question: AgentRequest) -> Result<AgentReply, &'static str> {
        self.agent.answer(by.public(), &question, NOW).map_err(|no| no.name())
    }

    fn login(&self, by: &SecretKey, identities: &[&Person], seconds: u64) -> Result<Vec<u8>, &'static str> {
        self.ask(by, AgentRequest::Login { shown: hello(identities, &[]), seconds }).map(
            |answer| match answer {
                AgentReply::Leaf(leaf) => leaf,
                other => panic!("{other:?}"),
            },
        )
    }

    fn endorse(&self, hello: &Hello) -> Result<Hello, &'static str> {
        self.ask(&SecretKey::generate().unwrap(), AgentRequest::Endorse(hello.clone())).map(|answer| {
            match answer {
                AgentReply::Status(status) => {
                    let statuses = vec![("home.example".parse().unwrap(), status)];
                    Hello { statuses, ..hello.clone() }
                }
                other => panic!("{other:?}"),
            }
        })
    }

    fn revoke(&self, by: &Person, what: RevocationTarget) -> Result<AgentReply, &'static str> {
        self.ask(&by.key, AgentRequest::Revoke { shown: hello(&[by], &[]), what })
    }

    /// By the holder of the agent's key.
    fn administers(&self, what: RevocationTarget) -> Result<AgentReply, &'static str> {
        let key = crate::read_secret_key(&self.dir.path().join("ca/ola/agent.key")).unwrap();
        self.ask(&key, AgentRequest::Revoke { shown: Hello::default(), what })
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
        (Book::open(&ola.join("book"), Limits::SERVING, NOW).unwrap(), Checkpoints::below(&ola).unwrap()),
    )
}

/// Alice's transfer to bob for the file server.
fn given(giver: &Person, receiver: &Person, held: Option<&[u8]>, hops: u8) -> (Item, Vec<u8>) {
    let scope = DelegationScope { path: PathPrefix::default(), operations: Operations::ALL };
    let wish = TransferRequest {
        receiver: Some(receiver.name.clone()),
        key: receiver.key.public(),
        audience: vec![Audience::parse(SERVER).unwrap()],
        grants: vec![scope],
        from_unix_s: NOW - 1,
        until_unix_s: NOW + 1000,
        hops,
    };
    let made = Transfer::give(&wish, &giver.name, &giver.key, held, Serial::random().unwrap()).unwrap();
    (Item::Transfer(hash(&made)), made)
}

fn hello(shown: &[&Person], chain: &[(&Person, &[u8])]) -> Hello {
    let chain = chain.iter().map(|(giver, bytes)| (giver.name.clone(), bytes.to_vec())).collect();
    let identities = shown.iter().map(|person| (person.name.clone(), person.identity.clone())).collect();
    Hello { identities, chain, statuses: Vec::new() }
}

#[test]
fn a_leaf_is_given_to_the_key_of_an_identity_with_its_groups_and_for_a_day_at_most() {
    let stage = Stage::new();
    let (alice, bob) = (stage.person("user:alice@home.example"), stage.person("user:bob@home.example"));
    let leaf = stage.login(&alice.key, &[&alice], 900).unwrap();
    let until = |leaf: &[u8], name: &PrincipalName| verify_node(leaf, &stage.bundles, name, NOW);
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

/// A thief of the CA's key can certify any name; the agent's roll is elsewhere, and does not have it.
#[test]
fn a_thief_of_the_cas_key_alone_gets_neither_leaf_nor_status() {
    let stage = Stage::new();
    let ca = crate::read_secret_key(&stage.dir.path().join("ca/ca.key")).unwrap();
    let forged = |name: &str| {
        let (name, key): (PrincipalName, _) = (name.parse().unwrap(), SecretKey::generate().unwrap());
        let identity = IdentityContent {
            name: name.clone(),
            key: key.public(),
            groups: Vec::new(),
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
        let refused = stage.endorse(&hello(&[&thief], &[(&thief, &transfer)])).unwrap_err();
        assert_eq!(refused, "not-enrolled", "{name}");
    }
}

#[test]
fn nobody_of_another_domain_is_counter_signed() {
    let (stage, site) = (Stage::new(), tempfile::tempdir().unwrap());
    let ca = site.path().join("ca");
    let terms = Terms { agents: &[], until_unix_s: NOW + 999_999, passphrase: None };
    authority::init(&"site.example".parse().unwrap(), &ca, terms, NOW).unwrap();
    let name: PrincipalName = "user:eve@site.example".parse().unwrap();
    let key = SecretKey::generate().unwrap();
    let identity = authority::certify(&ca, (&name, &[]), key.public(), (NOW, NOW + 900)).unwrap().identity;
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
    let shown = hello(&[&alice, &bob], &[(&alice, &to_bob), (&bob, &to_carol)]);
    let endorsed = stage.endorse(&shown).unwrap();
    let leaf = stage.login(&carol.key, &[&carol], 900).unwrap();
    let server = SERVER.parse().unwrap();
    let grant = verify(&leaf, &endorsed, &stage.bundles, &Revoked::default(), &server, NOW).unwrap();
    assert_eq!((&grant.subject, &grant.acts_as), (&alice.name, &carol.name));
    let beheaded = hello(&[&bob], &[(&bob, &to_carol)]);
    assert_eq!(stage.endorse(&beheaded).unwrap_err(), "spliced");
    assert_eq!(
        stage.endorse(&hello(&[&bob], &[(&alice, &to_bob)])).unwrap_err(),
        "spliced",
        "no identity of the giver"
    );
    assert_eq!(stage.endorse(&hello(&[&alice], &[])).unwrap_err(), "no-link");
    let (_, forged) = given(
        &Person { name: alice.name.clone(), ..stage.person("user:mallory@home.example") },
        &bob,
        None,
        0,
    );
    assert_eq!(stage.endorse(&hello(&[&alice], &[(&alice, &forged)])).unwrap_err(), "bad-signature");
    let headless = hello(&[&alice], &[(&alice, &to_bob), (&bob, &to_carol)]);
    assert_eq!(stage.endorse(&headless).unwrap_err(), "spliced", "each giver shows an identity");
    // Bob revokes his own, which is not the one that alice gave.
    assert_eq!(stage.revoke(&bob, RevocationTarget::Item(first)).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&carol, RevocationTarget::Item(second)).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&bob, RevocationTarget::Item(second)), Ok(AgentReply::Done(1)));
    assert_eq!(stage.endorse(&shown).unwrap_err(), "revoked");
    assert!(
        stage.endorse(&hello(&[&alice], &[(&alice, &to_bob)])).is_ok(),
        "what stands before it is good still"
    );
}

#[test]
fn things_are_taken_back_by_their_owners_and_by_who_has_the_agents_key() {
    let stage = Stage::new();
    let [alice, bob, carol] =
        ["alice", "bob", "carol"].map(|name| stage.person(&format!("user:{name}@home.example")));
    let (given, unseen) = given(&alice, &bob, None, 0);
    let transfer = || RevocationTarget::Transfer(unseen.clone());
    let name = |of: &Person| RevocationTarget::Name(of.name.clone());
    // Nobody has asked for its status yet: whose the hash is only the transfer itself says.
    assert_eq!(stage.revoke(&alice, RevocationTarget::Item(given)).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&bob, transfer()).unwrap_err(), "not-yours");
    assert_eq!(stage.revoke(&alice, transfer()), Ok(AgentReply::Done(1)));
    assert_eq!(stage.endorse(&hello(&[&alice], &[(&alice, &unseen)])).unwrap_err(), "revoked");
    stage.login(&bob.key, &[&bob], 900).unwrap();
    assert_eq!(stage.revoke(&alice, name(&bob)).unwrap_err(), "not-yours");
    assert_eq!(stage.administers(name(&alice)).unwrap_err(), "never-seen");
    assert_eq!(stage.administers(name(&bob)), Ok(AgentReply::Done(2)));
    assert_eq!(stage.login(&bob.key, &[&bob], 900).unwrap_err(), "revoked");
    let key = RevocationTarget::Item(Item::Key(alice.key.public().thumbprint()));
    assert_eq!(stage.revoke(&bob, key.clone()).unwrap_err(), "revoked");
    assert_eq!(stage.revoke(&carol, key.clone()).unwrap_err(), "not-yours");
    // A name's older transfers are its own, though it has another key by now.
    let renewed = stage.person("user:carol@home.example");
    let (_, older) = self::given(&carol, &alice, None, 0);
    assert_eq!(stage.revoke(&renewed, RevocationTarget::Transfer(older)), Ok(AgentReply::Done(3)));
    assert_eq!(stage.revoke(&alice, key), Ok(AgentReply::Done(4)));
    assert_eq!(stage.login(&alice.key, &[&alice], 900).unwrap_err(), "revoked");
    let identity = RevocationTarget::Item(Item::Identity(hash(&carol.identity)));
    assert_eq!(stage.revoke(&renewed, identity.clone()).unwrap_err(), "not-yours");
    assert_eq!(stage.administers(identity), Ok(AgentReply::Done(5)));
    assert_eq!(stage.login(&carol.key, &[&carol], 900).unwrap_err(), "revoked");
    assert!(stage.login(&renewed.key, &[&renewed], 900).is_ok());
    // The same after a restart.
    let again = agent(&stage.dir, &stage.bundles);
    assert_eq!(again.told(NOW), stage.agent.told(NOW));
    assert!(
        matches!(&again.told(NOW).1[..], [AgentReply::Epoch { epoch: 5, items, last: true }] if items.len() == 5)
    );
    assert_eq!(stage.agent.wait(2, Duration::from_secs(9)), 5, "there is more already");
    assert_eq!(stage.agent.wait(5, Duration::ZERO), 5);
    // A waiting thread is woken, and not by its timeout.
    let begun = std::time::Instant::now();
    let woken = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| stage.agent.wait(5, Duration::from_secs(120)));
        stage.administers(RevocationTarget::Item(Item::Key([7; 32]))).unwrap();
        waiting.join().unwrap()
    });
    assert!(woken == 6 && begun.elapsed() < Duration::from_secs(60), "{woken}");
}

/// The attacks of a stranger and of a thief of the CA's key: what stands before a link, and a number, prove nothing.
#[test]
fn a_stranger_neither_revokes_nor_endorses_nor_takes_room() {
    let stage = Stage::new();
    let [alice, bob] = ["alice", "bob"].map(|name| stage.person(&format!("user:{name}@home.example")));
    let ca = crate::read_secret_key(&stage.dir.path().join("ca/ca.key")).unwrap();
    let key = SecretKey::generate().unwrap();
    let forged = IdentityContent {
        name: alice.name.clone(),
        key: key.public(),
        groups: Vec::new(),
        serial: IdentityContent::open(&alice.identity, &alice.name, &[ca.public()]).unwrap().serial,
        from_unix_s: NOW - 60,
        until_unix_s: u64::MAX >> 2,
    };
    let thief = Person { name: alice.name.clone(), key, identity: forged.seal(&ca).unwrap() };
    let (_, own) = given(&thief, &bob, None, 8);
    for what in [
        RevocationTarget::Transfer(own.clone()),
        RevocationTarget::Item(Item::Key(thief.key.public().thumbprint())),
        RevocationTarget::Item(Item::Identity(hash(&alice.identity))),
        RevocationTarget::Name(alice.name.clone()),
    ] {
        let question = |shown| AgentRequest::Revoke { shown, what: what.clone() };
        assert_eq!(stage.ask(&thief.key, question(Hello::default())), Err("malformed"));
        assert_eq!(stage.ask(&thief.key, question(hello(&[&alice], &[]))), Err("wrong-holder"));
        assert_eq!(stage.ask(&thief.key, question(hello(&[&thief], &[]))), Err("not-enrolled"));
        assert_ne!(stage.revoke(&bob, what), Ok(AgentReply::Done(1)));
    }
    // A link of another domain, which no agent here verifies, names the thief's key.
    let eve =
        Person { name: "user:eve@site.example".parse().unwrap(), ..stage.person("user:eve@home.example") };
    let to_thief = Person {
        key: SecretKey::of_pkcs8(&thief.key.to_pkcs8().unwrap()).unwrap(),
        ..stage.person("user:x@home.example")
    };
    let to_thief = Person { name: alice.name.clone(), ..to_thief };
    let (_, junk) = given(&eve, &to_thief, None, 8);
    let (_, link) = given(&to_thief, &bob, Some(&junk), 7);
    let chain = [(&eve, junk.as_slice()), (&alice, link.as_slice())];
    assert_eq!(stage.endorse(&hello(&[], &chain)).unwrap_err(), "spliced");
    assert_eq!(stage.endorse(&hello(&[&thief], &chain)).unwrap_err(), "not-enrolled");
    assert_eq!(stage.endorse(&hello(&[&alice], &chain)).unwrap_err(), "bad-signature");
    assert_eq!(stage.agent.size(), (0, 0));
}

/// Who is in a group both keys say: the CA's in the identity, the agent's in the leaf.
#[test]
fn a_group_takes_the_cas_word_and_the_agents() {
    let mut stage = Stage::new();
    let alice = stage.person("user:alice@home.example");
    stage.groups.clear();
    let plain = stage.person("user:alice@home.example");
    let server = SERVER.parse().unwrap();
    let groups = |leaf: &[u8]| {
        verify(leaf, &Hello::default(), &stage.bundles, &Revoked::default(), &server, NOW).unwrap().groups
    };
    assert_eq!(groups(&stage.login(&alice.key, &[&alice], 900).unwrap()).len(), 1);
    assert!(groups(&stage.login(&plain.key, &[&plain], 900).unwrap()).is_empty(), "the agent's word alone");
    stage.agent.regroup(Groups::read("", alice.name.domain()).unwrap());
    assert!(groups(&stage.login(&alice.key, &[&alice], 900).unwrap()).is_empty(), "the CA's word alone");
}

/// A checkpoint of a log with so many records, whose last link is one byte repeated.
fn note(server: &Person, size: u64, link: u8) -> String {
    Checkpoint(LogEnd { size, link: [link; 32] }).sign(&server.name, &server.key)
}

#[test]
fn the_checkpoint_of_a_log_never_goes_back_and_never_to_another_log() {
    let stage = Stage::new();
    let [files, mail] = ["files", "mail"].map(|name| stage.person(&format!("node:{name}@home.example")));
    let shown = |who: &Person| Hello {
        identities: vec![(who.name.clone(), who.identity.clone())],
        ..Hello::default()
    };
    let keep = |by: &Person, note: &str| {
        let question = AgentRequest::Keep { shown: shown(by), note: note.to_owned() };
        stage.ask(&by.key, question).map(drop)
    };
    let kept = |of: &Person| stage.ask(&mail.key, AgentRequest::Kept(of.name.clone()));
    let told = |note: &str| Ok(AgentReply::Kept(note.to_owned()));
    assert_eq!(kept(&files), told(""));
    for (size, link) in [(0, 0), (7, 7), (7, 7), (9, 9)] {
        assert_eq!(keep(&files, &note(&files, size, link)), Ok(()), "{size}");
        assert_eq!(kept(&files), told(&note(&files, size, link)));
    }
    // Of another server, with its key or one's own, or shown without the key; and changed.
    assert_eq!(keep(&files, &note(&mail, 10, 1)), Err("not-its-checkpoint"));
    let stolen = Person { name: files.name.clone(), ..stage.person("node:thief@home.example") };
    assert_eq!(keep(&mail, &note(&stolen, 10, 1)), Err("not-its-checkpoint"));
    assert_eq!(keep(&files, &note(&stolen, 10, 1)), Err("not-its-checkpoint"));
    let question = AgentRequest::Keep { shown: shown(&files), note: note(&files, 10, 1) };
    assert_eq!(stage.ask(&mail.key, question), Err("wrong-holder"));
    assert_eq!(keep(&files, &note(&files, 10, 1).replace("\n10\n", "\n11\n")), Err("not-its-checkpoint"));
    assert_eq!(
        keep(&files, &note(&files, 10, 1)),
        Ok(()),
        "what was no checkpoint of its own disputes nothing"
    );

    for _ in 0..2 {
        assert_eq!(keep(&files, &note(&files, 7, 7)), Err("checkpoint-went-back"));
        assert_eq!(keep(&files, &note(&files, 10, 2)), Err("checkpoint-forked"));
    }
    // It is soon longer than before; the contradiction is still remembered, also after the next start.
    assert_eq!(keep(&files, &note(&files, 11, 3)), Err("checkpoint-disputed"));
    assert_eq!(kept(&files), told(&note(&files, 10, 1)));
    assert_eq!(keep(&mail, &note(&mail, 1, 1)), Ok(()), "another server");
    let again = agent(&stage.dir, &stage.bundles);
    let question = AgentRequest::Keep { shown: shown(&files), note: note(&files, 11, 3) };
    assert_eq!(again.answer(files.key.public(), &question, NOW).unwrap_err().name(), "checkpoint-disputed");

    let at = stage.dir.path().join("ca/ola/checkpoints");
    assert_eq!(
        std::fs::read_to_string(at.join("node:files@home.example.refused")).unwrap(),
        note(&files, 10, 2)
    );
    for name in ["node:files@home.example", "node:files@home.example.refused"] {
        std::fs::rename(at.join(name), stage.dir.path().join(name)).unwrap();
    }
    assert_eq!(keep(&files, &note(&files, 3, 3)), Ok(()), "somebody has looked");
    let renewed = stage.person("node:files@home.example");
    assert_eq!(keep(&renewed, &note(&renewed, 4, 4)), Ok(()), "with another key");
    assert_eq!(keep(&renewed, &note(&renewed, 3, 3)), Err("checkpoint-went-back"));
}
