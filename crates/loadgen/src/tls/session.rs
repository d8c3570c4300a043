//! One connection's TLS, without the connection: bytes of the peer in, bytes for the peer out.
//!
//! Hot: every byte of every reply goes through here. Fed by strangers; whatever they send ends in plain
//! bytes or in a class of error. Uses the library's unbuffered interface: it takes whole reads at once
//! where the buffered one takes 4 KiB at a time and gives its buffer back to the allocator after each
//! record. Keeps no buffer for a connection that has nothing half received.

use super::error_class;
use super::store::SessionStore;
use bakeoff_meter::ErrorClass;
use bakeoff_sys::thread::cpu_time;
use bakeoff_units::Nanos;
use rustls::ClientConfig;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, WriteTraffic,
};
use std::cell::Cell;
use std::sync::Arc;

/// What a session may keep allocated while it waits for nothing: the size of a small record's rest.
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

/// How a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeKind {
    /// With certificate and key exchange.
    Full,
    /// The same after the server had asked for another key-exchange group: one round trip more.
    FullWithRetry,
    /// It went on with an earlier session.
    Resumed,
}

/// How far a session is after bytes came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsProgress {
    /// The handshake was completed by these bytes.
    pub established: bool,
    /// The peer has said that nothing more will come (close_notify).
    pub ended: bool,
}

/// A session of TLS, client side.
pub struct TlsSession {
    tls: UnbufferedClientConnection,
    /// A record that is not complete, as it came.
    rest: Vec<u8>,
    /// What is to be sent: flights of the handshake, alerts.
    output: Vec<u8>,
    ended: bool,
    /// Nothing can be done with it any more, for this reason.
    stopped: Option<ErrorClass>,
    failure: Option<rustls::Error>,
    wanted: bool,
    /// Where the session came from that it offered, if it did.
    offered: Option<Arc<SessionStore>>,
    handshake_cpu: Nanos,
}

impl TlsSession {
    pub(super) fn begin(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        wanted: bool,
    ) -> Result<Self, rustls::Error> {
        let mut session = Self {
            tls: UnbufferedClientConnection::new(config, name)?,
            rest: Vec::new(),
            output: Vec::new(),
            ended: false,
            stopped: None,
            failure: None,
            wanted,
            offered: None,
            handshake_cpu: Nanos::ZERO,
        };
        // The first flight; there is nothing yet that could fail.
        let _ = session.process(&mut [], &mut |_| Ok(()));
        Ok(session)
    }

    /// What is known of its beginning once it has begun.
    pub(super) fn began(&mut self, offered: Option<Arc<SessionStore>>, cpu: Nanos) {
        self.offered = offered;
        self.handshake_cpu = cpu;
    }

