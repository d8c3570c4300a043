//! TLS session of one connection, without the socket: bytes of the server in, bytes for the server out.
//!
//! Hot: every byte of every reply goes through here. Records are processed by [`bakeoff_wire::tls`]; this file knows
//! the error class of an end, and how the session began.

use super::error_class;
use super::store::SessionStore;
use bakeoff_meter::ErrorClass;
use bakeoff_sys::thread::cpu_time;
use bakeoff_units::Nanos;
use bakeoff_wire::tls::{ReceiveEnd, Session};
use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// The kind of handshake by which a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeKind {
    /// With certificate and key exchange.
    Full,
    /// The same after the server had asked for another key-exchange group: one round trip more.
    FullWithRetry,
    /// By resuming an earlier session.
    Resumed,
}

/// The progress of a session after bytes came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsProgress {
    /// The handshake was completed by these bytes.
    pub established: bool,
    /// The peer has said that nothing more will come (close_notify).
    pub ended: bool,
}

/// A session of TLS, client side.
pub struct TlsSession {
    session: Session<UnbufferedClientConnection>,
    /// The reason for which it can do nothing any more.
    stopped: Option<ErrorClass>,
    failure: Option<rustls::Error>,
    wanted: bool,
    /// The store of the session that it offered, if it offered one.
    offered: Option<Arc<SessionStore>>,
    handshake_cpu: Nanos,
}

impl TlsSession {
    pub(super) fn begin(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        wanted: bool,
    ) -> Result<Self, rustls::Error> {
        Ok(Self {
            session: Session::new(UnbufferedClientConnection::new(config, name)?),
            stopped: None,
            failure: None,
            wanted,
            offered: None,
            handshake_cpu: Nanos::ZERO,
        })
    }

    /// Notes how the session began.
    pub(super) fn began(&mut self, offered: Option<Arc<SessionStore>>, cpu: Nanos) {
        self.offered = offered;
        self.handshake_cpu = cpu;
    }

    /// Takes all bytes of the peer and hands out the decrypted ones, piece by piece. Afterwards there may be bytes to
    /// [send](Self::take_output) at any time of its life, also when it failed: the alert.
    ///
    /// # Errors
    ///
    /// The class of the error in the bytes, now or before; or what `plain` returns, after which the session is of no
    /// more use.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), ErrorClass>,
    ) -> Result<TlsProgress, ErrorClass> {
        if let Some(class) = self.stopped {
            return Err(class);
        }
        if !self.is_handshaking() {
            self.take(bytes, plain)?;
            return Ok(TlsProgress { established: false, ended: self.has_ended() });
        }
        let start = cpu_time();
        let taken = self.take(bytes, plain);
        self.handshake_cpu += cpu_time().since(start);
        taken?;
        Ok(TlsProgress { established: !self.is_handshaking(), ended: self.has_ended() })
    }

    /// Moves the bytes to be sent to the end of `out`.
    pub fn take_output(&mut self, out: &mut Vec<u8>) {
        self.session.take_output(out);
    }

    /// Encrypts to the end of `out`.
    ///
    /// # Errors
    /// `SendFailed` while the handshake lasts, and when the session has failed.
    pub fn write(&mut self, plaintext: &[u8], out: &mut Vec<u8>) -> Result<(), ErrorClass> {
        if self.stopped.is_some() {
            self.take_output(out);
            return Err(ErrorClass::SendFailed);
        }
        self.session.write(&[plaintext], out).map_err(|_| ErrorClass::SendFailed)
    }

    /// Whether requests must wait.
    pub fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Whether the peer has said that nothing more will come.
    pub const fn has_ended(&self) -> bool {
        self.session.has_ended()
    }

    /// The failure, in the library's words.
    pub const fn failure(&self) -> Option<&rustls::Error> {
        self.failure.as_ref()
    }

    /// The kind of handshake by which it began; `None` while it is not known.
    pub fn kind(&self) -> Option<HandshakeKind> {
        self.session.tls().handshake_kind().map(|kind| match kind {
            rustls::HandshakeKind::Full => HandshakeKind::Full,
            rustls::HandshakeKind::FullWithHelloRetryRequest => HandshakeKind::FullWithRetry,
            rustls::HandshakeKind::Resumed => HandshakeKind::Resumed,
        })
    }

    /// The protocol that the server chose of those offered.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.session.tls().alpn_protocol()
    }

    /// The agreed parameters, in words: `TLSv1_3 TLS13_AES_256_GCM_SHA384 X25519`. The group is missing where no keys
    /// were exchanged: in resumed sessions of TLS 1.2.
    pub fn description(&self) -> Option<String> {
        let tls = self.session.tls();
        let version = tls.protocol_version()?;
        let suite = tls.negotiated_cipher_suite()?.suite();
        let group = tls.negotiated_key_exchange_group().map(|group| group.name());
        Some(match group {
            Some(group) => format!("{version:?} {suite:?} {group:?}"),
            None => format!("{version:?} {suite:?}"),
        })
    }

    /// Whether the rule chose it to resume an earlier session.
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

    fn take(
        &mut self,
        bytes: &[u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), ErrorClass>,
    ) -> Result<(), ErrorClass> {
        let class = match self.session.receive(bytes, plain) {
            Ok(()) => return Ok(()),
            Err(ReceiveEnd::Plain(class)) => class,
            Err(ReceiveEnd::Tls(error)) => self.fail(error),
        };
        self.stopped = Some(class);
        Err(class)
    }

    /// Keeps the error.
    fn fail(&mut self, error: rustls::Error) -> ErrorClass {
        let class = error_class(&error);
        self.failure = Some(error);
        if let Some(sessions) = self.offered.as_ref().filter(|_| self.session.is_handshaking()) {
            // The server may have a wrong state for it: later connections shall not all fail too.
            sessions.forget();
        }
        class
    }
}
