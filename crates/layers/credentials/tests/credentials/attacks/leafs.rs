//! Forged leafs by a holder of an agent's key, and bundles that do not count.

use super::Attack;
use crate::forger;
use crate::world::{DAY, House, MINUTE, NOW, Shown, World};
use bakeoff_layers_credentials::bundle::DomainBundle;

pub(super) const LEAFS: &[Attack] = &[
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
    ("with a group of another domain", "not-its-domain", |world| {
        let leaf = world.partner.leaf(&world.carol, &["group:staff@partner.example"]);
        let (own, other) = (b"//partner.example/group", b"//partnes.example/group");
        world.handed().with(|shown| shown.leaf = forger::leaf(&leaf, &world.partner.agent, own, other))
    }),
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
    ("with something behind the identity, beside it", "trailing-data", |world| {
        let length = u8::try_from(world.carol.statement.len()).unwrap();
        leaf(world, &[0x04, 0x81, length, 0xd2, 0x84], &[0x04, 0x81, length - 1, 0xd2, 0x84])
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
        let over = DomainBundle::read_unverified(text.as_bytes()).unwrap();
        world.handed().with(|shown| shown.bundles = [world.home.bundle(), over].into_iter().collect())
    }),
    ("under no bundle", "unknown-domain", |world| {
        world.handed().with(|shown| shown.bundles = [world.home.bundle()].into_iter().collect())
    }),
];

/// Carol's leaf with some bytes replaced, signed by her agent.
fn leaf(world: &World, from: &[u8], to: &[u8]) -> Shown {
    world.handed().with(|shown| shown.leaf = forger::leaf(&shown.leaf, &world.partner.agent, from, to))
}
