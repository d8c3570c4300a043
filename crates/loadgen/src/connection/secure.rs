//! TLS session of a connection: its handshake, and the decrypted bytes.
//!
//! Measuring side, hot. Sessions are begun elsewhere ([`crate::tls`]).

use super::outcome::{Arrival, Done};
use super::{Connection, Manner, Phase};
use crate::job::Protocol;
use crate::listener::RequestListener;
use crate::tls::TlsSession;
use bakeoff_meter::ErrorClass;

impl Connection {
    /// Its TLS session, if there is one and the handshake has begun and not ended.
    pub(crate) fn handshaking(&self) -> Option<&TlsSession> {
        self.tls.as_deref().filter(|_| self.phase == Phase::Handshaking)
    }

    /// Its TLS session, if there is one.
    pub(crate) fn tls(&self) -> Option<&TlsSession> {
        self.tls.as_deref()
    }

    /// Decrypts and feeds the bytes; returns whether the peer has ended the session (close_notify).
    pub(super) fn receive_tls<L: RequestListener>(
        &mut self,
        raw: &[u8],
        arrival: &Arrival,
        manner: &Manner<'_>,
        listener: &mut L,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Result<bool, ErrorClass> {
        let Some(tls) = self.tls.as_mut() else { return Ok(false) };
        // Session tickets come at any time and are no part of a reply.
        let http = &mut self.http;
        let read = tls.receive(raw, &mut |plain| http.receive(plain, arrival, manner.check, listener, done));
        tls.take_output(out); // of a failure too: the alert
        let wants_h2 = matches!(manner.target.protocol, Protocol::Http2 { .. });
        if self.phase == Phase::Handshaking && wants_h2 && refuses_h2(tls) {
            return Err(ErrorClass::NoHttp2);
        }
        let progress = read?;
        if self.phase == Phase::Handshaking && progress.established {
            self.phase = Phase::Open;
        }
        Ok(progress.ended)
    }
}

/// Whether the server has chosen another protocol, or none, or wants none that was offered.
fn refuses_h2(tls: &TlsSession) -> bool {
    let alert = rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol);
    tls.failure() == Some(&alert) || (!tls.is_handshaking() && tls.alpn() != Some(b"h2"))
}
