//! Valid credentials: the rights they give, and when they end.

use crate::forger::{IDENTITY, lie, set};
use crate::world::{DAY, Link, MINUTE, NOW, Person, Shown, World, scope};
use bakeoff_layers_credentials::acl::Acl;
use bakeoff_layers_credentials::bundle::DomainBundle;
use bakeoff_layers_credentials::grant::SessionGrant;
use bakeoff_layers_credentials::key::SecretKey;
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::operation::Operation;
use bakeoff_layers_credentials::statement::{IdentityContent, StatusContent, Transfer};
use bakeoff_layers_credentials::{Item, verify_node};

/// A grant's operations at a path under a list, as words.
fn may(grant: &SessionGrant, acl: &str, path: &[&str]) -> String {
    grant.rights(&Acl::of_text(acl, "acl").unwrap(), path).to_string()
}

fn names(grant: &SessionGrant) -> (String, String) {
    (grant.subject.to_string(), grant.acts_as.to_string())
}

#[test]
fn one_acts_for_himself_or_through_one_to_eight_links() {
    let world = World::new();
    let acl = "/ allow user:alice@home.example read,create\n";
    for links in [0, 1, 4, 8] {
        let grant = world.handed_through(links).verify().unwrap();
        let (holder, here) = match links {
            0 => ("user:alice@home.example".to_owned(), "read,create"),
            _ => (format!("user:u{}@home.example", links - 1), "read"),
        };
        assert_eq!(names(&grant), ("user:alice@home.example".to_owned(), holder));
        assert_eq!((may(&grant, acl, &["p", "x"]).as_str(), grant.expires_unix_s), (here, NOW + 15 * MINUTE));
        let elsewhere = if links == 0 { "read,create" } else { "nothing" };
        assert_eq!(may(&grant, acl, &["q"]), elsewhere, "{links}");
    }
}

#[test]
fn a_role_and_a_role_of_a_role_have_what_was_handed_to_them() {
    let world = World::new();
    let viewer = Person::new("role:viewer.alice@home.example", &world.alice.key);
    let first = world.alice.gives(&world.editor, None, |_| {});
    let second = world.editor.gives(&viewer, Some(&first), |wish| wish.grants = vec![scope("/p/v", "read")]);
    let acl = "/ allow user:alice@home.example all\n";
    let editor = world.shows(&world.home, &world.editor, &[&first]).verify().unwrap();
    assert_eq!(may(&editor, acl, &["p", "v"]), "read,list,write");
    let grant = world.shows(&world.home, &viewer, &[&first, &second]).verify().unwrap();
    assert_eq!(names(&grant), ("user:alice@home.example".to_owned(), viewer.name.to_string()));
    assert_eq!(
        (may(&grant, acl, &["p", "v"]).as_str(), may(&grant, acl, &["p"]).as_str()),
        ("read", "nothing")
    );
    let by_itself = world.shows(&world.home, &world.editor, &[]).verify().unwrap();
    assert_eq!(may(&by_itself, acl, &["p"]), "nothing", "a role is not its owner");
}

#[test]
fn a_key_without_a_name_gets_and_gives_when_its_identity_is_shown() {
    let world = World::new();
    let first = world.alice.gives(&world.bob, None, |wish| wish.receiver = None);
    world.shows(&world.home, &world.bob, &[&first]).verify().unwrap();
    let second = world.bob.gives(&world.carol, Some(&first), |wish| wish.receiver = None);
    let shown = world.shows(&world.partner, &world.carol, &[&first, &second]);
    shown.with(|shown| shown.hello.identities.push(world.bob.shown())).verify().unwrap();
}

#[test]
fn each_domain_endorses_and_takes_back_what_its_own_gave() {
    let world = World::new();
    let first = world.alice.gives(&world.carol, None, |_| {});
    let second = world.carol.gives(&world.bob, Some(&first), |_| {});
    let shown = world.shows(&world.home, &world.bob, &[&first, &second]);
    assert_eq!(shown.verify().map_err(|refusal| refusal.name()).err(), Some("not-endorsed"));
    let partner = world.partner.status(&[second.hash], |_| {});
    let shown = shown.with(|shown| shown.hello.statuses.push(partner));
    let grant = shown.verify().unwrap();
    for domain in [&world.home.domain, &world.partner.domain] {
        let theirs = grant.stands_on.iter().filter(|(whose, _)| whose == domain).count();
        assert_eq!(theirs, if *domain == world.home.domain { 6 } else { 2 }, "{:?}", grant.stands_on);
    }
    let foreign =
        shown.clone().with(|shown| shown.revoked.add(&world.partner.domain, Item::Transfer(first.hash)));
    foreign.verify().unwrap();
    let own = shown.with(|shown| shown.revoked.add(&world.partner.domain, Item::Transfer(second.hash)));
    assert_eq!(own.verify().map_err(|refusal| refusal.name()).err(), Some("revoked"));
}

