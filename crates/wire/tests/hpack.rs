//! HPACK from outside: the examples of RFC 7541 appendix C to the byte, and round trips.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use bakeoff_wire::h2::hpack::{Encoder, HpackDecoder, HpackError};
use proptest::prelude::*;

type Field = (Vec<u8>, Vec<u8>);

/// Bytes of a dump in hexadecimal digits.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let value = |digit: u8| (digit as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

fn decode(decoder: &mut HpackDecoder, block: &[u8]) -> Result<Vec<Field>, HpackError> {
    let mut fields = Vec::new();
    decoder.decode(block, |name, value| fields.push((name.to_vec(), value.to_vec())))?;
    Ok(fields)
}

fn fields(lines: &str) -> Vec<Field> {
    let split = |line: &str| line.trim().split_once(": ").map(|(name, value)| (name.into(), value.into()));
    lines.lines().filter_map(split).collect()
}

/// Decodes the blocks one after the other with a table of so many bytes.
fn check(table_bytes: u32, steps: &[(&str, &str)]) {
    let mut decoder = HpackDecoder::new(4096, 65_536);
    if table_bytes != 4096 {
        // As the examples have it by other means: a change of size to 256.
        assert_eq!(decode(&mut decoder, &[0x3f, 0xe1, 0x01]), Ok(vec![]));
    }
    for (block, expected) in steps {
        assert_eq!(decode(&mut decoder, &hex(block)), Ok(fields(expected)));
    }
}

#[test]
fn literals_and_indexed_fields_of_appendix_c_2() {
    let cases = [
        ("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "custom-key: custom-header"),
        ("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path"),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret"),
        ("82", ":method: GET"),
    ];
    for case in cases {
        check(4096, &[case]);
    }
}

const FIRST_REQUEST: &str = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com";
const SECOND_REQUEST: &str =
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache";
const THIRD_REQUEST: &str =
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value";

#[test]
fn requests_without_huffman_of_appendix_c_3() {
    check(
        4096,
        &[
            ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", FIRST_REQUEST),
            ("8286 84be 5808 6e6f 2d63 6163 6865", SECOND_REQUEST),
            ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", THIRD_REQUEST),
        ],
    );
}

const HUFFMAN_REQUESTS: [(&str, &str); 3] = [
    ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", FIRST_REQUEST),
    ("8286 84be 5886 a8eb 1064 9cbf", SECOND_REQUEST),
    ("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", THIRD_REQUEST),
];

#[test]
fn requests_with_huffman_of_appendix_c_4() {
    check(4096, &HUFFMAN_REQUESTS);
}

#[test]
fn the_encoder_writes_the_requests_of_appendix_c_4() {
    let mut encoder = Encoder::default();
    for (block, request) in HUFFMAN_REQUESTS {
        let mut out = Vec::new();
        encoder.begin(&mut out);
        for (name, value) in fields(request) {
            encoder.field(&name, &value, &mut out);
        }
        assert_eq!(out, hex(block), "{request}");
    }
}

const FIRST_REPLY: &str = ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
                           location: https://www.example.com";
const SECOND_REPLY: &str = ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
                            location: https://www.example.com";
const THIRD_REPLY: &str = ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n\
                           location: https://www.example.com\ncontent-encoding: gzip\n\
                           set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";

#[test]
fn replies_with_eviction_of_appendix_c_5() {
    check(
        256,
        &[
            (
                "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a
                 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
                FIRST_REPLY,
            ),
            ("4803 3330 37c1 c0bf", SECOND_REPLY),
            (
                "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04
                 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49
                 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
                THIRD_REPLY,
            ),
        ],
    );
}

#[test]
fn replies_with_eviction_and_huffman_of_appendix_c_6() {
    check(
        256,
        &[
            (
                "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e
                 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                FIRST_REPLY,
            ),
            ("4883 640e ffc1 c0bf", SECOND_REPLY),
            (
                "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7
                 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed
                 4ee5 b106 3d50 07",
                THIRD_REPLY,
            ),
        ],
    );
}

#[test]
fn what_breaks_the_grammar_has_a_name() {
    let cases: [(&[u8], HpackError); 9] = [
        (&[0x80], HpackError::Index),
        (&[0xbe], HpackError::Index),
        (&[0x7e, 0x00], HpackError::Index),
        (&[0x82, 0x20], HpackError::SizeUpdate),
        (&[0x3f, 0xe2, 0x1f], HpackError::SizeUpdate),
        (&[0x04, 0x03, b'/'], HpackError::Truncated),
        (&[0x04], HpackError::Truncated),
        (&[0x04, 0x81, 0x00], HpackError::Huffman),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], HpackError::Number),
    ];
    for (block, error) in cases {
        assert_eq!(decode(&mut HpackDecoder::new(4096, 65_536), block), Err(error), "{block:02x?}");
    }
}

