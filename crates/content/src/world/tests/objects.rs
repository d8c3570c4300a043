//! Sizes, shares, embedded objects, bytes.

use super::{POLYMIX_4, about, mean, model, name, objects};
use crate::SplitMix64;
use crate::world::{Model, ObjectName};
use std::collections::HashSet;

const N: u64 = 20_000;

/// Rounding up adds half a byte to the mean.
#[test]
fn sizes_and_cachability_are_those_of_the_kind_and_know_nothing_of_each_other() {
    let model = Model::from_toml(POLYMIX_4).unwrap();
    for (at, kind) in model.kinds().iter().enumerate() {
        let objects = objects(&model, at as u8, N);
        let sizes = |cachable: &[bool]| -> Vec<f64> {
            objects.iter().filter(|o| cachable.contains(&o.cachable)).map(|o| o.size as f64).collect()
        };
        for chosen in [&[true, false][..], &[true], &[false]] {
            let (mean, error) = mean(&sizes(chosen));
            assert!((mean - 0.5 - kind.size.mean()).abs() < 4.0 * error, "{}: {mean} +- {error}", kind.name);
        }
        let cachable = objects.iter().filter(|object| object.cachable).count();
        assert!(about(cachable, objects.len(), kind.cachable), "{}: {cachable}", kind.name);
    }
}

/// zipf:13 has the mean 13 - ln(13!) / ln 14.
#[test]
fn containers_embed_as_many_objects_as_the_model_says() {
    let model = Model::from_toml(POLYMIX_4).unwrap();
    let counts: Vec<f64> =
        objects(&model, 1, N).iter().map(|object| object.embedded().len() as f64).collect();
    let (mean, error) = mean(&counts);
    let expected = 13.0 - 6_227_020_800_f64.ln() / 14_f64.ln();
    assert!((mean - expected).abs() < 4.0 * error, "{mean} +- {error}, expected {expected}");
    assert_eq!(model.object(&name(0, 1)).unwrap().embedded().len(), 0);
}

#[test]
fn embedded_names_are_the_containers_number_and_an_index_in_a_world_of_their_own() {
    let model = Model::from_toml(POLYMIX_4).unwrap();
    let mut seen = HashSet::new();
    for number in 0..1_000 {
        let container = model.object(&name(1, number)).unwrap();
        for (index, embedded) in container.embedded().enumerate() {
            assert_eq!((embedded.kind, embedded.server), (0, 7));
            assert_eq!(embedded.number, number * 256 + index as u64);
            assert_ne!(embedded.world, container.name.world);
            assert!(seen.insert(embedded), "{embedded:?} twice");
        }
    }
    let most = self::model(
        "size = \"const:1KB\"\nembeds = { kind = \"part\", count = \"const:1000\" }\n\n[[content]]\nname = \"part\"\nsize = \"const:1B\"",
    );
    let names: HashSet<ObjectName> = most.object(&name(0, u64::MAX)).unwrap().embedded().collect();
    assert_eq!(names.len(), 256);
}

#[test]
fn a_property_that_is_added_changes_no_other() {
    let bare = model("size = \"exp:13KB\"\ncachable = \"80%\"");
    let full = model(
        "size = \"exp:13KB\"\ncachable = \"80%\"\nextensions = [\".a\", \".b\"]\n\
         life = { length = \"exp:1day\", variance = \"50%\" }\nembeds = { kind = \"leaf\", count = \"zipf:9\" }\n\n\
         [[content]]\nname = \"leaf\"\nsize = \"const:1B\"",
    );
    for (bare, full) in objects(&bare, 0, 100).iter().zip(objects(&full, 0, 100)) {
        assert_eq!((bare.body(0), bare.cachable), (full.body(0), full.cachable));
    }
}

#[test]
fn extensions_and_kinds_come_by_their_shares() {
    let model = Model::from_toml(POLYMIX_4).unwrap();
    let ends = |kind, end: &str| (0..N).filter(|n| model.extension(&name(kind, *n)) == end).count();
    assert!(about(ends(1, ".html"), N as usize, 0.6) && about(ends(1, ".htm"), N as usize, 0.4));
    assert!(about(ends(2, ".exe"), N as usize, 0.4) && about(ends(2, ".gz"), N as usize, 0.3));
    assert_eq!(ends(3, ""), N as usize);
    let mut random = SplitMix64::new(5);
    let mut drawn = [0_usize; 4];
    for _ in 0..N {
        drawn[usize::from(model.draw_kind(&mut random))] += 1;
    }
    assert_eq!(drawn[0], 0, "nobody asks for an image alone");
    for (kind, drawn) in model.kinds().iter().zip(drawn) {
        assert!(about(drawn, N as usize, kind.share), "{}: {drawn}", kind.name);
    }
}

