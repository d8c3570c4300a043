//! Scanner for runs of allowed bytes in a line, sixteen at a time.
//!
//! Both sides of the wall. Hot, reads untrusted input: no panics, no allocation. Knows classes of bytes, not what they
//! mean. `wide` has the vector registers of each machine behind functions that are safe; left to itself the compiler
//! uses them for such loops in one place and not in another.

use wide::u8x16;

/// Bytes that are looked at together.
const BLOCK_BYTES: usize = 16;

/// RFC 9110 section 5.6.2: the bytes of a field's name.
const TOKEN: [bool; 256] = table(true);
/// The bytes of a field's value or a reason phrase: all but control characters; a tab is none.
const TEXT: [bool; 256] = table(false);

/// The bytes behind the token at the start of `bytes`.
#[inline]
pub(super) fn past_token(bytes: &[u8]) -> &[u8] {
    past(bytes, but_letters_and_hyphens, b':', &TOKEN)
}

/// The bytes behind the text at the start of `bytes`: the line's end, if the line is right.
#[inline]
pub(super) fn past_text(bytes: &[u8]) -> &[u8] {
    past(bytes, controls, b'\r', &TEXT)
}

/// The bytes behind the run of a `class` at the start of `bytes`. `others` marks those of a block that are not of it,
/// and a few rare ones that are. Most often the next byte is `end`.
#[inline(always)]
fn past<'a>(bytes: &'a [u8], others: impl Fn(u8x16) -> u8x16, end: u8, class: &[bool; 256]) -> &'a [u8] {
    let mut rest = bytes;
    while let Some((&block, behind)) = rest.split_first_chunk::<BLOCK_BYTES>() {
        let marked = others(u8x16::new(block)).to_bitmask();
        if marked == 0 {
            rest = behind;
            continue;
        }
        rest = rest.get(marked.trailing_zeros() as usize..).unwrap_or_default();
        match rest {
            [byte, behind @ ..] if *byte != end && class[usize::from(*byte)] => rest = behind,
            _ => return rest,
        }
    }
    past_bytes(rest, class)
}

/// The same where no block is left.
fn past_bytes<'a>(mut rest: &'a [u8], class: &[bool; 256]) -> &'a [u8] {
    while let [byte, behind @ ..] = rest
        && class[usize::from(*byte)]
    {
        rest = behind;
    }
    rest
}

/// All but letters and hyphens, of which names are, nearly all of them.
#[inline]
fn but_letters_and_hyphens(block: u8x16) -> u8x16 {
    let letter = (block | u8x16::splat(0x20)) - u8x16::splat(b'a');
    !(up_to(letter, b'z' - b'a') | block.simd_eq(u8x16::splat(b'-')))
}

/// Control characters. The tab is one, and may be in a text.
#[inline]
fn controls(block: u8x16) -> u8x16 {
    up_to(block, 0x1f) | block.simd_eq(u8x16::splat(0x7f))
}

#[inline]
fn up_to(block: u8x16, highest: u8) -> u8x16 {
    block.min(u8x16::splat(highest)).simd_eq(block)
}

const fn table(token: bool) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = if token {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
        } else {
            byte == b'\t' || !byte.is_ascii_control()
        };
        if byte == 255 {
            return table;
        }
        byte += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte at every place of some blocks ends a run or not, as its class says.
    #[test]
    fn runs_end_at_the_first_byte_of_another_class() {
        for place in 0..40 {
            for length in place + 1..=41 {
                for byte in 0..=255_u8 {
                    let mut bytes = vec![b'a'; length];
                    bytes[place] = byte;
                    let end = |class: &[bool; 256]| if class[usize::from(byte)] { length } else { place };
                    assert_eq!(
                        length - past_token(&bytes).len(),
                        end(&TOKEN),
                        "{byte:#x} at {place} of {length}"
                    );
                    assert_eq!(
                        length - past_text(&bytes).len(),
                        end(&TEXT),
                        "{byte:#x} at {place} of {length}"
                    );
                }
            }
        }
        assert!(past_token(b"").is_empty() && past_text(b"").is_empty());
    }

    #[test]
    fn classes_are_those_of_the_rfc() {
        let of =
            |class: &[bool; 256]| (0..=255_u8).filter(|&byte| class[usize::from(byte)]).collect::<Vec<_>>();
        let mut token = b"!#$%&'*+-.^_`|~".to_vec();
        token.extend((b'0'..=b'9').chain(b'A'..=b'Z').chain(b'a'..=b'z'));
        token.sort_unstable();
        assert_eq!(of(&TOKEN), token);
        assert_eq!(
            of(&TEXT),
            std::iter::once(b'\t').chain(0x20..=0x7e).chain(0x80..=0xff).collect::<Vec<_>>()
        );
    }
}
