//! Numbers in messages: decimal, and sixteen hexadecimal digits.
//!
//! Both sides of the wall, hot: no allocation beyond the buffer that is written to. Owns reading and writing of digits;
//! the meaning of a number, and the range allowed, are the caller's. No sign and no white space is taken for part of a
//! number.

/// Digits of a number as [`push_hex16`] writes it.
const HEX_DIGITS: usize = 16;

/// Writes a number in decimal.
#[inline]
pub fn push_decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20]; // 2^64 has 20
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&digits[at..]);
        }
    }
}

/// Digits alone, at least one; `None` for anything else, and for a number that is too large.
#[inline]
pub fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &byte| number.checked_mul(10)?.checked_add(digit(byte)?))
}

/// The same where a number that is too large is as good as the largest.
#[inline]
pub fn decimal_or_most(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &byte| {
        let value = digit(byte)?;
        Some(number.saturating_mul(10).saturating_add(value))
    })
}

fn digit(byte: u8) -> Option<u64> {
    byte.is_ascii_digit().then(|| u64::from(byte - b'0'))
}

/// Writes a number as sixteen small hexadecimal digits.
#[inline]
pub fn push_hex16(number: u64, out: &mut Vec<u8>) {
    let digit = |place: usize| b"0123456789abcdef"[(number >> (60 - 4 * place) & 15) as usize];
    out.extend_from_slice(&std::array::from_fn::<u8, HEX_DIGITS, _>(digit));
}

/// Exactly sixteen hexadecimal digits, small or large; `None` for anything else.
#[inline]
pub fn parse_hex16(digits: &[u8]) -> Option<u64> {
    if digits.len() != HEX_DIGITS {
        return None;
    }
    digits.iter().try_fold(0, |number, &digit| {
        let value = (digit as char).to_digit(16)?;
        Some(number << 4 | u64::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_every_length_are_read_as_they_were_written() {
        for number in [0, 9, 10, 1000, u64::MAX] {
            let mut out = Vec::new();
            push_decimal(number, &mut out);
            assert_eq!(out, number.to_string().into_bytes());
            assert_eq!((decimal(&out), decimal_or_most(&out)), (Some(number), Some(number)));
        }
        assert_eq!((decimal(b"007"), decimal_or_most(b"007")), (Some(7), Some(7)));
    }

    #[test]
    fn what_is_too_large_is_none_or_the_largest() {
        for large in ["18446744073709551616", "99999999999999999999", "184467440737095516150"] {
            assert_eq!(decimal(large.as_bytes()), None);
            assert_eq!(decimal_or_most(large.as_bytes()), Some(u64::MAX));
        }
    }

    #[test]
    fn nothing_but_digits_is_a_number() {
        for wrong in ["", "+1", "-1", " 1", "1 ", "1_0", "0x10", "1.0", "\u{661}", "99999999999999999999x"] {
            assert_eq!(decimal(wrong.as_bytes()), None, "{wrong:?}");
            assert_eq!(decimal_or_most(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn sixteen_digits_are_read_as_they_were_written() {
        for number in [0, 1, 0xabc, 0x0123_4567_89ab_cdef, 1 << 63, u64::MAX] {
            let mut out = Vec::new();
            push_hex16(number, &mut out);
            assert_eq!(out, format!("{number:016x}").into_bytes());
            assert_eq!(parse_hex16(&out), Some(number));
            assert_eq!(parse_hex16(&out.to_ascii_uppercase()), Some(number));
        }
        for wrong in
            ["", "1", "00000000000000001", "000000000000000g", "000000000000+001", "000000000000 001"]
        {
            assert_eq!(parse_hex16(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
