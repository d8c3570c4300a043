//! Table of listening sockets, from the kernel's sock_diag (`linux/inet_diag.h`): it walks listeners alone, while
//! `/proc/net/tcp` walks the table of all connections each time.
//!
//! Measured side; asked a hundred times a second at most. Owns the messages.

use crate::rules::AddressPrefix;
use bakeoff_sys::netlink::{self, half, word};
use nix::sys::socket::{AddressFamily, SockProtocol};
use std::fs;
use std::io;
use std::net::IpAddr;

/// Type of questions and answers, `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// Length of a `struct inet_diag_req_v2`: family, protocol, two bytes of extensions, states, then a socket that is
/// ignored.
const QUESTION_BYTES: usize = 56;
/// Length of a `struct inet_diag_msg`, and offsets of port, address, length of the queue and inode in it.
const ANSWER_BYTES: usize = 72;
const PORT: usize = 4;
const ADDRESS: usize = 8;
const WAITING: usize = 56;
const INODE: usize = 68;
/// Bit of the state of a listening socket, `TCP_LISTEN`.
const LISTEN: u32 = 1 << 10;

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The port.
    pub port: u16,
    /// The address, or all of a family: those of IPv6 may be of IPv4 as well.
    pub on: AddressPrefix,
    /// Its number among sockets.
    pub inode: u64,
    /// Connections that nobody has accepted yet.
    pub waiting: u32,
}

/// Listeners on these ports, in the network of the calling thread; sorted by inode.
///
/// # Errors
/// A kernel without sock_diag (CONFIG_INET_DIAG).
pub fn listening(ports: &[u16]) -> io::Result<Vec<Listening>> {
    let mut found: Vec<Listening> = Vec::new();
    for (family, is_v6) in [(AddressFamily::Inet, false), (AddressFamily::Inet6, true)] {
        let mut question = vec![family as u8, libc::IPPROTO_TCP as u8, 0, 0];
        question.extend(LISTEN.to_ne_bytes());
        question.resize(QUESTION_BYTES, 0);
        let read = |answer: &[u8]| found.extend(parse(answer, is_v6));
        netlink::list(SockProtocol::NetlinkSockDiag, BY_FAMILY, &question, read)?;
    }
    found.retain(|at| ports.contains(&at.port));
    found.sort_unstable_by_key(|at| at.inode);
    Ok(found)
}

fn parse(answer: &[u8], is_v6: bool) -> Option<Listening> {
    let answer = answer.get(..ANSWER_BYTES)?;
    let port = u16::from_be(half(answer, PORT)?);
    let on = match is_v6 {
        false => IpAddr::from(*answer.get(ADDRESS..)?.first_chunk::<4>()?),
        true => IpAddr::from(*answer.get(ADDRESS..)?.first_chunk::<16>()?).to_canonical(),
    };
    let length = match on {
        _ if on.is_unspecified() => 0,
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    };
    Some(Listening {
        port,
        on: AddressPrefix::of(on, length)?,
        inode: word(answer, INODE)?.into(),
        waiting: word(answer, WAITING)?,
    })
}

/// Number of connections ever made to listeners in the network of the calling thread.
///
/// # Errors
/// `/proc` is missing, or has no such number.
pub fn made() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/thread-self/net/snmp")?;
    passive_opens(&text).ok_or_else(|| io::Error::other("/proc/net/snmp has no PassiveOpens"))
}

/// Value from two lines that begin with `Tcp:`: names, then numbers.
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
    use std::os::fd::AsRawFd;

    #[test]
    fn the_kernel_tells_port_queue_and_inode() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let before = made().unwrap();
        let _waiting = [(); 3].map(|()| TcpStream::connect(("127.0.0.1", port)).unwrap());
        let found = listening(&[port]).unwrap();
        assert!(made().unwrap() >= before + 3);
        assert_eq!(
            found.iter().map(|at| (at.on.to_string(), at.waiting)).collect::<Vec<_>>(),
            [("127.0.0.1/32".to_owned(), 3)]
        );
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
    fn an_answer_that_is_cut_short_is_none() {
        assert_eq!(parse(&[0; ANSWER_BYTES - 1], false), None);
        assert!(parse(&[0; ANSWER_BYTES], false).is_some());
    }
}
