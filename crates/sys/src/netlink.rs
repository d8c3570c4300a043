//! Netlink requests that the kernel answers by a list (`linux/netlink.h`).
//!
//! Measured side; asked a hundred times a second at most. Owns the heads of messages; the caller owns the rest.

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Types of the last messages: `NLMSG_ERROR`, which also acknowledges, and `NLMSG_DONE`.
pub(crate) const ERROR: u16 = 2;
pub(crate) const DONE: u16 = 3;
/// Flags of questions: `NLM_F_REQUEST | NLM_F_ACK`, `NLM_F_REQUEST | NLM_F_DUMP`.
pub(crate) const ACKNOWLEDGED: u16 = 1 | 4;
const LISTED: u16 = 0x301;
/// Length of a message's head: length, type, flags, number, sender.
pub(crate) const HEAD_BYTES: usize = 16;
/// The kernel sends no longer ones here.
const MOST_BYTES: usize = 32 << 10;

/// Sends the kernel a message of this type, with a head in front.
pub(crate) fn send(socket: impl AsFd, (kind, flags, number): (u16, u16, u32), body: &[u8]) -> io::Result<()> {
    let mut message = ((HEAD_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend([kind, flags].map(u16::to_ne_bytes).concat());
    message.extend([number, 0].map(u32::to_ne_bytes).concat());
    message.extend(body);
    sendto(socket.as_fd().as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    Ok(())
}

/// Asks, in the network of the calling thread, and hands out each answer.
///
/// # Errors
/// A kernel that does not know such questions.
pub fn list(
    protocol: SockProtocol,
    kind: u16,
    question: &[u8],
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    let kernel = socket(AddressFamily::Netlink, SockType::Datagram, SockFlag::SOCK_CLOEXEC, protocol)?;
    send(&kernel, (kind, LISTED, 0), question)?;
    let mut bytes = vec![0; MOST_BYTES];
    loop {
        let length = recv(kernel.as_raw_fd(), &mut bytes, MsgFlags::empty())?;
        if read(bytes.get(..length).unwrap_or_default(), &mut each)? {
            return Ok(());
        }
    }
}

/// Reads all of one packet; returns whether it was the last.
fn read(mut packet: &[u8], each: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (word(packet, 0), half(packet, 4)) {
        let length = usize::try_from(length).unwrap_or(usize::MAX).max(HEAD_BYTES);
        let body = packet.get(HEAD_BYTES..length).unwrap_or_default();
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let code = word(body, 0).unwrap_or_default().cast_signed();
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            _ => each(body),
        }
        packet = packet.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// Four bytes at a place.
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Two bytes at a place.
pub fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_short_is_passed_over_and_an_error_is_told() {
        let message = |kind: u16, body: &[u8]| {
            let length = (HEAD_BYTES + body.len()) as u32;
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], body].concat()
        };
        let mut found = Vec::new();
        let mut each = |body: &[u8]| found.push(body.to_vec());
        assert!(!read(&[1, 2, 3], &mut each).unwrap());
        let whole = message(20, b"here");
        assert!(!read(&whole[..whole.len() - 1], &mut each).unwrap());
        let refused = read(&message(ERROR, &(-libc::ENOENT).to_ne_bytes()), &mut each);
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ENOENT));
        assert!(read(&[whole, message(DONE, &[0; 4])].concat(), &mut each).unwrap());
        assert_eq!(found, [b"".to_vec(), b"here".to_vec()]);
    }
}
