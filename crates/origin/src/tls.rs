//! One client's TLS, without the connection: its bytes in, bytes for it out.
//!
//! Hot over TLS, fed by strangers. Uses the library's unbuffered interface, as the generator does: it
//! takes whole reads at once and gives no buffer back to the allocator after each record. Keeps no
//! buffer for a client that has nothing half received.

use crate::ending::Ending;
use rustls::ServerConfig;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, WriteTraffic,
};
use std::cell::Cell;
use std::sync::Arc;

/// What a session may keep allocated while it waits for nothing.
const KEPT_BYTES: usize = 4096;
/// What encryption adds to a record at most (RFC 8446 section 5.2: header 5, content type 1, tag 16; in
/// TLS 1.2 a nonce of 8 instead of the type), and a key update that may go before.
const OVERHEAD_BYTES: usize = 64;
/// Largest plaintext of a record (RFC 8446 section 5.1).
const RECORD_BYTES: usize = 16_384;

thread_local! {
    /// Where records are decrypted: one buffer for all sessions of a thread.
    static WORKBENCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

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

    fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    /// At least so many bytes behind what is there.
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.bytes.len() < self.used + bytes {
            self.bytes.resize(self.used + bytes, 0);
        }
        &mut self.bytes[self.used..]
    }
}

/// A session of TLS, server side.
pub(crate) struct Session {
    tls: UnbufferedServerConnection,
    /// A record that is not complete, as it came.
    rest: Vec<u8>,
    /// What is to be sent: flights of the handshake, alerts.
    output: Vec<u8>,
    ended: bool,
    stopped: Option<Ending>,
}

impl Session {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Result<Self, Ending> {
        let tls = UnbufferedServerConnection::new(config).map_err(|error| Ending::from(&error))?;
        Ok(Self { tls, rest: Vec::new(), output: Vec::new(), ended: false, stopped: None })
    }