#[test]
fn a_list_is_bounded_however_small_its_code_is() {
    let mut decoder = HpackDecoder::new(4096, 100);
    assert_eq!(decode(&mut decoder, &[0x82, 0x82]).unwrap().len(), 2, "42 bytes each");
    assert_eq!(decode(&mut decoder, &[0x82, 0x82, 0x82]), Err(HpackError::ListTooLarge));
    let long = [&[0x04, 0x7f, 0x00][..], &[b'/'; 127]].concat();
    assert_eq!(decode(&mut decoder, &long), Err(HpackError::ListTooLarge));
}

#[test]
fn a_table_that_shrinks_and_grows_between_blocks_says_both() {
    let mut encoder = Encoder::default();
    let mut decoder = HpackDecoder::new(4096, 65_536);
    let mut out = Vec::new();
    encoder.field(b"x-a", b"1", &mut out);
    encoder.limit_table(0);
    encoder.limit_table(u32::MAX);
    let at = out.len();
    encoder.begin(&mut out);
    assert_eq!(out[at..], [0x20, 0x3f, 0xe1, 0x1f], "to 0, then to 4096");
    let again = out.len();
    encoder.field(b"x-a", b"1", &mut out);
    assert_eq!(out[again], 0x40, "forgotten, so a literal again");
    assert_eq!(decode(&mut decoder, &out[..at]).unwrap().len(), 1);
    assert_eq!(decode(&mut decoder, &out[at..]).unwrap().len(), 1);
}

#[test]
fn a_field_that_repeats_is_one_byte_and_one_that_changes_never_enters_the_table() {
    let mut encoder = Encoder::default();
    let mut first = Vec::new();
    encoder.field(b":authority", b"127.0.0.1:8080", &mut first);
    encoder.field(b"x-own", b"value", &mut first);
    encoder.field(b":path", b"/some/where", &mut first);
    encoder.field(b"range", b"bytes=0-9", &mut first);
    let mut second = Vec::new();
    encoder.field(b":authority", b"127.0.0.1:8080", &mut second);
    encoder.field(b"x-own", b"value", &mut second);
    assert_eq!(second, [0x80 | 63, 0x80 | 62]);
}

/// Names that repeat, names of the static table, and names of any bytes.
fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(vec!["cookie", ":path", "etag", "x-a", "x-b", "accept-encoding", ":status"])
            .prop_map(|name| name.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(vec!["", "200", "/", "gzip, deflate", "a value that repeats"])
            .prop_map(|value| value.as_bytes().to_vec()),
        "[a-z0-9/=; ]{0,200}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..300),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_encoded_is_decoded(
        blocks in prop::collection::vec(
            (prop::option::of(0_u32..6000), prop::collection::vec((name(), value()), 0..12)),
            1..12,
        )
    ) {
        let mut encoder = Encoder::default();
        let mut decoder = HpackDecoder::new(4096, 1 << 20);
        let mut out = Vec::new();
        for (limit, list) in blocks {
            if let Some(limit) = limit {
                encoder.limit_table(limit);
            }
            out.clear();
            encoder.begin(&mut out);
            for (name, value) in &list {
                encoder.field(name, value, &mut out);
            }
            prop_assert_eq!(decode(&mut decoder, &out), Ok(list));
        }
    }

    #[test]
    fn no_bytes_break_the_decoder(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let mut decoder = HpackDecoder::new(4096, 10_000);
        for block in blocks {
            let mut size = 0;
            let _ = decoder.decode(&block, |name, value| size += name.len() + value.len() + 32);
            prop_assert!(size <= 10_000);
        }
    }
}
