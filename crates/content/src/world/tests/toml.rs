//! The model's text form, and the errors of a wrong one.

use super::POLYMIX_4;
use crate::Distribution;
use crate::world::{Base, ContentKind, Embeds, Model, ModelError};

fn refused(text: &str) -> String {
    Model::from_toml(text).unwrap_err().to_string()
}

fn kind(keys: &str) -> String {
    format!("[[content]]\nname = \"any\"\n{keys}")
}

#[test]
fn polymix_1_reads_as_it_stands_in_the_paper() {
    let text = kind(
        "size = \"exp:13KB\"; cachable = \"80%\"; life = { length = \"const:2year\", variance = \"0%\", \
         last_modified = \"100%\", expires = \"nmt+0s\" }; share = \"100%\"",
    );
    let model = Model::from_toml(&text.replace("; ", "\n")).unwrap();
    let [kind] = model.kinds() else { panic!("{model:?}") };
    assert_eq!((&*kind.name, kind.share, kind.cachable, kind.compressibility), ("any", 1.0, 0.8, 0.0));
    assert_eq!((kind.size.mean(), &*kind.media_type), (13_312.0, "application/octet-stream"));
    let life = kind.life.as_ref().unwrap();
    assert_eq!((life.length.mean(), life.variance, life.last_modified), (63_115_200.0, 0.0, 1.0));
    let [expiry] = &life.expires[..] else { panic!("{life:?}") };
    assert_eq!((expiry.base, expiry.early, expiry.share), (Base::NextChange, false, 1.0));
    assert_eq!(expiry.offset, Distribution::parse_seconds("const:0s").unwrap());
    assert!(kind.embeds.is_none() && kind.extensions.is_empty() && !kind.gzip);
}

#[test]
fn what_is_left_out_has_the_rest_in_equal_parts() {
    let model = Model::from_toml(POLYMIX_4).unwrap();
    let shares: Vec<f64> = model.kinds().iter().map(|kind| kind.share).collect();
    assert_eq!(shares[..3], [0.0, 0.4286, 0.0143]);
    assert!((shares[3] - 0.5571).abs() < 1e-12);
    let third = &model.kinds()[0].extensions;
    assert!(third.iter().all(|(_, share)| (share - 1.0 / 3.0).abs() < 1e-11) && third[2].0 == ".png");
    assert!((model.kinds()[1].extensions[1].1 - 0.4).abs() < 1e-12);
    assert_eq!(model.kinds()[1].embeds.as_ref().unwrap().kind, 0);
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let many = kind(
        "size = \"unif:0,8KB\"\nlife = { length = \"exp:1day\", expires = [\"now+unif:0, 1day 12.5%\", \"lmt-3s\"] }",
    );
    let bare = kind("size = \"table:1x1KB,2x3KB\"\ngzip = true");
    let thirds = kind("size = \"const:1B\"\ncachable = \"33.33333333333333333333%\"");
    for text in [POLYMIX_4, &many, &bare, &thirds] {
        let model = Model::from_toml(text).unwrap();
        let written = model.to_toml();
        assert_eq!(Model::from_toml(&written).as_ref(), Ok(&model), "{written}");
        assert_eq!(Model::new(&model.typed()).as_ref(), Ok(&model));
        assert_eq!(Model::from_toml(&written).unwrap().to_toml(), written);
    }
}

