//! Null calls of ONC RPC (RFC 5531), over UDP and over TCP.
//!
//! Measuring side, hot on both ends. Both wait with `poll` before they read, as the libraries do. There is no
//! portmapper: the port is known.

mod message;

use crate::failure::{Done, OperationFailure};
use crate::partner::{PATIENCE, Partner, accepted, datagrams, listener};
use crate::station::Station;
use message::{CALL_BYTES, MARK_BYTES, REPLY_BYTES};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsFd;

pub(crate) struct Udp {
    socket: UdpSocket,
    partner: Partner,
    xid: u32,
}

impl Udp {
    pub(crate) fn new(core: usize) -> Done<Self> {
        let (socket, theirs) = datagrams()?;
        let partner = Partner::start(core, move || serve_datagrams(&theirs))?;
        Ok(Self { socket, partner, xid: 0 })
    }
}

impl Station for Udp {
    fn run(&mut self, count: u64) -> Done {
        let mut reply = [0; REPLY_BYTES];
        for _ in 0..count {
            self.xid = self.xid.wrapping_add(1);
            self.socket.send(&message::call(self.xid)).map_err(OperationFailure::io("send"))?;
            wait(&self.socket)?;
            let length = self.socket.recv(&mut reply).map_err(OperationFailure::io("recv"))?;
            accept(&reply[..length], self.xid)?;
        }
        Ok(())
    }

    fn partner(&self) -> Option<&Partner> {
        Some(&self.partner)
    }
}

pub(crate) struct Tcp {
    stream: TcpStream,
    partner: Partner,
    xid: u32,
}

impl Tcp {
    pub(crate) fn new(core: usize, port: u16) -> Done<Self> {
        let (listener, address) = listener(port)?;
        let partner = Partner::start(core, move || {
            if let Some(stream) = accepted(listener) {
                let _ = stream.set_nodelay(true); // a reply is one write, and nothing else is under way
                serve_stream(stream);
            }
        })?;
        let stream = TcpStream::connect(address).map_err(OperationFailure::io("connect"))?;
        stream.set_nodelay(true).map_err(OperationFailure::io("setsockopt"))?;
        let mut made = Self { stream, partner, xid: 0 };
        // Once it has answered, others can listen on the port.
        made.run(1)?;
        Ok(made)
    }
}

impl Station for Tcp {
    fn run(&mut self, count: u64) -> Done {
        let mut reply = [0; MARK_BYTES + REPLY_BYTES];
        for _ in 0..count {
            self.xid = self.xid.wrapping_add(1);
            let mut call = [0; MARK_BYTES + CALL_BYTES];
            message::mark(&mut call, &message::call(self.xid));
            self.stream.write_all(&call).map_err(OperationFailure::io("write"))?;
            wait(&self.stream)?;
            self.stream.read_exact(&mut reply).map_err(OperationFailure::io("read"))?;
            accept(message::unmarked(&reply), self.xid)?;
        }
        Ok(())
    }

    fn partner(&self) -> Option<&Partner> {
        Some(&self.partner)
    }
}

fn accept(reply: &[u8], xid: u32) -> Done {
    if message::is_success(reply, xid) {
        Ok(())
    } else {
        Err(OperationFailure::Wrong(format!("RPC: the reply is {reply:?}")))
    }
}

fn wait(on: impl AsFd) -> Done {
    let timeout = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(on.as_fd(), PollFlags::POLLIN)], timeout)
        .map_err(OperationFailure::of("poll"))?
    {
        0 => Err(OperationFailure::Wrong("RPC: there is no reply".to_owned())),
        _ => Ok(()),
    }
}

/// Answers until the socket fails.
fn serve_datagrams(socket: &UdpSocket) {
    let mut call = [0; CALL_BYTES];
    while poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE).is_ok() {
        let Ok((length, from)) = socket.recv_from(&mut call) else { break };
        let Some(reply) = message::reply(&call[..length]) else { continue };
        if socket.send_to(&reply, from).is_err() {
            break;
        }
    }
}

/// Answers until the other end is closed. Returns the number of calls.
fn serve_stream(mut stream: TcpStream) -> u64 {
    let mut count = 0;
    let mut call = [0; MARK_BYTES + CALL_BYTES];
    while poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE).is_ok() {
        if stream.read_exact(&mut call).is_err() {
            break;
        }
        let Some(answer) = message::reply(message::unmarked(&call)) else { break };
        let mut reply = [0; MARK_BYTES + REPLY_BYTES];
        message::mark(&mut reply, &answer);
        if stream.write_all(&reply).is_err() {
            break;
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests;
