//! What queueing disciplines have counted, asked of the kernel (rtnetlink).
//!
//! Not the counters of the devices: those take a packet that is cut into frames late for one.
//! Layout of messages: linux/rtnetlink.h, linux/pkt_sched.h, linux/gen_stats.h.

use bakeoff_sys::namespace::Namespace;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Counters of one discipline since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Discipline {
    /// `tbf`, `netem`.
    pub(crate) kind: String,
    /// Bytes let through, each frame with its header.
    pub(crate) bytes: u64,
    /// Packets let through: frames.
    pub(crate) packets: u64,
    /// Packets thrown away.
    pub(crate) drops: u64,
    /// Packets that wait now.
    pub(crate) waiting: u64,
}

/// The disciplines of one namespace. Reading is two or three system calls.
#[derive(Debug)]
pub(crate) struct Counters {
    socket: OwnedFd,
}

const HEADER: usize = 16; // struct nlmsghdr
const TCMSG: usize = 20; // struct tcmsg
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const NLM_F_REQUEST_DUMP: u16 = 1 | 0x300;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
/// The kernel answers at once; a lost answer must not hold up the run for ever.
const PATIENCE_SECS: i64 = 5;

impl Counters {
    pub(crate) fn open(inside: &Namespace) -> io::Result<Self> {
        let open = || {
            socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)
        };
        let socket = inside.run(open)??;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE_SECS))?;
        Ok(Self { socket })
    }

    /// All disciplines of the namespace.
    pub(crate) fn read(&self) -> io::Result<Vec<Discipline>> {
        send(self.socket.as_raw_fd(), &request(), MsgFlags::empty())?;
        let mut found = Vec::new();
        let mut answer = [0; 16 * 1024];
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            if take(&answer[..length], &mut found)? {
                return Ok(found);
            }
        }
    }
}

/// "Dump all disciplines."
fn request() -> [u8; HEADER + TCMSG] {
    let mut message = [0; HEADER + TCMSG];
    message[..4].copy_from_slice(&((HEADER + TCMSG) as u32).to_ne_bytes());
    message[4..6].copy_from_slice(&RTM_GETQDISC.to_ne_bytes());
    message[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    message
}

/// Adds the disciplines of one datagram; true when it was the last.
fn take(mut datagram: &[u8], found: &mut Vec<Discipline>) -> io::Result<bool> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "a netlink message is cut short");
    while !datagram.is_empty() {
        let length = u32_at(datagram, 0).ok_or_else(malformed)? as usize;
        let kind = u16_at(datagram, 4).ok_or_else(malformed)?;
        let body = datagram.get(HEADER..length).ok_or_else(malformed)?;
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let number = u32_at(body, 0).ok_or_else(malformed)? as i32;
                return Err(io::Error::from_raw_os_error(-number));
            }
            RTM_NEWQDISC => found.push(discipline(body.get(TCMSG..).ok_or_else(malformed)?)),
            _ => {}
        }
        datagram = datagram.get(aligned(length)..).unwrap_or_default();
    }
    Ok(false)
}

fn discipline(attributes: &[u8]) -> Discipline {
    let mut made = Discipline::default();
    for (kind, value) in Attributes(attributes) {
        match kind {
            TCA_KIND => {
                let name = value.split(|&byte| byte == 0).next().unwrap_or_default();
                made.kind = String::from_utf8_lossy(name).into_owned();
            }
            TCA_STATS2 => statistics(value, &mut made),
            _ => {}
        }
    }
    made
}

fn statistics(attributes: &[u8], made: &mut Discipline) {
    for (kind, value) in Attributes(attributes) {
        match kind {
            // struct gnet_stats_basic: u64 bytes, u32 packets.
            TCA_STATS_BASIC => {
                made.bytes = value.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
                made.packets = u32_at(value, 8).unwrap_or(0).into();
            }
            // struct gnet_stats_queue: qlen, backlog, drops, ...
            TCA_STATS_QUEUE => {
                made.waiting = u32_at(value, 0).unwrap_or(0).into();
                made.drops = u32_at(value, 8).unwrap_or(0).into();
            }
            _ => {}
        }
    }
}

/// Attributes one after the other: length, type, value, padding to 4 bytes.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_at(self.0, 0)?);
        let kind = u16_at(self.0, 2)? & 0x3fff; // the two upper bits are flags
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    }
}

const fn aligned(length: usize) -> usize {
    (length + 3) & !3
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend(body);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn tbf() -> Vec<u8> {
        let basic: Vec<u8> = [7_u64.to_ne_bytes().to_vec(), 3_u32.to_ne_bytes().to_vec()].concat();
        let queue: Vec<u8> = [5_u32, 0, 9, 0, 0].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let statistics = [attribute(TCA_STATS_BASIC, &basic), attribute(TCA_STATS_QUEUE, &queue)].concat();
        [vec![0; TCMSG], attribute(TCA_KIND, b"tbf\0"), attribute(TCA_STATS2, &statistics)].concat()
    }

    #[test]
    fn kind_bytes_and_drops_are_found() {
        let mut found = Vec::new();
        assert!(!take(&message(RTM_NEWQDISC, &tbf()), &mut found).unwrap());
        assert_eq!(found, [Discipline { kind: "tbf".into(), bytes: 7, packets: 3, drops: 9, waiting: 5 }]);
        assert!(take(&message(NLMSG_DONE, &[0; 4]), &mut found).unwrap());
        let refused = take(&message(NLMSG_ERROR, &(-1_i32).to_ne_bytes()), &mut found).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn messages_cut_short_are_errors_and_never_a_panic() {
        let whole = message(RTM_NEWQDISC, &tbf());
        for end in 1..whole.len() {
            let _ = take(&whole[..end], &mut Vec::new());
            let mut wrong = whole.clone();
            wrong[end] ^= 0xff;
            let _ = take(&wrong, &mut Vec::new());
        }
        assert!(take(&whole[..HEADER - 1], &mut Vec::new()).is_err());
        assert!(take(&[0; HEADER], &mut Vec::new()).is_err(), "a length of zero would never end");
    }
}