#[test]
fn errors_name_the_content_the_key_and_what_is_allowed() {
    for (keys, key, why) in [
        ("size = \"13KB\"", "size", "`13KB` is no distribution; allowed are const:V"),
        ("size = \"exp:13s\"", "size", "`13s` is not a size such as"),
        ("size = \"exp:1KB\"\ncachable = \"0.8\"", "cachable", "`0.8` is not a share such as"),
        ("size = \"exp:1KB\"\ncachable = \"180%\"", "cachable", "`180%` is more than 100%"),
        ("size = \"exp:1KB\"\nshare = \"x\"", "share", "`x` is not a share"),
        ("size = \"exp:1KB\"\nmedia_type = \"a/b\\r\\nX: y\"", "media_type", "is not a media type"),
        ("size = \"exp:1KB\"\nextensions = [\"html\"]", "extensions", "`html` is not an extension"),
        ("size = \"exp:1KB\"\nextensions = [\".a/b\"]", "extensions", "`.a/b` is not an extension"),
        ("size = \"exp:1KB\"\nextensions = [\".a 60%\", \".b 60%\"]", "extensions", "make 120.0000% and not"),
        ("size = \"exp:1KB\"\nextensions = [\".a 60%\"]", "extensions", "make 60.0000% and not"),
        ("size = \"exp:1KB\"\ncompressibility = \"0.5%\"", "compressibility", "whole number of percent"),
        ("size = \"exp:1KB\"\nlife = { length = \"exp:1KB\" }", "life.length", "`1KB` is not a time such as"),
        (
            "size = \"exp:1KB\"\nlife = { length = \"exp:1s\", variance = \"101%\" }",
            "life.variance",
            "more than",
        ),
        (
            "size = \"exp:1KB\"\nlife = { length = \"exp:1s\", expires = \"soon\" }",
            "life.expires",
            "`soon` is not lmt",
        ),
        (
            "size = \"exp:1KB\"\nlife = { length = \"exp:1s\", expires = \"nmt+3\" }",
            "life.expires",
            "`3` is not a time",
        ),
        (
            "size = \"exp:1KB\"\nembeds = { kind = \"no\", count = \"zipf:3\" }",
            "embeds.kind",
            "no content `no`",
        ),
        (
            "size = \"exp:1KB\"\nembeds = { kind = \"any\", count = \"zipf:3\" }",
            "embeds.kind",
            "embeds objects itself",
        ),
    ] {
        let error = refused(&kind(keys));
        assert!(
            error.starts_with(&format!("content `any`, key `{key}`: ")) && error.contains(why),
            "{error}"
        );
    }
}

#[test]
fn unknown_and_missing_keys_no_content_and_wrong_sums_are_refused() {
    assert!(refused(&kind("size = \"exp:1KB\"\ncacheable = \"80%\"")).contains("unknown field `cacheable`"));
    assert!(refused(&kind("")).contains("missing field `size`"));
    assert!(
        refused(&kind("size = \"exp:1KB\"\nlife = { length = \"exp:1s\", expires = 3 }")).contains("nmt+0s")
    );
    assert!(refused("").contains("missing field `content`"));
    assert_eq!(Model::from_toml("content = []"), Err(ModelError::Count(0)));
    let one =
        |name: &str, share: &str| format!("[[content]]\nname = \"{name}\"\nsize = \"const:1B\"\n{share}\n");
    assert_eq!(
        refused(&(one("a", "share = \"60%\"") + &one("b", "share = \"50%\""))),
        "`share` of [[content]]: the shares make 110.0000% and not 100%"
    );
    assert!(refused(&(one("a", "") + &one("a", ""))).contains("another content has this name"));
    assert!(refused(&one("", "")).contains("must not be empty"));
    let many: String = (0..257).map(|at| one(&format!("k{at}"), "")).collect();
    assert_eq!(Model::from_toml(&many), Err(ModelError::Count(257)));
}

/// A number and a place name an embedded object: two kinds of pages would share them.
#[test]
fn no_two_kinds_embed_the_same() {
    let page = |name: &str, part: &str| {
        let embeds = format!("embeds = {{ kind = \"{part}\", count = \"zipf:3\" }}");
        format!("[[content]]\nname = \"{name}\"\nsize = \"exp:1KB\"\n{embeds}\n")
    };
    let part = |name: &str| format!("[[content]]\nname = \"{name}\"\nsize = \"const:1B\"\n");
    assert_eq!(
        refused(&(page("html", "image") + &page("mail", "image") + &part("image"))),
        "content `mail`, key `embeds.kind`: `html` embeds `image` already; give each a kind of its own"
    );
    let apart = page("html", "image") + &page("mail", "icon") + &part("image") + &part("icon");
    assert!(Model::from_toml(&apart).is_ok());
}

#[test]
fn kinds_that_were_changed_are_checked_as_typed_ones_are() {
    let model = Model::from_toml(&kind("size = \"exp:1KB\"")).unwrap();
    let [kind] = model.kinds() else { panic!("{model:?}") };
    let with = |name: &str| ContentKind { name: name.to_owned(), ..kind.clone() };
    let many = |count: usize| (0..count).map(|at| with(&at.to_string())).collect::<Vec<_>>();
    assert_eq!(Model::with(Vec::new()), Err(ModelError::Count(0)));
    assert_eq!(Model::with(many(256)).map(|model| model.kinds().len()), Ok(256));
    assert_eq!(Model::with(many(257)), Err(ModelError::Count(257)));
    let twice = Model::with(vec![with("a"), with("a")]).unwrap_err().to_string();
    assert!(twice.contains("another content has this name"), "{twice}");
    let embeds = Some(Embeds { kind: 7, count: kind.size.clone() });
    let nothing = Model::with(vec![ContentKind { embeds, ..kind.clone() }]).unwrap_err().to_string();
    assert!(nothing.contains("there is no content with the number 7"), "{nothing}");
}
