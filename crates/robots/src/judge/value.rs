//! Parts of a header field's value: parameters, numbers.
//!
//! Measuring side, hot, reads untrusted input: no allocation, no panic.

use bakeoff_wire::digits::decimal_or_most;

/// `name=argument`, quotes of the argument taken off; empty where there is none.
pub(super) fn parameter(item: &[u8]) -> (&[u8], &[u8]) {
    let (name, argument) = split(item, b'=').unwrap_or((item, b""));
    let argument = argument.trim_ascii();
    let bare = argument.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    (name.trim_ascii(), bare.unwrap_or(argument))
}

/// The parts before and behind the first such byte.
pub(super) fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr::memchr(at, text)?;
    let (before, behind) = text.split_at(place);
    Some((before, behind.get(1..).unwrap_or_default()))
}

/// A number, with white space around it or not; one that is too large counts as the largest.
pub(super) fn count(digits: &[u8]) -> Option<u64> {
    decimal_or_most(digits.trim_ascii())
}
