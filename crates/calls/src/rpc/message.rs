//! Messages of a null call: RFC 5531 sections 9 and 11, written by hand.
//!
//! Pure functions of bytes; integers are big-endian, four bytes each.

/// Bytes of a call without arguments: ten words.
pub(super) const CALL_BYTES: usize = 40;
/// Bytes of a reply without results: six words.
pub(super) const REPLY_BYTES: usize = 24;
/// Bytes before a record on a stream.
pub(super) const MARK_BYTES: usize = 4;

/// From the range that users define for themselves.
const PROGRAM: u32 = 0x2000_0999;
const VERSION: u32 = 1;
const RPC_VERSION: u32 = 2;
const CALL: u32 = 0;
const REPLY: u32 = 1;
const NULL_PROCEDURE: u32 = 0;
const AUTH_NONE: u32 = 0;
/// Of the record mark: this fragment is the last.
const LAST: u32 = 1 << 31;

/// Values of `accept_stat`: an understood call was made, or why it was not.
const SUCCESS: u32 = 0;
const PROGRAM_UNAVAILABLE: u32 = 1;
const PROGRAM_MISMATCH: u32 = 2;
const PROCEDURE_UNAVAILABLE: u32 = 3;

/// The null procedure of our program, with no credentials and no verifier.
pub(super) fn call(xid: u32) -> [u8; CALL_BYTES] {
    words([xid, CALL, RPC_VERSION, PROGRAM, VERSION, NULL_PROCEDURE, AUTH_NONE, 0, AUTH_NONE, 0])
}

/// The accepted reply to a call; `None` for bytes that are no call of this version of RPC without credentials.
pub(super) fn reply(call: &[u8]) -> Option<[u8; REPLY_BYTES]> {
    let at = |index| word(call, index);
    if call.len() != CALL_BYTES || at(1)? != CALL || at(2)? != RPC_VERSION {
        return None;
    }
    let status = match (at(3)?, at(4)?, at(5)?) {
        (PROGRAM, VERSION, NULL_PROCEDURE) => SUCCESS,
        (PROGRAM, VERSION, _) => PROCEDURE_UNAVAILABLE,
        (PROGRAM, _, _) => PROGRAM_MISMATCH,
        _ => PROGRAM_UNAVAILABLE,
    };
    const ACCEPTED: u32 = 0;
    Some(words([at(0)?, REPLY, ACCEPTED, AUTH_NONE, 0, status]))
}

/// Whether it is the reply to the call of this number, with success.
pub(super) fn is_success(reply: &[u8], xid: u32) -> bool {
    let wanted: [u8; REPLY_BYTES] = words([xid, REPLY, 0, AUTH_NONE, 0, SUCCESS]);
    reply == wanted
}

/// Writes a message as a record of one fragment.
pub(super) fn mark(record: &mut [u8], message: &[u8]) {
    let (head, body) = record.split_at_mut(MARK_BYTES);
    head.copy_from_slice(&(LAST | message.len() as u32).to_be_bytes());
    body.copy_from_slice(message);
}

/// The message of such a record; empty where its mark says something else.
pub(super) fn unmarked(record: &[u8]) -> &[u8] {
    let body = record.get(MARK_BYTES..).unwrap_or_default();
    if word(record, 0) == Some(LAST | body.len() as u32) { body } else { &[] }
}

fn word(message: &[u8], index: usize) -> Option<u32> {
    let bytes = message.get(4 * index..4 * index + 4)?;
    bytes.try_into().ok().map(u32::from_be_bytes)
}

fn words<const WORDS: usize, const BYTES: usize>(words: [u32; WORDS]) -> [u8; BYTES] {
    const { assert!(BYTES == 4 * WORDS) };
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}
