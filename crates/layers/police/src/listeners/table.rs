//! Who listens, as the kernel's sock_diag tells it (`linux/inet_diag.h`): it goes through listeners alone, where `/proc/net/tcp`
//! goes through the table of all connections each time.
//!
//! Measured side; asked a hundred times a second at most. Owns the messages.

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;

/// Type of questions and answers, `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// Types of the last messages: `NLMSG_ERROR`, `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const ASKING: u16 = 0x301;
/// Length of a message's head: length, type, flags, number, sender.
const HEAD_BYTES: usize = 16;
/// Of a `struct inet_diag_req_v2`: family, protocol, two bytes of extensions, states, then a socket that is not looked at.
const QUESTION_BYTES: usize = 56;
/// Of a `struct inet_diag_msg`, and where in it port, length of the queue and inode are.
const ANSWER_BYTES: usize = 72;
const PORT: usize = 4;
const WAITING: usize = 56;
const INODE: usize = 68;
/// Bit of the state of a listening socket, `TCP_LISTEN`.
const LISTEN: u32 = 1 << 10;
/// The kernel sends no longer ones here.
const MOST_BYTES: usize = 32 << 10;

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listening {
    /// Where.
    pub port: u16,
    /// IPv6, which may take IPv4 as well.
    pub is_v6: bool,
    /// Its number among sockets.
    pub inode: u64,
    /// Connections that nobody has taken yet.
    pub waiting: u32,
}

/// Who listens on these ports, in the network of the calling thread; in order of inodes.
///
/// # Errors
/// A kernel without sock_diag (CONFIG_INET_DIAG).
pub fn listening(ports: &[u16]) -> io::Result<Vec<Listening>> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let diag = socket(AddressFamily::Netlink, SockType::Datagram, flags, SockProtocol::NetlinkSockDiag)?;
    let mut found = Vec::new();
    let mut bytes = vec![0; MOST_BYTES];
    for (family, is_v6) in [(AddressFamily::Inet, false), (AddressFamily::Inet6, true)] {
        sendto(diag.as_raw_fd(), &question(family), &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        let mut whole = false;
        while !whole {
            let length = recv(diag.as_raw_fd(), &mut bytes, MsgFlags::empty())?;
            whole = read(bytes.get(..length).unwrap_or_default(), is_v6, &mut found)?;
        }
    }
    found.retain(|at: &Listening| ports.contains(&at.port));
    found.sort_unstable_by_key(|at| at.inode);
    Ok(found)
}

fn question(family: AddressFamily) -> Vec<u8> {
    let length = HEAD_BYTES + QUESTION_BYTES;
    let mut bytes = (length as u32).to_ne_bytes().to_vec();
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(ASKING.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([family as u8, libc::IPPROTO_TCP as u8, 0, 0]);
    bytes.extend(LISTEN.to_ne_bytes());
    bytes.resize(length, 0);
    bytes
}

/// All of one packet; whether it was the last.
fn read(mut packet: &[u8], is_v6: bool, found: &mut Vec<Listening>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (word(packet, 0), half(packet, 4)) {
        let length = usize::try_from(length).unwrap_or(usize::MAX).max(HEAD_BYTES);
        let body = packet.get(HEAD_BYTES..length).unwrap_or_default();
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let code = word(body, 0).unwrap_or_default().cast_signed();
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            _ => found.extend(parse(body, is_v6)),
        }
        packet = packet.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

fn parse(answer: &[u8], is_v6: bool) -> Option<Listening> {
    let answer = answer.get(..ANSWER_BYTES)?;
    let port = u16::from_be(half(answer, PORT)?);
    Some(Listening { port, is_v6, inode: word(answer, INODE)?.into(), waiting: word(answer, WAITING)? })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Connections that were ever made to listeners in the network of the calling thread, all of them.
///
/// # Errors
/// `/proc` is not there, or has no such number.
pub fn made() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/thread-self/net/snmp")?;
    passive_opens(&text).ok_or_else(|| io::Error::other("/proc/net/snmp has no PassiveOpens"))
}

/// Of two lines that begin with `Tcp:`: names, then numbers.
fn passive_opens(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:")).map(str::split_ascii_whitespace);
    let (mut names, mut numbers) = (lines.next()?, lines.next()?);
    let at = names.position(|name| name == "PassiveOpens")?;
    numbers.nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_kernel_tells_port_queue_and_inode() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let before = made().unwrap();
        let _waiting = [(); 3].map(|()| TcpStream::connect(("127.0.0.1", port)).unwrap());
        let found = listening(&[port]).unwrap();
        assert!(made().unwrap() >= before + 3);
        assert_eq!(found.iter().map(|at| (at.is_v6, at.waiting)).collect::<Vec<_>>(), [(false, 3)]);
        let link = fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
        assert_eq!(link.to_str().unwrap(), format!("socket:[{}]", found[0].inode));
    }

    #[test]
    fn many_listeners_come_in_many_packets() {
        let held: Vec<TcpListener> = (0..600).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = held.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        assert_eq!(listening(&ports).unwrap().len(), 600);
        assert_eq!(listening(&[]).unwrap(), []);
    }

    #[test]
    fn what_is_cut_short_is_passed_over_and_an_error_is_told() {
        let mut found = Vec::new();
        assert!(!read(&[1, 2, 3], false, &mut found).unwrap());
        let message = |kind: u16, body: &[u8]| {
            let length = (HEAD_BYTES + body.len()) as u32;
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], body].concat()
        };
        assert!(!read(&message(BY_FAMILY, &[0; 20]), false, &mut found).unwrap());
        let refused = read(&message(ERROR, &(-libc::ENOENT).to_ne_bytes()), false, &mut found);
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ENOENT));
        assert!(read(&message(DONE, &[0; 4]), false, &mut found).unwrap());
        assert_eq!(found, []);
    }
}