    /// Takes all that came from the peer and hands out what it says, piece by piece. Afterwards there
    /// may be something to [send](Self::take_output) at any time of its life, also when it failed: the
    /// alert.
    ///
    /// # Errors
    /// The class of whatever is wrong with the bytes, now or before; or what `plain` returns, after
    /// which the session is of no more use.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), ErrorClass>,
    ) -> Result<TlsProgress, ErrorClass> {
        if let Some(class) = self.stopped {
            return Err(class);
        }
        if !self.tls.is_handshaking() {
            self.take(bytes, plain)?;
            return Ok(TlsProgress { established: false, ended: self.ended });
        }
        let start = cpu_time();
        let taken = self.take(bytes, plain);
        self.handshake_cpu += cpu_time().since(start);
        taken?;
        Ok(TlsProgress { established: !self.tls.is_handshaking(), ended: self.ended })
    }

    /// Moves what is to be sent to the end of `out`.
    pub fn take_output(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.output);
    }

    /// Encrypts to the end of `out`.
    ///
    /// # Errors
    /// `SendFailed` while the handshake lasts, and when the session has failed.
    pub fn write(&mut self, plaintext: &[u8], out: &mut Vec<u8>) -> Result<(), ErrorClass> {
        self.take_output(out);
        if self.tls.is_handshaking() || self.stopped.is_some() {
            return Err(ErrorClass::SendFailed);
        }
        loop {
            // The library counts from the start of what is half received, and wants to see it again.
            let status = self.tls.process_tls_records(&mut self.rest);
            let discard = status.discard;
            match status.state {
                Ok(ConnectionState::EncodeTlsData(flight)) => encode(flight, out),
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.ended = true,
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let written = encrypt(&mut traffic, plaintext, out);
                    self.rest.drain(..discard);
                    return written;
                }
                // Both have closed. Nothing else is left: what was received has been worked through.
                _ => return Err(ErrorClass::SendFailed),
            }
            self.rest.drain(..discard);
        }
    }

    /// Whether requests must wait.
    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Whether the peer has said that nothing more will come.
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// What went wrong, in the library's words.
    pub const fn failure(&self) -> Option<&rustls::Error> {
        self.failure.as_ref()
    }

    /// How it began; `None` while it is not known.
    pub fn kind(&self) -> Option<HandshakeKind> {
        self.tls.handshake_kind().map(|kind| match kind {
            rustls::HandshakeKind::Full => HandshakeKind::Full,
            rustls::HandshakeKind::FullWithHelloRetryRequest => HandshakeKind::FullWithRetry,
            rustls::HandshakeKind::Resumed => HandshakeKind::Resumed,
        })
    }

    /// The protocol that the server chose of those offered.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.tls.alpn_protocol()
    }

    /// What was agreed on, in words: `TLSv1_3 TLS13_AES_256_GCM_SHA384 X25519`. The group is missing
    /// where no keys were exchanged: in resumed sessions of TLS 1.2.
    pub fn description(&self) -> Option<String> {
        let version = self.tls.protocol_version()?;
        let suite = self.tls.negotiated_cipher_suite()?.suite();
        let group = self.tls.negotiated_key_exchange_group().map(|group| group.name());
        Some(match group {
            Some(group) => format!("{version:?} {suite:?} {group:?}"),
            None => format!("{version:?} {suite:?}"),
        })
    }

    /// Whether the rule chose it to go on with an earlier session.
    pub const fn wanted_to_resume(&self) -> bool {
        self.wanted
    }

    /// Whether it had an earlier session to offer.
    pub const fn offered_session(&self) -> bool {
        self.offered.is_some()
    }

    /// This thread's CPU time for the handshake so far, from the making of the first flight on.
    pub const fn handshake_cpu(&self) -> Nanos {
        self.handshake_cpu
    }

    /// Takes bytes on the thread's workbench, unless a record is already half there.
    fn take(
        &mut self,
        bytes: &[u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), ErrorClass>,
    ) -> Result<(), ErrorClass> {
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

    /// Works through records; how many bytes were used.
    fn process(
        &mut self,
        records: &mut [u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), ErrorClass>,
    ) -> Result<usize, ErrorClass> {
        let mut used = 0;
        loop {
            let status = self.tls.process_tls_records(&mut records[used..]);
            let mut discard = status.discard;
            match status.state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let taken = record.map_err(|error| error_class(&error)).and_then(|record| {
                            discard += record.discard;
                            plain(record.payload)
                        });
                        if let Err(class) = taken {
                            self.stopped = Some(class);
                            return Err(class);
                        }
                    }
                }
                Ok(ConnectionState::EncodeTlsData(flight)) => encode(flight, &mut self.output),
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.ended = true,
                Ok(_) => return Ok(used + discard),
                Err(error) => return Err(self.fail(error, &mut records[used + discard..])),
            }
            used += discard;
        }
    }

    /// Keeps the error and makes the alert that tells the peer. `records` is what was not used.
    fn fail(&mut self, error: rustls::Error, records: &mut [u8]) -> ErrorClass {
        let class = error_class(&error);
        self.stopped = Some(class);
        self.failure = Some(error);
        if let Some(sessions) = self.offered.as_ref().filter(|_| self.tls.is_handshaking()) {
            // The server may have a wrong idea of it: not all that come later shall fail too.
            sessions.forget();
        }
        // Not further: records behind the wrong one are nobody's business.
        while self.tls.wants_write() {
            match self.tls.process_tls_records(records).state {
                Ok(ConnectionState::EncodeTlsData(alert)) => encode(alert, &mut self.output),
                Ok(ConnectionState::ReadTraffic(mut traffic)) => while traffic.next_record().is_some() {},
                _ => break,
            }
        }
        class
    }
}

/// Appends a flight or an alert.
fn encode(mut flight: EncodeTlsData<'_, ClientConnectionData>, out: &mut Vec<u8>) {
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
    traffic: &mut WriteTraffic<'_, ClientConnectionData>,
    plaintext: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), ErrorClass> {
    let start = out.len();
    let mut room = plaintext.len() + OVERHEAD_BYTES * (1 + plaintext.len() / RECORD_BYTES);
    loop {
        out.resize(start + room, 0);
        match traffic.encrypt(plaintext, &mut out[start..]) {
            Ok(written) => {
                out.truncate(start + written);
                return Ok(());
            }
            Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size }))
                if required_size > room =>
            {
                room = required_size;
            }
            Err(_) => {
                out.truncate(start);
                return Err(ErrorClass::SendFailed);
            }
        }
    }
}
