//! Tunnel through a proxy, made by CONNECT (RFC 9110 section 9.3.6) when the connection is made; nothing else is sent
//! before it stands.
//!
//! Measuring side, once a connection, reads untrusted input: bounded by the size of a head. The reply's grammar is
//! `wire`'s. The conversation in the tunnel begins as on any connection: with TLS, or with the request.

use bakeoff_meter::ErrorClass;
use bakeoff_wire::http1::{MAX_HEAD_BYTES, ReplyHead, ReplyReader, ReplyStep};

/// A tunnel that does not stand yet.
pub(super) struct Tunnel {
    reader: ReplyReader,
    /// The proxy's bytes so far, so that a refusal can be shown whole.
    pub(super) heard: Vec<u8>,
}

/// The state of the proxy's reply.
pub(super) enum Said {
    /// Nothing yet.
    Part,
    /// It stands.
    Yes,
    /// The proxy refuses; `heard` is this head and nothing else.
    No(ReplyHead),
}

impl Default for Tunnel {
    fn default() -> Self {
        let mut reader = ReplyReader::default();
        reader.begin_connect();
        Self { reader, heard: Vec::new() }
    }
}

impl Tunnel {
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Result<Said, ErrorClass> {
        match self.reader.step(bytes) {
            Ok(ReplyStep::Head(used, head)) if head.status < 300 => {
                // The server in the tunnel speaks second, with TLS and without.
                if used < bytes.len() { Err(ErrorClass::Surplus) } else { Ok(Said::Yes) }
            }
            Ok(ReplyStep::Head(used, head)) => {
                self.heard.extend_from_slice(&bytes[..used]);
                let interim = self.heard.len().saturating_sub(head.head_bytes as usize);
                self.heard.drain(..interim);
                Ok(Said::No(head))
            }
            Ok(ReplyStep::More) => {
                self.heard.extend_from_slice(bytes);
                // Interim replies may come without end.
                if self.heard.len() > MAX_HEAD_BYTES { Err(ErrorClass::TunnelBroken) } else { Ok(Said::Part) }
            }
            Ok(ReplyStep::Body { .. } | ReplyStep::End(_)) | Err(_) => Err(ErrorClass::TunnelBroken),
        }
    }
}