#[test]
fn a_kind_the_model_does_not_have_is_no_object() {
    let model = model("size = \"exp:13KB\"");
    assert!(model.object(&name(1, 0)).is_none());
    let mut path = Vec::new();
    name(1, 0).write_path(&model, &mut path);
    assert!(path.ends_with(b"/_0000000000000000"), "and its path has no extension");
}

/// An object's bytes repeat with the pool's length, 4 194 301: so byte x of 5 GB is byte x mod that.
#[test]
fn an_object_of_5_gb_is_read_by_ranges_anywhere() {
    for keys in ["size = \"const:5GB\"", "size = \"const:5GB\"\ncompressibility = \"40%\""] {
        let body = model(keys).object(&name(0, 3)).unwrap().body(0);
        assert_eq!(body.len(), 5_368_709_120);
        let mut period = Vec::new();
        while period.len() < 4_194_301 {
            period.extend_from_slice(body.from(period.len() as u64));
        }
        period.truncate(4_194_301);
        let mut offset = 4_900_000_000_u64;
        let mut bytes = Vec::new();
        while bytes.len() < 10_000_000 {
            bytes.extend_from_slice(body.from(offset + bytes.len() as u64));
        }
        assert!(body.matches(offset, &bytes) && !body.matches(offset + 1, &bytes));
        for byte in &bytes {
            assert_eq!(*byte, period[(offset % 4_194_301) as usize]);
            offset += 1;
        }
        assert_eq!((body.from(5_368_709_110).len(), body.from(5_368_709_120).len()), (10, 0));
    }
    assert_eq!(model("size = \"const:3TB\"").object(&name(0, 0)).unwrap().size, 3 << 40);
}

#[test]
fn names_that_differ_have_other_bytes() {
    let mut ids = HashSet::new();
    for number in 0..5_000 {
        for (world, server, kind) in [(1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1), (1, 256, 0)] {
            assert!(ids.insert(ObjectName { world, server, kind, number }.object_id().get()));
        }
    }
}

#[test]
fn versions_of_an_object_are_as_long_and_have_other_bytes() {
    let object = model("size = \"const:2KB\"").object(&name(0, 1)).unwrap();
    let mut ids = HashSet::new();
    for version in (0..1_000).chain([u64::MAX]) {
        let body = object.body(version);
        assert!(ids.insert(body.id().get()));
        assert_eq!((body.len(), body), (object.size, object.body(version)));
    }
    assert!(!object.body(1).matches(0, &object.body(2).from(0)[..64]));
}

/// Recorded runs stay comparable: these never change. They were computed a second time by an independent program.
#[test]
fn three_names_have_the_properties_they_always_had() {
    let model = Model::from_toml(POLYMIX_4).unwrap();
    let found =
        [name(0, 1), name(1, u64::MAX), ObjectName { world: 0, server: 0, kind: 2, number: 0 }].map(|name| {
            let object = model.object(&name).unwrap();
            let version = object.at(1_800_000_000);
            let embedded = object.embedded().len();
            let head = (name.object_id().get(), object.size, object.cachable, embedded);
            (
                head,
                model.extension(&name).to_owned(),
                version.number,
                version.last_modified,
                version.next_change,
                version.etag,
            )
        });
    assert_eq!(
        found,
        GOLDEN.map(|(head, end, number, modified, next, etag)| {
            (head, end.to_owned(), number, modified, next, etag)
        })
    );
}

type Golden = ((u64, u64, bool, usize), &'static str, u64, Option<u64>, u64, u64);

const GOLDEN: [Golden; 3] = [
    (
        (16_862_280_899_998_469_156, 9_737, false, 0),
        ".gif",
        626,
        None,
        1_802_500_251,
        5_817_207_138_360_024_232,
    ),
    (
        (7_583_194_664_194_152_151, 618, true, 1),
        ".html",
        2_873,
        Some(1_799_496_657),
        1_800_163_795,
        5_698_130_897_413_167_355,
    ),
    (
        (16_824_205_073_315_627_047, 408_146, true, 0),
        ".gz",
        104,
        Some(1_793_687_897),
        1_812_260_809,
        7_106_914_958_615_549_898,
    ),
];