/// The rule: groups are the peer's, so a right that comes from a group cannot be handed on. Otherwise the server
/// would have to believe a list of names in a leaf of the giver's, which it never sees.
#[test]
fn what_somebody_has_through_a_group_he_cannot_hand_on() {
    let world = World::new();
    let text = "/ allow group:staff@home.example read,list\n/q allow user:alice@home.example read\n";
    let acl = Acl::of_text(text, "acl").unwrap();
    let first = world.alice.gives(&world.bob, None, |wish| wish.grants = vec![scope("/", "all")]);
    let verified = |links: &[&Link], holder: &Person, groups: &[&str]| {
        let shown = world.shows(&world.home, holder, links);
        shown.with(|shown| shown.leaf = world.home.leaf(holder, groups)).verify().unwrap()
    };
    let staff = ["group:staff@home.example"];
    assert_eq!(may(&verified(&[], &world.alice, &staff), text, &["p"]), "read,list");
    let handed = verified(&[&first], &world.bob, &[]);
    assert_eq!(may(&handed, text, &["p"]), "nothing");
    assert_eq!(may(&handed, text, &["q"]), "read", "what is hers by her own name");
    let because = handed.because(&acl, &["p"], Operation::List);
    assert_eq!(
        (because.granted, because.reason.as_str()),
        (
            false,
            "no rule of acl lets user:alice@home.example list here, and what somebody has through a group, as by line 1, he \
             cannot hand on; ask who keeps that list"
        )
    );
    let by_itself = verified(&[], &world.bob, &[]).because(&acl, &["p"], Operation::List);
    assert_eq!(
        by_itself.reason,
        "no rule of acl lets user:bob@home.example list here; ask who keeps that list"
    );
    let nobody = handed.because(&acl, &["p"], Operation::Acl);
    assert_eq!(
        nobody.reason,
        "no rule of acl lets user:alice@home.example acl here; ask who keeps that list"
    );
    // Bob's own groups count, with a chain or without.
    assert_eq!(may(&verified(&[&first], &world.bob, &staff), text, &["p"]), "read,list");
}

#[test]
fn a_decision_names_the_line_or_the_link() {
    let world = World::new();
    let grant = world.handed().verify().unwrap();
    let text = "/ allow user:alice@home.example all\n/p/s only user:bob@home.example read\n";
    let acl = Acl::of_text(text, "acl").unwrap();
    let because = |path: &[&str], operation| {
        let because = grant.because(&acl, path, operation);
        let rights = grant.rights(&acl, path);
        assert_eq!(because.granted, rights.has(operation));
        because.reason
    };
    let alice = "acl:1 lets user:alice@home.example";
    assert_eq!(
        because(&["p"], Operation::Read),
        format!(
            "{alice} read here, and user:carol@partner.example acts so through 2 link(s), of which each does"
        )
    );
    assert_eq!(
        because(&["q"], Operation::Read),
        format!(
            "{alice} read here, but link 1 of the chain, which user:alice@home.example gave, does not; ask for one that does"
        )
    );
    let only = "no rule of acl lets user:alice@home.example read here, and above line 2 none counts; ask who keeps that list";
    assert_eq!(because(&["p", "s"], Operation::Read), only);
}

#[test]
fn a_grant_ends_with_the_first_that_it_stands_on() {
    let world = World::new();
    let ends = |change: &dyn Fn(&mut Shown)| world.handed().with(change).verify().unwrap().expires_unix_s;
    assert_eq!(ends(&|_| {}), NOW + 15 * MINUTE, "the leaf");
    let status = |shown: &mut Shown| {
        shown.hello.statuses = vec![world.home.status(&shown.given, |status| status.until_unix_s = NOW + 1)];
    };
    assert_eq!(ends(&status), NOW + 1);
    // Of two statuses the later one counts.
    let both = |shown: &mut Shown| {
        let later = shown.hello.statuses[0].clone();
        status(shown);
        shown.hello.statuses.push(later);
    };
    assert_eq!(ends(&both), NOW + 15 * MINUTE);
    let identity = |shown: &mut Shown| {
        let soon = lie(&world.alice.statement, IDENTITY, &world.home.ca, |claims| set(claims, 4, NOW + 2));
        shown.hello.identities[0].1 = soon;
    };
    assert_eq!(ends(&identity), NOW + 2);
    let bundle = |shown: &mut Shown| {
        let text = world.home.bundle_text(2).replace(&(NOW + 30 * DAY).to_string(), &(NOW + 2).to_string());
        let bundle = DomainBundle::read_unverified(text.as_bytes()).unwrap();
        shown.bundles = [world.home.bundle(), bundle, world.partner.bundle()].into_iter().collect();
    };
    assert_eq!(ends(&bundle), NOW + 3, "the newer one, which is good until its last second is over");
    let first = world.alice.gives(&world.bob, None, |wish| wish.until_unix_s = NOW + 4);
    let link = world.shows(&world.home, &world.bob, &[&first]);
    assert_eq!(link.verify().unwrap().expires_unix_s, NOW + 4);
}

