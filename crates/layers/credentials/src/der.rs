//! Minimal DER reader: just enough to find an extension in a certificate.
//!
//! Measured side, pure. `webpki` has read the certificate, and checked its signature, before: this module finds the
//! part that `webpki` reads but does not return.

pub(crate) const OCTETS: u8 = 0x04;
const INTEGER: u8 = 0x02;
const OID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// Content of a certificate's extension that occurs once, and is not critical. `oid` is its identifier's content, in
/// DER.
pub(crate) fn extension<'a>(certificate: &'a [u8], oid: &[u8]) -> Option<&'a [u8]> {
    let mut rest = certificate;
    let mut rest = take(&mut rest, SEQUENCE)?;
    let mut tbs = take(&mut rest, SEQUENCE)?;
    // Version, number, algorithm, issuer, validity, subject, key.
    for tag in [VERSION, INTEGER, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE] {
        take(&mut tbs, tag)?;
    }
    let mut rest = take(&mut tbs, EXTENSIONS)?;
    let mut extensions = take(&mut rest, SEQUENCE)?;
    let mut found = None;
    while !extensions.is_empty() {
        let mut one = take(&mut extensions, SEQUENCE)?;
        if take(&mut one, OID)? == oid {
            let content = take(&mut one, OCTETS)?;
            if found.replace(content).is_some() {
                return None;
            }
        }
    }
    found
}

/// The content of the next value, which must have this tag and at most 64 KiB.
pub(crate) fn take<'a>(rest: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (length, content) = match *rest {
        [own, short @ 0..=0x7f, content @ ..] if *own == tag => (usize::from(*short), content),
        [own, 0x81, one @ 0x80..=0xff, content @ ..] if *own == tag => (usize::from(*one), content),
        [own, 0x82, high @ 1..=0xff, low, content @ ..] if *own == tag => {
            (usize::from(u16::from_be_bytes([*high, *low])), content)
        }
        _ => return None,
    };
    let (taken, after) = content.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

/// A value with this tag; `None` if it is longer than [`take`] accepts.
pub(crate) fn wrap(tag: u8, content: &[u8]) -> Option<Vec<u8>> {
    let [high, low] = u16::try_from(content.len()).ok()?.to_be_bytes();
    let head = match (high, low) {
        (0, 0..0x80) => vec![tag, low],
        (0, _) => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    Some([head.as_slice(), content].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrapped_is_taken_again_and_nothing_longer_than_needed() {
        for length in [0, 1, 127, 128, 255, 256, 65_535] {
            let wrapped = wrap(OCTETS, &vec![7; length]).unwrap();
            let mut rest = wrapped.as_slice();
            assert_eq!((take(&mut rest, OCTETS).unwrap().len(), rest.len()), (length, 0));
            assert_eq!(take(&mut wrapped.as_slice(), SEQUENCE), None);
            assert_eq!(take(&mut &wrapped[..wrapped.len() - 1], OCTETS), None);
        }
        assert_eq!(wrap(OCTETS, &vec![7; 65_536]), None);
        for bad in [
            &[4][..],
            &[4, 0x80],
            &[4, 0x81, 1, 0],
            &[4, 0x82, 0, 1, 0],
            &[4, 0x83, 0, 0, 1, 0],
            &[4, 0x82, 1],
        ] {
            assert_eq!(take(&mut &bad[..], OCTETS), None, "{bad:x?}");
        }
    }
}
