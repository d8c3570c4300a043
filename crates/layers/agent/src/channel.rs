//! Channel for messages over TLS, each with a time limit.
//!
//! Measured side, both processes, fed by strangers. Owns lengths and time limits: a message is four bytes of length,
//! little-endian, and as many bytes. A peer that exceeds its time is disconnected. `message` owns the content.

use crate::message::MOST_BYTES;
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection, SideData, StreamOwned,
};
use rustls_pki_types::ServerName;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reasons for having no message.
#[derive(Debug)]
pub(crate) enum Cut {
    /// The peer closed the connection between two messages.
    Closed,
    /// The peer sent nothing in time.
    Silent,
    /// The peer closed or stalled within a message.
    Half,
    /// The peer announced more than a message may have.
    TooLarge,
    /// TLS or the network failed.
    Failed(io::Error),
}

/// A connection whose reads and writes end at a deadline.
#[derive(Debug)]
pub(crate) struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// The kernel returns `WouldBlock` at the deadline, which TLS would take for something else; an interruption is
/// retried.
fn timed<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            other => return other,
        }
    }
}

impl Read for Timed {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        timed(|| {
            self.stream.set_read_timeout(Some(self.left()?))?;
            self.stream.read(room)
        })
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        timed(|| {
            self.stream.set_write_timeout(Some(self.left()?))?;
            self.stream.write(bytes)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection whose peer has proven its key.
#[derive(Debug)]
pub(crate) struct Channel<C> {
    tls: StreamOwned<C, Timed>,
}

impl Channel<ServerConnection> {
    /// As the server, to a client that connected.
    pub(crate) fn serving(
        stream: TcpStream,
        config: Arc<ServerConfig>,
        within: Duration,
    ) -> io::Result<Self> {
        Self::greeted(ServerConnection::new(config).map_err(io::Error::other)?, stream, within)
    }
}

impl Channel<ClientConnection> {
    /// As the client, to a server.
    pub(crate) fn asking(
        stream: TcpStream,
        config: Arc<ClientConfig>,
        host: ServerName<'static>,
        within: Duration,
    ) -> io::Result<Self> {
        Self::greeted(ClientConnection::new(config, host).map_err(io::Error::other)?, stream, within)
    }
}

impl<C, S> Channel<C>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    S: SideData,
{
    fn greeted(mut connection: C, stream: TcpStream, within: Duration) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let mut stream = Timed { stream, until: Instant::now() + within };
        connection.complete_io(&mut stream)?;
        Ok(Self { tls: StreamOwned::new(connection, stream) })
    }

    /// State of the TLS connection.
    pub(crate) fn tls(&self) -> &C {
        &self.tls.conn
    }

    /// Reads the next whole message, within this time.
    pub(crate) fn read(&mut self, within: Duration) -> Result<Vec<u8>, Cut> {
        self.tls.sock.until = Instant::now() + within;
        let mut head = [0; 4];
        let (first, rest) = head.split_at_mut(1);
        match self.tls.read(first) {
            Ok(1..) => {}
            Ok(0) => return Err(Cut::Closed),
            Err(error) => return Err(cut(error, Cut::Closed, Cut::Silent)),
        }
        let half = |error| cut(error, Cut::Half, Cut::Half);
        self.tls.read_exact(rest).map_err(half)?;
        let length = u32::from_le_bytes(head) as usize;
        if length > MOST_BYTES {
            return Err(Cut::TooLarge);
        }
        let mut message = vec![0; length];
        self.tls.read_exact(&mut message).map_err(half)?;
        Ok(message)
    }

    /// Sends a message, within this time.
    pub(crate) fn write(&mut self, message: &[u8], within: Duration) -> io::Result<()> {
        self.tls.sock.until = Instant::now() + within;
        let length = u32::try_from(message.len()).map_err(|_| ErrorKind::FileTooLarge)?;
        self.tls.write_all(&[&length.to_le_bytes(), message].concat())?;
        self.tls.flush()
    }
}

fn cut(error: io::Error, gone: Cut, late: Cut) -> Cut {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => gone,
        ErrorKind::TimedOut => late,
        _ => Cut::Failed(error),
    }
}