#[test]
fn a_client_knows_its_server_by_name() {
    let world = World::new();
    let bundles = world.handed().bundles;
    let name = &world.files.name;
    let verify = |leaf: &[u8], name: &PrincipalName, now| {
        verify_node(leaf, &bundles, name, now).map_err(|refusal| refusal.name())
    };
    let leaf = world.home.leaf(&world.files, &[]);
    assert_eq!(verify(&leaf, name, NOW), Ok(NOW + 15 * MINUTE));
    assert_eq!(verify(&leaf, name, NOW + 15 * MINUTE), Err("expired"));
    let mail = world.home.person("node:mail@home.example");
    assert_eq!(verify(&world.home.leaf(&mail, &[]), name, NOW), Err("wrong-holder"));
    // By another domain's agent, for another domain, for an unknown one.
    assert_eq!(verify(&world.partner.leaf(&world.carol, &[]), name, NOW), Err("not-its-domain"));
    assert_eq!(verify(&leaf, &"node:files@partner.example".parse().unwrap(), NOW), Err("not-its-domain"));
    assert_eq!(verify(&leaf, &"node:files@other.example".parse().unwrap(), NOW), Err("unknown-domain"));
    let thief = Person::new("node:files@home.example", &world.mallory.key);
    let stolen = world.home.leaf_over(&thief, &world.files.statement, &[]);
    assert_eq!(verify(&stolen, name, NOW), Err("wrong-holder"), "the agent's key without the CA's");
}

#[test]
fn statements_are_opened_by_who_knows_whose_they_are() {
    let world = World::new();
    let (alice, ca) = (&world.alice, world.home.ca.public());
    let first = alice.gives(&world.bob, None, |_| {});
    let found = Transfer::open(&first.statement, &alice.name, alice.key.public()).unwrap();
    assert_eq!((found.wish, found.serial, found.parent), (first.wish.clone(), first.serial, None));
    let other = Transfer::open(&first.statement, &alice.name, world.bob.key.public()).unwrap_err();
    assert_eq!(other.name(), "bad-signature");
    assert!(other.to_string().starts_with("the transfer of user:alice@home.example: "), "{other}");
    let identity = IdentityContent::open(&alice.statement, &alice.name, &[world.partner.ca.public(), ca]);
    assert_eq!(identity, Ok(alice.identity.clone()), "any of a domain's keys");
    let (domain, status) = world.home.status(&[first.hash], |_| {});
    let status = StatusContent::open(&status, &domain, &[world.home.agent.public()]).unwrap();
    assert_eq!((status.good, status.epoch), (vec![first.hash], 7));
    let group =
        IdentityContent { name: "group:staff@home.example".parse().unwrap(), ..alice.identity.clone() };
    assert_eq!(group.seal(&world.home.ca).unwrap_err().name(), "malformed", "a group has no key");
    let staff: PrincipalName = "group:staff@home.example".parse().unwrap();
    let of = |identity: &IdentityContent, group: &PrincipalName, by: &SecretKey| {
        let identity = IdentityContent { groups: vec![group.clone()], ..identity.clone() };
        identity.seal(by).map(|_| ()).map_err(|refusal| refusal.name())
    };
    assert_eq!(of(&alice.identity, &staff, &world.home.ca), Ok(()));
    assert_eq!(of(&alice.identity, &world.bob.name, &world.home.ca), Err("malformed"), "no group");
    let foreign = "group:staff@partner.example".parse().unwrap();
    assert_eq!(of(&alice.identity, &foreign, &world.home.ca), Err("not-its-domain"));
    assert_eq!(
        of(&world.editor.identity, &staff, &alice.key),
        Err("malformed"),
        "an owner says who is in a group"
    );
}
