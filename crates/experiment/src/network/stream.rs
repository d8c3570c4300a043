//! A connection with a deadline: frames and blocks in and out, and never a wait beyond it.

use super::frame::{FRAME, Frame, NoFrame, VERSION};
use super::{BLOCK, NetworkError};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The other side of an exchange.
pub(super) struct Peer {
    stream: TcpStream,
    address: SocketAddr,
    clock: MonotonicClock,
    deadline: Nanos,
    /// Head and body of a block to send. The body is zeros: no link that matters here packs them.
    block: Vec<u8>,
    /// What comes in and is forgotten.
    waste: Vec<u8>,
}

impl Peer {
    /// Takes over a connection, from now on for `time`.
    pub(super) fn new(stream: TcpStream, address: SocketAddr, time: Nanos) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        let clock = MonotonicClock::new();
        let deadline = clock.now() + time;
        let mut block = Frame::Block(BLOCK as u32).bytes().to_vec();
        block.resize(FRAME + BLOCK, 0);
        Ok(Self { stream, address, clock, deadline, block, waste: vec![0; BLOCK] })
    }

    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Time left.
    pub(super) fn left(&self) -> Nanos {
        self.deadline.since(self.now())
    }

    /// The exchange ends so long from now.
    pub(super) fn allow(&mut self, time: Nanos) {
        self.deadline = self.now() + time;
    }

    pub(super) fn broken(&self, what: impl Into<String>) -> NetworkError {
        NetworkError::Broken { peer: self.address, what: what.into() }
    }

    pub(super) fn say(&mut self, frame: Frame) -> Result<(), NetworkError> {
        self.write(&frame.bytes())
    }

    /// A block of [`BLOCK`] bytes, head and body in one.
    pub(super) fn send_block(&mut self) -> Result<(), NetworkError> {
        let block = std::mem::take(&mut self.block);
        let sent = self.write(&block);
        self.block = block;
        sent
    }

    /// The next frame.
    pub(super) fn hear(&mut self) -> Result<Frame, NetworkError> {
        let mut bytes = [0; FRAME];
        let mut read = 0;
        while read < FRAME {
            read += self.read(|stream, _| stream.read(&mut bytes[read..]))?;
        }
        Frame::parse(&bytes).map_err(|why| match why {
            NoFrame::Stranger => NetworkError::Stranger { peer: self.address },
            NoFrame::Version(theirs) => NetworkError::Version { peer: self.address, theirs, ours: VERSION },
            NoFrame::Meaningless => self.broken("a frame without meaning"),
        })
    }

    /// Reads and forgets a block.
    pub(super) fn skip(&mut self, length: u32) -> Result<(), NetworkError> {
        let mut left = length as usize;
        while left > 0 {
            left -= self.read(|stream, waste| stream.read(&mut waste[..left]))?;
        }
        Ok(())
    }

    fn read(
        &mut self,
        mut from: impl FnMut(&mut TcpStream, &mut [u8]) -> io::Result<usize>,
    ) -> Result<usize, NetworkError> {
        loop {
            let left = self.left();
            if left == Nanos::ZERO {
                return Err(NetworkError::Late { peer: self.address });
            }
            self.stream.set_read_timeout(Some(left.as_duration()))?;
            match from(&mut self.stream, &mut self.waste) {
                Ok(0) => return Err(self.broken("it closed the connection")),
                Ok(read) => return Ok(read),
                Err(why) if passes(&why) => {}
                Err(why) => return Err(self.broken(why.to_string())),
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), NetworkError> {
        let mut written = 0;
        while written < bytes.len() {
            let left = self.left();
            if left == Nanos::ZERO {
                return Err(NetworkError::Late { peer: self.address });
            }
            self.stream.set_write_timeout(Some(left.as_duration()))?;
            match self.stream.write(&bytes[written..]) {
                Ok(0) => return Err(self.broken("it takes nothing any more")),
                Ok(more) => written += more,
                Err(why) if passes(&why) => {}
                Err(why) => return Err(self.broken(why.to_string())),
            }
        }
        Ok(())
    }
}

/// A time-out or a signal: whether it is too late is seen at the next turn.
fn passes(why: &io::Error) -> bool {
    matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
