//! Tunnel through a proxy, made by CONNECT (RFC 9110 section 9.3.6) when the connection is made; nothing else is sent
//! before it stands.
//!
//! Measuring side, once a connection, reads untrusted input: bounded by the size of a head. The reply's grammar is
//! `wire`'s. The conversation in the tunnel begins as on any connection: with TLS, or with the request.

use super::outcome::{Arrival, Done};
use super::{Connection, Manner, Passed, Phase};
use bakeoff_meter::ErrorClass;
use bakeoff_units::{Clock, Nanos};
use bakeoff_wire::http1::{MAX_HEAD_BYTES, ReplyHead, ReplyReader, ReplyStep};

/// A tunnel that does not stand yet.
pub(super) struct Tunnel {
    reader: ReplyReader,
    /// The proxy's bytes so far, so that a refusal can be shown whole.
    heard: Vec<u8>,
}

/// The state of the proxy's reply.
enum Said {
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
    fn hear(&mut self, bytes: &[u8]) -> Result<Said, ErrorClass> {
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

impl Connection {
    /// Takes in bytes of the proxy whose tunnel does not stand yet.
    #[cold]
    pub(super) fn receive_of_proxy(
        &mut self,
        bytes: &[u8],
        arrival: &Arrival,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Option<Passed> {
        let tunnel = self.tunnel.as_mut()?;
        match tunnel.hear(bytes) {
            Ok(Said::Part) => return None,
            Ok(Said::Yes) => return Some(Passed::Tunnel(self.got_through(arrival, manner, out, done))),
            Ok(Said::No(head)) => {
                self.http.keep_refusal(head, &tunnel.heard);
                self.break_with(ErrorClass::TunnelRefused, done);
            }
            Err(class) => self.break_with(class, done),
        }
        None
    }

    /// Notes that the tunnel stands; returns the time since the connection was begun.
    fn got_through(
        &mut self,
        arrival: &Arrival,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Nanos {
        self.tunnel = None;
        let stood = arrival.after(self.since);
        let took = stood.since(self.since);
        self.since = stood;
        if let Some(tls) = &mut self.tls {
            self.phase = Phase::Handshaking;
            tls.take_output(out);
        } else {
            self.phase = Phase::Open;
            self.begin(manner.clock.now(), manner, out, done);
        }
        took
    }
}
