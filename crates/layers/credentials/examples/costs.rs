//! Cost of credentials: verifying a chain, a fresh and a cached decision by an access list, making a transfer and a
//! leaf. CPU time of the thread, ns each: the lowest and the median of some batches. benches/credentials builds and
//! starts it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[allow(dead_code)] // the tests use all of it
#[path = "../tests/credentials/world.rs"]
mod world;

use bakeoff_layers_credentials::acl::Acl;
use bakeoff_layers_credentials::audit::{AuditOutcome, DecisionSubject, InForce, LogEnd, LoggedDecision};
use bakeoff_layers_credentials::grant::RightsCache;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_sys::thread::cpu_time;
use std::hint::black_box;
use std::sync::Arc;
use world::{NOW, World};

const BATCHES: usize = 15;
/// Number of cached rights, as after many sessions.
const KEPT: u64 = 100_000;

fn main() {
    let world = World::new();
    for links in [0, 1, 4, 8] {
        let mut shown = world.handed_through(links);
        let bytes = shown.hello.write();
        show(&format!("leaf, HELLO of {links} link(s), {} bytes", bytes.len()), 200, || {
            shown.hello = Hello::read(black_box(&bytes)).unwrap();
            shown.verify().unwrap();
        });
    }
    for entries in [10, 1_000] {
        decide(&world, entries);
    }
    keep();
    record();
    show("sign a transfer", 2_000, || drop(black_box(world.alice.gives(&world.bob, None, |_| {}))));
    show("make a leaf", 500, || {
        drop(black_box(world.home.leaf(&world.alice, &["group:staff@home.example"])))
    });
    let given = [world.alice.gives(&world.bob, None, |_| {}).hash; 8];
    show("sign a status of 8 transfers", 2_000, || drop(black_box(world.home.status(&given, |_| {}))));
}

/// Three names, four levels down, in a list of `entries` lines.
fn decide(world: &World, entries: usize) {
    let mut text = "/ allow group:staff@home.example read,list\n".to_owned();
    for number in 1..entries {
        text += &format!("/projects/p{}/d{number} allow user:u{number}@home.example all\n", number % 37);
    }
    let acl = Acl::of_text(&text, "acl").unwrap();
    let shown = world.shows(&world.home, &world.alice, &[]);
    let leaf = world.home.leaf(&world.alice, &["group:staff@home.example"]);
    let grant = shown.with(|shown| shown.leaf = leaf).verify().unwrap();
    let path = ["projects", "p1", "d1", "file"];
    show(&format!("rights by a list of {entries}"), 100_000, || {
        black_box(grant.rights(black_box(&acl), black_box(&path)));
    });
}

fn keep() {
    let kept = RightsCache::new(2 * KEPT as usize, 16);
    let key = |object: u64| (object as u32 % 7, object);
    for object in 0..KEPT {
        kept.ticket(key(object)).keep(Operations::ALL, Some(NOW + 100), || true);
    }
    let mut object = 0;
    show("rights that are kept", 200_000, || {
        // A prime as a step: no two consecutive look-ups hit the same place of the table.
        object = (object + 7_919) % KEPT;
        black_box(kept.look_up(&key(object), NOW));
    });
}

/// A decision about an object five levels down, with two bundles in force, recorded into memory that a writer
/// empties.
fn record() {
    let force = InForce { epoch: 3, acl: [1; 32], bundles: vec![[2; 32]; 2], revoked: [3; 32] };
    let path = ["projects", "one", "2026", "november", "report.html"].map(|name| name.as_bytes().to_vec());
    let about = DecisionSubject::Object {
        paths: vec![path.into()],
        asked: Operations::ALL,
        rights: Operations::ALL,
        outcome: AuditOutcome::Allowed { line: 12 },
    };
    let decision = LoggedDecision {
        time_unix_s: NOW,
        session: 1_000,
        peer: Some("user:alice@home.example".parse().unwrap()),
        shown: Some([4; 32]),
        force: Arc::new(force),
        about,
    };
    let (mut chain, mut out) = (LogEnd::start("site.example/node/files/audit"), Vec::new());
    chain.add(&decision, 0, &mut out).unwrap();
    show(&format!("an audit record of {} bytes", out.len()), 20_000, || {
        out.clear();
        chain.add(black_box(&decision), 0, &mut out).unwrap();
    });
}

fn show(what: &str, times: usize, mut once: impl FnMut()) {
    let mut each: Vec<u64> = (0..BATCHES)
        .map(|_| {
            let before = cpu_time();
            (0..times).for_each(|_| once());
            cpu_time().since(before).get() / times as u64
        })
        .collect();
    each.sort_unstable();
    println!("{what:<44} {:>8} ns, middle {:>8} ns", each[0], each[BATCHES / 2]);
}
