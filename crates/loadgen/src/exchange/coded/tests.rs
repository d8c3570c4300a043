//! Tests of coded replies: real packers, cut and changed bytes, bombs.

use super::*;
use bakeoff_content::{GzipPacker, ObjectId};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

type Pack = fn(&[u8]) -> Vec<u8>;

const LEN: u64 = 100_000;
/// Each coding with the packer of another hand: zlib-rs, the brotli crate's encoder, libzstd.
const CODINGS: [(ContentCoding, Pack); 3] = [
    (ContentCoding::Gzip, gzip),
    (ContentCoding::Brotli, brotli),
    (ContentCoding::Zstd, |bytes| zstd::encode_all(bytes, 3).unwrap()),
];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// In the quality and with the window of nginx's module.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    brotli::CompressorWriter::new(&mut packed, 4096, 6, 19).write_all(bytes).unwrap();
    packed
}

fn body(name: &[u8], len: u64) -> Body {
    Body::compressible(ObjectId::of_name(name), len, 60)
}

fn plain(name: &[u8], len: u64) -> Vec<u8> {
    let mut plain = Vec::new();
    body(name, len).write_to(&mut plain).unwrap();
    plain
}

/// The judgement of these bytes in place of `/a`, in pieces of every kind.
#[track_caller]
fn said(coding: ContentCoding, bytes: &[u8]) -> Result<(), ErrorClass> {
    let of_pieces = |most: usize| {
        let mut coded = Coded::new(coding, body(b"/a", LEN)).unwrap();
        bytes.chunks(most).for_each(|piece| coded.take(piece));
        assert!(coded.made <= LEN + STEP_BYTES as u64, "it is bounded");
        coded.judge()
    };
    let said = of_pieces(usize::MAX);
    for most in [1, 7, 1460] {
        assert_eq!(of_pieces(most), said, "{coding:?} in pieces of {most}");
    }
    said
}

#[test]
fn the_object_is_right_however_it_is_packed() {
    for (coding, pack) in CODINGS {
        assert_eq!(said(coding, &pack(&plain(b"/a", LEN))), Ok(()), "{coding:?}");
        let mut nothing = Coded::new(coding, body(b"/a", 0)).unwrap();
        nothing.take(&pack(b""));
        assert_eq!(nothing.judge(), Ok(()), "{coding:?}");
    }
    let right = GzipPacker::default().pack(&body(b"/a", LEN)).unwrap();
    assert_eq!(said(ContentCoding::Gzip, &right), Ok(()));
    for level in [Compression::none(), Compression::best()] {
        let mut encoder = GzEncoder::new(Vec::new(), level);
        body(b"/a", LEN).write_to(&mut encoder).unwrap();
        assert_eq!(said(ContentCoding::Gzip, &encoder.finish().unwrap()), Ok(()));
    }
    for level in [-5, 1, 19] {
        let right = zstd::encode_all(&plain(b"/a", LEN)[..], level).unwrap();
        assert_eq!(said(ContentCoding::Zstd, &right), Ok(()), "{level}");
    }
}

#[test]
fn other_lengths_are_wrong_lengths() {
    for (coding, pack) in CODINGS {
        for len in [0, 1, LEN - 1, LEN + 1, 2 * LEN] {
            let judged = said(coding, &pack(&plain(b"/a", len)));
            assert_eq!(judged, Err(ErrorClass::WrongLength), "{coding:?} {len}");
        }
    }
}

#[test]
fn other_bytes_and_what_is_not_whole_are_wrong_bodies() {
    for (coding, pack) in CODINGS {
        let right = pack(&plain(b"/a", LEN));
        let changed = |at: usize| {
            let mut bytes = right.clone();
            bytes[at] ^= 1;
            bytes
        };
        for (what, bytes) in [
            ("another object", pack(&plain(b"/b", LEN))),
            ("as it is", plain(b"/a", LEN)),
            ("nothing", Vec::new()),
            ("the first byte", changed(0)),
            ("a byte in the middle", changed(right.len() / 2)),
            ("cut in the middle", right[..right.len() / 2].to_vec()),
            ("cut before its last byte", right[..right.len() - 1].to_vec()),
            ("a byte behind its end", [&right[..], b"x"].concat()),
            ("twice", [&right[..], &right].concat()),
        ] {
            assert_eq!(said(coding, &bytes), Err(ErrorClass::WrongBody), "{coding:?}: {what}");
        }
        for (other, _) in CODINGS.iter().filter(|(other, _)| *other != coding) {
            assert_eq!(said(*other, &right), Err(ErrorClass::WrongBody), "{coding:?} as {other:?}");
        }
    }
    let right = gzip(&plain(b"/a", LEN));
    for (what, at) in [("the check sum", right.len() - 8), ("the length behind it", right.len() - 1)] {
        let mut bytes = right.clone();
        bytes[at] ^= 1;
        assert_eq!(said(ContentCoding::Gzip, &bytes), Err(ErrorClass::WrongBody), "{what}");
    }
}

/// Twenty megabytes in a hundredth of that.
#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = vec![0; 20_000_000];
    for (coding, pack) in CODINGS {
        let judged = said(coding, &pack(&zeros));
        assert_eq!(judged, Err(ErrorClass::WrongBody), "{coding:?}: its first bytes are others already");
        // One that begins as the object does: the object, and zeros without end.
        let judged = said(coding, &pack(&[plain(b"/a", LEN), zeros.clone()].concat()));
        assert_eq!(judged, Err(ErrorClass::WrongLength), "{coding:?}");
    }
}

/// A window of 128 MB, as `zstd --long=27` has, is more than a server may ask of its clients (RFC 9659).
#[test]
fn a_window_that_no_browser_has_room_for_is_refused() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&plain(b"/a", LEN)).unwrap();
    assert_eq!(said(ContentCoding::Zstd, &encoder.finish().unwrap()), Err(ErrorClass::WrongBody));
}
