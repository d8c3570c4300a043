//! The Huffman code of HPACK (RFC 7541 section 5.2 and appendix B).
//!
//! Hot, reads untrusted input. The code is canonical: lengths alone determine it, so they are all that is written down
//! here, and the compiler makes the tables of them. Decoding looks at twelve bits at a time, which are one or two of
//! the usual characters; longer codes, which text hardly has, are found by comparing with the first code of each
//! length.

/// Bits of each symbol's code; the last is the end-of-string symbol.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
     6, 10, 10, 12, 13,  6,  8, 11, 10, 10,  8, 11,  8,  6,  6,  6,
     5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8, 15,  6, 12, 10,
    13,  6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,
     7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8, 13, 19, 13, 14,  6,
    15,  5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,
     6,  7,  6,  5,  5,  6,  7,  7,  7,  7,  7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// Longest code, in bits.
const LONGEST: usize = 30;
/// Bits that one look at the table takes.
const LOOK: u32 = 12;
/// The symbol that never stands in a string.
const END_OF_STRING: u16 = 256;

/// Tables that follow from the lengths.
struct Code {
    /// Code of each symbol, right-aligned.
    codes: [u32; 257],
    /// Symbols in the order of their codes.
    sorted: [u16; 257],
    /// For each length: its first code, right-aligned.
    first: [u32; LONGEST + 1],
    /// For each length: the start of its symbols in `sorted`.
    offset: [u16; LONGEST + 1],
    /// For each length: the bound behind its last code, aligned to 32 bits from the left.
    limit: [u64; LONGEST + 1],
}

const CODE: Code = code();
static CODES: [u32; 257] = CODE.codes;
static SORTED: [u16; 257] = CODE.sorted;
static LIMIT: [u64; LONGEST + 1] = CODE.limit;
static FIRST: [u32; LONGEST + 1] = CODE.first;
static OFFSET: [u16; LONGEST + 1] = CODE.offset;
static TWO: [u32; 1 << LOOK] = two();

const fn code() -> Code {
    let mut made = Code {
        codes: [0; 257],
        sorted: [0; 257],
        first: [0; LONGEST + 1],
        offset: [0; LONGEST + 1],
        limit: [0; LONGEST + 1],
    };
    let (mut next, mut count, mut length) = (0_u64, 0, 1);
    while length <= LONGEST {
        next <<= 1;
        made.first[length] = next as u32;
        made.offset[length] = count as u16;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                made.codes[symbol] = next as u32;
                made.sorted[count] = symbol as u16;
                next += 1;
                count += 1;
            }
            symbol += 1;
        }
        made.limit[length] = next << (32 - length);
        length += 1;
    }
    assert!(next == 1 << LONGEST && count == 257, "the code is complete");
    made
}

/// For each twelve bits: first symbol, second symbol << 8, bits of the first << 16, bits of all << 20,
/// number of symbols << 24.
const fn two() -> [u32; 1 << LOOK] {
    let mut table = [0; 1 << LOOK];
    let mut bits = 0;
    while bits < 1 << LOOK {
        let first = short(bits, LOOK);
        if first < END_OF_STRING {
            let length = LENGTHS[first as usize] as u32;
            let rest = (bits << length) & ((1 << LOOK) - 1);
            let second = short(rest, LOOK - length);
            table[bits as usize] = if second < END_OF_STRING {
                let total = length + LENGTHS[second as usize] as u32;
                first as u32 | (second as u32) << 8 | length << 16 | total << 20 | 2 << 24
            } else {
                first as u32 | length << 16 | length << 20 | 1 << 24
            };
        }
        bits += 1;
    }
    table
}

/// The symbol at the start of twelve bits of which `known` count, or the end of string for none.
const fn short(bits: u32, known: u32) -> u16 {
    let mut length = 5;
    while length <= known as usize {
        let aligned = (bits as u64) << (32 - LOOK);
        if aligned < CODE.limit[length] {
            let code = bits >> (LOOK as usize - length);
            return CODE.sorted[(CODE.offset[length] as u32 + code - CODE.first[length]) as usize];
        }
        length += 1;
    }
    END_OF_STRING
}

/// Most bytes that so many bytes of code stand for, with those that decoding writes beyond them.
pub(super) const fn room(coded: usize) -> usize {
    coded.saturating_mul(8) / 5 + 2
}

