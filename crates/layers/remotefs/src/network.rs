//! Receiving of frames with time limits, and the addresses allowed without credentials.
//!
//! Measured side, both processes, hot. Without credentials anybody who reaches the server may do everything. So it
//! allows only this machine, and 198.18.0.0/15, which is for tests of networks (RFC 2544) and is routed nowhere. Owns
//! the time limits: a frame that was begun must end, and a connection must state its purpose.

use crate::frame::{HEAD_BYTES, MOST_BODY_BYTES, MessageHead};
use crate::refusal::Refusal;
use crate::stream::{Coming, Stream};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Interval at which a wait checks its time limit.
const TICK: Duration = Duration::from_millis(500);
/// The shortest such wait.
const SHORTEST_TICK: Duration = Duration::from_millis(1);
/// Buffer size of a frame without data.
const USUAL_BYTES: usize = 8192;

/// Whether a server without credentials may be reached at this address.
pub fn is_for_tests(address: SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback() || matches!(ip.octets(), [198, 18 | 19, ..]),
        IpAddr::V6(ip) => ip.is_loopback(),
    }
}

/// Reasons why a connection gives no more frames.
#[derive(Debug, Error)]
pub enum Cut {
    /// The other side closed it, between two frames.
    #[error("the connection was closed")]
    Closed,
    /// The other side closed or stopped in the middle of a frame.
    #[error("a frame was begun and did not end in time")]
    HalfFrame,
    /// The other side sent nothing in time.
    #[error("nothing was said in time")]
    Silent,
    /// The data is no frame.
    #[error(transparent)]
    Frame(#[from] Refusal),
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reader of a connection's frames.
#[derive(Debug)]
pub struct Receiver {
    stream: Stream,
    coming: Coming,
    /// Limit on the length of a body.
    most_body_bytes: u32,
    /// Received bytes that are not handed out yet.
    buffer: Vec<u8>,
    filled: usize,
    /// Length of the current frame among them.
    current: usize,
    /// Longest time that the socket waits.
    tick: Duration,
}

impl Receiver {
    /// For an open connection.
    ///
    /// # Errors
    /// The I/O error of setting it up.
    pub fn new(stream: Stream) -> io::Result<Self> {
        stream.socket().set_nodelay(true)?;
        stream.socket().set_read_timeout(Some(TICK))?;
        let (coming, buffer) = (Coming::default(), vec![0; USUAL_BYTES]);
        Ok(Self {
            stream,
            coming,
            most_body_bytes: MOST_BODY_BYTES,
            buffer,
            filled: 0,
            current: 0,
            tick: TICK,
        })
    }

    /// Limits bodies to a shorter length: a stranger's announcement shall not cost much.
    pub fn limit(&mut self, most_body_bytes: u32) {
        self.most_body_bytes = most_body_bytes;
    }

    /// Completes the TLS handshake, if there is one.
    ///
    /// # Errors
    /// It failed, or not in time.
    pub fn shake_hands(&mut self, limit: Duration) -> Result<(), Cut> {
        let began = Instant::now();
        loop {
            match self.stream.shake_hands(&mut self.coming) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if is_only_time(&error) => {}
                Err(error) => return Err(error.into()),
            }
            if began.elapsed() > limit {
                return Err(Cut::Silent);
            }
        }
    }

    /// The connection, for writing.
    pub const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Silence is noticed when it is over, not a tick later: what a client keeps is another's by then.
    fn wait_at_most(&mut self, left: Duration) -> io::Result<()> {
        let tick = left.clamp(SHORTEST_TICK, TICK);
        if tick != self.tick {
            self.stream.socket().set_read_timeout(Some(tick))?;
            self.tick = tick;
        }
        Ok(())
    }

    /// Waits for the next frame: at most `silence` until it begins, and `whole` from then on. Returns its head; its
    /// body is [`body`](Self::body).
    ///
    /// # Errors
    /// There is none.
    pub fn next(&mut self, silence: Option<Duration>, whole: Duration) -> Result<MessageHead, Cut> {
        self.buffer.copy_within(self.current..self.filled, 0);
        self.filled -= self.current;
        self.current = 0;
        let called = Instant::now();
        let mut begun = (self.filled > 0).then_some(called);
        loop {
            if let Some(head) = self.take()? {
                return Ok(head);
            }
            if let Some(silence) = silence {
                self.wait_at_most(silence.saturating_sub(called.elapsed()))?;
            }
            let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
            match self.stream.read(&mut self.coming, room) {
                Ok(0) if self.filled == 0 => return Err(Cut::Closed),
                Ok(0) => return Err(Cut::HalfFrame),
                Ok(more) => {
                    self.filled += more;
                    begun = begun.or_else(|| Some(Instant::now()));
                }
                Err(error) if is_only_time(&error) => {}
                Err(error) => return Err(error.into()),
            }
            if begun.is_some_and(|begun| begun.elapsed() > whole) && self.take()?.is_none() {
                return Err(Cut::HalfFrame);
            }
            if begun.is_none() && silence.is_some_and(|silence| called.elapsed() > silence) {
                return Err(Cut::Silent);
            }
        }
    }

    /// Body of the last frame.
    pub fn body(&self) -> &[u8] {
        self.buffer.get(HEAD_BYTES..self.current).unwrap_or_default()
    }

    /// The head, if its frame is complete; otherwise makes room for the rest of it.
    fn take(&mut self) -> Result<Option<MessageHead>, Refusal> {
        let Some(bytes) = self.buffer.get(..HEAD_BYTES).filter(|_| self.filled >= HEAD_BYTES) else {
            return Ok(None);
        };
        let head = MessageHead::read(bytes)?;
        if head.length > self.most_body_bytes {
            return Err(Refusal::FrameTooLarge);
        }
        let whole = HEAD_BYTES + head.length as usize;
        if self.filled >= whole {
            self.current = whole;
            return Ok(Some(head));
        }
        if self.buffer.len() < whole {
            self.buffer.resize(whole, 0);
        }
        Ok(None)
    }
}

fn is_only_time(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_networks_of_tests_are_reached() {
        let may = |text: &str| is_for_tests(text.parse().unwrap());
        assert!(
            ["127.0.0.1:1", "127.9.9.9:1", "198.18.0.2:1", "198.19.255.255:1", "[::1]:1"]
                .iter()
                .all(|a| may(a))
        );
        let open = ["0.0.0.0:1", "198.17.255.255:1", "198.20.0.0:1", "10.0.0.1:1", "[::]:1", "[fe80::1]:1"];
        assert!(!open.iter().any(|address| may(address)));
    }
}
