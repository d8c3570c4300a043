//! Attacks on the envelope of claims and statements: headers, algorithms, lengths, nesting, and excess of anything.

use crate::forger::{HEADER, Parts, TRANSFER};
use crate::world::World;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::SecretKey;
use ciborium::Value;

/// A change to bob's link, which his key signs again if needed.
pub(super) type Wrapping = (&'static str, &'static str, fn(Parts, &SecretKey) -> Vec<u8>);

pub(super) const ENVELOPES: &[Wrapping] = &[
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

/// The same for raw bytes: anything beyond a limit is refused before any signature is verified.
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

fn header(mut parts: Parts, key: &SecretKey, header: &[u8]) -> Vec<u8> {
    assert_eq!(parts.header, HEADER);
    parts.header = header.to_vec();
    parts.signed(TRANSFER, key)
}

fn payload(mut parts: Parts, key: &SecretKey, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut parts.payload);
    parts.signed(TRANSFER, key)
}
