//! Deterministic CBOR (RFC 8949 section 4.2.1); any other encoding is refused.
//!
//! Measured side, pure, fed by strangers. `ciborium` accepts more: longer lengths and numbers than needed, indefinite
//! lengths, duplicate or unordered keys. So each value is encoded again and the bytes are compared. Before that,
//! length and depth are limited.

use crate::refusal::{CredentialRefusal, Piece};
use ciborium::Value;

/// Limit on nesting. A path within a grant within claims is the deepest in use, at 4.
const DEPTH: usize = 8;

/// Reads one value that fills the bytes.
pub(crate) fn read(bytes: &[u8], most_bytes: usize, of: &Piece<'_>) -> Result<Value, CredentialRefusal> {
    if bytes.len() > most_bytes {
        return Err(of.refuse(CredentialRefusal::TooLarge));
    }
    let mut rest = bytes;
    let value: Value = ciborium::de::from_reader_with_recursion_limit(&mut rest, DEPTH)
        .map_err(|_| of.refuse(CredentialRefusal::Malformed))?;
    if !rest.is_empty() {
        return Err(of.refuse(CredentialRefusal::TrailingData));
    }
    if is_ordered(&value) && write(&value) == bytes {
        Ok(value)
    } else {
        Err(of.refuse(CredentialRefusal::Malformed))
    }
}

/// The bytes of a value whose maps are in order.
pub fn write(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    match ciborium::into_writer(value, &mut bytes) {
        Ok(()) => bytes,
        // Writing to a vector cannot fail; and empty bytes are no valid value.
        Err(_) => Vec::new(),
    }
}

/// Whether keys of all maps are integers, in the order of their bytes, without duplicates.
fn is_ordered(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_ordered),
        Value::Map(pairs) => {
            let ranks: Option<Vec<(bool, i128)>> = pairs.iter().map(|(key, _)| rank(key)).collect();
            let rising = ranks.is_some_and(|ranks| ranks.is_sorted_by(|before, after| before < after));
            rising && pairs.iter().all(|(_, value)| is_ordered(value))
        }
        Value::Tag(_, value) => is_ordered(value),
        _ => true,
    }
}

/// Integers in the order of their bytes: 0, 1, 2, ... and then -1, -2, ...
fn rank(key: &Value) -> Option<(bool, i128)> {
    let key = i128::from(key.as_integer()?);
    Some((key < 0, if key < 0 { -1 - key } else { key }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &[u8]) -> &'static str {
        read(bytes, 4096, &Piece::of("it")).map_or_else(|refusal| refusal.name(), |_| "good")
    }

    #[test]
    fn each_value_has_one_spelling() {
        for good in [
            &[0x01][..],
            &[0x18, 0x18],
            &[0x20],
            &[0x82, 0x01, 0x02],
            &[0xa2, 0x01, 0x00, 0x20, 0x00],
            &[0xf6],
        ] {
            assert_eq!(name(good), "good", "{good:x?}");
        }
        for (bad, why) in [
            (&[][..], "malformed"),
            (&[0x01, 0x01], "trailing-data"),
            (&[0x18, 0x17], "malformed"),             // 23 in two bytes
            (&[0x19, 0x00, 0x18], "malformed"),       // 24 in three
            (&[0x5f, 0x41, 0x00, 0xff], "malformed"), // a length left open
            (&[0x9f, 0x01, 0xff], "malformed"),
            (&[0xbf, 0x01, 0x00, 0xff], "malformed"),
            (&[0xa2, 0x01, 0x00, 0x01, 0x00], "malformed"), // a key twice
            (&[0xa2, 0x02, 0x00, 0x01, 0x00], "malformed"), // keys in disorder
            (&[0xa2, 0x20, 0x00, 0x01, 0x00], "malformed"),
            (&[0x81, 0xa2, 0x02, 0x00, 0x01, 0x00], "malformed"), // the same, deeper
            (&[0xa1, 0x61, 0x61, 0x00], "malformed"),             // a text as key
            (&[0xf7], "malformed"),                               // undefined
            (&[0xc2, 0x41, 0x01], "malformed"),                   // 1 as a big number
            (&[0x62, 0xc3, 0x28], "malformed"),                   // not UTF-8
            (&[0xfb, 0, 0, 0, 0, 0, 0, 0, 0], "malformed"),       // 0.0 in eight bytes
            (&[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "malformed"),
            (&[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "malformed"),
            (&[0xff], "malformed"),
        ] {
            assert_eq!(name(bad), why, "{bad:x?}");
        }
    }

    #[test]
    fn length_and_depth_have_limits() {
        assert_eq!(name(&vec![0x81; 1 << 20]), "too-large");
        assert_eq!(name(&[0x81; 4096]), "malformed");
        assert_eq!(name(&[&[0x81; DEPTH][..], &[0x00]].concat()), "good");
        assert_eq!(name(&[&[0x81; DEPTH + 1][..], &[0x00]].concat()), "malformed");
    }
}