/// Decodes into `out`, which has the [`room`]; the number of bytes, or `None` for bytes that are no code.
pub(super) fn decode(coded: &[u8], out: &mut [u8]) -> Option<usize> {
    let (mut held, mut bits, mut at, mut written) = (0_u64, 0_u32, 0, 0);
    loop {
        if bits <= 32 {
            if let Some(four) = coded.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
                held |= u64::from(u32::from_be_bytes(*four)) << (32 - bits);
                (bits, at) = (bits + 32, at + 4);
            } else {
                while let Some(&byte) = coded.get(at).filter(|_| bits <= 56) {
                    held |= u64::from(byte) << (56 - bits);
                    (bits, at) = (bits + 8, at + 1);
                }
            }
        }
        // While all bits of a look are known, nothing has to be compared.
        while bits >= LOOK {
            let entry = TWO[(held >> (64 - LOOK)) as usize];
            if entry == 0 {
                break;
            }
            let pair: &mut [u8; 2] = out.get_mut(written..)?.first_chunk_mut()?;
            *pair = [entry as u8, (entry >> 8) as u8];
            written += (entry >> 24) as usize;
            let all = (entry >> 20) & 15;
            held <<= all;
            bits -= all;
        }
        // A long code needs more bits than a look.
        if at < coded.len() && bits <= 32 {
            continue;
        }
        let entry = TWO[(held >> (64 - LOOK)) as usize];
        let (one, all) = ((entry >> 16) & 15, (entry >> 20) & 15);
        let pair = out.get_mut(written..written + 2)?;
        pair[0] = entry as u8;
        pair[1] = (entry >> 8) as u8;
        let (symbols, length) = if entry != 0 && all <= bits {
            ((entry >> 24) as usize, all)
        } else if entry != 0 && one <= bits {
            (1, one)
        } else {
            match long((held >> 32) as u32, bits) {
                Some((symbol, length)) => {
                    pair[0] = symbol;
                    (1, length)
                }
                // The end is padded with fewer than eight bits of the end-of-string symbol.
                None => return (bits < 8 && held == !(u64::MAX >> bits)).then_some(written),
            }
        };
        written += symbols;
        held <<= length;
        bits -= length;
    }
}

/// The symbol and length of a code that is longer than a look; `None` when fewer bits are known.
fn long(aligned: u32, known: u32) -> Option<(u8, u32)> {
    let length = (LOOK as usize..=LONGEST).find(|&length| u64::from(aligned) < LIMIT[length])?;
    if length as u32 > known {
        return None;
    }
    let code = aligned >> (32 - length);
    let index = u32::from(OFFSET[length]) + code.checked_sub(FIRST[length])?;
    let symbol = *SORTED.get(index as usize)?;
    Some((u8::try_from(symbol).ok()?, length as u32)) // the end of string is no byte
}

/// Bytes of the code of a string.
pub(super) fn coded_len(plain: &[u8]) -> usize {
    plain.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum::<usize>().div_ceil(8)
}

/// Appends the code of a string.
pub(super) fn encode(plain: &[u8], out: &mut Vec<u8>) {
    let (mut held, mut bits) = (0_u64, 0_u32);
    for &byte in plain {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        held = held << length | u64::from(CODES[usize::from(byte)]);
        bits += length;
        if bits >= 32 {
            bits -= 32;
            out.extend_from_slice(&((held >> bits) as u32).to_be_bytes());
        }
    }
    let tail = bits.div_ceil(8);
    let padded = held << (tail * 8 - bits) | ((1 << (tail * 8 - bits)) - 1);
    out.extend_from_slice(&(padded as u32).to_be_bytes()[4 - tail as usize..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(coded: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![0; room(coded.len())];
        let length = decode(coded, &mut out)?;
        out.truncate(length);
        Some(out)
    }

    #[test]
    fn codes_are_those_of_the_appendix() {
        for (symbol, code) in
            [(b'0', 0), (b'a', 3), (b' ', 0x14), (b':', 0x5c), (b'&', 0xf8), (b'\\', 0x7fff0)]
        {
            assert_eq!(CODES[usize::from(symbol)], code);
        }
        assert_eq!(
            (CODES[255], CODES[249], CODES[22], CODES[256]),
            (0x3ff_ffee, 0xfff_fffe, 0x3fff_fffe, 0x3fff_ffff)
        );
    }

    #[test]
    fn every_pair_of_bytes_goes_there_and_back() {
        for first in 0..=255 {
            for second in 0..=255 {
                let plain = [first, second, first, b'a'];
                let mut coded = Vec::new();
                encode(&plain, &mut coded);
                assert_eq!(coded.len(), coded_len(&plain));
                assert_eq!(decoded(&coded).as_deref(), Some(plain.as_slice()));
            }
        }
    }

    #[test]
    fn padding_is_short_and_of_ones_and_the_end_of_string_is_refused() {
        assert_eq!(decoded(b""), Some(vec![]));
        assert_eq!(decoded(&[0b0001_1111]), Some(b"a".to_vec()));
        assert_eq!(decoded(&[0b0001_1110]), None, "padding with a zero");
        assert_eq!(decoded(&[0b0001_1111, 0xff]), None, "padding of eleven bits");
        assert_eq!(decoded(&[0xff]), None, "padding alone of eight bits");
        assert_eq!(decoded(&[0xff; 4]), None, "the end of string");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xfc, 0x07]), None, "the end of string and more");
    }
}
