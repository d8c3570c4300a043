//! The kernel's audit system: its settings, and its records as they are made.
//!
//! Measured side, cold: a few calls a second at most. Owns the netlink messages. Records come from the multicast group
//! that any number of readers may join beside the one audit daemon, which is not disturbed and stays the only one that
//! is told in person. Decides nothing, and takes no record apart.

use crate::netlink::{self, ACKNOWLEDGED, DONE, ERROR, HEAD_BYTES, half};
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimeout};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Types of messages, `linux/audit.h`.
const GET: u16 = 1000;
const SET: u16 = 1001;
const ADD_RULE: u16 = 1011;
const LIST_RULES: u16 = 1013;
/// Bits of the first word of a `struct audit_status`: which of the others a message sets.
const SETS_ENABLED: u32 = 1;
const SETS_BACKLOG_LIMIT: u32 = 0x10;
/// Words of a `struct audit_status` that every kernel takes.
const STATUS_WORDS: usize = 8;
/// Words of a `struct audit_rule_data` without fields: flags, action, their number, calls, fields, values, comparisons,
/// and the length of what follows.
const RULE_WORDS: usize = 3 + 4 * 64 + 1;
/// `AUDIT_FILTER_TASK`: a rule that is consulted for each new process. Its action is `AUDIT_NEVER`, which is 0.
const ON_TASKS: u32 = 1;
/// The kernel holds records for a reader of the group that is busy, and drops those that do not fit.
const BUFFER_BYTES: usize = 8 << 20;
/// The longest message: `MAX_AUDIT_MESSAGE_LENGTH` and its head.
const LONGEST_BYTES: usize = 8970 + HEAD_BYTES;
/// `AUDIT_NLGRP_READLOG`, as a bit.
const READERS: u32 = 1;

/// Settings of the audit system, and its losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditSettings {
    /// 0 off, 1 on, 2 on and not to be changed before the machine is started again.
    pub enabled: u32,
    /// The audit daemon; 0: none.
    pub daemon: u32,
    /// Records that may wait to be sent on; 0: any number.
    pub backlog_limit: u32,
    /// Records that the kernel has dropped since it was started, for any reader.
    pub lost: u32,
}

/// Asks for the settings and changes them.
#[derive(Debug)]
pub struct Audit(OwnedFd);

impl Audit {
    /// # Errors
    /// `EPROTONOSUPPORT` on a kernel without audit.
    pub fn open() -> io::Result<Self> {
        let socket = audit_socket(SockFlag::SOCK_CLOEXEC)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        // The kernel answers before it returns; this only keeps a fault from hanging us.
        setsockopt(&socket, ReceiveTimeout, &TimeVal::seconds(2))?;
        Ok(Self(socket))
    }

    /// The settings now.
    ///
    /// # Errors
    ///
    /// `EPERM` without `CAP_AUDIT_CONTROL`, `ECONNREFUSED` in a container with users of its own.
    pub fn settings(&self) -> io::Result<AuditSettings> {
        let words = self.ask(GET, &[])?;
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        Ok(AuditSettings { enabled: word(1), daemon: word(3), backlog_limit: word(5), lost: word(6) })
    }

    /// Switches it off (0) or on (1).
    ///
    /// # Errors
    /// `EPERM` without `CAP_AUDIT_CONTROL`, or when it is locked.
    pub fn set_enabled(&self, enabled: u32) -> io::Result<()> {
        self.set(SETS_ENABLED, 1, enabled)
    }

    /// Sets how many records may wait.
    ///
    /// # Errors
    ///
    /// As [`set_enabled`](Self::set_enabled).
    pub fn set_backlog_limit(&self, records: u32) -> io::Result<()> {
        self.set(SETS_BACKLOG_LIMIT, 5, records)
    }

    /// Number of rules that are set.
    ///
    /// # Errors
    ///
    /// As [`settings`](Self::settings).
    pub fn rules(&self) -> io::Result<usize> {
        self.send(LIST_RULES, &[])?;
        let (mut rules, mut acknowledged, mut done) = (0, false, false);
        while !acknowledged || !done {
            self.receive(|kind, _| match kind {
                ERROR => acknowledged = true,
                DONE => done = true,
                LIST_RULES => rules += 1,
                _ => {}
            })?;
        }
        Ok(rules)
    }

    /// `auditctl -a never,task`: the calls of processes started from now on are not watched. Records that the kernel
    /// makes by itself come all the same, without the process that a call's own record would name.
    ///
    /// # Errors
    ///
    /// As [`set_enabled`](Self::set_enabled), and from a kernel that watches no calls.
    pub fn never_watch_calls(&self) -> io::Result<()> {
        let mut words = [0; RULE_WORDS];
        words[0] = ON_TASKS;
        self.ask(ADD_RULE, &words).map(drop)
    }

