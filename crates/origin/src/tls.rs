//! TLS session of one client, without the socket: its bytes in, bytes for it out.
//!
//! Hot over TLS, reads untrusted input. Records are processed by [`bakeoff_wire::tls`]; this file knows where they are
//! put, and the ending for each error.

use crate::ending::Ending;
use bakeoff_wire::tls::{self, Output, RECORD_BYTES, ReceiveEnd};
use rustls::ServerConfig;
use rustls::server::UnbufferedServerConnection;
use std::sync::Arc;

/// Records that are to be sent. Its memory is not cleared in between: encryption writes over it.
#[derive(Debug, Default)]
pub(crate) struct Sealed {
    bytes: Vec<u8>,
    used: usize,
}

impl Sealed {
    pub(crate) const fn clear(&mut self) {
        self.used = 0;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

impl Output for Sealed {
    #[inline]
    fn append<E>(
        &mut self,
        bytes: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        if self.bytes.len() < self.used + bytes {
            self.bytes.resize(self.used + bytes, 0);
        }
        self.used += write(&mut self.bytes[self.used..])?;
        Ok(())
    }
}

/// A session of TLS, server side.
pub(crate) struct Session {
    session: tls::Session<UnbufferedServerConnection>,
    stopped: Option<Ending>,
}

impl Session {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Result<Self, Ending> {
        let tls = UnbufferedServerConnection::new(config).map_err(|error| Ending::from(&error))?;
        Ok(Self { session: tls::Session::new(tls), stopped: None })
    }

    /// Takes all bytes of the client and hands out the decrypted ones, piece by piece. Afterwards there may be bytes to
    /// [send](Self::take_output), also when it failed: the alert.
    ///
    /// # Errors
    ///
    /// The fault of the bytes, now or before; or what `plain` returns, after which the session is of no more use.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        if let Some(why) = self.stopped {
            return Err(why);
        }
        let why = match self.session.receive(bytes, plain) {
            Ok(()) => return Ok(()),
            Err(ReceiveEnd::Plain(why)) => why,
            Err(ReceiveEnd::Tls(error)) => Ending::from(&error),
        };
        self.stopped = Some(why);
        Err(why)
    }

    /// Whether the client has said that nothing more will come.
    pub(crate) const fn has_ended(&self) -> bool {
        self.session.has_ended()
    }

    /// Appends the bytes to be sent to `sealed`.
    pub(crate) fn take_output(&mut self, sealed: &mut Sealed) {
        self.session.take_output(sealed);
    }

    /// Encrypts `head` and the body behind it. Only so much of the body is copied as fills a record.
    ///
    /// # Errors
    ///
    /// When the session has failed or both have ended it.
    pub(crate) fn write(
        &mut self,
        head: &mut Vec<u8>,
        body: &[u8],
        sealed: &mut Sealed,
    ) -> Result<(), Ending> {
        let missing = (RECORD_BYTES - head.len() % RECORD_BYTES) % RECORD_BYTES;
        let (copied, rest) = body.split_at(missing.min(body.len()));
        head.extend_from_slice(copied);
        if self.stopped.is_some() {
            self.take_output(sealed);
            return Err(Ending::TlsFailed);
        }
        self.session.write(&[head, rest], sealed).map_err(|_| Ending::TlsFailed)
    }

    /// Tells the client that nothing more will come.
    pub(crate) fn say_goodbye(&mut self, sealed: &mut Sealed) {
        self.take_output(sealed);
        if self.stopped.is_none() {
            // A session that has not begun, or ended, has nothing to say.
            let _ = self.session.say_goodbye(sealed);
        }
    }
}
