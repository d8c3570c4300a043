//! Stream of a connection: plain TCP, or TLS.
//!
//! Measured side, both processes, hot. One thread reads and any may write, as a session's callback connection
//! requires. Under TLS both directions are one state machine, behind a lock that nobody holds while waiting for the
//! socket. The reader reads encrypted data into a buffer of its own, and takes the lock to have it decrypted; a
//! writer has a chunk encrypted under the lock, and sends it after releasing it. Sending has another lock, taken
//! first, as records go out in the order of their numbers.

use bakeoff_layers_base::locks::lock;
use bakeoff_layers_credentials::key::PublicKey;
use bakeoff_layers_credentials::tls::{REMOTEFS, peer_key};
use rustls::{ClientConnection, Connection, Error, ServerConfig, ServerConnection};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

/// Size of a chunk to encrypt: the other side decrypts it while the next is encrypted. Also the size of a read.
const CHUNK_BYTES: usize = 64 << 10;

/// A connection. Its clones are the same one.
#[derive(Clone, Debug)]
pub struct Stream(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Plain(TcpStream),
    Secured(Box<Secured>),
}

#[derive(Debug)]
struct Secured {
    socket: TcpStream,
    tls: Mutex<Connection>,
    /// Encrypted bytes being sent.
    sending: Mutex<Vec<u8>>,
}

/// Identity of the other side: the certificate that it showed, and the key in it, which it proved to have.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The certificate, in DER.
    pub leaf: Vec<u8>,
    /// Its key.
    pub key: PublicKey,
}

/// Received bytes that are not decrypted yet.
#[derive(Debug, Default)]
pub(crate) struct Coming {
    bytes: Vec<u8>,
    at: usize,
    filled: usize,
}

impl Stream {
    /// Without TLS.
    pub fn plain(socket: TcpStream) -> Self {
        Self(Arc::new(Kind::Plain(socket)))
    }

    /// With TLS, at the server.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn server(socket: TcpStream, config: Arc<ServerConfig>) -> io::Result<Self> {
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Self::secured(socket, tls.into()))
    }

    /// With TLS, at the client. The configuration of `tls` has the server's expected identity.
    pub fn client(socket: TcpStream, tls: ClientConnection) -> Self {
        Self::secured(socket, tls.into())
    }

    fn secured(socket: TcpStream, mut tls: Connection) -> Self {
        // Writes are sent at once, whatever their size.
        tls.set_buffer_limit(None);
        let (tls, sending) = (Mutex::new(tls), Mutex::default());
        Self(Arc::new(Kind::Secured(Box::new(Secured { socket, tls, sending }))))
    }

    /// The socket, for its time limits and its shutdown.
    pub fn socket(&self) -> &TcpStream {
        match &*self.0 {
            Kind::Plain(socket) => socket,
            Kind::Secured(secured) => &secured.socket,
        }
    }

    /// Sends all bytes.
    ///
    /// # Errors
    /// Some of it may have been sent; nothing may be sent after it.
    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match &*self.0 {
            Kind::Plain(socket) => (&*socket).write_all(bytes),
            Kind::Secured(secured) => bytes.chunks(CHUNK_BYTES).try_for_each(|chunk| secured.send(chunk)),
        }
    }

    /// Reads some bytes; none when the other side is done.
    pub(crate) fn read(&self, coming: &mut Coming, room: &mut [u8]) -> io::Result<usize> {
        match &*self.0 {
            Kind::Plain(socket) => (&*socket).read(room),
            Kind::Secured(secured) => secured.read(coming, room),
        }
    }

    /// One step of the handshake; returns whether it is over. It waits for the socket once at most.
    pub(crate) fn shake_hands(&self, coming: &mut Coming) -> io::Result<bool> {
        let Kind::Secured(secured) = &*self.0 else { return Ok(true) };
        secured.send(&[])?;
        let shaken = {
            let tls = lock(&secured.tls);
            (!tls.is_handshaking()).then(|| tls.alpn_protocol() == Some(REMOTEFS))
        };
        match shaken {
            Some(true) => return Ok(true),
            // rustls accepts a client that names no protocol.
            Some(false) => return Err(io::Error::new(ErrorKind::InvalidData, Error::NoApplicationProtocol)),
            None => {}
        }
        if coming.is_empty() && coming.fill(&secured.socket)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        secured.decrypt(coming).map(|_| false)
    }

    /// Identity of the other side, once the handshake is over; `None` on a plain connection.
    pub fn peer(&self) -> Option<Peer> {
        let Kind::Secured(secured) = &*self.0 else { return None };
        let tls = lock(&secured.tls);
        let shown = tls.peer_certificates();
        Some(Peer { key: peer_key(shown)?, leaf: shown?.first()?.to_vec() })
    }
}

impl Secured {
    /// Sends a chunk, and TLS's own messages.
    fn send(&self, chunk: &[u8]) -> io::Result<()> {
        let mut out = lock(&self.sending);
        out.clear();
        {
            let mut tls = lock(&self.tls);
            tls.writer().write_all(chunk)?;
            while tls.wants_write() {
                tls.write_tls(&mut *out)?;
            }
        }
        (&self.socket).write_all(&out)
    }

    /// Waits for the socket once at most, so that the caller checks its time limits however slowly a record comes.
    fn read(&self, coming: &mut Coming, room: &mut [u8]) -> io::Result<usize> {
        let mut waited = false;
        loop {
            match lock(&self.tls).reader().read(room) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && !(waited && coming.is_empty()) => {}
                done => return done,
            }
            if coming.is_empty() {
                waited = true;
                if coming.fill(&self.socket)? == 0 {
                    return Ok(0);
                }
            }
            if self.decrypt(coming)? == 0 {
                return Ok(0);
            }
        }
    }

    /// Decrypts some of the received bytes; returns how many were consumed.
    fn decrypt(&self, coming: &mut Coming) -> io::Result<usize> {
        let (taken, answers) = {
            let mut tls = lock(&self.tls);
            let taken = coming.feed(&mut tls);
            (taken, tls.wants_write())
        };
        if answers {
            let sent = self.send(&[]);
            // The reason of the refusal says more than the failure to send it.
            return taken.and_then(|taken| sent.map(|()| taken));
        }
        taken
    }
}

impl Coming {
    const fn is_empty(&self) -> bool {
        self.at == self.filled
    }

    fn fill(&mut self, mut socket: &TcpStream) -> io::Result<usize> {
        if self.bytes.is_empty() {
            self.bytes.resize(CHUNK_BYTES, 0);
        }
        (self.at, self.filled) = (0, 0);
        self.filled = socket.read(&mut self.bytes)?;
        Ok(self.filled)
    }

    fn feed(&mut self, tls: &mut Connection) -> io::Result<usize> {
        let mut rest = self.bytes.get(self.at..self.filled).unwrap_or_default();
        let before = rest.len();
        tls.read_tls(&mut rest)?;
        let taken = before - rest.len();
        self.at += taken;
        tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        Ok(taken)
    }
}