    fn set(&self, what: u32, index: usize, value: u32) -> io::Result<()> {
        let mut words = [0; STATUS_WORDS];
        words[0] = what;
        words[index] = value;
        self.ask(SET, &words).map(drop)
    }

    /// Sends a message and reads the replies, until it is acknowledged.
    fn ask(&self, asked: u16, words: &[u32]) -> io::Result<Vec<u32>> {
        self.send(asked, words)?;
        let (mut told, mut acknowledged) = (None, false);
        // The settings may come before or after the acknowledgement.
        while !acknowledged || (asked == GET && told.is_none()) {
            self.receive(|kind, body| match kind {
                ERROR => acknowledged = true,
                kind if kind == asked => told = Some(words_of(body)),
                _ => {}
            })?;
        }
        Ok(told.unwrap_or_default())
    }

    fn send(&self, kind: u16, words: &[u32]) -> io::Result<()> {
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        netlink::send(&self.0, (kind, ACKNOWLEDGED, 1), &body)
    }

    /// The next message; an answer that is an error is one.
    fn receive(&self, take: impl FnOnce(u16, &[u8])) -> io::Result<()> {
        let mut buffer = [0; LONGEST_BYTES];
        let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let (kind, body) = split(buffer.get(..length).unwrap_or_default()).ok_or(Errno::EBADMSG)?;
        match (kind, words_of(body).first()) {
            (ERROR, Some(0)) => take(kind, body),
            (ERROR, error) => {
                return Err(io::Error::from_raw_os_error(-(error.copied().unwrap_or(0) as i32)));
            }
            _ => take(kind, body),
        }
        Ok(())
    }
}

/// A reader of the records.
#[derive(Debug)]
pub struct Records {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// The result of a read.
#[derive(Debug)]
pub enum AuditRead<'a> {
    /// A record: its type, and its text as the kernel wrote it.
    Record(u16, &'a [u8]),
    /// The reader was too slow, and the kernel dropped records for it.
    Dropped,
    /// Nothing more now.
    Nothing,
}

impl Records {
    /// Joins the readers: every record from now on is received, in the order in which it was made.
    ///
    /// # Errors
    ///
    /// `EPERM` without `CAP_AUDIT_READ`. In another network namespace than the kernel's first it is no error, and no
    /// record ever comes.
    pub fn subscribe() -> io::Result<Self> {
        let socket = audit_socket(SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
        // Beyond what an administrator allows the others: needs CAP_NET_ADMIN, and does with less.
        let _ = setsockopt(&socket, RcvBufForce, &BUFFER_BYTES);
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, READERS))?;
        Ok(Self { socket, buffer: vec![0; LONGEST_BYTES] })
    }

    /// The next one, without waiting.
    ///
    /// # Errors
    /// What the kernel reports.
    pub fn read(&mut self) -> io::Result<AuditRead<'_>> {
        let length = loop {
            match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Ok(length) => break length,
                Err(Errno::EAGAIN) => return Ok(AuditRead::Nothing),
                Err(Errno::ENOBUFS) => return Ok(AuditRead::Dropped),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let (kind, text) = split(self.buffer.get(..length).unwrap_or_default()).ok_or(Errno::EBADMSG)?;
        Ok(AuditRead::Record(kind, text))
    }
}

impl AsFd for Records {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn audit_socket(flags: SockFlag) -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkAudit)?)
}

/// A message's type and contents. Its length in its own head is wrong in some that kernels send.
fn split(message: &[u8]) -> Option<(u16, &[u8])> {
    Some((half(message, 4)?, message.get(HEAD_BYTES..)?))
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    let word = |four: &[u8]| four.try_into().map_or(0, u32::from_ne_bytes);
    bytes.chunks_exact(4).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_split_at_its_head() {
        let mut message = vec![0; 16];
        message[4..6].copy_from_slice(&1423_u16.to_ne_bytes());
        message.extend(b"audit(1.2:3): x");
        assert_eq!(split(&message), Some((1423, b"audit(1.2:3): x".as_slice())));
        assert_eq!(split(&message[..15]), None);
        assert_eq!(words_of(&[1, 0, 0, 0, 2, 0]), [u32::from_le_bytes([1, 0, 0, 0]).to_le()]);
    }

    #[test]
    fn the_settings_are_those_of_the_kernel() {
        let asked = Audit::open().and_then(|audit| audit.settings());
        match asked {
            Ok(settings) => {
                assert!(settings.enabled <= 2);
                assert!(Audit::open().and_then(|audit| audit.rules()).is_ok());
            }
            // Without the right, or without audit in the kernel.
            Err(error) => assert!(error.raw_os_error().is_some(), "{error}"),
        }
    }
}
