//! Hexadecimal text of bytes, in lower case.
//!
//! Measured side, pure. Digests have their own code, which allocates nothing ([`crate::digest`]).

/// Bytes as digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Exactly `N` bytes of such digits.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    fill_from_hex(text.as_bytes(), &mut out).map(|()| out)
}

/// The same into a buffer of the caller's, so that no copy is left behind.
pub fn fill_from_hex(text: &[u8], out: &mut [u8]) -> Option<()> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != out.len() || !rest.is_empty() {
        return None;
    }
    for (to, [high, low]) in out.iter_mut().zip(pairs) {
        *to = digit(*high)? << 4 | digit(*low)?;
    }
    Some(())
}
