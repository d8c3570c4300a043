//! The model by itself, held against the cases of the public suite that its rules decide: freshness, Age, and what may be
//! kept. The names are those of <https://cache-tests.fyi>; each is a reply with what a cache may do with it.

use super::model::Head;

/// Name, fields of the reply with dates as seconds from now in braces, seconds since it came, and whether it may then be
/// given without asking (`None`: a cache may decide).
const CASES: &[(&str, &str, f64, Option<bool>)] = &[
    ("freshness-none", "", 3.0, None),
    ("freshness-max-age", "Cache-Control: max-age=3600", 3.0, Some(true)),
    ("freshness-max-age-stale", "Cache-Control: max-age=2", 3.0, Some(false)),
    ("freshness-max-age-0", "Cache-Control: max-age=0", 0.0, Some(false)),
    ("freshness-max-age-max-minus-1", "Cache-Control: max-age=2147483647", 3.0, Some(true)),
    ("freshness-max-age-max-plus", "Cache-Control: max-age=99999999999", 3.0, Some(true)),
    ("freshness-max-age-age", "Cache-Control: max-age=3600\r\nAge: 12000", 3.0, Some(false)),
    ("freshness-max-age-expires", "Cache-Control: max-age=3600\r\nExpires: {-400}", 3.0, Some(true)),
    ("freshness-max-age-expires-invalid", "Cache-Control: max-age=3600\r\nExpires: 0", 3.0, Some(true)),
    ("freshness-max-age-0-expires", "Cache-Control: max-age=0\r\nExpires: {400}", 3.0, Some(false)),
    ("freshness-max-age-extension", "Cache-Control: foobar, max-age=3600", 3.0, Some(true)),
    ("freshness-max-age-case-insenstive", "Cache-Control: MaX-aGe=3600", 3.0, Some(true)),
    ("freshness-max-age-negative", "Cache-Control: max-age=-3600", 0.0, Some(false)),
    ("freshness-s-maxage-shared", "Cache-Control: s-maxage=3600", 3.0, Some(true)),
    ("freshness-max-age-s-maxage-shared-longer", "Cache-Control: max-age=3600, s-maxage=1", 3.0, Some(false)),
    (
        "freshness-max-age-s-maxage-shared-longer-multiple",
        "Cache-Control: max-age=3600\r\nCache-Control: s-maxage=1",
        3.0,
        Some(false),
    ),
    ("freshness-max-age-s-maxage-shared-shorter", "Cache-Control: max-age=1, s-maxage=3600", 3.0, Some(true)),
    (
        "freshness-max-age-s-maxage-shared-shorter-expires",
        "Cache-Control: max-age=0, s-maxage=3600\r\nExpires: {-400}",
        3.0,
        Some(true),
    ),
    ("freshness-expires-future", "Expires: {2592000}\r\nDate: {0}", 3.0, Some(true)),
    ("freshness-expires-past", "Expires: {-2592000}\r\nDate: {0}", 3.0, Some(false)),
    ("freshness-expires-present", "Expires: {0}\r\nDate: {0}", 0.0, Some(false)),
    ("freshness-expires-old-date", "Expires: {300}\r\nDate: {400}", 3.0, Some(false)),
    ("freshness-expires-invalid", "Expires: 0\r\nDate: {0}", 3.0, Some(false)),
    ("freshness-expires-age-slow-date", "Date: {-10}\r\nExpires: {10}\r\nAge: 25", 0.0, Some(false)),
    ("freshness-expires-age-fast-date", "Date: {10}\r\nExpires: {20}\r\nAge: 15", 0.0, Some(false)),
    ("cc-resp-private-shared", "Cache-Control: private, max-age=3600", 0.0, Some(false)),
    ("cc-resp-no-store", "Cache-Control: no-store", 0.0, Some(false)),
    ("cc-resp-no-store-case-insensitive", "Cache-Control: No-StOrE", 0.0, Some(false)),
    ("cc-resp-no-store-fresh", "Cache-Control: max-age=10000, no-store", 0.0, Some(false)),
    ("cc-resp-no-cache", "Cache-Control: max-age=10000, no-cache", 0.0, Some(false)),
    ("cc-resp-no-cache-case-insensitive", "Cache-Control: max-age=10000, No-CaChE", 0.0, Some(false)),
    ("cc-resp-must-revalidate-fresh", "Cache-Control: max-age=10000, must-revalidate", 3.0, Some(true)),
    ("cc-resp-immutable-fresh", "Cache-Control: max-age=10000, immutable", 3.0, Some(true)),
];

/// Fields with their dates.
fn dated(fields: &str) -> String {
    fields.split('{').enumerate().fold(String::new(), |dated, (nth, part)| {
        let Some((offset, rest)) = part.split_once('}').filter(|_| nth > 0) else { return dated + part };
        let at = jiff::Timestamp::from_second(1_795_860_000 + offset.parse::<i64>().unwrap()).unwrap();
        dated + &at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string() + rest
    })
}

#[test]
fn the_model_knows_what_may_be_given_and_for_how_long() {
    for (name, fields, since, may) in CASES {
        let head = Head::read(&format!("HTTP/1.1 200 OK\r\n{}\r\n", dated(fields)));
        let (age, _) = head.ages(0.0, 0.0, (*since, *since));
        let found = if head.forbids() { Some(false) } else { head.lifetime().map(|lifetime| age < lifetime) };
        assert_eq!(found, *may, "{name}");
    }
}

/// RFC 9111 section 4.2.3: the fetch may be part of the age, and what other caches said is.
#[test]
fn an_age_has_the_fetch_in_it_or_not() {
    let head = |fields: &str| Head::read(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n"));
    assert_eq!(head("").ages(10.0, 16.0, (20.0, 21.0)), (4.0, 11.0));
    assert_eq!(head("Age: 30").ages(10.0, 16.0, (20.0, 21.0)), (34.0, 41.0));
}