    /// Takes all that came from the client and hands out what it says, piece by piece. Afterwards there
    /// may be something to [send](Self::take_output), also when it failed: the alert.
    ///
    /// # Errors
    /// Whatever is wrong with the bytes, now or before; or what `plain` returns, after which the session
    /// is of no more use.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        if let Some(why) = self.stopped {
            return Err(why);
        }
        if self.ended {
            return Ok(()); // nothing after close_notify counts (RFC 8446 section 6.1)
        }
        if self.rest.is_empty() {
            let mut bench = WORKBENCH.take();
            bench.clear();
            bench.extend_from_slice(bytes);
            let used = self.process(&mut bench, plain);
            if let Ok(used) = used {
                self.rest.extend_from_slice(&bench[used..]);
            }
            WORKBENCH.set(bench);
            used?;
        } else {
            let mut rest = std::mem::take(&mut self.rest);
            rest.extend_from_slice(bytes);
            let used = self.process(&mut rest, plain)?;
            if used < rest.len() || rest.capacity() <= KEPT_BYTES {
                rest.drain(..used);
                self.rest = rest;
            }
        }
        Ok(())
    }

    /// Whether the client has said that nothing more will come.
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Moves what is to be sent behind what is there.
    pub(crate) fn take_output(&mut self, sealed: &mut Sealed) {
        if !self.output.is_empty() {
            sealed.push(&self.output);
            self.output.clear();
        }
    }

    /// Encrypts `head` and what stands behind it. Only so much of the body is copied as fills a record.
    ///
    /// # Errors
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
        let head = head.as_slice();
        self.when_open(sealed, |traffic, sealed| {
            for plain in [head, rest].into_iter().filter(|plain| !plain.is_empty()) {
                encrypt(traffic, plain, sealed)?;
            }
            Ok(())
        })
    }

    /// Tells the client that nothing more will come.
    pub(crate) fn say_goodbye(&mut self, sealed: &mut Sealed) {
        // A session that failed has said more than that.
        let _ = self.when_open(sealed, |traffic, sealed| {
            let written = traffic.queue_close_notify(sealed.room(OVERHEAD_BYTES));
            sealed.used += written.unwrap_or(0);
            Ok(())
        });
    }

    fn when_open(
        &mut self,
        sealed: &mut Sealed,
        write: impl FnOnce(&mut WriteTraffic<'_, ServerConnectionData>, &mut Sealed) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        self.take_output(sealed);
        if self.stopped.is_some() || self.tls.is_handshaking() {
            return Err(Ending::TlsFailed);
        }
        loop {
            // The library counts from the start of what is half received, and wants to see it again.
            let status = self.tls.process_tls_records(&mut self.rest);
            let discard = status.discard;
            match status.state {
                Ok(ConnectionState::EncodeTlsData(flight)) => {
                    let mut out = Vec::new();
                    encode(flight, &mut out);
                    sealed.push(&out);
                }
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.ended = true,
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let written = write(&mut traffic, sealed);
                    self.rest.drain(..discard);
                    return written;
                }
                // Both have closed. Nothing else is left: what was received has been worked through.
                _ => return Err(Ending::TlsFailed),
            }
            self.rest.drain(..discard);
        }
    }

    /// Works through records; how many bytes were used.
    fn process(
        &mut self,
        records: &mut [u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), Ending>,
    ) -> Result<usize, Ending> {
        let mut used = 0;
        loop {
            let status = self.tls.process_tls_records(&mut records[used..]);
            let mut discard = status.discard;
            match status.state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let taken = record.map_err(|error| Ending::from(&error)).and_then(|record| {
                            discard += record.discard;
                            plain(record.payload)
                        });
                        if let Err(why) = taken {
                            self.stopped = Some(why);
                            return Err(why);
                        }
                    }
                }
                Ok(ConnectionState::EncodeTlsData(flight)) => encode(flight, &mut self.output),
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.ended = true,
                Ok(_) => return Ok(used + discard),
                Err(error) => return Err(self.fail(&error, &mut records[used + discard..])),
            }
            used += discard;
        }
    }

    /// Makes the alert that tells the client. `records` is what was not used.
    fn fail(&mut self, error: &rustls::Error, records: &mut [u8]) -> Ending {
        let why = Ending::from(error);
        self.stopped = Some(why);
        // Not further: records behind the wrong one are nobody's business.
        while self.tls.wants_write() {
            match self.tls.process_tls_records(records).state {
                Ok(ConnectionState::EncodeTlsData(alert)) => encode(alert, &mut self.output),
                Ok(ConnectionState::ReadTraffic(mut traffic)) => while traffic.next_record().is_some() {},
                _ => break,
            }
        }
        why
    }
}

/// Appends a flight or an alert.
fn encode(mut flight: EncodeTlsData<'_, ServerConnectionData>, out: &mut Vec<u8>) {
    let start = out.len();
    let mut room = OVERHEAD_BYTES;
    loop {
        out.resize(start + room, 0);
        match flight.encode(&mut out[start..]) {
            Ok(written) => return out.truncate(start + written),
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                room = required_size;
            }
            Err(EncodeError::AlreadyEncoded) => return out.truncate(start),
        }
    }
}

/// Appends plaintext as records.
fn encrypt(
    traffic: &mut WriteTraffic<'_, ServerConnectionData>,
    plaintext: &[u8],
    sealed: &mut Sealed,
) -> Result<(), Ending> {
    let mut room = plaintext.len() + OVERHEAD_BYTES * (1 + plaintext.len() / RECORD_BYTES);
    loop {
        match traffic.encrypt(plaintext, sealed.room(room)) {
            Ok(written) => {
                sealed.used += written;
                return Ok(());
            }
            Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size }))
                if required_size > room =>
            {
                room = required_size;
            }
            Err(_) => return Err(Ending::TlsFailed),
        }
    }
}
